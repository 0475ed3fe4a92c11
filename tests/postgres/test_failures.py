"""Whatever goes wrong while a release is written, the database and the files stay as they were."""

from __future__ import annotations

import subprocess
import threading
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

import shoal
from shoal.errors import OutputError, PromiseError, ShoalError
from shoal.release import database as writing
from tests.bad_input_cases import snapshot
from tests.postgres.people import make_people, recipe
from tests.postgres_server import AS_SERVER, Database
from tests.profiles import some

Act = Callable[[Any, Any], None]
STAGES = {"written": "write_staged", "verified": "_verify", "renamed": "give_name"}


def backend(open_database: Any) -> int:
    ((process,),) = open_database.rows("SELECT pg_backend_pid()")
    return int(process)


def interfere(monkeypatch: pytest.MonkeyPatch, after: str, act: Act) -> None:
    """Do something after a stage of the writing; `act` gets the connection and what the stage returned."""
    name = STAGES[after]
    true = getattr(writing, name)

    def disturbed(*arguments: Any, **options: Any) -> Any:
        found = true(*arguments, **options)
        (connection,) = [one for one in arguments if type(one).__name__ == "Database"]
        act(connection, found)
        return found

    monkeypatch.setattr(writing, name, disturbed)


def attempt(database: Database) -> ShoalError:
    """Write a release over an earlier one; return the error, once nothing has changed."""
    before, files = database.tables(), snapshot(Path.cwd())
    with pytest.raises(ShoalError) as caught:
        shoal.anonymize(recipe(database)).write(force=True)
    assert snapshot(Path.cwd()) == files
    assert database.tables() == before
    assert database.rows("SELECT * FROM people_k3") == [("the earlier release",)]
    return caught.value


@pytest.fixture
def earlier(database: Database) -> Database:
    make_people(database)
    database.run("CREATE TABLE people_k3 AS SELECT 'the earlier release'::text AS a")
    Path("people_k3.manifest.json").write_text("earlier")
    return database


