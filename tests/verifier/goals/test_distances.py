"""The order or the tree in which sensitive values stand, as the recipe and the file tell it."""

from __future__ import annotations

import random
from datetime import date, timedelta
from fractions import Fraction
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from shoal.errors import HierarchyError
from shoal.recipe import Recipe
from shoal.verifier import MeasuredGoal, Verdict, verify_table
from tests.reference import goals as reference

CLASSES = [0, 0, 0, 1, 1, 1, 1]


def judge(
    cells: Any, distance: str, *, classes: list[int] = CLASSES, t: float = 1.0, **column: Any
) -> Verdict:
    columns = {"q": {"role": "quasi"}, "s": {"role": "sensitive", **column}}
    goal = {"type": "t-closeness", "column": "s", "t": t, "distance": distance}
    asked = Recipe.from_dict({"privacy": {"k": 2, "goal": [goal]}, "columns": columns})
    return verify_table(pa.table({"q": [f"q{c}" for c in classes], "s": cells}), asked)


def distance(cells: Any, how: str, **given: Any) -> Any:
    verdict = judge(cells, how, **given)
    assert verdict.holds
    return verdict.goals[1].achieved


def by_definition(keys: list[Any], classes: list[int] = CLASSES) -> float:
    order = sorted({key for key in keys if key is not None})
    split = [[key for key, c in zip(keys, classes, strict=True) if c == at] for at in sorted(set(classes))]
    return float(reference.worst_for_table(split, lambda v, t: reference.ordered(v, t, order), max))


NUMBERS = [2, 9, 9, 10, 100, 10, None]


@pytest.mark.parametrize(
    ("cells", "column"),
    [
        (["2", "9", "9.0", "10", "1e2", "+10", ""], {}),
        (["2", "9", "9.0", "10", "1e2", "+10", ""], {"kind": "numeric"}),
        (["02", "009", "9", "10", "100", "010", ""], {"kind": "numeric"}),
        (pa.array(NUMBERS, pa.int64()), {}),
        (pa.array(NUMBERS, pa.float32()), {"kind": "numeric"}),
    ],
)
def test_numbers_are_ordered_by_size(cells: Any, column: dict[str, Any]) -> None:
    """As texts they would be 10 < 100 < 2 < 9."""
    assert distance(cells, "ordered", **column) == by_definition(NUMBERS)
    assert by_definition(NUMBERS) != by_definition([None if n is None else str(n) for n in NUMBERS])


def test_whole_numbers_beyond_floats_are_told_apart() -> None:
    cells = [2**53 + 1, 2**53 + 1, 2**53, 2**53, 2**53, 1, 2]

    assert distance([str(cell) for cell in cells], "ordered") == by_definition(cells)


@pytest.mark.parametrize("column", [{}, {"kind": "date"}])
def test_dates_are_ordered_by_day(column: dict[str, Any]) -> None:
    days = [date(2024, 2, 28) + timedelta(days=n) for n in (0, 1, 1, 2, 40, 2, 0)]
    moments = [f"{day}T1{n}:00" if n % 2 else f"{day}" for n, day in enumerate(days)]

    assert distance(moments, "ordered", **column) == by_definition(days)
    assert distance(pa.array(days, pa.date32()), "ordered", **column) == by_definition(days)


def test_ordinal_values_are_ordered_as_listed() -> None:
    order = ["none", "e\u0301 mild", "severe", "unused"]
    cells = ["severe", "severe", " \u00e9 mild", "none", "none", "severe", ""]

    keys = [2, 2, 1, 0, 0, 2, None]
    assert distance(cells, "ordered", kind="ordinal", order=order) == by_definition(keys)


@pytest.mark.parametrize("seed", range(6))
def test_many_values_agree_with_the_definition(seed: int) -> None:
    """Gaps between the values of a class, in which the sign of the difference turns."""
    draw = random.Random(seed)
    classes = [draw.randrange(7) for _ in range(300)]
    keys = [None if draw.random() < 0.1 else int(draw.gauss(10 * (c % 3), 40)) for c in classes]
    cells = [None if key is None else str(key) for key in keys]

    assert distance(cells, "ordered", classes=classes) == by_definition(keys, classes)


