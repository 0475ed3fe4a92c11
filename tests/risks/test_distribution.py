"""The distribution of the risk, against numbers worked out by hand and the twin."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.risks.distribution import THRESHOLDS, risk
from tests.reference import risk as reference


def test_by_hand():
    # Classes of 1, 2 and 5 rows: eight rows, of risk 1, 1/2 (twice) and 1/5 (five times).
    found = risk(np.array([1, 2, 5]), 3)
    assert (found.highest, found.average, found.unique, found.below_k) == (1, 3 / 8, 1, 3)
    # Half of the rows are 4, three quarters 6, nine tenths 7.2, so 8.
    assert found.quantiles == {0.5: 0.2, 0.75: 0.5, 0.9: 1, 0.95: 1, 0.99: 1}
    # A risk of exactly 1/2 is not above 1/2, one of exactly 1/5 not above 1/5.
    assert found.above == {2: 1, 3: 3, 5: 3, 10: 8, 20: 8}
    assert [(bar.classes, bar.rows) for bar in found.histogram[:5]] == [
        (1, 1),
        (1, 2),
        (0, 0),
        (1, 5),
        (0, 0),
    ]


def test_ninety_percent_of_ten_rows_are_nine():
    # 0.9 * 10 is 9, so the tenth row, which is unique, does not count.
    assert risk(np.array([9, 1]), 2).quantiles[0.9] == 1 / 9


def test_classes_may_hide_among_more_people_than_they_have():
    # Three rows among 30 people, one among 4: on average (3/30 + 1/4) / 4.
    found = risk(np.array([30, 4]), 5, np.array([3, 1]))
    assert found.average == pytest.approx(0.35 / 4)
    assert (found.highest, found.unique, found.below_k) == (0.25, 0, 1)


def test_histogram_ends():
    found = risk(np.array([999, 1000]), 2)
    assert [bar.rows for bar in found.histogram if bar.rows] == [999, 1000]
    assert (found.histogram[-1].size_from, found.histogram[-1].size_below) == (1000, None)


@given(st.lists(st.integers(1, 30), min_size=1, max_size=30), st.integers(2, 10))
def test_against_the_twin(sizes, k):
    rows = [number for number, size in enumerate(sizes) for _ in range(size)]
    expected = sorted(reference.risks(rows))
    found = risk(np.array(sizes), k)
    assert found.average == pytest.approx(float(sum(expected) / len(expected)))
    assert found.highest == float(expected[-1])
    assert found.below_k == sum(one > 1 / k for one in map(float, expected))
    for size in THRESHOLDS:
        assert found.above[size] == sum(1 / one < size for one in expected)
    for share, value in found.quantiles.items():
        within = sum(float(one) <= value for one in expected)
        assert within * 100 >= round(share * 100) * len(expected)
        lower = [one for one in expected if float(one) < value]
        assert len(lower) * 100 < round(share * 100) * len(expected)
    assert sum(bar.rows for bar in found.histogram) == len(rows)
    assert sum(bar.classes for bar in found.histogram) == len(sizes)
