"""What a part of all boxes has at most, judged by rows that are left out (see `kernels.box_parts`).

A part has n candidate rows, and each of its boxes holds at least k of them, so it leaves out n - k at most.
It does so column by column: a candidate is outside if it is beyond an end in some column. Let each row j have
a *charge* c_jx, 0 or more, for being left out in column x, and let c_j be the sum of its charges. For a box B
that leaves out the rows E,

    k D(B) + sum of c_j over E  >=  sum over columns of m_x,

where m_x is the least of k times the width and the charges of the rows left out, over all intervals of column
x that a box of the part can have and that leave out n - k rows at most. The k rows of highest price in B are
not in E, so E is charged no more than all candidates less those k. With p the prices,

    k excess(B)  <=  sum of all c_j + (the k greatest p_j - c_j) - sum of m_x.

That holds for any charges. Good ones are found step by step: a row that is among the k, but outside in some
column, is charged more there; one that is not, but inside in some column, less. Charges are kept from part to
part. If no charges give up a part, the last ones may still show that no better box holds some candidate, or
that all of them reach further at some end.

All numbers are whole. Steps and charges are limited, so that none of them overflows.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from shoal.kernels.compiling import inner
from shoal.kernels.smallest_box import STEPS_LEFT
from shoal.kernels.sorting import ranked, sort_front

MOST = 1024  # candidates of a part that is judged in this way
_AT_BITS = 10  # of a key: the place of a candidate of the part
_FAR_BITS = 20  # the same, where a key begins with a reach
_STEPS = 6  # at most
_HOPELESS_AFTER, _HOPELESS = 3, 70  # after this step, no more if over so many per cent of the excess are left
_FURTHER = 100  # a step aims at one in so many of what a box may cost beyond the best excess
_HIGHEST = 1 << 36  # step, and sum of charges that is raised any more
_MOST_CHARGED = 1 << 26  # rows left out, times columns and one: what they are charged stays below 1 << 63


class Charges(NamedTuple):
    """Charges of c candidates in n columns, and scratch of one thread. Ends are 2 col + DOWN, 2 col + UP."""

    charge: np.ndarray  # int64 (n, c): what leaving out a row of a candidate costs
    total: np.ndarray  # int64 (c): the same in all columns
    outside: np.ndarray  # int64 (c): bits: in which columns the cheapest interval leaves it out
    dearer: np.ndarray  # int64 (c): scratch: by how much less a box has at most if it holds the candidate
    out: np.ndarray  # int32 (2 n, most): the candidates beyond what an end reaches at least, furthest first
    reach: np.ndarray  # int64 (2 n, most + 1): how far an end reaches if so many of them are left out
    rows: np.ndarray  # int64 (2 n, most + 1): how many rows these are
    n_out: np.ndarray  # int64 (2 n): how many of them may be left out
    cost: np.ndarray  # int64 (2, most + 1): scratch: of the reach and the charges, by how many are left out
    least: np.ndarray  # int64 (most + 1): scratch: the least cost up to here
    least_at: np.ndarray  # int64 (most + 1): scratch: and where it is
    both: np.ndarray  # int64 (most + 1): scratch: the least cost of both ends, by how many one leaves out
    key: np.ndarray  # int64 (most): scratch


def empty_charges(n: int, c: int) -> Charges:
    """Make room for one thread: n columns, c candidates."""
    total, outside, dearer = np.zeros((3, c), np.int64)
    reach, rows = np.zeros((2, 2 * n, MOST + 1), np.int64)
    least, least_at, both = np.zeros((3, MOST + 1), np.int64)
    return Charges(
        charge=np.zeros((n, c), np.int64),
        total=total,
        outside=outside,
        dearer=dearer,
        out=np.zeros((2 * n, MOST), np.int32),
        reach=reach,
        rows=rows,
        n_out=np.zeros(2 * n, np.int64),
        cost=np.zeros((2, MOST + 1), np.int64),
        least=least,
        least_at=least_at,
        both=both,
        key=np.zeros(MOST, np.int64),
    )


@inner
def forget_charges(charges, n):
    """Charge the first n candidates nothing."""
    for at in range(n):
        charges.total[at] = 0
        for col in range(charges.charge.shape[0]):
            charges.charge[col, at] = 0


@inner
def list_end(search, left, end, low, spare, charges):
    """List the candidates that an end may leave out, `spare` rows at most. Writes `charges`."""
    offset, sign, key = search.offset[end // 2], 2 * (end % 2) - 1, charges.key
    out, reach, rows = charges.out[end], charges.reach[end], charges.rows[end]
    n = np.int64(0)
    for at in range(left.shape[0]):
        far = sign * np.int64(offset[left[at]])
        if far > low:
            key[n] = (-far << _FAR_BITS) + at
            n += 1
    sort_front(key, n)
    n_out, gone = np.int64(0), np.int64(0)
    rows[0], reach[0] = 0, low
    if n > 0:
        reach[0] = -(key[0] >> _FAR_BITS)
    while n_out < n:
        candidate = left[key[n_out] & ((1 << _FAR_BITS) - 1)]
        gone += search.size[candidate]
        if gone > spare:
            break
        out[n_out] = candidate
        n_out += 1
        rows[n_out] = gone
        reach[n_out] = low
        if n_out < n:
            reach[n_out] = -(key[n_out] >> _FAR_BITS)
    charges.n_out[end] = n_out


@inner
def fill_costs(search, col, end, k, charges):
    """Find what reaching so far, k times, and leaving out the rest costs at one end. Writes `charges`."""
    side = 2 * col + end
    charge, out, reach, cost = charges.charge[col], charges.out[side], charges.reach[side], charges.cost[end]
    total = np.int64(0)
    cost[0] = k * reach[0]
    for at in range(charges.n_out[side]):
        total += search.size[out[at]] * charge[out[at]]
        cost[at + 1] = k * reach[at + 1] + total


@inner
def join_ends(col, end, spare, charges):
    """Find the least cost of both ends of a column, by how many `end` leaves out. Writes `charges`."""
    side, other = 2 * col + end, 2 * col + 1 - end
    cost, others, least, least_at = charges.cost[end], charges.cost[1 - end], charges.least, charges.least_at
    rows, other_rows = charges.rows[side], charges.rows[other]
    least[0], least_at[0] = others[0], 0
    for at in range(1, charges.n_out[other] + 1):
        least[at], least_at[at] = least[at - 1], least_at[at - 1]
        if others[at] < least[at]:
            least[at], least_at[at] = others[at], at
    most = charges.n_out[other]
    for at in range(charges.n_out[side] + 1):
        while other_rows[most] + rows[at] > spare:
            most -= 1
        charges.both[at] = cost[at] + least[most]


@inner
def cheapest_interval(search, col, k, spare, charges):
    """Return the least cost of a column's interval, and how many candidates it leaves out, down and up."""
    fill_costs(search, col, 0, k, charges)
    fill_costs(search, col, 1, k, charges)
    join_ends(col, 1, spare, charges)
    up, most = np.int64(0), charges.n_out[2 * col]
    for at in range(charges.n_out[2 * col + 1] + 1):
        if charges.both[at] < charges.both[up]:
            up = np.int64(at)
    while charges.rows[2 * col, most] + charges.rows[2 * col + 1, up] > spare:
        most -= 1
    whole = k * np.int64(search.most[col])
    if whole < charges.both[up]:
        return whole, np.int64(0), np.int64(0)
    return charges.both[up], charges.least_at[most], up


