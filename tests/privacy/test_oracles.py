"""The privacy goals as the kernels measure them, against pyCANON and against scipy's distances."""

import warnings
from math import log
from random import Random

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.optimize import linprog
from scipy.stats import entropy, wasserstein_distance

import shoal
from shoal.privacy.goalset import GoalSet
from shoal.recipe import Recipe
from tests.profiles import some

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    from pycanon import anonymity

pytestmark = pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::DeprecationWarning")

SEEDS = some(range(30), 3)
NEAR = {"rel": 0, "abs": 1e-9}


def judged(frame, goals, columns=None):
    """What shoal says of the classes that the column `class` names; a class number is its label."""
    given = {"row": {"role": "quasi", "kind": "numeric"}, "s": {"role": "sensitive", **(columns or {})}}
    recipe = Recipe.from_dict({"columns": given, "privacy": {"k": 2, "goal": goals}})
    table = pl.DataFrame({"row": range(len(frame)), "s": frame["s"].tolist()})
    encoded = shoal.encode(table, recipe)
    assert encoded.order.tolist() == list(range(len(frame)))
    return GoalSet.of(encoded, recipe).judge(frame["class"].to_numpy(np.int32))


def achieved(frame, columns=None, **goal):
    return judged(frame, [{"column": "s", **goal}], columns).achieved[0]


def random_frame(seed, domain, full=False):
    """2 to 5 classes of 2 to 12 rows, without missing values; `full`: each has every value."""
    random = Random(seed)
    domain = domain[: random.randint(2, len(domain))]
    weights = [random.randint(1, 6) for _ in domain]
    rows = []
    for c in range(random.randint(2, 5)):
        values = random.choices(domain, weights, k=random.randint(2, 12))
        rows += [(value, c) for value in (values + domain if full else values)]
    random.shuffle(rows)
    frame = pd.DataFrame(rows, columns=["s", "class"])
    if not full:
        frame.loc[:1, "s"] = domain[:2]  # pyCANON divides by m - 1
    return frame


WORDS, NUMBERS = ["a", "b", "c", "d", "e", "f"], [1, 2, 5, 10, 40, 41]


# pyCANON


@pytest.mark.parametrize("seed", SEEDS)
def test_pycanon_finds_the_same_k_l_and_alpha(seed):
    frame = random_frame(seed, WORDS)
    given = frame, ["class"], ["s"]
    alpha, k = anonymity.alpha_k_anonymity(*given)
    assert achieved(frame, type="alpha-k", alpha=0.5) == pytest.approx(alpha, **NEAR)
    goal = {"type": "l-diversity", "column": "s", "l": 1}
    assert judged(frame, [goal]).people == k == anonymity.k_anonymity(frame, ["class"])
    assert achieved(frame, type="l-diversity", l=1) == anonymity.l_diversity(*given)
    # pyCANON rounds down, and not always up to m where m values are equally frequent.
    found = achieved(frame, type="l-diversity", variant="entropy", l=1)
    low = anonymity.entropy_l_diversity(*given)
    assert low - 1e-9 <= found < low + 1 + 1e-9
    exact = min(np.exp(entropy(part.value_counts())) for _, part in frame.groupby("class")["s"])
    assert found == pytest.approx(exact, **NEAR)


@pytest.mark.parametrize("seed", SEEDS)
def test_pycanon_finds_the_same_t(seed):
    for domain, distance, columns in (
        (WORDS, "equal", {"kind": "categorical"}),
        (NUMBERS, "ordered", {"kind": "numeric"}),
    ):
        frame = random_frame(seed, domain)
        expected = anonymity.t_closeness(frame, ["class"], ["s"])
        found = achieved(frame, columns, type="t-closeness", t=0.5, distance=distance)
        assert found == pytest.approx(expected, **NEAR)


@pytest.mark.parametrize("seed", SEEDS)
def test_pycanon_finds_the_same_basic_beta(seed):
    frame = random_frame(seed, WORDS)
    expected = anonymity.basic_beta_likeness(frame, ["class"], ["s"])
    assert achieved(frame, type="beta-likeness", beta=1.0) == pytest.approx(expected, **NEAR)


# pyCANON caps the largest gain of any value by -ln p of the rarest. That is the least beta that does, as
# long as no gain exceeds its own value's -ln p; when one does, no beta is enough, and ours is infinite.
@pytest.mark.parametrize("seed", SEEDS)
def test_pycanon_finds_the_same_enhanced_beta_where_one_is_enough(seed):
    frame = random_frame(seed, WORDS, full=True)
    p = frame["s"].value_counts(normalize=True)
    q = frame.groupby("class")["s"].value_counts(normalize=True).unstack(fill_value=0)
    is_beyond = bool(q.sub(p).div(p).gt(-np.log(p)).any(axis=None))
    expected = np.inf if is_beyond else anonymity.enhanced_beta_likeness(frame, ["class"], ["s"])
    found = achieved(frame, type="beta-likeness", variant="enhanced", beta=1.0)
    assert found == pytest.approx(expected, **NEAR)


