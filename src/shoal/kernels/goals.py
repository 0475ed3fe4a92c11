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
from numba import njit

from shoal.kernels.unmanaged import managed, unmanaged

# From EQUAL on, a class is compared with the whole release.
DISTINCT, FREQUENCY, ENTROPY, RECURSIVE, ALPHA, EQUAL, ORDERED, TREE, BASIC, ENHANCED, DELTA = range(11)
ROUNDING = 1e-9  # by which an entropy may fall short: it is a sum of rounded logarithms


class Goals(NamedTuple):
    """The goals, and the value and the person of each row. G goals, n rows, V values of all goals."""

    active: bool  # False: k counts rows and nothing else is asked for
    k: int  # people that a class needs
    kind: np.ndarray  # int64 (G)
    bound: np.ndarray  # float64 (G): l, t, alpha, beta or delta
    second: np.ndarray  # float64 (G): c
    begin: np.ndarray  # int64 (G + 1): where each goal's values begin among all V
    code: np.ndarray  # int32 (G, n): the value of each row, -1 for none
    person: np.ndarray  # int32 (n)
    pair: np.ndarray  # int32 (G, n): a number for each person with a value, -1 for none
    whole: np.ndarray  # int64 (V): how many people of the whole release have each value
    parent: np.ndarray  # int32 (nodes): of the trees, one goal after the other; -1 for a root
    height: np.ndarray  # int64 (nodes)
    node_at: np.ndarray  # int64 (G + 1): where each goal's nodes begin
    leaf_node: np.ndarray  # int32 (V): the node of each value, counted within its tree


class Tally(NamedTuple):
    """The people of one class, and what they have."""

    counts: np.ndarray  # int64 (V)
    pairs: np.ndarray  # int64 (G)
    holders: np.ndarray  # int64 (G)
    size: np.ndarray  # int64 (2): people, rows
    seen: np.ndarray  # int32 (people): rows of each person in the class
    seen_holder: np.ndarray  # int32 (G, people): those with a value
    seen_pair: np.ndarray  # int32 (G, most pairs)


def no_goals(k: int) -> Goals:
    """Ask for nothing but k rows."""
    none, empty = np.zeros(0, np.int64), np.zeros((0, 0), np.int32)
    return Goals(
        False, k, none, np.zeros(0), np.zeros(0), np.zeros(1, np.int64), empty, np.zeros(0, np.int32), empty,
        none, np.zeros(0, np.int32), none, np.zeros(1, np.int64), np.zeros(0, np.int32),
    )  # fmt: skip


def empty_tally(goals: Goals) -> Tally:
    """Make a tally of a class without rows."""
    n_goals, n_people = len(goals.kind), int(goals.person.max(initial=-1)) + 1
    return Tally(
        np.zeros(int(goals.begin[-1]), np.int64), np.zeros(n_goals, np.int64), np.zeros(n_goals, np.int64),
        np.zeros(2, np.int64), np.zeros(n_people, np.int32), np.zeros((n_goals, n_people), np.int32),
        np.zeros((n_goals, int(goals.pair.max(initial=-1)) + 1), np.int32),
    )  # fmt: skip


@unmanaged
def add(goals, tally, row):
    """Count one more row. Writes `tally`."""
    person = goals.person[row]
    tally.size[0] += tally.seen[person] == 0
    tally.size[1] += 1
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


@unmanaged
def remove(goals, tally, row):
    """Count one row less. Writes `tally`."""
    person = goals.person[row]
    tally.seen[person] -= 1
    tally.size[0] -= tally.seen[person] == 0
    tally.size[1] -= 1
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


@njit(cache=True)
def distinct_values(count):
    """Return how many values a class has."""
    found = 0
    for value in range(count.shape[0]):
        found += count[value] > 0
    return found


@njit(cache=True)
def entropy_number(count, pairs):
    """Return the exponential of the entropy: m when m values are equally frequent, 0 without any."""
    if pairs == 0:
        return 0.0
    total = 0.0
    for value in range(count.shape[0]):
        if count[value] > 0:
            share = count[value] / pairs
            total -= share * np.log(share)
    return np.exp(total)


@njit(cache=True)
def recursive_l(count, c):
    """Return the largest l for which r1 < c (r_l + ... + r_m), 0 for none."""
    ordered = np.sort(count)
    most = ordered[-1] if ordered.shape[0] > 0 else 0
    tail = np.int64(0)
    for at in range(ordered.shape[0]):
        tail += ordered[at]
        if tail > 0 and most / tail < c:
            return ordered.shape[0] - at
    return 0


@njit(cache=True)
def recursive_tail(count, times):
    """Return r1 and r_l + ... + r_m, the counts in descending order."""
    ordered = np.sort(count)
    size = ordered.shape[0]
    tail = np.int64(0)
    for at in range(size - times + 1):
        tail += ordered[at]
    return (ordered[size - 1] if size > 0 else np.int64(0)), tail


