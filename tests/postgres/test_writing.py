"""A release in a database: what is written, what a replaced table keeps, and what is refused."""

from __future__ import annotations

import datetime as dt
import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import shoal
from shoal.errors import ShoalError
from shoal.recipe import Recipe
from shoal.workflow.publish import publish
from tests.bad_input_cases import run, snapshot
from tests.postgres.people import ROWS, make_people, recipe
from tests.postgres_server import PASSWORD, Database
from tests.profiles import some

RELEASE = 'SELECT age, "Zip Code", ill, cost::text FROM {} ORDER BY 1, 2, 3 NULLS FIRST, 4'


def release(database: Database, **options: Any) -> None:
    """Write the release without a report, which takes long."""
    shoal.anonymize(recipe(database)).write(**options)


def refused(database: Database, given: Recipe | None = None, **options: Any) -> ShoalError:
    """Return the error of a run that changes nothing."""
    before, files = database.tables(), snapshot(Path.cwd())
    with pytest.raises(ShoalError) as caught:
        publish(given or recipe(database), **options)
    assert (database.tables(), snapshot(Path.cwd())) == (before, files)
    return caught.value


def test_a_release_has_the_same_rows_in_a_database_and_in_a_file(database: Database, tmp_path: Path) -> None:
    make_people(database)
    result = run("anonymize", *_command(database), "--json", "--no-bound")
    assert result.exit_code == 0, result.stderr
    printed = json.loads(result.stdout)
    assert printed["output"] == database.address()
    assert [printed[key] for key in ("table", "manifest", "report", "released", "replaced")] == [
        "people_k3", "people_k3.manifest.json", "people_k3.report.html", ROWS, False,
    ]  # fmt: skip
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "people_k3.manifest.json",
        "people_k3.report.html",
    ]
    shoal.anonymize(recipe(database)).write("people.csv")
    frame = pl.read_csv("people.csv", infer_schema=False)
    written = database.rows(RELEASE.format("people_k3"))
    order = lambda row: [cell or "" for cell in row]  # noqa: E731
    assert sorted(written, key=order) == sorted(frame.rows(), key=order)
    assert [name for _, name, *_ in database.tables()] == ["people", "people_k3"]
    manifest = json.loads(Path("people_k3.manifest.json").read_text())
    assert list(manifest["release"]) == ["rows_sha256", "rows", "classes"]
    assert "output" not in manifest["recipe"]
    report = Path("people_k3.report.html").read_text()
    assert "by PostgreSQL inside the database, and by DuckDB" in report
    assert "shoal verify &#39;postgresql://HOST/DATABASE#people_k3&#39;" in report


def _command(database: Database, *more: str) -> list[str]:
    address = database.address()
    return [
        address, "--table", "people", "--quasi", "age,Zip Code", "--sensitive", "ill", "--keep", "cost",
        "--identifier", "name", "--k", "3", "--method", "mondrian", "-o", address,
        "--output-table", "people_k3", *more,
    ]  # fmt: skip


def test_a_release_says_in_words_where_it_is(database: Database) -> None:
    make_people(database)
    result = run("anonymize", *_command(database), "--no-bound")
    assert f"table people_k3 of {database.address()}" in result.stdout
    assert "verified inside the database and by DuckDB" in result.stdout


