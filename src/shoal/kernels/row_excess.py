"""The greatest excess of any box that holds a given tuple, by branch and bound (see `bound.prices`).

The excess of a box with at least k rows is the sum of the k highest prices inside, less k times its cost. As
in `kernels.smallest_box`, everything is seen from the tuple: other tuples have offsets, and a box is an
interval of offsets in each column that holds 0.

No box costs less than the distance of any tuple inside. So a box has no more than the k highest prices of
tuples nearer than its cost, less k times that cost: beyond some distance nothing can be better than the best
box so far, and tuples that far away are no candidates. Candidates are listed by price, highest first, at each
depth: the first ones inside an interval have k rows soon, and if their prices are too low for what is
settled, the interval is passed over.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from shoal.kernels.compiling import entry, inner
from shoal.kernels.nearest import N_KEPT, SOME, fill_distances, gather_least, kth_cost
from shoal.kernels.smallest_box import (
    STEPS_LEFT,
    box_over,
    distinct,
    fill_offsets,
    open_depth,
    order_columns,
)
from shoal.kernels.sorting import sort_front

_WALKED = 20_000  # tuples, highest price first, among which k rows near by are looked for
_NARROWED = 4  # times that the distance of candidates is computed again
ROOT = 0


class Prices(NamedTuple):
    """Prices of all tuples, m of them; and scratch of one thread for c candidates."""

    price: np.ndarray  # int64 (m)
    by_price: np.ndarray  # int32 (m): tuples, highest price first
    rank: np.ndarray  # int64 (m): where each is in that list
    own: np.ndarray  # int64 (c): prices of the candidates
    top: np.ndarray  # int64 (n_columns + 1): the sum of the k highest prices left at a depth


def priced(price: np.ndarray) -> Prices:
    """List tuples by price; without room for candidates."""
    by_price = np.argsort(-price, kind="stable").astype(np.int32)
    rank = np.empty(len(price), np.int64)
    rank[by_price] = np.arange(len(price))
    nothing = np.zeros(0, np.int64)
    return Prices(price, by_price, rank, nothing, nothing)


def with_room(prices: Prices, n: int, c: int) -> Prices:
    """Make room for one thread: n columns, c candidates."""
    return prices._replace(own=np.zeros(c, np.int64), top=np.zeros(n + 1, np.int64))


@inner
def top_near(prices, sizes, cost, k, room):
    """Return the sum of the k highest prices of tuples whose distance, k times, is below `room`; or more."""
    left, total = np.int64(k), np.int64(0)
    lowest = prices.price[prices.by_price[0]]
    for at in range(min(prices.by_price.shape[0], _WALKED)):
        one = prices.by_price[at]
        lowest = prices.price[one]
        if k * cost[one] < room:
            rows = min(left, sizes[one])
            total += rows * lowest
            left -= rows
            if left == 0:
                break
    return total + left * lowest


@inner
def top_left(search, prices, depth, n, k):
    """Return the sum of the k highest prices of the candidates left at a depth, and the rows lacking."""
    left, total = np.int64(k), np.int64(0)
    for at in range(n):
        candidate = search.inside[depth, at]
        rows = min(left, search.size[candidate])
        total += rows * prices.own[candidate]
        left -= rows
        if left == 0:
            break
    return total, left


@inner
def top_inside(search, prices, depth, n, low, high, k):
    """Return the sum of the k highest prices inside an interval, and the rows lacking. Counts steps."""
    offset = search.offset[search.column[depth]]
    left, total, at = np.int64(k), np.int64(0), np.int64(0)
    while at < n and left > 0:
        candidate = search.inside[depth, at]
        if -low <= offset[candidate] <= high:
            rows = min(left, search.size[candidate])
            total += rows * prices.own[candidate]
            left -= rows
        at += 1
    search.state[STEPS_LEFT] -= at
    return total, left


@inner
def keep_near(search, depth, n, low, high, k, room):
    """Keep the candidates inside an interval whose rest, k times, is below `room`; return how many."""
    col = search.column[depth]
    offset, inside, rest = search.offset[col], search.inside[depth], search.rest[depth]
    inside_next, rest_next = search.inside[depth + 1], search.rest[depth + 1]
    kept = np.int64(0)
    for at in range(n):
        candidate = inside[at]
        far = offset[candidate]
        left = rest[at] - abs(far)
        if -low <= far <= high and k * np.int64(left) < room:
            inside_next[kept] = candidate
            rest_next[kept] = left
            kept += 1
    search.state[STEPS_LEFT] -= n
    return kept


@inner
def keep_nearer(search, depth, n, k, room):
    """Keep those of n candidates whose rest, k times, is below `room`; return how many. Writes `search`."""
    inside, rest = search.inside[depth], search.rest[depth]
    kept = np.int64(0)
    for at in range(n):
        if k * np.int64(rest[at]) < room:
            inside[kept] = inside[at]
            rest[kept] = rest[at]
            kept += 1
    search.state[STEPS_LEFT] -= n
    return kept


@inner
def narrowed(search, prices, depth, n, k, cost, best):
    """Drop candidates that are too far to be in a better box; return how many are left, 0 if none is.

    The fewer are left, the lower are the k highest prices, and the nearer the others have to be. Writes
    `search`, `prices`.
    """
    room = np.int64(1) << 62
    while True:
        total, lacking = top_left(search, prices, depth, n, k)
        prices.top[depth] = total
        less = total - k * cost - best
        if lacking > 0 or less <= 0:
            return np.int64(0)
        if less >= room - room // 16:
            return n
        room = less
        n = keep_nearer(search, depth, n, k, room)


@inner
def list_ends_left(search, depth, n):
    """List how far a box can reach down and up in a depth's column, with the candidates left."""
    col = search.column[depth]
    below, above, offset = search.below[col], search.above[col], search.offset[col]
    below[0], above[0] = 0, 0
    n_below, n_above = 1, 1
    for at in range(n):
        far = offset[search.inside[depth, at]]
        if far < 0:
            below[n_below] = -far
            n_below += 1
        elif far > 0:
            above[n_above] = far
            n_above += 1
    search.n_below[col] = distinct(below[:n_below])
    search.n_above[col] = distinct(above[:n_above])
    search.state[STEPS_LEFT] -= 4 * n


