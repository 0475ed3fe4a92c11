"""The readings of NCP, weighted hierarchical distance, distortion and k-member cost."""

from itertools import combinations

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.measure.distortion import distortion, distortion_ratio, kmember_cost, modification_rate
from shoal.measure.loss import loss
from shoal.measure.published import published_costs
from shoal.measure.readings import tight_costs
from shoal.recipe import Recipe
from shoal.recode.publish import publish
from shoal.table.encode import encode
from shoal.table.readings import Whd, node_costs
from tests.measure.test_loss import BHALADHARE, BHALADHARE_RECIPE, TWO_CLASSES, published_il, recipe, tight_il
from tests.reference import kmember as reference
from tests.strategies import leaves, nested, parents, tables

# Birth date {D/M/Y, M/Y, Y, 10Y, C/Y/M/O, *}: height 5, levels 6 (leaf) to 1 (root).
BIRTH_DATE = 5


def test_whd_of_li():
    # Uniform: two of five steps. Height, beta = 1: (1/5) / (1/5 + 1/4 + 1/3 + 1/2 + 1) = 12 / 137.
    assert Whd().between(6, 4, height=BIRTH_DATE) == pytest.approx(0.4)
    assert Whd("height").between(6, 5, height=BIRTH_DATE) == pytest.approx(12 / 137)
    assert Whd("height", beta=1).between(6, 5, height=BIRTH_DATE) == pytest.approx(0.087, abs=1e-3)
    # Gender {M/F, *}: one step of one, whatever the weights.
    assert Whd().between(2, 1, height=1) == Whd("height").between(2, 1, height=1) == 1


def test_own_weights_are_taken_from_the_root_downwards():
    # w(2,1) = 6, w(3,2) = 3, w(4,3) = 1: from the leaf one step up costs 1 of 10, two steps 4 of 10.
    whd = Whd((6.0, 3.0, 1.0))
    assert whd.from_leaf(3).tolist() == [0.0, 0.1, 0.4, 1.0]
    with pytest.raises(ValueError, match="3 weights given for a tree of height 2"):
        whd.from_leaf(2)


def test_larger_beta_makes_steps_near_the_leaf_cheaper():
    # beta = 2: (1/4) / (1 + 1/4) = 0.2 for the last of two steps; beta = 1: (1/2) / (3/2) = 1/3.
    assert Whd("height", beta=2).between(3, 2, height=2) == pytest.approx(0.2)
    assert Whd("height", beta=1).between(3, 2, height=2) == pytest.approx(1 / 3)


LI = pl.DataFrame(
    {
        "gender": ["male", "male", "male", "female", "female", "female"],
        "age": ["middle", "middle", "young", "young", "old", "old"],
        "pcode": ["4350", "4350", "4351", "4352", "4353", "4353"],
    }
)
PCODE = {"*": {"4***": {"43**": {"435*": ["4350", "4351", "4352", "4353"]}}}}
LI_RECIPE = recipe(
    2,
    gender={"kind": "categorical", "hierarchy": {"*": ["male", "female"]}},
    age={"kind": "categorical", "hierarchy": {"*": ["young", "middle", "old"]}},
    pcode={"kind": "categorical", "hierarchy": PCODE},
)
PAIRS = np.array([0, 0, 1, 1, 2, 2], np.int32)


def measured_texts(texts):
    encoded = encode(LI, LI_RECIPE)
    labels = PAIRS[encoded.order]
    costs = published_costs(encoded, pl.DataFrame(texts), Whd())
    return distortion(encoded, labels, costs), modification_rate(encoded, labels, costs), encoded, labels


def test_li_table_1b():
    # Two rows change gender (1 each) and postcode (1/4 each): 2 (1 + 1/4) = 2.5; 4 of 18 cells: 22.2 %.
    texts = {
        "gender": ["male", "*", "female"],
        "age": ["middle", "young", "old"],
        "pcode": ["4350", "435*", "4353"],
    }
    found, rate, encoded, labels = measured_texts(texts)
    assert found == pytest.approx(2.5)
    assert rate == pytest.approx(0.222, abs=5e-4)
    # Everything at the root: 6 rows x 3 columns.
    costs = published_costs(encoded, pl.DataFrame(texts), Whd())
    assert distortion_ratio(encoded, labels, costs) == pytest.approx(2.5 / 18)


