"""How far columns move: hand-worked numbers, and links against their twin."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.protect import moved
from tests.reference import protection as reference

ROWS = st.lists(st.tuples(st.integers(0, 12), st.integers(0, 24)), min_size=1, max_size=15)


@given(ROWS)
def test_links_are_those_of_the_twin(rows):
    true, released = [float(a) for a, _ in rows], [b / 2 for _, b in rows]
    found = moved.linked(np.array(true), np.array(released))
    assert found == pytest.approx(float(reference.linked(true, released)), rel=0.006, abs=1e-12)


def test_links_by_hand():
    # 1.9 is nearest to 2, which is its own; 2.1 is nearest to 2 too, but its own is 3; 8 has two candidates.
    assert moved.linked(np.array([2.0, 3.0, 8.0, 8.0]), np.array([1.9, 2.1, 8.0, 8.0])) == 0.5


def test_missing_values_are_not_linked():
    assert moved.linked(np.array([1.0, np.nan]), np.array([1.0, np.nan])) == 1


def test_numbers_by_hand():
    # The standard deviation of 1, 3 is 1; that of 2, 6 is 2.
    found = moved.moved_numbers(np.array([1.0, 3.0, np.nan]), np.array([2.0, 6.0, np.nan]))
    assert found == {"mean_shift": 2.0, "sd_ratio": 2.0, "correlation": 1.0}


def test_counts_by_hand():
    # Counts 3, 1 become 2, 2: one cell of four has another category than before.
    before, after = np.array([0, 0, 0, 1, -1]), np.array([0, 0, 1, 1, -1])
    assert moved.moved_counts(before, after, 2) == 0.25
    assert moved.share_changed(before, after) == 0.25


def test_numbers_have_three_digits():
    assert [moved.rounded(number) for number in (1234.5, 0.0012349, -0.5, 0.0)] == [
        1230.0,
        0.00123,
        -0.5,
        0.0,
    ]


def test_the_correlation_that_moved_most():
    x = np.arange(20.0)
    before = {"x": x, "same": x, "other": x**2}
    after = {"x": x, "same": x, "other": -(x**2)}
    found = moved.moved_correlation("x", before, after)
    assert found["with"] == "other"
    assert found["after"] == -found["before"]
