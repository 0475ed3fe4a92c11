"""Parquet footers with the same bytes in every run.

Java lists the encodings of a column in the order of a hash that is drawn anew in every process, so that equal
files differ in some bytes. Sorting these lists in place removes that; readers take them as a set.

A footer is a struct in Thrift's compact protocol, followed by its length and `PAR1`.
"""

from __future__ import annotations

from pathlib import Path

_ROW_GROUPS, _COLUMNS, _META_DATA, _ENCODINGS = 4, 1, 3, 2  # numbers of fields, from the outside in
_PATH = (_ROW_GROUPS, _COLUMNS, _META_DATA, _ENCODINGS)
_TRUE, _FALSE, _DOUBLE, _BINARY, _LIST, _SET, _MAP, _STRUCT = 1, 2, 7, 8, 9, 10, 11, 12
_VARINTS = (4, 5, 6)  # whole numbers of 16, 32 and 64 bits


def sort_encodings(file: Path) -> None:
    """Sort the encodings of all columns of a Parquet file, in place."""
    with file.open("r+b") as handle:
        end = handle.seek(-8, 2)
        size = int.from_bytes(handle.read(4), "little")
        handle.seek(end - size)
        footer = bytearray(handle.read(size))
        _Walk(footer).struct(())
        handle.seek(end - size)
        handle.write(footer)


class _Walk:
    """Goes through a footer and sorts what `_PATH` leads to."""

    def __init__(self, data: bytearray) -> None:
        self.data, self.at = data, 0

    def struct(self, path: tuple[int, ...]) -> None:
        field = 0
        while (head := self._byte()) != 0:
            step, kind = head >> 4, head & 15
            field = field + step if step else self._zigzag()
            if kind not in (_TRUE, _FALSE):  # these are values themselves
                self._value(kind, (*path, field))

    def _value(self, kind: int, path: tuple[int, ...]) -> None:
        if kind in _VARINTS:
            self._varint()
        elif kind == _STRUCT:
            self.struct(path)
        elif kind in (_LIST, _SET):
            self._list(path)
        elif kind == _MAP:
            self._map(path)
        elif kind == _BINARY:
            size = self._varint()
            self.at += size
        else:
            self.at += 8 if kind == _DOUBLE else 1

    def _list(self, path: tuple[int, ...]) -> None:
        head = self._byte()
        size, kind = head >> 4, head & 15
        size = self._varint() if size == 15 else size
        begin = self.at
        for _ in range(size):
            self._value(kind, path)
        if path == _PATH and self.at - begin == size:  # one byte each
            self.data[begin : self.at] = sorted(self.data[begin : self.at])

    def _map(self, path: tuple[int, ...]) -> None:
        size = self._varint()
        kinds = self._byte() if size else 0
        for _ in range(size):
            self._value(kinds >> 4, path)
            self._value(kinds & 15, path)

    def _byte(self) -> int:
        self.at += 1
        return self.data[self.at - 1]

    def _varint(self) -> int:
        number = shift = 0
        while True:
            byte = self._byte()
            number |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return number

    def _zigzag(self) -> int:
        number = self._varint()
        return (number >> 1) ^ -(number & 1)