def test_kept_columns_keep_their_types(database: Database) -> None:
    cells = {
        "s": pl.Series([1, None] * 3, dtype=pl.Int16),
        "u": pl.Series([1, 2**64 - 1] * 3, dtype=pl.UInt64),
        "d": pl.Series([Decimal("1.50"), None] * 3, dtype=pl.Decimal(10, 2)),
        "f": pl.Series([0.1, -1e300] * 3),
        "b": [True, None] * 3,
        "t": ["", "\\N \t\"'\n"] * 3,
        "day": [dt.date(1, 1, 1), dt.date(9999, 12, 31)] * 3,
        "at": [dt.datetime(2020, 1, 1, 12, 0, 0, 1), None] * 3,
        "zoned": pl.Series([dt.datetime(2020, 1, 1, 12)] * 6).dt.replace_time_zone("Europe/Berlin"),
        "clock": [dt.time(23, 59, 59, 999999), None] * 3,
        "nothing": [None] * 6,
    }
    frame = pl.DataFrame({"age": [1, 1, 1, 2, 2, 2], **cells})
    made = shoal.anonymize(frame, quasi=["age"], keep=list(cells), k=3)
    made.write(database.address(), table="typed")
    types = database.rows(
        "SELECT attname::text, format_type(atttypid, atttypmod) FROM pg_attribute "
        "WHERE attrelid = 'typed'::regclass AND attnum > 0"
    )
    assert dict(types) == {
        "age": "text", "s": "smallint", "u": "numeric(20,0)", "d": "numeric(10,2)", "f": "double precision",
        "b": "boolean", "t": "text", "day": "date", "at": "timestamp without time zone",
        "zoned": "timestamp with time zone", "clock": "time without time zone", "nothing": "text",
    }  # fmt: skip
    found = database.rows(
        "SELECT DISTINCT s, u::text, d::text, f, b, t, day, at, zoned::text, clock, nothing "
        "FROM typed ORDER BY s"
    )
    assert found == [
        (1, "1", "1.50", 0.1, True, None, dt.date(1, 1, 1), dt.datetime(2020, 1, 1, 12, 0, 0, 1),
         "2020-01-01 11:00:00+00", dt.time(23, 59, 59, 999999), None),
        (None, str(2**64 - 1), None, -1e300, None, "\\N \t\"'", dt.date(9999, 12, 31), None,
         "2020-01-01 11:00:00+00", None, None),
    ]  # fmt: skip


def test_python_names_the_table(database: Database) -> None:
    make_people(database)
    made = shoal.anonymize(recipe(database))
    database.run('CREATE SCHEMA "Out"')
    assert made.write(database.address(), table='Out."a.b"') == Path("Out.%22a.b%22.manifest.json")
    assert database.rows('SELECT count(*) FROM "Out"."a.b"') == [(ROWS,)]
    frame = pl.DataFrame({"age": [1, 1, 2, 2]})
    with pytest.raises(ShoalError, match="table is not named"):
        shoal.anonymize(frame, quasi=["age"], k=2).write(database.address())


def test_a_flag_writes_the_release_of_such_a_recipe_to_a_file(database: Database) -> None:
    make_people(database)
    Path("recipe.toml").write_text(recipe(database).to_toml())
    assert run("anonymize", "recipe.toml", "-o", "out.csv", "--no-bound").exit_code == 0
    assert Path("out.csv").is_file()
    assert [name for _, name, *_ in database.tables()] == ["people"]


def test_people_are_counted_in_the_database(database: Database) -> None:
    make_people(database)
    database.run("UPDATE people SET name = 'n' || substr(name, 2)::int / 2")
    given = recipe(database, columns={"name": {"role": "subject"}})
    made = shoal.anonymize(given)
    made.write()
    manifest = json.loads(Path("people_k3.manifest.json").read_text())
    assert manifest["goals"][0]["counts"] == "people"
    assert database.rows("SELECT count(*) FROM people_k3") == [(ROWS,)]


def test_a_release_is_verified_where_it_is(database: Database) -> None:
    make_people(database)
    release(database)
    place = f"{database.address()}#people_k3"
    assert run("verify", place).exit_code == 0
    assert run("verify", place, "--original", database.address(), "--json").exit_code == 0
    assert shoal.verify(place, recipe(database)).k == 3
    database.run("UPDATE people_k3 SET age = '1' WHERE ctid = '(0,1)'")
    found = run("verify", place, "--json")
    codes = {problem["code"] for problem in json.loads(found.stdout)["problems"]}
    assert (found.exit_code, codes >= {"verify.digest", "verify.k"}) == (1, True)
    assert "The table of the release" in run("verify", database.address(), "--quasi", "a", "--k", "2").stderr
    nobody = run("verify", f"{database.address()}#nobody", "--quasi", "a", "--k", "2")
    assert "there is no table `nobody`" in nobody.stderr


# Replacing.


