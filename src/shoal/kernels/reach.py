"""Which boxes of a range with many values may matter (see `kernels.excess`).

Seen from one row: a box that holds it and has more excess than the row has so far costs less than the k
highest prices inside leave room for. So all rows of the box are near, among those near are only so high
prices, and that leaves less room, again and again. What is left is the row's *room*, and where boxes begin
that have less. A first value needs to be swept as far as the largest room of the rows that it may matter for.
If each row has a fair excess to begin with, that is about as many rows as a good box holds, however many
rows there are.

*Blocks.* The k highest prices among neighbouring rows are never more than those of a block that holds them.
Blocks of each power of two overlap by half, so that one holds any rows next to each other that are no more
than half of it.
"""

from __future__ import annotations

import numpy as np

from shoal.kernels.compiling import inner

_SMALLEST = 3  # blocks overlap by so many rows at least, as a power of two
_NONE = -(1 << 61)  # of a block with fewer than k rows


@inner
def list_by_rank(walk, n):
    """List the n rows by price. Writes `walk`."""
    for at in range(n):
        walk.by_rank[n - walk.rank_at[at]] = at


@inner
def fill_blocks(priced, walk, depth, n, k):
    """Sum the k highest prices of each block of the n rows left; return the steps. Writes `walk`."""
    begin, first, scale, steps = walk.begin[depth], np.int64(0), np.int64(_SMALLEST), np.int64(0)
    while n >> scale > 0:
        n_blocks = ((n - 1) >> scale) + 1
        n_open, turn = n_blocks, np.int64(0)
        for block in range(first, first + n_blocks):
            walk.top[block], walk.lacking[block] = 0, k
        while turn < n and n_open > 0:
            at = walk.by_rank[turn]
            one = walk.by_value[depth, begin + at]
            for back in range(2):
                block = (at >> scale) - back
                if block < 0 or walk.lacking[first + block] == 0:
                    continue
                rows = min(walk.lacking[first + block], priced.size[one])
                walk.top[first + block] += rows * walk.price[one]
                walk.lacking[first + block] -= rows
                if walk.lacking[first + block] == 0:
                    n_open -= 1
            turn += 1
        steps += turn
        first += n_blocks
        scale += 1
    return steps


@inner
def most_among(walk, n, low, high):
    """Return what the k highest prices of neighbouring rows add up to at most, as blocks say."""
    first, scale = np.int64(0), np.int64(_SMALLEST)
    while n >> scale > 0:
        if high - low < np.int64(1) << scale:
            block = first + (low >> scale)
            return walk.top[block] if walk.lacking[block] == 0 else np.int64(_NONE)
        first += ((n - 1) >> scale) + 1
        scale += 1
    return np.int64(1) << 61


@inner
def first_near(walk, at, low, k, span, room):
    """Return the first row from `low` on that a box with this one can hold."""
    high = at
    while low < high:
        middle = (low + high) // 2
        if k * min(walk.place[at] - walk.place[middle], span) < room:
            high = middle
        else:
            low = middle + 1
    return low


@inner
def last_near(walk, at, high, k, span, room):
    """Return the last row up to `high` that a box with this one can hold."""
    low = at
    while low < high:
        middle = (low + high + 1) // 2
        if k * min(walk.place[middle] - walk.place[at], span) < room:
            low = middle
        else:
            high = middle - 1
    return low


@inner
def room_of(walk, at, n, k, span, settled, most):
    """Return what a box may cost, k times, that has more excess than a row so far; where such boxes begin.

    settled: what is settled costs, k times, with the excess that the row has.
    """
    low, high, room = np.int64(0), n - 1, most - settled
    while room > 0:
        before = high - low
        low, high = first_near(walk, at, low, k, span, room), last_near(walk, at, high, k, span, room)
        less = most_among(walk, n, low, high) - settled
        if less >= room or 4 * (high - low) > 3 * before:
            return min(less, room), low
        room = less
    return room, low


@inner
def raise_rooms(walk, n, low, high, room):
    """Note room for boxes that begin with one of some rows. Writes `walk`."""
    left, right = low + n, high + n + 1
    while left < right:
        if left & 1:
            walk.rooms[left] = max(walk.rooms[left], room)
            left += 1
        if right & 1:
            right -= 1
            walk.rooms[right] = max(walk.rooms[right], room)
        left >>= 1
        right >>= 1


@inner
def fill_rooms(priced, walk, depth, n, k, margin, excess):
    """Find how much boxes may cost, k times, that begin with each row: `walk.rooms` from n on."""
    span = np.int64(priced.span[priced.span.shape[0] - 1])
    list_by_rank(walk, n)
    steps = fill_blocks(priced, walk, depth, n, k)
    for at in range(2 * n):
        walk.rooms[at] = 0
    for at in range(n):
        so_far = excess[walk.by_value[depth, walk.begin[depth] + at]]
        settled = k * walk.cost[depth] + margin + so_far
        if walk.most[depth] <= settled:
            continue
        room, low = room_of(walk, at, n, k, span, settled, walk.most[depth])
        if room > 0:
            raise_rooms(walk, n, low, at, room)
            steps += 8
    for at in range(1, n):
        walk.rooms[2 * at] = max(walk.rooms[2 * at], walk.rooms[at])
        walk.rooms[2 * at + 1] = max(walk.rooms[2 * at + 1], walk.rooms[at])
    return steps + 4 * n
