"""Scans of all quasi tuples from one of them: the rows nearest to it, by distance or by what they drag.

Tuples are in canonical order, each with the number of its rows. Costs are fixed-point integers, so
results are exact and do not depend on who scans what.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from shoal.kernels.compiling import entry, inner
from shoal.kernels.sorting import ranked, sort_front
from shoal.kernels.trees import reach_from

BLOCK = 2048  # tuples whose costs stay in the first-level cache
INDEX_BITS = 32  # a key is a cost and below it a tuple, so that sorted keys are in a fixed order
SOME = 3  # a first box is sought among this many times k rows
N_KEPT = 0  # of the state of a scan: keys of the last scan; their tuples are a first guess for the next
NO_LIMIT = np.int32((1 << 31) - 1)


class Tuples(NamedTuple):
    """The distinct quasi tuples, m of them.

    Columns are taken together in *groups*: a tuple's distance in all columns of a group is looked up by
    the combination of values that it has there. There are far fewer combinations than tuples. A range that is
    a group by itself, as one with many values is, has positions in place of combinations: distances of
    neighbours in memory are computed sooner than looked up.
    """

    size: np.ndarray  # int64 (m): rows
    code: (
        np.ndarray
    )  # uint32 (n_groups, m): the combination that each tuple has in each group, or the position
    is_range: np.ndarray  # bool (n_groups): whether a group is one range
    group_at: np.ndarray  # int64 (n_groups + 1): where a group's combinations begin
    column_at: np.ndarray  # int64 (n_groups + 1): where a group's columns begin; ranges before trees
    column: np.ndarray  # int64 (n_columns): the columns of all groups
    value: np.ndarray  # int32 (n_columns, most combinations): position or leaf; missing lies at 2 x span
    span: np.ndarray  # int32 (n_range): the cost of a whole range


class Scan(NamedTuple):
    """Scratch of one thread."""

    reach: np.ndarray  # int32 (leaves): what each leaf costs together with the tuple's own
    combined: np.ndarray  # int32 (combinations): the distance of each combination
    cost: np.ndarray  # int32 (m): what each tuple costs together with the current one
    key: np.ndarray  # int64 (more than the rows needed): the least costs so far, with their tuples
    state: np.ndarray  # int64 (1): N_KEPT


def empty_scan(tuples: Tuples, n_leaves: int, k: int) -> Scan:
    """Make room for scans that need `SOME` times k rows at most."""
    return Scan(
        np.zeros(n_leaves, np.int32), np.zeros(tuples.group_at[-1], np.int32),
        np.zeros(len(tuples.size), np.int32), np.zeros((SOME + 1) * k + 256, np.int64),
        np.zeros(1, np.int64),
    )  # fmt: skip


@inner
def add_column(tuples, trees, col, own, reach, cost):
    """Add the distances of a group's combinations from a value of one column. Writes `cost`."""
    value, n_range = tuples.value[col], tuples.span.shape[0]
    if col < n_range:
        full = tuples.span[col]
        for at in range(cost.shape[0]):
            cost[at] += min(max(value[at], own) - min(value[at], own), full)
    else:
        over = reach[trees.leaf_at[col - n_range] :]
        reach_from(trees, col - n_range, own, over)
        for at in range(cost.shape[0]):
            cost[at] += over[value[at]]


@inner
def value_of(tuples, group, col, one):
    """Return the position or leaf of a tuple in a column of a group."""
    if tuples.is_range[group]:
        return np.int32(tuples.code[group, one])
    return tuples.value[col, tuples.code[group, one]]


@inner
def fill_combined(tuples, trees, one, scan):
    """Compute the distance of every combination of a group from one tuple's. Writes `scan`."""
    for at in range(scan.combined.shape[0]):  # a slice would take Numba a second to compile
        scan.combined[at] = 0
    for group in range(tuples.code.shape[0]):
        if tuples.is_range[group]:
            continue
        cost = scan.combined[tuples.group_at[group] : tuples.group_at[group + 1]]
        for at in range(tuples.column_at[group], tuples.column_at[group + 1]):
            col = tuples.column[at]
            add_column(tuples, trees, col, value_of(tuples, group, col, one), scan.reach, cost)


@inner
def add_range(own, full, position, cost, afresh):
    """Compute the distances of a block's tuples in one range. Writes `cost`."""
    if afresh:
        for other in range(cost.shape[0]):
            cost[other] = min(abs(np.int64(position[other]) - own), full)
    else:
        for other in range(cost.shape[0]):
            cost[other] += min(abs(np.int64(position[other]) - own), full)


@inner
def add_group(combined, code, cost, afresh):
    """Look up the distances of a block's tuples in one group of columns. Writes `cost`."""
    if afresh:
        for other in range(cost.shape[0]):
            cost[other] = combined[code[other]]
    else:
        for other in range(cost.shape[0]):
            cost[other] += combined[code[other]]