@pytest.mark.parametrize("after", some(STAGES, 3, 1))
def test_a_dropped_connection_changes_nothing(
    after: str, earlier: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    def terminate(connection: Any, found: Any) -> None:
        process = backend(connection)
        assert earlier.rows(f"SELECT pg_terminate_backend({process}, 10000)") == [(True,)]

    interfere(monkeypatch, after, terminate)
    error = attempt(earlier)
    assert error.code == "output.unwritable"
    assert "the connection was lost" in error.message
    assert "the database was not changed" in error.hint


def test_a_connection_dropped_while_rows_are_sent_changes_nothing(
    earlier: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    from shoal.table.postgres.connecting import Database as Open

    true = Open.append

    def cut(self: Any, rows: Any, schema: str, table: str) -> None:
        process = backend(self)
        watcher = threading.Thread(target=terminate_when_copying, args=(earlier, process))
        watcher.start()
        try:
            for _ in range(2000):  # until it is cut
                true(self, rows, schema, table)
        finally:
            watcher.join()

    monkeypatch.setattr(Open, "append", cut)
    assert "the connection was lost" in attempt(earlier).message


def terminate_when_copying(database: Database, process: int) -> None:
    with closing(database.connect(autocommit=True)) as connection, closing(connection.cursor()) as cursor:
        for _ in range(500):
            cursor.execute(
                f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid = {process} "
                "AND state = 'active' AND query LIKE 'COPY%'"
            )
            if cursor.fetchall():
                return
            time.sleep(0.002)


def test_a_full_disk_changes_nothing(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    make_people(database, rows=12_000)
    database.run("CREATE TABLE people_k3 AS SELECT 'the earlier release'::text AS a")
    from shoal.table.postgres.connecting import Database as Open

    true = Open.append

    def on_a_full_disk(self: Any, rows: Any, schema: str, table: str) -> None:
        # The server's process cannot write beyond so many bytes of a file; those of its log are smaller.
        limit = ["prlimit", f"--pid={backend(self)}", f"--fsize={1 << 20}"]
        subprocess.run([*AS_SERVER, *limit], check=True)
        for _ in range(8):
            true(self, rows, schema, table)

    monkeypatch.setattr(Open, "append", on_a_full_disk)
    error = attempt(database)
    assert error.code == "output.unwritable"
    assert "the server reported an error" in error.message
    assert "the database was not changed" in error.hint


STATES = {
    "53100": "the disk of the server is full",
    "57014": "cancelled a statement",
    "XX001": "(SQLSTATE XX001)",
}


@pytest.mark.parametrize("state", STATES)
def test_errors_of_the_server_are_told_apart(
    state: str, earlier: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(connection: Any, found: Any) -> None:
        connection.run(f"DO $$ BEGIN RAISE EXCEPTION 'ZXMARKERXZ' USING ERRCODE = '{state}'; END $$")

    interfere(monkeypatch, "written", fail)
    error = attempt(earlier)
    assert STATES[state] in error.message
    assert "ZXMARKERXZ" not in str(error)


def test_a_limit_of_the_server_changes_nothing(earlier: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    def limit(connection: Any, found: Any) -> None:
        connection.run("SET LOCAL work_mem = '64kB'", "SET LOCAL temp_file_limit = '1kB'")
        connection.run("CREATE TEMP TABLE big ON COMMIT DROP AS SELECT i FROM generate_series(1, 50000) i")
        connection.rows("SELECT i FROM big ORDER BY i DESC LIMIT 1 OFFSET 40000")

    interfere(monkeypatch, "written", limit)
    assert "lacks memory or disk" in attempt(earlier).message


def test_nobody_can_drop_the_table_that_is_replaced(
    earlier: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    refusals = []

    def drop(connection: Any, found: Any) -> None:
        with pytest.raises(Exception, match="lock timeout") as caught:
            earlier.run("SET lock_timeout = '100ms'", "DROP TABLE people_k3")
        refusals.append(caught.value)

    interfere(monkeypatch, "written", drop)
    shoal.anonymize(recipe(earlier)).write(force=True)
    assert len(refusals) == 1
    assert earlier.rows("SELECT count(*) FROM people_k3") == [(120,)]


def test_readers_see_the_earlier_release_until_the_end(
    earlier: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = []
    interfere(monkeypatch, "verified", lambda *_: seen.append(earlier.rows("SELECT * FROM people_k3")))
    shoal.anonymize(recipe(earlier)).write(force=True)
    assert seen == [[("the earlier release",)]]


@pytest.mark.parametrize("after", ["written", "verified"])
def test_a_table_that_vanishes_while_it_is_written_changes_nothing(
    after: str, earlier: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    def drop(connection: Any, found: Any) -> None:
        (staged,) = [
            name for (name,) in connection.rows("SELECT relname::text FROM pg_class WHERE relname ~ 'shoal-'")
        ]
        connection.run(f'DROP TABLE "{staged}"')

    interfere(monkeypatch, after, drop)
    assert attempt(earlier).code == "output.unwritable"


def test_a_schema_cannot_be_dropped_meanwhile(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    make_people(database)
    database.run("CREATE SCHEMA out")

    def drop(connection: Any, found: Any) -> None:
        with pytest.raises(Exception, match="lock timeout"):
            database.run("SET lock_timeout = '100ms'", "DROP SCHEMA out CASCADE")

    interfere(monkeypatch, "written", drop)
    shoal.anonymize(recipe(database)).write(database.address(), table="out.people")
    assert database.rows("SELECT count(*) FROM out.people") == [(120,)]


def test_a_locked_table_is_not_waited_for_forever(earlier: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shoal.table.postgres.writing._LOCK_SECONDS", 0.2)
    with closing(earlier.connect()) as other, closing(other.cursor()) as cursor:
        cursor.execute("SELECT * FROM people_k3")
        cursor.fetchall()
        assert "holds a lock" in attempt(earlier).message


TAMPERING = {
    "a row less": ("DELETE FROM {} WHERE ctid = '(0,1)'", "verify.rows"),
    "a row more": ("INSERT INTO {0} SELECT * FROM {0} LIMIT 1", "verify.rows"),
    "another label": ("UPDATE {} SET age = '[1, 99]' WHERE ctid = '(0,1)'", "verify.k"),
    "another column": ("ALTER TABLE {} ADD COLUMN name text", "verify.forbidden_column"),
    "a column less": ("ALTER TABLE {} DROP COLUMN ill", "verify.missing_column"),
    "no rows": ("TRUNCATE {}", "verify.empty"),
}


@pytest.mark.parametrize("what", some(TAMPERING, 3))
def test_what_the_database_has_is_what_is_verified(
    what: str, earlier: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    sql, code = TAMPERING[what]

    def change(connection: Any, staged: str) -> None:
        connection.run(sql.format(f'public."{staged}"'))

    interfere(monkeypatch, "written", change)
    error = attempt(earlier)
    assert isinstance(error, PromiseError)
    assert code in error.message


def test_a_driver_that_reads_other_rows_is_found_out(
    earlier: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    true = writing.read_back
    monkeypatch.setattr(writing, "read_back", lambda stored, **given: true(stored, **given).slice(1))
    assert isinstance(attempt(earlier), PromiseError)


def test_files_that_cannot_be_written_change_nothing(
    earlier: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: Any) -> None:
        raise OutputError("output.unwritable", "No space left on device.")

    monkeypatch.setattr(writing, "move_into_place", full)
    assert attempt(earlier).code == "output.unwritable"


def test_an_interruption_changes_nothing(earlier: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*_: Any) -> None:
        raise KeyboardInterrupt

    interfere(monkeypatch, "renamed", interrupt)
    before, files = earlier.tables(), snapshot(Path.cwd())
    with pytest.raises(KeyboardInterrupt):
        shoal.anonymize(recipe(earlier)).write(force=True)
    assert (earlier.tables(), snapshot(Path.cwd())) == (before, files)