def privileges(database: Database) -> list[tuple[Any, ...]]:
    return database.rows(
        "SELECT pg_get_userbyid(relowner)::text, (SELECT array_agg(a::text ORDER BY a::text)::text "
        "FROM unnest(relacl) a), obj_description(c.oid), col_description(c.oid, 1), "
        "(SELECT attacl::text FROM pg_attribute WHERE attrelid = c.oid AND attname = 'ill'), "
        "(SELECT string_agg(pg_get_indexdef(indexrelid), ';') FROM pg_index WHERE indrelid = c.oid) "
        "FROM pg_class c WHERE relname = 'people_k3'"
    )


def test_a_replaced_table_hands_over_what_it_has(database: Database) -> None:
    make_people(database)
    release(database)
    database.run(
        "ALTER TABLE people_k3 OWNER TO boss",
        "GRANT SELECT, INSERT ON people_k3 TO reader WITH GRANT OPTION",
        "REVOKE TRUNCATE ON people_k3 FROM boss",
        "GRANT SELECT ON people_k3 TO PUBLIC",
        "GRANT SELECT (ill) ON people_k3 TO clerk",
        "COMMENT ON TABLE people_k3 IS 'It''s \\ the 100% release'",
        "COMMENT ON COLUMN people_k3.age IS 'years'",
        'CREATE INDEX "my index" ON people_k3 (age, lower(ill)) WHERE ill IS NOT NULL',
        "ALTER DEFAULT PRIVILEGES IN SCHEMA public GRANT ALL ON TABLES TO clerk",
    )
    kept, (oid,) = privileges(database), database.rows("SELECT 'people_k3'::regclass::oid::bigint")
    release(database)
    assert privileges(database) == kept
    assert database.rows("SELECT 'people_k3'::regclass::oid::bigint") != [oid]
    assert [name for _, name, *_ in database.tables()] == ["my index", "people", "people_k3"]


def test_a_table_without_grants_gets_none_from_default_privileges(database: Database) -> None:
    make_people(database)
    release(database)
    database.run("ALTER DEFAULT PRIVILEGES IN SCHEMA public GRANT ALL ON TABLES TO PUBLIC")
    release(database)
    ((acl,),) = database.rows("SELECT relacl::text FROM pg_class WHERE relname = 'people_k3'")
    assert acl == "{postgres=arwdDxt/postgres}"


LOST = {
    "view": ("CREATE VIEW seen AS SELECT age FROM people_k3", "views that depend on it (`seen`)"),
    "view-of-a-view": (
        "CREATE MATERIALIZED VIEW m AS SELECT age FROM people_k3", "views that depend on it (`m`)",
    ),
    "rule": ("CREATE RULE r AS ON DELETE TO people_k3 DO NOTHING", "rules (`r`)"),
    "trigger": (
        "CREATE TRIGGER tr BEFORE DELETE ON people_k3 EXECUTE FUNCTION suppress_redundant_updates_trigger()",
        "triggers (`tr`)",
    ),
    "check": ("ALTER TABLE people_k3 ADD CONSTRAINT c CHECK (age <> '')", "constraints (`c`)"),
    "not-null": ("ALTER TABLE people_k3 ALTER age SET NOT NULL", "not be null, or have a default (`age`)"),
    "row-security": ("ALTER TABLE people_k3 ENABLE ROW LEVEL SECURITY", "policies for rows (`row security`)"),
    "policy": ("CREATE POLICY p ON people_k3 USING (true)", "policies for rows (`p`)"),
    "child": ("CREATE TABLE child () INHERITS (people_k3)", "inherit from it, or it from them (`child`)"),
    "publication": ("CREATE PUBLICATION pub FOR TABLE people_k3", "publications (`pub`)"),
}  # fmt: skip


@pytest.mark.parametrize("name", some(LOST, 3))
def test_nothing_that_depends_on_a_table_is_lost(name: str, database: Database) -> None:
    make_people(database)
    release(database)
    sql, told = LOST[name]
    database.run(sql)
    error = refused(database, force=True)
    assert (error.code, told in error.message) == ("output.unwritable", True), error.message


def test_another_table_is_replaced_by_force_only(database: Database) -> None:
    make_people(database)
    database.run("CREATE TABLE people_k3 AS SELECT 1 AS precious")
    assert refused(database).code == "output.exists"
    release(database, force=True)
    assert database.rows("SELECT count(*) FROM people_k3") == [(ROWS,)]


