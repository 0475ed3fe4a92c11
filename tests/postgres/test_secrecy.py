"""Passwords come from the usual places and go nowhere; no message quotes the driver or a cell."""

from __future__ import annotations

from itertools import product
from pathlib import Path
from typing import Any

import pytest

from shoal.recipe import Address, Input, Recipe
from shoal.recipe.addresses import without_password
from shoal.table.read import read
from tests.bad_input_cases import MARK, run
from tests.postgres.people import make_people
from tests.postgres_server import PASSWORD, Database
from tests.profiles import some

FLAGS = (
    "--quasi", "age,Zip Code", "--sensitive", "ill", "--keep", "cost", "--identifier", "name", "--k", "3",
    "--method", "mondrian", "--no-bound",
)  # fmt: skip


@pytest.fixture
def clerk(database: Database) -> Database:
    make_people(database)
    database.run("GRANT SELECT ON people TO clerk", "GRANT CREATE ON SCHEMA public TO clerk")
    return database


def everything(result: Any, folder: Path) -> str:
    """Return all that a command printed and wrote."""
    files = [path for path in folder.rglob("*") if path.is_file()]
    return result.stdout + result.stderr + "".join(path.read_text() for path in files)


def test_a_password_is_in_nothing_that_is_printed_or_written(clerk: Database, tmp_path: Path) -> None:
    address = clerk.address("clerk", PASSWORD)
    made = run(
        "anonymize", address, "--table", "people", *FLAGS, "-o", address, "--output-table", "people_k3",
        "--save-recipe", "saved.toml", "--json",
    )  # fmt: skip
    assert made.exit_code == 0, made.stderr
    looked = run("inspect", address, "--table", "people", "--write", "draft.toml")
    assert looked.exit_code == 0
    assert PASSWORD not in everything(made, tmp_path) + looked.stdout + looked.stderr
    assert Recipe.load("saved.toml").output.path == clerk.address("clerk")
    assert Recipe.load("draft.toml").input.path == clerk.address("clerk")


BAD_QUERY = "SELECT name, (name || 'ZXMARKERXZ')::int AS age, \"Zip Code\", ill, cost FROM people"
FAILURES: dict[str, tuple[str, ...]] = {
    "wrong-password": ("postgresql://clerk:{password}X@/postgres?host={folder}", "--table", "people"),
    "no-table": ("{clerk}", "--table", "nobody"),
    "bad-query": ("{clerk}", "--query", BAD_QUERY),
    "bad-syntax": ("{clerk}", "--query", "SELECTZXMARKERXZ"),
    "no-database": ("postgresql://clerk:{password}@/nobody?host={folder}", "--table", "t"),
    "no-server": ("postgresql://clerk:{password}@localhost:1/x", "--table", "t"),
    "bad-port": ("postgresql://clerk:{password}@localhost:port/x", "--table", "t"),
    "unknown-setting": ("postgresql:///x?password={password}&nothing=1", "--table", "t"),
    "at-in-password": ("postgresql://clerk:p@{password}@localhost:1/x", "--table", "t"),
    "slash-in-password": ("postgresql://clerk:p/{password}@localhost:1/x", "--table", "t"),
    "mark-in-password": ("postgresql://clerk:p?{password}@localhost:1/x", "--table", "t"),
    "password-alone": ("postgresql://clerk:{password}", "--table", "t"),
}


@pytest.mark.parametrize(("command", "name"), some(product(["anonymize", "verify"], FAILURES), 3))
def test_a_failure_names_neither_password_nor_cell(
    command: str, name: str, clerk: Database, tmp_path: Path
) -> None:
    fill = {"clerk": clerk.address("clerk", PASSWORD), "password": PASSWORD, "folder": clerk.folder}
    address, *source = (part.format(**fill) for part in FAILURES[name])
    if command == "anonymize":
        result = run(command, address, *source, *FLAGS, "-o", "out.csv")
    else:
        Path("out.csv").write_text("age\n1\n1\n")
        result = run(command, "out.csv", "--quasi", "age", "--k", "2", "--original", address, *source)
    assert result.exit_code == 2
    assert result.stderr.startswith("error [data.")
    assert result.stderr.count("error [") == 1
    for secret in (PASSWORD, MARK, "libpq", "COPY"):
        assert secret not in everything(result, tmp_path)


def test_a_recipe_does_not_show_its_address(database: Database) -> None:
    address = Address(database.address("clerk", PASSWORD))
    assert PASSWORD not in f"{address} {address!r} {[address]}"
    given = {"input": {"path": address.dsn, "table": "t"}, "columns": {"a": {"role": "quasi"}}}
    recipe = Recipe.from_dict({**given, "privacy": {"k": 2}})
    assert PASSWORD not in f"{recipe} {recipe!r} {recipe.moved_to(Path()).to_toml()}"


def test_a_mark_in_a_password_is_not_taken_for_the_mark_before_a_table() -> None:
    database, table = Address("postgresql://ann:half#secret@host/db").split_table()
    assert (table, "secret" in str(database), "half" in str(database)) == (None, False, False)
    found = Address("postgresql://ann:half#secret@host/db#people").split_table()
    assert str(found) == "(postgresql://ann@host/db, 'people')"


def one(address: str) -> list[Any]:
    return read(Address(address), Input(query="SELECT current_user::text AS a"))["a"].to_list()


def test_credentials_come_from_the_environment(clerk: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PGHOST", str(clerk.folder))
    monkeypatch.setenv("PGUSER", "clerk")
    monkeypatch.setenv("PGDATABASE", clerk.name)
    monkeypatch.setenv("PGPASSWORD", PASSWORD)
    assert one("postgresql://") == ["clerk"]


def test_credentials_come_from_a_password_file(
    clerk: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "pgpass"
    file.write_text(f"*:*:*:clerk:{PASSWORD}\n")
    file.chmod(0o600)
    monkeypatch.setenv("PGPASSFILE", str(file))
    assert one(clerk.address("clerk")) == ["clerk"]


def test_credentials_come_from_a_service_file(
    clerk: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "services"
    file.write_text(f"[ward]\nhost={clerk.folder}\nuser=clerk\npassword={PASSWORD}\ndbname={clerk.name}\n")
    monkeypatch.setenv("PGSERVICEFILE", str(file))
    assert one("postgresql://?service=ward") == ["clerk"]


ADDRESSES = {
    "postgresql://u:p@h1:1,h2:2/db": "postgresql://u@h1:1,h2:2/db",
    "postgresql://u:p@[::1]:5432/db": "postgresql://u@[::1]:5432/db",
    "postgresql:///db?host=/tmp&user=u": "postgresql:///db?host=/tmp&user=u",
    "postgresql:///db?sslpassword=p": "postgresql:///db",
    "postgresql:///db?PASSWORD=p&a=1": "postgresql:///db?a=1",
    "postgresql:///db?p%61ssword=p": "postgresql:///...",
    "postgres://h:5432": "postgres://h:5432",
    "postgresql://h:p": "postgresql://...",
}


@pytest.mark.parametrize("address", ADDRESSES)
def test_addresses_are_shown_without_passwords(address: str) -> None:
    assert without_password(address) == ADDRESSES[address]
