"""Non-homogeneous releases: rows without classes, verified beside the original."""

from __future__ import annotations

import csv
import json
import sys
from collections.abc import Sequence
from datetime import date
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyarrow import parquet
from typer.testing import CliRunner

from shoal.cli.main import app
from shoal.errors import DataError, HierarchyError
from shoal.recipe import Recipe
from shoal.verifier import Verdict, verify, verify_table
from shoal.verifier.cells.covers import Span, reading
from shoal.verifier.originals.fits import Boxes, Tally, column_bits, count_fits
from shoal.verifier.originals.matching import assign, consistent
from tests.reference import nonhomogeneous as reference

MARK = "Xq7Secret"
AGES = [1, 2, 4, 8, 9]
# Rings {1, 2, 4} and {8, 9} of k = 2: each box covers a row and the next one.
BOXES = ["[1, 2]", "[2, 4]", "[1, 4]", "[8, 9]", "[8, 9]"]


def recipe(
    columns: dict[str, dict[str, Any]], *, k: int = 2, base: Path = Path(), **sections: dict[str, Any]
) -> Recipe:
    quasi = {name: {"role": "quasi", **given} for name, given in columns.items()}
    data: dict[str, Any] = {
        "columns": {**quasi, "s": {"role": "sensitive"}},
        "privacy": {"k": k},
        "method": {"name": "nh"},
    }
    for name, section in sections.items():
        data[name] = {**data.get(name, {}), **section}
    return Recipe.from_dict(data, base=base)


def write(path: Path, names: Sequence[str], rows: Sequence[Sequence[Any]]) -> Path:
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows([[*names, "s"], *([*row, "x"] for row in rows)])
    return path


def judge(folder: Path, asked: Recipe, published: Sequence[Any], raw: Sequence[Any]) -> Verdict:
    """Verify cells, or tuples of them where there are several columns."""
    names = asked.quasi
    out = write(folder / "out.csv", names, [row if isinstance(row, tuple) else (row,) for row in published])
    original = write(folder / "raw.csv", names, [row if isinstance(row, tuple) else (row,) for row in raw])
    verdict = verify(out, asked, original=original)
    assert verdict.holds is not bool(verdict.problems)
    return verdict


def problems(verdict: Verdict) -> list[tuple[str, str]]:
    return [(problem.code, problem.message) for problem in verdict.problems]


def test_a_release_of_rings_holds(tmp_path: Path) -> None:
    verdict = judge(tmp_path, recipe({"q": {"kind": "numeric"}}), BOXES, AGES)

    assert (verdict.holds, verdict.rows, verdict.classes, verdict.k) == (True, 5, 4, 2)
    (goal,) = verdict.goals
    assert (goal.type, goal.asked, goal.achieved, goal.holds) == ("k-anonymity", 2, 2, True)
    assert "4 boxes, at least 2 originals for each row and rows for each original." in str(verdict)
    keys = ["holds", "rows", "classes", "k", "k_wildcard", "goals", "problems", "remarks"]
    assert list(verdict.to_dict()) == keys


def test_a_shrunk_box_is_found(tmp_path: Path) -> None:
    verdict = judge(tmp_path, recipe({"q": {"kind": "numeric"}}), ["[1, 2]", "[2, 4]", "4", *BOXES[3:]], AGES)

    assert problems(verdict) == [
        # 4 must be the third's, so the second has 2 only, and the first 1 only.
        ("verify.fit", "3 rows of the file fit fewer than k = 2 originals; the worst fits 1."),
        ("verify.fit", "3 originals fit fewer than k = 2 rows of the file; the worst fits 1."),
    ]
    assert verdict.k == verdict.goals[0].achieved == 1
    assert not verdict.goals[0].holds


