"""Released rows beside raw rows: whether each can be another one, decided exactly."""

from __future__ import annotations

import importlib
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.recipe import Recipe
from shoal.verifier import Verdict, verify_table
from shoal.verifier.cells.covers import Span
from shoal.verifier.originals.axis import Axis, covering_axis, equal_axis
from shoal.verifier.originals.flow import unmatched
from shoal.verifier.originals.inside import Grid

inside = importlib.import_module("shoal.verifier.originals.inside")

NUMBERS = st.integers(0, 4)
LETTERS = st.sampled_from("abc")
BOX = st.tuples(
    st.tuples(NUMBERS, NUMBERS).map(lambda ends: (min(ends), max(ends))),  # a range of numbers
    st.one_of(st.none(), st.frozensets(LETTERS, min_size=1)),  # everything, or a set
    LETTERS,  # a value that is published as it is
)
ROW = st.tuples(NUMBERS, LETTERS, LETTERS)


def fits(box: Any, row: Any) -> bool:
    (low, high), members, value = box
    return low <= row[0] <= high and (members is None or row[1] in members) and value in (None, row[2])


def fewest_open(boxes: list[Any], rows: list[Any]) -> int:
    """Try all assignments: how many boxes stay without a row of their own in the best one."""

    @cache
    def best(at: int, taken: int) -> int:
        if at == len(boxes):
            return 0
        without = 1 + best(at + 1, taken)
        free = (i for i, row in enumerate(rows) if not taken >> i & 1 and fits(boxes[at], row))
        return min([without, *(best(at + 1, taken | 1 << i) for i in free)])

    return best(0, 0)


def axes_of(boxes: list[Any], rows: list[Any]) -> list[Axis]:
    each_box, each_row = np.arange(len(boxes)), np.arange(len(rows))
    number = {letter: place for place, letter in enumerate("abc")}
    return [
        covering_axis([row[0] for row in rows], each_row, [Span(*box[0]) for box in boxes], each_box),
        covering_axis([row[1] for row in rows], each_row, [box[1] for box in boxes], each_box),
        equal_axis(np.array([number[r[2]] for r in rows]), np.array([number[b[2]] for b in boxes]), 3),
    ]


@given(
    st.lists(BOX, min_size=1, max_size=8),
    st.lists(ROW, min_size=1, max_size=8),
    st.sampled_from([1, 2, None]),
)
def test_the_matching_is_that_of_all_assignments(boxes: list[Any], rows: list[Any], most: int | None) -> None:
    """`most` lets the search begin with few of the rows inside a box; what it finds must not depend on it."""
    ones = np.ones(len(boxes), np.int64), np.ones(len(rows), np.int64)

    assert unmatched(axes_of(boxes, rows), *ones, most=most) == fewest_open(boxes, rows)


@given(st.lists(BOX, min_size=1, max_size=8), st.lists(ROW, min_size=1, max_size=8), st.integers(0, 2))
def test_one_column_alone_is_matched_likewise(boxes: list[Any], rows: list[Any], column: int) -> None:
    anything = ((0, 4), None, None)
    alone = [tuple(box[i] if i == column else anything[i] for i in range(3)) for box in boxes]
    ones = np.ones(len(boxes), np.int64), np.ones(len(rows), np.int64)

    assert unmatched([axes_of(boxes, rows)[column]], *ones) == fewest_open(alone, rows)


@given(st.data())
def test_rows_that_are_alike_may_be_taken_together(data: st.DataObject) -> None:
    boxes = data.draw(st.lists(BOX, min_size=1, max_size=4))
    rows = data.draw(st.lists(ROW, min_size=1, max_size=4))
    released = data.draw(st.lists(st.integers(1, 3), min_size=len(boxes), max_size=len(boxes)))
    raw = data.draw(st.lists(st.integers(1, 3), min_size=len(rows), max_size=len(rows)))
    every_box = [box for box, times in zip(boxes, released, strict=True) for _ in range(times)]
    every_row = [row for row, times in zip(rows, raw, strict=True) for _ in range(times)]

    found = unmatched(axes_of(boxes, rows), np.array(released), np.array(raw), most=1)

    assert found == fewest_open(every_box, every_row)


def fewest_open_of_many(fitting: list[list[int]]) -> int:
    """Give every box a row by letting others step aside, one box after the other (Kuhn)."""
    box_of: dict[int, int] = {}

    def give(box: int, asked: set[int]) -> bool:
        for row in fitting[box]:
            if row not in asked:
                asked.add(row)
                if row not in box_of or give(box_of[row], asked):
                    box_of[row] = box
                    return True
        return False

    return sum(not give(box, set()) for box in range(len(fitting)))


