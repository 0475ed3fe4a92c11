"""Hierarchies induced from counts."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.cluster.hierarchy import linkage

from shoal.errors import HierarchyError
from shoal.hierarchy import Tree, from_nested, load
from shoal.hierarchy.files import origin_of
from shoal.hierarchy.induce import RARE, induce, merges
from shoal.recipe import Recipe
from shoal.table.forms import set_text
from shoal.table.induced import induced_tree, with_induced
from tests.reference import induce as twin


def tree_of(table: pl.DataFrame, name: str = "job") -> Tree:
    return induced_tree(table, name, [other for other in table.columns if other != name], {})


def people(jobs: dict[str, tuple[int, int]]) -> pl.DataFrame:
    """Make women and men with each job."""
    rows = [
        (job, sex)
        for job, counts in jobs.items()
        for sex, n in zip("fm", counts, strict=True)
        for _ in range(n)
    ]
    return pl.DataFrame(rows, schema=["job", "sex"], orient="row")


def groups_of(tree: Tree) -> dict[str, list[str]]:
    """Return the leaves below each node that is neither root nor leaf."""
    leaves = tree.leaf_labels
    return {
        tree.labels[node]: list(leaves[tree.first_leaf[node] : tree.last_leaf[node] + 1])
        for node in range(1, tree.n_nodes)
        if tree.height[node] > 0
    }


def test_values_that_occur_with_the_same_values_are_joined() -> None:
    # Of 20 rows each: 19, 18, 11, 10, 2 and 1 women. Joining n = m = 20 rows whose shares of women differ by
    # d costs 2 d^2 * 10, so the pairs at a distance of 1/20 come first: three groups of two.
    women = {"nurse": 19, "midwife": 18, "teacher": 11, "clerk": 10, "roofer": 2, "miner": 1}

    tree = tree_of(people({job: (n, 20 - n) for job, n in women.items()}))

    assert groups_of(tree) == {
        "{clerk, teacher}": ["clerk", "teacher"],
        "{midwife, nurse}": ["midwife", "nurse"],
        "{miner, roofer}": ["miner", "roofer"],
    }
    assert tree.total_height == 2


def test_joining_costs_what_ward_says() -> None:
    # Shares (1, 0) of 10 rows and (1/2, 1/2) of 30: |difference|^2 = 1/2, times 10 * 30 / 40.
    joined = merges(np.array([10.0, 30.0]), np.array([[10.0, 0.0], [15.0, 15.0]]))

    assert joined == [(0, 1, 3.75)]


def test_a_first_level_that_would_blur_too_much_has_more_groups() -> None:
    """Two of six values are alike, all others in a town of their own."""
    table = pl.DataFrame({"job": [job for job in "abcdef" for _ in range(20)]}).with_columns(
        pl.col("job").replace("b", "a").alias("town")
    )

    # The squares are 120 - (40^2 + 4 * 20^2) / 120 = 93.3 in all, an eighth is 11.7. Joining a and b costs
    # nothing; any other step costs at least 20 / 2 * 2 = 20.
    assert groups_of(tree_of(table)) == {"{a, b}": ["a", "b"]}


def test_few_values_are_not_grouped() -> None:
    assert groups_of(tree_of(people({job: (10, 10 + at) for at, job in enumerate("abcde")}))) == {}


def test_rare_values_are_kept_together_and_never_named() -> None:
    """The only difference between two tables is whom the two people with rare jobs are like."""
    common = {job: (3 * at + 1, 20 - 3 * at) for at, job in enumerate("abcdef")}
    like_a = people({**common, "spy": (0, 5), "pope": (0, 6)})
    like_f = people({**common, "spy": (5, 0), "pope": (6, 0)})
    few = people({**common, "spy": (0, 5), "pope": (0, 4)})

    groups = groups_of(tree_of(like_a))
    (holder,) = [leaves for leaves in groups.values() if "spy" in leaves]
    assert "pope" in holder
    assert not any("spy" in label or "pope" in label for label in groups)
    assert groups_of(tree_of(few))["rare values"] == ["pope", "spy"]
    # With fewer than ten rows in all, what those rows are like changes nothing.
    other = people({**common, "spy": (5, 0), "pope": (4, 0)})
    assert tree_of(few) == tree_of(other)
    assert tree_of(like_a) != tree_of(like_f)


def test_long_groups_are_named_after_their_most_frequent_value() -> None:
    names = [f"a rather long name of an occupation, number {at}" for at in range(8)]
    jobs = {name: (at // 2 * 30, 100 - at // 2 * 30 + at) for at, name in enumerate(names)}

    labels = groups_of(tree_of(people(jobs)))

    assert set(labels) == {f"{names[at]} and 1 more" for at in (1, 3, 5, 7)}


def test_a_large_column_gets_more_levels() -> None:
    table = pl.DataFrame(
        {
            "job": [f"job {at:02}" for at in range(64) for _ in range(20)],
            "pay": [at + turn % 3 for at in range(64) for turn in range(20)],
        }
    )
    tree = tree_of(table)

    assert tree.total_height == 3
    assert sorted(tree.leaf_labels) == sorted(set(table["job"]))


def test_labels_that_are_values_are_avoided() -> None:
    women = {"*": 19, "{*, a}": 18, "a": 19, "b": 10, "c": 10, "rare values": 2, "d": 1}

    tree = tree_of(people({job: (n, 20 - n) for job, n in women.items()}))

    assert sorted(tree.leaf_labels) == sorted(women)
    assert len(set(tree.labels)) == tree.n_nodes


CELLS = st.lists(st.tuples(st.integers(0, 7), st.integers(0, 2), st.integers(0, 3)), min_size=1, max_size=40)


@st.composite
def tables(draw: st.DrawFn) -> list[tuple[str, str, str]]:
    """Draw rows in which every value is frequent enough to be placed."""
    n_values = draw(st.integers(6, 8))
    rows = []
    for value in range(n_values):
        rows += draw(
            st.lists(
                st.tuples(st.just(f"v{value}"), st.sampled_from("fm"), st.sampled_from("xyz")),
                min_size=RARE,
                max_size=RARE + 4,
            )
        )
    return rows


@given(tables(), st.randoms(use_true_random=False))
def test_groups_are_those_of_the_twin_whatever_the_order_of_rows(
    rows: list[tuple[str, str, str]], mix: random.Random
) -> None:
    shuffled = list(rows)
    mix.shuffle(shuffled)
    tree, again = (
        tree_of(pl.DataFrame(each, schema=["job", "sex", "town"], orient="row")) for each in (rows, shuffled)
    )

    assert tree == again
    found = [sorted(leaves) for leaves in groups_of(tree).values()]
    alone = [[leaf] for leaf in tree.leaf_labels if not any(leaf in group for group in found)]
    assert sorted(found + alone) == sorted(twin.first_level(rows))


@given(CELLS)
def test_every_value_is_a_leaf_under_the_root(rows: list[tuple[int, int, int]]) -> None:
    table = pl.DataFrame([tuple(map(str, row)) for row in rows], schema=["job", "sex", "town"], orient="row")
    tree = tree_of(table)

    assert sorted(tree.leaf_labels) == sorted(set(table["job"]))
    assert (tree.first_leaf[0], tree.last_leaf[0]) == (0, tree.n_leaves - 1)
    assert from_nested({tree.labels[0]: {}}, "job").n_nodes == 1


def test_distances_are_those_of_scipy() -> None:
    """With equally many rows each, Ward's heights are the square roots of twice our costs over the rows."""
    random_numbers = np.random.default_rng(4)
    profiles = random_numbers.multinomial(50, [0.1, 0.2, 0.3, 0.4], size=12).astype(float)

    ours = [cost for _, _, cost in merges(np.full(12, 50.0), profiles)]

    heights = linkage(profiles / 50, "ward")[:, 2]
    assert ours == pytest.approx((heights**2 / 2 * 50).tolist())


