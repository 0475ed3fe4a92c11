"""The published forms, kind by kind."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import pytest

from shoal.recipe import Recipe
from shoal.verify import verify

ORDER = ["low", "mid, or so", "*", "[x]", "\\y", "{a}", "", "high"]
COLUMNS: dict[str, dict[str, Any]] = {
    "numeric": {"kind": "numeric"},
    "date": {"kind": "date"},
    "ordinal": {"kind": "ordinal", "order": ORDER},
    "categorical": {"kind": "categorical"},
}
GOOD = {
    "numeric": ["1", "-1", "+1", "1.5", "1.", ".5", "1e16", "1E-3", "[1, 2]", "[-2, -1]", "[1.0, 1]"],
    "date": ["2020-02-29", "[2020-01-01, 2020-12-31]", "[2020-01-01, 2020-01-01]"],
    "ordinal": [
        "low", "high", "mid, or so", "\\*", "\\[x]", "\\\\y", "\\{a}", "\\",
        "[low, high]", "[low, low]", "[low, mid\\, or so]", "[*, \\[x\\]]", "[\\\\y, \\{a\\}]", "[, high]",
    ],
    "categorical": [
        "a", "a, b", "{a", "a]", "[a", "{a, b}", "{a, b, c}", "{a\\, b, c}", "{\\{a\\}, b}", "{, a}",
        "\\*", "\\", "\\[a, b]", "\\{a, b}", "\\\\a", "[1, 2", "1", "*a",
    ],
}  # fmt: skip
BAD = {
    "numeric": [
        "a", "[2, 1]", "[1,2]", "[1, 2", "1, 2]", "[1; 2]", "[1, 2, 3]", "[]", "[1]", "[*, 1]", "[, 1]",
        "nan", "inf", " 1", "1 ", "1_000", "\u0661", "0x1", "\\1", "**", "1e99999999999999999999999",
        "{1, 2}", "1-5",
        # one float, but not one number
        "[0.10000000000000000001, 0.1]",
    ],
    "date": [
        "2020-02-30", "20200101", "2020-1-1", "2020-W01-1", "2020-01-01 00:00:00", "1",
        "[2020-12-31, 2020-01-01]",        "[2020-01-01,2020-12-31]", "[2020-01-01]", "2020-01-01\n",
    ],
    "ordinal": [
        "other", "[high, low]", "[low, other]", "[low]", "[low, high, high]", "[low,high]", "[x]", "{a}",
        "\\y", "[low, mid, or so]", "\\low", "{low, high}", "[low, [x]]", "[low, high",
    ],
    "categorical": [
        "[a]", "[a, b]", "[]", "{}", "{a}", "{a, a}", "{a,b}", "{a, [b]}", "\\a", "{a, b\\}", "{a\\b, c}",
    ],
}  # fmt: skip


def codes(folder: Path, column: dict[str, Any], cells: list[str]) -> list[tuple[str, str]]:
    path = folder / "out.csv"
    with path.open("w", encoding="utf-8", newline="") as file:
        rows = [[cell, "x"] for cell in cells for _ in range(2)]
        csv.writer(file, lineterminator="\n").writerows([["q", "s"], *rows])
    columns = {"q": {"role": "quasi", **column}, "s": {"role": "sensitive"}}
    verdict = verify(path, Recipe.from_dict({"columns": columns, "privacy": {"k": 2}}))
    assert verdict.holds is not bool(verdict.problems)
    return [(problem.code, problem.message) for problem in verdict.problems]


@pytest.mark.parametrize(("kind", "cell"), [(kind, cell) for kind in GOOD for cell in [*GOOD[kind], "*", ""]])
def test_published_forms_are_accepted(tmp_path: Path, kind: str, cell: str) -> None:
    assert codes(tmp_path, COLUMNS[kind], [cell]) == []


@pytest.mark.parametrize(("kind", "cell"), [(kind, cell) for kind in BAD for cell in BAD[kind]])
def test_everything_else_is_a_problem(tmp_path: Path, kind: str, cell: str) -> None:
    message = "Column `q` has 1 different value in no published form, in 2 rows."
    assert codes(tmp_path, COLUMNS[kind], [cell]) == [("verify.form", message)]


def test_different_values_and_their_rows_are_counted(tmp_path: Path) -> None:
    found = codes(tmp_path, COLUMNS["numeric"], ["a", "b", "1", "[2, 3]", "b"])

    assert found == [("verify.form", "Column `q` has 2 different values in no published form, in 6 rows.")]


@pytest.mark.parametrize("kind", list(BAD))
def test_the_nodes_of_a_hierarchy_may_have_any_name(tmp_path: Path, kind: str) -> None:
    assert codes(tmp_path, {**COLUMNS[kind], "hierarchy": "tree.csv"}, BAD[kind]) == []


def test_a_kind_that_the_recipe_leaves_open_is_not_checked(tmp_path: Path) -> None:
    assert codes(tmp_path, {}, [cell for kind in BAD for cell in BAD[kind]]) == []