@pytest.mark.parametrize(
    ("cells", "how", "column", "says"),
    [
        (["a", "b", "a", "b", "a", "b", ""], "ordered", {}, "has no order"),
        (["1", "2", "3", "4", "5", "6", "x"], "ordered", {}, "has no order"),
        (["1"] * 7, "ordered", {"kind": "categorical"}, "has no order"),
        (
            ["1", "x", "y", "4", "5", "6", "x"],
            "ordered",
            {"kind": "numeric"},
            "2 different values not in its order",
        ),
        (["2024-02-30"] * 7, "ordered", {"kind": "date"}, "1 different value not in its order"),
        (["a", "b"] * 3 + ["c"], "ordered", {"kind": "ordinal", "order": ["b", "c"]}, "1 different value"),
        (
            ["a", "b"] * 3 + ["c"],
            "hierarchical",
            {"hierarchy": {"r": ["a", "b"]}},
            "1 different value not among the leaves",
        ),
        (
            ["a", "b"] * 3 + ["r"],
            "hierarchical",
            {"hierarchy": {"r": ["a", "b"]}},
            "1 different value not among the leaves",
        ),
    ],
)
def test_values_without_a_place_are_a_problem(
    cells: list[str], how: str, column: dict[str, Any], says: str
) -> None:
    verdict = judge(cells, how, **column)

    assert verdict.goals[1] == MeasuredGoal("t-closeness", "s", 1.0, None, False, how)
    assert [problem.code for problem in verdict.problems] == ["verify.distance"]
    assert says in verdict.problems[0].message
    assert not verdict.holds


def in_tree(cells: list[str | None], parent: dict[str, str | None], classes: list[int] = CLASSES) -> float:
    split = [[cell for cell, c in zip(cells, classes, strict=True) if c == at] for at in sorted(set(classes))]
    number = reference.worst_for_table(split, lambda v, t: reference.hierarchical(v, t, parent), max)
    return float(Fraction(number))


def test_a_tree_in_a_file_may_be_padded_and_uneven(tmp_path: Path) -> None:
    path = tmp_path / "tree.csv"
    path.write_text("flu;lung;lung;*\nasthma;lung;lung;*\nulcer;gut;belly;*\nother;*\n", encoding="utf-8")
    parent = {"*": None, "lung": "*", "belly": "*", "gut": "belly", "flu": "lung", "asthma": "lung"}
    parent |= {"ulcer": "gut", "other": "*"}
    cells: list[str | None] = ["flu", "flu", "asthma", "ulcer", "ulcer", "other", None]

    assert distance(cells, "hierarchical", hierarchy=str(path)) == in_tree(cells, parent)


def test_a_tree_may_be_made_from_the_values() -> None:
    codes: list[str | None] = ["1234", "1235", "1299", "1234", "2000", "2000", None]
    parent: dict[str, str | None] = {
        "*": None,
        "12": "*",
        "20": "*",
        "1234": "12",
        "1235": "12",
        "1299": "12",
    }
    assert distance(codes, "hierarchical", hierarchy={"prefix": 2}) == in_tree(
        codes, {**parent, "2000": "20"}
    )

    numbers: list[str | None] = ["1", "4", "7", "12", "12", "-3", None]
    parent = {"*": None, "0+": "*", "10+": "*", "-10+": "*", "0-5": "0+", "5-10": "0+", "10-15": "10+"}
    parent |= {"-5-0": "-10+", "1": "0-5", "4": "0-5", "7": "5-10", "12": "10-15", "-3": "-5-0"}
    assert distance(numbers, "hierarchical", hierarchy={"intervals": [5, 10]}) == in_tree(numbers, parent)

    days: list[str | None] = [
        "2024-01-05",
        "2024-01-09",
        "2024-03-01",
        "2023-03-01",
        "2023-03-01",
        None,
        None,
    ]
    parent = {"*": None, "2024": "*", "2023": "*", "2024-01": "2024", "2024-03": "2024", "2023-03": "2023"}
    parent |= {day: day[:7] for day in days if day}
    assert distance(days, "hierarchical", hierarchy={"dates": ["month", "year"]}) == in_tree(days, parent)


def test_a_tree_of_one_leaf_has_no_distances() -> None:
    assert distance(["a"] * 7, "hierarchical", hierarchy={"a": {}}) == 0


def test_a_tree_with_two_roots_is_refused() -> None:
    with pytest.raises(HierarchyError) as caught:
        judge(["a", "b"] * 3 + ["a"], "hierarchical", hierarchy={"r": ["a"], "q": ["b"]})

    assert caught.value.code == "hierarchy.roots"
