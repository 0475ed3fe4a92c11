"""Every goal as the verifier measures it, beside its definition in tests/reference/goals.py."""

from __future__ import annotations

import math
import tempfile
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyarrow import csv as arrow_csv

from shoal.recipe import Recipe
from shoal.verifier import MeasuredGoal, Verdict, verify, verify_table
from tests.profiles import few, some
from tests.reference import goals as reference

Row = tuple[Any, ...]
TREE = {
    "any": {"ab": ["a", "b"], "c*": {"c": {}, "de": {"d": {}, "e": {}}}, "unused": {"u": {"v": ["w", "x"]}}}
}
PARENT = {
    "any": None, "ab": "any", "c*": "any", "unused": "any", "a": "ab", "b": "ab", "c": "c*", "de": "c*",
    "d": "de", "e": "de", "u": "unused", "v": "u", "w": "v", "x": "v",
}  # fmt: skip
ORDER = ["e", "b", "a", "d", "c"]


def recipe(*goals: dict[str, Any], **column: Any) -> Recipe:
    names = {
        name for goal in goals for name in ([goal["column"]] if goal["column"] == "s" else goal["column"])
    }
    columns: dict[str, Any] = {"q": {"role": "quasi"}, "z": {"role": "quasi"}}
    columns |= {name: {"role": "sensitive", **column} for name in sorted(names | {"s"})}
    return Recipe.from_dict({"privacy": {"k": 2, "goal": list(goals)}, "columns": columns})


def table(rows: list[Row], names: tuple[str, ...] = ("s",)) -> pa.Table:
    """Rows are a class and sensitive cells; a second quasi column tells as much as the first."""
    columns = {"q": [f"q{row[0]}" for row in rows], "z": [f"z{row[0] % 2}" for row in rows]}
    columns |= {name: [row[at] for row in rows] for at, name in enumerate(names, 1)}
    return pa.table({name: pa.array(cells, pa.string()) for name, cells in columns.items()})


def measured(
    rows: list[Row], asked: Recipe, *, names: tuple[str, ...] = ("s",), **given: Any
) -> MeasuredGoal:
    return only_goal(verify_table(table(rows, names), asked, **given))


def only_goal(verdict: Verdict) -> MeasuredGoal:
    k, goal = verdict.goals
    codes = [p.code for p in verdict.problems if p.code != "verify.k"]
    assert len(codes) == (not goal.holds)
    assert verdict.holds is (goal.holds and k.holds)
    return goal


def by_class(rows: list[Row]) -> list[list[Any]]:
    return [[row[1] or None for row in rows if row[0] == c] for c in sorted({row[0] for row in rows})]


def worst(classes: list[list[Any]], number: Callable[..., Any], of: Callable[..., Any]) -> Any:
    return reference.worst_for_table(classes, number, of)


def largest_l(values: list[Any], c: float) -> int:
    return max((l for l in range(1, len(values) + 1) if reference.is_recursive(values, c, l)), default=0)  # noqa: E741


def order_of(table: list[Any]) -> list[Any]:
    return [value for value in ORDER if value in table]


def as_number(value: str) -> Fraction:
    """a is a tenth, b two."""
    return Fraction(ord(value) - ord("a") + 1, 10)


def cells(rows: list[Row], kind: str) -> list[Row]:
    """The same rows, with numbers where the goal is about them."""
    if kind != "range":
        return rows
    return [(row[0], row[1] and str(float(as_number(row[1])))) for row in rows]


