"""Cuts from above: groups of rows are cut in two where that saves most, or where rollouts end best.

A cut sends the rows whose code in one column lies between two codes to one side: a numeric column is
cut at a value, a tree at a node or a leaf. Rows are put into buckets by their codes; the boxes over
the first and over the last buckets give what every cut of a column saves.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from shoal.kernels.compiling import inner
from shoal.kernels.goals import add, asks, is_good, remove
from shoal.kernels.local_search.draws import share
from shoal.kernels.local_search.space import box_cost, copy_box, set_box, unite, widen_box
from shoal.kernels.sorting import sort_front
from shoal.kernels.waiting import BEGIN, END

BINS = 32  # buckets of a numeric column
SLOTS = 1024  # equal parts of a range, from which the buckets are made
TRIED = np.int64(8)  # cuts of a node that are rolled out
ASKED = np.int64(32)  # cuts that are considered where goals may forbid some
FAR = np.int64(1) << 62
N_FOUND = 0  # of the state of `Cuts`: how many there are
BEST = 0  # the cut that saves most
TURN = 0  # of the turns of `CutWork`: a number for each time that marks are made
N_ENDS = 0  # where a list of ends says how many there are; they follow in no order
# Typed, because Numba compiles a function again for each number that is written at a call.
ZERO, ONE, TWO = np.int64(0), np.int64(1), np.int64(2)
INSIDE, OUTSIDE, WHOLE = np.int64(0), np.int64(1), np.int64(2)  # the boxes of `CutWork.side_low`


class Cuts(NamedTuple):
    """The best cuts of a group, by what they save."""

    state: np.ndarray  # int64 (1): N_FOUND
    gain: np.ndarray  # int64 (ASKED)
    col: np.ndarray  # int64 (ASKED)
    low: np.ndarray  # int32 (ASKED): rows with codes from here
    high: np.ndarray  # int32 (ASKED): to here go to the first side


class CutWork(NamedTuple):
    """Room to find cuts in: m rows, d columns, at most b buckets."""

    turns: np.ndarray  # int64 (1): TURN
    mark: np.ndarray  # int64 (codes): the turn in which a code or slot was seen
    bucket_at: np.ndarray  # int32 (codes): its bucket
    bucket: np.ndarray  # int64 (m): of each row of the group
    key: np.ndarray  # int32 (b): the highest code of a bucket
    size: np.ndarray  # int64 (b + 1): rows in all buckets before
    low: np.ndarray  # int32 (b, d): the boxes of the buckets
    high: np.ndarray
    first_low: np.ndarray  # int32 (b + 1, d): boxes over the buckets before
    first_high: np.ndarray
    last_low: np.ndarray  # int32 (b + 1, d): boxes over the buckets from here on
    last_high: np.ndarray
    side_low: np.ndarray  # int32 (3, d): both sides of a cut, and the whole group
    side_high: np.ndarray
    trial: np.ndarray  # int64 (m): rows on which a cut is rolled out
    stack: np.ndarray  # int64 (m, 2): groups still to be cut
    second_stack: np.ndarray  # the same, of a rollout
    nothing: np.ndarray  # int64 (0)
    state: np.ndarray  # uint64 (1): for random numbers that are never drawn


def no_cuts():
    """Make room for the best cuts of a group."""
    return Cuts(
        np.zeros(1, np.int64), np.zeros(ASKED, np.int64), np.zeros(ASKED, np.int64),
        np.zeros(ASKED, np.int32), np.zeros(ASKED, np.int32),
    )  # fmt: skip


def cut_work(cell, n_rows):
    """Make room for groups of up to `n_rows` rows."""
    n_columns = cell.codes.shape[1]
    leaves = np.int64(1)
    for tree in range(cell.n_leaves.shape[0]):
        leaves = max(leaves, cell.n_leaves[tree])
    codes, most = max(leaves, SLOTS), max(min(n_rows, leaves), BINS)
    groups = n_rows // cell.k + 2
    return CutWork(
        np.zeros(1, np.int64), np.zeros(codes, np.int64), np.zeros(codes, np.int32),
        np.zeros(n_rows, np.int64), np.zeros(most, np.int32), np.zeros(most + 1, np.int64),
        np.zeros((most, n_columns), np.int32), np.zeros((most, n_columns), np.int32),
        np.zeros((most + 1, n_columns), np.int32), np.zeros((most + 1, n_columns), np.int32),
        np.zeros((most + 1, n_columns), np.int32), np.zeros((most + 1, n_columns), np.int32),
        np.zeros((3, n_columns), np.int32), np.zeros((3, n_columns), np.int32),
        np.zeros(n_rows, np.int64), np.zeros((groups, 2), np.int64), np.zeros((groups, 2), np.int64),
        np.zeros(0, np.int64), np.zeros(1, np.uint64),
    )  # fmt: skip


@inner
def group_box(cell, rows, begin, end, work):
    """Make the third side the box of the whole group. Writes `work`."""
    set_box(cell, work.side_low, work.side_high, WHOLE, rows[begin])
    for at in range(begin + 1, end):
        widen_box(cell, work.side_low, work.side_high, WHOLE, rows[at])


@inner
def slot_buckets(cell, rows, begin, end, col, work):
    """Put the rows into buckets of about equal size by a numeric column; return how many there are."""
    n = end - begin
    low = work.side_low[WHOLE, col]
    n_slots = 64 if n < 128 else (256 if n < 2048 else SLOTS)
    scale = n_slots / (np.float64(work.side_high[WHOLE, col]) - low + 1.0)
    work.turns[TURN] += 1
    used = 0
    for at in range(begin, end):
        slot = np.int64((cell.codes[rows[at], col] - low) * scale)
        work.bucket[at - begin] = slot
        if work.mark[slot] != work.turns[TURN]:
            work.mark[slot] = work.turns[TURN]
            work.bucket_at[slot] = 0
            used += 1
        work.bucket_at[slot] += 1  # how many rows, for now
    bucket, seen, filled = -1, 0, 1
    for slot in range(n_slots):
        if work.mark[slot] != work.turns[TURN]:
            continue
        if used <= BINS or filled:
            bucket += 1
        seen += work.bucket_at[slot]
        work.bucket_at[slot] = bucket
        filled = seen * BINS >= n * (bucket + 1)
    for at in range(n):
        work.bucket[at] = work.bucket_at[work.bucket[at]]
    return bucket + 1


@inner
def list_leaves(cell, rows, begin, end, col, work):
    """List the leaves that the rows have, in order, and the rows before each; return how many leaves.

    Writes `work`: `key`, `size`, and to `bucket_at` the place of each leaf.
    """
    low, high = work.side_low[WHOLE, col], work.side_high[WHOLE, col]
    work.turns[TURN] += 1
    found = np.int64(0)
    for at in range(begin, end):
        leaf = cell.codes[rows[at], col]
        if work.mark[leaf] != work.turns[TURN]:
            work.mark[leaf] = work.turns[TURN]
            work.bucket_at[leaf] = 0
            work.key[found] = leaf
            found += 1
        work.bucket_at[leaf] += 1  # how many rows, for now
    if (high - low) < 4 * found:
        found = np.int64(0)
        for leaf in range(low, high + 1):
            if work.mark[leaf] == work.turns[TURN]:
                work.key[found] = leaf
                found += 1
    else:
        sort_front(work.key, found)
    work.size[0] = 0
    for place in range(found):
        work.size[place + 1] = work.size[place] + work.bucket_at[work.key[place]]
    return found


@inner
def smallest_whole_node(cell, tree, place, n_leaves, before, work):
    """Return the lowest node with k rows over the leaf at a place of the list; `before` has k rows.

    Leaves are counted only until there are k rows: a node may have as many as the group.
    """
    nodes = cell.node_at[tree]
    node = cell.leaf_node[cell.leaf_at[tree] + work.key[place]]
    first, last = place, place + 1
    while node != before and work.size[last] - work.size[first] < cell.k:
        if first > 0 and work.key[first - 1] >= cell.first_leaf[nodes + node]:
            first -= 1
        elif last < n_leaves and work.key[last] <= cell.last_leaf[nodes + node]:
            last += 1
        else:
            node = cell.parent[nodes + node]
    return node


@inner
def leaf_buckets(cell, rows, begin, end, col, work):
    """Put the rows into buckets by their leaves, in the order of these; return how many there are.

    Neighbours that no cut can part, for every node with k rows has both or none of them, share a bucket.
    """
    n_leaves = list_leaves(cell, rows, begin, end, col, work)
    bucket, before = -1, np.int32(-1)
    for place in range(n_leaves):
        node = smallest_whole_node(cell, col - cell.span.shape[0], place, n_leaves, before, work)
        if node != before:
            bucket += 1
        before = node
        work.bucket_at[work.key[place]] = bucket
    for at in range(begin, end):
        work.bucket[at - begin] = work.bucket_at[cell.codes[rows[at], col]]
    return bucket + 1


@inner
def fill_buckets(cell, rows, begin, end, col, n_buckets, work):
    """Box the rows of each bucket, and the buckets before and behind each place. Writes `work`."""
    for bucket in range(n_buckets + 1):
        work.size[bucket] = 0
    for at in range(begin, end):
        bucket = work.bucket[at - begin]
        if work.size[bucket + 1] == 0:
            set_box(cell, work.low, work.high, bucket, rows[at])
        else:
            widen_box(cell, work.low, work.high, bucket, rows[at])
        work.size[bucket + 1] += 1
    for bucket in range(n_buckets):
        work.key[bucket] = work.high[bucket, col]
        work.size[bucket + 1] += work.size[bucket]
    copy_box(work.first_low, work.first_high, ONE, work.low, work.high, ZERO)
    for place in range(2, n_buckets):
        copy_box(work.first_low, work.first_high, place, work.first_low, work.first_high, place - 1)
        unite(work.first_low, work.first_high, place, work.low, work.high, place - 1)
    last = n_buckets - 1
    copy_box(work.last_low, work.last_high, last, work.low, work.high, last)
    for place in range(last - 1, 0, -1):
        copy_box(work.last_low, work.last_high, place, work.last_low, work.last_high, place + 1)
        unite(work.last_low, work.last_high, place, work.low, work.high, place)


@inner
def keep_cut(cuts, most, gain, col, low, high):
    """Keep a cut if it is among the best so far. Writes `cuts`."""
    found = cuts.state[N_FOUND]
    if gain <= 0 or (found == most and gain <= cuts.gain[most - 1]):
        return
    at = min(found, most - 1)
    while at > 0 and cuts.gain[at - 1] < gain:
        cuts.gain[at], cuts.col[at] = cuts.gain[at - 1], cuts.col[at - 1]
        cuts.low[at], cuts.high[at] = cuts.low[at - 1], cuts.high[at - 1]
        at -= 1
    cuts.gain[at], cuts.col[at], cuts.low[at], cuts.high[at] = gain, col, low, high
    cuts.state[N_FOUND] = min(found + 1, most)


@inner
def blurred(gain, noise, state):
    """Return a gain made up to so much larger at random, so that other cuts win too."""
    return gain if noise == 0.0 else np.int64(gain * (1.0 + noise * share(state)))


@inner
def cuts_at_values(cell, col, n, whole, n_buckets, cuts, most, noise, state, work):
    """Consider the cuts between the buckets of a numeric column. Writes `cuts`."""
    for place in range(1, n_buckets):
        size = work.size[place]
        if size < cell.k or n - size < cell.k:
            continue
        first = box_cost(cell, work.first_low, work.first_high, place)
        last = box_cost(cell, work.last_low, work.last_high, place)
        gain = blurred(whole - size * first - (n - size) * last, noise, state)
        keep_cut(cuts, most, gain, col, work.side_low[WHOLE, col], work.key[place - 1])


@inner
def cuts_at_nodes(cell, col, n, whole, n_buckets, cuts, most, noise, state, work):
    """Consider to part each node's rows from the others. Writes `cuts`, `work`."""
    tree = col - cell.span.shape[0]
    nodes = cell.node_at[tree]
    for bucket in range(n_buckets):
        leaf = work.key[bucket]
        node, end = cell.leaf_node[cell.leaf_at[tree] + leaf], bucket
        while True:
            first_leaf, last_leaf = cell.first_leaf[nodes + node], cell.last_leaf[nodes + node]
            if bucket > 0 and work.key[bucket - 1] >= first_leaf:
                break  # the bucket before has seen this node, and all above
            if work.low[bucket, col] < first_leaf:
                node = cell.parent[nodes + node]
                continue  # fewer than k rows: only a part of the bucket is under it
            seen = end
            while end < n_buckets and work.key[end] <= last_leaf:
                if end == bucket:
                    copy_box(work.side_low, work.side_high, INSIDE, work.low, work.high, end)
                else:
                    unite(work.side_low, work.side_high, INSIDE, work.low, work.high, end)
                end += 1
            if end - bucket == n_buckets:
                break
            size = work.size[end] - work.size[bucket]
            if end > seen and size >= cell.k and n - size >= cell.k:
                rest(bucket, end, n_buckets, work)
                inside = box_cost(cell, work.side_low, work.side_high, INSIDE)
                outside = box_cost(cell, work.side_low, work.side_high, OUTSIDE)
                gain = blurred(whole - size * inside - (n - size) * outside, noise, state)
                keep_cut(cuts, most, gain, col, first_leaf, last_leaf)
            node = cell.parent[nodes + node]


