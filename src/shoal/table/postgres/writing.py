"""Write a table to a PostgreSQL database under a temporary name, and give it its name.

Both happen in one transaction: until it is committed nobody else sees any of it, and if anything fails, or
the connection is lost, the database undoes it.
"""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from typing import Any

import polars as pl
import pyarrow as pa

from shoal.errors import OutputError
from shoal.recipe import Address, joined_name, split_name
from shoal.table.frames import series
from shoal.table.postgres.connecting import Database, literal, quoted
from shoal.table.postgres.reading import relation
from shoal.table.postgres.replacing import Kept

_LOCK_SECONDS = 60  # to wait for other sessions that use the table
_LONGEST_NAME = 63  # bytes; the database would cut longer ones
_SYSTEM = ("tableoid", "xmin", "cmin", "xmax", "cmax", "ctid")  # columns that every table has
_TYPES: dict[Any, str] = {
    pl.Boolean: "boolean",
    pl.Int8: "smallint",
    pl.Int16: "smallint",
    pl.Int32: "integer",
    pl.Int64: "bigint",
    pl.UInt8: "smallint",
    pl.UInt16: "integer",
    pl.UInt32: "bigint",
    pl.UInt64: "numeric(20, 0)",
    pl.Float32: "real",
    pl.Float64: "double precision",
    pl.String: "text",
    pl.Null: "text",
    pl.Date: "date",
    pl.Time: "time",
}
_WIDENED: dict[Any, pl.DataType] = {
    pl.Int8: pl.Int16(),
    pl.UInt8: pl.Int16(),
    pl.UInt16: pl.Int32(),
    pl.UInt32: pl.Int64(),
    pl.UInt64: pl.Decimal(38, 0),
    pl.Null: pl.String(),
}


@dataclass(frozen=True)
class Target:
    """Where a table goes.

    Parameters
    ----------
    address : Address
    schema, name : str
        As stored.
    replaced : int or None
        The object identifier of the table that has this name now.
    """

    address: Address
    schema: str
    name: str
    replaced: int | None

    @property
    def shown(self) -> str:
        """The table, for messages."""
        return joined_name(self.schema, self.name)


def find_target(database: Database, address: Address, table: str) -> Target:
    """Find the schema and the table that would be replaced; refuse what this user cannot write."""
    found = split_name(table)
    assert found is not None  # checked with the recipe
    schema, name = found
    ((here, may_temp),) = database.rows(
        "SELECT current_schema()::text, has_database_privilege(current_database(), 'TEMP')"
    )
    schema = schema or here
    if schema is None:
        raise _unwritable("No schema is on the search path of this user.", "name it: schema.table")
    may_create = database.rows(
        f"SELECT has_schema_privilege(oid, 'CREATE') FROM pg_namespace WHERE nspname = {literal(schema)}"
    )
    if not may_create:
        raise _unwritable(f"The database has no schema `{schema}`.", "create it, or name another")
    if not may_create[0][0] or not may_temp:
        where = f"in the schema `{schema}`" if may_temp else "that are temporary"
        message = f"This user may not create tables {where}."
        raise _unwritable(message, "ask for the privilege, or connect as another user")
    _check_name(name, "table")
    there = database.rows(
        "SELECT oid::bigint, relkind::text, pg_has_role(relowner, 'USAGE') FROM pg_class "
        f"WHERE relname = {literal(name)} AND relnamespace = {literal(quoted(schema))}::regnamespace"
    )
    target = Target(address, schema, name, there[0][0] if there else None)
    for _, kind, is_own in there:
        if kind != "r":
            message = f"`{target.shown}` is a view, an index or another object, not a plain table."
            raise _unwritable(message, "choose another name")
        if not is_own:
            message = f"Only the owner of the table `{target.shown}` may replace it."
            raise _unwritable(message, "choose another name, or connect as its owner")
    return target


def refuse_input(database: Database, target: Target, source: Any, given: Any) -> None:
    """Refuse to replace a table that the input is read from, directly or through a view or a query."""
    from shoal.table.postgres.connecting import opened

    if target.replaced is None or not isinstance(source, Address):
        return
    with opened(source) as other:
        if _server(other) != _server(database):
            return
        other.run("SET TRANSACTION READ ONLY", f"SELECT 1 FROM {relation(source, other, given)} AS q LIMIT 0")
        # Planning a query locks all tables that it reads.
        read = other.rows(
            "SELECT relation::bigint FROM pg_locks WHERE locktype = 'relation' AND pid = pg_backend_pid()"
        )
    if (target.replaced,) in read:
        message = f"The table `{target.shown}` is read as the input and would be overwritten."
        raise _unwritable(message, "write to another table")


