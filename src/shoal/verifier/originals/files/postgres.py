"""Tables of PostgreSQL databases.

The driver is the one that reads the input, since there is no other for Arrow, but not the code: what has no
simple type, the database itself writes as text here.
"""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING, Any

from shoal.errors import DataError
from shoal.recipe import Address, Input, joined_name, split_name
from shoal.verifier.originals.files.cells import chosen_name
from shoal.verifier.originals.files.needed import needed
from shoal.verifier.reading.session import UnreadableError

if TYPE_CHECKING:
    import pyarrow as pa


def postgres_table(address: Address, given: Input) -> pa.Table:
    """Load the table or the query that the recipe names, or the only table."""
    driver = needed("adbc_driver_postgresql.dbapi", "postgres")
    try:
        with closing(driver.connect(address.dsn)) as connection, closing(connection.cursor()) as cursor:
            cursor.execute("SET TRANSACTION READ ONLY")
            return _loaded(cursor, _source(cursor, given))
    except UnreadableError as error:
        reason = error.message
    except driver.Error:  # whose message may contain cells and the password
        reason = "The database refuses the connection or the query."
    message = f"The original {address} cannot be read. {reason}"
    raise DataError("data.unreadable", message, "check the address, and table or query of [input]")


def _source(cursor: Any, given: Input) -> str:
    """Return the SQL of the original."""
    if given.query is not None:
        return "(\n" + given.query.strip().rstrip(";") + "\n)"
    cursor.execute(
        "SELECT table_schema::text, table_name::text, table_schema = ANY(current_schemas(false)) "
        "FROM information_schema.tables WHERE table_schema NOT IN ('information_schema', 'pg_catalog') "
        "UNION ALL SELECT schemaname::text, matviewname::text, schemaname = ANY(current_schemas(false)) "
        "FROM pg_matviews"
    )
    tables: dict[str, tuple[str, str]] = {}
    for schema, name, is_near in cursor.fetchall():
        tables[joined_name(None if is_near else schema, name)] = (schema, name)
        if is_near and given.table is not None and split_name(given.table) == (schema, name):
            tables[given.table] = (schema, name)
    place = tables[chosen_name(list(tables), given.table, "table")]
    return ".".join(_identifier(part) for part in place)


def _loaded(cursor: Any, source: str) -> pa.Table:
    import pyarrow as pa

    fields = list(cursor.adbc_execute_schema(f"SELECT * FROM {source} AS original"))
    aliases = ", ".join(f"t{at}" for at in range(len(fields)))
    cells = [f"t{at}" if _is_simple(field.type) else f"t{at}::text" for at, field in enumerate(fields)]
    cursor.execute(f"SELECT {', '.join(cells)} FROM {source} AS original({aliases})")
    found = cursor.fetch_arrow_table()
    plain = [pa.field(field.name, one) for field, one in zip(fields, found.schema.types, strict=True)]
    return pa.table(found.columns, schema=pa.schema(plain))


def _is_simple(one: pa.DataType) -> bool:
    from pyarrow import types

    known = (types.is_integer, types.is_floating, types.is_boolean, types.is_string, types.is_temporal)
    return any(check(one) for check in known) and not types.is_duration(one) and not types.is_interval(one)


def _identifier(name: str) -> str:
    escaped = name.replace('"', '""')
    return f'"{escaped}"'