@inner
def fill_distances(tuples, trees, one, scan):
    """Compute the distance of every tuple from one. Writes `scan`."""
    fill_combined(tuples, trees, one, scan)
    m = scan.cost.shape[0]
    for begin in range(0, m, BLOCK):
        stop = min(begin + BLOCK, m)
        for group in range(tuples.code.shape[0]):
            code, cost = tuples.code[group, begin:stop], scan.cost[begin:stop]
            if tuples.is_range[group]:
                own = np.int64(tuples.code[group, one])
                add_range(own, tuples.span[tuples.column[tuples.column_at[group]]], code, cost, group == 0)
            else:
                add_group(scan.combined[tuples.group_at[group] :], code, cost, group == 0)


@inner
def raise_costs(cost, own, bound):
    """Turn distances into mutual reachability: no less than either tuple's bound. Writes `cost`."""
    for other in range(cost.shape[0]):
        cost[other] = max(cost[other], own, bound[other])


@inner
def lower_costs(cost, own, bound):
    """Turn distances into drags: what is above each other tuple's own bound. Writes `cost`."""
    for other in range(cost.shape[0]):
        cost[other] = max(max(cost[other], own) - bound[other], 0)


@inner
def sort_enough(key, n, sizes, needed):
    """Sort the first n keys; return how many of them, from the least, have the rows needed, 0 if none do."""
    sort_front(key, n)
    rows = np.int64(0)
    for at in range(n):
        rows += sizes[np.int32(key[at])]
        if rows >= needed:
            return np.int64(at + 1)
    return np.int64(0)


@inner
def keep_least(key, n_kept, sizes, needed):
    """Sort keys and return how many of them, from the least, have the rows needed; all if none do."""
    if n_kept > needed:
        ranked(key, n_kept, needed - 1)  # so many tuples are enough, unless some of them have no rows
        n_enough = sort_enough(key, np.int64(needed), sizes, needed)
        if n_enough > 0:
            return n_enough
    n_enough = sort_enough(key, n_kept, sizes, needed)
    return n_enough if n_enough > 0 else n_kept


@inner
def first_limit(scan, sizes, needed):
    """Return the cost below which alone a tuple can count: the most that the last scan's tuples cost."""
    rows, most = np.int64(0), np.int32(-1)
    for at in range(scan.state[N_KEPT]):
        other = np.int32(scan.key[at])
        rows += sizes[other]
        most = max(most, scan.cost[other])
    return most if rows >= needed else NO_LIMIT


@inner
def gather_least(scan, sizes, needed):
    """Find the tuples of least cost that have the rows needed together. Writes `scan.key`, sorted."""
    limit = first_limit(scan, sizes, needed)
    n_kept, full = np.int64(0), scan.key.shape[0]  # a literal would make Numba compile `keep_least` twice
    for other in range(scan.cost.shape[0]):
        if scan.cost[other] <= limit:
            scan.key[n_kept] = np.int64(scan.cost[other]) << INDEX_BITS | other
            n_kept += 1
            if n_kept == full:
                n_kept = keep_least(scan.key, n_kept, sizes, needed)
                # All that is kept has the rows needed, or the keys would hold `needed` tuples.
                limit = np.int32(scan.key[n_kept - 1] >> INDEX_BITS) - 1
    scan.state[N_KEPT] = keep_least(scan.key, n_kept, sizes, needed)


@inner
def kth_cost(scan, sizes, k):
    """Return the k-th least cost, rows counted, of the tuples that the scan has kept."""
    rows, at = np.int64(0), 0
    while rows < k:
        rows += sizes[np.int32(scan.key[at])]
        at += 1
    return scan.key[at - 1] >> INDEX_BITS


@inner
def total_drag(scan, sizes, k):
    """Return the sum of the k least costs, rows counted, of the tuples that the scan has kept."""
    left, total = np.int64(k), np.int64(0)
    for near in range(scan.state[N_KEPT]):
        rows = min(left, sizes[np.int32(scan.key[near])])
        total += rows * (scan.key[near] >> INDEX_BITS)
        left -= rows
    return total


@entry
def scan_tuples(tuples, trees, k, bound, ones, scan, found, drags):
    """Raise the bound of some tuples: the k-th least max(D(i, j), b_i, b_j) over rows j. Writes `found`.

    With `drags`, sum the k - 1 least drags of each tuple on other rows instead.
    """
    for at in range(ones.shape[0]):
        one = ones[at]
        fill_distances(tuples, trees, one, scan)
        if drags:
            lower_costs(scan.cost, bound[one], bound)
            gather_least(scan, tuples.size, k)  # the row itself, which drags by 0, and k - 1 others
            found[at] = total_drag(scan, tuples.size, k)
        else:
            raise_costs(scan.cost, bound[one], bound)
            gather_least(scan, tuples.size, k)
            found[at] = kth_cost(scan, tuples.size, k)
