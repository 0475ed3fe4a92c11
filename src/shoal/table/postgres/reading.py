"""Read a table or the result of a query from a PostgreSQL database.

Everything happens in one transaction that may only read, so that a query cannot change anything and columns
and rows belong together.
"""

from __future__ import annotations

from typing import NamedTuple

import polars as pl
import pyarrow as pa

from shoal.errors import DataError
from shoal.recipe import Address, Input, joined_name, split_name
from shoal.table.formats import check_names, chosen
from shoal.table.frames import Choose, from_arrow, series
from shoal.table.picking import pick
from shoal.table.postgres.connecting import Database, DatabaseError, opened, quoted

_AS_THEY_ARE = (
    "int2", "int4", "int8", "float4", "float8", "bool", "date", "timestamp", "timestamptz", "time",
)  # fmt: skip
_DIGITS = 38  # of a decimal number
_TEXTS = "S"  # the category of text, varchar, char and the like


class _Type(NamedTuple):
    """The type of a column: as users know it, and what it is based on if it is a domain."""

    shown: str
    name: str
    category: str
    is_enum: bool


def read_postgres(address: Address, given: Input, choose: Choose | None) -> pl.DataFrame:
    """Read the chosen columns of a table, a view or a query; without a choice, of the only table."""
    try:
        with opened(address) as database:
            return _read(address, database, given, choose)
    except DatabaseError as failure:
        message = f"The input {address} cannot be read: {failure.reason}."
        raise DataError("data.unreadable", message, failure.hint) from None


def _read(address: Address, database: Database, given: Input, choose: Choose | None) -> pl.DataFrame:
    database.run("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
    read = relation(address, database, given)
    names = database.names(f"SELECT * FROM {read} AS q")
    check_names(names)
    places = chosen(names, choose)
    aliases = ", ".join(f"c{at}" for at in range(len(names)))
    source = f"{read} AS q{f'({aliases})' if aliases else ''}"
    types = dict(zip(places, _types(database, source, places), strict=True))
    _refuse_others({names[at]: one for at, one in types.items() if not _is_supported(one)})
    cells = ", ".join(_cell(f"q.c{at}", one) for at, one in types.items())
    rows = database.arrow(f"SELECT {cells or '1'} FROM {source}")
    frame = from_arrow(_plain(rows.rename_columns([str(at) for at in range(rows.num_columns)])))
    return pl.DataFrame(
        {
            names[at]: _column(names[at], series(frame, str(place)), one)
            for place, (at, one) in enumerate(types.items())
        }
    )


def relation(address: Address, database: Database, given: Input) -> str:
    """Return the SQL of what is read: a query in parentheses, or a name."""
    if given.query is not None:
        query = given.query.strip().rstrip(";")
        return f"(\n{query}\n)"  # on lines of its own: it may end with a comment
    visible = "pg_table_is_visible(c.oid)"
    found = database.rows(
        f"SELECT n.nspname::text, c.relname::text, {visible} FROM pg_class c "
        "JOIN pg_namespace n ON n.oid = c.relnamespace WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f') "
        "AND n.nspname NOT IN ('pg_catalog', 'information_schema') AND n.nspname !~ '^pg_(toast|temp)' "
        f"AND has_schema_privilege(n.oid, 'USAGE') ORDER BY NOT {visible}, 1, 2"
    )
    asked = None if given.table is None else split_name(given.table)
    for schema, name, is_visible in found:
        if asked == (schema, name) or (is_visible and asked == (None, name)):
            return quoted(schema, name)
    names = {joined_name(None if is_visible else schema, name): quoted(schema, name)
             for schema, name, is_visible in found}  # fmt: skip
    return names[pick(address, list(names), given, "table")]


def _types(database: Database, source: str, places: list[int]) -> list[_Type]:
    """Return the types of columns. The join finds no rows, so that a query is planned but not run."""
    types = ", ".join(f"pg_typeof(q.c{at})::oid" for at in places)
    found = database.rows(
        "WITH RECURSIVE given AS (SELECT type, place FROM "
        f"(SELECT ARRAY[{types}]::oid[] AS types FROM (SELECT 1) AS one LEFT JOIN {source} ON false) AS t, "
        "unnest(types) WITH ORDINALITY AS u(type, place)), "
        "base AS (SELECT place, type FROM given UNION ALL SELECT place, typbasetype FROM base "
        "JOIN pg_type ON pg_type.oid = type WHERE typtype = 'd') "
        "SELECT format_type(given.type, NULL), typname::text, typcategory::text, typtype = 'e' "
        "FROM base JOIN given USING (place) JOIN pg_type ON pg_type.oid = base.type "
        "WHERE typtype <> 'd' ORDER BY place"
    )
    return [_Type(*row) for row in found]


def _is_supported(one: _Type) -> bool:
    return one.name in (*_AS_THEY_ARE, "numeric", "uuid") or one.is_enum or one.category == _TEXTS


def _refuse_others(unsupported: dict[str, _Type]) -> None:
    if unsupported:
        listed = ", ".join(f"`{name}` ({one.shown})" for name, one in unsupported.items())
        message = f"Columns with a type that cannot be released: {listed}."
        hint = "give them the role drop, or convert them in a query: SELECT ..., payload::text FROM ..."
        raise DataError("data.kind", message, hint)


def _cell(column: str, one: _Type) -> str:
    """Return the SQL of a column, in a type that the driver and Polars know."""
    if one.name in _AS_THEY_ARE:
        base = {"timestamptz": "timestamp with time zone"}.get(one.name, one.name)
        return f"{column}::{base}"  # of a domain, the type that it is based on
    return f"{column}::text"


def _plain(rows: pa.Table) -> pa.Table:
    """Remove the driver's notes about types."""
    fields = [pa.field(field.name, field.type) for field in rows.schema]
    return pa.table(rows.columns, schema=pa.schema(fields))


def _column(name: str, values: pl.Series, one: _Type) -> pl.Series:
    if one.name == "numeric":
        return _numbers(name, values)
    if values.dtype in (pl.Date, pl.Datetime):
        days = values.cast(pl.Int64) if values.dtype == pl.Date else values.dt.epoch("s") // 86_400
        outside = int((~days.is_between(*_DAYS)).sum())
        if outside:
            message = f"Column `{name}` has {outside} dates that are infinite or outside the years 1 to 9999."
            hint = "correct them, or set them to NULL in a query"
            raise DataError("data.kind", message, hint)
    return values


_DAYS = (-719_162, 2_932_896)  # 0001-01-01 and 9999-12-31, from 1970-01-01


def _numbers(name: str, texts: pl.Series) -> pl.Series:
    """Return numeric values exactly: whole numbers if all are, else decimals; NaN is missing."""
    texts = texts.set(texts == "NaN", None)
    if int(texts.str.contains("Infinity", literal=True).sum()):
        infinite = int(texts.str.contains("Infinity", literal=True).sum())
        message = f"Column `{name}` has {infinite} infinite values."
        raise DataError("data.infinite", message, "set them to NULL in a query, or remove these rows")
    whole = texts.str.replace(r"\..*$", "").str.strip_prefix("-").str.len_chars().max() or 0
    fraction = texts.str.extract(r"\.([0-9]+)$").str.len_chars().max() or 0
    if not isinstance(whole, int) or not isinstance(fraction, int) or whole + fraction > _DIGITS:
        message = f"Column `{name}` has numbers with more than {_DIGITS} digits."
        raise DataError("data.kind", message, "round them in a query, or give the column the role drop")
    if not fraction and whole <= 18:
        return texts.cast(pl.Int64)
    return texts.cast(pl.Decimal(_DIGITS, fraction))