@inner
def rest(begin, end, n_buckets, work):
    """Make the second side the box of the buckets before `begin` and from `end` on. Writes `work`."""
    if begin == 0:
        copy_box(work.side_low, work.side_high, OUTSIDE, work.last_low, work.last_high, end)
        return
    copy_box(work.side_low, work.side_high, OUTSIDE, work.first_low, work.first_high, begin)
    if end < n_buckets:
        unite(work.side_low, work.side_high, OUTSIDE, work.last_low, work.last_high, end)


@inner
def find_cuts(cell, rows, begin, end, cuts, most, noise, state, work):
    """Find the best cuts of a group; return what the group costs uncut. Writes `cuts`, `work`."""
    cuts.state[N_FOUND] = 0
    n = end - begin
    group_box(cell, rows, begin, end, work)
    whole = n * box_cost(cell, work.side_low, work.side_high, WHOLE)
    if n < 2 * cell.k or whole == 0:
        return whole
    n_range = cell.span.shape[0]
    for col in range(cell.codes.shape[1]):
        if work.side_low[WHOLE, col] == work.side_high[WHOLE, col]:
            continue
        if col < n_range:
            n_buckets = slot_buckets(cell, rows, begin, end, col, work)
        else:
            n_buckets = leaf_buckets(cell, rows, begin, end, col, work)
        if n_buckets < 2:
            continue
        fill_buckets(cell, rows, begin, end, col, n_buckets, work)
        if col < n_range:
            cuts_at_values(cell, col, n, whole, n_buckets, cuts, most, noise, state, work)
        else:
            cuts_at_nodes(cell, col, n, whole, n_buckets, cuts, most, noise, state, work)
    return whole