def test_an_original_that_fits_too_few_rows_is_found(tmp_path: Path) -> None:
    # Counting boxes alone would find 2 originals or more in each; 9 fits one row.
    verdict = judge(tmp_path, recipe({"q": {}}), ["[1, 2]", "[1, 2]", "[1, 9]"], [1, 2, 9])

    assert ("verify.fit", "1 original fits fewer than k = 2 rows of the file; the worst fits 1.") in problems(
        verdict
    )


def test_an_original_inside_that_others_cannot_do_without_does_not_count(tmp_path: Path) -> None:
    # 1 and 2 belong to the first two rows, so the last two have 3 and 4 alone: containment says 4.
    published = ["[1, 2]", "[1, 2]", "[1, 4]", "[1, 4]"]

    verdict = judge(tmp_path, recipe({"q": {}}, k=3), published, [1, 2, 3, 4])

    assert verdict.k == 2
    assert problems(verdict)[0][1] == "4 rows of the file fit fewer than k = 3 originals; the worst fits 2."


def test_rows_that_cannot_be_of_different_originals_are_found(tmp_path: Path) -> None:
    verdict = judge(tmp_path, recipe({"q": {}}), ["[1, 2]"] * 3 + ["[1, 5]"], [1, 2, 5, 5])

    message = (
        "1 row of the file cannot be matched one to one with rows of the original: "
        "`q` does not fit the original."
    )
    assert problems(verdict) == [("verify.original_match", message)]
    assert verdict.k == 0


def test_classes_in_a_release_of_nh_are_no_problem_and_small_ones_neither(tmp_path: Path) -> None:
    assert judge(tmp_path, recipe({"q": {}}), ["[1, 2]", "[1, 2]", "*", "*"], [1, 2, 3, 4]).holds


def test_other_methods_still_count_classes(tmp_path: Path) -> None:
    asked = recipe({"q": {"kind": "numeric"}}, method={"name": "mondrian"})

    verdict = judge(tmp_path, asked, BOXES, AGES)

    assert [code for code, _ in problems(verdict)] == ["verify.k"]


def test_without_the_original_it_cannot_be_verified(tmp_path: Path) -> None:
    out = write(tmp_path / "out.csv", ["q"], [(box,) for box in BOXES])

    verdict = verify(out, recipe({"q": {}}))

    message = "A non-homogeneous release can be verified only against its original."
    assert problems(verdict) == [("verify.not_verifiable", message)]
    assert not verdict.holds
    assert (verdict.k, verdict.classes, verdict.goals[0].achieved) == (0, 4, 0)


def test_the_command_needs_the_original_too(tmp_path: Path) -> None:
    write(tmp_path / "out.csv", ["q"], [(box,) for box in BOXES])
    write(tmp_path / "raw.csv", ["q"], [(age,) for age in AGES])
    (tmp_path / "r.toml").write_text(recipe({"q": {}}).to_toml())
    arguments = ["verify", str(tmp_path / "out.csv"), "--recipe", str(tmp_path / "r.toml"), "--json"]

    alone = CliRunner().invoke(app, arguments)
    beside = CliRunner().invoke(app, [*arguments, "--original", str(tmp_path / "raw.csv")])

    assert (alone.exit_code, beside.exit_code) == (1, 0)
    assert [p["code"] for p in json.loads(alone.stdout)["problems"]] == ["verify.not_verifiable"]
    assert json.loads(beside.stdout)["k"] == 2


def test_the_rest_is_verified_as_ever(tmp_path: Path) -> None:
    asked = recipe({"q": {"kind": "numeric"}})
    out = write(tmp_path / "out.csv", ["q"], [(box,) for box in [*BOXES[:4], "8 to 9"]])
    (tmp_path / "raw.csv").write_text("q,s\n1,x\n2,x\n4,x\n8,x\n9,y\n")

    found = [code for code, _ in problems(verify(out, asked, original=tmp_path / "raw.csv", rows=6))]

    assert found == ["verify.rows", "verify.form", "verify.original_values"]