@inner
def key_of(prices, charges, candidate, at):
    """Return a key that sorts candidates by price less charges, the greatest first."""
    return ((charges.total[candidate] - prices.own[candidate]) << _AT_BITS) + at


@inner
def charge_all(search, prices, left, k, has_equal, charges):
    """Return the sum of all charges and of the k greatest prices less charges; and the key of the last."""
    key, total, n = charges.key, np.int64(0), left.shape[0]
    for at in range(n):
        total += search.size[left[at]] * charges.total[left[at]]
        key[at] = key_of(prices, charges, left[at], at)
    if not has_equal:
        last = ranked(key, n, k - 1)
        for at in range(n):
            own = key_of(prices, charges, left[at], at)
            if own <= last:
                total -= own >> _AT_BITS
        return total, last
    sort_front(key, n)
    lacking, last = np.int64(k), np.int64(0)
    for at in range(n):
        rows = min(lacking, search.size[left[key[at] & (MOST - 1)]])
        total -= rows * (key[at] >> _AT_BITS)
        lacking -= rows
        last = key[at]
        if lacking == 0:
            break
    return total, last


@inner
def most_excess(search, prices, left, k, spare, has_equal, charges):
    """Return what no box has more than, k times, by the present charges; and the key of the last row held.

    Writes `charges.outside`.
    """
    for at in range(left.shape[0]):
        charges.outside[left[at]] = 0
    most, last = charge_all(search, prices, left, k, has_equal, charges)
    for col in range(search.offset.shape[0]):
        least, n_down, n_up = cheapest_interval(search, col, k, spare, charges)
        most -= least
        bit = np.int64(1) << col
        for at in range(n_down):
            charges.outside[charges.out[2 * col, at]] |= bit
        for at in range(n_up):
            charges.outside[charges.out[2 * col + 1, at]] |= bit
    return most, last


@inner
def disagrees(charges, candidate, col, is_held):
    """Return whether a column leaves out a row that is held, or charges for one that is not but is inside."""
    is_outside = (charges.outside[candidate] >> col) & 1 == 1
    if is_held:
        return is_outside
    return not is_outside and charges.charge[col, candidate] > 0


@inner
def may_change(charges, candidate, is_held):
    """Return whether some column may disagree with a row being held, or not."""
    if is_held:
        return charges.outside[candidate] != 0 and charges.total[candidate] < _HIGHEST
    return charges.total[candidate] > 0


