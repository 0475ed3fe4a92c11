"""Tables, views and queries are read as the database has them, and nothing in it changes."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from pathlib import Path

import polars as pl
import pytest

import shoal
from shoal.errors import ShoalError
from shoal.recipe import Address, Input, Recipe
from shoal.table.read import read
from tests.bad_input_cases import run
from tests.postgres.people import ROWS, make_people, recipe
from tests.postgres_server import PASSWORD, Database
from tests.profiles import some

# The SQL of a value, and what it is in a frame.
TYPES = {
    "smallint": ("(-3)::smallint", -3, pl.Int16),
    "integer": ("4", 4, pl.Int32),
    "bigint": ("9007199254740993::bigint", 9007199254740993, pl.Int64),
    "real": ("1.5::real", 1.5, pl.Float32),
    "double": ("0.1::float8", 0.1, pl.Float64),
    "not-a-number": ("'NaN'::float8", None, pl.Float64),
    "numeric": ("12.50::numeric(8, 2)", Decimal("12.50"), pl.Decimal(38, 2)),
    "long-numeric": ("12345678901234567890.5", Decimal("12345678901234567890.5"), pl.Decimal(38, 1)),
    "whole-numeric": ("77::numeric(10, 0)", 77, pl.Int64),
    "numeric-not-a-number": ("'NaN'::numeric", None, pl.Int64),
    "text": ("'a b'::text", "a b", pl.String),
    "varchar": ("'ab'::varchar(10)", "ab", pl.String),
    "char": ("'ab'::char(10)", "ab", pl.String),
    "empty-text": ("''::text", None, pl.String),
    "boolean": ("true", True, pl.Boolean),
    "date": ("date '1899-12-31'", dt.date(1899, 12, 31), pl.Date),
    "timestamp": (
        "timestamp '2020-02-29 23:59:59.123456'",
        dt.datetime(2020, 2, 29, 23, 59, 59, 123456),
        pl.Datetime("us"),
    ),
    "timestamptz": (
        "timestamptz '2020-02-29 23:00:00+02'",
        dt.datetime(2020, 2, 29, 21, tzinfo=dt.UTC),
        pl.Datetime("us", "UTC"),
    ),
    "time": ("time '12:30'", dt.time(12, 30), pl.Time),
    "uuid": (
        "'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'::uuid", "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11", pl.String
    ),
    "enum": ("'ok'::mood", "ok", pl.String),
    "domain": ("7::share", 7, pl.Int32),
    "domain-of-a-domain": ("7::small_share", 7, pl.Int32),
    "text-domain": ("'x'::word", "x", pl.String),
}  # fmt: skip
MADE = (
    "CREATE TYPE mood AS ENUM ('sad', 'ok')",
    "CREATE DOMAIN share AS int CHECK (value > 0)",
    "CREATE DOMAIN small_share AS share",
    "CREATE DOMAIN word AS varchar(9)",
    "CREATE TYPE pair AS (a int, b int)",
)


def at(database: Database, **given: object) -> pl.DataFrame:
    return read(Address(database.address()), Input(**given))  # type: ignore[arg-type]


def fault(database: Database, **given: object) -> ShoalError:
    with pytest.raises(ShoalError) as caught:
        at(database, **given)
    return caught.value


def test_every_type_is_read_as_it_is(database: Database) -> None:
    cells = ", ".join(f'{sql} AS "{name}"' for name, (sql, _, _) in TYPES.items())
    database.run(*MADE, f"CREATE TABLE typed AS SELECT {cells}", "INSERT INTO typed DEFAULT VALUES")
    frame = at(database, table="typed")
    assert dict(frame.schema) == {name: dtype for name, (_, _, dtype) in TYPES.items()}
    assert frame.row(0, named=True) == {name: value for name, (_, value, _) in TYPES.items()}
    assert set(frame.row(1)) == {None}


UNSUPPORTED = {
    "a": ("'{1}'::int[]", "integer[]"),
    "b": ("'{}'::jsonb", "jsonb"),
    "c": (r"'\x00'::bytea", "bytea"),
    "d": ("'(1,2)'::point", "point"),
    "e": ("interval '1 day'", "interval"),
    "f": ("'10.0.0.1'::inet", "inet"),
    "g": ("'(1,2)'::pair", "pair"),
    "h": ("'[1,2]'::int4range", "int4range"),
    "i": ("'{ok}'::mood[]", "mood[]"),
    "j": ("12::money", "money"),
    "k": ("'1'::xml", "xml"),
    "l": ("'12:00+01'::timetz", "time with time zone"),
    "m": ("'a'::tsvector", "tsvector"),
}


def test_unsupported_types_are_named_all_at_once(database: Database) -> None:
    cells = ", ".join(f'{sql} AS "{name}"' for name, (sql, _) in UNSUPPORTED.items())
    database.run(*MADE, f"CREATE TABLE odd AS SELECT {cells}, 1 AS fine")
    error = fault(database, table="odd")
    assert error.code == "data.kind"
    assert all(f"`{name}` ({shown})" in error.message for name, (_, shown) in UNSUPPORTED.items())
    assert "`fine`" not in error.message
    fine = read(Address(database.address()), Input(table="odd"), lambda names: {"fine"})
    assert fine.rows() == [(1,)]


def test_empty_texts_are_missing_unless_the_recipe_says_otherwise(database: Database) -> None:
    database.run("CREATE TABLE t AS SELECT * FROM (VALUES ('', 1), (NULL, 2), ('x', 3)) AS v(a, b)")
    assert at(database, table="t")["a"].to_list() == [None, None, "x"]
    assert at(database, table="t", missing=[])["a"].to_list() == ["", None, "x"]


def test_tables_are_found_by_schema_and_exact_name(database: Database) -> None:
    database.run(
        "CREATE TABLE people AS SELECT 1 AS a",
        'CREATE TABLE "People" AS SELECT 2 AS a',
        'CREATE SCHEMA "my.schema"',
        'CREATE TABLE "my.schema"."a ""b"" c" AS SELECT 3 AS a',
        "CREATE SCHEMA other",
        "CREATE TABLE other.people AS SELECT 4 AS a",
        "CREATE TABLE other.alone AS SELECT 5 AS a",
        "CREATE VIEW seen AS SELECT a + 5 AS a FROM other.alone",
        "CREATE MATERIALIZED VIEW kept AS SELECT a + 6 AS a FROM other.alone",
        "CREATE TABLE parted (a int) PARTITION BY LIST (a)",
        "CREATE TABLE part_1 PARTITION OF parted DEFAULT",
        "INSERT INTO parted VALUES (12)",
    )
    names = {
        "people": 1, "public.people": 1, "People": 2, '"my.schema"."a ""b"" c"': 3, "other.people": 4,
        "other.alone": 5, "seen": 10, "kept": 11, "parted": 12,
    }  # fmt: skip
    assert {name: at(database, table=name)["a"][0] for name in names} == names
    assert fault(database, table="alone").code == "data.table"
    assert "did you mean `other.alone`?" in fault(database, table="other.alon").hint
    several = fault(database)
    assert (several.code, "has 9 tables" in several.message) == ("data.table", True)


def test_the_only_table_needs_no_name(database: Database) -> None:
    assert fault(database).code == "data.empty"
    database.run("CREATE TABLE t AS SELECT 1 AS a")
    assert at(database).rows() == [(1,)]


@pytest.mark.parametrize(
    "query", ["SELECT a + 1 AS b FROM t -- why", "SELECT a + 1 AS b FROM t ; ", "TABLE u"]
)
def test_a_query_takes_the_place_of_a_table(query: str, database: Database) -> None:
    database.run("CREATE TABLE t AS SELECT 1 AS a", "CREATE TABLE u AS SELECT 2 AS b")
    assert at(database, query=query).rows() == [(2,)]


QUERIES = {
    "SELECT a FROM t; DROP TABLE t": "data.unreadable",
    "DELETE FROM t RETURNING a": "data.unreadable",
    "WITH gone AS (DELETE FROM t RETURNING a) SELECT * FROM gone": "data.unreadable",
    "SELECT nextval('s') AS a": "data.unreadable",
    "SELECT 1) AS q; DROP TABLE t; SELECT (1": "data.unreadable",
    "SELECT a, a FROM t": "data.duplicate_column",
    "SELECT a FROM nobody": "data.unreadable",
    "SELECT 'ZXMARKERXZ'::text::int AS a": "data.unreadable",
    "SELECT $1::int AS a": "data.unreadable",
    "SELECT a FROM t WHERE false": "data.empty",
    "SELECT 'infinity'::date AS a": "data.kind",
    "SELECT '0044-03-15 BC'::date AS a": "data.kind",
    "SELECT '-infinity'::timestamptz AS a": "data.kind",
    "SELECT 'Infinity'::numeric AS a": "data.infinite",
    "SELECT 10::numeric ^ 40 AS a": "data.kind",
    "SELECT NULL::void AS a": "data.kind",
    "SELECT pg_sleep(9)::text AS a": "data.unreadable",
}


@pytest.mark.parametrize("query", some(QUERIES, 4))
def test_a_bad_query_is_one_error_and_changes_nothing(
    query: str, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    database.run("CREATE TABLE t AS SELECT 1 AS a", "CREATE SEQUENCE s")
    before = database.tables()
    monkeypatch.setenv("PGOPTIONS", "-c statement_timeout=300")
    error = fault(database, query=query)
    assert error.code == QUERIES[query]
    assert "ZXMARKERXZ" not in str(error)
    assert error.hint
    monkeypatch.delenv("PGOPTIONS")
    assert (database.tables(), database.rows("SELECT a FROM t")) == (before, [(1,)])
    assert database.rows("SELECT last_value, is_called FROM s") == [(1, False)]


def test_a_table_without_the_privilege_is_refused(database: Database) -> None:
    database.run("CREATE TABLE t AS SELECT 1 AS a")
    with pytest.raises(ShoalError, match="permission is denied"):
        read(Address(database.address("clerk", PASSWORD)), Input(table="t"))


def test_the_order_of_the_rows_does_not_matter(database: Database, tmp_path: Path) -> None:
    make_people(database)
    shoal.anonymize(recipe(database)).write(tmp_path / "one.csv")
    database.run("CREATE TABLE mixed AS SELECT * FROM people ORDER BY md5(name)")
    shoal.anonymize(recipe(database, input={"table": "mixed"})).write(tmp_path / "two.csv")
    assert (tmp_path / "one.csv").read_bytes() == (tmp_path / "two.csv").read_bytes()


def test_a_database_gives_the_same_release_as_a_file(database: Database, tmp_path: Path) -> None:
    make_people(database)
    at(database, table="people").write_parquet(tmp_path / "people.parquet")
    shoal.anonymize(recipe(database)).write(tmp_path / "one.csv")
    given = {"input": {"path": str(tmp_path / "people.parquet")}, "output": {"path": "x.csv"}}
    sections = recipe(database).to_dict()
    del sections["input"]["table"], sections["output"]["table"]
    shoal.anonymize(Recipe.from_dict(sections, changes=given)).write(tmp_path / "two.csv")
    assert (tmp_path / "one.csv").read_bytes() == (tmp_path / "two.csv").read_bytes()


ROLES = ("--quasi", "age,Zip Code", "--sensitive", "ill", "--default", "drop", "--k", "3")


def test_every_command_reads_a_database(database: Database, tmp_path: Path) -> None:
    make_people(database)
    address, out = database.address(), tmp_path / "out.csv"
    query = ("--query", "SELECT * FROM people")
    for command in (
        ("inspect", address, "--write", tmp_path / "draft.toml"),
        ("inspect", address, *query),
        ("anonymize", address, *query, *ROLES, "--method", "mondrian", "-o", out, "--no-bound"),
        ("verify", out, "--original", address, *query, "--recipe", f"{out}.manifest.json"),
        ("verify", out, "--original", address),
        ("attack", address, out),
        ("measure", address, *query, *ROLES, "--released", out),
        ("risk", address, "--table", "people", *ROLES),
        ("compare", address, *query, *ROLES, "--methods", "mondrian,k-member", "--no-bound"),
    ):
        found = run(*command)
        assert found.exit_code == 0, found.stderr + found.stdout
    assert Recipe.load(tmp_path / "draft.toml").input.path == address
    assert run("anonymize", tmp_path / "draft.toml", "-o", tmp_path / "again.csv").exit_code == 0


def test_a_changed_release_is_found_out_with_the_original_in_the_database(
    database: Database, tmp_path: Path
) -> None:
    make_people(database)
    out = tmp_path / "out.csv"
    shoal.anonymize(recipe(database)).write(out)
    given = recipe(database)
    assert shoal.verify(out, given, original=database.address()).holds
    out.write_text(out.read_text().replace("2.50", "2.51", 1))
    verdict = shoal.verify(out, given, original=database.address(), manifest=False)
    assert [problem.code for problem in verdict.problems] != []


def test_python_inspects_a_database(database: Database) -> None:
    make_people(database)
    assert shoal.inspect(database.address(), table="people").rows == ROWS
    found = shoal.inspect(database.address(), query="SELECT age FROM people")
    assert [column.name for column in found.columns] == ["age"]
    assert 'query = "SELECT age FROM people"' in found.recipe
    with pytest.raises(ShoalError, match="two different tables"):
        shoal.inspect(database.address(), query="SELECT 1", table="people")
    with pytest.raises(ShoalError, match="given as a Path"):
        shoal.inspect(Path(database.address()), table="people")