# For each kind: the goal without its bound, what its column needs, the number of a class, which is worst.
KINDS: dict[str, tuple[dict[str, Any], dict[str, Any], Callable[..., Any], Callable[..., Any]]] = {
    "distinct": ({"type": "l-diversity"}, {}, lambda v, _: reference.distinct(v), min),
    "frequency": (
        {"type": "l-diversity", "variant": "frequency"}, {}, lambda v, _: reference.frequency(v), min
    ),
    "entropy": ({"type": "l-diversity", "variant": "entropy"}, {}, lambda v, _: reference.entropy(v), min),
    "recursive": (
        {"type": "l-diversity", "variant": "recursive", "c": 1.5}, {}, lambda v, _: largest_l(v, 1.5), min
    ),
    "equal": ({"type": "t-closeness"}, {}, reference.equal, max),
    "ordered": (
        {"type": "t-closeness", "distance": "ordered"}, {"kind": "ordinal", "order": ORDER},
        lambda v, t: reference.ordered(v, t, order_of(t)), max,
    ),
    "hierarchical": (
        {"type": "t-closeness", "distance": "hierarchical"}, {"hierarchy": TREE},
        lambda v, t: reference.hierarchical(v, t, PARENT), max,
    ),
    "alpha": ({"type": "alpha-k"}, {}, lambda v, _: reference.alpha(v), max),
    "basic": ({"type": "beta-likeness"}, {}, reference.basic_beta, max),
    "enhanced": ({"type": "beta-likeness", "variant": "enhanced"}, {}, reference.enhanced_beta, max),
    "delta": ({"type": "delta-disclosure"}, {}, reference.delta, max),
    "range": (
        {"type": "range"}, {"kind": "numeric"},
        lambda v, _: reference.value_range([value and as_number(value) for value in v]), min,
    ),
}  # fmt: skip
BOUND = {
    "l-diversity": "l",
    "t-closeness": "t",
    "alpha-k": "alpha",
    "beta-likeness": "beta",
    "delta-disclosure": "delta",
    "range": "e",
}
CODES = {
    "l": "verify.l",
    "e": "verify.range",
    **{name: f"verify.{name}" for name in ("t", "alpha", "beta", "delta")},
}


def asked_of(kind: str, *bounds: float) -> Recipe:
    goal, column, *_ = KINDS[kind]
    return recipe(*({**goal, "column": "s", BOUND[goal["type"]]: bound} for bound in bounds), **column)


def holds_by_definition(kind: str, classes: list[list[Any]], bound: float) -> bool:
    """Ask the reference's test, or compare its number, rounded once, with the bound."""
    tests: dict[str, Callable[..., bool]] = {
        "distinct": lambda v, _: reference.is_distinct(v, bound),
        "frequency": lambda v, _: reference.is_frequent(v, bound),
        "entropy": lambda v, _: reference.is_entropic(v, bound),
        "recursive": lambda v, _: reference.is_recursive(v, 1.5, int(bound)),
        "enhanced": lambda v, t: reference.is_enhanced_beta_like(v, t, Fraction(bound)),
        "delta": lambda v, t: reference.is_delta_private(v, t, bound),
        "range": lambda v, t: float(number(v, t)) >= bound,
    }
    number = KINDS[kind][2]
    return reference.holds_for_table(classes, tests.get(kind, lambda v, t: float(number(v, t)) <= bound))


def bounds(kind: str, number: float) -> list[float]:
    """Bounds around a number: itself and its neighbours, as far as a recipe takes them."""
    if kind in ("distinct", "frequency", "recursive"):
        near = [1, 2, 3] if math.isinf(number) else [number - 1, number, number + 1]
        return [bound for bound in near if bound >= 1]
    if math.isinf(number):
        return [1e9]
    if kind == "entropy":
        near = [number - 1e-6, number, number + 9e-10, number + 1e-6]
        return [bound for bound in near if bound >= 1]
    if kind == "range":  # a bound that is missed by rounding alone is met
        return [bound for bound in (number - 1e-9, number, number + 1e-9) if bound > 0] or [0.1]
    near = [math.nextafter(number, 0), number, math.nextafter(number, 9), number / 2 + 0.3]
    lowest = 0 if kind in ("equal", "ordered", "hierarchical") else 1e-300
    highest = 1e9 if kind in ("basic", "enhanced", "delta") else 1
    return [bound for bound in near if lowest <= bound <= highest]


ROWS = st.lists(
    st.tuples(st.integers(0, 3), st.sampled_from(["a", "a", "b", "c", "d", "e", None])),
    min_size=1,
    max_size=24,
)


@pytest.mark.parametrize("kind", KINDS)
@few()
@given(rows=ROWS)
def test_numbers_and_verdicts_are_those_of_the_definition(kind: str, rows: list[Row]) -> None:
    classes = by_class(rows)
    number = float(worst(classes, KINDS[kind][2], KINDS[kind][3]))
    near = bounds(kind, number)
    verdict = verify_table(table(cells(rows, kind)), asked_of(kind, *near))
    for bound, goal in zip(near, verdict.goals[1:], strict=True):
        assert goal.asked == bound
        if kind == "entropy":
            assert goal.achieved == pytest.approx(number, rel=1e-12)
        else:
            assert goal.achieved == (None if math.isinf(number) else number)
        assert goal.holds is holds_by_definition(kind, classes, bound)
    missed = sum(not goal.holds for goal in verdict.goals[1:])
    assert [p.code for p in verdict.problems].count(CODES[BOUND[KINDS[kind][0]["type"]]]) == missed


