"""The mean of 1 / F, against closed forms, SciPy, and the distribution itself."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import integrate, stats

from shoal.risks.posterior import individual_risk


def one_risk(rows, people):
    return individual_risk(np.array([rows]), np.array([people], float))[0]


def test_one_row_by_hand():
    # f = 1, p = 1/5: p / (1 - p) log(1 / p) = log(5) / 4.
    assert one_risk(1, 5) == pytest.approx(np.log(5) / 4, rel=1e-14)


def test_two_rows_by_hand():
    # f = 2, p = 2/10: p/q - (p/q)^2 log(1/p) with p/q = 1/4.
    assert one_risk(2, 10) == pytest.approx(1 / 4 - np.log(5) / 16, rel=1e-14)


def test_a_class_that_stands_for_itself_alone():
    assert one_risk(3, 3) == pytest.approx(1 / 3, rel=1e-14)


@pytest.mark.parametrize(("rows", "people"), [(1, 4.0), (3, 12.5), (7, 8.0), (150, 1e4)])
def test_it_is_the_mean_of_the_negative_binomial(rows, people):
    p = rows / people
    more = np.arange(200_000)
    expected = (stats.nbinom.pmf(more, rows, p) / (rows + more)).sum()
    assert one_risk(rows, people) == pytest.approx(expected, rel=1e-10)


@given(st.integers(1, 3000), st.floats(1e-4, 1))
def test_against_numerical_integration(rows, p):
    # With u = exp(-v) the integrand is p exp(-f v) / (p + q exp(-v)), most of it at v of about 1 / f.
    def integrand(w):
        return p * np.exp(-w) / (p + (1 - p) * np.exp(-w / rows)) / rows

    parts = [
        integrate.quad(integrand, low, high, epsabs=0, epsrel=1e-11)[0] for low, high in [(0, 8), (8, 60)]
    ]
    assert one_risk(rows, rows / p) == pytest.approx(sum(parts), rel=1e-9)


def test_more_people_mean_less_risk():
    risks = individual_risk(np.full(50, 4), np.linspace(4, 400, 50))
    assert (np.diff(risks) < 0).all()