def test_li_table_1c():
    # Gender and postcode of all six rows change: 12 of 18 cells, 66.7 %; 6 (1 + 1/4) = 7.5.
    texts = {"gender": ["*"] * 3, "age": ["middle", "young", "old"], "pcode": ["435*"] * 3}
    found, rate, *_ = measured_texts(texts)
    assert rate == pytest.approx(0.667, abs=5e-4)
    assert found == pytest.approx(7.5)


def test_li_distance_of_two_tuples():
    # {male, young, 4351} and {female, young, 4352}: each is distorted by 1 + 0 + 1/4; together 2.5.
    pair = LI[2:4]
    encoded = encode(pair, LI_RECIPE)
    labels = np.zeros(2, np.int32)
    assert distortion(encoded, labels, tight_costs(encoded, labels, Whd())) == pytest.approx(2.5)


@given(st.data(), parents(), st.sampled_from([Whd(), Whd("height"), Whd("height", beta=2.5)]))
def test_lemma_1_the_distance_is_a_metric(data, parent, whd):
    # Dist(t1, t2) = the distortion of both when generalized to their lowest common node.
    names = leaves(parent)
    cells = data.draw(st.lists(st.sampled_from(names), min_size=3, max_size=3))
    asked = recipe(2, t={"kind": "categorical", "hierarchy": {"n0": nested(parent)}})

    def between(one, other):
        encoded = encode(pl.DataFrame({"t": [one, other]}), asked)
        labels = np.zeros(2, np.int32)
        return distortion(encoded, labels, tight_costs(encoded, labels, whd))

    a, b, c = cells
    assert between(a, b) == between(b, a)
    assert (between(a, b) == 0) == (a == b)
    assert between(a, c) <= between(a, b) + between(b, c) + 1e-12


def test_distortion_is_not_defined_without_a_tree():
    encoded = encode(pl.DataFrame({"age": [1, 2]}), recipe(2, age={"kind": "numeric"}))
    labels = np.zeros(2, np.int32)
    assert distortion_ratio(encoded, labels, tight_costs(encoded, labels)) is None
    assert loss(encoded, labels, tight_costs(encoded, labels), 2).distortion_ratio is None


def test_suppressed_rows_are_distorted_and_changed_in_full():
    encoded = encode(LI, LI_RECIPE)
    labels = np.where(PAIRS[encoded.order] == 1, -1, np.minimum(PAIRS[encoded.order], 1)).astype(np.int32)
    costs = tight_costs(encoded, labels, Whd())
    # Two rows of three columns at the root, the others unchanged.
    assert distortion(encoded, labels, costs) == 6
    assert modification_rate(encoded, labels, costs) == pytest.approx(6 / 18)


def test_three_readings_of_ncp_by_hand():
    # Leaves in order: a b | c d e f under two nodes of height 1; H = 2.
    tree = {"root": {"x": ["a", "b"], "y": ["c", "d", "e", "f"]}}
    asked = recipe(2, t={"kind": "categorical", "hierarchy": tree})
    encoded = encode(pl.DataFrame({"t": ["a", "b", "c", "f", "b", "c"]}), asked)
    labels = np.array([0, 0, 1, 1, 2, 2], np.int32)[encoded.order]
    # {a, b} = x: height 1/2, leaves (2-1)/(6-1), order (1-0)/5.
    # {c, f} = y: height 1/2, leaves (4-1)/5, order (5-2)/5.
    # {b, c} = root: height 1, leaves 5/5, order (2-1)/5: neighbours in the order, far apart in the tree.
    assert tight_costs(encoded, labels, "height").ravel().tolist() == [0.5, 0.5, 1.0]
    assert tight_costs(encoded, labels, "leaves").ravel().tolist() == [0.2, 0.6, 1.0]
    assert tight_costs(encoded, labels, "order").ravel().tolist() == [0.2, 0.6, 0.2]