@few()
@given(ROWS, st.sampled_from(list(KINDS)))
def test_a_file_says_the_same_as_a_table(rows: list[Row], kind: str) -> None:
    asked = asked_of(kind, 1)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "out.csv")
        arrow_csv.write_csv(table(cells(rows, kind)), path)

        assert verify(path, asked) == verify_table(table(cells(rows, kind)), asked)


# Two classes of ten: nine times a and once b, five times a and five times b. p(a) = 0.7, p(b) = 0.3.
TWO = [(0, "a")] * 9 + [(0, "b")] + [(1, "a")] * 5 + [(1, "b")] * 5
BY_HAND = [
    # kind, asked, achieved, holds
    ("distinct", 2, 2, True),
    ("distinct", 3, 2, False),
    ("frequency", 1, 1, True),  # 10 // 9
    ("frequency", 2, 1, False),
    ("entropy", 1.3, math.exp(-0.9 * math.log(0.9) - 0.1 * math.log(0.1)), True),  # 1.384
    ("entropy", 1.39, math.exp(-0.9 * math.log(0.9) - 0.1 * math.log(0.1)), False),
    ("recursive", 1, 1, True),  # 9 < 1.5 * 10, but 9 >= 1.5 * 1
    ("recursive", 2, 1, False),
    ("equal", 0.2, 0.2, True),  # 0.9 - 0.7, a little less than 0.2 in floats
    ("equal", 0.19, 0.2, False),
    ("alpha", 0.9, 0.9, True),
    ("alpha", 0.89, 0.9, False),
    ("basic", 2 / 3, 2 / 3, True),  # b in the second class: (0.5 - 0.3) / 0.3
    ("basic", 0.66, 2 / 3, False),
    ("enhanced", 2 / 3, 2 / 3, True),  # -ln 0.3 = 1.2
    ("enhanced", 0.66, 2 / 3, False),
    ("delta", 1.0987, math.log(3), True),  # b in the first class: ln(0.1 / 0.3)
    ("delta", math.log(3), math.log(3), False),  # the bound itself is too far
    ("range", 0.1, 0.1, True),  # 0.2 - 0.1 in both
    ("range", 0.11, 0.1, False),
]


@pytest.mark.parametrize(("kind", "asked", "achieved", "holds"), BY_HAND)
def test_a_table_worked_by_hand(kind: str, asked: float, achieved: float, holds: bool) -> None:
    goal = measured(cells(TWO, kind), asked_of(kind, asked))

    assert (goal.achieved, goal.holds) == (pytest.approx(achieved, rel=1e-15), holds)
    stated = KINDS[kind][0]
    default = {"l-diversity": "distinct", "t-closeness": "equal", "beta-likeness": "basic"}.get(
        stated["type"]
    )
    variant = stated.get("variant", stated.get("distance", default))
    assert goal == MeasuredGoal(stated["type"], "s", asked, goal.achieved, holds, variant, "rows")


@pytest.mark.parametrize("tenths", range(11))
@pytest.mark.parametrize("kind", ["equal", "alpha"])
def test_a_decimal_bound_that_is_met_exactly_is_met(kind: str, tenths: int) -> None:
    """Shares of tenths, in classes of sizes whose floats do not add up."""
    if kind == "alpha":
        rows = [(0, "a")] * (3 * tenths) + [(0, str(i)) for i in range(30 - 3 * tenths)]
        expected = max(tenths, 1 / 3) / 10
    else:  # the class has 10 - tenths of ten a, the file half of them
        rows = (
            [(0, "a")] * (10 - tenths)
            + [(0, "b")] * tenths
            + [(1, "b")] * (10 - tenths)
            + [(1, "a")] * tenths
        )
        expected = abs(5 - tenths) / 10

    goal = measured(rows, asked_of(kind, expected))

    assert (goal.achieved, goal.holds) == (expected, True)