def test_a_release_that_somebody_changed_is_replaced_by_force_only(database: Database) -> None:
    make_people(database)
    release(database)
    database.run("CREATE TEMP TABLE x AS SELECT 1", "UPDATE people_k3 SET ill = 'x' WHERE ctid = '(0,1)'")
    assert refused(database).code == "output.exists"
    Path("people_k3.manifest.json").unlink()
    assert refused(database).code == "output.exists"
    release(database, force=True)


def test_another_order_of_rows_is_the_same_release(database: Database) -> None:
    make_people(database)
    release(database)
    first = Path("people_k3.manifest.json").read_bytes()
    database.run("CREATE TABLE sorted AS TABLE people_k3 ORDER BY cost", "DROP TABLE people_k3")
    database.run("ALTER TABLE sorted RENAME TO people_k3")
    release(database)
    assert Path("people_k3.manifest.json").read_bytes() == first


# What is refused before any work.


def with_view(database: Database) -> dict[str, Any]:
    database.run("CREATE VIEW seen AS SELECT * FROM people")
    return {"input": {"table": "seen"}, "output": {"table": "people"}}


def with_query(database: Database) -> dict[str, Any]:
    query = "WITH q AS (SELECT * FROM public.people) SELECT * FROM q"
    return {"input": {"query": query}, "output": {"table": "public.people"}}


OVERWRITING = {
    "table": lambda database: {"output": {"table": "people"}},
    "another-spelling": lambda database: {
        "output": {"table": "public.people", "path": database.address() + "&application_name=x"}
    },
    "view": with_view,
    "query": with_query,
}


@pytest.mark.parametrize("name", OVERWRITING)
def test_the_input_is_never_overwritten(name: str, database: Database) -> None:
    make_people(database)
    changes = OVERWRITING[name](database)
    sections = recipe(database).to_dict()
    if "query" in changes.get("input", {}):
        del sections["input"]["table"]
    error = refused(database, Recipe.from_dict(sections, changes=changes), force=True)
    assert (error.code, "read as the input" in error.message) == ("output.unwritable", True), error.message


REFUSED = {
    "no-schema": ({"output": {"table": "nobody.people"}}, "no schema `nobody`"),
    "a-view": ({"output": {"table": "seen"}}, "not a plain table"),
    "a-sequence": ({"output": {"table": "counter"}}, "not a plain table"),
    "long-name": ({"output": {"table": "x" * 64}}, "more than 63 bytes"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_target_that_cannot_be_written_is_refused(name: str, database: Database) -> None:
    make_people(database)
    database.run("CREATE VIEW seen AS SELECT 1 AS a", "CREATE SEQUENCE counter")
    changes, told = REFUSED[name]
    error = refused(database, recipe(database, **changes), force=True)
    assert (error.code, told in error.message) == ("output.unwritable", True), error.message


def test_only_who_may_create_a_table_writes_one(database: Database) -> None:
    make_people(database)
    database.run("GRANT SELECT ON people TO clerk", "REVOKE CREATE ON SCHEMA public FROM PUBLIC")
    clerk = {"path": database.address("clerk", PASSWORD)}
    assert "may not create tables" in refused(database, recipe(database, output=clerk)).message
    database.run("GRANT CREATE ON SCHEMA public TO clerk")
    release(database)
    assert "Only the owner" in refused(database, recipe(database, output=clerk)).message
    assert PASSWORD not in str(refused(database, recipe(database, output=clerk)))


COLUMNS = {
    "a" * 64: "more than 63 bytes",
    "ctid": "a column called `ctid`",
    "texts": "1 texts with a null byte",
}


@pytest.mark.parametrize("name", COLUMNS)
def test_columns_that_postgres_cannot_have_are_refused(name: str, database: Database) -> None:
    frame = pl.DataFrame({"age": [1, 1, 2, 2], name: ["a\0b", "x", "x", "x"]})
    made = shoal.anonymize(frame, quasi=["age"], keep=[name], k=2)
    with pytest.raises(ShoalError) as caught:
        made.write(database.address(), table="t")
    assert COLUMNS[name] in caught.value.message
    assert (database.tables(), snapshot(Path.cwd())) == ([], {})
