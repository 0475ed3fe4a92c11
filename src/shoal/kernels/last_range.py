"""All intervals of the last range at once, for a pass over all boxes (see `kernels.excess`).

From each first value, all last values are gone through in one sweep. Where the range has many values, sweeps
go no further than `kernels.reach` says.
"""

from __future__ import annotations

import numpy as np

from shoal.kernels.box_walk import LOWEST, STEPS_LEFT, note
from shoal.kernels.compiling import inner
from shoal.kernels.reach import fill_rooms
from shoal.kernels.sorting import add_to_heap, drop_least

_MANY = 256  # values of the last range: with more, halving may take too long,
_LONG = 64  # which is so many steps for each row
_NARROWED = 3  # times that a sweep's room is computed again


@inner
def rank_rows(priced, walk, depth):
    """Number the rows left at the last depth by price, and list their positions; return their first values.

    Writes `walk`.
    """
    begin, n = walk.begin[depth], walk.end[depth] - walk.begin[depth]
    code, base = priced.code[depth], priced.position_at[priced.span.shape[0] - 1]
    for at in range(n):
        one = walk.by_price[depth, begin + at]
        walk.rank[one] = n - at
        walk.place_by_price[at] = priced.position[base + code[one]]
    n_starts, last = np.int64(0), np.int32(-1)
    for at in range(n):
        one = walk.by_value[depth, begin + at]
        walk.place[at] = priced.position[base + code[one]]
        walk.rank_at[at] = walk.rank[one]
        if code[one] != last:
            walk.start[n_starts] = at
            n_starts += 1
            last = code[one]
    return n_starts


@inner
def narrowed(priced, walk, depth, k, first, last, span, margin, room):
    """Return what a box may cost, k times, if it begins between two positions: at most `room`."""
    begin, n = walk.begin[depth], walk.end[depth] - walk.begin[depth]
    settled = k * walk.cost[depth] + walk.least[depth] + margin
    for _ in range(_NARROWED):
        left, total = k, np.int64(0)
        for at in range(n):
            place = walk.place_by_price[at]
            if place >= first and k * min(place - last, span) < room:
                one = walk.by_price[depth, begin + at]
                rows = min(left, priced.size[one])
                total += rows * walk.price[one]
                left -= rows
                if left == 0:
                    walk.state[STEPS_LEFT] -= at
                    break
        if left > 0:
            walk.state[STEPS_LEFT] -= n
            return np.int64(0)
        less = total - settled
        shrunk = less < room - room // 8
        room = min(room, less)
        if room <= 0 or not shrunk:
            break
    return room


@inner
def sweep(priced, walk, depth, k, at, span, room):
    """Find the excess of every box that begins with the value at a place, by its last value.

    Returns how many there are. Writes `walk`. The rows with the k highest prices among those passed are in a
    heap; of the tuple with the lowest price, some rows may be too many.
    """
    begin, n = walk.begin[depth], walk.end[depth] - walk.begin[depth]
    first, x, end, heap = walk.place[at], at, walk.end[depth], walk.heap
    rows, n_held, total, n_found = np.int64(0), np.int64(0), np.int64(0), np.int64(0)
    while x < n:
        place = walk.place[x]
        wide = min(place - first, span)
        if k * wide >= room:
            break
        while x < n and walk.place[x] == place:
            one, rank = walk.by_value[depth, begin + x], walk.rank_at[x]
            x += 1
            if rows >= k and rank < heap[0]:
                continue
            add_to_heap(heap, n_held, rank)
            n_held += 1
            rows += priced.size[one]
            total += priced.size[one] * walk.price[one]
            lowest = walk.by_price[depth, end - heap[0]]
            while rows - priced.size[lowest] >= k:
                drop_least(heap, n_held)
                n_held -= 1
                rows -= priced.size[lowest]
                total -= priced.size[lowest] * walk.price[lowest]
                lowest = walk.by_price[depth, end - heap[0]]
        if rows >= k:
            lowest = walk.by_price[depth, end - heap[0]]
            most = total - (rows - k) * walk.price[lowest]
            walk.found[n_found] = most - k * (walk.cost[depth] + wide)
            walk.found_end[n_found] = x
            n_found += 1
    walk.state[STEPS_LEFT] -= 2 * (x - at)
    return n_found


@inner
def raise_excess(priced, walk, depth, at, n_found, margin, excess, box):
    """Raise the excess of rows to that of the best box of a sweep that holds them."""
    begin, code = walk.begin[depth], priced.code[depth]
    low = code[walk.by_value[depth, begin + at]]
    best, end = np.int64(LOWEST), np.int64(0)
    for turn in range(n_found):
        last = n_found - 1 - turn
        if walk.found[last] > best:
            best, end = walk.found[last], walk.found_end[last]
        if best <= walk.least[depth] + margin:
            continue
        high = code[walk.by_value[depth, begin + end - 1]]
        x = walk.found_end[last - 1] if last > 0 else at
        while x < walk.found_end[last]:
            one = walk.by_value[depth, begin + x]
            if best > excess[one] + margin:
                note(walk, one, best, low, high, excess, box)
            x += 1


