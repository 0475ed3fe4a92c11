"""Trees made from values: worked by hand, and the properties that make intervals safe to publish."""

from __future__ import annotations

import datetime
import math
from collections.abc import Iterator
from contextlib import contextmanager
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.errors import HierarchyError
from shoal.hierarchy import build
from shoal.hierarchy.tree import Tree


@contextmanager
def refused(code: str, *numbers: int) -> Iterator[None]:
    """Expect an error with this code that names column and numbers but no value (all hold zq or 77)."""
    with pytest.raises(HierarchyError) as caught:
        yield
    assert caught.value.code == code
    assert "`age`" in caught.value.message
    assert caught.value.hint
    assert "zq" not in str(caught.value)
    assert "77" not in str(caught.value)
    for number in numbers:
        assert str(number) in caught.value.message


def paths(tree: Tree) -> dict[str, list[str]]:
    """Return the labels above each leaf, the root left out."""
    found = {}
    for leaf in tree.leaf_nodes.tolist():
        above, labels = tree.parent[leaf], []
        while above > 0:
            labels.append(tree.labels[above])
            above = tree.parent[above]
        found[tree.labels[leaf]] = labels
    return found


def ends(label: str) -> tuple[Fraction, Fraction]:
    """Read an interval back as the decimals that it shows."""
    low, high = label.removeprefix("[").removesuffix("]").split(", ")
    return Fraction(low), Fraction(high)


def check_intervals_nest_around_their_values(tree: Tree) -> None:
    for leaf, labels in paths(tree).items():
        low = high = Fraction(leaf)
        for label in labels:
            wider_low, wider_high = ends(label)
            assert wider_low <= low <= high <= wider_high
            low, high = wider_low, wider_high


# --- numbers as text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0"),
        (-7, "-7"),
        (2**70, "1180591620717411303424"),
        (3.0, "3"),
        (-3.0, "-3"),
        (-0.0, "0"),
        (0.1, "0.1"),
        (1e-7, "1e-07"),
        (1e22, "1e+22"),
        (100.0, "100"),
        (np.int64(5), "5"),
        (np.float64(2.5), "2.5"),
        (np.float64(2.0), "2"),
    ],
)
def test_number_text_is_canonical(value: float, text: str) -> None:
    assert build.number_text(value) == text


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_number_text_reads_back_as_the_same_float(value: float) -> None:
    assert float(build.number_text(value)) == value


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False)) | st.lists(st.integers()))
def test_many_numbers_are_formatted_as_one_is(values):
    assert build.number_texts(values) == [build.number_text(value) for value in values]


# --- flat


def test_flat_sorts_leaves_under_the_root() -> None:
    tree = build.flat(["b", "a", "c", "a"], "age")

    assert tree.labels == ("*", "a", "b", "c")
    assert tree.parent.tolist() == [-1, 0, 0, 0]
    assert tree.total_height == 1


def test_flat_takes_the_roots_label_and_the_empty_text_as_values() -> None:
    tree = build.flat(["*", "", "a"], "age")

    assert tree.leaf_labels == ("", "*", "a")
    assert tree.codes(["a", "*", ""], "age").tolist() == [2, 1, 0]
    assert tree.total_height == 1


@pytest.mark.parametrize(
    "tree",
    [
        build.flat([], "age"),
        build.intervals([], [5], "age"),
        build.default_intervals([], "age"),
        build.prefix([], 1, "age"),
        build.dates([], ["year"], "age"),
    ],
)
def test_without_values_the_root_stands_alone(tree: Tree) -> None:
    assert tree.labels == ("*",)


# --- intervals


def test_integer_intervals_include_both_ends() -> None:
    tree = build.intervals([24, 20, 25, 39, 40], [5, 10, 20], "age")

    assert tree.leaf_labels == ("20", "24", "25", "39", "40")
    assert paths(tree) == {
        "20": ["[20, 24]", "[20, 29]", "[20, 39]"],
        "24": ["[20, 24]", "[20, 29]", "[20, 39]"],
        "25": ["[25, 29]", "[20, 29]", "[20, 39]"],
        "39": ["[35, 39]", "[30, 39]", "[20, 39]"],
        "40": ["[40, 44]", "[40, 49]", "[40, 59]"],
    }
    assert tree.labels[0] == "*"
    assert tree.total_height == 4


def test_negative_integers_fall_below_zero() -> None:
    assert paths(build.intervals([-1, 0, -5, -6], [5], "age")) == {
        "-6": ["[-10, -6]"],
        "-5": ["[-5, -1]"],
        "-1": ["[-5, -1]"],
        "0": ["[0, 4]"],
    }