@pytest.mark.parametrize("seed", range(40))
def test_many_rows_step_aside_for_each_other(seed: int) -> None:
    """Boxes as wide as the rows are dense: whoever is served first is in somebody's way."""
    random = np.random.default_rng(seed)
    n_boxes, n_points, size = 60, 40, 30
    low = random.integers(0, size, (2, n_boxes))
    high = np.minimum(size - 1, low + random.integers(0, 12, (2, n_boxes)))
    codes = random.integers(0, size, (2, n_points))
    released, raw = random.integers(1, 4, n_boxes), random.integers(1, 6, n_points)
    axes = [Axis(codes[i], np.arange(n_boxes), low[i], high[i], size) for i in range(2)]
    inside_of = (low[:, :, None] <= codes[:, None, :]) & (codes[:, None, :] <= high[:, :, None])
    pairs = inside_of.all(axis=0)
    row_of = np.repeat(np.arange(n_points), raw)
    fitting = [np.flatnonzero(pairs[box][row_of]).tolist() for box in np.repeat(np.arange(n_boxes), released)]

    assert unmatched(axes, released, raw, most=[None, 3][seed % 2]) == fewest_open_of_many(fitting)


def test_sets_that_no_order_makes_runs_are_compared_member_by_member() -> None:
    """Whatever the order of three values, one of the three pairs of them is not side by side."""
    covers = [frozenset("ab"), frozenset("bc"), frozenset("ac")]
    axis = covering_axis([*"abc"], np.arange(3), covers, np.arange(3))
    other = equal_axis(np.zeros(3, np.int64), np.zeros(3, np.int64), 1)
    found = Grid([axis, other]).pairs()

    letters = np.array([*"abc"])  # the points are in the order of the keys
    each = {box: set(letters[found.point[found.box == box]]) for box in range(3)}
    assert each == {0: {"a", "b"}, 1: {"b", "c"}, 2: {"a", "c"}}


@given(st.lists(BOX, min_size=1, max_size=30), st.lists(ROW, min_size=1, max_size=30), st.integers(1, 64))
def test_the_grid_finds_what_is_inside(boxes: list[Any], rows: list[Any], chunk: int) -> None:
    axes = axes_of(boxes, rows)
    expected = {(b, r) for b, box in enumerate(boxes) for r, row in enumerate(rows) if fits(box, row)}
    before = inside._CHUNK
    inside._CHUNK = chunk
    try:
        all_pairs, some_pairs = Grid(axes).pairs(), Grid(axes).pairs(2)
    finally:
        inside._CHUNK = before

    assert sorted(zip(all_pairs.box.tolist(), all_pairs.point.tolist(), strict=True)) == sorted(expected)
    assert not all_pairs.partial.any()
    some = set(zip(some_pairs.box.tolist(), some_pairs.point.tolist(), strict=True))
    assert some <= expected
    whole = {(box, row) for box, row in expected if not some_pairs.partial[box]}
    assert whole <= some


def test_pairs_that_are_too_many_to_hold_are_looked_up_later(monkeypatch: pytest.MonkeyPatch) -> None:
    """200 boxes cover everything and one covers a single row, which must be left for it."""
    monkeypatch.setattr(inside, "_PAIRS", 500)
    codes, size = np.arange(201), 201
    low, high = np.array([0, 200]), np.array([200, 200])
    cells = np.array([0] * 200 + [1])
    ones = np.ones(201, np.int64)

    assert unmatched([Axis(codes, cells, low, high, size)], ones, ones) == 0
    cells[0] = 1
    assert unmatched([Axis(codes, cells, low, high, size)], ones, ones) == 1


def recipe(**sections: Any) -> Recipe:
    columns = {
        "age": {"role": "quasi", "kind": "numeric"},
        "sex": {"role": "quasi", "kind": "categorical"},
        "ill": {"role": "sensitive"},
    }
    return Recipe.from_dict({"columns": columns, "privacy": {"k": 2}, **sections})


def published(boxes: list[Any]) -> pa.Table:
    ages = [str(low) if low == high else f"[{low}, {high}]" for (low, high), _, _ in boxes]
    sexes = [
        "*"
        if members is None
        else "{" + ", ".join(sorted(members)) + "}"
        if len(members) > 1
        else min(members)
        for _, members, _ in boxes
    ]
    return pa.table({"age": ages, "sex": sexes, "ill": [value for *_, value in boxes]})


def judged(boxes: list[Any], rows: list[Any]) -> Verdict:
    raw = pa.table({"age": [r[0] for r in rows], "sex": [r[1] for r in rows], "ill": [r[2] for r in rows]})
    return verify_table(published(boxes), recipe(privacy={"k": 2, "max_suppressed": 1.0}), original=raw)


