"""The same as `kernels.row_excess`, for tables with many numeric columns that have many values.

There, boxes are too many to be settled column by column. Candidates are the same: seen from the tuple, each
has an offset in each column. A box is an interval of offsets in each column that holds 0, with two *ends*,
down and up. Boxes are gone through part by part (`kernels.box_parts`). (With trees, or many equal rows, the
other kernel is faster.)

*Levels.* A search takes the longer the lower the excess is that nothing may exceed: about five times as long
for a box that costs a twentieth more. So it is first asked whether any box has far more than the best one
that was found quickly, then again with less and less. If steps run out, the last answer is still one.
"""

from __future__ import annotations

import numpy as np

from shoal.kernels.box_parts import HAS_EQUAL, settle, top_left
from shoal.kernels.compiling import entry, inner
from shoal.kernels.nearest import INDEX_BITS, N_KEPT, SOME, fill_distances, gather_least, kth_cost
from shoal.kernels.row_excess import take_near, top_near
from shoal.kernels.smallest_box import STEPS_LEFT, fill_offsets
from shoal.kernels.sorting import add_to_heap, drop_least, sort_front

_NARROWED = 4  # times that the distance of candidates is computed again
_FIRST_LEVEL, _LAST_LEVEL, _WHOLE = 640, 60, 1000  # between the best box and what is known at first
_TO_LOOK_AROUND = 1 << 40  # steps, more than it takes
# The next level is nearer to the best box the more steps are left, in times of those of the last one.
_MANY_LEFT, _SOME_LEFT = 60, 8
_MUCH_NEARER, _NEARER, _LITTLE_NEARER, _OF = 12, 15, 18, 20


@inner
def list_candidates(tuples, trees, one, n, scan, search, prices):
    """List the n tuples whose ranks are given, highest price first, with their offsets. Writes `search`."""
    sort_front(search.key, n)
    for at in range(n):
        search.other[at] = prices.by_price[search.key[at]]
        prices.own[at] = prices.price[search.other[at]]
    fill_offsets(tuples, trees, one, n, scan, search)
    prices.cut[HAS_EQUAL] = 0
    for at in range(n):
        if search.size[at] > 1:
            prices.cut[HAS_EQUAL] = 1
    search.state[STEPS_LEFT] -= 2 * n * search.offset.shape[0]


@inner
def outermost(search, prices, col, sign):
    """Return which candidate reaches furthest in a column, and how much further than all others."""
    offset, who, first, second = search.offset[col], np.int64(-1), np.int32(0), np.int32(0)
    for at in range(prices.begin[0], prices.end[0]):
        far = np.int32(sign * offset[prices.left[at]])
        if far > first:
            who, first, second = at, far, first
        elif far > second:
            second = far
    return who, first - second, first


@inner
def peel(search, prices, n, k):
    """Return the excess of a good box: of all candidates, less those that make it wide, one by one.

    That takes as many steps as candidates squared.
    """
    prices.begin[0], prices.end[0] = 0, n
    for at in range(n):
        prices.left[at] = np.uint32(at)
    best = np.int64(-(1 << 62))
    while True:
        total, lacking = top_left(search, prices, 0, k)
        if lacking > 0:
            return best
        cost, gain, out = np.int64(0), np.int32(0), np.int64(-1)
        for col in range(search.offset.shape[0]):
            wide = np.int64(0)
            for end in range(2):
                who, less, far = outermost(search, prices, col, 2 * end - 1)
                wide += far
                if less > gain:
                    gain, out = less, who
            cost += min(wide, np.int64(search.most[col]))
        best = max(best, total - k * cost)
        if out < 0:
            return best
        for at in range(out + 1, prices.end[0]):
            prices.left[at - 1] = prices.left[at]
        prices.end[0] -= 1
        search.state[STEPS_LEFT] -= 2 * prices.end[0] * search.offset.shape[0]


@inner
def first_box(tuples, trees, k, one, scan, search, prices):
    """Return the excess of a good box over the tuple and others near by."""
    gather_least(scan, tuples.size, SOME * k)
    n = scan.state[N_KEPT]
    for at in range(n):
        search.key[at] = prices.rank[np.int32(scan.key[at])]
    list_candidates(tuples, trees, one, n, scan, search, prices)
    return peel(search, prices, n, k)


