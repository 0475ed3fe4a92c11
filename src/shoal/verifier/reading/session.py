"""A DuckDB database in memory that reads only the files it is given, and leaves nothing behind."""

from __future__ import annotations

import glob
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from shoal.verifier.reading.killed import clear_leftovers, title

if TYPE_CHECKING:
    import duckdb
    import pyarrow as pa


_SMALL = 8 << 20  # bytes; even a compressed file of this size fits into memory many times
_numbers = count(1)


class UnreadableError(Exception):
    """A file that cannot be loaded: the code of the problem, and a sentence without cells.

    It never leaves the package. It is raised only outside ``except`` blocks: the messages of DuckDB,
    the csv module and the decoders quote the offending line, and a chained exception would carry that
    text into a log.
    """

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message


@dataclass(frozen=True)
class Session:
    """An open database and a folder that only this user can read and that is removed with it."""

    database: duckdb.DuckDBPyConnection
    folder: Path

    def succeeds(self, sql: str, parameters: Sequence[Any] = ()) -> bool:
        """Run a statement on a user's file; return whether it succeeded and drop DuckDB's message."""
        import duckdb

        try:
            self.rows(sql, parameters)
        except duckdb.Error:
            return False
        return True

    def row(self, sql: str, parameters: Sequence[Any] = ()) -> tuple[Any, ...]:
        """Run a query that returns exactly one row."""
        (found,) = self.rows(sql, parameters)
        return found

    def rows(self, sql: str, parameters: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """Run a statement and return all its rows.

        A result that is not fully read keeps the connection busy.
        """
        return self.database.execute(sql, list(parameters)).fetchall()

    def table(self, sql: str) -> pa.Table:
        """Run a query and return all its rows as one table."""
        return self.database.sql(sql).to_arrow_table()


@contextmanager
def session(*sources: Path | pa.Table | None, in_order: bool = False) -> Iterator[Session]:
    """Open a database for one verification.

    Starting DuckDB takes longer than verifying a few thousand rows. Sources that are small enough to need no
    disk share one engine per process, each with an empty database; larger ones get their own engine.

    Parameters
    ----------
    *sources : Path, pyarrow.Table or None
        What will be read, as far as it is known; without any, it counts as large.
    in_order : bool, default False
        Keep the rows of every table in the file's order.
    """
    clear_leftovers()
    known = [_size(source) for source in sources if source is not None]
    opened = _shared(in_order) if known and sum(known) <= _SMALL else _own(in_order)
    with opened as (database, folder):
        database.execute("SET enable_progress_bar = false")  # it would be drawn in the middle of JSON
        yield Session(database, folder)


def _size(source: Path | pa.Table) -> int:
    """Return the number of bytes of a file or table; an inaccessible file counts as large."""
    if not isinstance(source, Path):
        return int(source.nbytes)
    try:
        files = source.iterdir() if source.is_dir() else [source]
        return sum(file.stat().st_size for file in files)
    except OSError:
        return _SMALL + 1


@contextmanager
def _own(in_order: bool) -> Iterator[tuple[duckdb.DuckDBPyConnection, Path]]:
    """Start an engine that may spill to a folder of this verification."""
    with _folder() as folder:
        # By default DuckDB spills into the working directory.
        database = _start(in_order, str(folder / "spill"))
        try:
            yield database, folder
        finally:
            database.close()


@contextmanager
def _shared(in_order: bool) -> Iterator[tuple[duckdb.DuckDBPyConnection, Path]]:
    """Attach an empty database to the engine of this process, which writes nothing to disk."""
    import duckdb

    database = _engine(in_order, os.getpid()).cursor()
    name = f"verification_{next(_numbers)}"
    database.execute(f"ATTACH ':memory:' AS {name}")
    database.execute(f"USE {name}")
    try:
        with _folder() as folder:
            yield database, folder
    finally:
        with suppress(duckdb.Error):  # an interrupt may have left a statement unfinished
            database.execute("USE memory")
            database.execute(f"DETACH {name}")
        database.close()


@cache
def _engine(in_order: bool, process: int) -> duckdb.DuckDBPyConnection:
    """Start the engine of a process: an engine does not work in forks of its process."""
    return _start(in_order, "")


def _start(in_order: bool, spill: str) -> duckdb.DuckDBPyConnection:
    import duckdb

    config: dict[str, str | bool | int | float | list[str]] = {
        "temp_directory": spill,
        # A verifier neither downloads code nor looks up tables in Python variables.
        "autoinstall_known_extensions": "false",
        "autoload_known_extensions": "false",
        "python_enable_replacements": "false",
        # Otherwise threads write rows as they finish, which is faster.
        "preserve_insertion_order": str(in_order).lower(),
    }
    return duckdb.connect(":memory:", config=config)


@contextmanager
def _folder() -> Iterator[Path]:
    """Create a folder that only this user can read; it is removed after the verification."""
    with TemporaryDirectory(prefix=title(), ignore_cleanup_errors=True) as folder:
        yield Path(folder)


def exactly(path: Path) -> str:
    """Return a pattern that matches only this path.

    DuckDB treats every path as a pattern: given ``a[1].csv`` it reads ``a1.csv``.
    """
    return glob.escape(path.resolve().as_posix())


def literal(text: str) -> str:
    """Quote a text as an SQL literal; used for settings only, never for cells."""
    return "'" + text.replace("'", "''") + "'"


def column(position: int) -> str:
    """Return the SQL name of a column by its position.

    The file's own names never enter SQL: they may contain anything, occur twice, or differ only in
    case, which DuckDB ignores.
    """
    return f"c{position}"
