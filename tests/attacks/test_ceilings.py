"""What each goal promises about a share, worked out by hand, and the interval of a share."""

from math import log

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest

from shoal.attacks.ceilings import ceilings
from shoal.attacks.result import wilson
from tests.attacks.tables import recipe

# One value with a share of 1/4 of the release, in a class of four rows; the release has three values.
P, SIZE, VALUES = np.array([0.25]), np.array([4.0]), 3


@pytest.mark.parametrize(
    ("goal", "share"),
    [
        ({"type": "l-diversity", "l": 2}, 3 / 4),  # one of four rows has another value
        ({"type": "l-diversity", "l": 3}, 2 / 4),
        ({"type": "l-diversity", "l": 3, "variant": "frequency"}, 1 / 3),
        ({"type": "l-diversity", "l": 3, "variant": "entropy"}, 1 / 3),  # all three equally frequent
        ({"type": "l-diversity", "l": 2, "variant": "recursive", "c": 3.0}, 3 / 4),  # q < 3 (1 - q)
        ({"type": "alpha-k", "alpha": 0.4}, 0.4),
        ({"type": "t-closeness", "t": 0.2}, 0.45),
        ({"type": "t-closeness", "t": 0.2, "distance": "ordered"}, None),
        ({"type": "beta-likeness", "beta": 0.5}, 0.375),
        ({"type": "beta-likeness", "beta": 2.0, "variant": "enhanced"}, 0.25 * (1 + log(4))),
        ({"type": "delta-disclosure", "delta": log(2)}, 0.5),
        ({"type": "delta-disclosure", "delta": 5.0}, 1),
    ],
    ids=lambda each: "-".join(map(str, each.values())) if isinstance(each, dict) else "",
)
def test_the_highest_share(goal, share):
    asked = recipe(k=2, goals=[{**goal, "column": "ill"}], age="quasi", ill="sensitive")
    found = ceilings(asked, "ill", P, SIZE, VALUES)
    assert (found is None) == (share is None)
    if share is not None:
        assert found[0] == pytest.approx(share, abs=1e-4)


def test_the_strictest_goal_counts():
    goals = [
        {"type": "alpha-k", "alpha": 0.7, "column": "ill"},
        {"type": "l-diversity", "l": 3, "column": "ill"},
    ]
    asked = recipe(k=2, goals=goals, age="quasi", ill="sensitive")
    assert ceilings(asked, "ill", P, SIZE, VALUES)[0] == 0.5


def test_joint_goals_and_goals_about_people_promise_nothing_about_rows():
    joint = [{"type": "alpha-k", "alpha": 0.4, "column": ["ill", "drug"]}]
    asked = recipe(k=2, goals=joint, age="quasi", ill="sensitive", drug="sensitive")
    assert ceilings(asked, "ill", P, SIZE, VALUES) is None
    people = [{"type": "alpha-k", "alpha": 0.4, "column": "ill"}]
    asked = recipe(k=2, goals=people, age="quasi", ill="sensitive", who="subject")
    assert ceilings(asked, "ill", P, SIZE, VALUES) is None


@given(st.integers(1, 500).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
def test_wilsons_interval_is_scipys(case):
    right = binomtest(*case).proportion_ci(method="wilson")
    low, high = wilson(*case)
    assert (low, high) == (pytest.approx(right.low, abs=1e-9), pytest.approx(right.high, abs=1e-9))