def test_integral_floats_count_as_integers() -> None:
    tree = build.intervals(np.array([20.0, -0.0, 23.0]), [5.0], "age")  # type: ignore[arg-type]

    assert paths(tree) == {"0": ["[0, 4]"], "20": ["[20, 24]"], "23": ["[20, 24]"]}


def test_one_fractional_value_makes_neighbours_share_an_end() -> None:
    assert paths(build.intervals([20, 22.5, 25], [5], "age")) == {
        "20": ["[20, 25]"],
        "22.5": ["[20, 25]"],
        "25": ["[25, 30]"],
    }


def test_one_fractional_width_makes_neighbours_share_an_end() -> None:
    assert paths(build.intervals([1, 2, 3], [0.5, 2.5], "age")) == {
        "1": ["[1, 1.5]", "[0, 2.5]"],
        "2": ["[2, 2.5]", "[0, 2.5]"],
        "3": ["[3, 3.5]", "[2.5, 5]"],
    }


def test_tenths_fall_where_their_decimals_say() -> None:
    # In floats 0.3 // 0.1 is 2 and 0.6 // 0.2 is 2; as decimals both are 3.
    tree = build.intervals([0.3, 0.6, 0.7], [0.1, 0.2], "age")

    assert paths(tree) == {
        "0.3": ["[0.3, 0.4]", "[0.2, 0.4]"],
        "0.6": ["[0.6, 0.7]", "[0.6, 0.8]"],
        "0.7": ["[0.7, 0.8]", "[0.6, 0.8]"],
    }


def test_widths_in_tenths_are_multiples_of_one_another() -> None:
    # 0.3 % 0.1 is 0.09999999999999998 in floats.
    assert build.intervals([0.25], [0.1, 0.3], "age").labels == ("*", "[0, 0.3]", "[0.2, 0.3]", "0.25")


def test_large_integers_stay_exact() -> None:
    big = 2**60
    assert build.intervals([big + 1], [2], "age").labels[1] == f"[{big}, {big + 1}]"


def test_equal_numbers_are_one_leaf() -> None:
    assert build.intervals([3, 3.0, 3], [5], "age").leaf_labels == ("3",)


def test_own_text_writes_leaves_and_ends() -> None:
    grades = "abcdefgh"
    tree = build.intervals(range(3), [2], "age", text=lambda place: grades[int(place)])

    assert paths(tree) == {"a": ["[a, b]"], "b": ["[a, b]"], "c": ["[c, d]"]}


def test_own_text_that_joins_two_numbers_is_refused() -> None:
    with refused("hierarchy.duplicate", 1):
        build.intervals([1, 2], [5], "age", text=lambda number: "zq" if number in (1, 2) else str(number))


@pytest.mark.parametrize(
    "widths",
    [
        *([], [0], [-5], [5, -10], [math.inf], [math.nan], [True], ["5"]),
        *([5, 5], [10, 5], [5, 12], [0.1, 0.25], [5, 10, 15]),
    ],
)
def test_widths_must_be_positive_and_nest(widths: list[float]) -> None:
    with refused("hierarchy.build"):
        build.intervals([1, 2, 77], widths, "age")


@pytest.mark.parametrize(
    "function", [lambda v: build.intervals(v, [5], "age"), lambda v: build.default_intervals(v, "age")]
)
def test_values_must_be_finite(function) -> None:  # type: ignore[no-untyped-def]
    with refused("hierarchy.build", 2):
        function([77.5, math.inf, -math.inf])


DECIMALS = st.integers(-(10**4), 10**4).map(lambda tenths: tenths / 10)
FLOATS = st.floats(-1e9, 1e9, allow_nan=False)
WIDTHS = st.sampled_from([[1], [5, 10, 20], [7, 21], [0.1, 0.3, 1.2], [0.25, 2.5], [1e-3, 1]])


@given(st.lists(DECIMALS | FLOATS | st.integers(-(10**6), 10**6), min_size=1, max_size=20), WIDTHS)
def test_intervals_cover_their_values_and_nest(values: list[float], widths: list[float]) -> None:
    tree = build.intervals(values, widths, "age")

    check_intervals_nest_around_their_values(tree)
    assert list(tree.leaf_labels) == [build.number_text(value) for value in sorted(set(values))]


@given(st.lists(DECIMALS | st.integers(-(10**6), 10**6), min_size=1, max_size=20), WIDTHS)
def test_intervals_have_their_width_and_start_at_its_multiples(
    values: list[float], widths: list[float]
) -> None:
    is_whole = all(float(number).is_integer() for number in (*values, *widths))

    for labels in paths(build.intervals(values, widths, "age")).values():
        assert len(labels) == len(widths)
        for label, width in zip(labels, widths, strict=True):
            low, high = ends(label)
            assert low % Fraction(str(width)) == 0
            assert high - low == Fraction(str(width)) - is_whole