@njit(cache=True)
def equal_distance(count, pairs, whole, total):
    """Return half the sum of the absolute differences between the shares of two distributions."""
    moved = 0.0
    for value in range(count.shape[0]):
        moved += abs(count[value] * total - whole[value] * pairs)
    return moved / (2.0 * pairs * total)


@njit(cache=True)
def ordered_distance(count, pairs, whole, total):
    """Return the sum of the absolute cumulative differences, over m - 1 for m values of the release."""
    carried, moved, m = np.int64(0), 0.0, 0
    for value in range(count.shape[0]):
        if whole[value] > 0:  # a value that was left out altogether is no step
            carried += count[value] * total - whole[value] * pairs
            moved += abs(carried)
            m += 1
    return moved / ((m - 1.0) * pairs * total) if m > 1 else 0.0


@njit(cache=True)
def tree_distance(count, pairs, whole, total, parent, height, leaf_node):
    """Return the earth mover's distance in a tree, by evening out what children have too much.

    Two leaves are apart by the height of the lowest node over both, over the tree's.
    """
    n_nodes = parent.shape[0]
    if n_nodes == 0 or height[0] == 0:
        return 0.0
    plus, minus = np.zeros(n_nodes, np.int64), np.zeros(n_nodes, np.int64)
    for value in range(count.shape[0]):
        extra = count[value] * total - whole[value] * pairs
        node = leaf_node[value]
        if extra > 0:
            plus[node] = extra
        else:
            minus[node] = -extra
    moved = 0.0
    for node in range(n_nodes - 1, -1, -1):  # parents come before their children
        evened = min(plus[node], minus[node])
        moved += height[node] * np.float64(evened)
        if parent[node] >= 0:
            plus[parent[node]] += plus[node] - evened
            minus[parent[node]] += minus[node] - evened
    return moved / (height[0] * np.float64(pairs) * total)


@njit(cache=True)
def gain(count, pairs, whole, total):
    """Return by how much one value's share grows, relative to its share in the whole release."""
    return (count * total - whole * pairs) / (np.float64(whole) * pairs)


@njit(cache=True)
def likeness(count, pairs, whole, total, beta, enhanced):
    """Return the largest gain, and the largest one in proportion to what is allowed."""
    largest, nearest = 0.0, 0.0
    for value in range(count.shape[0]):
        if count[value] > 0 and whole[value] == 0:
            return np.inf, np.inf  # only when it is tried out what a value that nobody has would do
        if count[value] * total > whole[value] * pairs:
            grows = gain(count[value], pairs, whole[value], total)
            surprise = -np.log(whole[value] / total)
            limit = min(beta, surprise) if enhanced else beta
            largest = max(largest, np.inf if enhanced and grows > surprise else grows)
            nearest = max(nearest, grows / limit)
    return largest, nearest


@njit(cache=True)
def disclosure(count, pairs, whole, total):
    """Return the largest |ln(q/p)| of the values that the class has, and how many it lacks."""
    largest, absent = 0.0, 0
    for value in range(count.shape[0]):
        if whole[value] > 0 and count[value] == 0:
            absent += 1
        elif whole[value] > 0:
            ratio = (count[value] * np.float64(total)) / (np.float64(whole[value]) * pairs)
            largest = max(largest, abs(np.log(ratio)))
    return largest, absent


