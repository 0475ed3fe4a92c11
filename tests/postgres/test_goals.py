"""What the database counts, against tables worked by hand and against the other engine."""

from __future__ import annotations

from contextlib import closing
from math import exp, log
from typing import Any

import pyarrow as pa
import pytest

import shoal
from shoal.recipe import Recipe
from shoal.verifier import verify_table
from shoal.verifier.postgres import Inside, Stored, digest_of, read_back, verify_inside
from tests.postgres.people import make_people, recipe
from tests.postgres_server import Database

# Two classes: a has flu, flu, cold; b has flu, cold, cold, gout. In all: flu 3, cold 3, gout 1.
ROWS = [("a", "flu"), ("a", "flu"), ("a", "cold"), ("b", "flu"), ("b", "cold"), ("b", "cold"), ("b", "gout")]
PEOPLE = [1, 1, 2, 3, 4, 4, 5]
GOALS: dict[str, tuple[dict[str, Any], float | None]] = {
    "distinct": ({"type": "l-diversity", "l": 2}, 2),
    "frequency": ({"type": "l-diversity", "variant": "frequency", "l": 1}, 1),  # 3 // 2
    "entropy": (
        {"type": "l-diversity", "variant": "entropy", "l": 1.5},
        exp(-(2 / 3) * log(2 / 3) - (1 / 3) * log(1 / 3)),
    ),
    "recursive": ({"type": "l-diversity", "variant": "recursive", "l": 1, "c": 2.5}, 2),  # 2 < 2.5 * 1
    "t-closeness": ({"type": "t-closeness", "t": 0.5}, (2 / 3 - 3 / 7)),  # a: flu is all that is in excess
    "alpha-k": ({"type": "alpha-k", "alpha": 0.9}, 2 / 3),
    "basic": ({"type": "beta-likeness", "beta": 2, "variant": "basic"}, 3 / 4),  # gout: 1/4 against 1/7
    "enhanced": ({"type": "beta-likeness", "beta": 2, "variant": "enhanced"}, 3 / 4),
    "delta": ({"type": "delta-disclosure", "delta": 9}, None),  # a has no gout
}


def asked(*goals: dict[str, Any], k: int = 3) -> Recipe:
    columns = {"place": {"role": "quasi"}, "ill": {"role": "sensitive"}}
    return Recipe.from_dict(
        {"columns": columns, "privacy": {"k": k, "goal": [{"column": "ill", **goal} for goal in goals]}}
    )


def fill(database: Database, rows: list[tuple[Any, Any]]) -> None:
    cells = ", ".join(f"({place!r}, {'NULL' if ill is None else repr(ill)})" for place, ill in rows)
    database.run("CREATE TABLE t (place text, ill text)", f"INSERT INTO t VALUES {cells}")


def counted(database: Database, given: Recipe, rows: int, people: list[int] | None = None) -> Inside:
    subjects = None if people is None else pa.array(people)
    with closing(database.connect()) as connection, closing(connection.cursor()) as cursor:
        return verify_inside(cursor, "public", "t", given, rows=rows, subjects=subjects)


@pytest.mark.parametrize("name", GOALS)
def test_a_goal_is_measured_as_worked_by_hand(name: str, database: Database) -> None:
    fill(database, ROWS)
    goal, expected = GOALS[name]
    found = counted(database, asked(goal), len(ROWS))
    assert (found.rows, found.classes, found.k) == (7, 2, 3)
    measured = found.goals[1]
    assert measured is not None
    assert measured.achieved == (None if expected is None else pytest.approx(expected, rel=1e-12))


def test_people_are_counted_once(database: Database) -> None:
    fill(database, ROWS)
    found = counted(database, asked({"type": "alpha-k", "alpha": 0.9}, k=2), len(ROWS), PEOPLE)
    goals = [goal for goal in found.goals if goal is not None]
    # Of the 2 people in a, 1 has flu and 1 cold; of the 3 in b, 1 each.
    assert (found.k, [goal.achieved for goal in goals]) == (2, [2, 0.5])
    assert {goal.counts for goal in goals} == {"people"}


