"""Classes that fail a privacy goal are repaired: they exchange rows with others, merge, or are left out.

Classes are in the order of their first rows. A class looks for others among those that are near to
it in that order, as many as `reach` on either side, so that the work stays within bounds.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from shoal.kernels.classes import join, joined_diversity, union_diversity
from shoal.kernels.compiling import entry, inner
from shoal.kernels.goals import PEOPLE, add, add_rows, is_good, judged, remove, remove_rows, total_lack
from shoal.kernels.sorting import first_least, ranked, sort_places

LOOKED_AT = 256  # classes of which one is merged with, those that cost least
NEAR = 8  # classes with which rows are exchanged, the first of these
MOST_PAIRS = 4096  # rows of two classes times each other, above which they exchange none
TRIES = 64  # exchanges that are tried, the cheapest first
FAR = np.int64(1) << 62
NONE = -FAR  # no exchange; a cost may be negative
# Of the cursor: rows that may still be left out, exchanges, mergers, classes done or -1 before any is made.
MAY_LEAVE_OUT, EXCHANGES, MERGERS, DONE = range(4)


class Settings(NamedTuple):
    """What does not change during a call."""

    exchanges: int  # whether rows are exchanged, 0 or 1
    reach: int  # classes on either side among which a class looks for others
    n_classes: int  # repaired in this call


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


class Room(NamedTuple):
    """Scratch: the rows of two classes, and the classes in reach."""

    ours: np.ndarray  # int64 (n)
    theirs: np.ndarray  # int64 (n)
    found: np.ndarray  # int64 (2 x reach): classes, each with what it costs to merge with it
    costs: np.ndarray  # int64 (2 x reach)
    ranked: np.ndarray  # int64 (2 x reach)
    near: np.ndarray  # int64 (2 x reach): places of those that are considered, the cheapest first
    pairs: np.ndarray  # int64 (2 x MOST_PAIRS): what each exchange costs, by our row, then by theirs
    fails: np.ndarray  # bool (n_classes): at first


def empty_room(n_rows: int, n_classes: int, reach: int) -> Room:
    """Make the scratch."""
    found, costs, ranks, near = (np.zeros(2 * reach, np.int64) for _ in range(4))
    return Room(
        np.zeros(n_rows, np.int64), np.zeros(n_rows, np.int64), found, costs, ranks, near,
        np.zeros(2 * MOST_PAIRS, np.int64), np.zeros(n_classes, np.bool_),
    )  # fmt: skip


@inner
def list_members(rows, classes, c, found):
    """List the rows of a class; return how many there are. Writes `found`."""
    row = rows.head[c]
    for at in range(classes.size[c]):
        found[at] = row
        row = rows.next[row]
    return classes.size[c]


@inner
def count_class(goals, tally, rows, c, joins):
    """Count the rows of a class, or take them out again. Writes `tally`."""
    row = rows.head[c]
    while row >= 0:
        if joins:
            add(goals, tally, row)
        else:
            remove(goals, tally, row)
        row = rows.next[row]


@inner
def set_members(rows, classes, c, found, begin, end, trees):
    """Give a class the rows listed from `begin` to `end`, at least one. Writes `rows`, `classes`."""
    classes.size[c] = 0
    rows.head[c] = found[begin]
    for at in range(begin, end):
        row = found[at]
        rows.next[row] = found[at + 1] if at + 1 < end else -1
        join(classes, c, trees, rows.span, rows.position, rows.leaf, row)


@inner
def note(goals, tally, counts, c):
    """Keep what the tally says of a class. Writes `counts`."""
    for value in range(counts.counts.shape[1]):
        counts.counts[c, value] = tally.counts[value]
    for g in range(goals.kind.shape[0]):
        counts.pairs[c, g], counts.holders[c, g] = tally.pairs[g], tally.holders[g]
    counts.people[c] = tally.size[PEOPLE]
    counts.good[c] = is_good(goals, tally)


@inner
def note_all(goals, tally, all_rows, rows, classes, ordered, ends, counts, trees):
    """Give every class its rows, which are adjacent in `ordered`, and count them.

    Writes `rows`, `classes`, `counts` and `all_rows`; `tally` is empty before and after.
    """
    begin = np.int64(0)
    for c in range(ends.shape[0]):
        set_members(rows, classes, c, ordered, begin, ends[c], trees)
        add_rows(goals, tally, ordered, begin, ends[c])
        add_rows(goals, all_rows, ordered, begin, ends[c])
        note(goals, tally, counts, c)
        remove_rows(goals, tally, ordered, begin, ends[c])
        begin = ends[c]


@inner
def vanish(rows, classes, c):
    """Take a class out of the order. Writes `rows`, `classes`."""
    before, after = rows.before[c], rows.after[c]
    if before >= 0:
        rows.after[before] = after
    if after >= 0:
        rows.before[after] = before
    classes.size[c] = 0


@inner
def merging_cost(rows, classes, one, other, trees):
    """Return by how much the loss grows when two classes merge."""
    size, more = classes.size[one], classes.size[other]
    joined = union_diversity(classes, one, other, trees, rows.span)
    return (size + more) * joined - size * classes.diversity[one] - more * classes.diversity[other]


@inner
def find_in_reach(rows, classes, c, trees, reach, room):
    """Find the classes in reach, and what it costs to merge with each; return how many. Writes `room`."""
    n = 0
    before, after = rows.before[c], rows.after[c]
    for _ in range(reach):
        if before >= 0:
            room.found[n], room.costs[n] = before, merging_cost(rows, classes, c, before, trees)
            n, before = n + 1, rows.before[before]
        if after >= 0:
            room.found[n], room.costs[n] = after, merging_cost(rows, classes, c, after, trees)
            n, after = n + 1, rows.after[after]
    return n


@inner
def choose_cheapest(n, most, room):
    """List the places of at most `most` classes, the cheapest first; of equals the one found first.

    Returns how many. Writes `room`.
    """
    if n <= most:
        for at in range(n):
            room.near[at] = at
        sort_places(room.near, n, room.costs)
        return n
    for at in range(n):
        room.ranked[at] = room.costs[at]
    limit = ranked(room.ranked, n, most - 1)
    ties = most
    for at in range(n):
        ties -= room.costs[at] < limit
    chosen = 0
    for at in range(n):
        if room.costs[at] < limit or (room.costs[at] == limit and ties > 0):
            ties -= room.costs[at] == limit
            room.near[chosen] = at
            chosen += 1
    sort_places(room.near, chosen, room.costs)
    return chosen


@inner
def united_lack(goals, tally, counts, other):
    """Return about what the class in the tally lacks together with another: people of both count twice.

    Writes `tally`, and restores it.
    """
    lack = max(0, goals.k - tally.size[PEOPLE] - counts.people[other]) / goals.k
    for value in range(tally.counts.shape[0]):
        tally.counts[value] += counts.counts[other, value]
    for g in range(goals.kind.shape[0]):
        both, who = tally.pairs[g] + counts.pairs[other, g], tally.holders[g] + counts.holders[other, g]
        _, _, of_goal = judged(goals, g, tally.counts, both, who, tally.room)
        lack += of_goal
    for value in range(tally.counts.shape[0]):
        tally.counts[value] -= counts.counts[other, value]
    return lack


@inner
def partner(goals, tally, counts, n, room):
    """Return which of the n nearest classes to merge with: where the least is lost for what is won.

    `tally` holds the rows of the class that fails. What is won is by how much less it lacks. Where nothing
    is won, or nothing was counted, the cheapest is taken.
    """
    best, least = 0, np.inf
    if counts.counts.shape[1] == 0:
        return best
    lack = total_lack(goals, tally)
    for at in range(n):
        cost = max(room.costs[room.near[at]], 0)
        won = lack - united_lack(goals, tally, counts, room.found[room.near[at]])
        if won > 0.0 and cost / won < least:
            best, least = at, cost / won
    return best


@inner
def without_each(rows, found, size, trees, classes, scratch):
    """Box a class without each of its rows, as classes `scratch` on; the last one has all rows.

    Writes `classes`.
    """
    for left in range(size + 1):
        classes.size[scratch + left] = 0
        for at in range(size):
            if at != left:
                join(classes, scratch + left, trees, rows.span, rows.position, rows.leaf, found[at])


@inner
def pair_costs(rows, classes, n, m, first, second, trees, room):
    """Compute what each exchange costs: our row x for their row y, or y for nothing (the last x).

    We have n rows, they m. Writes `room.pairs`.
    """
    old = n * classes.diversity[first + n] + m * classes.diversity[second + m]
    for y in range(m):
        row = room.theirs[y]
        for x in range(n + 1):
            at = x * m + y
            mine = joined_diversity(classes, first + x, trees, rows.span, rows.position, rows.leaf, row)
            if x == n:
                room.pairs[at] = (n + 1) * mine + (m - 1) * classes.diversity[second + y] - old
                continue
            if n == 1:  # nothing of our class would be left
                room.pairs[at] = FAR
                continue
            given = joined_diversity(
                classes, second + y, trees, rows.span, rows.position, rows.leaf, room.ours[x]
            )
            room.pairs[at] = n * mine + m * given - old


@inner
def is_allowed(goals, tally, other, ours, theirs, lack):
    """Return whether our row for theirs, or theirs for none (-1), brings us nearer and leaves them good.

    `tally` holds our rows, which lack as much as `lack` says, and `other` theirs, before and after.
    """
    swaps = ours >= 0
    remove(goals, other, theirs)
    if swaps:
        add(goals, other, ours)
    allowed = is_good(goals, other)
    if allowed:
        add(goals, tally, theirs)
        if swaps:
            remove(goals, tally, ours)
        allowed = total_lack(goals, tally) < lack
        if swaps:
            add(goals, tally, ours)
        remove(goals, tally, theirs)
    if swaps:
        remove(goals, other, ours)
    add(goals, other, theirs)
    return allowed


@inner
def best_exchange(goals, tally, other, rows, classes, n, m, scratch, trees, limit, room):
    """Return the cheapest exchange below `limit` that is allowed, as (cost, x, y); x is -1 for none.

    The rows of both classes, n and m, are in `room`. `tally` holds ours. `other` is empty before and after.
    Writes `room`, and `classes` from `scratch` on.
    """
    first, second = scratch, scratch + n + 1
    without_each(rows, room.ours, n, trees, classes, first)
    without_each(rows, room.theirs, m, trees, classes, second)
    pair_costs(rows, classes, n, m, first, second, trees, room)
    add_rows(goals, other, room.theirs, 0, m)
    lack = total_lack(goals, tally)
    found = (limit, np.int64(-1), np.int64(-1))
    for _ in range(TRIES):
        at = first_least(room.pairs, (n + 1) * m)
        x, y = at // m, at % m
        if room.pairs[at] >= limit:
            break
        if is_allowed(goals, tally, other, room.ours[x] if x < n else np.int64(-1), room.theirs[y], lack):
            found = (room.pairs[at], x, y)
            break
        room.pairs[at] = FAR
    remove_rows(goals, other, room.theirs, 0, m)
    return found


@inner
def exchange(goals, tally, other, counts, rows, classes, c, n_near, scratch, trees, limit, room):
    """Make the cheapest exchange with one of the near classes that costs less than `limit`.

    Returns what it costs, NONE if none was found. `tally` holds the class's rows and is kept so.
    """
    n = list_members(rows, classes, c, room.ours)
    cost, x, y, partner_class = limit, np.int64(-1), np.int64(-1), np.int64(-1)
    for at in range(n_near):
        near = room.found[room.near[at]]
        size = classes.size[near]
        # A class that fails itself would have to become good by giving one row away: no use trying.
        if size < 2 or n * size > MOST_PAIRS or not counts.good[near]:
            continue
        list_members(rows, classes, near, room.theirs)
        less, ours, theirs = best_exchange(
            goals, tally, other, rows, classes, n, size, scratch, trees, cost, room
        )
        if ours >= 0:
            cost, x, y, partner_class = less, ours, theirs, near
    if partner_class < 0:
        return NONE
    m = list_members(rows, classes, partner_class, room.theirs)
    row = room.theirs[y]
    add(goals, tally, row)
    if x < n:
        remove(goals, tally, room.ours[x])
        room.theirs[y], room.ours[x] = room.ours[x], row
        set_members(rows, classes, c, room.ours, 0, n, trees)
    else:
        m -= 1
        room.theirs[y] = room.theirs[m]
        take_row(rows, classes, c, row, trees)
    set_members(rows, classes, partner_class, room.theirs, 0, m, trees)
    add_rows(goals, other, room.theirs, 0, m)
    note(goals, other, counts, partner_class)
    remove_rows(goals, other, room.theirs, 0, m)
    return cost


@inner
def take_row(rows, classes, c, row, trees):
    """Put a row at the head of a class. Writes `rows`, `classes`."""
    rows.next[row] = rows.head[c]
    rows.head[c] = row
    join(classes, c, trees, rows.span, rows.position, rows.leaf, row)


@inner
def leave_out(goals, all_rows, rows, classes, c):
    """Leave a class out if what remains is still good as a whole; return whether. Writes all but `goals`."""
    count_class(goals, all_rows, rows, c, False)
    if not is_good(goals, all_rows):
        count_class(goals, all_rows, rows, c, True)
        return False
    vanish(rows, classes, c)
    return True


@inner
def merge_into(rows, classes, c, other, trees):
    """Give the rows of another class to `c`. Writes `rows`, `classes`."""
    row = rows.head[other]
    vanish(rows, classes, other)
    while row >= 0:
        following = rows.next[row]
        take_row(rows, classes, c, row, trees)
        row = following


@inner
def repair_class(
    goals, tally, other, all_rows, counts, rows, classes, c, scratch, trees, cursor, settings, room
):
    """Repair one class: exchange rows, leave it out or merge it, whichever costs least, until it is good.

    `tally` and `other` are empty before and after; `all_rows` counts everybody who is still there.
    `classes` has room from `scratch` on for boxes that are tried out.
    """
    spent = np.int64(0)
    count_class(goals, tally, rows, c, True)
    while not is_good(goals, tally):
        n_found = find_in_reach(rows, classes, c, trees, settings.reach, room)
        if n_found == 0:
            break
        n_near = choose_cheapest(n_found, LOOKED_AT, room)
        chosen = room.near[partner(goals, tally, counts, n_near, room)]
        merging, size = room.costs[chosen], classes.size[c]
        leaving = size * (rows.whole_cost - classes.diversity[c]) if size <= cursor[MAY_LEAVE_OUT] else FAR
        if settings.exchanges == 1:
            limit = min(merging, leaving) - spent
            cost = exchange(
                goals, tally, other, counts, rows, classes, c, min(n_near, NEAR), scratch, trees, limit, room
            )
            if cost != NONE:
                cursor[EXCHANGES] += 1
                spent += cost
                continue
        if leaving < merging and leave_out(goals, all_rows, rows, classes, c):
            cursor[MAY_LEAVE_OUT] -= size
            count_class(goals, tally, rows, c, False)
            return
        count_class(goals, tally, rows, room.found[chosen], True)
        merge_into(rows, classes, c, room.found[chosen], trees)
        cursor[MERGERS] += 1
        spent = np.int64(0)
    note(goals, tally, counts, c)
    count_class(goals, tally, rows, c, False)


@entry
def repair_classes(
    goals, tally, other, all_rows, counts, rows, classes, ordered, ends, trees, cursor, settings, labels, room
):
    """Make classes of rows that are adjacent in `ordered` and end at `ends`; repair some that fail.

    All tallies are empty before the first call; `all_rows` counts everybody who is still there. `classes`
    has room behind its classes for boxes that are tried out. Once all classes are done, writes the class of
    each row that was not left out to `labels`. Writes all but `goals`, `ordered`, `ends`, `trees` and
    `settings`.
    """
    n_classes, left = ends.shape[0], settings.n_classes
    if cursor[DONE] < 0:
        note_all(goals, tally, all_rows, rows, classes, ordered, ends, counts, trees)
        for c in range(n_classes):
            room.fails[c] = not counts.good[c]
        cursor[DONE] = 0
    while cursor[DONE] < n_classes and left > 0:
        c = cursor[DONE]
        if room.fails[c] and classes.size[c] > 0:
            repair_class(
                goals, tally, other, all_rows, counts, rows, classes, c, n_classes, trees, cursor, settings,
                room,
            )  # fmt: skip
            left -= 1
        cursor[DONE] += 1
    if cursor[DONE] == n_classes:
        for c in range(n_classes):
            write_label(rows, classes, c, labels)


@inner
def write_label(rows, classes, c, labels):
    """Label the rows of a class that is still there. Writes `labels`."""
    if classes.size[c] > 0:
        row = rows.head[c]
        while row >= 0:
            labels[row] = c
            row = rows.next[row]
