"""Tables of SQLite and DuckDB files.

Nothing but SQLite reads SQLite files, and nothing but DuckDB those of DuckDB. So the engines are those that
read the input, but not the code: here the database itself writes every cell as text.
"""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shoal.recipe import Input
from shoal.verifier.originals.files.cells import arrow_table, chosen_name
from shoal.verifier.reading.session import UnreadableError

if TYPE_CHECKING:
    import pyarrow as pa

_FEW, _PER_BYTE = 1 << 24, 100  # cells


def database_table(path: Path, given: Input) -> pa.Table:
    """Load the table that the recipe names, or the only one."""
    with path.open("rb") as file:
        head = file.read(20)
    load = _sqlite if head.startswith(b"SQLite format 3\0") else _duckdb
    try:
        found = load(path, given, head)
    except (sqlite3.Error, MemoryError):
        found = None
    if found is None:
        raise UnreadableError("verify.unreadable", "The database is damaged, or in use by another program.")
    return found


def _sqlite(path: Path, given: Input, head: bytes) -> pa.Table:
    journal = Path(f"{path}-wal")
    is_idle = head[18:19] == b"\x02" and (not journal.is_file() or not journal.stat().st_size)
    how = "immutable=1" if is_idle else "mode=ro"
    with closing(sqlite3.connect(f"{path.resolve().as_uri()}?{how}", uri=True)) as database:
        listed = database.execute("PRAGMA table_list").fetchall()
        tables = [row[1] for row in listed if row[2] == "table" and row[1][:7] != "sqlite_"]
        table = _identifier(chosen_name(tables, given.table, "table"))
        cursor = database.execute(f"SELECT * FROM {table}")
        names = [column[0] for column in cursor.description]
        (rows,) = database.execute(f"SELECT count(*) FROM {table}").fetchone()
        _check(path, rows, len(names))
        columns = [
            [_number_or_text(cell) for (cell,) in database.execute(f"SELECT quote({column}) FROM {table}")]
            for column in map(_identifier, names)
        ]
    return arrow_table(names, columns)


def _number_or_text(quoted: str) -> Any:
    """Read a cell as SQLite quotes it: NULL, a number, or a text between quotes."""
    if quoted == "NULL":
        return None
    if quoted.startswith("'"):
        return quoted[1:-1].replace("''", "'")
    try:
        return int(quoted)
    except ValueError:
        pass
    try:
        return float(quoted)
    except ValueError:
        return quoted  # binary data: X'...'


def _duckdb(path: Path, given: Input, head: bytes) -> pa.Table | None:
    import duckdb

    settings: Any = {
        "enable_external_access": "false",
        "autoload_known_extensions": "false",
        "autoinstall_known_extensions": "false",
    }
    try:
        with duckdb.connect(str(path), read_only=True, config=settings) as database:
            tables = {
                (f"{schema}." if schema != "main" else "") + name: (schema, name)
                for schema, name in database.sql(
                    "SELECT table_schema, table_name FROM information_schema.tables "
                    "WHERE table_type = 'BASE TABLE'"
                ).fetchall()
            }
            place = ".".join(map(_identifier, tables[chosen_name(list(tables), given.table, "table")]))
            described = database.sql(f"DESCRIBE {place}").fetchall()
            ((rows,),) = database.sql(f"SELECT count(*) FROM {place}").fetchall()
            _check(path, rows, len(described))
            cells = ", ".join(_as_text(name, kind) for name, kind, *_ in described)
            return database.sql(f"SELECT {cells} FROM {place}").to_arrow_table()
    except duckdb.Error:
        return None


_PLAIN = ("INT", "FLOAT", "DOUBLE", "DECIMAL", "BOOLEAN", "DATE", "TIME", "VARCHAR")


def _as_text(name: str, kind: str) -> str:
    """Return the SQL of a column: as it is if its type is known everywhere, else as text."""
    column = _identifier(name)
    is_plain = kind.lstrip("UHBST").startswith(_PLAIN) or kind.startswith(_PLAIN)
    return column if is_plain and not kind.endswith("]") else f"CAST({column} AS VARCHAR) AS {column}"


def _check(path: Path, rows: int, columns: int) -> None:
    if rows * columns > max(_FEW, _PER_BYTE * path.stat().st_size):
        message = "It holds far more cells than a file of its size should."
        raise UnreadableError("verify.unreadable", message)


def _identifier(name: str) -> str:
    escaped = name.replace('"', '""')
    return f'"{escaped}"'