@inner
def by_levels(search, prices, n, k, best, most, charges):
    """Return the greatest excess, k times, of boxes over the n candidates listed, or more; and whether it is.

    best: what a box has. most: what none exceeds.
    """
    between, share = most - best, np.int64(_FIRST_LEVEL)
    while True:
        level, left = best + between * share // _WHOLE, search.state[STEPS_LEFT]
        found = settle(search, prices, n, k, level, charges)
        if search.state[STEPS_LEFT] < 0:
            return most, False
        if found > level or share == 0:
            return found, True
        most = level
        taken = left - search.state[STEPS_LEFT]
        if taken > search.state[STEPS_LEFT]:
            return most, False  # the next one takes longer
        nearer = np.int64(_LITTLE_NEARER)
        if _MANY_LEFT * taken < search.state[STEPS_LEFT]:
            nearer = np.int64(_MUCH_NEARER)
        elif _SOME_LEFT * taken < search.state[STEPS_LEFT]:
            nearer = np.int64(_NEARER)
        share = share * nearer // _OF
        if share < _LAST_LEVEL:
            share = np.int64(0)


@inner
def most_nearby(search, prices, n, k):
    """Return what no box over the n candidates listed has more than, k times. Writes `prices.top`.

    A box costs no less than its furthest candidate is away, and its k highest prices are among those of the
    candidates that are no further.
    """
    for at in range(n):
        search.key[at] = np.int64(search.far[at]) << INDEX_BITS | at
    sort_front(search.key, n)
    held, total, most = np.int64(0), np.int64(0), np.int64(-(1 << 62))
    for at in range(n):
        candidate = search.key[at] & ((1 << INDEX_BITS) - 1)
        price, rows = prices.own[candidate], min(search.size[candidate], np.int64(k))
        while rows > 0 and held < k:
            add_to_heap(prices.top, held, price)
            total += price
            held += 1
            rows -= 1
        while rows > 0 and prices.top[0] < price:
            total += price - prices.top[0]
            drop_least(prices.top, k)
            add_to_heap(prices.top, k - 1, price)
            rows -= 1
        if held == k:
            most = max(most, total - k * np.int64(search.far[candidate]))
    search.state[STEPS_LEFT] -= 20 * n
    return most


@inner
def look_around(tuples, trees, k, one, scan, search, prices):
    """Return k times the excess of a good box that holds the tuple, what none has more than, and candidates.

    Lists the candidates of better boxes; -1 if there are too many.
    """
    best = first_box(tuples, trees, k, one, scan, search, prices)
    room, total = np.int64(1) << 62, np.int64(0)
    for _ in range(_NARROWED):
        total = top_near(prices, tuples.size, scan.cost, k, room)
        if total - best >= room - room // 16:
            break
        room = total - best
    if room <= 0:
        return best, best, np.int64(0)
    n = take_near(scan, prices, k, room, search)
    if n < 0:  # no box costs less than what k rows are apart
        return best, max(best, total - k * kth_cost(scan, tuples.size, k)), n
    list_candidates(tuples, trees, one, n, scan, search, prices)
    return best, max(best, most_nearby(search, prices, n, k)), n


@inner
def row_excess(tuples, trees, k, one, steps, scan, search, prices, charges):
    """Return k times the greatest excess of a box that holds the tuple, or more; and whether it is that."""
    search.state[STEPS_LEFT] = _TO_LOOK_AROUND
    best, most, n = look_around(tuples, trees, k, one, scan, search, prices)
    search.state[STEPS_LEFT] += steps - _TO_LOOK_AROUND
    if most == best or n < 0 or search.state[STEPS_LEFT] < 0:
        return most, most == best
    return by_levels(search, prices, n, k, best, most, charges)


@entry
def patient_excesses(tuples, trees, k, ones, steps, scan, search, prices, charges, found, taken, exact):
    """Find k times the greatest excess of a box over each of some tuples. Writes `found`, `taken`, `exact`.

    found: no less than that where `steps` were not enough, which are not counted until good boxes and near
    tuples have been looked at. taken: the steps that were. exact: 1 if they were enough, 0 if not.
    """
    for at in range(ones.shape[0]):
        fill_distances(tuples, trees, ones[at], scan)
        excess, is_exact = row_excess(tuples, trees, k, ones[at], steps, scan, search, prices, charges)
        found[at] = excess
        exact[at] = 1 if is_exact else 0
        taken[at] = steps - search.state[STEPS_LEFT]