def test_a_quasi_column_that_the_original_does_not_have(tmp_path: Path) -> None:
    out = write(tmp_path / "out.csv", ["q"], [(box,) for box in BOXES])
    raw = write(tmp_path / "raw.csv", ["other"], [(age,) for age in AGES])

    assert problems(verify(out, recipe({"q": {}}), original=raw)) == [
        ("verify.fit", "Columns missing from the original, or in it twice: `q`.")
    ]


def test_a_file_without_rows_has_its_own_problem(tmp_path: Path) -> None:
    found = problems(judge(tmp_path, recipe({"q": {}}), [], AGES))

    assert [code for code, _ in found] == ["verify.empty", "verify.original_rows"]


# --- rows that were left out


@pytest.mark.parametrize("share", [0.0, 0.2])
def test_originals_that_were_left_out_may_fit_nothing(tmp_path: Path, share: float) -> None:
    asked = recipe({"q": {}}, privacy={"max_suppressed": share})

    verdict = judge(tmp_path, asked, BOXES, [*AGES, 70])

    assert [code for code, _ in problems(verdict)] == ([] if share else ["verify.original_rows"])
    assert verdict.k == 2


def test_no_more_originals_may_fit_too_few_rows_than_were_left_out(tmp_path: Path) -> None:
    asked = recipe({"q": {}}, k=3, privacy={"max_suppressed": 0.5})
    # 1 to 5 fit three rows, 6 two, 7 and 8 none: six rows, but five originals.
    published = ["[1, 5]"] * 3 + ["[1, 6]"] * 2 + ["[1, 2]"]

    verdict = judge(tmp_path, asked, published, range(1, 9))

    assert problems(verdict) == [
        ("verify.fit", "1 row of the file fits fewer than k = 3 originals; the worst fits 2."),
        (
            "verify.fit",
            "1 original fits fewer than k = 3 rows of the file, besides the 2 that may be left out; "
            "the worst fits 2.",
        ),
    ]


def test_an_original_that_nobody_has_makes_others_possible(tmp_path: Path) -> None:
    asked = recipe({"q": {}}, privacy={"max_suppressed": 0.5})

    # Two rows and three originals: either row may be of 2.
    assert judge(tmp_path, asked, ["[1, 2]", "[2, 3]"], [1, 2, 3]).k == 1
    assert judge(tmp_path, asked, ["[1, 3]", "[1, 3]"], [1, 2, 3]).k == 2


def test_those_left_out_for_a_missing_value_fit_nothing(tmp_path: Path) -> None:
    asked = recipe({"q": {}}, privacy={"missing": "suppress", "max_suppressed": 0.5})

    assert judge(tmp_path, asked, ["*", "*"], [1, 2, ""]).k == 2
    assert judge(tmp_path, asked, ["*", "*"], [1, "", ""]).k == 0
    assert judge(tmp_path, recipe({"q": {}}), ["*", "*", "*"], [1, "", ""]).k == 3


# --- what a published text covers


