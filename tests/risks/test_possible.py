"""The range of population uniques without a model, against SciPy and generated populations."""

import numpy as np
import pytest
from benchmarks.population import POPULATIONS, drawn, population
from hypothesis import given
from hypothesis import strategies as st
from scipy import optimize, stats

from shoal.risks import possible
from shoal.risks.linear import least
from shoal.risks.possible import possible_uniques

small = st.integers(-4, 4).map(float)


@given(
    st.integers(1, 5),
    st.integers(1, 7),
    st.lists(small, min_size=50, max_size=50),
    st.lists(small, min_size=12, max_size=12),
)
def test_linear_programs_against_scipy(n_rows, n_columns, cells, more):
    rows = np.array(cells[: n_rows * n_columns]).reshape(n_rows, n_columns)
    right = np.abs(more[:n_rows])
    # A last row bounds the sum of all, so that there is a least value.
    rows = np.vstack([np.hstack([rows, np.zeros((n_rows, 1))]), np.ones((1, n_columns + 1))])
    right, cost = np.append(right, 5.0), np.append(more[5 : 5 + n_columns], 0.0)
    expected = optimize.linprog(cost, A_eq=rows, b_eq=right)
    found = least(cost, rows, right)
    if expected.status == 2:
        assert found is None
    else:
        assert found == pytest.approx(expected.fun, abs=1e-6)


def test_a_row_that_only_zeros_satisfy():
    # x + y = 0, so that the least -x is 0, although x + y + z = 5 alone would allow -5.
    rows = np.array([[-1.0, -1.0, 0.0], [1.0, 1.0, 1.0]])
    assert least(np.array([-1.0, 0.0, 0.0]), rows, np.array([0.0, 5.0])) == 0


def by_scipy(sizes, counts, fraction):
    """The same range from the same populations, with SciPy's distributions and solver."""
    people, edges = counts @ sizes / fraction, possible._EDGES
    of_population = possible._population_sizes(sizes.max() / fraction)
    starts, ends = np.array(edges), np.array([*edges[1:], np.inf])
    chances = np.array(
        [
            stats.binom.cdf(end - 1, of_population, fraction)
            - stats.binom.cdf(start - 1, of_population, fraction)
            for start, end in zip(starts, ends, strict=True)
        ]
    )
    counted = np.array([counts[(sizes >= a) & (sizes < b)].sum() for a, b in zip(starts, ends, strict=True)])
    z = stats.norm.ppf(1 - 0.025 / len(edges))
    slack = z * np.sqrt(counted + z * z / 4)
    rows = np.vstack([chances, -chances])
    right = np.concatenate([counted + z * z / 2 + slack, -(counted + z * z / 2 - slack)])
    cost = np.zeros(len(of_population))
    cost[0] = 1
    return [
        sign * optimize.linprog(sign * cost, rows, right, of_population[None, :] / people, [1.0]).fun
        for sign in (1, -1)
    ]


@pytest.mark.parametrize("fraction", [0.02, 0.2, 0.6])
@pytest.mark.parametrize("name", list(POPULATIONS))
def test_against_scipy(name, fraction):
    rng = np.random.default_rng(1)
    classes = drawn(population(name, 20_000, rng), fraction, rng)
    sizes, counts = np.unique(classes, return_counts=True)
    found = possible_uniques(sizes.astype(float), counts.astype(float), fraction)
    expected = by_scipy(sizes, counts, fraction)
    assert found == pytest.approx(expected, rel=1e-3, abs=2)


def test_a_sample_that_nobody_could_draw_widens_the_range():
    # 5,000 pairs and nothing else, although only one person in ten was drawn.
    low, high = possible_uniques(np.array([2.0]), np.array([5000.0]), 0.1)
    assert 0 <= low <= high <= 100_000


def test_most_of_the_population_leaves_little_open():
    rng = np.random.default_rng(2)
    people = population("zipf", 20_000, rng)
    true = int((people == 1).sum())
    sizes, counts = np.unique(drawn(people, 0.9, rng), return_counts=True)
    low, high = possible_uniques(sizes.astype(float), counts.astype(float), 0.9)
    assert low <= true <= high
    assert high - low < 0.15 * true