def _server(database: Database) -> tuple[Any, ...]:
    """Return what identifies a database: when its server was started, and its name."""
    (found,) = database.rows("SELECT pg_postmaster_start_time()::text, current_database()::text")
    return found


def begin(database: Database, target: Target) -> None:
    """Prepare the transaction: keep others from dropping the table; do not wait forever for them."""
    database.run(
        f"SET LOCAL lock_timeout = '{_LOCK_SECONDS}s'",
        "SET LOCAL idle_in_transaction_session_timeout = 0",  # the report takes a while
    )
    if target.replaced is not None:
        # Others can still read the table.
        database.run(f"LOCK TABLE {quoted(target.schema, target.name)} IN SHARE UPDATE EXCLUSIVE MODE")


def write_staged(database: Database, target: Target, frame: pl.DataFrame) -> str:
    """Write a frame into a new table in the target's schema; return the temporary name."""
    _check_columns(frame)
    name = f".shoal-{secrets.token_hex(8)}"
    columns = ", ".join(f"{quoted(column)} {_type(one)}" for column, one in frame.schema.items())
    database.run(f"CREATE TABLE {quoted(target.schema, name)} ({columns})")
    database.append(_arrow(frame), target.schema, name)
    return name


def give_name(database: Database, target: Target, staged: str) -> None:
    """Rename the new table; one that it replaces hands over owner, privileges, comments and indexes."""
    place = quoted(target.schema, target.name)
    new = quoted(target.schema, staged)
    kept = None if target.replaced is None else Kept.of(database, target.replaced, place, new)
    if kept is not None:
        database.run(f"DROP TABLE {place}")
    database.run(f"ALTER TABLE {new} RENAME TO {quoted(target.name)}")
    if kept is not None:
        kept.hand_over(database)


def _check_columns(frame: pl.DataFrame) -> None:
    """Refuse what the database cannot store, or would store otherwise."""
    for name in frame.columns:
        _check_name(name, "column")
    for name, one in frame.schema.items():
        values = series(frame, name)
        if one == pl.String and (nul := int(values.str.contains("\0", literal=True).sum())):
            message = f"Column `{name}` has {nul} texts with a null byte, which PostgreSQL cannot store."
            raise _unwritable(message, "write to a file, or correct the texts")
        has_nanoseconds = isinstance(one, pl.Datetime) and one.time_unit == "ns"
        if has_nanoseconds and int((values.dt.nanosecond() % 1000 != 0).sum()):
            message = f"Column `{name}` has nanoseconds; PostgreSQL stores microseconds."
            raise _unwritable(message, "write to a file, or round the times")


def _check_name(name: str, what: str) -> None:
    if len(name.encode()) > _LONGEST_NAME:
        message = f"The name of the {what} `{name}` has more than {_LONGEST_NAME} bytes."
        raise _unwritable(message, "PostgreSQL would cut it: choose a shorter name")
    if what == "column" and name in _SYSTEM:
        message = f"PostgreSQL does not allow a column called `{name}`."
        raise _unwritable(message, "rename the column in a query")


def _type(one: pl.DataType) -> str:
    if isinstance(one, pl.Decimal):
        return f"numeric({one.precision}, {one.scale})"
    if isinstance(one, pl.Datetime):
        return "timestamp" if one.time_zone is None else "timestamp with time zone"
    return _TYPES[type(one)]


def _arrow(frame: pl.DataFrame) -> pa.Table:
    """Return the frame in the types that the table has."""
    columns = []
    for name in frame.columns:
        values = frame[name]
        values = values.cast(_WIDENED.get(type(values.dtype), values.dtype))
        if isinstance(values.dtype, pl.Datetime):
            values = values.dt.cast_time_unit("us")
        array = values.to_arrow(compat_level=pl.CompatLevel.oldest())
        columns.append(array.cast(pa.time64("us")) if values.dtype == pl.Time else array)
    return pa.table(columns, names=frame.columns)


def _unwritable(message: str, hint: str) -> OutputError:
    return OutputError("output.unwritable", message, hint)
