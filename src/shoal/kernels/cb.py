"""The inner loops of CB: groups of rows are split in two, around two centres, until none has 2k.

A group is a stretch of slots. Rows and their values are moved with their groups, so that a group's
values lie side by side; inside a group rows keep their canonical order. Each of the r rounds has
its own order of visiting, which is split along. Groups that wait are kept on a stack, first side
on top, so that classes are numbered depth first, which is the order of the slots.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from shoal.kernels.compiling import entry, inner
from shoal.kernels.goals import add, is_good, remove
from shoal.kernels.sorting import ranked
from shoal.kernels.trees import heights_over, lifted, n_nodes
from shoal.kernels.waiting import BEGIN, CLASSES, END, SETTLED, WAITING

FIRST, SECOND = np.int64(0), np.int64(1)  # the sides; typed, so that what takes one is compiled once


class Settings(NamedTuple):
    """What does not change during a call."""

    k: int
    times: int  # the l of l-diversity, 0 for none
    n_rows: int  # examined in one call, approximately


class Slots(NamedTuple):
    """The rows, moved so that each group is a stretch of slots."""

    position: np.ndarray  # int32 (n_range, n): a missing value lies at 2 x span
    leaf: np.ndarray  # int32 (n_tree, n)
    row: np.ndarray  # int32 (n): the row in each slot
    visit: np.ndarray  # int32 (rounds, n): within each group, its slots in the order of visiting
    sensitive: np.ndarray  # int32 (n): code of the sensitive value, -1 for none


class Work(NamedTuple):
    """Scratch for one group."""

    nearer: np.ndarray  # int32 (n): distance to the first centre less that to the second
    side: np.ndarray  # int8 (n): the side of each slot in this round
    best: np.ndarray  # int8 (n): the side in the best round so far
    moved: np.ndarray  # int32 (n): where a slot goes; also a buffer
    over: np.ndarray  # int32 (2, most nodes of a tree)
    tally: np.ndarray  # int32 (2, most leaves of a tree, or sensitive values), zero between uses
    before: np.ndarray  # int32 (2, n_range + n_tree): the centres of the round before


class Sides(NamedTuple):
    """What the two sides of a partition are like."""

    mean: np.ndarray  # int32 (2, n_range): centres, rounded to whole steps; 2 x span for missing
    leaf: np.ndarray  # int32 (2, n_tree): centres, the most frequent leaves
    size: np.ndarray  # int64 (2)


@inner
def compare_ranges(values, begin, end, one, other, span, nearer):
    """Add one range column to the difference of the distances. Writes `nearer`."""
    for at in range(begin, end):
        nearer[at] += min(abs(values[at] - one), span) - min(abs(values[at] - other), span)


@inner
def compare_leaves(trees, col, leaves, begin, end, one, other, over, nearer):
    """Add one tree column to the difference of the distances. Writes `nearer`, `over`."""
    first, nodes = trees.leaf_at[col], trees.node_at[col]
    if n_nodes(trees, col) <= end - begin:  # a table by leaf pays
        heights_over(trees, col, one, over[FIRST])
        heights_over(trees, col, other, over[SECOND])
        for leaf in range(trees.last_leaf[nodes] + 1):  # a leaf is no earlier than its number
            node = trees.leaf_node[first + leaf]
            over[FIRST, leaf] = over[FIRST, node] - over[SECOND, node]
        for at in range(begin, end):
            nearer[at] += over[FIRST, leaves[at]]
        return
    one_node, other_node = trees.leaf_node[first + one], trees.leaf_node[first + other]
    for at in range(begin, end):
        nearer[at] += trees.height[nodes + lifted(trees, col, one_node, leaves[at])]
        nearer[at] -= trees.height[nodes + lifted(trees, col, other_node, leaves[at])]


@inner
def compare(slots, begin, end, sides, trees, span, work):
    """Compute for each slot the distance to the first centre less that to the second."""
    for at in range(begin, end):
        work.nearer[at] = 0
    for col in range(span.shape[0]):
        one, other = sides.mean[FIRST, col], sides.mean[SECOND, col]
        if one != other:
            compare_ranges(slots.position[col], begin, end, one, other, span[col], work.nearer)
    for col in range(slots.leaf.shape[0]):
        one, other = sides.leaf[FIRST, col], sides.leaf[SECOND, col]
        if one != other:
            compare_leaves(trees, col, slots.leaf[col], begin, end, one, other, work.over, work.nearer)


@inner
def deal(visit, begin, end, sides, work):
    """Give each slot, in the order visited, to the nearer centre; ties to the smaller side.

    Returns the number of ties. Writes `sides.size`, `work.side`.
    """
    second, ties = 0, 0
    for at in range(begin, end):
        slot = visit[at]
        nearer = work.nearer[slot]
        is_tie = nearer == 0
        # Without branches: which side a row goes to is anybody's guess, the processor's too.
        goes_second = (nearer > 0) | (is_tie & (2 * second < at - begin))
        work.side[slot] = goes_second
        second += goes_second
        ties += is_tie
    sides.size[FIRST], sides.size[SECOND] = end - begin - second, second
    return ties


@inner
def centre_distance(slots, slot, sides, which, trees, span):
    """Return the distance between a slot and a centre."""
    total = np.int32(0)
    for col in range(span.shape[0]):
        total += min(abs(slots.position[col, slot] - sides.mean[which, col]), span[col])
    for col in range(slots.leaf.shape[0]):
        node = trees.leaf_node[trees.leaf_at[col] + sides.leaf[which, col]]
        total += trees.height[trees.node_at[col] + lifted(trees, col, node, slots.leaf[col, slot])]
    return total


@inner
def lend(slots, begin, end, sides, short, k, trees, span, work):
    """Move the nearest slots of the other side to one that has fewer than k. Writes `sides`, `work`."""
    long, missing = 1 - short, k - sides.size[short]
    far, room = work.moved, work.nearer  # by which the sides have been dealt already
    found = 0
    for slot in range(begin, end):
        if work.side[slot] == long:
            far[found] = centre_distance(slots, slot, sides, short, trees, span)
            room[found] = far[found]
            found += 1
    limit = ranked(room, found, missing - 1)
    ties = missing
    for at in range(found):
        ties -= far[at] < limit
    at = 0
    for slot in range(begin, end):
        if work.side[slot] == long:
            if far[at] < limit or (far[at] == limit and ties > 0):
                ties -= far[at] == limit
                work.side[slot] = short
            at += 1
    sides.size[short] += missing
    sides.size[long] -= missing


@inner
def settle_range(values, side, begin, end, span, sides, col):
    """Return what both sides lose in a range column; make their means the centres. Writes `sides`."""
    missing = 2 * span
    low0, low1, high0, high1 = missing, missing, np.int32(0), np.int32(0)
    total0, total1, present0, present1 = np.int64(0), np.int64(0), np.int64(0), np.int64(0)
    for at in range(begin, end):
        value, second = values[at], side[at] != 0
        low0, high0 = min(low0, missing if second else value), max(high0, 0 if second else value)
        low1, high1 = min(low1, value if second else missing), max(high1, value if second else 0)
        present = value != missing
        total0 += 0 if second or not present else value
        total1 += value if second and present else 0
        present0 += not second and present
        present1 += second and present
    sides.mean[FIRST, col] = (2 * total0 + present0) // (2 * present0) if present0 > 0 else missing
    sides.mean[SECOND, col] = (2 * total1 + present1) // (2 * present1) if present1 > 0 else missing
    return sides.size[FIRST] * min(high0 - low0, span) + sides.size[SECOND] * min(high1 - low1, span)


@inner
def count_leaves(leaves, side, begin, end, count):
    """Count the leaves of both sides. Writes `count`."""
    for at in range(begin, end):
        count[side[at], leaves[at]] += 1


@inner
def read_counts(count, n_leaves):
    """Return the lowest, highest and most frequent leaf of a side; empties `count`."""
    low, high, frequent, most = n_leaves, 0, 0, 0
    for leaf in range(n_leaves):
        if count[leaf] > 0:
            low, high = min(low, leaf), leaf
            if count[leaf] > most:
                most, frequent = count[leaf], leaf
            count[leaf] = 0
    return low, high, frequent


@inner
def read_leaves(leaves, side, begin, end, which, count, n_leaves):
    """Do the same row by row, for a tree with more leaves than there are rows."""
    low, high, frequent, most = n_leaves, 0, 0, 0
    for at in range(begin, end):
        if side[at] == which:
            leaf = leaves[at]
            low, high = min(low, leaf), max(high, leaf)
            if count[leaf] > most or (count[leaf] == most and leaf < frequent):
                most, frequent = count[leaf], leaf
    for at in range(begin, end):
        if side[at] == which:
            count[leaves[at]] = 0
    return low, high, frequent


@inner
def settle_leaves(trees, col, leaves, side, begin, end, sides, count):
    """Return what both sides lose in a tree column; make their most frequent leaves the centres.

    Writes `sides`; `count` is zero before and after.
    """
    n_leaves = trees.last_leaf[trees.node_at[col]] + 1
    count_leaves(leaves, side, begin, end, count)
    cost = np.int64(0)
    for which in range(2):
        if n_leaves <= end - begin:
            low, high, frequent = read_counts(count[which], n_leaves)
        else:
            low, high, frequent = read_leaves(leaves, side, begin, end, which, count[which], n_leaves)
        sides.leaf[which, col] = frequent
        node = lifted(trees, col, trees.leaf_node[trees.leaf_at[col] + low], high)
        cost += sides.size[which] * trees.height[trees.node_at[col] + node]
    return cost


@inner
def settle(slots, begin, end, sides, trees, span, work):
    """Return the loss of the two sides; make their centres those of the next round. Writes `sides`."""
    cost = np.int64(0)
    for col in range(span.shape[0]):
        cost += settle_range(slots.position[col], work.side, begin, end, span[col], sides, col)
    for col in range(slots.leaf.shape[0]):
        cost += settle_leaves(trees, col, slots.leaf[col], work.side, begin, end, sides, work.tally)
    return cost


@inner
def centres_moved(sides, before):
    """Return whether the centres are others than in the round before. Writes `before`."""
    n_range = sides.mean.shape[1]
    moved = False
    for which in range(2):
        for col in range(n_range):
            moved |= before[which, col] != sides.mean[which, col]
            before[which, col] = sides.mean[which, col]
        for col in range(sides.leaf.shape[1]):
            moved |= before[which, n_range + col] != sides.leaf[which, col]
            before[which, n_range + col] = sides.leaf[which, col]
    return moved


@inner
def bisect(slots, begin, end, k, sides, trees, span, work):
    """Find the best of r partitions of a group into two sides of at least k. Writes `work.best`."""
    for which in range(2):
        slot = slots.visit[0, begin + which]  # in the order of the first round
        for col in range(span.shape[0]):
            sides.mean[which, col] = slots.position[col, slot]
        for col in range(slots.leaf.shape[0]):
            sides.leaf[which, col] = slots.leaf[col, slot]
    centres_moved(sides, work.before)
    least = np.int64(1) << 62
    for number in range(slots.visit.shape[0]):
        compare(slots, begin, end, sides, trees, span, work)
        ties = deal(slots.visit[number], begin, end, sides, work)
        for short in range(2):
            if sides.size[short] < k:
                lend(slots, begin, end, sides, short, k, trees, span, work)
        cost = settle(slots, begin, end, sides, trees, span, work)
        if cost < least:
            least = cost
            for slot in range(begin, end):
                work.best[slot] = work.side[slot]
        # The same centres and no ties: whatever the order of visiting, nothing changes any more.
        if not centres_moved(sides, work.before) and ties == 0:
            break


@inner
def is_diverse(slots, begin, end, which, times, work):
    """Return whether `times` the most frequent sensitive value of one side is at most all values."""
    counts, present, most = work.tally[FIRST], 0, 0
    for slot in range(begin, end):
        if work.best[slot] == which and slots.sensitive[slot] >= 0:
            present += 1
            counts[slots.sensitive[slot]] += 1
            most = max(most, counts[slots.sensitive[slot]])
    for slot in range(begin, end):
        if work.best[slot] == which and slots.sensitive[slot] >= 0:
            counts[slots.sensitive[slot]] = 0
    return times * most <= present


@inner
def is_good_side(slots, begin, end, which, goals, tally, work):
    """Return whether one side meets every goal. `tally` is empty before and after."""
    if goals is None:
        return True
    for slot in range(begin, end):
        if work.best[slot] == which:
            add(goals, tally, slots.row[slot])
    good = is_good(goals, tally)
    for slot in range(begin, end):
        if work.best[slot] == which:
            remove(goals, tally, slots.row[slot])
    return good


@inner
def move(values, begin, end, moved, buffer):
    """Bring the values of a group to their new slots. Writes `values`."""
    for slot in range(begin, end):
        buffer[slot] = values[slot]
    for slot in range(begin, end):
        values[moved[slot]] = buffer[slot]


@inner
def part(slots, begin, end, work):
    """Move the slots of the first side before those of the second; return where the second begins."""
    middle = begin
    for slot in range(begin, end):
        middle += work.best[slot] == FIRST
    first, second = begin, middle
    for slot in range(begin, end):
        if work.best[slot] == FIRST:
            work.moved[slot] = first
            first += 1
        else:
            work.moved[slot] = second
            second += 1
    for number in range(slots.visit.shape[0]):
        part_visit(slots.visit[number], begin, middle, end, work)
    for col in range(slots.position.shape[0]):
        move(slots.position[col], begin, end, work.moved, work.nearer)
    for col in range(slots.leaf.shape[0]):
        move(slots.leaf[col], begin, end, work.moved, work.nearer)
    move(slots.row, begin, end, work.moved, work.nearer)
    move(slots.sensitive, begin, end, work.moved, work.nearer)
    return middle


@inner
def part_visit(visit, begin, middle, end, work):
    """Split one order of visiting along with the slots. Writes `visit`."""
    for at in range(begin, end):
        work.nearer[at] = visit[at]
    first, second = begin, middle
    for at in range(begin, end):
        slot = work.nearer[at]
        if work.best[slot] == FIRST:
            visit[first] = work.moved[slot]
            first += 1
        else:
            visit[second] = work.moved[slot]
            second += 1


@entry
def split_groups(slots, trees, span, stack, ends, goals, tally, cursor, settings, sides, work):
    """Split the groups that wait, for about as many rows as one call may look at.

    stack: (n / k + 2, 2). ends: (n / k + 1) where each class ends. For `stack` and `cursor` see
    `kernels.waiting`. Writes everything but `trees`, `span`, `goals` and `settings`.
    """
    k, times, budget = settings.k, settings.times, settings.n_rows
    while cursor[WAITING] > 0 and budget > 0:
        cursor[WAITING] -= 1
        begin, end = stack[cursor[WAITING], BEGIN], stack[cursor[WAITING], END]
        budget -= end - begin
        splits = end - begin >= 2 * k
        if splits:
            bisect(slots, begin, end, k, sides, trees, span, work)
        if splits and times > 0:
            splits = is_diverse(slots, begin, end, FIRST, times, work)
            splits = splits and is_diverse(slots, begin, end, SECOND, times, work)
        if splits:
            splits = is_good_side(slots, begin, end, FIRST, goals, tally, work)
            splits = splits and is_good_side(slots, begin, end, SECOND, goals, tally, work)
        if not splits:
            ends[cursor[CLASSES]] = end
            cursor[CLASSES] += 1
            cursor[SETTLED] += end - begin
            continue
        middle = part(slots, begin, end, work)
        top = cursor[WAITING]
        stack[top, BEGIN], stack[top, END] = middle, end
        stack[top + 1, BEGIN], stack[top + 1, END] = begin, middle
        cursor[WAITING] += 2
