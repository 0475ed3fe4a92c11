"""Connect to a PostgreSQL database, and say what went wrong without the driver's own words.

The driver's messages quote statements, cells and the address; only what they are about is reported.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

import pyarrow as pa

from shoal.recipe import Address
from shoal.table.optional import library

_SECONDS = 15  # to wait for a server that does not answer


class DatabaseError(Exception):
    """What failed, in words that contain neither cells nor passwords.

    Parameters
    ----------
    reason : str
        To follow a colon, without a full stop.
    hint : str
    """

    def __init__(self, reason: str, hint: str) -> None:
        super().__init__(reason)
        self.reason, self.hint = reason, hint


class Database:
    """A connection in a transaction, which is undone unless `commit` is called."""

    def __init__(self, connection: Any, driver: Any) -> None:
        self._connection, self._driver = connection, driver
        self._cursor = connection.cursor()

    def run(self, *statements: str) -> None:
        """Run statements that return nothing, one after the other."""
        with self.explained():
            for sql in statements:
                self._cursor.execute(sql)

    def rows(self, sql: str) -> list[tuple[Any, ...]]:
        """Run a query and return its rows."""
        with self.explained():
            self._cursor.execute(sql)
            found: list[tuple[Any, ...]] = self._cursor.fetchall()
            return found

    def arrow(self, sql: str) -> pa.Table:
        """Run a query and return its rows as an Arrow table."""
        with self.explained():
            self._cursor.execute(sql)
            return self._cursor.fetch_arrow_table()

    def names(self, sql: str) -> list[str]:
        """Return the names of a query's columns, without running it."""
        with self.explained():
            return list(self._cursor.adbc_execute_schema(sql).names)

    def append(self, rows: pa.Table, schema: str, table: str) -> None:
        """Append rows to a table whose columns have the same names and types."""
        with self.explained():
            self._cursor.adbc_ingest(table, rows, mode="append", db_schema_name=schema)

    def commit(self) -> None:
        """Keep what was done."""
        with self.explained():
            self._connection.commit()

    @property
    def cursor(self) -> Any:
        """For the verifier, which runs statements of its own in the same transaction."""
        return self._cursor

    @contextmanager
    def explained(self) -> Iterator[None]:
        """Turn errors of the driver into failures."""
        try:
            yield
        except (self._driver.Error, pa.ArrowException, OSError) as error:
            raise _failure(error) from None

    def close(self) -> None:
        """Undo what was not committed, and disconnect; a server that is gone has done so by itself."""
        for each in (self._cursor, self._connection):
            with suppress(self._driver.Error):
                each.close()


@contextmanager
def opened(address: Address) -> Iterator[Database]:
    """Connect to a database; the transaction is undone unless it is committed.

    Whatever the address leaves out comes from libpq's usual places: the PG* variables of the environment, a
    service file, the password file.
    """
    driver = library("adbc_driver_postgresql.dbapi", "postgres", "Connecting to PostgreSQL")
    try:
        connection = driver.connect(_with_defaults(address.dsn))
    except driver.Error as error:
        raise _failure_to_connect(str(error)) from None
    database = Database(connection, driver)
    try:
        yield database
    finally:
        database.close()


def _with_defaults(dsn: str) -> str:
    """Do not wait forever, unless the user says so."""
    if "connect_timeout" in dsn or "service" in dsn or "PGCONNECT_TIMEOUT" in os.environ:
        return dsn
    return f"{dsn}{'&' if '?' in dsn else '?'}connect_timeout={_SECONDS}"


# What a message of libpq about a failed connection contains, and what it means. Servers may speak other
# languages; then the reason stays general.
_CONNECTING = {
    "could not translate host name": ("the host is not known", "check the host in the address"),
    "password authentication failed": ("user or password are wrong", "check both, or the password file"),
    "no password supplied": ("it asks for a password", "put it into the password file, ~/.pgpass"),
    "no pg_hba.conf entry": ("it refuses this user from this machine", "ask its administrator"),
    "authentication failed": ("it refuses this user", "check the user in the address"),
    "definition of service": ("the service file does not define this service", "check PGSERVICEFILE"),
    "role ": ("it does not know the user", "check the user in the address"),
    "database ": ("it has no such database, or does not let this user in", "check the database's name"),
    "timeout expired": ("it does not answer", "check host and port, and the network between"),
    "Connection refused": ("no server listens there", "check host and port, and whether it runs"),
    "No such file or directory": ("no server listens there", "check host and port, and whether it runs"),
    "SSL": ("no encrypted connection is possible as asked", "check sslmode and the certificates"),
    "certificate": ("no encrypted connection is possible as asked", "check sslmode and the certificates"),
    "too many": ("it has too many connections", "try again later"),
    "starting up": ("it is starting or stopping", "try again later"),
    "shutting down": ("it is starting or stopping", "try again later"),
    "invalid": ("the address is not valid", "write postgresql://user@host:port/database?setting=value"),
}


def _failure_to_connect(message: str) -> DatabaseError:
    for part, (reason, hint) in _CONNECTING.items():
        if part in message:
            return DatabaseError(reason, hint)
    return DatabaseError("the connection failed", "try the same address with psql, which says more")


_LOST = ("the connection was lost", "try again; see the log of the server for the reason")
_STATES = {  # SQLSTATE, or its class
    "08": _LOST,
    "57P": _LOST,
    "22": ("a value does not have the type that a query gives it", "check the casts in the query"),
    "25006": ("the statement would change what may only be read", "use a query that only reads"),
    "2BP01": ("other objects depend on it", "drop them first"),
    "40": ("another session changed the same objects", "try again"),
    "42501": ("permission is denied", "ask for the privilege, or connect as another user"),
    "42P01": ("a table does not exist", "check the names"),
    "3F000": ("a schema does not exist", "check the names"),
    "42601": ("the query is not valid SQL", "try it in psql: a single SELECT without parameters"),
    "42": ("a query does not fit the database", "try it in psql, which says what is wrong"),
    "53100": ("the disk of the server is full", "make room, then try again"),
    "53": ("the server lacks memory or disk", "see the limits and the log of the server"),
    "55P03": ("another session holds a lock on the table", "try again when it is done"),
    "57014": ("the server cancelled a statement", "see its statement_timeout"),
    "58": ("the server has a fault of its disk or system", "see the log of the server"),
}


def _failure(error: Exception) -> DatabaseError:
    state = getattr(error, "sqlstate", None) or ""
    for length in (5, 3, 2):
        if state[:length] in _STATES:
            return DatabaseError(*_STATES[state[:length]])
    lost = ("connection", "terminat", "SSL SYSCALL", "could not receive", "could not send", "no result")
    if not state and any(part in str(error) for part in lost):
        return DatabaseError(*_LOST)
    code = f" (SQLSTATE {state})" if state.isalnum() else ""
    return DatabaseError(f"the server reported an error{code}", "see the log of the server")


def quoted(*names: str) -> str:
    """Return the SQL of a name, such as schema and table."""
    return ".".join('"' + name.replace('"', '""') + '"' for name in names)


def literal(text: str) -> str:
    """Return the SQL of a text."""
    return "E'" + text.replace("\\", "\\\\").replace("'", "''") + "'"
