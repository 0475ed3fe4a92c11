"""System files of SPSS, .sav and .zsav, read from their bytes.

The only other library that reads them is the one that reads the input. The layout is described in the PSPP
developers' manual, "System File Format".
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime, time, timedelta
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shoal.recipe import Input
from shoal.verifier.originals.files.cells import arrow_table
from shoal.verifier.originals.files.labels import labelled
from shoal.verifier.originals.files.unpacked import allowance
from shoal.verifier.reading.session import UnreadableError

if TYPE_CHECKING:
    import pyarrow as pa

_START = datetime(1582, 10, 14)  # times are seconds since then
_DAYS = {20, 23, 24, 38, 39}  # print formats DATE, ADATE, JDATE, EDATE, SDATE
_MOMENTS = {22, 41}  # DATETIME, YMDHMS
_TIMES = {21, 25}  # TIME, DTIME
_CHUNK = 255  # bytes of a very long text in each of the variables that hold it
_END = 252  # control code


@dataclass
class _Variable:
    """A column: its place in a row, in pieces of 8 bytes, and how its values are read."""

    name: str
    at: int
    width: int  # bytes of a text; 0 for a number
    format: int
    missing: list[Any]
    ranges: list[tuple[float, float]]
    labels: dict[Any, str] = field(default_factory=dict)
    parts: list[_Variable] = field(default_factory=list)  # the rest of a very long text


@dataclass
class _File:
    """The bytes of a file and where reading them has come to."""

    content: bytes
    order: str
    at: int = 176

    def integers(self, number: int = 1) -> tuple[int, ...]:
        return struct.unpack(f"{self.order}{number}i", self.take(4 * number))

    def integer(self) -> int:
        return self.integers()[0]

    def number(self, piece: bytes) -> float:
        (found,) = struct.unpack(f"{self.order}d", piece)
        return float(found)

    def take(self, size: int) -> bytes:
        if size < 0 or self.at + size > len(self.content):
            raise ValueError("the file ends early")
        self.at += size
        return self.content[self.at - size : self.at]


@dataclass
class _Dictionary:
    """What comes before the rows."""

    variables: list[_Variable] = field(default_factory=list)
    pieces: int = 0  # of a row
    encoding: str = "cp1252"
    notes: dict[int, bytes] = field(default_factory=dict)
    labels: list[tuple[list[tuple[bytes, bytes]], tuple[int, ...]]] = field(default_factory=list)


def spss_table(path: Path, given: Input) -> pa.Table:
    """Load all columns, with labels in place of codes."""
    try:
        return _table(path, given)
    except (ValueError, LookupError, OverflowError, struct.error, zlib.error):
        pass
    raise UnreadableError("verify.unreadable", "The file is damaged, or not a system file of SPSS.")


def _table(path: Path, given: Input) -> pa.Table:
    content = path.read_bytes()
    if content[:4] not in (b"$FL2", b"$FL3"):
        raise ValueError("another format")
    order = "<" if content[64] in (2, 3) else ">"
    _, _, compression, _, _ = struct.unpack_from(f"{order}5i", content, 64)
    (bias,) = struct.unpack_from(f"{order}d", content, 84)
    file = _File(content, order)
    found = _dictionary(file)
    variables = _columns(file, found, given.encoding)
    data = _inflated(file, path) if compression == 2 else content[file.at :]
    most = allowance(path) // 8
    pieces = list(islice(_pieces(data, bias, order), most + 1)) if compression else _plain(data)
    if compression and len(pieces) > most:
        raise ValueError("too many rows")
    rows = len(pieces) // found.pieces
    columns = []
    for variable in variables:
        cells = [_cell(file, found, variable, pieces, row * found.pieces, given) for row in range(rows)]
        columns.append(labelled(variable.name, cells, variable.labels, given))
    return arrow_table([variable.name for variable in variables], columns)


def _dictionary(file: _File) -> _Dictionary:
    found = _Dictionary()
    while (record := file.integer()) != 999:
        if record == 2:
            _read_variable(file, found)
        elif record == 3:
            _read_labels(file, found)
        elif record == 6:
            file.take(80 * file.integer())
        elif record == 7:
            subtype, size, number = file.integers(3)
            found.notes[subtype] = file.take(size * number)
        else:
            raise ValueError("unknown record")
    file.integer()
    return found


def _read_variable(file: _File, found: _Dictionary) -> None:
    width, has_label, n_missing, shown, _ = file.integers(5)
    name = file.take(8)
    if has_label:
        file.take(-(-file.integer() // 4) * 4)
    values = [file.take(8) for _ in range(abs(n_missing))]
    ranges = []
    if n_missing < 0:
        ranges = [(file.number(values[0]), file.number(values[1]))]
        values = values[2:]
    if width >= 0:
        missing = [file.number(value) for value in values] if width == 0 else list(values)
        text = name.decode("latin-1").rstrip()
        found.variables.append(_Variable(text, found.pieces, width, (shown >> 16) & 255, missing, ranges))
    found.pieces += 1


def _read_labels(file: _File, found: _Dictionary) -> None:
    labels = []
    for _ in range(file.integer()):
        value, (size,) = file.take(8), file.take(1)
        text = file.take(-(-(size + 1) // 8) * 8 - 1)[:size]
        labels.append((value, text))
    if file.integer() != 4:
        raise ValueError("labels without variables")
    found.labels.append((labels, file.integers(file.integer())))


def _columns(file: _File, found: _Dictionary, encoding: str | None) -> list[_Variable]:
    """Return the variables with their full names and labels; those that hold one long text are one."""
    found.encoding = encoding or found.notes.get(20, b"cp1252").decode("ascii")
    by_place = {variable.at + 1: variable for variable in found.variables}
    for labels, places in found.labels:
        for variable in (by_place[place] for place in places):
            for value, label in labels:
                code = file.number(value) if variable.width == 0 else _text(found, value)
                variable.labels[code] = label.decode(found.encoding).rstrip()
    columns = _joined(found)
    full = dict(_pairs(found.notes.get(13, b"").decode(found.encoding), "\t"))
    for variable in columns:
        variable.name = full.get(variable.name, variable.name)
    _long_labels(file, found, {variable.name: variable for variable in columns})
    return columns


def _pairs(text: str, end: str) -> Iterator[tuple[str, str]]:
    for pair in text.split(end):
        name, equals, value = pair.partition("=")
        if equals:
            yield name, value.strip("\0 ")


def _joined(found: _Dictionary) -> list[_Variable]:
    lengths = dict(_pairs(found.notes.get(14, b"").decode("latin-1"), "\t"))
    columns: list[_Variable] = []
    rest = 0
    for variable in found.variables:
        if rest > 0:
            columns[-1].parts.append(variable)
            rest -= 1
            continue
        columns.append(variable)
        if variable.name in lengths:
            length = int(lengths[variable.name])
            rest = -(-length // 252) - 1
            variable.width = length
    return columns


def _long_labels(file: _File, found: _Dictionary, by_name: dict[str, _Variable]) -> None:
    """Read the labels and the missing values of texts with more than 8 bytes."""
    notes = _File(found.notes.get(21, b""), file.order, 0)
    while notes.at < len(notes.content):
        name = notes.take(notes.integer()).decode(found.encoding)
        notes.integer()
        for _ in range(notes.integer()):
            value = _text(found, notes.take(notes.integer()))
            label = notes.take(notes.integer()).decode(found.encoding).rstrip()
            by_name[name].labels[value] = label
    notes = _File(found.notes.get(22, b""), file.order, 0)
    while notes.at < len(notes.content):
        name = notes.take(notes.integer()).decode(found.encoding)
        (number,) = notes.take(1)
        size = notes.integer()
        by_name[name].missing = [notes.take(size) for _ in range(number)]


def _inflated(file: _File, path: Path) -> bytes:
    """Unpack the blocks of a .zsav file."""
    _, trailer, size = struct.unpack(f"{file.order}3q", file.take(24))
    ends = _File(file.content, file.order, trailer)
    ends.take(16)
    _, number = ends.integers(2)
    if number * 24 + 24 != size:
        raise ValueError("another number of blocks")
    left = allowance(path)
    blocks = []
    for _ in range(number):
        _, at, unpacked, packed = struct.unpack(f"{file.order}2q2i", ends.take(24))
        left -= unpacked
        if left < 0:
            raise ValueError("too large")
        blocks.append(zlib.decompressobj().decompress(file.content[at : at + packed], max(1, unpacked)))
    return b"".join(blocks)


def _plain(data: bytes) -> list[bytes]:
    return [data[at : at + 8] for at in range(0, len(data), 8)]


def _pieces(data: bytes, bias: float, order: str) -> Iterator[bytes]:
    """Expand control codes, eight at a time, and the pieces that follow them."""
    small = [struct.pack(f"{order}d", code - bias) for code in range(252)]
    system_missing = struct.pack(f"{order}d", -1.7976931348623157e308)
    known = {**{code: small[code] for code in range(1, 252)}, 254: b" " * 8, 255: system_missing}
    at = 0
    while at < len(data):
        codes = data[at : at + 8]
        at += 8
        for code in codes:
            if code == 253:
                yield data[at : at + 8]
                at += 8
            elif code == _END:
                return
            elif code:
                yield known[code]


def _cell(
    file: _File, found: _Dictionary, variable: _Variable, pieces: list[bytes], row: int, given: Input
) -> Any:
    if variable.width:
        return _text_cell(found, variable, pieces, row, given)
    number = file.number(pieces[row + variable.at])
    if number == -1.7976931348623157e308 or number != number:  # noqa: PLR0124
        return None
    is_declared = number in variable.missing or any(low <= number <= high for low, high in variable.ranges)
    if is_declared and given.missing_codes == "missing":
        return None
    return _moment(variable.format, number)


def _moment(shown: int, number: float) -> Any:
    if shown in _DAYS:
        return (_START + timedelta(seconds=number)).date()
    if shown in _MOMENTS:
        return _START + timedelta(seconds=number)
    if shown in _TIMES:
        return (datetime.combine(_START, time()) + timedelta(seconds=number)).time()
    return number


def _text_cell(
    found: _Dictionary, variable: _Variable, pieces: list[bytes], row: int, given: Input
) -> str | None:
    held = b""
    left = variable.width
    for part in (variable, *variable.parts):
        used = min(left, _CHUNK) if variable.parts else left
        first = row + part.at
        held += b"".join(pieces[first : first + -(-used // 8)])[:used]
        left -= used
    is_declared = any(held.rstrip() == value.rstrip() for value in variable.missing)
    return None if is_declared and given.missing_codes == "missing" else _text(found, held) or None


def _text(found: _Dictionary, held: bytes) -> str:
    return held.decode(found.encoding).rstrip()
