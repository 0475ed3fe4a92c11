"""Delimited text: find the delimiter, and have DuckDB read it without guessing."""

from __future__ import annotations

import codecs
import csv
import io
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path

from shoal.verifier.reading.session import Session, UnreadableError, column, exactly, literal
from shoal.verifier.verdict import count

_HEAD = 1 << 20  # bytes within which the first record must end
_NOT_TEXT = "The file is not delimited text in UTF-8."


@dataclass(frozen=True)
class Dialect:
    """The layout of a text file: its delimiter, its columns, and whether it has a header."""

    delimiter: str
    names: tuple[str, ...]
    header: bool = True


def find_dialect(path: Path, expected: Collection[str], delimiters: Sequence[str]) -> Dialect:
    """Choose the delimiter under which the header shows most of the expected columns.

    Ties go to the first of `delimiters`, so a file that is valid with the expected one is never read
    with another.
    """
    head, cut = _head(path)
    wanted = set(expected)
    readings = [(delimiter, _first_record(head, delimiter, cut)) for delimiter in delimiters]
    possible = [(delimiter, names) for delimiter, names in readings if names]
    if not possible:
        raise UnreadableError("verify.unreadable", "The file does not begin with a header line.")
    delimiter, names = max(possible, key=lambda reading: len(wanted.intersection(reading[1])))
    return Dialect(delimiter, tuple(names))


def first_record(path: Path, delimiter: str) -> list[str]:
    """Return the cells of the first line; none if there is no line."""
    head, cut = _head(path)
    return _first_record(head, delimiter, cut)


def _head(path: Path) -> tuple[str, bool]:
    """Decode the beginning of a file; also return whether there is more."""
    with path.open("rb") as file:
        piece = file.read(_HEAD)
    decoder = codecs.getincrementaldecoder("utf-8-sig")()
    cut = len(piece) == _HEAD
    try:
        return decoder.decode(piece, final=not cut), cut
    except UnicodeDecodeError:
        pass  # the error contains the bytes, so it is not chained
    raise UnreadableError("verify.unreadable", _NOT_TEXT)


def _first_record(head: str, delimiter: str, cut: bool) -> list[str]:
    lines = io.StringIO(head, newline="")
    try:
        cells = next(csv.reader(lines, delimiter=delimiter, strict=True), [])
    except csv.Error:
        return []
    # A record that ends where the head was cut off may continue after it.
    return [] if cut and lines.tell() >= len(head) else cells


def scan(dialect: Dialect, *, parallel: bool) -> str:
    """Return the SQL that reads a text file; its one parameter is the path.

    Every option is explicit: DuckDB's sniffer can mistake a ragged last line for a header and find no
    rows at all, without an error. The names in the file are not used (see `session.column`).
    """
    columns = ", ".join(f"{literal(column(i))}: 'VARCHAR'" for i in range(len(dialect.names)))
    return (
        f"read_csv(?, columns = {{{columns}}}, delim = {literal(dialect.delimiter)}, "
        f"header = {str(dialect.header).lower()}, quote = '\"', escape = '\"', nullstr = '', "
        "auto_detect = false, strict_mode = true, null_padding = false, ignore_errors = false, "
        "skip = 0, comment = '', compression = 'none', hive_partitioning = false, "
        f"parallel = {str(parallel).lower()})"
    )


def fault_of_text(path: Path, dialect: Dialect, otherwise: str = _NOT_TEXT) -> UnreadableError:
    """Return why a text file was rejected: ragged lines if there are any, `otherwise` if not.

    Slow, and only for rejected files. The csv module counts again: DuckDB's own message quotes a line,
    and it stops at the first.
    """
    ragged = _ragged_lines(path, dialect)
    if ragged:
        lines = f"{count(ragged, 'line')} {'has' if ragged == 1 else 'have'}"
        width = count(len(dialect.names), "cell")
        return UnreadableError(
            "verify.ragged", f"{lines} more or fewer cells than the header, which has {width}."
        )
    return UnreadableError("verify.unreadable", otherwise)


def _ragged_lines(path: Path, dialect: Dialect) -> int:
    width = len(dialect.names)
    # An empty line is a missing cell if there is one column, and otherwise not a record.
    allowed = {width, 0} if width == 1 else {width}
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            records = csv.reader(file, delimiter=dialect.delimiter)
            return sum(len(cells) not in allowed for cells in records)
    except (csv.Error, UnicodeDecodeError):
        return 0


def read_text(session: Session, path: Path, dialect: Dialect, table: str, *, parallel: bool) -> bool:
    """Copy a text file into a table of text columns; return whether DuckDB could read it."""
    sql = f"CREATE OR REPLACE TEMP TABLE {table} AS FROM {scan(dialect, parallel=parallel)}"
    return session.succeeds(sql, [exactly(path)])