TREE = {"top": {"A": {"B": ["b1", "b2"]}, "c": {}, "[odd]": ["*", "\\x", "{d}"]}}
ARX = "b1;B;A;top\nb2;B;A;top\nc;top\n*;[odd];top\n\\x;[odd];[odd];top\n{d};[odd];top\n"
TOML = 'top.A.B = ["b1", "b2"]\ntop.c = {}\ntop."[odd]" = ["*", "\\\\x", "{d}"]\n'
IN_TREE = ["b1", "b2", "c", "*", "\\x", "{d}", ""]
COVERED_IN_TREE = {
    "*": IN_TREE,
    "": [""],
    "A": ["b1", "b2"],
    "B": ["b1", "b2"],
    "b1": ["b1"],
    "c": ["c"],
    "[odd]": ["*", "\\x", "{d}"],
    "\\*": ["*"],
    "\\\\x": ["\\x"],
    "\\{d}": ["{d}"],
    "nowhere": [],
}
CASES: dict[str, tuple[dict[str, Any], list[str], dict[str, list[str]]]] = {
    "numeric": (
        {"kind": "numeric"},
        ["1", "1.0", "2", "-3", "+4", "1e1", ""],
        {
            "1": ["1", "1.0"],
            "[1, 2]": ["1", "1.0", "2"],
            "[-3, 1]": ["1", "1.0", "-3"],
            "[3.5, 10]": ["+4", "1e1"],
            "*": ["1", "1.0", "2", "-3", "+4", "1e1", ""],
            "": [""],
            "[2, 1]": [],
            "[1; 2]": [],
        },
    ),
    "large numbers": (
        {},
        ["9007199254740992", "9007199254740993"],
        {"9007199254740993": ["9007199254740993"]},
    ),
    "numbers found": ({}, ["1", "2", "10"], {"[2, 10]": ["2", "10"]}),
    "codes found": ({}, ["01", "02", "10"], {"{01, 10}": ["01", "10"], "[01, 10]": []}),
    "dates": (
        {"kind": "date"},
        ["2024-01-31", "2024-02-01T10:00", "2024-03-01", ""],
        {
            "2024-02-01": ["2024-02-01T10:00"],
            "[2024-01-31, 2024-02-29]": ["2024-01-31", "2024-02-01T10:00"],
            "": [""],
        },
    ),
    "dates found": ({}, ["2024-01-31", "2024-02-01"], {"[2024-02-01, 2024-02-28]": ["2024-02-01"]}),
    "ordinal": (
        {"kind": "ordinal", "order": ["low", "a, b", "*", "[x]", "high"]},
        ["low", "a, b", "*", "[x]", "high", ""],
        {
            "[low, *]": ["low", "a, b", "*"],
            "[a\\, b, \\[x\\]]": ["a, b", "*", "[x]"],
            "\\*": ["*"],
            "\\[x]": ["[x]"],
            "high": ["high"],
            "*": ["low", "a, b", "*", "[x]", "high", ""],
        },
    ),
    "categorical": (
        {"kind": "categorical"},
        ["a", "a, b", "{a, b}", "*", "\\", "1", "1.0", "e\u0301", ""],
        {
            "{a, b}": ["a"],
            "\\{a, b}": ["{a, b}"],
            "{a, a\\, b}": ["a", "a, b"],
            "\\*": ["*"],
            "\\\\": ["\\"],
            "1": ["1"],
            "\u00e9": ["e\u0301"],
            "": [""],
        },
    ),
    "tree inline": ({"hierarchy": TREE}, IN_TREE, COVERED_IN_TREE),
    "tree in ARX": ({"hierarchy": "tree.csv"}, IN_TREE, COVERED_IN_TREE),
    "tree in TOML": ({"hierarchy": "tree.toml"}, IN_TREE, COVERED_IN_TREE),
    "tree in JSON": ({"hierarchy": "tree.json"}, IN_TREE, COVERED_IN_TREE),
    "tree with commas": ({"hierarchy": "commas.txt"}, ["x", "y"], {"a;b": ["x"], "z": ["y"]}),
    "tree of numbers": (
        {"hierarchy": "numbers.csv", "kind": "numeric"},
        ["1", "1.0", "2"],
        {"1": ["1", "1.0"], "one": ["1", "1.0"]},
    ),
    "intervals of whole numbers": (
        {"hierarchy": {"intervals": [5, 20]}},
        ["0", "4", "5", "19", "20", ""],
        {"[0, 4]": ["0", "4"], "[0, 19]": ["0", "4", "5", "19"], "20": ["20"], "": [""]},
    ),
    # Neighbours share an end, and a value on it belongs to the upper one.
    "intervals of decimals": (
        {"hierarchy": {"intervals": [5]}},
        ["0", "4.5", "5", "9", "10"],
        {"[0, 5]": ["0", "4.5"], "[5, 10]": ["5", "9"]},
    ),
    "intervals of tenths": (
        {"hierarchy": {"intervals": [0.1]}},
        ["0.3", "0.35", "0.4"],
        {"[0.3, 0.4]": ["0.3", "0.35"], "[0.4, 0.5]": ["0.4"]},
    ),
    "prefix": (
        {"hierarchy": {"prefix": 2}},
        ["47918", "47906", "4790", "5", ""],
        {"479**": ["47918", "47906"], "47**": ["4790"], "4****": ["47918", "47906"], "5": ["5"], "4790*": []},
    ),
    "dates by month": (
        {"hierarchy": {"dates": ["month", "quarter", "year", "decade"]}},
        ["2024-03-05", "2024-03-31", "2024-01-01", "2025-01-01"],
        {
            "2024-03": ["2024-03-05", "2024-03-31"],
            "2024-Q1": ["2024-03-05", "2024-03-31", "2024-01-01"],
            "2024": ["2024-03-05", "2024-03-31", "2024-01-01"],
            "2020s": ["2024-03-05", "2024-03-31", "2024-01-01", "2025-01-01"],
            "2024-03-05": ["2024-03-05"],
        },
    ),
    "dates by week": (
        {"hierarchy": {"dates": ["week"]}},
        ["2024-12-30", "2025-01-05", "2025-01-06"],
        {"2025-W01": ["2024-12-30", "2025-01-05"], "2025-W02": ["2025-01-06"]},
    ),
}  # fmt: skip


