"""Trees by hand, and against slow twins that climb from label to label."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.errors import HierarchyError
from shoal.hierarchy.tree import Tree

COUNTRIES = [
    ("USA", "North", "America", "Country"),
    ("Canada", "North", "America", "Country"),
    ("Brazil", "South", "America", "Country"),
    ("Mexico", "South", "America", "Country"),
    ("Iran", "West", "Asia", "Country"),
    ("Egypt", "West", "Asia", "Country"),
    ("India", "East", "Asia", "Country"),
    ("Japan", "East", "Asia", "Country"),
]


@contextmanager
def refused(code: str, *numbers: int) -> Iterator[None]:
    """Expect an error with this code that names the column and the numbers but no label (all hold zq)."""
    with pytest.raises(HierarchyError) as caught:
        yield
    assert caught.value.code == code
    assert "`origin`" in caught.value.message
    assert caught.value.hint
    assert "zq" not in str(caught.value)
    for number in numbers:
        assert str(number) in caught.value.message


def lca_height(tree: Tree, one: str, other: str) -> int:
    codes = tree.codes([one, other], "origin")
    return int(tree.height[tree.lca(codes[:1], codes[1:])[0]])


# --- slow twins: dictionaries and recursion, nothing from shoal


def naive_ancestors(parent: dict[str, str | None], label: str) -> list[str]:
    above = parent[label]
    return [label] if above is None else [label, *naive_ancestors(parent, above)]


def naive_lca(parent: dict[str, str | None], one: str, other: str) -> str:
    others = set(naive_ancestors(parent, other))
    return next(label for label in naive_ancestors(parent, one) if label in others)


def naive_children(parent: dict[str, str | None], label: str) -> list[str]:
    return [child for child, above in parent.items() if above == label]


def naive_height(parent: dict[str, str | None], label: str) -> int:
    return max((1 + naive_height(parent, child) for child in naive_children(parent, label)), default=0)


def naive_preorder(parent: dict[str, str | None], label: str) -> list[str]:
    below = [naive_preorder(parent, child) for child in naive_children(parent, label)]
    return [label, *(node for nodes in below for node in nodes)]


@st.composite
def parent_maps(draw: st.DrawFn) -> dict[str, str | None]:
    """Draw a tree as a mapping in any order: node i hangs under one of the nodes before it."""
    n_nodes = draw(st.integers(1, 24))
    above = [draw(st.integers(0, node - 1)) for node in range(1, n_nodes)]
    parent: dict[str, str | None] = {"n0": None}
    parent.update({f"n{node}": f"n{up}" for node, up in enumerate(above, 1)})
    order = draw(st.permutations(list(parent)))
    return {label: parent[label] for label in order}


# --- worked by hand


def test_country_tree_has_the_heights_of_the_paper() -> None:
    tree = Tree.from_paths(COUNTRIES, "origin")

    assert (tree.n_leaves, tree.n_nodes, tree.total_height) == (8, 15, 3)
    assert lca_height(tree, "India", "USA") == 3
    assert lca_height(tree, "India", "Iran") == 2
    assert lca_height(tree, "India", "Japan") == 1
    assert lca_height(tree, "India", "India") == 0


def test_country_tree_is_numbered_in_preorder() -> None:
    tree = Tree.from_paths(COUNTRIES, "origin")

    assert tree.labels == (
        *("Country", "America", "North", "USA", "Canada", "South", "Brazil", "Mexico"),
        *("Asia", "West", "Iran", "Egypt", "East", "India", "Japan"),
    )
    assert tree.parent.tolist() == [-1, 0, 1, 2, 2, 1, 5, 5, 0, 8, 9, 9, 8, 12, 12]
    assert tree.height.tolist() == [3, 2, 1, 0, 0, 1, 0, 0, 2, 1, 0, 0, 1, 0, 0]
    assert tree.first_leaf.tolist() == [0, 0, 0, 0, 1, 2, 2, 3, 4, 4, 4, 5, 6, 6, 7]
    assert tree.last_leaf.tolist() == [7, 3, 1, 0, 1, 3, 2, 3, 7, 5, 4, 5, 7, 6, 7]
    assert tree.leaf_nodes.tolist() == [3, 4, 6, 7, 10, 11, 13, 14]
    assert tree.leaf_labels == tuple(path[0] for path in COUNTRIES)


def test_arrays_are_int32() -> None:
    tree = Tree.from_paths(COUNTRIES, "origin")
    arrays = (tree.parent, tree.height, tree.first_leaf, tree.last_leaf, tree.leaf_nodes)

    assert {array.dtype for array in (*arrays, tree.lca(np.array([0]), np.array([5])))} == {
        np.dtype(np.int32)
    }
    assert tree.codes(["Iran"], "origin").dtype == np.int32


def test_interleaved_paths_still_give_each_subtree_one_interval() -> None:
    tree = Tree.from_paths([("a", "X", "*"), ("b", "Y", "*"), ("c", "X", "*"), ("d", "*")], "origin")

    assert tree.labels == ("*", "X", "a", "c", "Y", "b", "d")
    assert tree.leaf_labels == ("a", "c", "b", "d")


def test_uneven_tree_takes_the_longest_way_down_as_height() -> None:
    #        *  3
    #      /   \
    #    A 2    d 0
    #   /   \
    #  B 1   c 0
    #  |
    #  a 0
    tree = Tree.from_paths([("a", "B", "A", "*"), ("c", "A", "*"), ("d", "*")], "origin")

    assert dict(zip(tree.labels, tree.height.tolist(), strict=True)) == {
        "*": 3,
        "A": 2,
        "B": 1,
        "a": 0,
        "c": 0,
        "d": 0,
    }
    assert lca_height(tree, "a", "c") == 2
    assert lca_height(tree, "c", "d") == 3


def test_padded_paths_are_the_same_tree_as_short_ones() -> None:
    padded = [("a", "B", "A", "*"), ("c", "c", "A", "*"), ("d", "d", "d", "*"), ("e", "E", "E", "*")]
    short = [("a", "B", "A", "*"), ("c", "A", "*"), ("d", "*"), ("e", "E", "*")]

    assert Tree.from_paths(padded, "origin") == Tree.from_paths(short, "origin")


def test_parents_and_paths_give_the_same_tree() -> None:
    parent = {"*": None, "A": "*", "d": "*", "b": "A", "c": "A"}
    paths = [("b", "A", "*"), ("c", "A", "*"), ("d", "*")]

    assert Tree.from_parents(parent, "origin") == Tree.from_paths(paths, "origin")


def test_root_may_be_named_only_as_a_parent() -> None:
    assert Tree.from_parents({"a": "*", "b": "*"}, "origin").labels == ("*", "a", "b")


def test_single_node_is_root_and_leaf() -> None:
    tree = Tree.from_paths([("only",)], "origin")

    assert (tree.n_nodes, tree.n_leaves, tree.total_height) == (1, 1, 0)
    assert tree.lca(np.array([0]), np.array([0])).tolist() == [0]


def test_trees_differ_by_labels_and_by_shape() -> None:
    tree = Tree.from_paths([("a", "X", "*"), ("b", "*")], "origin")

    assert tree == Tree.from_paths([("a", "X", "*"), ("b", "*")], "origin")
    assert hash(tree) == hash(Tree.from_paths([("a", "X", "*"), ("b", "*")], "origin"))
    assert tree != Tree.from_paths([("a", "X", "*"), ("c", "*")], "origin")
    assert tree != Tree.from_paths([("a", "X", "*"), ("b", "X", "*")], "origin")
    assert tree != "a tree"


def test_repr_shows_no_labels() -> None:
    assert repr(Tree.from_paths(COUNTRIES, "origin")) == "Tree(n_leaves=8, n_nodes=15, total_height=3)"


@pytest.mark.parametrize("n_nodes", [5000])
def test_deep_chains_do_not_overflow(n_nodes: int) -> None:
    chain = [f"n{node}" for node in range(n_nodes)]
    parent: dict[str, str | None] = dict(zip(chain, [*chain[1:], None], strict=True))
    by_path = Tree.from_paths([chain, ("side", chain[-1])], "origin")

    assert Tree.from_parents(parent, "origin").total_height == n_nodes - 1
    assert by_path.lca(np.array([0]), np.array([1])).tolist() == [0]


# --- missing values


def test_missing_is_the_last_leaf_directly_under_the_root() -> None:
    tree = Tree.from_paths(COUNTRIES, "origin").with_missing()

    assert tree.leaf_labels == (*(path[0] for path in COUNTRIES), "")
    assert tree.parent[tree.leaf_nodes[-1]] == 0
    assert tree.total_height == 3
    assert tree.last_leaf[0] == 8
    assert lca_height(tree, "Japan", "") == 3
    assert lca_height(tree, "", "") == 0
    assert tree.labels[:-1] == Tree.from_paths(COUNTRIES, "origin").labels


def test_missing_beside_a_single_node_costs_one() -> None:
    tree = Tree.from_paths([("only",)], "origin").with_missing()

    assert tree.labels == ("*", "only", "")
    assert tree.height.tolist() == [1, 0, 0]
    assert lca_height(tree, "only", "") == 1
    assert lca_height(tree, "only", "only") == 0


def test_empty_text_of_the_data_is_not_the_missing_value() -> None:
    tree = Tree.from_paths([("", "*"), ("a", "*")], "origin").with_missing()

    assert tree.codes([""], "origin").tolist() == [0]
    assert tree.n_leaves == 3


# --- codes


def test_codes_follow_the_values_with_repeats() -> None:
    tree = Tree.from_paths(COUNTRIES, "origin")

    assert tree.codes(["India", "USA", "India", "Iran"], "origin").tolist() == [6, 0, 6, 4]
    assert tree.codes([], "origin").tolist() == []


def test_uncovered_values_are_counted_once_each_and_not_shown() -> None:
    tree = Tree.from_paths([("zqa", "zqX", "*"), ("zqb", "*")], "origin")

    with refused("hierarchy.uncovered", 2, 3):
        tree.codes(["zqa", "zqc", "zqc", "zqd"], "origin")


def test_inner_nodes_are_not_values() -> None:
    tree = Tree.from_paths([("zqa", "zqX", "*"), ("zqb", "*")], "origin")

    with refused("hierarchy.uncovered", 1):
        tree.codes(["zqa", "zqX"], "origin")


def test_decomposed_letters_find_their_composed_leaf_but_an_exact_leaf_comes_first() -> None:
    composed, decomposed = "caf\u00e9", "cafe\u0301"

    only_composed = Tree.from_paths([("a", "*"), (composed, "*")], "origin")
    both = Tree.from_paths([(composed, "*"), (decomposed, "*")], "origin")

    assert only_composed.codes([decomposed, composed], "origin").tolist() == [1, 1]
    assert both.codes([decomposed, composed], "origin").tolist() == [1, 0]


# --- lca


def test_lca_takes_pairs_in_either_order() -> None:
    tree = Tree.from_paths(COUNTRIES, "origin")

    forth = tree.lca(np.array([0, 4, 6]), np.array([1, 7, 6]))
    back = tree.lca(np.array([1, 7, 6]), np.array([0, 4, 6]))

    assert [tree.labels[node] for node in forth] == ["North", "Asia", "India"]
    assert forth.tolist() == back.tolist()


def test_lca_leaves_the_tree_unchanged() -> None:
    tree = Tree.from_paths(COUNTRIES, "origin")
    tree.lca(np.array([0]), np.array([7]))

    assert tree == Tree.from_paths(COUNTRIES, "origin")
    assert tree.leaf_nodes.tolist() == [3, 4, 6, 7, 10, 11, 13, 14]


def test_lca_of_no_pairs_is_empty() -> None:
    none = np.array([], dtype=np.int32)
    assert Tree.from_paths(COUNTRIES, "origin").lca(none, none).tolist() == []


@pytest.mark.parametrize(("low", "high"), [(-1, 3), (0, 8)])
def test_lca_refuses_codes_that_are_not_leaves(low: int, high: int) -> None:
    with pytest.raises(IndexError):
        Tree.from_paths(COUNTRIES, "origin").lca(np.array([low]), np.array([high]))


# --- broken trees


@pytest.mark.parametrize(
    ("parent", "n_trapped"),
    [
        ({"zqa": "zqa"}, 1),
        ({"zqa": "zqb", "zqb": "zqa"}, 2),
        ({"*": None, "zqa": "*", "zqb": "zqc", "zqc": "zqd", "zqd": "zqb"}, 3),
        ({"*": None, "zqa": "zqb", "zqb": "zqc", "zqc": "zqb"}, 3),
    ],
)
def test_cycle_in_parents_is_refused(parent: dict[str, str | None], n_trapped: int) -> None:
    with refused("hierarchy.cycle", n_trapped):
        Tree.from_parents(parent, "origin")


@pytest.mark.parametrize(
    "paths",
    [
        [("zqa", "zqX", "zqa", "*")],
        [("zqa", "zqX", "zqY", "zqX", "*")],
        [("zqa", "zqX", "zqY", "*"), ("zqb", "zqY", "zqX", "*")],
        [("zqa", "zqX", "zqY"), ("zqb", "zqY", "zqX")],
        [("*", "zqX", "*")],
    ],
)
def test_cycle_in_paths_is_refused(paths: list[tuple[str, ...]]) -> None:
    with refused("hierarchy.cycle"):
        Tree.from_paths(paths, "origin")


@pytest.mark.parametrize(
    ("parent", "n_roots"),
    [
        ({}, 0),
        ({"zqa": None, "zqb": None}, 2),
        ({"zqa": "zqX", "zqb": "zqY", "zqc": "zqZ"}, 3),
    ],
)
def test_parents_need_exactly_one_root(parent: dict[str, str | None], n_roots: int) -> None:
    with refused("hierarchy.roots", n_roots):
        Tree.from_parents(parent, "origin")


@pytest.mark.parametrize(
    ("paths", "n_roots"),
    [
        ([], 0),
        ([("zqa", "zqX"), ("zqb", "zqY")], 2),
        ([("zqa", "zqX", "*"), ("zqb", "zqX")], 2),
    ],
)
def test_paths_need_exactly_one_root(paths: list[tuple[str, ...]], n_roots: int) -> None:
    with refused("hierarchy.roots", n_roots):
        Tree.from_paths(paths, "origin")


@pytest.mark.parametrize(
    ("paths", "n_doubled"),
    [
        ([("zqa", "zqX", "*"), ("zqa", "zqX", "*")], 1),
        ([("zqa", "zqX", "*"), ("zqa", "zqY", "*"), ("zqb", "zqY", "*")], 1),
        ([("zqa", "zqX", "zqP", "*"), ("zqb", "zqX", "zqQ", "*")], 1),
        ([("zqa", "zqX", "*"), ("zqX", "*")], 1),
        ([("zqX", "*"), ("zqa", "zqX", "*")], 1),
        ([("zqa", "*"), ("*", "*")], 1),
        ([("zqa", "zqX", "*"), ("zqb", "zqX", "zqP", "*"), ("zqa", "zqX", "*")], 2),
    ],
)
def test_value_at_two_places_is_refused(paths: list[tuple[str, ...]], n_doubled: int) -> None:
    with refused("hierarchy.duplicate", n_doubled):
        Tree.from_paths(paths, "origin")


# --- properties


@given(parent_maps(), st.data())
def test_lca_agrees_with_the_twin(parent: dict[str, str | None], data: st.DataObject) -> None:
    tree = Tree.from_parents(parent, "origin")
    code = st.integers(0, tree.n_leaves - 1)
    pairs = data.draw(st.lists(st.tuples(code, code), min_size=1, max_size=8))
    low, high = np.array(pairs).T

    got = [tree.labels[node] for node in tree.lca(low, high)]

    leaves = tree.leaf_labels
    assert got == [naive_lca(parent, leaves[one], leaves[other]) for one, other in pairs]


@given(parent_maps())
def test_lca_of_extremes_covers_the_whole_set(parent: dict[str, str | None]) -> None:
    tree = Tree.from_parents(parent, "origin")
    codes = np.arange(tree.n_leaves)

    nodes = tree.lca(codes, np.full_like(codes, tree.n_leaves - 1))

    for code, node in zip(codes.tolist(), nodes.tolist(), strict=True):
        for leaf in tree.leaf_labels[code:]:
            assert tree.labels[node] in naive_ancestors(parent, leaf)


@given(parent_maps())
def test_heights_and_order_agree_with_the_twin(parent: dict[str, str | None]) -> None:
    tree = Tree.from_parents(parent, "origin")
    root = next(label for label, above in parent.items() if above is None)

    assert list(tree.labels) == naive_preorder(parent, root)
    assert tree.height.tolist() == [naive_height(parent, label) for label in tree.labels]
    above = [None if up < 0 else tree.labels[up] for up in tree.parent.tolist()]
    assert above == [parent[label] for label in tree.labels]


@given(parent_maps())
def test_every_subtree_is_an_interval_of_leaf_codes(parent: dict[str, str | None]) -> None:
    tree = Tree.from_parents(parent, "origin")

    for node, label in enumerate(tree.labels):
        below = set(naive_preorder(parent, label))
        inside = [code for code, leaf in enumerate(tree.leaf_labels) if leaf in below]
        assert inside == list(range(tree.first_leaf[node], tree.last_leaf[node] + 1))


@given(parent_maps(), st.data())
def test_shuffled_padded_paths_rebuild_the_tree(parent: dict[str, str | None], data: st.DataObject) -> None:
    leaves = [label for label in parent if not naive_children(parent, label)]
    paths = [
        [label for label in naive_ancestors(parent, leaf) for _ in range(data.draw(st.integers(1, 3)))]
        for leaf in data.draw(st.permutations(leaves))
    ]

    tree = Tree.from_paths(paths, "origin")

    above = [None if up < 0 else tree.labels[up] for up in tree.parent.tolist()]
    assert dict(zip(tree.labels, above, strict=True)) == parent
    assert sorted(tree.leaf_labels) == sorted(leaves)


@given(parent_maps())
def test_missing_changes_no_other_lca(parent: dict[str, str | None]) -> None:
    tree = Tree.from_parents(parent, "origin")
    wider = tree.with_missing()
    codes = np.arange(tree.n_leaves)
    low, high = (grid.ravel() for grid in np.meshgrid(codes, codes))

    before = [tree.labels[node] for node in tree.lca(low, high)]
    after = [wider.labels[node] for node in wider.lca(low, high)]
    mixed = wider.lca(codes, np.full_like(codes, tree.n_leaves))

    assert before == after
    assert set(mixed.tolist()) == {0}
    assert wider.total_height == max(tree.total_height, 1)
