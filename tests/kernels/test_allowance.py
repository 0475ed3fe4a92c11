"""What a goal allows in a class, counted by hand."""

import numpy as np

from shoal.kernels import allowance as kernel
from shoal.kernels.allowance import Allowance
from tests.kernels.calling import called

begin, count, has_values, in_rows = map(
    called, (kernel.begin_counting, kernel.count, kernel.has_values, kernel.in_rows)
)


def allowed(own, beyond, needed=0):
    """Three tuples: two of the first value, one of the second; a fourth without a value. Ten units a row."""
    return Allowance(
        value=np.array([0, 0, 1, 2], np.int32), own=np.array([*own, 1_000]), beyond=beyond, needed=needed,
        is_value=np.array([1, 1, 0]), unit=10, taken=np.zeros(3, np.int64), state=np.zeros(2, np.int64),
    )  # fmt: skip


def counted(given, rows_of, k):
    """The units of each tuple, from first to last, and whether there are enough values."""
    begin(given)
    left, found = 10 * k, []
    for one, rows in rows_of:
        found.append(count(given, one, rows, left))
        left -= found[-1]
    return found, bool(has_values(given))


def test_values_have_units_of_their_own_and_share_some():
    given = allowed(own=(15, 5), beyond=7)
    # Of two rows ten and five of its own and five shared; of the second value five of its own and two.
    assert counted(given, [(0, 1), (1, 1), (2, 1), (3, 1)], 4) == ([10, 10, 7, 10], True)
    # Counting begins again, and a class is full at some time.
    assert counted(given, [(2, 1), (0, 3), (3, 9)], 3) == ([10, 17, 3], True)


def test_rows_without_a_value_are_no_value():
    given = allowed(own=(100, 100), beyond=0, needed=2)
    assert counted(given, [(0, 1), (1, 1), (3, 1)], 4) == ([10, 10, 10], False)
    # A value that is there counts even if a class is full.
    assert counted(given, [(0, 4), (2, 1)], 4) == ([40, 0], True)


def test_sums_are_rounded_up():
    given = allowed(own=(1, 1), beyond=0)
    assert [in_rows(given, total) for total in (20, 21, -19, -20)] == [2, 3, -1, -2]