def test_too_many_values_are_refused_with_their_number() -> None:
    values = [f"v{at:04}" for at in range(1001)]
    with pytest.raises(HierarchyError, match="1001 values that at least 10 rows have") as caught:
        induce(values, [10] * 1001, np.ones((1001, 1)), "job", set_text=set_text)
    assert caught.value.code == "hierarchy.build"


def recipe_of(**columns: dict[str, Any]) -> Recipe:
    roles = {name: {"role": "quasi", **column} for name, column in columns.items()}
    return Recipe.from_dict({"columns": roles, "privacy": {"k": 2}})


def test_sensitive_columns_are_not_used_unless_they_are_named() -> None:
    women = {job: (at * 3, 20 - at * 3) for at, job in enumerate("abcdef")}
    table = people(women)
    ill = [f"ill {'fedcba'.index(job) % 3}" for job in table["job"]]
    table = table.with_columns(pl.Series("ill", ill))
    quiet = recipe_of(job={"hierarchy": "induce"}, sex={}, ill={"role": "sensitive"})
    named = recipe_of(job={"hierarchy": {"induce": ["ill"]}}, sex={}, ill={"role": "sensitive"})

    by_sex, by_ill = (with_induced(each, table).columns["job"].hierarchy for each in (quiet, named))

    assert isinstance(by_sex, dict)
    assert isinstance(by_ill, dict)
    assert list(by_sex["*"]) == ["{a, b}", "{c, d}", "{e, f}"]
    assert list(by_ill["*"]) == ["{a, d}", "{b, e}", "{c, f}"]


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"job": {"hierarchy": "induce", "kind": "numeric"}, "sex": {}}, "only the hierarchy of categories"),
        ({"job": {"hierarchy": {"induce": ["job"]}}, "sex": {}}, "cannot be induced from `job`"),
        ({"job": {"hierarchy": {"induce": ["pay"]}}, "sex": {}}, "cannot be induced from `pay`"),
        (
            {"job": {"hierarchy": {"induce": ["who"]}}, "who": {"role": "identifier"}},
            "cannot be induced from `who`",
        ),
    ],
)
def test_recipes_that_cannot_induce_are_refused(columns: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        recipe_of(**columns)


def test_one_column_alone_has_nothing_to_occur_with() -> None:
    with pytest.raises(HierarchyError, match="no other column to induce it from"):
        with_induced(recipe_of(job={"hierarchy": "induce"}), pl.DataFrame({"job": ["a"] * 9}))


@pytest.mark.parametrize("text", ["a;x;*\nb;x;*\n", "a\tx\t*\nb\tx\t*\n"])
def test_a_first_line_about_the_origin_is_skipped(tmp_path: Path, text: str) -> None:
    plain, told = tmp_path / "plain.csv", tmp_path / "told.csv"
    plain.write_text(text)
    told.write_text(f"# shoal: Induced; from, a\tb\n{text}")

    assert load(told, "c") == load(plain, "c")
    assert (origin_of(told, "c"), origin_of(plain, "c")) == ("Induced; from, a\tb", "")
