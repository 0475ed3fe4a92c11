"""Privacy goals on the sensitive values of one class, brought up to date row by row.

A class's *tally* counts, for each goal, how many people have each value. Without a subject column
every row is a person of its own. With one, a person counts once for each value: `holders` are the
people who have any, `pairs` the sum of the counts, and the two differ when somebody has several values.

Whatever is compared with a threshold is one division of whole numbers. That is rounded as the
threshold itself was when it was read, so a distance of exactly 1/5 meets t = 0.2.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from shoal.arrays import BoolArray, LongArray
from shoal.kernels.compiling import entry, inner
from shoal.kernels.sorting import sort_front

# From EQUAL on, a class is compared with the whole release.
DISTINCT, FREQUENCY, ENTROPY, RECURSIVE, ALPHA, RANGE = range(6)
EQUAL, ORDERED, TREE, BASIC, ENHANCED, DELTA = range(6, 12)
PEOPLE, ROWS = range(2)  # of the size of a tally
ROUNDING = 1e-9  # by which an entropy may fall short: it is a sum of rounded logarithms


class Goals(NamedTuple):
    """The goals, and the value and the person of each row. G goals, n rows, V values of all goals."""

    k: int  # people that a class needs
    kind: np.ndarray  # int64 (G)
    bound: np.ndarray  # float64 (G): l, t, alpha, beta, delta or e
    second: np.ndarray  # float64 (G): c; of a range, how many units of `number` are 1
    begin: np.ndarray  # int64 (G + 1): where each goal's values begin among all V
    code: np.ndarray  # int32 (G, n): the value of each row, -1 for none
    person: np.ndarray  # int32 (n)
    pair: np.ndarray  # int32 (G, n): a number for each person with a value, -1 for none
    whole: np.ndarray  # int64 (V): how many people of the whole release have each value
    number: np.ndarray  # float64 (V): of a range, each value in units, ascending; otherwise 0
    parent: np.ndarray  # int32 (nodes): of the trees, one goal after the other; -1 for a root
    height: np.ndarray  # int64 (nodes)
    node_at: np.ndarray  # int64 (G + 1): where each goal's nodes begin
    leaf_node: np.ndarray  # int32 (V): the node of each value, counted within its tree


class Tally(NamedTuple):
    """The people of one class, and what they have."""

    counts: np.ndarray  # int64 (V)
    pairs: np.ndarray  # int64 (G)
    holders: np.ndarray  # int64 (G)
    size: np.ndarray  # int64 (2): PEOPLE, ROWS
    seen: np.ndarray  # int32 (people): rows of each person in the class
    seen_holder: np.ndarray  # int32 (G, people): those with a value
    seen_pair: np.ndarray  # int32 (G, most pairs)
    room: np.ndarray  # int64: scratch, for the values or twice the nodes of any goal


def empty_tally(goals: Goals) -> Tally:
    """Make a tally of a class without rows."""
    n_goals, n_people = len(goals.kind), int(goals.person.max(initial=-1)) + 1
    most = max(np.diff(goals.begin).max(initial=0), 2 * np.diff(goals.node_at).max(initial=0))
    return Tally(
        np.zeros(int(goals.begin[-1]), np.int64), np.zeros(n_goals, np.int64), np.zeros(n_goals, np.int64),
        np.zeros(2, np.int64), np.zeros(n_people, np.int32), np.zeros((n_goals, n_people), np.int32),
        np.zeros((n_goals, int(goals.pair.max(initial=-1)) + 1), np.int32), np.zeros(int(most), np.int64),
    )  # fmt: skip


@inner
def asks(goals):
    """Return whether more is asked for than k rows; known while compiling."""
    return goals is not None


@inner
def add(goals, tally, row):
    """Count one more row; without goals nothing is counted. Writes `tally`."""
    if goals is None:
        return
    person = goals.person[row]
    tally.size[PEOPLE] += tally.seen[person] == 0
    tally.size[ROWS] += 1
    tally.seen[person] += 1
    for g in range(goals.kind.shape[0]):
        value = goals.code[g, row]
        if value < 0:
            continue
        pair = goals.pair[g, row]
        if tally.seen_pair[g, pair] == 0:
            tally.counts[goals.begin[g] + value] += 1
            tally.pairs[g] += 1
        tally.seen_pair[g, pair] += 1
        tally.holders[g] += tally.seen_holder[g, person] == 0
        tally.seen_holder[g, person] += 1


@inner
def remove(goals, tally, row):
    """Count one row less; without goals nothing is counted. Writes `tally`."""
    if goals is None:
        return
    person = goals.person[row]
    tally.seen[person] -= 1
    tally.size[PEOPLE] -= tally.seen[person] == 0
    tally.size[ROWS] -= 1
    for g in range(goals.kind.shape[0]):
        value = goals.code[g, row]
        if value < 0:
            continue
        pair = goals.pair[g, row]
        tally.seen_pair[g, pair] -= 1
        if tally.seen_pair[g, pair] == 0:
            tally.counts[goals.begin[g] + value] -= 1
            tally.pairs[g] -= 1
        tally.seen_holder[g, person] -= 1
        tally.holders[g] -= tally.seen_holder[g, person] == 0


@inner
def distinct_values(counts, begin, end):
    """Return how many values a class has."""
    found = 0
    for value in range(begin, end):
        found += counts[value] > 0
    return found


@inner
def entropy_number(counts, begin, end, pairs):
    """Return the exponential of the entropy: m when m values are equally frequent, 0 without any."""
    if pairs == 0:
        return 0.0
    total = 0.0
    for value in range(begin, end):
        if counts[value] > 0:
            share = counts[value] / pairs
            total -= share * np.log(share)
    return np.exp(total)


@inner
def recursive_l(ordered, size, c):
    """Return the largest l for which r1 < c (r_l + ... + r_m), 0 for none; the counts in ascending order."""
    most = ordered[size - 1] if size > 0 else np.int64(0)
    tail = np.int64(0)
    for at in range(size):
        tail += ordered[at]
        if tail > 0 and most / tail < c:
            return size - at
    return 0


@inner
def recursive_tail(ordered, size, times):
    """Return r1 and r_l + ... + r_m; the counts in ascending order."""
    tail = np.int64(0)
    for at in range(size - times + 1):
        tail += ordered[at]
    return (ordered[size - 1] if size > 0 else np.int64(0)), tail


@inner
def equal_distance(counts, begin, end, pairs, whole, total):
    """Return half the sum of the absolute differences between the shares of two distributions."""
    moved = 0.0
    for value in range(begin, end):
        moved += abs(counts[value] * total - whole[value] * pairs)
    return moved / (2.0 * pairs * total)


@inner
def ordered_distance(counts, begin, end, pairs, whole, total):
    """Return the sum of the absolute cumulative differences, over m - 1 for m values of the release."""
    carried, moved, m = np.int64(0), 0.0, 0
    for value in range(begin, end):
        if whole[value] > 0:  # a value that was left out altogether is no step
            carried += counts[value] * total - whole[value] * pairs
            moved += abs(carried)
            m += 1
    return moved / ((m - 1.0) * pairs * total) if m > 1 else 0.0


@inner
def tree_distance(goals, g, counts, pairs, total, room):
    """Return the earth mover's distance in a tree, by evening out what children have too much.

    Two leaves are apart by the height of the lowest node over both, over the tree's. `room` holds what each
    node has too much, then what each has too little.
    """
    first = goals.node_at[g]
    n_nodes = goals.node_at[g + 1] - first
    if n_nodes == 0 or goals.height[first] == 0:
        return 0.0
    for at in range(2 * n_nodes):
        room[at] = 0
    for value in range(goals.begin[g], goals.begin[g + 1]):
        extra = counts[value] * total - goals.whole[value] * pairs
        node = goals.leaf_node[value]
        if extra > 0:
            room[node] = extra
        else:
            room[n_nodes + node] = -extra
    moved = 0.0
    for node in range(n_nodes - 1, -1, -1):  # parents come before their children
        evened = min(room[node], room[n_nodes + node])
        moved += goals.height[first + node] * np.float64(evened)
        above = goals.parent[first + node]
        if above >= 0:
            room[above] += room[node] - evened
            room[n_nodes + above] += room[n_nodes + node] - evened
    return moved / (goals.height[first] * np.float64(pairs) * total)


@inner
def gain(count, pairs, whole, total):
    """Return by how much one value's share grows, relative to its share in the whole release."""
    return (count * total - whole * pairs) / (np.float64(whole) * pairs)


