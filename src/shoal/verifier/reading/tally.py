"""Count a text file's records, cells and characters without parsing it, to check DuckDB's reading.

DuckDB guesses where records begin when several threads read one file, skips empty lines and extra
empty cells at the end of a line, and drops blanks around quotes. Reading the file again with the csv
module would reveal that, but takes longer than everything else together. A few sums are enough:
anything that DuckDB misses, reads twice or splits differently changes the number of records, of cells,
or of characters in cells.
"""

from __future__ import annotations

import codecs
from dataclasses import dataclass
from pathlib import Path

from shoal.verifier.reading.session import Session, column
from shoal.verifier.reading.text import Dialect

_CHUNK = 1 << 22


@dataclass(frozen=True)
class Tally:
    """The size of a text file's content, including its header.

    Parameters
    ----------
    records, cells : int
        Lines of cells, and their cells in total.
    characters, quotes : int
        Bytes in cells that are not quotes, and quotes in cells.
    """

    records: int
    cells: int
    characters: int
    quotes: int


@dataclass
class _Marks:
    """The quotes, delimiters and line ends of a file, counted chunk by chunk.

    Everything else is ignored. The marks are split at the quotes: the first, third, ... piece is
    outside quoted cells, where delimiters and line ends separate. A doubled quote inside a cell
    closes it and opens it again, so an outer piece without marks, between two quotes, is one quote
    of content.
    """

    delimiter: bytes
    size: int = 0
    quotes: int = 0
    doubled: int = 0
    delimiters: int = 0
    ends: int = 0
    returns: int = 0
    strays: int = 0

    def add(self, chunk: bytes) -> None:
        """Count a chunk that ends at a line end, so that it splits no outer piece without marks."""
        pieces = self._pieces(chunk)
        inside = self.quotes % 2
        outside = b"".join(pieces[inside::2])
        self.doubled += pieces[2 - inside : -1 : 2].count(b"")
        self.quotes += len(pieces) - 1
        self.delimiters += outside.count(self.delimiter)
        self.ends += outside.count(b"\n")
        self.size += len(chunk)
        if b"\r" in outside:
            self.returns += outside.count(b"\r")
            unpaired = self._pieces(chunk.replace(b"\r\n", b"\n"))
            self.strays += b"".join(unpaired[inside::2]).count(b"\r")

    def _pieces(self, chunk: bytes) -> list[bytes]:
        """Discard everything but the marks, and split at the quotes."""
        others = bytes(byte for byte in range(256) if byte not in b'"\r\n' + self.delimiter)
        return chunk.translate(None, others).split(b'"')


def tally_bytes(path: Path, delimiter: str) -> Tally | None:
    """Count the file on disk; None if its quotes or line ends are inconsistent."""
    marks = _Marks(delimiter.encode("ascii"))
    chunk = b""
    with path.open("rb") as file:
        mark = len(codecs.BOM_UTF8) if file.read(3) == codecs.BOM_UTF8 else 0
        file.seek(mark)
        while piece := file.read(_CHUNK):
            chunk = piece + file.readline()
            marks.add(chunk)
    if marks.quotes % 2 or marks.strays or marks.returns not in (0, marks.ends):
        return None
    records = marks.ends + (not chunk.endswith(b"\n"))
    separators = marks.delimiters + marks.ends + marks.returns
    characters = marks.size - marks.quotes - separators
    return Tally(records, marks.delimiters + records, characters, marks.doubled)


def tally_table(session: Session, table: str, dialect: Dialect) -> Tally:
    """Count what DuckDB read, and the header as the csv module read it."""
    width = len(dialect.names)
    every = " + ".join(f"coalesce(sum(strlen({column(i)})), 0)" for i in range(width))
    bare = " + ".join(_bare_characters(column(i)) for i in range(width))
    rows, all_bytes, bare_bytes = session.row(f"SELECT count(*), {every}, {bare} FROM {table}")
    header = "".join(dialect.names).encode()
    quotes = header.count(b'"')
    return Tally(
        records=rows + 1,
        cells=(rows + 1) * width,
        characters=int(bare_bytes) + len(header) - quotes,
        quotes=int(all_bytes - bare_bytes) + quotes,
    )


def _bare_characters(name: str) -> str:
    """Return the SQL that sums the bytes of a column without its quotes."""
    bare = f"strlen(replace({name}, '\"', ''))"
    # Most cells have no quote, and checking for one is much cheaper than replacing nothing.
    return f"coalesce(sum(CASE WHEN contains({name}, '\"') THEN {bare} ELSE strlen({name}) END), 0)"
