"""The box of least diversity that holds a tuple and at least k rows, by branch and bound.

Seen from the tuple, each column of another one is an *offset*: how far below (negative) or above it lies;
in a tree, the cost of the lowest node over both, which is never negative. A box is then an interval of
offsets in each column that holds 0, and costs the least of its length and of the whole column. A mix of
missing and present lies a whole span away, so that it costs just that.

A box is settled column by column. *Rest* is a candidate's distance in the columns that are still open: no box
with it costs less than what is settled and its rest. Candidates for which that is no less than the best box
so far are dropped, and a box that has too few left is given up.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from shoal.kernels.compiling import entry, inner
from shoal.kernels.nearest import (
    INDEX_BITS,
    N_KEPT,
    SOME,
    fill_distances,
    gather_least,
    kth_cost,
    value_of,
)
from shoal.kernels.sorting import sort_front

STEPS_LEFT = 0  # of the state of a search
ROOT = 0  # the depth at which no column is settled


class Search(NamedTuple):
    """Scratch of one thread: the candidates of one tuple, and those left at each depth. c at most."""

    other: np.ndarray  # int32 (c): the candidates
    offset: np.ndarray  # int32 (n_columns, c)
    most: np.ndarray  # int32 (n_columns): the cost of a whole column
    size: np.ndarray  # int64 (c): rows
    far: np.ndarray  # int32 (c): distance from the tuple
    inside: np.ndarray  # int32 (n_columns + 1, c): candidates left at each depth
    rest: np.ndarray  # int32 (n_columns + 1, c): their distances in the columns that are open
    below: np.ndarray  # int64 (n_columns, c + 1): how far a box can reach down in a column, ascending
    above: np.ndarray  # int64 (n_columns, c + 1): and up
    key: np.ndarray  # int64 (c): to sort by
    n_below: np.ndarray  # int64 (n_columns)
    n_above: np.ndarray  # int64 (n_columns)
    column: np.ndarray  # int64 (n_columns): in which order columns are settled
    n_left: np.ndarray  # int64 (n_columns): candidates left at each depth
    settled: np.ndarray  # int64 (n_columns): what the columns before it cost
    down: np.ndarray  # int64 (n_columns): which interval is tried next
    up: np.ndarray  # int64 (n_columns)
    state: np.ndarray  # int64 (1): STEPS_LEFT


def empty_search(most: np.ndarray, c: int) -> Search:
    """Make room for c candidates; `most` has the cost of each whole column."""
    n = len(most)
    n_below, n_above, column, n_left, settled, down, up = np.zeros((7, n), np.int64)
    return Search(
        other=np.zeros(c, np.int32),
        offset=np.zeros((n, c), np.int32),
        most=most,
        size=np.zeros(c, np.int64),
        far=np.zeros(c, np.int32),
        inside=np.zeros((n + 1, c), np.int32),
        rest=np.zeros((n + 1, c), np.int32),
        below=np.zeros((n, c + 1), np.int64),
        above=np.zeros((n, c + 1), np.int64),
        key=np.zeros(c, np.int64),
        n_below=n_below,
        n_above=n_above,
        column=column,
        n_left=n_left,
        settled=settled,
        down=down,
        up=up,
        state=np.zeros(1, np.int64),
    )


@inner
def offset_in(tuples, trees, group, col, one, other, reach):
    """Return the offset of a tuple from another in one column of a group."""
    value, n_range = value_of(tuples, group, col, other), tuples.span.shape[0]
    if col >= n_range:
        return reach[trees.leaf_at[col - n_range] + value]
    full = tuples.span[col]
    return min(max(value - value_of(tuples, group, col, one), -full), full)


@inner
def fill_offsets(tuples, trees, one, n, scan, search):
    """Compute the offsets of n candidates in all columns. Writes `search`."""
    for group in range(tuples.code.shape[0]):
        for at in range(tuples.column_at[group], tuples.column_at[group + 1]):
            col = tuples.column[at]
            for candidate in range(n):
                other = search.other[candidate]
                search.offset[col, candidate] = offset_in(tuples, trees, group, col, one, other, scan.reach)
    for candidate in range(n):
        search.size[candidate] = tuples.size[search.other[candidate]]
        search.far[candidate] = scan.cost[search.other[candidate]]


@inner
def take_nearest(scan, one, search):
    """Take the tuples that the scan has kept for candidates; return how many. Writes `search`."""
    n = 0
    for at in range(scan.state[N_KEPT]):
        other = np.int32(scan.key[at])
        if other != one:
            search.other[n] = other
            n += 1
    return n


@inner
def take_nearer(scan, one, best, search):
    """Take the tuples nearer than the best box for candidates; return how many, -1 for too many."""
    n, most = 0, search.other.shape[0]
    for other in range(scan.cost.shape[0]):
        if scan.cost[other] < best and other != one:
            if n == most:
                return -1
            search.other[n] = other
            n += 1
    return n


@inner
def box_over(search, n):
    """Return D of the box over n candidates and the tuple itself."""
    total = np.int64(0)
    for col in range(search.offset.shape[0]):
        low, high = np.int32(0), np.int32(0)
        for candidate in range(n):
            low = min(low, search.offset[col, candidate])
            high = max(high, search.offset[col, candidate])
        total += min(high - low, search.most[col])
    return total


@inner
def distinct(values):
    """Sort values and move the different ones to the front; return how many. Writes `values`."""
    sort_front(values, values.shape[0])
    n = 1
    for at in range(1, values.shape[0]):
        if values[at] != values[n - 1]:
            values[n] = values[at]
            n += 1
    return n


@inner
def list_ends(search, col, n):
    """List how far a box can reach down and up in one column. Writes `search`."""
    below, above, offset = search.below[col], search.above[col], search.offset[col]
    below[0], above[0] = 0, 0
    n_below, n_above = 1, 1
    for at in range(n):
        if offset[at] < 0:
            below[n_below] = -offset[at]
            n_below += 1
        elif offset[at] > 0:
            above[n_above] = offset[at]
            n_above += 1
    search.n_below[col] = distinct(below[:n_below])
    search.n_above[col] = distinct(above[:n_above])


@inner
def order_columns(search, n):
    """Settle columns with fewer choices first; leave out those without any; return how many remain.

    The last one is not branched on, so it should be the one with the most.
    """
    n_open = 0
    for col in range(search.offset.shape[0]):
        list_ends(search, col, n)
        choices = search.n_below[col] * search.n_above[col]
        if choices == 1:
            continue
        at = n_open
        while at > 0:
            before = search.column[at - 1]
            if search.n_below[before] * search.n_above[before] <= choices:
                break
            search.column[at] = before
            at -= 1
        search.column[at] = col
        n_open += 1
    return n_open


@inner
def narrowest(search, depth, n, settled, needed, best):
    """Settle the last column: slide over the intervals that hold the rows needed; return the best box."""
    col = search.column[depth]
    offset, inside = search.offset[col], search.inside[depth, :n]
    # Candidates are sorted by this column's offset: `first` to `last` are in the interval.
    zero = 0
    while zero < n and offset[inside[zero]] < 0:
        zero += 1
    rows, last = np.int64(0), zero
    while last < n and rows < needed:
        rows += search.size[inside[last]]
        last += 1
    first = zero
    while True:
        while last > zero and rows - search.size[inside[last - 1]] >= needed:
            last -= 1
            rows -= search.size[inside[last]]
        if rows >= needed:
            low = -offset[inside[first]] if first < zero else 0
            high = offset[inside[last - 1]] if last > zero else 0
            best = min(best, settled + min(low + high, search.most[col]))
        if first == 0:
            return best
        first -= 1
        rows += search.size[inside[first]]


@inner
def keep_inside(search, depth, n, low, high, limit):
    """Keep the candidates inside an interval whose rest is below a limit; return them and their rows."""
    col = search.column[depth]
    offset, inside, rest = search.offset[col], search.inside[depth], search.rest[depth]
    inside_next, rest_next = search.inside[depth + 1], search.rest[depth + 1]
    kept, rows = 0, np.int64(0)
    for at in range(n):
        candidate = inside[at]
        far = offset[candidate]
        left = rest[at] - abs(far)
        if -low <= far <= high and left < limit:
            inside_next[kept] = candidate
            rest_next[kept] = left
            rows += search.size[candidate]
            kept += 1
    return kept, rows


@inner
def open_depth(search, depth, n, settled):
    """Begin with the narrowest interval of the next column. Writes `search`."""
    search.n_left[depth] = n
    search.settled[depth] = settled
    search.down[depth] = 0
    search.up[depth] = 0


@inner
def next_interval(search, depth, best):
    """Return the next interval of a column that costs less than the best box, and its cost; -1 for none."""
    col = search.column[depth]
    while search.down[depth] < search.n_below[col]:
        low = search.below[col, search.down[depth]]
        if search.up[depth] < search.n_above[col]:
            high = search.above[col, search.up[depth]]
            cost = search.settled[depth] + min(low + high, search.most[col])
            if cost < best:
                search.up[depth] += 1
                return low, high, cost
        search.down[depth] += 1
        search.up[depth] = 0
    return np.int64(0), np.int64(0), np.int64(-1)


@inner
def settle(search, n_open, n, needed, best):
    """Return the least of `best` and of D of the boxes that hold `needed` rows of n candidates."""
    depth = np.int64(0)  # a literal would make Numba compile everything below twice
    open_depth(search, depth, n, depth)
    while depth >= 0 and search.state[STEPS_LEFT] >= 0:
        n = search.n_left[depth]
        search.state[STEPS_LEFT] -= n
        if depth == n_open - 1:
            best = narrowest(search, depth, n, search.settled[depth], needed, best)
            depth -= 1
            continue
        low, high, cost = next_interval(search, depth, best)
        if cost < 0:
            depth -= 1
            continue
        kept, rows = keep_inside(search, depth, n, low, high, best - cost)
        if rows >= needed:
            depth += 1
            open_depth(search, depth, kept, cost)
    return best


@inner
def sort_candidates(search, n, n_open):
    """Put the candidates at depth 0, sorted by their offset in the last column. Writes `search`."""
    offset = search.offset[search.column[n_open - 1]]
    for at in range(n):
        search.key[at] = np.int64(offset[at]) << INDEX_BITS | at
    sort_front(search.key, n)
    for at in range(n):
        candidate = np.int32(search.key[at])
        search.inside[ROOT, at] = candidate
        search.rest[ROOT, at] = search.far[candidate]


@inner
def search_box(search, n, needed, best):
    """Return the least of `best` and of D of the boxes that hold `needed` rows of n candidates."""
    search.state[STEPS_LEFT] -= n * search.offset.shape[0]
    n_open = order_columns(search, n)
    if n_open == 0:
        return best
    sort_candidates(search, n, n_open)
    return settle(search, n_open, n, needed, best)


@inner
def smallest_box(tuples, trees, k, one, scan, search):
    """Return the least D of any k rows that include the tuple's; -1 if the steps are not enough."""
    needed = k - tuples.size[one]
    gather_least(scan, tuples.size, SOME * k)
    n = take_nearest(scan, one, search)
    fill_offsets(tuples, trees, one, n, scan, search)
    # A good box among the nearest: the better it is, the fewer candidates there are in all.
    best = search_box(search, n, needed, box_over(search, n))
    n = take_nearer(scan, one, best, search)
    if n >= 0:
        fill_offsets(tuples, trees, one, n, scan, search)
        best = search_box(search, n, needed, best)
    return best if n >= 0 and search.state[STEPS_LEFT] >= 0 else np.int64(-1)


@entry
def smallest_boxes(tuples, trees, k, ones, steps, scan, search, near, found, taken):
    """Find the least D of any k rows with each of some tuples. Writes `near`, `found`, `taken`.

    near: D of the tuple and its (k - 1)-th nearest other row. found: -1 where `steps` were not enough.
    taken: the steps that were.
    """
    for at in range(ones.shape[0]):
        one = ones[at]
        near[at], found[at], taken[at] = 0, 0, 0
        if tuples.size[one] >= k:
            continue
        fill_distances(tuples, trees, one, scan)
        search.state[STEPS_LEFT] = steps
        found[at] = smallest_box(tuples, trees, k, one, scan, search)
        taken[at] = steps - search.state[STEPS_LEFT]
        near[at] = kth_cost(scan, tuples.size, k)