@inner
def part(codes, rows, begin, end, col, low, high):
    """Bring the rows of a cut's first side to the front; return where the second begins. Writes `rows`."""
    left, right = begin, end - 1
    while left <= right:
        if low <= codes[rows[left], col] <= high:
            left += 1
        else:
            rows[left], rows[right] = rows[right], rows[left]
            right -= 1
    return left


@inner
def is_good_group(cell, rows, begin, end):
    """Return whether the rows would make a good class."""
    for at in range(begin, end):
        add(cell.goals, cell.tally, cell.ids[rows[at]])
    good = is_good(cell.goals, cell.tally)
    for at in range(begin, end):
        remove(cell.goals, cell.tally, cell.ids[rows[at]])
    return good


@inner
def keep_allowed(cell, rows, begin, end, cuts):
    """Remove the cuts that leave a side which is no good class. Writes `cuts`, `rows`."""
    kept = 0
    for at in range(cuts.state[N_FOUND]):
        middle = part(cell.codes, rows, begin, end, cuts.col[at], cuts.low[at], cuts.high[at])
        if is_good_group(cell, rows, begin, middle) and is_good_group(cell, rows, middle, end):
            cuts.gain[kept], cuts.col[kept] = cuts.gain[at], cuts.col[at]
            cuts.low[kept], cuts.high[kept] = cuts.low[at], cuts.high[at]
            kept += 1
            if kept == TRIED:
                break
    cuts.state[N_FOUND] = kept