@given(st.lists(BOX, min_size=1, max_size=8), st.lists(ROW, min_size=8, max_size=8))
def test_the_verdict_is_that_of_all_assignments(boxes: list[Any], rows: list[Any]) -> None:
    codes = {problem.code for problem in judged(boxes, rows).problems}

    against = codes & {"verify.original_match", "verify.original_values"}
    assert bool(against) == (fewest_open(boxes, rows) > 0)


YOUNG, OLD = ((30, 31), frozenset("f"), "flu"), ((60, 61), frozenset("m"), "cold")
PEOPLE = [(30, "f", "flu"), (31, "f", "flu"), (60, "m", "cold"), (61, "m", "cold")]


def match_messages(boxes: list[Any], rows: list[Any] = PEOPLE) -> list[str]:
    found = judged(boxes, rows).problems
    return [problem.message for problem in found if problem.code == "verify.original_match"]


def test_a_box_outside_the_original_names_its_column() -> None:
    assert match_messages([YOUNG, YOUNG, OLD, OLD]) == []
    far = ((1000, 2000), *OLD[1:])
    assert match_messages([YOUNG, YOUNG, far, far]) == [
        "2 rows of the file cannot be matched one to one with rows of the original: "
        "`age` does not fit the original."
    ]


def test_labels_swapped_between_classes_name_what_does_not_go_together() -> None:
    swapped = [(OLD[0], OLD[1], "flu")] * 2 + [(YOUNG[0], YOUNG[1], "cold")] * 2
    assert match_messages(swapped) == [
        "4 rows of the file cannot be matched one to one with rows of the original: "
        "each column fits the original by itself, but not `ill` together with the others."
    ]


def test_sensitive_values_swapped_across_classes_are_found() -> None:
    one_each = [YOUNG, (*YOUNG[:2], "cold"), OLD, (*OLD[:2], "flu")]
    assert match_messages(one_each) == [
        "2 rows of the file cannot be matched one to one with rows of the original: "
        "each column fits the original by itself, but not `ill` together with the others."
    ]


def test_columns_that_fit_in_no_pair_are_named_together() -> None:
    mixed = [((30, 31), frozenset("m"), "flu")] * 2 + [((60, 61), frozenset("f"), "cold")] * 2
    (message,) = match_messages(mixed)
    assert message.endswith("fits the original by itself, but not `sex` together with the others.")
    rows = [(30, "f", "flu"), (30, "m", "cold"), (60, "f", "cold"), (60, "m", "flu")]
    other = [((30, 30), frozenset("f"), "cold"), ((30, 30), frozenset("m"), "flu")]
    other += [((60, 60), frozenset("f"), "flu"), ((60, 60), frozenset("m"), "cold")]
    (message,) = match_messages(other, rows)
    assert "but not `age` or `sex` or `ill` together with the others" in message


def test_rows_that_are_wrong_already_are_not_counted_again() -> None:
    """One changed sensitive value is a changed value, and no second problem."""
    found = judged([YOUNG, YOUNG, OLD, (*OLD[:2], "gout")], PEOPLE).problems
    assert [problem.code for problem in found] == ["verify.original_values"]


def test_bounds_in_columns_are_boxes_too(tmp_path: Path) -> None:
    asked = recipe(output={"bounds_as": "columns"})
    raw = pa.table({"age": [30, 31, 60, 61], "sex": ["f"] * 4, "ill": ["flu"] * 4})
    columns = {
        "age_low": [30, 30, 60, 60],
        "age_high": [31, 31, 61, 61],
        "sex": ["f"] * 4,
        "ill": ["flu"] * 4,
    }
    assert verify_table(pa.table(columns), asked, original=raw).holds
    columns["age_high"] = [31, 31, 60, 60]
    found = verify_table(pa.table(columns), asked, original=raw).problems
    assert [problem.code for problem in found] == ["verify.original_match"]


@pytest.mark.parametrize(
    ("ages", "holds"),
    [
        (["[30, 32[", "[60, 62["], True),  # ARX
        (["[30, 32)", "[60, 62)"], True),  # anjana
        (["(29,31]", "(59,61]"], True),  # cut of R
        (["30-31", ">=60"], True),
        (["3*", "6*"], True),
        (["*", "NA"], True),
        (["[30, 31[", "[60, 62["], False),  # 31 is outside
        (["]30, 32[", "[60, 62["], False),
        (["30-31", ">61"], False),
        (["3*", "7*"], False),
    ],
)
def test_labels_of_other_tools_are_boxes_too(ages: list[str], holds: bool) -> None:
    released = pa.table({"age": [ages[0]] * 2 + [ages[1]] * 2, "sex": [*"ffmm"], "ill": [*"aabb"]})
    raw = pa.table({"age": [30, 31, 60, 61], "sex": [*"ffmm"], "ill": [*"aabb"]})

    assert verify_table(released, recipe(), original=raw).holds is holds