@inner
def change_charges(search, prices, left, last, too_much, charges):
    """Change charges where columns disagree with the rows held; return whether any does. Writes `charges`."""
    n_columns, squares = search.offset.shape[0], np.int64(0)
    for at in range(left.shape[0]):
        candidate = left[at]
        is_held = key_of(prices, charges, candidate, at) <= last
        if not may_change(charges, candidate, is_held):
            continue
        for col in range(n_columns):
            if disagrees(charges, candidate, col, is_held):
                squares += search.size[candidate] * search.size[candidate]
    if squares == 0:
        return False
    for at in range(left.shape[0]):
        candidate = left[at]
        is_held = key_of(prices, charges, candidate, at) <= last
        if not may_change(charges, candidate, is_held):
            continue
        step = min(too_much // max(1, squares // search.size[candidate]) + 1, _HIGHEST)
        for col in range(n_columns):
            if disagrees(charges, candidate, col, is_held):
                change = step if is_held else -min(step, charges.charge[col, candidate])
                charges.charge[col, candidate] += change
                charges.total[candidate] += change
    return True


@inner
def narrow_end(col, end, spare, least, whole, too_much, charges):
    """Find what boxes have less that hold a candidate beyond an end; return how far all better ones reach.

    Writes `charges.dearer`. The costs of both ends are filled in.
    """
    side = 2 * col + end
    n_out, both = charges.n_out[side], charges.both
    join_ends(col, end, spare, charges)
    lowest = np.int64(1) << 62
    for at in range(n_out):  # to hold a candidate, an end leaves out no more than those beyond it
        lowest = min(lowest, both[at])
        charges.dearer[charges.out[side, at]] += min(lowest, whole) - least
    lowest, at = np.int64(1) << 62, n_out
    while at > 0 and min(lowest, both[at], whole) - least >= too_much:
        lowest = min(lowest, both[at])
        at -= 1
    return charges.reach[side, at]


@inner
def reach_at_least(search, prices, part, end, far):
    """Let the boxes of a part reach at least so far at an end. Writes `prices`."""
    low, other = prices.low[part, end], prices.low[part, end + 1 - 2 * (end % 2)]
    if far <= low:
        return
    sign, most, offset = 2 * (end % 2) - 1, np.int64(search.most[end // 2]), search.offset[end // 2]
    left, rest = prices.left[prices.begin[part] : prices.end[part]], prices.rest[prices.begin[part] :]
    for at in range(left.shape[0]):
        reach = sign * np.int64(offset[left[at]])
        back = max(other, -reach)
        rest[at] += np.int32(min(back + max(far, reach), most) - min(back + max(low, reach), most))
    prices.low[part, end] = far


@inner
def narrow_part(search, prices, part, k, spare, last, too_much, charges):
    """Drop candidates that no better box holds, and let ends reach as far as all better boxes do."""
    begin = prices.begin[part]
    left, rest = prices.left[begin : prices.end[part]], prices.rest[begin:]
    for at in range(left.shape[0]):
        key, total = key_of(prices, charges, left[at], at), charges.total[left[at]]
        # Another row takes the place of the last one held, or of its own charges.
        charges.dearer[left[at]] = 0 if key <= last else min(total, (key >> _AT_BITS) - (last >> _AT_BITS))
    for col in range(search.offset.shape[0]):
        least, _, _ = cheapest_interval(search, col, k, spare, charges)
        whole = k * np.int64(search.most[col])
        if least < whole:
            up = narrow_end(col, 1, spare, least, whole, too_much, charges)
            down = narrow_end(col, 0, spare, least, whole, too_much, charges)
            reach_at_least(search, prices, part, 2 * col + 1, up)
            reach_at_least(search, prices, part, 2 * col, down)
    kept = np.int64(0)
    for at in range(left.shape[0]):
        if charges.dearer[left[at]] < too_much:
            left[kept] = left[at]
            rest[kept] = rest[at]
            kept += 1
    prices.end[part] = begin + kept


@inner
def is_beaten(search, prices, part, k, limit, best, has_equal, charges):
    """Return whether no box of a part has more than `best`; if some may, narrow the part. Writes `prices`.

    limit: what a better box costs less than.
    """
    left = prices.left[prices.begin[part] : prices.end[part]]
    n_columns, spare = search.offset.shape[0], -np.int64(k)
    for at in range(left.shape[0]):
        spare += search.size[left[at]]
    if spare * (n_columns + 1) > _MOST_CHARGED:
        return False
    for end in range(2 * n_columns):
        list_end(search, left, end, prices.low[part, end], spare, charges)
    search.state[STEPS_LEFT] -= 10 * left.shape[0] * n_columns
    too_much, at_first, last = np.int64(0), np.int64(0), np.int64(0)
    for step in range(_STEPS):
        most, last = most_excess(search, prices, left, k, spare, has_equal, charges)
        search.state[STEPS_LEFT] -= 6 * left.shape[0] * n_columns
        too_much = most - best
        if too_much <= 0:
            return True
        if step == 0:
            at_first = too_much
        if step == _STEPS - 1 or (step == _HOPELESS_AFTER and 100 * too_much > _HOPELESS * at_first):
            break
        if not change_charges(search, prices, left, last, too_much + k * limit // _FURTHER, charges):
            break
    narrow_part(search, prices, part, k, spare, last, too_much, charges)
    return False