@njit(cache=True)
def judged_alone(kind, bound, second, count, pairs, holders):
    """Judge a class by its own values; see `judged`."""
    if kind == DISTINCT:
        found = np.float64(distinct_values(count))
        return found >= bound, found, (bound - found) / bound
    if kind == ENTROPY:
        number = entropy_number(count, pairs)
        return number >= bound - ROUNDING, number, (bound - number) / bound
    if kind == RECURSIVE:
        first, tail = recursive_tail(count, int(bound))
        holds = tail > 0 and first / tail < second
        lack = (first - second * tail) / pairs if pairs > 0 else 2.0  # any value is better than none
        return holds, np.float64(recursive_l(count, second)), lack
    most = count.max() if count.shape[0] > 0 else 0
    share = most / holders if holders > 0 else 0.0
    if kind == FREQUENCY:
        number = np.float64(holders // most) if most > 0 else np.inf
        return bound * most <= holders, number, share * bound - 1.0
    return share <= bound, share, share / bound - 1.0


@njit(cache=True)
def judged_beside(goals, g, kind, bound, count, pairs):
    """Judge a class beside the whole release; see `judged`."""
    begin, end = goals.begin[g], goals.begin[g + 1]
    whole = goals.whole[begin:end]
    total = whole.sum()
    if pairs == 0:
        return True, 0.0, 0.0  # whoever finds a person there knows no more than the table tells
    if kind in (BASIC, ENHANCED):
        largest, nearest = likeness(count, pairs, whole, total, bound, kind == ENHANCED)
        return largest <= bound, largest, nearest - 1.0
    if kind == DELTA:
        largest, absent = disclosure(count, pairs, whole, total)
        lack = absent + max(0.0, largest / bound - 1.0)
        return absent == 0 and largest < bound, np.inf if absent else largest, lack
    if kind == EQUAL:
        far = equal_distance(count, pairs, whole, total)
    elif kind == ORDERED:
        far = ordered_distance(count, pairs, whole, total)
    else:
        first, last = goals.node_at[g], goals.node_at[g + 1]
        far = tree_distance(
            count, pairs, whole, total, goals.parent[first:last], goals.height[first:last],
            goals.leaf_node[begin:end],
        )  # fmt: skip
    return far <= bound, far, far - bound


@njit(cache=True)
def judged(goals, g, count, pairs, holders):
    """Judge one goal on the counts of a class: whether it holds, the number achieved, what it lacks.

    What a class lacks is 0 when the goal holds, and above 0 the more, the further it is from it.
    """
    kind, bound = goals.kind[g], goals.bound[g]
    if kind >= EQUAL:
        holds, achieved, lack = judged_beside(goals, g, kind, bound, count, pairs)
    else:
        holds, achieved, lack = judged_alone(kind, bound, goals.second[g], count, pairs, holders)
    return holds, achieved, 0.0 if holds else max(lack, ROUNDING)


@njit(cache=True)
def own_counts(goals, tally, g):
    """Return the part of the counts that one goal is about."""
    return tally.counts[goals.begin[g] : goals.begin[g + 1]]


@managed
def total_lack(goals, tally):
    """Return what a class lacks in people and in all goals: 0 when it is good."""
    lack = max(0, goals.k - tally.size[0]) / goals.k
    for g in range(goals.kind.shape[0]):
        lack += judged(goals, g, own_counts(goals, tally, g), tally.pairs[g], tally.holders[g])[2]
    return lack


@managed
def is_good(goals, tally):
    """Tell whether a class has k people and meets every goal."""
    if tally.size[0] < goals.k:
        return False
    for g in range(goals.kind.shape[0]):
        if not judged(goals, g, own_counts(goals, tally, g), tally.pairs[g], tally.holders[g])[0]:
            return False
    return True


@njit(cache=True)
def mark_helpful(goals, g, count, pairs, holders, helpful):
    """Mark the values of which one more would bring a goal that fails nearer. Writes `helpful`."""
    holds, _, lack = judged(goals, g, count, pairs, holders)
    helpful[:] = False
    if holds:
        return
    for value in range(count.shape[0]):
        count[value] += 1
        helpful[value] = judged(goals, g, count, pairs + 1, holders + 1)[2] < lack
        count[value] -= 1


@managed
def mark_all_helpful(goals, tally, helpful):
    """Mark the values, of all goals, of which one more would help the class. Writes `helpful`."""
    for g in range(goals.kind.shape[0]):
        part = helpful[goals.begin[g] : goals.begin[g + 1]]
        mark_helpful(goals, g, own_counts(goals, tally, g), tally.pairs[g], tally.holders[g], part)


@unmanaged
def helps(goals, tally, helpful, row):
    """Tell whether a row brings the class a person that it lacks, or a value that helps."""
    if tally.size[0] < goals.k and tally.seen[goals.person[row]] == 0:
        return True
    for g in range(goals.kind.shape[0]):
        value = goals.code[g, row]
        if value >= 0 and helpful[goals.begin[g] + value] and tally.seen_pair[g, goals.pair[g, row]] == 0:
            return True
    return False


@unmanaged
def add_rows(goals, tally, rows):
    """Count the rows listed. Writes `tally`."""
    for row in rows:
        add(goals, tally, row)


@unmanaged
def remove_rows(goals, tally, rows):
    """Take the rows listed out again. Writes `tally`."""
    for row in rows:
        remove(goals, tally, row)


@njit(cache=True)
def are_good(goals, tally, rows):
    """Tell whether the rows listed would make a good class. `tally` is empty before and after."""
    add_rows(goals, tally, rows)
    good = is_good(goals, tally)
    remove_rows(goals, tally, rows)
    return good


@njit(cache=True)
def all_good(goals, tally, rows, ends):
    """Tell whether all classes are good; their rows stand together in `rows` and end at `ends`."""
    begin = 0
    for end in ends:
        if not are_good(goals, tally, rows[begin:end]):
            return False
        begin = end
    return True


@njit(cache=True)
def judge_classes(goals, tally, rows, ends, holds, achieved, people):
    """Judge every class, whose rows stand together in `rows` and end at `ends`.

    Writes `holds` (n_classes, G), `achieved` (n_classes, G) and `people` (n_classes). `tally` is
    empty before and after.
    """
    begin = 0
    for c in range(ends.shape[0]):
        members = rows[begin : ends[c]]
        add_rows(goals, tally, members)
        people[c] = tally.size[0]
        for g in range(goals.kind.shape[0]):
            count = own_counts(goals, tally, g)
            found = judged(goals, g, count, tally.pairs[g], tally.holders[g])
            holds[c, g], achieved[c, g] = found[0], found[1]
        remove_rows(goals, tally, members)
        begin = ends[c]