def write_trees(folder: Path) -> None:
    (folder / "tree.csv").write_text(ARX)
    (folder / "tree.toml").write_text(TOML)
    (folder / "tree.json").write_text(json.dumps(TREE))
    (folder / "commas.txt").write_text('x,"a;b",top\n\ny , z, top\n')
    (folder / "numbers.csv").write_text("1;one;*\n2;two;*\n")


@pytest.mark.parametrize(("case", "text"), [(case, text) for case in CASES for text in CASES[case][2]])
def test_what_a_published_text_covers(tmp_path: Path, case: str, text: str) -> None:
    column, raw, covered = CASES[case]
    write_trees(tmp_path)
    cells = [cell or None for cell in raw]

    read = reading(recipe({"q": column}, base=tmp_path), "q", set(cells), "")
    (bits,) = column_bits([read.cover([text or None])], [read.key(cell) for cell in cells])

    assert [cell for at, cell in enumerate(raw) if bits >> at & 1] == covered[text]


@pytest.mark.parametrize("hierarchy", ["tree.csv", "tree.toml", "tree.json", TREE])
def test_the_nodes_of_a_hierarchy_in_a_release(tmp_path: Path, hierarchy: Any) -> None:
    write_trees(tmp_path)
    asked = recipe({"q": {"hierarchy": hierarchy}}, base=tmp_path)

    assert judge(tmp_path, asked, ["A", "B", "*", "*"], ["b1", "b2", "c", ""]).k == 2
    assert judge(tmp_path, asked, ["A", "b2", "*", "*"], ["b1", "b2", "c", ""]).k == 1
    assert judge(tmp_path, asked, ["A", "A", "*", ""], ["b1", "b2", "c", ""]).k == 1


@pytest.mark.parametrize(
    ("text", "code"),
    [
        (None, "hierarchy.unreadable"),
        (f'"{MARK};a\n', "hierarchy.unreadable"),
        (f"{MARK};;a\n", "hierarchy.unreadable"),
        (f"{MARK};a;c\n{MARK};b;c\n", "hierarchy.duplicate"),
    ],
)
def test_a_hierarchy_that_is_no_tree_is_an_error(tmp_path: Path, text: str | None, code: str) -> None:
    if text is not None:
        (tmp_path / "tree.csv").write_text(text)
    asked = recipe({"q": {"hierarchy": "tree.csv"}}, base=tmp_path)

    with pytest.raises(HierarchyError) as caught:
        judge(tmp_path, asked, [MARK, MARK], [MARK, MARK])

    assert caught.value.code == code
    assert MARK not in f"{caught.value!r} {caught.value.__context__!r} {caught.value.__cause__!r}"


