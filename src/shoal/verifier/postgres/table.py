"""A table as the database has it: its columns, its rows for another engine, and a digest of its rows."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from shoal.verifier.reading.session import session

if TYPE_CHECKING:
    import pyarrow as pa

# Texts must not depend on the settings of a user or a server. Compiling a query does not pay, and with enough
# memory nothing is sorted on disk.
_SETTINGS = (
    "SET LOCAL jit = off",
    "SET LOCAL work_mem = '128MB'",
    "SET LOCAL datestyle = 'ISO, YMD'",
    "SET LOCAL timezone = 'UTC'",
    "SET LOCAL extra_float_digits = 1",
    "SET LOCAL standard_conforming_strings = on",
)
FLOATS = ("real", "double precision")
_NATIVE = (
    "smallint", "integer", "bigint", "boolean", "text", "date", "timestamp without time zone",
    "timestamp with time zone", *FLOATS,
)  # fmt: skip


@dataclass(frozen=True)
class Stored:
    """A table in the database.

    Parameters
    ----------
    cursor : adbc_driver_manager.dbapi.Cursor
        In the transaction that sees the table.
    place : str
        The SQL of its name.
    names, types : tuple of str
        Of its columns, in their order.
    """

    cursor: Any
    place: str
    names: tuple[str, ...]
    types: tuple[str, ...]

    @classmethod
    def of(cls, cursor: Any, schema: str, table: str) -> Stored:
        """Ask the database for the columns of a table."""
        for setting in _SETTINGS:
            cursor.execute(setting)
        place = f"{identifier(schema)}.{identifier(table)}"
        cursor.execute(
            "SELECT attname::text, format_type(atttypid, NULL) FROM pg_attribute "
            f"WHERE attrelid = {text(place)}::regclass AND attnum > 0 AND NOT attisdropped ORDER BY attnum"
        )
        columns = cursor.fetchall()
        return cls(cursor, place, tuple(c[0] for c in columns), tuple(c[1] for c in columns))

    def type_of(self, name: str) -> str:
        """Return the type of a column."""
        return self.types[self.names.index(name)]

    def rows(self, sql: str) -> list[tuple[Any, ...]]:
        """Run a query and return its rows."""
        self.cursor.execute(sql)
        found: list[tuple[Any, ...]] = self.cursor.fetchall()
        return found


def read_back(stored: Stored, *, in_order: bool = False) -> pa.Table:
    """Return all rows, if need be in the order in which they were written."""
    import pyarrow as pa

    cells = ", ".join(
        identifier(name) if one in _NATIVE else f"{identifier(name)}::text"
        for name, one in zip(stored.names, stored.types, strict=True)
    )
    # The place of a row in the table: rows that one COPY wrote into a new table are in their order.
    order = " ORDER BY ctid" if in_order else ""
    stored.cursor.execute(f"SELECT {cells} FROM {stored.place}{order}")
    rows = stored.cursor.fetch_arrow_table()
    plain = [pa.field(name, one) for name, one in zip(stored.names, rows.schema.types, strict=True)]
    return pa.table(rows.columns, schema=pa.schema(plain))


def digest_of(stored: Stored, rows: pa.Table) -> str:
    """Return a digest of names, types and rows; the order of the rows does not matter.

    Every row has a SHA-256 digest of its cells, and these are sorted. Numbers and times are taken as the
    whole numbers that represent them, so that no way to write them matters.
    """
    import pyarrow as pa

    cells = [_exact(column.combine_chunks()) for column in rows.columns]
    names = [f"c{at}" for at in range(len(cells))]
    # No text of PostgreSQL contains the character 0, which ends every cell; one that is missing is empty.
    texts = (f"coalesce('=' || {name}::VARCHAR, ''), chr(0)" for name in names)
    with session(rows) as opened:
        opened.database.register("given", pa.table(cells, names=names))
        (digest,) = opened.row(
            "SELECT coalesce(sha256(string_agg(row, '' ORDER BY row)), '') FROM "
            f"(SELECT sha256(concat({', '.join(texts)})) AS row FROM given)"
        )
        opened.database.unregister("given")
    header = json.dumps([stored.names, stored.types])
    return hashlib.sha256(f"{header}{digest}".encode()).hexdigest()


def _exact(cells: pa.Array) -> pa.Array:
    """Return cells that are written in one way only."""
    import pyarrow as pa
    from pyarrow import types

    if types.is_boolean(cells.type):
        return cells.cast(pa.int8())
    if types.is_floating(cells.type) or types.is_temporal(cells.type):
        return cells.view(pa.int32() if cells.type.bit_width == 32 else pa.int64())
    return cells


def identifier(name: str) -> str:
    """Return the SQL of a name."""
    escaped = name.replace('"', '""')
    return f'"{escaped}"'


def text(value: str) -> str:
    """Return the SQL of a text."""
    escaped = value.replace("\\", "\\\\").replace("'", "''")
    return f"E'{escaped}'"
