"""The references of the lower bounds: on a table worked by hand, and never above the least loss."""

from fractions import Fraction

from hypothesis import given

from tests.reference import bound as reference
from tests.reference.kmember import NumericColumn, diversity
from tests.strategies import EVERY_KIND, tables

F = Fraction
# Ages 0, 1, 2, 10: as shares of the range 0, 1/10, 2/10, 1.
AGES = [NumericColumn([0, 1, 2, 10])]


def test_ages_by_hand():
    # k = 2. The pairs {0, 1} and {2, 10} lose 2 x 1/10 + 2 x 8/10 = 18/10; all four in one class 4.
    assert reference.least_loss(AGES, 4, 2) == F(18, 10)
    # The nearest others are at 1/10, 1/10, 1/10 and 8/10, and two rows are their own smallest box.
    near = [F(1, 10), F(1, 10), F(1, 10), F(8, 10)]
    assert reference.nearest_row(AGES, 4, 2) == reference.smallest_box(AGES, 4, 2) == near
    # Row 10 drags whoever it is with to 8/10 at least: the nearest by 7/10. The others drag nobody up.
    assert reference.with_drag(AGES, 4, 2, near) == [F(1, 10), F(1, 10), F(1, 10), F(15, 10)]
    assert sum(reference.with_drag(AGES, 4, 2, near)) == F(18, 10)


def test_three_of_a_kind_by_hand():
    # k = 3. One class only, of D = 1. The second nearest others: 2/10, 1/10, 2/10 and 9/10.
    assert reference.least_loss(AGES, 4, 3) == 4
    assert reference.nearest_row(AGES, 4, 3) == [F(2, 10), F(1, 10), F(2, 10), F(9, 10)]
    # Row 1 is 1/10 from both of its neighbours, but a box with both is 2/10 wide.
    assert reference.smallest_box(AGES, 4, 3) == [F(2, 10), F(2, 10), F(2, 10), F(9, 10)]
    # By mutual reachability too: both neighbours have 2/10 themselves.
    near = reference.nearest_row(AGES, 4, 3)
    assert reference.mutual_reachability(AGES, 4, 3, near) == [F(2, 10), F(2, 10), F(2, 10), F(9, 10)]


@given(tables(max_rows=8, max_k=4, kinds=EVERY_KIND))
def test_no_bound_is_above_the_least_loss(case):
    columns = case.twin_columns(range(case.table.height))
    n, k = case.table.height, case.recipe.privacy.k
    least = reference.least_loss(columns, n, k)
    near, box = reference.nearest_row(columns, n, k), reference.smallest_box(columns, n, k)
    reached = reference.mutual_reachability(columns, n, k, near)
    assert all(one <= other for one, other in zip(near, box, strict=True))
    assert all(one <= other for one, other in zip(near, reached, strict=True))
    assert all(one <= other for one, other in zip(reached, box, strict=True))
    for terms in (near, box, reached):
        assert sum(terms) <= sum(reference.with_drag(columns, n, k, terms)) <= least
    assert least <= n * diversity(columns, range(n))