@given(st.lists(DECIMALS, min_size=1, max_size=20), WIDTHS)
def test_a_shared_end_belongs_to_the_upper_interval(values: list[float], widths: list[float]) -> None:
    for leaf, labels in paths(build.intervals([*values, 0.5], widths, "age")).items():
        assert all(Fraction(leaf) < ends(label)[1] for label in labels)


# --- default intervals


def test_default_widths_of_ages() -> None:
    # 17 to 90 are 74 ages; 74/16 = 4.6 -> 5, then 10, 20 and 40.
    assert paths(build.default_intervals([17, 21, 22, 90], "age")) == {
        "17": ["[17, 21]", "[17, 26]", "[17, 36]", "[17, 56]"],
        "21": ["[17, 21]", "[17, 26]", "[17, 36]", "[17, 56]"],
        "22": ["[22, 26]", "[17, 26]", "[17, 36]", "[17, 56]"],
        "90": ["[87, 91]", "[87, 96]", "[77, 96]", "[57, 96]"],
    }


def test_default_widths_that_would_repeat_a_level_are_left_out() -> None:
    # Five values: widths 1 and 1 repeat the leaves; 5/4 -> 2; 5/2 -> 3, rounded up to 4.
    tree = build.default_intervals(range(1, 6), "age")

    assert paths(tree)["1"] == ["[1, 2]", "[1, 4]"]
    assert paths(tree)["5"] == ["[5, 6]", "[5, 8]"]


@pytest.mark.parametrize("values", [[7], [7.5], [0, 1]])
def test_default_intervals_of_one_or_two_values_are_flat(values: list[float]) -> None:
    tree = build.default_intervals(values, "age")

    assert tree.total_height == 1
    assert tree.n_leaves == len(values)


def test_default_widths_of_fractions_start_at_the_smallest() -> None:
    # Range 1.6: widths 0.1, 0.2, 0.4, 0.8. The largest value closes the last interval.
    tree = build.default_intervals([0.1, 0.35, 0.9, 1.7], "age")

    assert paths(tree) == {
        "0.1": ["[0.1, 0.2]", "[0.1, 0.3]", "[0.1, 0.5]", "[0.1, 0.9]"],
        "0.35": ["[0.3, 0.4]", "[0.3, 0.5]", "[0.1, 0.5]", "[0.1, 0.9]"],
        "0.9": ["[0.9, 1]", "[0.9, 1.1]", "[0.9, 1.3]", "[0.9, 1.7]"],
        "1.7": ["[1.6, 1.7]", "[1.5, 1.7]", "[1.3, 1.7]", "[0.9, 1.7]"],
    }


def test_default_intervals_write_days_by_their_own_text() -> None:
    first = datetime.date(2024, 1, 1).toordinal()
    tree = build.default_intervals(
        range(first, first + 32), "age", text=lambda day: datetime.date.fromordinal(int(day)).isoformat()
    )

    assert paths(tree)["2024-01-01"][0] == "[2024-01-01, 2024-01-02]"


@given(
    st.lists(st.integers(-1000, 1000), min_size=1, max_size=30) | st.lists(FLOATS, min_size=1, max_size=30)
)
def test_default_intervals_cover_nest_and_halve(values: list[float]) -> None:
    tree = build.default_intervals(values, "age")
    levels = list(paths(tree).values())

    # Ends of fractions are rounded to floats, monotonically: read them as floats too.
    for leaf, labels in paths(tree).items():
        low = high = float(leaf)
        for label in labels:
            wider_low, wider_high = (float(end) for end in ends(label))
            assert wider_low <= low <= high <= wider_high
            low, high = wider_low, wider_high
    if levels[0]:
        assert len({labels[-1] for labels in levels}) == 2
        assert len({labels[0] for labels in levels}) <= 16
        assert all(float(ends(label)[0]) == min(values) for label in levels[0])
    assert tree.total_height <= 5
    assert list(tree.leaf_labels) == [build.number_text(value) for value in sorted(set(values))]


@given(st.integers(1, 5000))
def test_default_integer_widths_are_the_smallest_that_nest(n_values: int) -> None:
    tree = build.default_intervals([0, n_values - 1], "age")
    widths = [int(ends(label)[1] - ends(label)[0]) + 1 for label in paths(tree)["0"]]

    ref, width = [], 1
    for parts in (16, 8, 4, 2):
        width = next(w for w in range(width, 2 * n_values + width, width) if w * parts >= n_values)
        ref.append(width)
    assert widths == [width for width in sorted(set(ref)) if 1 < width < n_values]


# --- prefixes


