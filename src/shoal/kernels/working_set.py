"""A working set of boxes: their excess at given prices, the best one over each tuple, and what they load.

For the ascent of `bound.prices`. Excess is exact, in whole numbers; loads only say in which direction prices
should change, so they are floats.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from shoal.kernels.allowance import begin_counting, count, has_values, in_rows, units_of
from shoal.kernels.box_walk import LOWEST
from shoal.kernels.compiling import entry, inner
from shoal.kernels.sorting import sort_front

N_BUCKETS = 512  # of tuples by price
_FAINT = 8.0  # times the softness: a box so far below the best has no share of a row's vote


class Boxes(NamedTuple):
    """The boxes, b of them, and the tuples inside each, one behind the other."""

    begin: np.ndarray  # int64 (b + 1): where a box's tuples begin
    inside: np.ndarray  # int32 (tuples of all boxes)
    cost: np.ndarray  # int64 (b)
    size: np.ndarray  # int64 (m): rows of each tuple


class Weighed(NamedTuple):
    """What is found for each box and tuple at some prices."""

    excess: np.ndarray  # int64 (b): k times the excess of each box
    lowest: np.ndarray  # int64 (b): the bucket of the k-th highest price; not with an allowance
    part: np.ndarray  # float64 (b): the share of that bucket that is among the k highest; the same
    votes: np.ndarray  # float64 (b): of how many rows it is the best box
    best: np.ndarray  # int64 (m): k times the greatest excess of a box over each tuple
    which: np.ndarray  # int32 (m): that box, -1 for none
    total: np.ndarray  # float64 (m): scratch
    load: np.ndarray  # float64 (m): how often the best boxes count each row
    tally: np.ndarray  # int64 (buckets): scratch
    key: np.ndarray  # int64 (m): scratch
    chosen: np.ndarray  # int64 (m): scratch: of one box, the tuples of a class,
    units: np.ndarray  # int64 (m): and what each counts


def empty_weighed(n_boxes: int, m: int) -> Weighed:
    """Make room for the results."""
    return Weighed(
        np.zeros(n_boxes, np.int64), np.zeros(n_boxes, np.int64), np.zeros(n_boxes), np.zeros(n_boxes),
        np.zeros(m, np.int64), np.zeros(m, np.int32), np.zeros(m), np.zeros(m),
        np.zeros(N_BUCKETS, np.int64), *np.zeros((3, m), np.int64),
    )  # fmt: skip


@entry
def list_inside(code, low, high, by_value, first, stop, begin, inside, counts_only):
    """List the tuples inside each box. Writes `begin`, and `inside` unless they are only counted.

    first, stop: where the tuples inside a box in the last column are in `by_value`.
    """
    n_columns = code.shape[0]
    for box in range(low.shape[0]):
        to = begin[box]
        for at in range(first[box], stop[box]):
            one, col = by_value[at], n_columns - 2
            while col >= 0 and low[box, col] <= code[col, one] <= high[box, col]:
                col -= 1
            if col < 0:
                if not counts_only:
                    inside[to] = one
                to += 1
        begin[box + 1] = to


@inner
def highest_of_bucket(boxes, box, bucket, left, price, rank, by_rank, weighed):
    """Return the sum of the highest prices of so many rows of a box that are in one bucket."""
    n = 0
    for at in range(boxes.begin[box], boxes.begin[box + 1]):
        one = boxes.inside[at]
        if rank[one] * N_BUCKETS // rank.shape[0] == bucket:
            weighed.key[n] = rank[one]
            n += 1
    sort_front(weighed.key, n)
    total = np.int64(0)
    while left > 0:
        n -= 1
        one = by_rank[weighed.key[n]]
        rows = min(left, boxes.size[one])
        total += rows * price[one]
        left -= rows
    return total


@inner
def weigh_box(boxes, box, k, price, rank, by_rank, weighed):
    """Find the excess of one box. Writes `weighed`."""
    m, tally = rank.shape[0], weighed.tally
    for at in range(boxes.begin[box], boxes.begin[box + 1]):
        one = boxes.inside[at]
        tally[rank[one] * N_BUCKETS // m] += boxes.size[one]
    bucket, left = N_BUCKETS - 1, k
    while tally[bucket] < left:
        left -= tally[bucket]
        bucket -= 1
    weighed.lowest[box], weighed.part[box] = bucket, left / tally[bucket]
    total = np.int64(0)
    for at in range(boxes.begin[box], boxes.begin[box + 1]):
        one = boxes.inside[at]
        own = rank[one] * N_BUCKETS // m
        tally[own] = 0
        if own > bucket:
            total += boxes.size[one] * price[one]
    total += highest_of_bucket(boxes, box, bucket, left, price, rank, by_rank, weighed)
    weighed.excess[box] = total - k * boxes.cost[box]


@inner
def choose_class(boxes, allowance, box, k, rank, by_rank, weighed):
    """Choose the rows of highest price in a box that a class may have; return how many tuples have any.

    0 if no class that meets the goal is inside. Writes `allowance`, `weighed`: the tuples and their units.
    """
    n = boxes.begin[box + 1] - boxes.begin[box]
    for at in range(n):
        weighed.key[at] = rank[boxes.inside[boxes.begin[box] + at]]
    sort_front(weighed.key, n)
    begin_counting(allowance)
    left, n_chosen = units_of(allowance, k), np.int64(0)
    for turn in range(n):
        one = by_rank[weighed.key[n - 1 - turn]]
        units = count(allowance, one, boxes.size[one], left)
        left -= units
        if units > 0:
            weighed.chosen[n_chosen], weighed.units[n_chosen] = one, units
            n_chosen += 1
        if left == 0 and has_values(allowance):
            return n_chosen
    return np.int64(0)


@inner
def weigh_class(boxes, allowance, box, k, price, rank, by_rank, weighed):
    """Find the excess of one box by the classes that the goal allows in it. Writes `allowance`, `weighed`."""
    n_chosen = choose_class(boxes, allowance, box, k, rank, by_rank, weighed)
    if n_chosen == 0:
        weighed.excess[box] = LOWEST
        return
    total = np.int64(0)
    for at in range(n_chosen):
        total += weighed.units[at] * price[weighed.chosen[at]]
    weighed.excess[box] = in_rows(allowance, total) - k * boxes.cost[box]


@entry
def weigh(boxes, allowance, k, price, rank, by_rank, weighed):
    """Find the excess of each box, and the best one over each tuple. Writes `weighed`.

    rank: the number of each tuple by price, from 0 for the lowest. by_rank: the tuple with each number.
    Each box has at least k rows; a tuple in no box has an excess of LOWEST.
    """
    for one in range(rank.shape[0]):
        weighed.best[one], weighed.which[one] = LOWEST, -1
    for box in range(boxes.cost.shape[0]):
        if allowance is None:
            weigh_box(boxes, box, k, price, rank, by_rank, weighed)
        else:
            weigh_class(boxes, allowance, box, k, price, rank, by_rank, weighed)
        for at in range(boxes.begin[box], boxes.begin[box + 1]):
            one = boxes.inside[at]
            if weighed.excess[box] > weighed.best[one]:
                weighed.best[one] = weighed.excess[box]
                weighed.which[one] = box


@inner
def share_of(below, softness):
    """Return the share of a vote of a box so far below the best: 1 at 0, near exp(below / softness)."""
    if below <= -_FAINT * softness:
        return 0.0
    share = 1.0 + below / (_FAINT * softness)
    share *= share
    share *= share
    return share * share


@inner
def vote(boxes, softness, cut, weighed):
    """Let each row share its vote among the boxes near the best one over it. Writes `weighed`."""
    n = boxes.cost.shape[0]
    for one in range(weighed.total.shape[0]):
        weighed.total[one] = 0.0
        if weighed.which[one] >= 0:
            weighed.votes[weighed.which[one]] = -1.0  # the best of somebody: it takes part
    for again in range(2):
        for box in range(n):
            if weighed.votes[box] == 0.0 and weighed.excess[box] <= cut:
                continue
            votes = 0.0
            for at in range(boxes.begin[box], boxes.begin[box + 1]):
                one = boxes.inside[at]
                share = share_of(np.float64(weighed.excess[box] - weighed.best[one]), softness)
                if again == 0:
                    weighed.total[one] += share
                elif share > 0.0:
                    votes += boxes.size[one] * share / weighed.total[one]
            if again == 1:
                weighed.votes[box] = votes


@inner
def load_highest(boxes, box, rank, votes, weighed):
    """Count the rows of highest price inside a box. Writes `weighed`."""
    m = rank.shape[0]
    for at in range(boxes.begin[box], boxes.begin[box + 1]):
        one = boxes.inside[at]
        bucket = rank[one] * N_BUCKETS // m
        if bucket > weighed.lowest[box]:
            weighed.load[one] += votes
        elif bucket == weighed.lowest[box]:
            weighed.load[one] += votes * weighed.part[box]


@inner
def load_class(boxes, allowance, box, k, rank, by_rank, votes, weighed):
    """Count the rows of highest price that the goal allows in a class. Writes `allowance`, `weighed`."""
    for at in range(choose_class(boxes, allowance, box, k, rank, by_rank, weighed)):
        one = weighed.chosen[at]
        weighed.load[one] += votes * weighed.units[at] / (boxes.size[one] * allowance.unit)


@entry
def load_rows(boxes, allowance, k, rank, by_rank, softness, cut, weighed):
    """Find how often the rows of each tuple are counted by the best boxes. Writes `allowance`, `weighed`.

    Each row votes for the best box over it if it has one, with a softness also for others that are nearly as
    good (above `cut`, or the best of another row). A vote counts the k rows of highest price inside the box,
    1 / k each.
    """
    for box in range(boxes.cost.shape[0]):
        weighed.votes[box] = 0.0
    for one in range(rank.shape[0]):
        weighed.load[one] = 0.0
    if softness > 0.0:
        vote(boxes, softness, cut, weighed)
    else:
        for one in range(rank.shape[0]):
            if weighed.which[one] >= 0:
                weighed.votes[weighed.which[one]] += boxes.size[one]
    for box in range(boxes.cost.shape[0]):
        if weighed.votes[box] <= 0.0:
            continue
        if allowance is None:
            load_highest(boxes, box, rank, weighed.votes[box] / k, weighed)
        else:
            load_class(boxes, allowance, box, k, rank, by_rank, weighed.votes[box] / k, weighed)
