"""Tables of hundreds of quasi columns: work is bounded, and everything still holds."""

import json
from unittest import mock

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

import shoal
from shoal.bound import scans
from shoal.cli.main import app
from shoal.cluster.local_search.schedule import Schedule
from shoal.recipe import Recipe
from shoal.recipe.options import LocalSearchOptions
from tests.profiles import slow


def wide(n_rows, n_columns):
    """Numbers and short texts at random."""
    random = np.random.Generator(np.random.PCG64(n_columns))
    data = {}
    for at in range(n_columns):
        values = random.integers(0, 100, n_rows).tolist()
        data[f"c{at}"] = [f"{value // 10}x" if at % 3 == 0 else str(value) for value in values]
    return pl.DataFrame(data)


def rounds_of(effort, n_rows, n_columns, k=5, rows_of_class=0):
    schedule = Schedule(LocalSearchOptions(effort=effort), k, n_rows, np.ones(n_columns))
    schedule.begin(rows_of_class or k)
    rounds = 0
    while schedule.share < 1.0:
        schedule.next_round()
        rounds += 1
    return rounds


@pytest.mark.parametrize(
    ("effort", "n_rows", "n_columns", "rounds"),
    [
        ("normal", 300, 1, 19),
        ("normal", 30_000, 30, 19),
        ("normal", 300, 60, 10),
        ("normal", 300, 300, 2),
        ("high", 300, 300, 17),
        ("quick", 300, 300, 2),
        ("normal", 300, 10_000, 2),
        ("normal", 1_000_000, 8, 8),
        ("normal", 1_000_000, 60, 4),
    ],
)
def test_wide_tables_have_fewer_rounds(effort, n_rows, n_columns, rounds):
    assert rounds_of(effort, n_rows, n_columns) == rounds


@pytest.mark.parametrize(
    ("k", "rounds"), [(1, 19), (2, 19), (5, 19), (10, 28), (25, 53), (50, 78), (499, 99), (500, 61)]
)
def test_large_classes_have_more_rounds_up_to_a_limit(k, rounds):
    """From k = 500 on, 30,000 rows have few classes."""
    assert rounds_of("normal", 30_000, 8, k) == rounds


@pytest.mark.parametrize(("rows_of_class", "rounds"), [(15, 28), (60, 60), (150, 86), (1000, 86)])
def test_classes_that_goals_make_large_have_more_rounds(rows_of_class, rounds):
    assert rounds_of("normal", 30_000, 8, 10, rows_of_class) == rounds


def test_columns_of_many_values_are_not_compared_with_all_others():
    # 100 values in each: no two of these columns can have few combinations.
    random = np.random.Generator(np.random.PCG64(0))
    columns = [scans._numbered(random.permutation(500) % 100, 100) for _ in range(40)]
    with mock.patch.object(scans, "_numbered", side_effect=scans._numbered) as numbered:
        groups = scans._groups(columns, 64)
    assert [members for members, _ in groups] == [[column] for column in range(40)]
    assert numbered.call_count == 0


def test_columns_of_few_values_are_still_put_together():
    random = np.random.Generator(np.random.PCG64(0))
    columns = [random.integers(0, 2, 500), random.integers(0, 100, 500), random.integers(0, 3, 500)]
    groups = scans._groups([scans._numbered(column, 100) for column in columns], 64)
    assert [members for members, _ in groups] == [[0, 2], [1]]


@pytest.mark.parametrize("width", [60, pytest.param(300, marks=slow)])
def test_very_many_columns_from_the_command_line(tmp_path, width):
    wide(40, width).write_csv(tmp_path / "wide.csv")
    quasi = ",".join(f"c{at}" for at in range(width))
    out = tmp_path / "out.csv"
    command = [
        "anonymize",
        str(tmp_path / "wide.csv"),
        "--quasi",
        quasi,
        "--k",
        "5",
        "-o",
        str(out),
        "--json",
    ]
    done = CliRunner().invoke(app, command)
    assert done.exit_code == 0, done.output
    result = json.loads(done.stdout)
    assert result["k"] >= 5
    assert result["loss"]["il"] >= result["bound"] > 0
    rounds = "2 rounds" if width == 300 else "10 rounds"  # the wider, the fewer
    assert result["remarks"][0].startswith(f"local search, {rounds}")
    report = out.with_name("out.csv.report.html").read_text()
    assert f"The chart shows the 24 of {width} columns that lost most." in report
    assert report.count('aria-label="Distribution of') == 24


@pytest.mark.parametrize("width", [100, pytest.param(300, marks=slow)])
def test_missing_cells_of_very_many_columns_are_taken_as_a_wildcard(tmp_path, width):
    # Two classes: the first lacks half of the columns, and is like the second in the others, or not.
    first = [str(at) if at % 2 else "" for at in range(width)]
    second = [str(at) for at in range(width)]
    other = [*second[:-1], "another"]
    names = [f"c{at}" for at in range(width)]
    recipe = Recipe.from_dict({"columns": {name: {"role": "quasi"} for name in names}, "privacy": {"k": 2}})
    found = []
    for rows in ([first] * 2 + [second] * 3, [first] * 2 + [other] * 3):
        path = tmp_path / "release.csv"
        path.write_text("\n".join(",".join(row) for row in [names, *rows]) + "\n")
        verdict = shoal.verify(path, recipe)
        found.append((verdict.k, verdict.k_wildcard))
    assert found == [(2, 5), (2, 2)]
