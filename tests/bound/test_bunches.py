"""Bunches of neighbouring values: narrow where many rows are."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from shoal.bound.bunches import bunches

VALUES = st.lists(st.integers(0, 1000), min_size=1, max_size=30, unique=True).map(sorted)


def begun(values, rows, together, span=1000):
    return bunches(np.array(values, np.int32), np.array(rows), span, together).tolist()


@given(VALUES, st.data(), st.sampled_from([0.05, 0.2, 0.5, 1.0]), st.booleans())
def test_there_are_as_many_as_of_equal_width(values, data, together, is_missing):
    rows = data.draw(st.lists(st.integers(1, 9), min_size=len(values), max_size=len(values)))
    n, last = 0, -np.inf
    for value in values:  # each bunch begins with the first value that the one before does not reach
        if value > last + together * 1000:
            n, last = n + 1, value
    found = begun([*values, *[2000] * is_missing], [*rows, *[5] * is_missing], together)
    assert found[0] == 0
    assert found == sorted(set(found))
    assert len(found) == n + is_missing
    assert not is_missing or found[-1] == len(values)  # a missing value stays alone


def test_only_missing_values():
    assert begun([2000], [7], 0.1) == [0]


def test_bunches_are_narrow_where_many_rows_are():
    # Three of equal width would be 0 to 200, 500 and 1,000. The crowd below 200 gets two of the three.
    values = [0, 10, 20, 180, 190, 200, 500, 1000]
    assert begun(values, [1] * 8, 0.4) == [0, 6, 7]
    assert begun(values, [1000] * 6 + [1, 1], 0.4) == [0, 3, 6]


def test_the_values_that_lose_most_are_kept_apart_at_last():
    # Both cuts were made because what they left together was dearest: the wide gap first.
    assert begun([0, 1, 2, 900, 1000], [1] * 5, 0.5) == [0, 3]
    assert begun([0, 1, 2, 900, 1000], [1] * 5, 0.09) == [0, 3, 4]
