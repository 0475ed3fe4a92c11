"""The greatest excess of boxes over the candidates of one tuple, part by part (see `kernels.patient_excess`).

All boxes are cut in two, and each part again. *Rest* is the least that a box of the part costs if it holds a
candidate. If that is too much for the k highest prices left, the candidate is dropped, and a part with too
few rows, or too low prices, is given up. There are two ways to cut:

- By a mark at one end of a column: boxes that reach no further, which have fewer candidates, and those that
  reach beyond, at least to the nearest candidate there, and cost more. The end and its mark are those that
  leave the fewest candidates on both sides.
- By the dearest candidate, that with the highest rest: boxes that hold it, and those that do not. The first
  reach to it in all columns, which leaves little for others. That is better where few candidates can be done
  without: one is dropped at a time.

A part with few candidates is first judged by the rows that its boxes leave out (`kernels.left_out`). That
takes long, but gives up most of these parts at once.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from shoal.kernels.compiling import inner
from shoal.kernels.left_out import MOST, forget_charges, is_beaten
from shoal.kernels.row_excess import Prices
from shoal.kernels.smallest_box import STEPS_LEFT

_PARTS = 1024  # that may be open
_ROOM, _LEAST_ROOM = 8, 1 << 16  # times the candidates, and more: for those of all open parts
_FEW_MORE = 400  # candidates beyond k, times k: then parts are cut by candidates
_LEAST_JUDGED, _JUDGED = 40, 4  # a part with more candidates is judged, up to so many times k: if k > 10
_MARK = 9  # a mark lies beyond what is settled by one in so many of what a box may still cost
UP, DOWN = 1, 0  # the ends
COLUMN, END, MARK, HAS_EQUAL = 0, 1, 2, 3  # of `cut`


class PatientPrices(NamedTuple):
    """Prices of all tuples, m of them; and scratch of one thread for c candidates."""

    price: np.ndarray  # int64 (m)
    by_price: np.ndarray  # int32 (m): tuples, highest price first
    rank: np.ndarray  # int64 (m): where each is in that list
    own: np.ndarray  # int64 (c): prices of the candidates, highest first
    left: np.ndarray  # uint32 (room): the candidates of each open part, after those of the part before
    rest: np.ndarray  # int32 (room)
    begin: np.ndarray  # int64 (parts): where the candidates of a part begin
    end: np.ndarray  # int64 (parts)
    low: np.ndarray  # int64 (parts, 2 n_columns): how far its boxes reach at least, down and up by turns
    cut: np.ndarray  # int64 (4): COLUMN, END and MARK of the best cut; HAS_EQUAL, of a whole search
    top: np.ndarray  # int64 (k): a heap of the highest prices so far, the least of them first


def with_more_room(prices: Prices, n: int, c: int, k: int) -> PatientPrices:
    """Make room for one thread: n columns, c candidates."""
    room = _ROOM * c + _LEAST_ROOM
    left, rest = np.zeros(room, np.uint32), np.zeros(room, np.int32)
    begin, end = np.zeros((2, _PARTS), np.int64)
    low, cut = np.zeros((_PARTS, 2 * n), np.int64), np.zeros(4, np.int64)
    own, listed = np.zeros(c, np.int64), (prices.price, prices.by_price, prices.rank)
    return PatientPrices(*listed, own, left, rest, begin, end, low, cut, np.zeros(k, np.int64))


@inner
def top_left(search, prices, part, k):
    """Return the sum of the k highest prices of the candidates of a part, and the rows lacking."""
    lacking, total = np.int64(k), np.int64(0)
    left, size, own = prices.left[prices.begin[part] : prices.end[part]], search.size, prices.own
    for at in range(left.shape[0]):
        candidate = left[at]
        rows = min(lacking, size[candidate])
        total += rows * own[candidate]
        lacking -= rows
        if lacking == 0:
            break
    return total, lacking


@inner
def settled_cost(search, prices, part):
    """Return what a box of a part costs at least."""
    total = np.int64(0)
    for col in range(search.offset.shape[0]):
        wide = prices.low[part, 2 * col + DOWN] + prices.low[part, 2 * col + UP]
        total += min(wide, np.int64(search.most[col]))
    return total


@inner
def narrowed(search, prices, part, k, best):
    """Drop candidates that no better box can hold; return what boxes must cost less than, 0 if none is left.

    The fewer are left, the lower are the k highest prices, and the nearer the others have to be.
    """
    settled, begin = settled_cost(search, prices, part), prices.begin[part]
    left, rest = prices.left[begin:], prices.rest[begin:]
    while True:
        total, lacking = top_left(search, prices, part, k)
        limit = -((best - total) // k)
        if lacking > 0 or settled >= limit:
            return np.int64(0)
        kept, n = np.int64(0), prices.end[part] - begin
        for at in range(n):
            if rest[at] < limit:
                left[kept] = left[at]
                rest[kept] = rest[at]
                kept += 1
        search.state[STEPS_LEFT] -= n
        if kept == n:
            return limit
        prices.end[part] = begin + kept


@inner
def furthest(search, prices, part, col, sign):
    """Return how far the candidates of a part reach in a column, down (-1) or up (1)."""
    offset, most = search.offset[col], np.int64(0)
    left = prices.left[prices.begin[part] : prices.end[part]]
    for at in range(left.shape[0]):
        most = max(most, sign * offset[left[at]])
    return most


@inner
def left_by(search, prices, part, col, sign, low, mark, limit, k):
    """Return how many candidates a cut leaves on both sides, squared; none on a side that lacks rows."""
    offset, inside, beyond = search.offset[col], np.int64(0), np.int64(0)
    left, rest = prices.left[prices.begin[part] : prices.end[part]], prices.rest[prices.begin[part] :]
    for at in range(left.shape[0]):
        reach = sign * offset[left[at]]
        if reach <= mark:
            inside += 1
            if rest[at] + mark - max(reach, low) < limit:
                beyond += 1
        else:
            beyond += 1
    if prices.cut[HAS_EQUAL] == 0:
        inside = inside if inside >= k else 0
        beyond = beyond if beyond >= k else 0
    return inside * inside + beyond * beyond


@inner
def choose_cut(search, prices, part, k, limit):
    """Find the best cut of a part; return what the box over all its candidates costs. Writes `prices.cut`.

    The column is -1 if there is nothing to cut.
    """
    fewest, whole, slack = np.int64(1 << 62), np.int64(0), limit - settled_cost(search, prices, part)
    prices.cut[COLUMN] = -1
    for col in range(search.offset.shape[0]):
        wide = np.int64(0)
        for end in range(2):
            sign, low = 2 * end - 1, prices.low[part, 2 * col + end]
            most = max(low, furthest(search, prices, part, col, sign))
            wide += most
            if most == low:
                continue
            mark = low + slack // _MARK
            if mark >= most:
                mark = (low + most) // 2
            n_left = left_by(search, prices, part, col, sign, low, mark, limit, k)
            if n_left < fewest:
                fewest = n_left
                prices.cut[COLUMN], prices.cut[END], prices.cut[MARK] = col, end, mark
        whole += min(wide, np.int64(search.most[col]))
    n = prices.end[part] - prices.begin[part]
    search.state[STEPS_LEFT] -= 3 * n * search.offset.shape[0]
    return whole


@inner
def open_next(prices, part):
    """Open the next part, without candidates so far; its boxes reach at least as far."""
    prices.begin[part + 1] = prices.end[part]
    for at in range(prices.low.shape[1]):
        prices.low[part + 1, at] = prices.low[part, at]


@inner
def keep_within(search, prices, part):
    """Make the next part of the boxes that do not reach beyond the mark. Writes `prices`."""
    mark, sign, begin, end = prices.cut[MARK], 2 * prices.cut[END] - 1, prices.begin[part], prices.end[part]
    offset, left, rest = search.offset[prices.cut[COLUMN]], prices.left[begin:], prices.rest[begin:]
    n, to = end - begin, end - begin
    open_next(prices, part)
    for at in range(n):
        if sign * offset[left[at]] <= mark:
            left[to] = left[at]
            rest[to] = rest[at]
            to += 1
    prices.end[part + 1] = begin + to


@inner
def reach_beyond(search, prices, part):
    """Keep the boxes of a part that reach beyond the mark, to the nearest candidate there at least."""
    col, end, mark = prices.cut[COLUMN], prices.cut[END], prices.cut[MARK]
    offset, sign, most = search.offset[col], 2 * end - 1, np.int64(search.most[col])
    low, other = prices.low[part, 2 * col + end], prices.low[part, 2 * col + 1 - end]
    left, rest = prices.left[prices.begin[part] : prices.end[part]], prices.rest[prices.begin[part] :]
    reached = np.int64(1 << 62)
    for at in range(left.shape[0]):
        reach = np.int64(sign * offset[left[at]])
        if reach > mark:
            reached = min(reached, reach)
    for at in range(left.shape[0]):
        reach = np.int64(sign * offset[left[at]])
        back = max(other, -reach)
        dearer = min(back + max(reached, reach), most) - min(back + max(low, reach), most)
        rest[at] += np.int32(dearer)
    prices.low[part, 2 * col + end] = reached


@inner
def cut_by_mark(search, prices, part, k, limit):
    """Cut a part at the best mark: the next one gets the boxes within, this one keeps those beyond.

    Returns what the box over all its candidates costs, and whether there was anything to cut.
    """
    whole = choose_cut(search, prices, part, k, limit)
    if prices.cut[COLUMN] < 0:
        return whole, False
    keep_within(search, prices, part)
    reach_beyond(search, prices, part)
    return whole, True


@inner
def include(search, prices, part, dearest):
    """Let the boxes of the next part reach to a candidate; return in how many columns that changes them."""
    open_next(prices, part)
    n_changed, candidate = np.int64(0), prices.left[dearest]
    for col in range(search.offset.shape[0]):
        far = np.int64(search.offset[col, candidate])
        end = 2 * col + (UP if far > 0 else DOWN)
        if abs(far) > prices.low[part, end]:
            prices.low[part + 1, end] = abs(far)
            search.column[n_changed] = col
            n_changed += 1
    return n_changed


@inner
def keep_with(search, prices, part, n_changed, limit):
    """List the candidates that the boxes of the next part can hold. Writes `prices`."""
    before, after, begin = prices.low[part], prices.low[part + 1], prices.begin[part]
    left, rest, offset, whole = prices.left[begin:], prices.rest[begin:], search.offset, search.most
    n = prices.end[part] - begin
    to = n
    for at in range(n):
        candidate, dearer = left[at], np.int64(rest[at])
        for turn in range(n_changed):
            col = np.uint64(search.column[turn])
            far, most = np.int64(offset[col, candidate]), np.int64(whole[col])
            down, up = 2 * col + np.uint64(DOWN), 2 * col + np.uint64(UP)
            dearer += min(max(after[down], -far) + max(after[up], far), most)
            dearer -= min(max(before[down], -far) + max(before[up], far), most)
        if dearer < limit:
            left[to] = candidate
            rest[to] = np.int32(dearer)
            to += 1
    prices.end[part + 1] = begin + to
    search.state[STEPS_LEFT] -= (2 + n_changed) * n


@inner
def cut_by_candidate(search, prices, part, limit):
    """Cut a part by its dearest candidate: the next one gets the boxes that hold it, this one the others.

    Returns what a box of the part costs at least, and whether there was a candidate that makes it dearer. If
    not, that box holds all candidates.
    """
    settled, begin = settled_cost(search, prices, part), prices.begin[part]
    left, rest, dearest, most = prices.left[begin:], prices.rest[begin:], np.int64(-1), settled
    n = prices.end[part] - begin
    for at in range(n):
        if rest[at] > most:
            dearest, most = at, np.int64(rest[at])
    if dearest < 0:
        return settled, False
    keep_with(search, prices, part, include(search, prices, part, begin + dearest), limit)
    for at in range(dearest + 1, n):
        left[at - 1] = left[at]
        rest[at - 1] = rest[at]
    prices.end[part] -= 1
    return limit, True


@inner
def is_given_up(search, prices, part, k, limit, best, charges):
    """Return whether no box of a part has more than `best`, if there are few candidates; narrow it if not."""
    n = prices.end[part] - prices.begin[part]
    if n <= max(k, _LEAST_JUDGED) or n > min(MOST, _JUDGED * k):
        return False
    has_equal = prices.cut[HAS_EQUAL] == 1
    return is_beaten(search, prices, part, k, limit, best, has_equal, charges)


@inner
def settle(search, prices, n, k, best, charges):
    """Return the greatest of `best` and of the excess, k times, of boxes over the n candidates listed."""
    forget_charges(charges, n)
    part = np.int64(0)  # a literal would make Numba compile everything below twice
    prices.begin[part], prices.end[part] = 0, n
    for end in range(prices.low.shape[1]):
        prices.low[part, end] = 0
    for at in range(n):
        prices.left[at] = np.uint32(at)
        prices.rest[at] = search.far[at]
    while part >= 0 and search.state[STEPS_LEFT] >= 0:
        limit = narrowed(search, prices, part, k, best)
        if limit > 0 and is_given_up(search, prices, part, k, limit, best, charges):
            limit = np.int64(0)
        elif limit > 0:
            limit = narrowed(search, prices, part, k, best)
        if limit == 0:
            part -= 1
            continue
        n = prices.end[part] - prices.begin[part]
        if part + 1 == _PARTS or prices.end[part] + n > prices.left.shape[0]:
            search.state[STEPS_LEFT] = -1  # no room: as if it took too long
            break
        if (n - k) * k <= _FEW_MORE:
            whole, is_cut = cut_by_candidate(search, prices, part, limit)
        else:
            whole, is_cut = cut_by_mark(search, prices, part, k, limit)
        if whole < limit:
            best = max(best, top_left(search, prices, part, k)[0] - k * whole)
        part += 1 if is_cut else -1
    return best
