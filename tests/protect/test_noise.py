"""Noise: its size, what correlated noise keeps, and missing values."""

import numpy as np
import pytest

from shoal.protect.noise import with_correlated_noise, with_noise


def test_noise_is_the_drawn_numbers_times_the_standard_deviation():
    values = np.array([1.0, 3.0, np.nan, 5.0])  # standard deviation 2
    drawn = np.random.default_rng(4).standard_normal(4)
    found = with_noise(values, 0.5, np.random.default_rng(4))
    assert found[[0, 1, 3]] == pytest.approx(values[[0, 1, 3]] + drawn[[0, 1, 3]])
    assert np.isnan(found[2])


def test_a_constant_column_gets_no_noise():
    assert with_noise(np.full(5, 7.0), 0.5, np.random.default_rng(1)).tolist() == [7.0] * 5


def test_the_variance_grows_as_the_formula_says():
    values = np.random.default_rng(1).normal(100, 10, 20_000)
    found = with_noise(values, 0.5, np.random.default_rng(2))
    assert found.var() / values.var() == pytest.approx(1.25, abs=0.05)


def test_noise_of_columns_in_proportion_is_in_proportion():
    values = np.random.default_rng(1).normal(0, 1, 50)
    noisy = with_correlated_noise([values, -3 * values], 0.2, np.random.default_rng(2))
    assert noisy[1] == pytest.approx(-3 * noisy[0])
    assert abs(noisy[0] - values).max() > 0.1


def test_correlated_noise_keeps_correlations_that_independent_noise_weakens():
    random = np.random.default_rng(5)
    first = random.normal(0, 1, 20_000)
    second = 0.8 * first + 0.6 * random.normal(0, 1, 20_000)
    kept = with_correlated_noise([first, second], 1.0, np.random.default_rng(6))
    weakened = [
        with_noise(values, 1.0, np.random.default_rng(at)) for at, values in enumerate((first, second))
    ]
    assert np.corrcoef(*kept)[0, 1] == pytest.approx(0.8, abs=0.02)
    assert np.corrcoef(*weakened)[0, 1] == pytest.approx(0.4, abs=0.03)


def test_rows_with_missing_values_do_not_spoil_the_covariance():
    first, second = np.array([1.0, 2.0, np.nan, 4.0]), np.array([1.0, 2.0, 3.0, 4.0])
    noisy = with_correlated_noise([first, second], 0.1, np.random.default_rng(2))
    assert np.isnan(noisy[0]).tolist() == [False, False, True, False]
    assert not np.isnan(noisy[1]).any()
