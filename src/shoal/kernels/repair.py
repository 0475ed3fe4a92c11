"""Classes that fail a privacy goal are mended: they exchange rows with others, merge, or are left out.

Classes stand in the order of their first rows. A class looks for others among those that are near to
it in that order, as many as `reach` on either side, so that the work stays within bounds.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from shoal.kernels.classes import join, joined_diversity, width
from shoal.kernels.goals import (
    add,
    add_rows,
    is_good,
    judged,
    own_counts,
    remove,
    remove_rows,
    total_lack,
)
from shoal.kernels.trees import lifted

LOOKED_AT = 256  # classes of which one is merged with, those that cost least
NEAR = 8  # classes with which rows are exchanged, the first of these
MOST_PAIRS = 4096  # rows of two classes times each other, above which they exchange none
TRIES = 64  # exchanges that are tried, the cheapest first
FAR = np.int64(1) << 62
NONE = -FAR  # no exchange; a cost may be negative


class Counts(NamedTuple):
    """What the tally of each class says."""

    counts: np.ndarray  # int64 (n_classes, V), or no columns where that would be too large
    pairs: np.ndarray  # int64 (n_classes, G)
    holders: np.ndarray  # int64 (n_classes, G)
    people: np.ndarray  # int64 (n_classes)
    good: np.ndarray  # bool (n_classes)


class Rows(NamedTuple):
    """The rows and the class of each; classes as linked lists."""

    position: np.ndarray  # int32 (n_range, n)
    leaf: np.ndarray  # int32 (n_tree, n)
    span: np.ndarray  # int32 (n_range)
    head: np.ndarray  # int64 (n_classes): the first row of a class
    next: np.ndarray  # int64 (n): the next row of the same class, -1 for none
    before: np.ndarray  # int64 (n_classes): the class before it that is still there, -1 for none
    after: np.ndarray  # int64 (n_classes): the class after it
    whole_cost: int  # what a row costs that is left out


@njit(cache=True)
def members(rows, classes, c):
    """List the rows of a class."""
    found = np.empty(classes.size[c], np.int64)
    row = rows.head[c]
    for at in range(found.shape[0]):
        found[at] = row
        row = rows.next[row]
    return found


@njit(cache=True)
def set_members(rows, classes, c, found, trees):
    """Give a class these rows, at least one. Writes `rows`, `classes`."""
    classes.size[c] = 0
    rows.head[c] = found[0]
    for at in range(found.shape[0]):
        row = found[at]
        rows.next[row] = found[at + 1] if at + 1 < found.shape[0] else -1
        join(classes, c, trees, rows.span, rows.position[:, row], rows.leaf[:, row])


@njit(cache=True)
def set_all(rows, classes, ordered, ends, trees):
    """Give every class its rows, which stand together in `ordered`. Writes `rows`, `classes`."""
    begin = 0
    for c in range(ends.shape[0]):
        set_members(rows, classes, c, ordered[begin : ends[c]], trees)
        begin = ends[c]


@njit(cache=True)
def write_labels(rows, classes, n_classes, labels):
    """Label the rows of all classes that are still there. Writes `labels`."""
    for c in range(n_classes):
        if classes.size[c] > 0:
            row = rows.head[c]
            while row >= 0:
                labels[row] = c
                row = rows.next[row]


@njit(cache=True)
def note(goals, tally, counts, c):
    """Keep what the tally says of a class. Writes `counts`."""
    if counts.counts.shape[1] > 0:
        counts.counts[c] = tally.counts
    counts.pairs[c] = tally.pairs
    counts.holders[c] = tally.holders
    counts.people[c] = tally.size[0]
    counts.good[c] = is_good(goals, tally)


@njit(cache=True)
def note_all(goals, tally, rows, classes, counts):
    """Count every class. Writes `counts`; `tally` is empty before and after."""
    for c in range(counts.people.shape[0]):
        found = members(rows, classes, c)
        add_rows(goals, tally, found)
        note(goals, tally, counts, c)
        remove_rows(goals, tally, found)


@njit(cache=True)
def vanish(rows, classes, c):
    """Take a class out of the order. Writes `rows`, `classes`."""
    before, after = rows.before[c], rows.after[c]
    if before >= 0:
        rows.after[before] = after
    if after >= 0:
        rows.before[after] = before
    classes.size[c] = 0


@njit(cache=True)
def merged_diversity(rows, classes, one, other, trees):
    """Return D of two classes together."""
    total = np.int64(0)
    for col in range(rows.span.shape[0]):
        low = min(classes.low[col, one], classes.low[col, other])
        total += width(low, max(classes.high[col, one], classes.high[col, other]), rows.span[col])
    for col in range(rows.leaf.shape[0]):
        nodes = trees.node_at[col]
        node = classes.node[col, other]
        up = lifted(trees, col, classes.node[col, one], trees.first_leaf[nodes + node])
        up = lifted(trees, col, up, trees.last_leaf[nodes + node])
        total += trees.height[nodes + up]
    return total


@njit(cache=True)
def merging_cost(rows, classes, one, other, trees):
    """Return by how much the loss grows when two classes merge."""
    size, more = classes.size[one], classes.size[other]
    joined = merged_diversity(rows, classes, one, other, trees)
    return (size + more) * joined - size * classes.diversity[one] - more * classes.diversity[other]


@njit(cache=True)
def in_reach(rows, classes, c, trees, reach):
    """Return the classes in reach, and what it costs to merge with each."""
    found, costs = np.empty(2 * reach, np.int64), np.empty(2 * reach, np.int64)
    n = 0
    before, after = rows.before[c], rows.after[c]
    for _ in range(reach):
        if before >= 0:
            found[n], costs[n] = before, merging_cost(rows, classes, c, before, trees)
            n, before = n + 1, rows.before[before]
        if after >= 0:
            found[n], costs[n] = after, merging_cost(rows, classes, c, after, trees)
            n, after = n + 1, rows.after[after]
    return found[:n], costs[:n]


@njit(cache=True)
def cheapest(found, costs, most):
    """Return at most so many classes, the cheapest first; of equals the one that was found first."""
    order = np.argsort(costs, kind="mergesort")[:most]
    return found[order], costs[order]


@njit(cache=True)
def united_lack(goals, tally, counts, other):
    """Return about what the class in the tally lacks together with another: people of both count twice.

    Writes `tally`, and takes it back.
    """
    count, pairs, holders = counts.counts[other], counts.pairs[other], counts.holders[other]
    lack = max(0, goals.k - tally.size[0] - counts.people[other]) / goals.k
    tally.counts[:] += count
    for g in range(goals.kind.shape[0]):
        both, who = tally.pairs[g] + pairs[g], tally.holders[g] + holders[g]
        lack += judged(goals, g, own_counts(goals, tally, g), both, who)[2]
    tally.counts[:] -= count
    return lack


@njit(cache=True)
def partner(goals, tally, counts, found, costs):
    """Return the place of the class to merge with: where the least is lost for what is won.

    `tally` holds the rows of the class that fails. What is won is by how much less it lacks. Where nothing
    is won, or nobody has counted, the cheapest is taken.
    """
    best, least = 0, np.inf
    if counts.counts.shape[1] == 0:
        return best
    lack = total_lack(goals, tally)
    for at in range(found.shape[0]):
        won = lack - united_lack(goals, tally, counts, found[at])
        if won > 0.0 and max(costs[at], 0) / won < least:
            best, least = at, max(costs[at], 0) / won
    return best


@njit(cache=True)
def without_each(rows, found, trees, classes, scratch):
    """Box a class without each of its rows, as classes `scratch` on; the last one has all rows.

    Writes `classes`.
    """
    size = found.shape[0]
    for left in range(size + 1):
        classes.size[scratch + left] = 0
        for at in range(size):
            if at != left:
                row = found[at]
                position, leaf = rows.position[:, row], rows.leaf[:, row]
                join(classes, scratch + left, trees, rows.span, position, leaf)


@njit(cache=True)
def pair_costs(rows, ours, theirs, classes, first, second, trees, costs):
    """Compute what each exchange costs: our row x for their row y, or y for nothing (the last x).

    Writes `costs` (len(ours) + 1, len(theirs)).
    """
    n, m = ours.shape[0], theirs.shape[0]
    old = n * classes.diversity[first + n] + m * classes.diversity[second + m]
    for y in range(m):
        row = theirs[y]
        position, leaf = rows.position[:, row], rows.leaf[:, row]
        for x in range(n + 1):
            mine = joined_diversity(classes, first + x, trees, rows.span, position, leaf)
            if x == n:
                costs[x, y] = (n + 1) * mine + (m - 1) * classes.diversity[second + y] - old
                continue
            if n == 1:  # nothing of our class would be left
                costs[x, y] = FAR
                continue
            back = ours[x]
            given = joined_diversity(
                classes, second + y, trees, rows.span, rows.position[:, back], rows.leaf[:, back]
            )
            costs[x, y] = n * mine + m * given - old


@njit(cache=True)
def is_allowed(goals, tally, other, ours, theirs, x, y, lack):
    """Tell whether an exchange brings our class nearer to the goals and leaves theirs good.

    `tally` holds our rows, which lack as much as `lack` says, and `other` theirs, before and after.
    """
    swaps = x < ours.shape[0]
    remove(goals, other, theirs[y])
    if swaps:
        add(goals, other, ours[x])
    allowed = is_good(goals, other)
    if allowed:
        add(goals, tally, theirs[y])
        if swaps:
            remove(goals, tally, ours[x])
        allowed = total_lack(goals, tally) < lack
        if swaps:
            add(goals, tally, ours[x])
        remove(goals, tally, theirs[y])
    if swaps:
        remove(goals, other, ours[x])
    add(goals, other, theirs[y])
    return allowed


@njit(cache=True)
def best_exchange(goals, tally, other, rows, classes, ours, theirs, scratch, trees, limit):
    """Return the cheapest exchange below `limit` that is allowed, as (cost, x, y); x is -1 for none.

    `tally` holds our rows. `other` is empty before and after. Writes `classes` from `scratch` on.
    """
    n, m = ours.shape[0], theirs.shape[0]
    first, second = scratch, scratch + n + 1
    without_each(rows, ours, trees, classes, first)
    without_each(rows, theirs, trees, classes, second)
    costs = np.empty((n + 1, m), np.int64)
    pair_costs(rows, ours, theirs, classes, first, second, trees, costs)
    add_rows(goals, other, theirs)
    lack = total_lack(goals, tally)
    found = (limit, -1, -1)
    for _ in range(TRIES):
        at = int(np.argmin(costs))
        x, y = at // m, at % m
        if costs[x, y] >= limit:
            break
        if is_allowed(goals, tally, other, ours, theirs, x, y, lack):
            found = (costs[x, y], x, y)
            break
        costs[x, y] = FAR
    remove_rows(goals, other, theirs)
    return found


@njit(cache=True)
def exchange(goals, tally, other, counts, rows, classes, c, near, scratch, trees, limit):
    """Make the cheapest exchange with one of the near classes that costs less than `limit`.

    Returns what it costs, NONE if none was found. `tally` holds the class's rows and is kept so.
    """
    ours = members(rows, classes, c)
    best, partner_class = (limit, -1, -1), -1
    for at in range(near.shape[0]):
        size = classes.size[near[at]]
        # A class that fails itself would have to become good by giving one row away: no use trying.
        if size < 2 or ours.shape[0] * size > MOST_PAIRS or not counts.good[near[at]]:
            continue
        theirs = members(rows, classes, near[at])
        found = best_exchange(goals, tally, other, rows, classes, ours, theirs, scratch, trees, best[0])
        if found[1] >= 0:
            best, partner_class = found, near[at]
    if partner_class < 0:
        return NONE
    cost, x, y = best
    theirs = members(rows, classes, partner_class)
    row = theirs[y]
    add(goals, tally, row)
    if x < ours.shape[0]:
        remove(goals, tally, ours[x])
        theirs[y], ours[x] = ours[x], row
        set_members(rows, classes, c, ours, trees)
    else:
        theirs[y] = theirs[-1]
        theirs = theirs[:-1]
        rows.next[row] = rows.head[c]
        rows.head[c] = row
        join(classes, c, trees, rows.span, rows.position[:, row], rows.leaf[:, row])
    set_members(rows, classes, partner_class, theirs, trees)
    add_rows(goals, other, theirs)
    note(goals, other, counts, partner_class)
    remove_rows(goals, other, theirs)
    return cost


@njit(cache=True)
def leave_out(goals, all_rows, rows, classes, c, labels):
    """Leave a class out if what remains is still good as a whole; tell whether. Writes all but `goals`."""
    found = members(rows, classes, c)
    remove_rows(goals, all_rows, found)
    if not is_good(goals, all_rows):
        add_rows(goals, all_rows, found)
        return False
    for row in found:
        labels[row] = -1
    vanish(rows, classes, c)
    return True


@njit(cache=True)
def merge_into(rows, classes, c, other, trees):
    """Give the rows of another class to `c`. Writes `rows`, `classes`."""
    row = rows.head[other]
    vanish(rows, classes, other)
    while row >= 0:
        following = rows.next[row]
        rows.next[row] = rows.head[c]
        rows.head[c] = row
        join(classes, c, trees, rows.span, rows.position[:, row], rows.leaf[:, row])
        row = following


@njit(cache=True)
def mend_class(
    goals, tally, other, all_rows, counts, rows, classes, c, scratch, trees, labels, cursor, settings
):
    """Mend one class: exchange rows, leave it out or merge it, whichever costs least, until it is good.

    cursor: [rows that may still be left out, exchanges, mergers]. settings: [exchange rows (0/1), reach].
    `tally` and `other` are empty before and after; `all_rows` counts everybody who is still there.
    `classes` has room from `scratch` on for boxes that are tried out.
    """
    deals, reach, spent = settings[0] == 1, settings[1], np.int64(0)
    add_rows(goals, tally, members(rows, classes, c))
    while not is_good(goals, tally):
        found, costs = in_reach(rows, classes, c, trees, reach)
        if found.shape[0] == 0:
            break
        found, costs = cheapest(found, costs, LOOKED_AT)
        chosen = partner(goals, tally, counts, found, costs)
        size = classes.size[c]
        leaving = size * (rows.whole_cost - classes.diversity[c]) if size <= cursor[0] else FAR
        if deals:
            limit = min(costs[chosen], leaving) - spent
            cost = exchange(
                goals, tally, other, counts, rows, classes, c, found[:NEAR], scratch, trees, limit
            )
            if cost != NONE:
                cursor[1] += 1
                spent += cost
                continue
        if leaving < costs[chosen]:
            ours = members(rows, classes, c)
            if leave_out(goals, all_rows, rows, classes, c, labels):
                cursor[0] -= size
                remove_rows(goals, tally, ours)
                return
        add_rows(goals, tally, members(rows, classes, found[chosen]))
        merge_into(rows, classes, c, found[chosen], trees)
        cursor[2] += 1
        spent = np.int64(0)
    note(goals, tally, counts, c)
    remove_rows(goals, tally, members(rows, classes, c))
