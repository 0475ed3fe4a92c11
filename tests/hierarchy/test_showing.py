"""What is shown of a tree: rows by hand, and that nothing small can be computed from what is shown."""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from shoal.errors import HierarchyError
from shoal.hierarchy import cuts
from shoal.hierarchy.checking import line_faults
from shoal.hierarchy.showing import Line, Showing, first_open, protected
from shoal.hierarchy.tree import Tree

ALL = dict.fromkeys(range(50), 100)


def tree_of(**rows: dict[str, int]) -> tuple[Tree, list[int]]:
    paths = [(leaf, name, "all") for name, inside in rows.items() for leaf in inside]
    return Tree.from_paths(paths, "x"), [n for inside in rows.values() for n in inside.values()]


def shown(lines: list[Line]) -> list[tuple]:
    return [(line.depth, line.label or f"{line.values} rare", line.rows) for line in lines]


def test_rare_values_of_the_data_are_one_line() -> None:
    tree, rows = tree_of(
        one={"a": 55, "b": 31, "c": 4, "d": 7}, two={"e": 3, "f": 6}, three={"g": 12, "h": 20}
    )
    lines = Showing(tree, rows, is_data=True).lines(ALL)
    assert shown(lines) == [
        (0, "all", 130),
        (1, "one", 90),
        (2, "a", 50),
        (2, "b", 30),
        (2, "2 rare", 10),
        (1, "three", None),  # hidden, or the 9 rows of the two rare values could be computed
        (2, "g", None),
        (2, "h", 20),
        (1, "2 rare", None),
    ]
    assert [(line.place, line.siblings) for line in lines if line.depth == 1] == [(1, 3), (2, 3), (3, 3)]


def test_values_of_a_list_from_elsewhere_are_shown_without_small_counts() -> None:
    tree, rows = tree_of(one={"a": 55, "b": 31, "c": 4}, two={"d": 0, "e": 0})
    lines = Showing(tree, rows, is_data=False).lines(ALL)
    assert shown(lines) == [
        (0, "all", 90),
        (1, "one", None),
        (2, "a", 50),
        (2, "b", None),
        (2, "c", None),
        (1, "two", None),
        (2, "d", None),
        (2, "e", None),
    ]


def test_only_open_groups_list_their_children_and_only_so_many() -> None:
    tree = Tree.from_paths([(f"v{at:03}", "all") for at in range(250)], "x")
    showing = Showing(tree, [50] * 250, is_data=True)
    lines = showing.lines(first_open(tree))
    assert len(lines) == 102
    assert (lines[-1].what, lines[-1].node, lines[-1].values) == ("more", 0, 150)
    assert [line.label for line in showing.lines({})] == ["all"]
    assert len(showing.lines({0: 249})) == 251
    assert showing.opened_for({0: 100}, 180) == {0: 180}
    assert showing.opened_for({0: 100}, 18) == {0: 100}
    assert showing.opened_for({}, 180) == {}


def test_rare_nodes_stand_for_the_group_that_is_shown() -> None:
    tree, rows = tree_of(one={"a": 55, "c": 4}, two={"e": 3, "f": 6}, three={"g": 40})
    showing = Showing(tree, rows, is_data=True)
    one, two, c, e = (tree.labels.index(label) for label in ("one", "two", "c", "e"))
    assert showing.visible([c, e, one]) == [one, 0]
    assert showing.rare_below(one) == [c]
    assert showing.rare_below(0) == [two]
    assert showing.groups("", 9) == [0, one, tree.labels.index("three")]
    assert showing.groups("THR", 9) == [tree.labels.index("three")]


def smallest_possible(rows: list[int], is_shown: list[bool], total: int) -> dict[int, set[int]]:
    """The counts that hidden parts may have, for somebody who knows exact counts of all that is shown."""
    hidden = [at for at, known in enumerate(is_shown) if not known]
    left = total - sum(count for count, known in zip(rows, is_shown, strict=True) if known)
    found: dict[int, set[int]] = {at: set() for at in hidden}
    for guess in product(range(left + 1), repeat=len(hidden)):
        if sum(guess) == left:
            for at, count in zip(hidden, guess, strict=True):
                found[at].add(count)
    return found


@given(st.lists(st.integers(0, 25), min_size=1, max_size=4))
def test_no_small_part_can_be_computed(rows: list[int]) -> None:
    assume(sum(rows) >= 10)
    counts = protected(rows)
    for count, n in zip(counts, rows, strict=True):
        assert count is None or (count >= 10 and 0 <= n - count < 10)
    possible = smallest_possible(rows, [count is not None for count in counts], sum(rows))
    for values in possible.values():
        assert len(values) > 10


@st.composite
def counted_trees(draw: st.DrawFn) -> tuple[Tree, list[int]]:
    n_nodes = draw(st.integers(2, 12))
    parent = {f"n{at}": f"n{draw(st.integers(0, at - 1))}" for at in range(1, n_nodes)}
    tree = Tree.from_parents(parent, "x")
    return tree, [draw(st.sampled_from([0, 1, 4, 9, 10, 11, 30, 200])) for _ in range(tree.n_leaves)]