@inner
def allowed_cuts(cell, rows, begin, end, cuts, most, noise, state, work):
    """Find the best cuts that leave two good classes; return what the group costs uncut."""
    most = ASKED if asks(cell.goals) else most
    whole = find_cuts(cell, rows, begin, end, cuts, most, noise, state, work)
    if asks(cell.goals):
        keep_allowed(cell, rows, begin, end, cuts)
    return whole


@inner
def cut_greedily(cell, rows, waiting, noise, state, limit, ends, cuts, stack, work):
    """Cut the groups waiting on a stack again and again, each time where that saves most.

    Returns the loss, or `limit` or more. Writes the end of each part, and their number, to
    `ends`, where it has room; and `rows`, `cuts`, `stack`, `work`.
    """
    loss = np.int64(0)
    while waiting > 0 and loss < limit:
        waiting -= 1
        begin, end = stack[waiting, BEGIN], stack[waiting, END]
        whole = allowed_cuts(cell, rows, begin, end, cuts, ONE, noise, state, work)
        if cuts.state[N_FOUND] == 0:
            loss += whole
            if ends.shape[0] > 0:
                ends[N_ENDS] += 1
                ends[ends[N_ENDS]] = end
            continue
        middle = part(cell.codes, rows, begin, end, cuts.col[BEST], cuts.low[BEST], cuts.high[BEST])
        stack[waiting, BEGIN], stack[waiting, END] = begin, middle
        stack[waiting + 1, BEGIN], stack[waiting + 1, END] = middle, end
        waiting += 2
    return loss