def test_recursive_diversity_needs_more_than_equality() -> None:
    """Counts 3, 1, 1 and c = 1.5: 3 < 1.5 * 5, but 3 = 1.5 * (1 + 1)."""
    rows = [(0, "a")] * 3 + [(0, "b"), (0, "c")]

    assert measured(rows, asked_of("recursive", 1)).holds
    assert measured(rows, asked_of("recursive", 2)).achieved == 1
    assert not measured(rows, asked_of("recursive", 2)).holds
    assert measured([*rows, (0, "d")], asked_of("recursive", 2)).holds


def test_no_finite_beta_is_enough_for_a_rare_value_that_gains_too_much() -> None:
    """p(b) = 1/10 and q = 1/2: the gain is 4, above -ln 0.1 = 2.3."""
    rows = [(0, "a")] * 8 + [(1, "a"), (1, "b")]

    assert measured(rows, asked_of("basic", 4)).holds
    goal = measured(rows, asked_of("enhanced", 1e6))
    assert (goal.achieved, goal.holds) == (None, False)


EXPECTED_WITHOUT_VALUES = {
    "distinct": (0, False), "frequency": (None, True), "entropy": (0, False), "recursive": (0, False),
    "equal": (0, True), "ordered": (0, True), "hierarchical": (0, True), "alpha": (0, True),
    "basic": (0, True), "enhanced": (0, True), "delta": (0, True),
    "range": (0, False),
}  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("missing", some([None, "", " ", "\u3000"], 3))
def test_without_any_value_only_what_asks_for_values_fails(kind: str, missing: str | None) -> None:
    goal = measured([(0, missing)] * 3 + [(1, missing)] * 2, asked_of(kind, 1))

    assert (goal.achieved, goal.holds) == EXPECTED_WITHOUT_VALUES[kind]


@pytest.mark.parametrize("kind", KINDS)
def test_a_class_without_values_beside_one_with_them(kind: str) -> None:
    rows = [(0, None)] * 3 + [(1, "a"), (1, "b")]
    achieved = {**{k: v for k, (v, _) in EXPECTED_WITHOUT_VALUES.items()}, "frequency": 2, "alpha": 0.5}

    assert measured(cells(rows, kind), asked_of(kind, 1)).achieved == achieved[kind]


@pytest.mark.parametrize("kind", KINDS)
def test_one_value_everywhere(kind: str) -> None:
    one = {"distinct", "frequency", "entropy", "recursive", "alpha"}

    rows = cells([(0, "a")] * 3 + [(1, "a")] * 2, kind)
    assert measured(rows, asked_of(kind, 1)).achieved == (kind in one)


@pytest.mark.parametrize("kind", KINDS)
def test_a_file_without_rows_achieves_nothing(kind: str) -> None:
    verdict = verify_table(table([]), asked_of(kind, 1))

    assert (verdict.goals[1].achieved, verdict.goals[1].holds) == (None, False)
    assert [problem.code for problem in verdict.problems] == ["verify.empty"]


@pytest.mark.parametrize("kind", KINDS)
def test_a_goal_about_a_column_that_is_not_there_does_not_hold(kind: str) -> None:
    verdict = verify_table(table([(0, "a")] * 3).drop_columns(["s"]), asked_of(kind, 1))

    assert (verdict.goals[1].achieved, verdict.goals[1].holds) == (None, False)
    assert [problem.code for problem in verdict.problems] == ["verify.missing_column"]
    assert not verify_table(table([(0, "a")] * 3).drop_columns(["q"]), asked_of(kind, 1)).goals[1].holds


FAILING = {
    "distinct": 3,
    "frequency": 2,
    "entropy": 2,
    "recursive": 3,
    "alpha": 0.5,
    "basic": 0.1,
    "enhanced": 0.1,
    "delta": 0.1,
}


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "range"])
def test_the_problem_says_how_many_and_how_bad_without_a_cell(kind: str) -> None:
    rows = [(0, "a")] * 9 + [(0, "b")] + [(1, "a")] * 5 + [(1, "b")] * 5 + [(2, "a")] * 14 + [(2, "b")] * 6
    marked = [(c, f"Xq{value}Secret") for c, value in rows]
    column = {"kind": "ordinal", "order": ["XqaSecret", "XqbSecret"]} if kind == "ordered" else {}
    column = {"hierarchy": {"any": ["XqaSecret", "XqbSecret"]}} if kind == "hierarchical" else column
    stated = KINDS[kind][0]
    name = BOUND[stated["type"]]
    asked = recipe({**stated, "column": "s", name: FAILING.get(kind, 0.15)}, **column)

    verdict = verify_table(table(marked), asked)

    (problem,) = verdict.problems
    assert problem.code == CODES[name]
    # The third class is like the file: it fails only where a class is not compared with that.
    of_two, of_all = ("alpha", "frequency", "entropy"), ("distinct", "recursive")
    failing = (
        "30 rows are in 2" if kind in of_two else "40 rows are in 3" if kind in of_all else "20 rows are in 2"
    )
    assert problem.message.startswith(f"{failing} classes ")
    assert "; the worst has " in problem.message
    assert "`s`" in problem.message
    for shown in (verdict, verdict.problems, verdict.goals, verdict.to_dict()):
        assert "Secret" not in f"{shown} {shown!r}"