@given(counted_trees(), st.booleans())
def test_each_group_hides_none_or_several_lines_with_ten_rows(case, is_data: bool) -> None:
    tree, rows = case
    rows_of = dict(zip(tree.leaf_labels, rows, strict=True))
    lines = Showing(tree, rows, is_data=is_data).lines(ALL)
    for line in lines:
        assert line.rows is None or line.rows >= 10
        if is_data and line.is_leaf and line.node:
            assert rows_of[line.label] >= 10
    below: dict[int, list[int]] = {}
    for line in lines:
        if line.what == "rare" or line.node:
            above = line.node if line.what == "rare" else int(tree.parent[line.node])
            below.setdefault(above, []).append(line.rows is None)
    whole = {line.node: line.rows is None for line in lines if line.what == "node"}
    for node, hidden in below.items():
        # In the equation "a group is the sum of its lines" nothing or more than one number is unknown.
        assert sum(hidden) + whole[node] != 1


# --- intervals between cuts, and the histogram


def test_cuts_of_integers() -> None:
    tree = cuts.by_cuts([3, 17, 18, 40, 64, 65, 90], [18, 65], "age")
    inside = [(tree.labels[tree.parent[leaf]], tree.labels[leaf]) for leaf in tree.leaf_nodes]
    assert inside == [
        ("<18", "3"),
        ("<18", "17"),
        ("[18, 64]", "18"),
        ("[18, 64]", "40"),
        ("[18, 64]", "64"),
        (">=65", "65"),
        (">=65", "90"),
    ]


def test_cuts_between_integers_and_of_fractions() -> None:
    assert cuts.by_cuts([1, 2, 3], [1.5, 2.5], "x").labels == ("*", "<2", "1", "[2, 2]", "2", ">=3", "3")
    assert cuts.by_cuts([0.1, 0.3, 0.5], [0.3, 0.4], "x").labels == (
        "*", "<0.3", "0.1", "[0.3, 0.4]", "0.3", ">=0.4", "0.5",
    )  # fmt: skip


@pytest.mark.parametrize("places", [[], [5, 5], [5, 3], [float("nan")], [float("inf")], list(range(201))])
def test_bad_cuts_are_refused(places: list) -> None:
    with pytest.raises(HierarchyError) as caught:
        cuts.by_cuts([1, 2, 3], places, "age")
    assert caught.value.code == "hierarchy.build"
    assert "`age`" in caught.value.message


def test_rows_between_cuts() -> None:
    assert cuts.rows_between([1, 2, 3, 4], [100, 40, 3, 60], [2, 3, 4]) == [100, None, None, 60]
    assert cuts.rows_between([1, 2, 3, 4], [100, 40, 3, 60], [2, 4]) == [100, 40, 60]


def test_the_histogram_hides_bars_and_extremes() -> None:
    values = [*range(100), 5_000_000]
    rows = [100] * 50 + [2] + [100] * 49 + [1]
    drawn = cuts.histogram(values, rows)
    assert drawn is not None
    assert max(drawn.edges) <= 105  # the largest value is not on the axis
    assert len(drawn.rows) <= 62
    assert all(count is None or count >= 10 for count in drawn.rows)


def test_the_histogram_by_hand() -> None:
    drawn = cuts.histogram([0, 1, 2, 3, 4], [20, 3, 8, 33, 50])
    assert drawn is not None
    assert drawn.edges == [0, 1, 2, 3, 4, 5]
    assert drawn.rows == [20, None, None, 30, 50]
    assert cuts.histogram([1, 2], [5, 6]) is None
    assert cuts.histogram([1], [500]) is None


def test_cuts_that_are_suggested_divide_the_rows() -> None:
    assert cuts.suggested_cuts(list(range(100)), [10] * 100) == [24, 50, 74]
    assert cuts.suggested_cuts([1], [500]) == []


@given(st.lists(st.tuples(st.integers(-500, 500), st.integers(1, 30)), min_size=1, max_size=40))
def test_no_bar_has_fewer_than_ten_rows(pairs: list) -> None:
    counts = dict(pairs)
    values = sorted(counts)
    drawn = cuts.histogram(values, [counts[value] for value in values])
    if drawn is None:
        return
    for at, count in enumerate(drawn.rows):
        low = drawn.edges[at] if at else -1000
        high = drawn.edges[at + 1] if at + 1 < len(drawn.rows) else 1000
        true = sum(n for value, n in counts.items() if low <= value < high)
        assert count is None or (count == true // 10 * 10 and true >= 10)


# --- places of faults in files


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("a;x;*\nb;x;*\n", []),
        ("a;x;*\nb;;*\n", [2]),
        ("a;x;*\n\nb;x;+\nc;x;*\n", [3]),
        ("a;x;*\nb;y;*\na;y;*\n", [3]),
        ("a;x;*\nb;x;y;*\n", [2]),
        ("a;x;*\nx;*\n", [2]),
        ("x;*\na;x;*\n", [2]),
        ("a;x;a;*\nb;*\n", [1]),
        ('a;x;*\n"b;x;*\nc;x;*\n', [2]),
        ("# shoal: said\na;x;*\na;x;*\n", [3]),
        ('"a\nb";x;*\na;x;*\na;x;*\n', [4]),
    ],
)
def test_lines_of_arx_files_that_are_wrong(text: str, lines: list[int]) -> None:
    assert [fault.line for fault in line_faults(text.encode(), ".csv")] == lines


def test_lines_of_nested_files_and_of_other_encodings() -> None:
    assert [fault.line for fault in line_faults(b'"all" = ["a"\n"b"]\n', ".toml")] == [2]
    assert [fault.line for fault in line_faults(b'{"all":\n\n ["a" "b"]}', ".json")] == [3]
    assert [fault.line for fault in line_faults("a;x;*\nö;x;*".encode("latin-1"), ".csv")] == [2]
    assert line_faults(b'{"all": ["a"]}', ".json") == []