def test_missing_is_what_the_recipe_says(tmp_path: Path) -> None:
    asked = recipe({"q": {"kind": "numeric"}}, input={"missing": ["NA", "?"]})

    assert judge(tmp_path, asked, ["", ""], ["NA", " ? "]).k == 2
    assert judge(tmp_path, recipe({"q": {}}), ["{?, NA}", "{?, NA}"], ["NA", " ? "]).k == 2


def test_an_empty_text_is_a_value_where_it_does_not_mean_missing(tmp_path: Path) -> None:
    asked = recipe({"q": {}}, input={"missing": ["NA"]})
    rows = [["{, 1}"], ["{, 1}"], [""], [""]]
    table = pa.table({"q": ["", "1", None, None], "s": ["x"] * 4})

    assert judge(tmp_path, asked, ["{, 1}", "{, 1}", "", ""], ["", "1", "NA", "NA"]).k == 2
    write(tmp_path / "out.csv", ["q"], rows)
    assert verify(tmp_path / "out.csv", asked, original=table).k == 2


def test_bounds_may_have_columns_of_their_own(tmp_path: Path) -> None:
    asked = recipe({"q": {"kind": "numeric"}}, output={"bounds_as": "columns"})
    raw = write(tmp_path / "raw.csv", ["q"], [(age,) for age in [*AGES, ""]])
    bounds = [(1, 2), (2, 4), (1, 4), (8, 9), ("", ""), ("", "")]
    out = write(tmp_path / "out.csv", ["q_low", "q_high"], bounds)

    verdict = verify(out, asked, original=raw)
    half = write(tmp_path / "half.csv", ["q_low", "q_high"], [*bounds[:5], (1, "")])

    assert (verdict.k, problems(verdict)) == (2, [])
    assert verify(half, asked, original=raw).k == 0


def test_apostrophes_of_spreadsheets_are_taken_off(tmp_path: Path) -> None:
    asked = recipe({"q": {"kind": "categorical"}})

    assert judge(tmp_path, asked, ["'=a", "'=a"], ["=a", "=a"]).k == 2


# --- tables in memory, and with types


def test_tables_in_memory(tmp_path: Path) -> None:
    released = pa.table({"q": BOXES, "s": ["x"] * 5})
    raw = pa.table({"q": AGES, "s": ["x"] * 5, "name": ["n"] * 5})
    asked = recipe({"q": {}})
    write(tmp_path / "out.csv", ["q"], [(box,) for box in BOXES])

    assert verify_table(released, asked, rows=5, original=raw).holds
    assert verify(tmp_path / "out.csv", asked, original=raw).holds
    assert not verify_table(released, asked, rows=5).holds
    changed = raw.set_column(0, "q", pa.array([1, 2, 4, 8, 10]))
    assert [code for code, _ in problems(verify_table(released, asked, original=changed))] == [
        "verify.original_match"
    ]


def test_a_table_that_cannot_be_read_is_an_error() -> None:
    with pytest.raises(DataError, match="The original cannot be read"):
        verify_table(pa.table({"q": ["*"], "s": ["x"]}), recipe({"q": {}}), original=pa.table({}))


