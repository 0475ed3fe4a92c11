"""Models of population uniques, against SciPy and slow twins."""

from fractions import Fraction
from math import lgamma

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import optimize, special

from shoal.risks import pitman, snb, zayatz
from shoal.risks.special import digamma
from tests.profiles import some
from tests.reference import risk as reference


def arrays(classes):
    """{size: number of classes} as the models take it."""
    return np.array(sorted(classes), float), np.array([[classes[size] for size in sorted(classes)]], float)


@given(st.floats(1e-6, 1e9))
def test_digamma(x):
    assert digamma(np.array([x]))[0] == pytest.approx(special.digamma(x), rel=1e-11, abs=1e-11)


SAMPLES = [
    {1: 60, 2: 15, 3: 6, 5: 2, 20: 1},
    {1: 950, 2: 20, 3: 1},
    {1: 5, 2: 40, 3: 60, 4: 50, 5: 30},
    {1: 3000, 2: 900, 3: 400, 4: 200, 10: 50, 500: 2},
]


def log_likelihood(classes, theta, alpha):
    """Pitman's, from its definition."""
    n, u = sum(size * number for size, number in classes.items()), sum(classes.values())
    joined = sum(number * (lgamma(size - alpha) - lgamma(1 - alpha)) for size, number in classes.items())
    started = np.log(theta + alpha * np.arange(1, u)).sum()
    return started + joined - np.log(theta + np.arange(1, n)).sum()


@pytest.mark.parametrize("classes", some(SAMPLES, 2))
def test_pitman_has_the_highest_likelihood(classes):
    (theta,), (alpha,) = pitman.fit(*arrays(classes))

    def worse(point):
        return -log_likelihood(classes, np.exp(point[0]), 1e-3 + (1 - 1e-3) / (1 + np.exp(-point[1])))

    best = min(
        optimize.minimize(worse, start, method="Nelder-Mead", options={"xatol": 1e-9, "fatol": 1e-11}).fun
        for start in ([3, 0], [6, -3], [8, -6])
    )
    assert log_likelihood(classes, theta, alpha) >= -best - 1e-6


def test_pitman_expects_as_many_uniques_as_person_by_person():
    theta, alpha, people = Fraction(7, 2), Fraction(1, 3), 60
    expected = reference.pitman_uniques(theta, alpha, people)
    found = pitman.expected_uniques(np.array([float(people)]), np.array([3.5]), np.array([1 / 3]))
    assert found[0] == pytest.approx(float(expected), rel=1e-12)


def test_pitman_takes_a_sample_of_uniques_for_a_population_of_uniques():
    assert pitman.population_uniques(*arrays({1: 30}), 0.1)[0] == 300


@given(
    st.dictionaries(st.integers(1, 12), st.integers(1, 9), min_size=1, max_size=6).map(lambda c: {1: 3} | c),
    st.sampled_from([2, 4, 5, 10, 20]),
)
def test_zayatz_against_the_twin(classes, times):
    drawn = sum(size * number for size, number in classes.items())
    expected = reference.zayatz(classes, drawn * times)
    found = zayatz.population_uniques(*arrays(classes), 1 / times)[0]
    assert found == pytest.approx(float(expected), rel=1e-8)


def test_zayatz_by_hand():
    # One single and one pair, three of six people drawn. A single is drawn with probability 1/2. Of a pair,
    # exactly one is with 2 C(4, 2) / C(6, 3) = 12/20. So a sample unique is unique with 5/11, and 2 * 5/11
    # population uniques are expected.
    assert zayatz.population_uniques(*arrays({1: 1, 2: 1}), 0.5)[0] == pytest.approx(10 / 11)


def test_population_classes_by_hand():
    # f = 1/2, two singles and one pair. Sum of i f^2 (1 - f^2)^(i-1): 2/4 + 2/4 * 3/4 = 7/8. Sum of
    # (1 - f)^i ((1 + f)^i - 1): 2 * 1/4 + 1/4 * 5/4 = 13/16. Sum of (1 - f)^i: 1 + 1/4. Sum of
    # i f (1 - f)^(i-1): 1 + 1/2. So 3 + 2 * (14/13) * (5/6)^2.
    found = snb.population_classes(*arrays({1: 2, 2: 1}), 0.5)[0]
    assert found == pytest.approx(3 + 2 * 14 / 13 * 25 / 36)


@pytest.mark.parametrize("classes", SAMPLES)
@pytest.mark.parametrize("fraction", [0.05, 0.3, 0.7])
def test_population_classes_against_the_twin(classes, fraction):
    expected = reference.shlosser(classes, Fraction(str(fraction)))
    assert snb.population_classes(*arrays(classes), fraction)[0] == pytest.approx(float(expected))


def equations(point, classes, k, f):
    """Expected less counted classes of one and of two, as in the paper."""
    a, b = point
    d = (1 - f) * (1 - b)
    single = k * f * (b / (1 - d)) ** a * (1 + a * d / (1 - d))
    double = k * f**2 * a * (1 - b) * b**a * (2 - (1 - a) * d) / (2 * (1 - d) ** (a + 2))
    return single - classes[1], double - classes[2]


@pytest.mark.parametrize("classes", SAMPLES)
@pytest.mark.parametrize("fraction", [0.05, 0.3, 0.7])
def test_snb_solves_its_equations_like_scipy(classes, fraction):
    (a,), (b,), (k,) = snb.fit(*arrays(classes), fraction)
    if np.isnan(a):
        grid = [(x, y) for x in np.geomspace(0.01, 50, 12) for y in np.linspace(0.001, 0.999, 12)]
        with np.errstate(all="ignore"):
            ends = [
                optimize.fsolve(equations, point, (classes, k, fraction), full_output=True) for point in grid
            ]
        assert not any(
            flag == 1
            and x > 0
            and 1e-8 < y < 1
            and np.abs(equations((x, y), classes, k, fraction)).max() < 1e-6
            for (x, y), _, flag, _ in ends
        )
        return
    assert np.abs(equations((a, b), classes, k, fraction)).max() < 1e-6 * classes[1]
    near, _, flag, _ = optimize.fsolve(
        equations, (a * 1.05, b * 0.97), (classes, k, fraction), full_output=True
    )
    assert flag == 1
    assert near == pytest.approx([a, b], rel=1e-6)


def test_snb_without_pairs_has_no_solution():
    assert np.isnan(snb.population_uniques(*arrays({1: 10, 3: 2}), 0.2)[0])


def test_several_samples_at_once_are_those_one_by_one():
    sizes = np.array([1.0, 2.0, 5.0])
    counts = np.array([[40.0, 9, 2], [35, 12, 3], [50, 4, 1]])
    for model in (pitman, zayatz, snb):
        together = model.population_uniques(sizes, counts, 0.2)
        alone = [model.population_uniques(sizes, row[None, :], 0.2)[0] for row in counts]
        np.testing.assert_allclose(together, alone, rtol=1e-12)
