"""A table as the database has it: its columns, its rows for another engine, and a digest of its rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pyarrow as pa

# Texts must not depend on the settings of a user or a server.
_SETTINGS = (
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


def read_back(stored: Stored) -> pa.Table:
    """Return all rows, in the order in which they were written."""
    import pyarrow as pa

    cells = ", ".join(
        identifier(name) if one in _NATIVE else f"{identifier(name)}::text"
        for name, one in zip(stored.names, stored.types, strict=True)
    )
    # The place of a row in the table: rows that one COPY wrote into a new table are in their order.
    stored.cursor.execute(f"SELECT {cells} FROM {stored.place} ORDER BY ctid")
    rows = stored.cursor.fetch_arrow_table()
    plain = [pa.field(name, one) for name, one in zip(stored.names, rows.schema.types, strict=True)]
    return pa.table(rows.columns, schema=pa.schema(plain))


def digest_of(stored: Stored) -> str:
    """Return a digest of names, types and rows; the order of the rows does not matter.

    Every row has a SHA-256 digest of its texts. They are sorted and digested in 256 portions by their first
    byte, because the database cannot hold all of a large table in one value.
    """
    cells = ", ".join(f"{identifier(name)}::text" for name in stored.names)
    header = "".join(f"{text(part)}::text, " for part in (*stored.names, *stored.types))
    (found,) = stored.rows(
        f"WITH hashed AS (SELECT {_sha(f'ROW({cells})::text')} AS h FROM {stored.place}), "
        "portions AS (SELECT get_byte(h, 0) AS first, sha256(string_agg(h, ''::bytea ORDER BY h)) AS p "
        "FROM hashed GROUP BY get_byte(h, 0)) "
        f"SELECT encode(sha256({_sha(f'ROW({header[:-2]})::text')} || "
        "coalesce(string_agg(p, ''::bytea ORDER BY first), ''::bytea)), 'hex') FROM portions"
    )
    return str(found[0])


def _sha(expression: str) -> str:
    return f"sha256(convert_to({expression}, 'UTF8'))"


def identifier(name: str) -> str:
    """Return the SQL of a name."""
    escaped = name.replace('"', '""')
    return f'"{escaped}"'


def text(value: str) -> str:
    """Return the SQL of a text."""
    escaped = value.replace("\\", "\\\\").replace("'", "''")
    return f"E'{escaped}'"