@pytest.mark.parametrize(
    ("column", "cells", "text", "covered"),
    [
        ({}, pa.array([1.0, 2.0, None, float("nan")]), "[1, 2]", 2),
        ({}, pa.array([1.0, 2.0, None, float("nan")]), "", 2),
        ({}, pa.array([0.1, 0.2], pa.float32()), "[0.10000000149011612, 0.15]", 1),
        ({"kind": "categorical"}, pa.array([1.0, 2.0, None]), "{1, 2}", 2),
        ({"kind": "categorical"}, pa.array([1e16, 2.5]), "1e16", 1),
        ({"hierarchy": {"*": {"odd": ["1", "3"], "even": ["2"]}}}, pa.array([1.0, 2.0, 3.0]), "odd", 2),
        ({}, pa.array([date(2024, 1, 1), date(2024, 1, 2)]), "[2024-01-01, 2024-01-02]", 2),
        ({}, pa.array([True, False, True]), "true", 2),
        ({}, pa.array(["a", "b", "a"]).dictionary_encode(), "a", 2),
        ({}, pa.array(["1", "2"]), "[1, 2]", 2),
        ({}, pa.array([None, None], pa.int64()), "", 2),
    ],
)  # fmt: skip
@pytest.mark.parametrize("as_file", [False, True])
def test_originals_with_types(
    tmp_path: Path, column: dict[str, Any], cells: pa.Array, text: str, covered: int, as_file: bool
) -> None:
    raw = pa.table({"q": cells, "s": ["x"] * len(cells)})
    if as_file:
        parquet.write_table(raw, tmp_path / "raw.parquet")
    asked = recipe({"q": column}, privacy={"max_suppressed": 1.0})
    released = pa.table({"q": [text] * covered, "s": ["x"] * covered})
    more = pa.table({"q": [text] * (covered + 1), "s": ["x"] * (covered + 1)})
    original = tmp_path / "raw.parquet" if as_file else raw

    assert verify_table(released, asked, original=original).k == covered
    assert verify_table(more, asked, original=original).k == 0


# --- against the slow checker, and in pieces


@st.composite
def releases(draw: st.DrawFn) -> tuple[list[list[Any]], list[list[Any]]]:
    """Rows of a number and a letter, and boxes over some of the rows; often a wrong one."""
    n = draw(st.integers(1, 9))
    value = st.tuples(st.sampled_from([None, 1, 2, 3, 4]), st.sampled_from([None, "a", "b", "c"]))
    rows = draw(st.lists(value, min_size=n, max_size=n))
    boxes = []
    for place in range(n):
        inside = [rows[at] for at in {place, *draw(st.lists(st.integers(0, n - 1), max_size=4))}]
        boxes.append([_box([row[0] for row in inside], spans=True), _box([row[1] for row in inside])])
    if draw(st.booleans()):
        boxes[draw(st.integers(0, n - 1))] = [(1, 2), {"a", "b"}]
    return draw(st.permutations(boxes)), [list(row) for row in rows]


def _box(values: list[Any], *, spans: bool = False) -> Any:
    if None in values:
        return None if set(values) == {None} else reference.ANY
    return (min(values), max(values)) if spans else set(values)


def _text(piece: Any) -> str:
    if piece is None or piece == reference.ANY:
        return piece or ""
    if isinstance(piece, tuple):
        return str(piece[0]) if piece[0] == piece[1] else f"[{piece[0]}, {piece[1]}]"
    return next(iter(piece)) if len(piece) == 1 else "{" + ", ".join(sorted(piece)) + "}"


COLUMNS = {"n": {"kind": "numeric"}, "c": {"kind": "categorical"}}


@given(releases())
def test_the_verdict_is_that_of_the_slow_checker(case: tuple[list[list[Any]], list[list[Any]]]) -> None:
    boxes, rows = case
    released = pa.table(
        {
            "n": [_text(box[0]) for box in boxes],
            "c": [_text(box[1]) for box in boxes],
            "s": ["x"] * len(rows),
        }
    )
    raw = pa.table(
        {
            "n": pa.array([row[0] for row in rows], pa.int64()),
            "c": pa.array([row[1] for row in rows], pa.string()),
            "s": ["x"] * len(rows),
        }
    )

    found = reference.guarantee(boxes, rows, 2)
    verdict = verify_table(released, recipe(COLUMNS), original=raw)

    assert verdict.k == min(found.originals, found.published)
    assert verdict.holds is found.holds