@inner
def likeness(counts, begin, end, pairs, whole, total, beta, enhanced):
    """Return the largest gain, and the largest one in proportion to what is allowed."""
    largest, nearest = 0.0, 0.0
    for value in range(begin, end):
        if counts[value] > 0 and whole[value] == 0:
            return np.inf, np.inf  # only when a value that nobody has is tried out
        if counts[value] * total > whole[value] * pairs:
            grows = gain(counts[value], pairs, whole[value], total)
            surprise = -np.log(whole[value] / total)
            limit = min(beta, surprise) if enhanced else beta
            largest = max(largest, np.inf if enhanced and grows > surprise else grows)
            nearest = max(nearest, grows / limit)
    return largest, nearest


@inner
def disclosure(counts, begin, end, pairs, whole, total):
    """Return the largest |ln(q/p)| of the values that the class has, and how many it lacks."""
    largest, absent = 0.0, 0
    for value in range(begin, end):
        if whole[value] > 0 and counts[value] == 0:
            absent += 1
        elif whole[value] > 0:
            ratio = (counts[value] * np.float64(total)) / (np.float64(whole[value]) * pairs)
            largest = max(largest, abs(np.log(ratio)))
    return largest, absent


@inner
def judged_recursively(bound, second, counts, begin, end, pairs, room):
    """Judge recursive l-diversity; see `judged`. Writes `room`."""
    size = end - begin
    for at in range(size):
        room[at] = counts[begin + at]
    sort_front(room, size)
    first, tail = recursive_tail(room, size, int(bound))
    holds = tail > 0 and first / tail < second
    lack = (first - second * tail) / pairs if pairs > 0 else 2.0  # any value is better than none
    return holds, np.float64(recursive_l(room, size, second)), lack


