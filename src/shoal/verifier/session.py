"""A DuckDB database in memory that reads only the files it is given, and leaves nothing behind."""

from __future__ import annotations

import glob
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from shoal.verifier.leftovers import clear_leftovers, title

if TYPE_CHECKING:
    import duckdb
    import pyarrow as pa


class UnreadableError(Exception):
    """A file that cannot be loaded: the code of the problem, and a sentence without cells.

    It never leaves the package. It is raised outside of ``except`` blocks only: what DuckDB, the
    csv module and the decoders say quotes the line that they stumbled over, and a chained
    exception would carry that text into somebody's log.
    """

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message


@dataclass(frozen=True)
class Session:
    """An open database and a folder that only this user can read and that goes away with it."""

    database: duckdb.DuckDBPyConnection
    folder: Path

    def succeeds(self, sql: str, parameters: Sequence[Any] = ()) -> bool:
        """Run a statement on somebody's file; say whether it went well and drop DuckDB's text."""
        import duckdb

        try:
            self.rows(sql, parameters)
        except duckdb.Error:
            return False
        return True

    def row(self, sql: str, parameters: Sequence[Any] = ()) -> tuple[Any, ...]:
        """Run a query that has exactly one row."""
        (found,) = self.rows(sql, parameters)
        return found

    def rows(self, sql: str, parameters: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """Run a statement and return all its rows.

        A result that is not read to its end keeps the connection busy.
        """
        return self.database.execute(sql, list(parameters)).fetchall()

    def table(self, sql: str) -> pa.Table:
        """Run a query and return all its rows as one table."""
        return self.database.sql(sql).to_arrow_table()


@contextmanager
def session(*, in_order: bool = False) -> Iterator[Session]:
    """Open a database for one verification; `in_order` keeps the rows of every table in the file's order."""
    import duckdb

    clear_leftovers()
    with TemporaryDirectory(prefix=title(), ignore_cleanup_errors=True) as folder:
        config: dict[str, str | bool | int | float | list[str]] = {
            # DuckDB spills into the working directory unless told otherwise.
            "temp_directory": str(Path(folder, "spill")),
            # A verifier neither fetches code nor looks at Python's variables for tables.
            "autoinstall_known_extensions": "false",
            "autoload_known_extensions": "false",
            "python_enable_replacements": "false",
            # Without it threads write their rows as they come, which is quicker.
            "preserve_insertion_order": str(in_order).lower(),
        }
        database = duckdb.connect(":memory:", config=config)
        try:
            yield Session(database, Path(folder))
        finally:
            database.close()


def exactly(path: Path) -> str:
    """Return a pattern that matches this path only.

    DuckDB takes every path for a pattern: asked for ``a[1].csv`` it reads ``a1.csv``.
    """
    return glob.escape(path.resolve().as_posix())


def literal(text: str) -> str:
    """Quote a text as an SQL literal; used for settings only, never for cells."""
    return "'" + text.replace("'", "''") + "'"


def column(position: int) -> str:
    """Name a column in SQL by its place.

    The file's own names never enter SQL: they may hold anything, stand twice, or differ in case
    only, which DuckDB does not tell apart.
    """
    return f"c{position}"