def test_a_range_that_is_too_small_is_counted_without_a_cell() -> None:
    """The first class is 0.5 wide, the second 3, the third one number."""
    rows = [(0, "7310.25"), (0, "7310.75"), (1, "1"), (1, "4"), (2, "8"), (2, "8.0"), (2, None)]
    verdict = verify_table(table(rows), asked_of("range", 1.5))

    (problem,) = verdict.problems
    assert problem.code == "verify.range"
    assert problem.message == (
        "5 rows are in 2 classes without the required range of `s`, at least 1.5; the worst has 0."
    )


def test_a_range_of_texts_is_not_measured() -> None:
    verdict = verify_table(table([(0, "a")] * 3), recipe({"type": "range", "column": "s", "e": 1.0}))

    assert [(p.code, p.message) for p in verdict.problems] == [
        ("verify.distance", "Column `s` is not numeric, which the goal range needs.")
    ]
    assert not verdict.holds


def test_columns_may_count_jointly() -> None:
    """Each column has two values, their combinations four; half a combination is none."""
    rows = [(0, "a", "x"), (0, "a", "y"), (0, "b", "x"), (0, "b", "y"), (0, "c", None), (0, None, "z")]
    asked = recipe({"type": "l-diversity", "column": ["s", "t"], "l": 4})
    goal = measured(rows, asked, names=("s", "t"))

    assert (goal.column, goal.achieved, goal.holds) == (["s", "t"], 4, True)
    share = recipe({"type": "alpha-k", "column": ["s", "t"], "alpha": 0.25})
    assert measured(rows, share, names=("s", "t")).achieved == 0.25


def test_parts_of_a_combination_do_not_run_into_each_other() -> None:
    rows = [(0, "a,", "b"), (0, "a", ",b"), (0, "a, b", ""), (0, "ab", "x"), (0, "a", "bx")]
    asked = recipe({"type": "l-diversity", "column": ["s", "t"], "l": 1})

    assert measured(rows, asked, names=("s", "t")).achieved == 4


@pytest.mark.parametrize(
    ("cells", "distinct"),
    [
        (["1", "1.0", "1e0", " 1 ", "+1", "01"], 2),
        (["\u00e9", "e\u0301"], 1),
        (["a", "a ", "\u3000a"], 1),
        (["a", "A"], 2),
        (["0", "-0", "0.0"], 1),
        (["9007199254740992", "9007199254740993"], 2),
        (["nan", "NaN"], 2),
    ],
)
def test_what_a_reader_takes_for_one_value_is_one(cells: list[str], distinct: int) -> None:
    assert measured([(0, cell) for cell in cells], asked_of("distinct", 1)).achieved == distinct


@pytest.mark.parametrize(("safe", "distinct"), [(True, 2), (False, 4)])
def test_the_mark_of_a_spreadsheet_is_no_part_of_a_value(tmp_path: Path, safe: bool, distinct: int) -> None:
    path = tmp_path / "out.csv"
    path.write_text("q,z,s\n1,1,'-5\n1,1,-5.0\n1,1,'=a\n1,1,=a\n", encoding="utf-8")
    asked = asked_of("distinct", 1)
    output = asked.output.model_copy(update={"spreadsheet_safe": safe})

    assert only_goal(verify(path, asked.model_copy(update={"output": output}))).achieved == distinct


def test_a_number_that_is_none_is_missing() -> None:
    given = pa.table({"q": ["1"] * 3, "z": ["1"] * 3, "s": [1.0, float("nan"), None]})

    assert only_goal(verify_table(given, asked_of("distinct", 1))).achieved == 1