def _counted(boxes: list[list[Any]], rows: list[list[Any]], **limit: int) -> Any:
    covers = [
        [None if p == reference.ANY else Span(*p) if isinstance(p, tuple) else {None} if p is None else p
         for p in pieces]
        for pieces in zip(*boxes, strict=True)
    ]  # fmt: skip
    cells = [(at,) * len(covers) for at in range(len(boxes))]
    originals = [tuple(row) for row in rows]
    return count_fits(Boxes(covers, cells, [1] * len(boxes)), originals, **limit)


@given(releases(), st.integers(1, 4))
def test_large_files_count_what_is_inside(case: tuple[list[list[Any]], list[list[Any]]], piece: int) -> None:
    boxes, rows = case
    inside = reference.matches(boxes, rows)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys.modules["shoal.verifier.originals.fits"], "_PIECE", piece)
        counts = _counted(boxes, rows, limit=0)
        exact = _counted(boxes, rows)

    assert counts.of_box == [len(originals) for originals in inside]
    assert counts.of_original == [sum(at in originals for originals in inside) for at in range(len(rows))]
    kept = reference.consistent(inside)
    assert exact.of_box == [len(originals) for originals in kept]
    assert exact.of_original == [sum(at in originals for originals in kept) for at in range(len(rows))]


def test_large_files_count_rows_not_boxes_and_have_no_more_rows_than_originals() -> None:
    boxes = Boxes([[Span(1, 2), None]], [(0,), (1,)], [2, 1])

    enough = count_fits(boxes, [(1,), (2,), (3,)], limit=0)
    too_few = count_fits(boxes, [(1,), (2,)], limit=0)

    assert (enough.of_box, enough.of_original, enough.assignable) == ([2, 3], [3, 3, 1], True)
    assert not too_few.assignable


@given(st.lists(st.integers(0, 2**6 - 1), min_size=1, max_size=6), st.integers(6, 7))
def test_who_is_consistent_when_some_are_left_out(fits: list[int], originals: int) -> None:
    """With a box for each original left out that has everybody inside, the slow checker says the same."""
    inside = [{at for at in range(originals) if bits >> at & 1} for bits in fits]
    everybody = set(range(originals))
    slow = reference.consistent([*inside, *(everybody for _ in range(originals - len(fits)))])[: len(fits)]

    original_of = assign(fits, originals)

    if original_of is None:
        assert not any(slow)
    else:
        assert len(set(original_of)) == len(fits)
        found = dict(consistent(fits, original_of, originals))
        assert [found[row] for row in range(len(fits))] == [sum(1 << at for at in kept) for kept in slow]


@given(st.lists(st.tuples(st.integers(0, 31), st.integers(0, 9)), max_size=20))
def test_a_tally_counts_bits(added: list[tuple[int, int]]) -> None:
    tally = Tally()
    for bits, times in added:
        tally.add(bits, times)

    assert tally.counts(5) == [sum(times for bits, times in added if bits >> at & 1) for at in range(5)]


def test_a_span_may_end_before_its_end() -> None:
    assert column_bits([Span(1, 3, without_high=True), Span(3, 1)], [1, 2, 3]) == [0b011, 0]


# --- what is shown


def test_no_cell_is_shown(tmp_path: Path) -> None:
    asked = recipe({"q": {"kind": "categorical"}, "n": {"kind": "numeric"}})
    published = [(MARK, "[77001, 77002]"), (f"{{{MARK}, {MARK}2}}", "77003"), ("*", "*")]

    verdict = judge(tmp_path, asked, published, [(MARK, "77001"), (f"{MARK}2", "77003"), (MARK, "77002")])

    assert [code for code, _ in problems(verdict)] == ["verify.fit", "verify.fit"]
    for shown in (verdict, verdict.problems, verdict.goals, verdict.to_dict()):
        assert MARK not in f"{shown} {shown!r}"
        assert "7700" not in f"{shown} {shown!r}"