@inner
def judged_range(goals, g, bound, counts, pairs):
    """Judge how far the largest number of a class is above its smallest; see `judged`."""
    if pairs == 0:
        return False, 0.0, 2.0  # any value is better than none
    low, high = goals.begin[g], goals.begin[g + 1] - 1
    while counts[low] == 0:
        low += 1
    while counts[high] == 0:
        high -= 1
    apart = (goals.number[high] - goals.number[low]) / goals.second[g]
    return apart >= bound, apart, (bound - apart) / bound


@inner
def judged_alone(kind, bound, second, counts, begin, end, pairs, holders, room):
    """Judge a class by its own values; see `judged`."""
    if kind == DISTINCT:
        found = np.float64(distinct_values(counts, begin, end))
        return found >= bound, found, (bound - found) / bound
    if kind == ENTROPY:
        number = entropy_number(counts, begin, end, pairs)
        return number >= bound - ROUNDING, number, (bound - number) / bound
    if kind == RECURSIVE:
        return judged_recursively(bound, second, counts, begin, end, pairs, room)
    most = np.int64(0)
    for value in range(begin, end):
        most = max(most, counts[value])
    share = most / holders if holders > 0 else 0.0
    if kind == FREQUENCY:
        number = np.float64(holders // most) if most > 0 else np.inf
        return bound * most <= holders, number, share * bound - 1.0
    return share <= bound, share, share / bound - 1.0


@inner
def judged_against_all(goals, g, kind, bound, counts, pairs, room):
    """Judge a class against the whole release; see `judged`."""
    begin, end, whole = goals.begin[g], goals.begin[g + 1], goals.whole
    total = np.int64(0)
    for value in range(begin, end):
        total += whole[value]
    if pairs == 0:
        return True, 0.0, 0.0  # anyone who finds a person there learns no more than from the whole table
    if BASIC <= kind <= ENHANCED:
        largest, nearest = likeness(counts, begin, end, pairs, whole, total, bound, kind == ENHANCED)
        return largest <= bound, largest, nearest - 1.0
    if kind == DELTA:
        largest, absent = disclosure(counts, begin, end, pairs, whole, total)
        lack = absent + max(0.0, largest / bound - 1.0)
        return absent == 0 and largest < bound, np.inf if absent else largest, lack
    if kind == EQUAL:
        far = equal_distance(counts, begin, end, pairs, whole, total)
    elif kind == ORDERED:
        far = ordered_distance(counts, begin, end, pairs, whole, total)
    else:
        far = tree_distance(goals, g, counts, pairs, total, room)
    return far <= bound, far, far - bound


@inner
def judged(goals, g, counts, pairs, holders, room):
    """Judge one goal on the counts of a class: whether it holds, the number achieved, what it lacks.

    What a class lacks is 0 when the goal holds, and above 0 the more, the further it is from it. `counts` are
    those of all goals. Writes `room`.
    """
    kind, bound = goals.kind[g], goals.bound[g]
    if kind >= EQUAL:
        holds, achieved, lack = judged_against_all(goals, g, kind, bound, counts, pairs, room)
    elif kind == RANGE:
        holds, achieved, lack = judged_range(goals, g, bound, counts, pairs)
    else:
        holds, achieved, lack = judged_alone(
            kind, bound, goals.second[g], counts, goals.begin[g], goals.begin[g + 1], pairs, holders, room
        )
    return holds, achieved, 0.0 if holds else max(lack, ROUNDING)


@inner
def judged_tally(goals, tally, g):
    """Judge one goal on the class in the tally; see `judged`."""
    return judged(goals, g, tally.counts, tally.pairs[g], tally.holders[g], tally.room)


@inner
def total_lack(goals, tally):
    """Return what a class lacks in people and in all goals: 0 when it is good."""
    lack = max(0, goals.k - tally.size[PEOPLE]) / goals.k
    for g in range(goals.kind.shape[0]):
        _, _, of_goal = judged_tally(goals, tally, g)
        lack += of_goal
    return lack


@inner
def is_good(goals, tally):
    """Return whether a class has k people and meets every goal."""
    if goals is None:
        return True
    if tally.size[PEOPLE] < goals.k:
        return False
    good = True
    for g in range(goals.kind.shape[0]):
        if good:
            good, _, _ = judged_tally(goals, tally, g)
    return good


@inner
def is_good_count(goals, tally, size, counts, pairs):
    """Return the same for a class that is counted elsewhere, each row a person. Writes the tally's room."""
    if goals is None:
        return True
    if size < goals.k:
        return False
    good = True
    for g in range(goals.kind.shape[0]):
        if good:
            good, _, _ = judged(goals, g, counts, pairs[g], pairs[g], tally.room)
    return good


@inner
def mark_helpful(goals, g, counts, pairs, holders, helpful, room):
    """Mark the values of which one more would bring a goal that fails nearer. Writes `helpful`, `room`."""
    holds, _, lack = judged(goals, g, counts, pairs, holders, room)
    for value in range(goals.begin[g], goals.begin[g + 1]):
        helpful[value] = False
        if not holds:
            counts[value] += 1
            _, _, with_one_more = judged(goals, g, counts, pairs + 1, holders + 1, room)
            helpful[value] = with_one_more < lack
            counts[value] -= 1


@inner
def mark_all_helpful(goals, tally, helpful):
    """Mark the values, of all goals, of which one more would help the class. Writes `helpful`."""
    if goals is not None:
        for g in range(goals.kind.shape[0]):
            mark_helpful(goals, g, tally.counts, tally.pairs[g], tally.holders[g], helpful, tally.room)


@inner
def helps(goals, tally, helpful, row):
    """Return whether a row brings the class a person that it lacks, or a value that helps."""
    if goals is None:
        return True
    if tally.size[PEOPLE] < goals.k and tally.seen[goals.person[row]] == 0:
        return True
    for g in range(goals.kind.shape[0]):
        value = goals.code[g, row]
        if value >= 0 and helpful[goals.begin[g] + value] and tally.seen_pair[g, goals.pair[g, row]] == 0:
            return True
    return False


@inner
def add_rows(goals, tally, rows, begin, end):
    """Count the rows listed from `begin` to `end`. Writes `tally`."""
    for at in range(begin, end):
        add(goals, tally, rows[at])


@inner
def remove_rows(goals, tally, rows, begin, end):
    """Take the rows listed from `begin` to `end` out again. Writes `tally`."""
    for at in range(begin, end):
        remove(goals, tally, rows[at])


@inner
def are_good(goals, tally, rows, begin, end):
    """Return whether the rows listed would make a good class. `tally` is empty before and after."""
    add_rows(goals, tally, rows, begin, end)
    good = is_good(goals, tally)
    remove_rows(goals, tally, rows, begin, end)
    return good


@entry
def count_rows(goals, tally, rows, joins):
    """Count the rows listed, or take them out again. Writes `tally`."""
    if joins:
        add_rows(goals, tally, rows, 0, rows.shape[0])
    else:
        remove_rows(goals, tally, rows, 0, rows.shape[0])


@entry
def judge_classes(goals, tally, rows, ends, stops, holds, achieved, people):
    """Judge every class, whose rows are adjacent in `rows` and end at `ends`; return whether all are good.

    Where `stops` is set, the first class that is not good is the last one judged. Writes `holds`
    (n_classes, G), `achieved` (n_classes, G) and `people` (n_classes). `tally` is the same before and after;
    what it counts already is counted with every class.
    """
    begin, good = 0, True
    for c in range(ends.shape[0]):
        add_rows(goals, tally, rows, begin, ends[c])
        people[c] = tally.size[PEOPLE]
        good &= people[c] >= goals.k
        for g in range(goals.kind.shape[0]):
            holds[c, g], achieved[c, g], _ = judged_tally(goals, tally, g)
            good &= holds[c, g]
        remove_rows(goals, tally, rows, begin, ends[c])
        begin = ends[c]
        if stops and not good:
            break
    return good


def all_good(goals: Goals, tally: Tally, rows: LongArray, ends: LongArray) -> bool:
    """Return whether all classes are good; their rows are adjacent in `rows` and end at `ends`."""
    n_classes, n_goals = len(ends), len(goals.kind)
    holds, achieved = np.zeros((n_classes, n_goals), np.bool_), np.zeros((n_classes, n_goals))
    people = np.zeros(n_classes, np.int64)
    return bool(judge_classes(goals, tally, rows, ends, True, holds, achieved, people))


def goals_met(goals: Goals, tally: Tally) -> BoolArray:
    """Return for each goal whether the class in the tally meets it."""
    holds, achieved = np.zeros((1, len(goals.kind)), np.bool_), np.zeros((1, len(goals.kind)))
    nobody, ends = np.zeros(0, np.int64), np.zeros(1, np.int64)
    judge_classes(goals, tally, nobody, ends, False, holds, achieved, np.zeros(1, np.int64))
    met: BoolArray = holds[0]
    return met
