"""What passes over all boxes work on (see `kernels.excess`): the tuples with their prices, and scratch."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from shoal.kernels.compiling import inner

STEPS_LEFT = 0  # of the state of a walk
ENOUGH = 1  # also of the state: an excess above it need not be known exactly
LOWEST = -(1 << 62)  # excess of a tuple for which no box has been found
HIGHEST = 1 << 61  # excess of a tuple that has more than enough
HALVINGS = 66  # open blocks of one range: two for each halving of first and of last values


class Priced(NamedTuple):
    """The distinct quasi tuples, m of them; columns in the order in which they are settled."""

    size: np.ndarray  # int64 (m): rows
    code: np.ndarray  # int32 (n_columns, m): leaf in a tree, or number among the values of a range
    level_at: np.ndarray  # int64 (n_tree + 1): where a tree's levels begin
    node_at: np.ndarray  # int64 (levels): where the nodes of a level's leaves begin
    node: np.ndarray  # int32 (leaves of all levels): the highest node of the level over each leaf
    height: np.ndarray  # int32 (nodes of all trees): fixed-point cost
    position: np.ndarray  # int32 (values of all ranges): missing values lie at 2 x span
    position_to: np.ndarray  # int32 (values of all ranges): the last of those taken together, else the same
    position_at: np.ndarray  # int64 (n_range): where a range's positions begin
    span: np.ndarray  # int32 (n_range): the cost of a whole range


class Walk(NamedTuple):
    """Scratch of one thread. The rows left at each depth are listed twice, each tree's part by part."""

    price: np.ndarray  # int64 (m): what is walked with
    by_price: np.ndarray  # int32 (n_columns + 2, m): tuples, highest price first
    by_value: np.ndarray  # int32 (n_columns + 2, m): the same, by the value in the last range
    begin: np.ndarray  # int64 (n_columns + 2): the rows left at a depth
    end: np.ndarray  # int64 (n_columns + 2)
    cost: np.ndarray  # int64 (n_columns + 2): what is settled costs
    most: np.ndarray  # int64 (n_columns + 2): the highest sum of prices of k rows left, as allowed
    least: np.ndarray  # int64 (n_columns + 2): the least excess so far of a tuple left
    level: np.ndarray  # int64 (n_columns): of a tree: which one is cut at
    part: np.ndarray  # int64 (n_columns): which of its parts is next
    n_parts: np.ndarray  # int64 (n_columns)
    part_node: np.ndarray  # int32 (n_columns, m)
    part_end: np.ndarray  # int64 (n_columns, m)
    part_rows: np.ndarray  # int64 (n_columns, m): -1 for a part that a lower node covers as well
    before: np.ndarray  # int32 (m): of a part: the node of the level below that covers its first tuple
    to_price: np.ndarray  # int64 (m): of a part: where its next tuple goes
    to_value: np.ndarray  # int64 (m)
    slot: np.ndarray  # int32 (nodes of all trees): the part of a node, -1 for none
    value: np.ndarray  # int64 (n_columns, m): the values of a range that are left
    n_open: np.ndarray  # int64 (n_columns): its open blocks
    block: np.ndarray  # int64 (n_columns, halvings, 4): first values from, to; last values from, to
    lo: np.ndarray  # int64 (n_columns): node of a tree, or first value of a range
    hi: np.ndarray  # int64 (n_columns): node of a tree, or last value of a range
    rank: np.ndarray  # int64 (m): of a sweep: the price of each tuple by number, from 1 for the lowest
    place: np.ndarray  # int64 (m): positions, by value
    place_by_price: np.ndarray  # int64 (m): positions, by price
    rank_at: np.ndarray  # int64 (m): ranks, by value
    heap: np.ndarray  # int64 (m + 1): ranks of the rows passed with the highest prices
    start: np.ndarray  # int64 (m + 1): where first values begin
    found: np.ndarray  # int64 (m): excess by last value
    found_end: np.ndarray  # int64 (m): where the last value ends
    by_rank: np.ndarray  # int64 (m): of a range with many values (`kernels.reach`): rows, highest price first
    top: np.ndarray  # int64 (m + halvings): of each block: the sum of its k highest prices
    lacking: np.ndarray  # int64 (m + halvings): rows that it has fewer than k
    rooms: np.ndarray  # int64 (2 m): what boxes may cost that begin with a row
    room: np.ndarray  # int64 (halvings, 3): open blocks of first values: from, to, the room left
    state: np.ndarray  # int64 (2): STEPS_LEFT, ENOUGH


def empty_walk(priced: Priced) -> Walk:
    """Make room for one thread."""
    n, m = priced.code.shape
    lists = np.zeros((2, n + 2, m), np.int32)
    begin, end, cost, most, least = np.zeros((5, n + 2), np.int64)
    level, part, n_parts, n_open, lo, hi = np.zeros((6, max(n, 1)), np.int64)
    numbers = np.zeros((12, m + 1), np.int64)
    return Walk(
        price=numbers[0, :m], by_price=lists[0], by_value=lists[1], begin=begin, end=end, cost=cost,
        most=most, least=least, level=level, part=part, n_parts=n_parts,
        part_node=np.zeros((n, m), np.int32), part_end=np.zeros((n, m), np.int64),
        part_rows=np.zeros((n, m), np.int64), before=np.zeros(m, np.int32), to_price=numbers[1, :m],
        to_value=numbers[2, :m], slot=np.full(len(priced.height), -1, np.int32),
        value=np.zeros((n, m), np.int64), n_open=n_open, block=np.zeros((n, HALVINGS, 4), np.int64),
        lo=lo, hi=hi, rank=numbers[3, :m], place=numbers[4, :m], place_by_price=numbers[5, :m],
        rank_at=numbers[6, :m], heap=numbers[7], start=numbers[8], found=numbers[9, :m],
        found_end=numbers[10, :m], by_rank=numbers[11, :m],
        top=np.zeros(m + HALVINGS, np.int64), lacking=np.zeros(m + HALVINGS, np.int64),
        rooms=np.zeros(2 * m, np.int64), room=np.zeros((HALVINGS, 3), np.int64),
        state=np.array([0, HIGHEST]),
    )  # fmt: skip


@inner
def note(walk, one, value, low, high, excess, box):
    """Raise the excess of a tuple and note the box. Writes `excess`, `box`.

    A tuple that has enough is out of the way: nothing is searched for its sake any more.
    """
    excess[one] = value if value <= walk.state[ENOUGH] else np.int64(HIGHEST)
    n = walk.lo.shape[0]
    for col in range(n):
        box[one, col] = walk.lo[col]
        box[one, n + col] = walk.hi[col]
    if low >= 0:
        box[one, n - 1] = low
        box[one, 2 * n - 1] = high