def test_enough_tables_have_an_enhanced_beta():
    frames = [random_frame(seed, WORDS, full=True) for seed in SEEDS]
    found = [achieved(frame, type="beta-likeness", variant="enhanced", beta=1.0) for frame in frames]
    assert sum(np.isfinite(found)) >= 2 / 3 * len(SEEDS)


# pyCANON skips the values that a class lacks, so every class has every value here.
@pytest.mark.parametrize("seed", SEEDS)
def test_pycanon_finds_the_same_delta(seed):
    frame = random_frame(seed, WORDS, full=True)
    expected = anonymity.delta_disclosure(frame, ["class"], ["s"])
    assert achieved(frame, type="delta-disclosure", delta=1.0) == pytest.approx(expected, **NEAR)


# scipy


def classes(frame):
    return [part.tolist() for _, part in frame.groupby("class")["s"]]


def transport(values, table, distance):
    """The least cost of moving the table's shares to where the class has them, by linear programming."""
    p = pd.Series(table).value_counts(normalize=True)
    q = pd.Series(values).value_counts(normalize=True)
    cost = [distance(i, j) for i in p.index for j in q.index]
    leaving = np.kron(np.eye(len(p)), np.ones(len(q)))
    arriving = np.kron(np.ones(len(p)), np.eye(len(q)))
    solved = linprog(cost, A_eq=np.vstack([leaving, arriving]), b_eq=np.concatenate([p, q]))
    assert solved.success
    return solved.fun


@pytest.mark.parametrize("seed", SEEDS)
def test_equal_distance_is_the_least_cost(seed):
    frame = random_frame(seed, WORDS)
    expected = max(transport(values, frame["s"], lambda i, j: float(i != j)) for values in classes(frame))
    assert achieved(frame, type="t-closeness", t=0.5) == pytest.approx(expected, **NEAR)


@pytest.mark.parametrize("seed", SEEDS)
def test_ordered_distance_is_that_of_the_ranks(seed):
    frame = random_frame(seed, NUMBERS)
    order = sorted(set(frame["s"]))
    ranks = {value: rank for rank, value in enumerate(order)}
    expected = max(
        wasserstein_distance([ranks[v] for v in values], frame["s"].map(ranks)) / (len(order) - 1)
        for values in classes(frame)
    )
    for columns, given in (
        ({"kind": "numeric"}, frame),
        ({"kind": "ordinal", "order": [str(n) for n in NUMBERS]}, frame.assign(s=frame["s"].astype(str))),
    ):
        found = achieved(given, columns, type="t-closeness", t=0.5, distance="ordered")
        assert found == pytest.approx(expected, **NEAR)


def random_tree(random):
    """Node -> parent: 3 to 11 nodes below a root, each under an earlier one; two leaves or more."""
    while True:
        tree = {"n0": None}
        for node in range(1, random.randint(4, 12)):
            tree[f"n{node}"] = f"n{random.randrange(node)}"
        if len(tree.keys() - set(tree.values())) > 1:
            return tree


def below(tree, node):
    return {child: below(tree, child) for child, above in tree.items() if above == node}


@pytest.mark.parametrize("seed", SEEDS)
def test_hierarchical_distance_is_the_least_cost(seed):
    random = Random(seed)
    tree = random_tree(random)
    paths = {node: [node] for node in tree}  # up to the root; a parent comes before its children
    for node in list(tree)[1:]:
        paths[node] += paths[tree[node]]
    height = {node: max(path.index(node) for path in paths.values() if node in path) for node in tree}

    def distance(i, j):
        return next(height[node] for node in paths[i] if node in paths[j]) / height["n0"]

    domain = [node for node in tree if height[node] == 0]
    random.shuffle(domain)
    frame = random_frame(seed, domain)  # not all leaves, in general
    expected = max(transport(values, frame["s"], distance) for values in classes(frame))
    columns = {"kind": "categorical", "hierarchy": {"n0": below(tree, "n0")}}
    found = achieved(frame, columns, type="t-closeness", t=0.5, distance="hierarchical")
    assert found == pytest.approx(expected, **NEAR)


def test_the_oracles_are_the_real_thing():
    frame = pd.DataFrame({"s": ["a", "a", "b", "b"], "class": [0, 0, 0, 1]})
    assert anonymity.t_closeness(frame, ["class"], ["s"]) == 0.5
    assert anonymity.basic_beta_likeness(frame, ["class"], ["s"]) == 1
    assert transport(["b"], ["a", "a", "b", "b"], lambda i, j: float(i != j)) == pytest.approx(0.5)
    assert anonymity.delta_disclosure(frame[:3], ["class"], ["s"]) == pytest.approx(log(1))