def test_missing_values_and_missing_labels(database: Database) -> None:
    fill(database, [("", "x"), ("", None), ("a", "x"), ("a", ""), ("a", "1"), ("a", "1.0")])
    database.run("UPDATE t SET place = NULL WHERE ctid = '(0,1)'")
    found = counted(database, asked({"type": "l-diversity", "l": 1}, k=2), 6)
    assert (found.classes, found.k, found.problems) == (2, 2, ())
    assert [goal and goal.achieved for goal in found.goals] == [2, 1]


def test_broken_promises_are_problems(database: Database) -> None:
    fill(database, [*ROWS, ("c", "flu")])
    found = counted(database, asked({"type": "l-diversity", "l": 2}, k=3), 8)
    assert [problem.code for problem in found.problems] == ["verify.k", "verify.l"]
    assert [problem.code for problem in counted(database, asked(), 9).problems] == ["verify.rows"]


def test_the_goals_that_sql_cannot_measure_are_left_to_the_other_engine(database: Database) -> None:
    fill(database, ROWS)
    given = Recipe.from_dict(
        {
            "columns": {
                "place": {"role": "quasi"},
                "ill": {"role": "sensitive", "kind": "ordinal", "order": ["cold", "flu", "gout"]},
            },
            "privacy": {
                "k": 3, "goal": [{"type": "t-closeness", "column": "ill", "t": 0.9, "distance": "ordered"}],
            },
        }
    )  # fmt: skip
    found = counted(database, given, 7)
    assert (found.goals[0] is None, found.goals[1]) == (False, None)


def test_both_engines_find_the_same_in_a_release(database: Database) -> None:
    make_people(database, rows=400)
    goals = [{"column": "ill", **goal} for name, (goal, _) in GOALS.items() if name != "delta"]
    goals = [{**goal, "t": 0.9} if goal["type"] == "t-closeness" else goal for goal in goals]
    goals += [{"type": "average-risk", "threshold": 0.9}, {"type": "range", "column": "cost", "e": 0.5}]
    given = recipe(database, privacy={"k": 5, "goal": goals}, columns={"cost": {"role": "sensitive"}})
    made = shoal.anonymize(given)
    made.write()
    with closing(database.connect()) as connection, closing(connection.cursor()) as cursor:
        inside = verify_inside(cursor, "public", "people_k3", given, rows=400)
        rows = read_back(Stored.of(cursor, "public", "people_k3"))
    outside = verify_table(rows, given)
    assert None not in inside.goals
    assert [goal.achieved for goal in inside.goals if goal] == pytest.approx(
        [goal.achieved for goal in outside.goals], rel=1e-12
    )
    assert (inside.rows, inside.classes, inside.k) == (outside.rows, outside.classes, outside.k)


def digest(database: Database, table: str = "t") -> str:
    with closing(database.connect()) as connection, closing(connection.cursor()) as cursor:
        stored = Stored.of(cursor, "public", table)
        return digest_of(stored, read_back(stored))


def test_every_change_of_a_table_changes_its_digest(database: Database) -> None:
    changes = (
        "UPDATE t SET ill = 'flue' WHERE ctid = '(0,1)'",
        "UPDATE t SET ill = '' WHERE ctid = '(0,2)'",
        "UPDATE t SET ill = NULL WHERE ill = ''",
        "INSERT INTO t SELECT * FROM t WHERE ill IS NULL",
        "DELETE FROM t WHERE place = 'b'",
        "ALTER TABLE t RENAME ill TO sick",
        "ALTER TABLE t ALTER sick TYPE varchar",
        "DELETE FROM t",
    )
    fill(database, ROWS)
    digests = [digest(database)]
    for change in changes:
        database.run(change)
        digests.append(digest(database))
    assert len(set(digests)) == len(changes) + 1
    assert all(len(one) == 64 for one in digests)


def test_a_digest_depends_on_no_setting(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    cells = "0.1::float8 AS a, timestamptz '2020-01-31 12:00+02' AS b, date '2020-01-31' AS c"
    database.run(f"CREATE TABLE t AS SELECT {cells}")
    plain = digest(database)
    monkeypatch.setenv("PGOPTIONS", "-c datestyle=German -c timezone=Asia/Tokyo -c extra_float_digits=-15")
    assert digest(database) == plain
