"""A release in a database that was committed before, to be verified later."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

from shoal.errors import DataError
from shoal.recipe import Address, split_name
from shoal.verifier.originals.files.needed import needed
from shoal.verifier.postgres.table import Stored, digest_of, read_back, text

if TYPE_CHECKING:
    import pyarrow as pa


def fetch(address: Address, table: str, *, in_order: bool) -> tuple[pa.Table, str]:
    """Return the rows of a table, if need be in the order in which they were written, and their digest."""
    driver = needed("adbc_driver_postgresql.dbapi", "postgres")
    schema, name = split_name(table) or (None, table)
    try:
        with closing(driver.connect(address.dsn)) as connection, closing(connection.cursor()) as cursor:
            cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
            where = "pg_table_is_visible(c.oid)" if schema is None else f"nspname = {text(schema)}"
            cursor.execute(
                "SELECT nspname::text FROM pg_class c JOIN pg_namespace n ON n.oid = relnamespace "
                f"WHERE relname = {text(name)} AND relkind = 'r' AND {where}"
            )
            if found := cursor.fetchall():
                stored = Stored.of(cursor, found[0][0], name)
                rows = read_back(stored, in_order=in_order)
                return rows, digest_of(stored, rows)
        reason = f"there is no table `{table}`"
    except driver.Error:  # whose message may contain cells and the password
        reason = "the database refuses the connection or the query"
    raise DataError(
        "data.unreadable", f"The release in {address} cannot be read: {reason}.", "check the names"
    )
