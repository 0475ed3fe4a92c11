"""Tables in SQLite and DuckDB files.

Views are not read: a view is a program, which may run without end or return more rows than fit anywhere.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import polars as pl

from shoal.errors import DataError
from shoal.recipe import Input
from shoal.table.contents import starts_like
from shoal.table.formats import chosen
from shoal.table.frames import Choose, from_arrow
from shoal.table.limits import check_cells, too_large, unpacked_limit
from shoal.table.picking import pick
from shoal.table.values import column_of

_ROWS = 10_000  # fetched at a time
_WAL_MODE = b"\x02"


def read_database(path: Path, given: Input, choose: Choose | None) -> pl.DataFrame:
    """Read the chosen columns of a table; the file's first bytes say which database it is."""
    if starts_like(path, b"SQLite format 3\0"):
        return _read_sqlite(path, given, choose)
    if starts_like(path, b"DUCK", 8):
        return _read_duckdb(path, given, choose)
    message = f"The input {path} is neither an SQLite nor a DuckDB database."
    raise DataError("data.unreadable", message, "check the path; an encrypted database cannot be read")


def _read_sqlite(path: Path, given: Input, choose: Choose | None) -> pl.DataFrame:
    try:
        with closing(_connect(path)) as database:
            return _sqlite_table(path, database, given, choose)
    except sqlite3.OperationalError as error:
        is_text = "decode" in str(error)
    except sqlite3.Error:
        is_text = False
    if is_text:
        message = f"The input {path} has texts that are not valid UTF-8."
        raise DataError("data.encoding", message, "give the columns that have them the role drop")
    message = f"The input {path} is damaged, or a program has it open and is writing to it."
    raise DataError("data.unreadable", message, "close that program, or use a copy made with VACUUM INTO")


def _connect(path: Path) -> sqlite3.Connection:
    """Open a database so that nothing is written to it or next to it."""
    # In the mode WAL even a reader creates files, unless the database is declared immutable. That is wrong
    # only while a log with changes exists; then the program that writes it has created those files.
    log = path.with_name(path.name + "-wal")
    unlogged = starts_like(path, _WAL_MODE, 18) and not (log.exists() and log.stat().st_size)
    address = path.absolute().as_uri() + ("?immutable=1" if unlogged else "?mode=ro")
    database = sqlite3.connect(address, uri=True, timeout=1)
    database.execute("PRAGMA trusted_schema = OFF")
    return database


def _sqlite_table(
    path: Path, database: sqlite3.Connection, given: Input, choose: Choose | None
) -> pl.DataFrame:
    tables = database.execute(
        "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\' "
        "AND sql NOT LIKE 'CREATE VIRTUAL%' ORDER BY name"
    )
    table = pick(path, [name for (name,) in tables], given, "table")
    names = [column[0] for column in database.execute(f"SELECT * FROM {_quoted(table)} LIMIT 0").description]
    used = [names[at] for at in chosen(names, choose)]
    selected = ", ".join(map(_quoted, used)) or "1"
    cursor = database.execute(f"SELECT {selected} FROM {_quoted(table)}")
    rows = list(_counted(path, cursor))
    columns = list(zip(*rows, strict=True)) or [()] * len(used)
    return pl.DataFrame({name: column_of(name, columns[at]) for at, name in enumerate(used)})


def _counted(path: Path, cursor: sqlite3.Cursor) -> Iterator[tuple[Any, ...]]:
    """Yield rows; refuse texts that are not in the file but computed, without end."""
    left = unpacked_limit(path)
    while rows := cursor.fetchmany(_ROWS):
        left -= sum(len(cell) for row in rows for cell in row if isinstance(cell, (str, bytes)))
        if left < 0:
            raise too_large(path, "more text than fits into it")
        yield from rows


def _read_duckdb(path: Path, given: Input, choose: Choose | None) -> pl.DataFrame:
    import duckdb

    settings: Any = {
        # Nothing in the file may make shoal read another file or load code.
        "enable_external_access": "false",
        "autoinstall_known_extensions": "false",
        "autoload_known_extensions": "false",
        "python_enable_replacements": "false",
    }
    try:
        with duckdb.connect(str(path), read_only=True, config=settings) as database:
            return _duckdb_table(path, database, given, choose)
    except duckdb.Error:
        message = f"The input {path} cannot be opened: it is damaged, or another program has it open."
        hint = f"close that program; shoal uses DuckDB {duckdb.__version__}, which does not read newer files"
        raise DataError("data.unreadable", message, hint) from None


def _duckdb_table(path: Path, database: Any, given: Input, choose: Choose | None) -> pl.DataFrame:
    tables = {
        name if schema == "main" else f"{schema}.{name}": f"{_quoted(schema)}.{_quoted(name)}"
        for schema, name in database.sql(
            "SELECT schema_name, table_name FROM duckdb_tables() WHERE NOT internal AND NOT temporary "
            "ORDER BY schema_name <> 'main', schema_name, table_name"
        ).fetchall()
    }
    table = tables[pick(path, list(tables), given, "table")]
    names = database.sql(f"SELECT * FROM {table}").columns
    used = [names[at] for at in chosen(names, choose)]
    ((rows,),) = database.sql(f"SELECT count(*) FROM {table}").fetchall()
    check_cells(path, rows, max(1, len(used)))
    selected = ", ".join(map(_quoted, used)) or "1"
    return from_arrow(database.sql(f"SELECT {selected} FROM {table}").to_arrow_table())


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