def test_prefix_masks_from_the_right() -> None:
    tree = build.prefix(["47918", "47906", "53715"], 1, "age")

    assert paths(tree) == {
        "47906": ["4790*", "479**", "47***", "4****"],
        "47918": ["4791*", "479**", "47***", "4****"],
        "53715": ["5371*", "537**", "53***", "5****"],
    }
    assert tree.labels[0] == "*"
    assert tree.total_height == 5


def test_prefix_steps_of_two_end_at_the_root() -> None:
    assert paths(build.prefix(["47918", "4791"], 2, "age")) == {"4791": ["47**"], "47918": ["479**", "4****"]}


def test_prefix_of_different_lengths_keeps_them_apart() -> None:
    tree = build.prefix(["12", "123", "1"], 1, "age")

    assert paths(tree) == {"1": [], "12": ["1*"], "123": ["12*", "1**"]}


def test_prefix_step_beyond_the_length_is_flat() -> None:
    assert build.prefix(["ab", "cd"], 9, "age").labels == ("*", "ab", "cd")


@pytest.mark.parametrize("values", [["zq1", "zq*"], ["zq1", "*"], ["*"], ["zq12", "zq**"]])
def test_values_that_look_masked_are_refused(values: list[str]) -> None:
    with refused("hierarchy.duplicate", 1):
        build.prefix(values, 1, "age")


def test_stars_that_collide_with_nothing_are_kept() -> None:
    assert build.prefix(["ab*", "cd"], 2, "age").leaf_labels == ("ab*", "cd")


@pytest.mark.parametrize("step", [0, -1, True, 1.5, "1"])
def test_prefix_step_must_be_a_whole_number_above_zero(step: int) -> None:
    with refused("hierarchy.build"):
        build.prefix(["zq1"], step, "age")


@given(st.sets(st.text("ab1", min_size=1, max_size=6), min_size=1), st.integers(1, 4))
def test_prefix_labels_match_their_values(values: set[str], step: int) -> None:
    tree = build.prefix(values, step, "age")

    assert sorted(tree.leaf_labels) == sorted(values)
    for value, labels in paths(tree).items():
        n_kept = [len(label.rstrip("*")) for label in labels]
        assert n_kept == list(range(len(value) - step, 0, -step))
        assert all(len(label) == len(value) for label in labels)
        assert all(value.startswith(label.rstrip("*")) for label in labels)


# --- dates


def test_dates_go_up_through_the_calendar() -> None:
    days = [datetime.date(2024, 3, 31), datetime.date(2024, 4, 1), datetime.date(2019, 12, 31)]
    tree = build.dates(days, ["month", "quarter", "year", "decade"], "age")

    assert paths(tree) == {
        "2019-12-31": ["2019-12", "2019-Q4", "2019", "2010s"],
        "2024-03-31": ["2024-03", "2024-Q1", "2024", "2020s"],
        "2024-04-01": ["2024-04", "2024-Q2", "2024", "2020s"],
    }
    assert tree.labels[0] == "*"


def test_weeks_are_those_of_iso() -> None:
    # 2024-12-30 is a Monday: week 1 of 2025. 2024-02-12 opens week 7.
    days = [datetime.date(2024, 12, 30), datetime.date(2025, 1, 1), datetime.date(2024, 2, 12)]

    assert paths(build.dates(days, ["week"], "age")) == {
        "2024-02-12": ["2024-W07"],
        "2024-12-30": ["2025-W01"],
        "2025-01-01": ["2025-W01"],
    }


@pytest.mark.parametrize(
    "units",
    [
        *([], ["zq"], ["week", "month"], ["week", "year"], ["month", "week"], ["week", "week"]),
        *(["year", "month"], ["month", "month"], ["month", "zq"]),
    ],
)
def test_units_must_be_known_and_nest(units: list[str]) -> None:
    with refused("hierarchy.build", len(units)):
        build.dates([datetime.date(1977, 1, 1)], units, "age")


UNITS = st.sets(st.sampled_from(["month", "quarter", "year", "decade"]), min_size=1).map(
    lambda units: [unit for unit in ("month", "quarter", "year", "decade") if unit in units]
)


@given(st.sets(st.dates(), min_size=1, max_size=20), UNITS | st.just(["week"]))
def test_dates_are_leaves_in_order_under_one_node_per_unit(
    days: set[datetime.date], units: list[str]
) -> None:
    tree = build.dates(days, units, "age")

    assert list(tree.leaf_labels) == [day.isoformat() for day in sorted(days)]
    assert {len(labels) for labels in paths(tree).values()} == {len(units)}


def test_years_before_1000_have_four_digits() -> None:
    tree = build.dates([datetime.date(987, 6, 5)], ["month", "year", "decade"], "age")

    assert tree.labels == ("*", "0980s", "0987", "0987-06", "0987-06-05")
