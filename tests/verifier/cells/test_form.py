"""The published forms, kind by kind."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.recipe import Recipe
from shoal.verifier import Verdict, verify
from shoal.verifier.cells.form import members

ORDER = ["low", "mid, or so", "*", "[x]", "\\y", "{a}", "", "high"]
COLUMNS: dict[str, dict[str, Any]] = {
    "numeric": {"kind": "numeric"},
    "date": {"kind": "date"},
    "ordinal": {"kind": "ordinal", "order": ORDER},
    "categorical": {"kind": "categorical"},
}
GOOD = {
    "numeric": ["1", "-1", "+1", "1.5", "1.", ".5", "1e16", "1E-3", "[1, 2]", "[-2, -1]", "[1.0, 1]"],
    "date": [
        "2020-02-29", "[2020-01-01, 2020-12-31]", "[2020-01-01, 2020-01-01]",
        "2020-03", "[2019-12, 2020-03]", "2020", "[1952, 2020]",
    ],
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
        "a", "[2, 1]", "[1, 2", "1, 2]", "[1; 2]", "[1, 2, 3]", "[]", "[1]", "[*, 1]", "[, 1]",
        "nan", "inf", " 1", "1 ", "1_000", "\u0661", "0x1", "\\1", "1e99999999999999999999999",
        # one float, but not one number
        "[0.10000000000000000001, 0.1]",
    ],
    "date": [
        "2020-02-30", "20200101", "2020-1-1", "2020-W01-1", "2020-01-01 00:00:00", "1",
        "[2020-12-31, 2020-01-01]", "[2020-01-01]", "2020-01-01\n",
        "[2020-03, 2019-12]", "[2020-00, 2020-03]", "[2020, 1952]", "[2019, 2020-03]", "[0000, 2020]", "20",
    ],
    "ordinal": [
        "other", "[high, low]", "[low, other]", "[low]", "[low, high, high]", "[low,high]", "[x]", "{a}",
        "\\y", "[low, mid, or so]", "\\low", "{low, high}", "[low, [x]]", "[low, high",
    ],
    "categorical": [
        "[a]", "[a, b]", "[]", "{}", "{a}", "{a, a}", "{a,b}", "{a, [b]}", "\\a", "{a, b\\}", "{a\\b, c}",
    ],
}  # fmt: skip


def written(
    folder: Path, column: dict[str, Any], header: list[str], rows: list[list[str]], **sections: Any
) -> Verdict:
    path = folder / "out.csv"
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows([header, *rows])
    columns = {"q": {"role": "quasi", **column}, "s": {"role": "sensitive"}}
    return verify(path, Recipe.from_dict({"columns": columns, "privacy": {"k": 2}, **sections}))


def judged(folder: Path, column: dict[str, Any], cells: list[str], **sections: Any) -> Verdict:
    rows = [[cell, "x"] for cell in cells for _ in range(2)]
    verdict = written(folder, column, ["q", "s"], rows, **sections)
    assert verdict.holds is not bool(verdict.problems)
    return verdict


def codes(folder: Path, column: dict[str, Any], cells: list[str], **sections: Any) -> list[tuple[str, str]]:
    verdict = judged(folder, column, cells, **sections)
    return [(problem.code, problem.message) for problem in verdict.problems]


@pytest.mark.parametrize(("kind", "cell"), [(kind, cell) for kind in GOOD for cell in [*GOOD[kind], "*", ""]])
def test_published_forms_are_accepted(tmp_path: Path, kind: str, cell: str) -> None:
    assert codes(tmp_path, COLUMNS[kind], [cell]) == []


@pytest.mark.parametrize(("kind", "cell"), [(kind, cell) for kind in BAD for cell in BAD[kind]])
def test_everything_else_is_a_problem(tmp_path: Path, kind: str, cell: str) -> None:
    message = "Column `q` has 1 different value in no published form, in 2 rows."
    assert codes(tmp_path, COLUMNS[kind], [cell]) == [("verify.form", message)]


def test_a_column_has_dates_of_one_precision(tmp_path: Path) -> None:
    cells = ["[2019-12, 2020-03]", "[2020-04, 2020-06]", "[2020-01-01, 2020-03-31]"]

    found = codes(tmp_path, COLUMNS["date"], cells)

    assert found == [("verify.form", "Column `q` has 1 different value in no published form, in 2 rows.")]


@pytest.mark.parametrize("cell", ["2020-03", "[2019-12, 2020-03]"])
def test_months_are_recognised_without_a_kind(tmp_path: Path, cell: str) -> None:
    assert judged(tmp_path, {}, [cell, "[2020-04, 2020-06]"]) == judged(tmp_path, {}, ["1", "2"])


def test_different_values_and_their_rows_are_counted(tmp_path: Path) -> None:
    found = codes(tmp_path, COLUMNS["numeric"], ["a", "b", "1", "[2, 3]", "b"])

    assert found == [("verify.form", "Column `q` has 2 different values in no published form, in 6 rows.")]


FOREIGN = {
    "numeric": {
        "[1,2]": "closed interval",
        "[15, 55[": "half-open interval",
        "(15,55]": "half-open interval",
        "1-5": "dash range",
        ">=90": "threshold",
        "{1, 2}": "set of values",
        "148**": "masked ending",
        "**": "suppressed cell",
        "NA": "suppressed cell",
    },
    "date": {"[2020-01-01,2020-12-31]": "closed interval", "03/2020": "calendar period"},
    "ordinal": {"NA": "suppressed cell"},
}


@pytest.mark.parametrize(
    ("kind", "cell", "style"),
    [(k, cell, style) for k, each in FOREIGN.items() for cell, style in each.items()],
)
def test_the_styles_of_other_tools_are_read_and_reported(
    tmp_path: Path, kind: str, cell: str, style: str
) -> None:
    verdict = judged(tmp_path, COLUMNS[kind], [cell])

    assert verdict.problems == ()
    assert list(verdict.remarks) == [f"Column `q`: 2 cells read as the style `{style}` of another tool."]


TREE = "a;letters;all\nb;letters;all\n1;digits;all\n"


def test_cells_that_are_no_nodes_of_the_hierarchy_are_found(tmp_path: Path) -> None:
    (tmp_path / "tree.csv").write_text(TREE, encoding="utf-8")
    column = {"kind": "categorical", "hierarchy": str(tmp_path / "tree.csv")}

    assert codes(tmp_path, column, ["a", "letters", "1", "*", ""]) == []
    message = "Column `q` has 2 different values that are not nodes of its hierarchy, in 4 rows."
    assert codes(tmp_path, column, ["a", "c", "[a, b]", "*"]) == [("verify.node", message)]


def test_a_hierarchy_that_is_not_there_is_remarked(tmp_path: Path) -> None:
    verdict = judged(tmp_path, {"kind": "categorical", "hierarchy": "nowhere.csv"}, ["c"])

    assert verdict.problems == ()
    assert list(verdict.remarks) == ["The hierarchy of column `q` was not found: its nodes were not checked."]


@pytest.mark.parametrize(
    ("hierarchy", "good", "bad"),
    [
        ({"intervals": [5, 10]}, ["3", "[0, 4]", "[5, 9]", "[10, 19]", "[0, 5]"], ["[1, 5]", "[0, 6]", "x"]),
        ({"intervals": [0.5]}, ["0.25", "[0.5, 1]"], ["[0.5, 1.5]", "[0.25, 0.75]"]),
        (
            {"dates": ["month", "year"]},
            ["2020-02-29", "2020-02", "2020"],
            ["2020-13", "2020-Q1", "2020s", "2020-02-30"],
        ),
        ({"root": {"even": ["2", "4"], "odd": ["1"]}}, ["2", "odd", "root"], ["3", "prime"]),
    ],
)
def test_nodes_of_trees_that_are_made_or_given_inline(
    tmp_path: Path, hierarchy: dict[str, Any], good: list[str], bad: list[str]
) -> None:
    assert codes(tmp_path, {"hierarchy": hierarchy}, good) == []
    for cell in bad:
        assert [code for code, _ in codes(tmp_path, {"hierarchy": hierarchy}, [cell])] == ["verify.node"]


@pytest.mark.parametrize(
    ("good", "bad"),
    [
        (["1", "[1, 2]", "*"], ["[2, 1]", "x"]),
        (["2020-01-01", "[2020-01-01, 2020-12-31]"], ["[2020-12-31, 2020-01-01]"]),
        (["a", "{a, b}"], ["[a, b]", "{a}"]),
    ],
)
def test_a_kind_that_the_recipe_leaves_open_is_the_likeliest(
    tmp_path: Path, good: list[str], bad: list[str]
) -> None:
    assert codes(tmp_path, {}, good) == []
    message = "Column `q` has 1 different value in no published form, in 2 rows."
    for cell in bad:
        assert codes(tmp_path, {}, [*good, cell]) == [("verify.form", message)]


SNAPPED = {"output": {"bounds": "snapped"}}


@pytest.mark.parametrize(
    ("column", "good", "bad"),
    [
        ({"kind": "numeric", "grid": 5.0}, ["[0, 5]", "[-10, 15]"], ["[1, 5]", "[0, 6]", "5"]),
        ({"kind": "numeric", "grid": 0.1}, ["[0.1, 0.3]"], ["[0.15, 0.3]"]),
        ({"grid": 5.0}, ["[0, 5]"], ["[1, 5]"]),
        ({"kind": "date", "grid": 7.0}, ["[1970-01-01, 1970-01-08]"], ["[1970-01-02, 1970-01-08]"]),
        (
            {"kind": "ordinal", "order": list("abcdef"), "grid": 2.0},
            ["[a, c]", "[e, f]"],
            ["[b, c]", "[a, b]"],
        ),
    ],
)
def test_ends_off_the_grid_are_found(
    tmp_path: Path, column: dict[str, Any], good: list[str], bad: list[str]
) -> None:
    assert codes(tmp_path, column, good, **SNAPPED) == []
    for cell in bad:
        message = f"Column `q` has 1 different value with ends off its grid of {column['grid']:g}, in 2 rows."
        assert codes(tmp_path, column, [*good, cell], **SNAPPED) == [("verify.grid", message)]


@pytest.mark.parametrize(
    ("column", "good", "bad"),
    [
        ({"kind": "numeric"}, [("1", "2"), ("3", "3"), ("", "")], [("2", "1"), ("1", ""), ("a", "b")]),
        ({"kind": "date"}, [("2020-01-01", "2020-01-02")], [("2020-01-02", "2020-01-01")]),
        ({"kind": "ordinal", "order": ["lo", "[hi"]}, [("lo", "[hi")], [("[hi", "lo"), ("lo", "x")]),
        ({}, [("1", "2")], [("2", "1")]),
    ],
)
def test_bounds_in_columns_are_in_order_and_of_their_kind(
    tmp_path: Path, column: dict[str, Any], good: list[tuple[str, str]], bad: list[tuple[str, str]]
) -> None:
    def found(cells: list[tuple[str, str]]) -> list[str]:
        rows = [[*cell, "x"] for cell in cells for _ in range(2)]
        verdict = written(tmp_path, column, ["q_low", "q_high", "s"], rows, output={"bounds_as": "columns"})
        return [problem.code for problem in verdict.problems]

    assert found(good) == []
    for cell in bad:
        assert found([*good, cell]) == ["verify.form"]


def test_typical_values_are_single_ones(tmp_path: Path) -> None:
    output = {"output": {"values": "microaggregate"}}
    assert codes(tmp_path, {"kind": "numeric"}, ["1", "2.5"], **output) == []
    assert [code for code, _ in codes(tmp_path, {"kind": "numeric"}, ["[1, 2]"], **output)] == ["verify.form"]
    assert [code for code, _ in codes(tmp_path, {}, ["a", "{a, b}"], **output)] == ["verify.form"]


@given(st.text("ab, ", max_size=8) | st.text("ab,[]{}\\ ", max_size=12))
def test_sets_without_signs_are_split_as_all_others(body):
    # With an escaped comma in front, the way that all sets can take is the only one.
    plain, escaped = members(body), members("\\,, " + body)
    assert plain == (None if escaped is None else escaped[1:])