@inner
def next_interval(search, prices, depth, k, best):
    """Return the next interval of a column that may have more excess, and its cost; -1 for none."""
    col = search.column[depth]
    while search.down[depth] < search.n_below[col]:
        low = search.below[col, search.down[depth]]
        if search.up[depth] < search.n_above[col]:
            high = search.above[col, search.up[depth]]
            cost = search.settled[depth] + min(low + high, search.most[col])
            if prices.top[depth] - k * cost > best:
                search.up[depth] += 1
                return low, high, cost
        search.down[depth] += 1
        search.up[depth] = 0
    return np.int64(0), np.int64(0), np.int64(-1)


@inner
def settle(search, prices, n_open, n, k, best):
    """Return the greatest of `best` and of the excess, k times, of boxes over the n candidates."""
    depth = np.int64(0)  # a literal would make Numba compile everything below twice
    n = narrowed(search, prices, depth, n, k, depth, best)
    if n == 0:
        return best
    if n_open == 0:
        return max(best, prices.top[depth])
    open_depth(search, depth, n, depth)
    list_ends_left(search, depth, n)
    while depth >= 0 and search.state[STEPS_LEFT] >= 0:
        n = search.n_left[depth]
        low, high, cost = next_interval(search, prices, depth, k, best)
        if cost < 0:
            depth -= 1
            continue
        total, lacking = top_inside(search, prices, depth, n, low, high, k)
        if lacking > 0 or total - k * cost <= best:
            continue
        if depth == n_open - 1:
            best = total - k * cost
            continue
        kept = keep_near(search, depth, n, low, high, k, total - k * cost - best)
        kept = narrowed(search, prices, depth + 1, kept, k, cost, best)
        if kept > 0:
            depth += 1
            open_depth(search, depth, kept, cost)
            list_ends_left(search, depth, kept)
    return best


@inner
def take_near(scan, prices, k, room, search):
    """Take the tuples whose distance, k times, is below `room` for candidates; return how many.

    They are listed by price. -1: there are too many. Writes `search`.
    """
    n, most = np.int64(0), search.other.shape[0]
    for other in range(scan.cost.shape[0]):
        if k * np.int64(scan.cost[other]) < room:
            if n == most:
                return np.int64(-1)
            search.key[n] = prices.rank[other]
            n += 1
    return n


@inner
def search_among(tuples, trees, k, one, n, best, scan, search, prices):
    """Return the greatest of `best` and of the excess of boxes over the n tuples whose ranks are listed."""
    sort_front(search.key, n)
    for at in range(n):
        search.other[at] = prices.by_price[search.key[at]]
        prices.own[at] = prices.price[search.other[at]]
    fill_offsets(tuples, trees, one, n, scan, search)
    search.state[STEPS_LEFT] -= 2 * n * search.offset.shape[0]
    n_open = order_columns(search, n)
    for at in range(n):
        search.inside[ROOT, at] = np.int32(at)
        search.rest[ROOT, at] = search.far[at]
    return settle(search, prices, n_open, n, k, best)


@inner
def first_box(tuples, trees, k, one, scan, search, prices):
    """Return the excess of a good box over the tuple and others near by."""
    gather_least(scan, tuples.size, SOME * k)
    n = scan.state[N_KEPT]
    for at in range(n):
        search.key[at] = prices.rank[np.int32(scan.key[at])]
        search.other[at] = np.int32(scan.key[at])
    fill_offsets(tuples, trees, one, n, scan, search)
    whole = box_over(search, n)
    left, total = np.int64(k), np.int64(0)
    sort_front(search.key, n)
    for at in range(n):
        near = prices.by_price[search.key[at]]
        rows = min(left, tuples.size[near])
        total += rows * prices.price[near]
        left -= rows
    return search_among(tuples, trees, k, one, n, total - k * whole, scan, search, prices)


@inner
def row_excess(tuples, trees, k, one, scan, search, prices):
    """Return k times the greatest excess of a box that holds the tuple; more if steps are not enough."""
    best = first_box(tuples, trees, k, one, scan, search, prices)
    near = kth_cost(scan, tuples.size, k)
    room, total = np.int64(1) << 62, np.int64(0)
    for _ in range(_NARROWED):
        total = top_near(prices, tuples.size, scan.cost, k, room)
        if total - best >= room - room // 16:
            break
        room = total - best
    most = max(best, total - k * near)  # no box costs less than what k rows are apart
    if room <= 0:
        return best
    n = take_near(scan, prices, k, room, search)
    if n < 0 or search.state[STEPS_LEFT] < 0:
        return most
    best = search_among(tuples, trees, k, one, n, best, scan, search, prices)
    return best if search.state[STEPS_LEFT] >= 0 else most


@entry
def row_excesses(tuples, trees, k, ones, steps, scan, search, prices, found, taken):
    """Find k times the greatest excess of a box over each of some tuples. Writes `found`, `taken`.

    found: no less than that where `steps` were not enough. taken: the steps that were.
    """
    for at in range(ones.shape[0]):
        fill_distances(tuples, trees, ones[at], scan)
        search.state[STEPS_LEFT] = steps
        found[at] = row_excess(tuples, trees, k, ones[at], scan, search, prices)
        taken[at] = steps - search.state[STEPS_LEFT]