@inner
def sweep_halves(priced, walk, depth, k, n_starts, margin, excess, box):
    """Halve blocks of first values, and sweep from each; return whether that is done, or takes too long."""
    span = np.int64(priced.span[priced.span.shape[0] - 1])
    least_left = walk.state[STEPS_LEFT] - _LONG * (walk.end[depth] - walk.begin[depth])
    room, n_open = walk.room, 1
    room[0, 0], room[0, 1] = 0, n_starts - 1
    room[0, 2] = walk.most[depth] - k * walk.cost[depth] - walk.least[depth] - margin
    is_whole = True
    while n_open > 0:
        if walk.state[STEPS_LEFT] < (least_left if n_starts > _MANY else 0):
            return False
        n_open -= 1
        begin, end, left = room[n_open, 0], room[n_open, 1], room[n_open, 2]
        if not is_whole:
            first, last = walk.place[walk.start[begin]], walk.place[walk.start[end]]
            left = narrowed(priced, walk, depth, k, first, last, span, margin, left)
        is_whole = False
        if left <= 0:
            continue
        if begin < end:
            middle = (begin + end) // 2
            room[n_open, 0], room[n_open, 1], room[n_open, 2] = begin, middle, left
            room[n_open + 1, 0], room[n_open + 1, 1], room[n_open + 1, 2] = middle + 1, end, left
            n_open += 2
            continue
        at = walk.start[begin]
        n_found = sweep(priced, walk, depth, k, at, span, left)
        raise_excess(priced, walk, depth, at, n_found, margin, excess, box)
    return True


@inner
def fill_windows(priced, walk, depth, k, n_starts):
    """Give some first values room for as many values as hold k rows, so that each row is in such a box.

    Writes `walk.rooms`.
    """
    span = np.int64(priced.span[priced.span.shape[0] - 1])
    begin, n = walk.begin[depth], walk.end[depth] - walk.begin[depth]
    for at in range(n, 2 * n):
        walk.rooms[at] = 0
    first, stop, rows, x = np.int64(0), np.int64(0), np.int64(0), np.int64(0)
    while stop < n_starts:
        while stop < n_starts and rows < k:
            end = walk.start[stop + 1] if stop + 1 < n_starts else n
            while x < end:
                rows += priced.size[walk.by_value[depth, begin + x]]
                x += 1
            stop += 1
        while rows < k and first > 0:
            first -= 1
            for y in range(walk.start[first], walk.start[first + 1]):
                rows += priced.size[walk.by_value[depth, begin + y]]
        at = walk.start[first]
        walk.rooms[n + at] = k * min(walk.place[x - 1] - walk.place[at], span) + 1
        following = first + max(1, (stop - first) // 2)
        for y in range(at, walk.start[following] if following < n_starts else n):
            rows -= priced.size[walk.by_value[depth, begin + y]]
        first = following
    walk.state[STEPS_LEFT] -= 3 * n


@inner
def sweep_rooms(priced, walk, depth, k, n_starts, margin, excess, box):
    """Sweep from each first value as far as there is room."""
    span, n = np.int64(priced.span[priced.span.shape[0] - 1]), walk.end[depth] - walk.begin[depth]
    for turn in range(n_starts):
        at = walk.start[turn]
        if walk.rooms[n + at] > 0 and walk.state[STEPS_LEFT] >= 0:
            n_found = sweep(priced, walk, depth, k, at, span, walk.rooms[n + at])
            raise_excess(priced, walk, depth, at, n_found, margin, excess, box)


@inner
def sweep_range(priced, walk, depth, k, margin, excess, box):
    """Go through all intervals of the last range.

    Halving is quick where few values are left, or few can matter. Elsewhere rows get a fair excess first, and
    then limit how far sweeps have to go.
    """
    n = walk.end[depth] - walk.begin[depth]
    n_starts = rank_rows(priced, walk, depth)
    walk.state[STEPS_LEFT] -= 3 * n
    if sweep_halves(priced, walk, depth, k, n_starts, margin, excess, box):
        return
    for turn in range(2):
        if walk.state[STEPS_LEFT] < 0:
            return
        if turn == 0:
            fill_windows(priced, walk, depth, k, n_starts)
        else:
            walk.state[STEPS_LEFT] -= fill_rooms(priced, walk, depth, n, k, margin, excess)
        sweep_rooms(priced, walk, depth, k, n_starts, margin, excess, box)
