"""Rank swapping against its twin, and what it promises."""

from itertools import count

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from shoal.protect.rank_swap import drawing, partners, window_of
from tests.reference import protection as reference


def draws_of(seed):
    random = np.random.default_rng(seed)
    return lambda: float(random.random())


@given(st.integers(0, 40), st.integers(1, 45), st.integers(0, 2**32))
def test_partners_are_those_of_the_twin(n_values, window, seed):
    found = partners(n_values, window, draws_of(seed))
    assert found.tolist() == reference.rank_swap(n_values, window, draws_of(seed))


@given(st.integers(0, 300), st.integers(1, 50), st.integers(0, 2**32))
def test_swaps_are_mutual_and_near(n_values, window, seed):
    found = partners(n_values, window, drawing(np.random.default_rng(seed)))
    assert found[found].tolist() == list(range(n_values))
    assert (abs(found - np.arange(n_values)) <= window).all()


def test_a_window_of_one_swaps_neighbours_by_hand():
    assert partners(5, 1, lambda: 0.0).tolist() == [1, 0, 3, 2, 4]


def test_a_window_of_two_by_hand():
    # 0 takes the second of (1, 2); 1 the second of (2, 3), as 2 is taken; 4 finds 5 alone.
    numbers = iter([0.5, 0.5, 0.0])
    assert partners(6, 2, lambda: next(numbers)).tolist() == [2, 3, 0, 1, 5, 4]


def test_the_window_is_a_percentage_read_as_a_decimal():
    assert [window_of(1000, percent) for percent in (0.3, 29, 100)] == [3, 290, 1000]
    assert window_of(10, 1) == 1


def test_about_one_number_is_drawn_for_each_value():
    numbers, random = count(), np.random.default_rng(3)

    def draw():
        next(numbers)
        return float(random.random())

    partners(20_000, 1000, draw)
    assert next(numbers) < 2 * 20_000