@inner
def best_by_rollout(cell, rows, begin, end, cuts, inner, work):
    """Return the cut whose sides, cut greedily, lose least; the first one of equals."""
    least, best, stack = FAR, 0, work.second_stack
    for at in range(cuts.state[N_FOUND]):
        for place in range(begin, end):
            work.trial[place] = rows[place]
        middle = part(cell.codes, work.trial, begin, end, cuts.col[at], cuts.low[at], cuts.high[at])
        stack[0, BEGIN], stack[0, END] = begin, middle
        stack[1, BEGIN], stack[1, END] = middle, end
        loss = cut_greedily(cell, work.trial, TWO, 0.0, work.state, least, work.nothing, inner, stack, work)
        if loss < least:
            least, best = loss, at
    return best


@inner
def cut_with_rollouts(cell, rows, begin, end, tried, roll_from, ends, cuts, inner, work):
    """Cut a group again and again, each time where a rollout ends best.

    The `tried` best cuts are rolled out, in parts of `roll_from` rows or more; else the best one is
    taken. Returns the loss. Writes `ends` as `cut_greedily` does, and `rows`, `cuts`, `inner`, `work`.
    """
    state = work.state
    work.stack[0, BEGIN], work.stack[0, END] = begin, end
    waiting, total = 1, np.int64(0)
    while waiting > 0:
        waiting -= 1
        begin, end = work.stack[waiting, BEGIN], work.stack[waiting, END]
        whole = allowed_cuts(cell, rows, begin, end, cuts, tried, 0.0, state, work)
        if cuts.state[N_FOUND] == 0:
            total += whole
            ends[N_ENDS] += 1
            ends[ends[N_ENDS]] = end
            continue
        best = 0
        if end - begin >= roll_from and cuts.state[N_FOUND] > 1:
            best = best_by_rollout(cell, rows, begin, end, cuts, inner, work)
        middle = part(cell.codes, rows, begin, end, cuts.col[best], cuts.low[best], cuts.high[best])
        work.stack[waiting, BEGIN], work.stack[waiting, END] = begin, middle
        work.stack[waiting + 1, BEGIN], work.stack[waiting + 1, END] = middle, end
        waiting += 2
    return total