@given(tables(), st.sampled_from(["height", "leaves", Whd("height")]))
def test_published_and_tight_readings_agree_where_classes_are_published_tightly(case, reading):
    encoded = encode(case.table, case.recipe)
    labels = (np.arange(encoded.n_rows, dtype=np.int32) // 3).astype(np.int32)
    published = publish(encoded, labels, case.recipe)
    sizes = np.bincount(published.labels)
    tight = tight_costs(encoded, published.labels, reading)
    found = published_costs(encoded, published.classes, reading)
    assert (sizes @ found).tolist() == pytest.approx((sizes @ tight).tolist())


@given(parents(), st.booleans())
def test_node_costs_run_from_leaf_to_root(parent, may_miss):
    cells = leaves(parent) + [None] * may_miss
    asked = recipe(2, t={"kind": "categorical", "hierarchy": {"n0": nested(parent)}})
    (column,) = encode(pl.DataFrame({"t": pl.Series(cells, dtype=pl.String)}), asked).columns
    for reading in ("height", "leaves", Whd("height")):
        costs = node_costs(column, reading)
        assert costs[0] == (1.0 if column.tree.n_nodes > 1 else 0.0)
        assert costs[column.tree.leaf_nodes].max() == 0
        above = column.tree.parent[1:]
        assert (costs[above] >= costs[1:]).all()


def test_kmember_cost_by_hand():
    # Ages 0 2 3 | 10 10, range 10. Largest distances: 3/10 and 0. 3 x 3/10 + 2 x 0 = 0.9
    encoded = encode(pl.DataFrame({"age": [0, 2, 3, 10, 10]}), Recipe.from_roles(quasi=["age"], k=2))
    assert kmember_cost(encoded, np.array([0, 0, 0, 1, 1], np.int32)) == pytest.approx(0.9)


@given(tables(max_rows=25))
def test_kmember_cost_equals_the_definition(case):
    encoded = encode(case.table, case.recipe)
    labels = (np.arange(encoded.n_rows, dtype=np.int32) // 4).astype(np.int32)
    labels[-1] = -1
    columns = case.twin_columns(encoded.order)
    expected = 0
    for number in range(labels.max() + 1):
        rows = np.flatnonzero(labels == number).tolist()
        pairs = [reference.diversity(columns, list(pair)) for pair in combinations(rows, 2)]
        expected += len(rows) * max(pairs, default=0)
    assert kmember_cost(encoded, labels) == pytest.approx(float(expected))


def view_il(*names):
    """IL of one of the sub-tables of Bhaladhare et al., with raw ages and printed roots as they do."""
    printed = {"age": ["[20, 24]", "[32, 38]"], "sex": ["*", "*"], "zip": ["*", "*"]}
    columns = {name: BHALADHARE_RECIPE.columns[name].model_dump(exclude_unset=True) for name in names}
    asked = Recipe.from_dict({"columns": columns, "privacy": {"k": 3}})
    table = BHALADHARE.select(names)
    return published_il(table, asked, TWO_CLASSES, {name: printed[name] for name in names})


def test_bhaladhare_examples_2_and_3():
    # Age alone: 3 (4/18) + 3 (6/18) = 1.667; with one root more: + 6 = 7.667; a root alone: 6.
    unequal = [view_il("age"), view_il("age", "sex"), view_il("age", "zip")]
    equal = [view_il("age"), view_il("sex"), view_il("zip")]
    assert unequal == pytest.approx([1.667, 7.667, 7.667], abs=5e-4)
    assert equal == pytest.approx([1.667, 6, 6], abs=5e-4)
    # Summed over the views: unequal loses more than the whole table's 13.667, equal exactly as much.
    assert sum(unequal) == pytest.approx(17.0)
    assert sum(equal) == pytest.approx(13.667, abs=5e-4)


def partitions(rows, least):
    """All ways to put rows into groups of at least `least`."""
    if not rows:
        yield []
        return
    first, rest = rows[0], rows[1:]
    for size in range(least - 1, len(rest) + 1):
        for others in combinations(rest, size):
            left = [row for row in rest if row not in others]
            for more in partitions(left, least):
                yield [[first, *others], *more]


def test_he_table_1_optimum_by_brute_force():
    table = pl.DataFrame({"age": [20, 20, 30, 40, 50, 60, 60], "zip": [25, 30, 25, 30, 10, 5, 10]})
    asked = recipe(2, age={"kind": "numeric"}, zip={"kind": "numeric"})
    losses = {}
    for groups in partitions(list(range(7)), 2):
        labels = [next(n for n, group in enumerate(groups) if row in group) for row in range(7)]
        losses[tuple(map(tuple, groups))] = tight_il(table, asked, labels)
    best, second = sorted(losses, key=losses.__getitem__)[:2]
    assert best == ((0, 1), (2, 3), (4, 5, 6))
    assert losses[best] == pytest.approx(2.65)
    assert losses[second] == pytest.approx(2.85)
