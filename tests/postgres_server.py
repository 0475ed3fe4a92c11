"""A PostgreSQL server for the tests: started once, in a temporary folder, on a Unix socket only."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

SETTINGS = {"listen_addresses": "", "fsync": "off", "full_page_writes": "off", "max_connections": "30"}
# `clerk` needs a password, everybody else none.
AUTHENTICATION = "local all clerk scram-sha-256\nlocal all all trust\n"
PASSWORD = "Hunter2SECRET"
AS_SERVER = ["runuser", "-u", "postgres", "--"] if os.geteuid() == 0 else []  # root cannot run a server

_connections: dict[str, Any] = {}


class Database:
    """A database of the server."""

    def __init__(self, folder: Path, name: str) -> None:
        self.folder, self.name = folder, name

    def address(self, user: str = "postgres", password: str = "") -> str:
        login = f"{user}:{password}" if password else user
        return f"postgresql://{login}@/{self.name}?host={self.folder}"

    def connect(self, **options: Any) -> Any:
        from adbc_driver_postgresql import dbapi

        return dbapi.connect(self.address(), **options)

    def run(self, *statements: str) -> None:
        with closing(self._connected().cursor()) as cursor:
            for sql in statements:
                cursor.execute(sql)

    def _connected(self) -> Any:
        """Connect once for all tests: that takes a hundred times as long as a statement."""
        if self.address() not in _connections:
            _connections[self.address()] = self.connect(autocommit=True)
        return _connections[self.address()]

    def rows(self, sql: str) -> list[tuple[Any, ...]]:
        with closing(self._connected().cursor()) as cursor:
            cursor.execute(sql)
            return list(cursor.fetchall())

    def tables(self) -> list[tuple[Any, ...]]:
        """List everything that shoal might leave or change: names, owners, privileges, identifiers."""
        return self.rows(
            "SELECT n.nspname::text, relname::text, c.oid::bigint, relfilenode::bigint, relacl::text, "
            "pg_get_userbyid(relowner)::text, obj_description(c.oid) FROM pg_class c "
            "JOIN pg_namespace n ON n.oid = relnamespace "
            "WHERE n.nspname !~ '^pg_' AND n.nspname <> 'information_schema' ORDER BY 1, 2"
        )


def _why_not() -> str:
    if programs() is None:
        return "no PostgreSQL server is installed (Debian: apt-get install postgresql)"
    try:
        import adbc_driver_postgresql  # noqa: F401
    except ImportError:
        return 'the driver is not installed (pip install "shoal[postgres]")'
    if AS_SERVER and (shutil.which("runuser") is None or not _exists("postgres")):
        return "PostgreSQL does not run as root, and there is no user postgres to run it"
    return ""


def _exists(user: str) -> bool:
    return subprocess.run(["id", user], capture_output=True, check=False).returncode == 0


def programs() -> Path | None:
    """Return the folder of PostgreSQL's programs."""
    if found := shutil.which("initdb"):
        return Path(found).resolve().parent
    versions = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda p: float(p.parts[-3]))
    return versions[-1].parent if versions else None


def one_server() -> Iterator[Path]:
    """Yield the folder of the socket; skip where no server can be started, or fail if all tests must run."""
    if lacking := _why_not():
        if os.environ.get("SHOAL_TEST_ALL"):
            pytest.fail(lacking)
        pytest.skip(lacking)
    place = programs()
    assert place is not None
    folder = Path(tempfile.mkdtemp(prefix="shoal-pg-"))  # pytest's folders have too long names for sockets
    if AS_SERVER:
        shutil.chown(folder, "postgres")
    data = folder / "data"

    def call(program: str, *arguments: str) -> None:
        command = [*AS_SERVER, str(place / program), "-D", str(data), *arguments]
        subprocess.run(command, check=True, capture_output=True, cwd=folder, timeout=60)

    try:
        call("initdb", "-U", "postgres", "-A", "trust", "--no-sync", "--wal-segsize=1", "-E", "UTF8")
        (data / "pg_hba.conf").write_text(AUTHENTICATION)
        options = " ".join(f"-c {key}='{value}'" for key, value in SETTINGS.items())
        call("pg_ctl", "-w", "-l", str(folder / "log"), "-o", f"-k {folder} {options}", "start")
        try:
            server = Database(folder, "postgres")
            roles = ("CREATE ROLE reader", "CREATE ROLE boss")
            server.run(f"CREATE ROLE clerk LOGIN PASSWORD '{PASSWORD}'", *roles)
            yield folder
        finally:
            while _connections:
                _connections.popitem()[1].close()
            call("pg_ctl", "-m", "immediate", "stop")
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def empty_database(folder: Path) -> Database:
    """Remove what an earlier test left: emptying a database is faster than creating one."""
    database = Database(folder, "postgres")
    database.run("RESET ALL")
    schemas = database.rows(
        "SELECT quote_ident(nspname) FROM pg_namespace WHERE nspname !~ '^pg_' "
        "AND nspname <> 'information_schema'"
    )
    publications = database.rows("SELECT quote_ident(pubname) FROM pg_publication")
    database.run(
        *(f"DROP PUBLICATION {name}" for (name,) in publications),
        *(f"DROP SCHEMA {name} CASCADE" for (name,) in schemas),
        "CREATE SCHEMA public",
        "GRANT USAGE ON SCHEMA public TO PUBLIC",
    )
    return database
