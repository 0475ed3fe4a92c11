"""The greatest excess of any box over each tuple: what prices of rows are checked by (see `bound.prices`).

The excess of a box with at least k rows is the sum of the k highest prices inside, less k times its cost.
All boxes are gone through, column by column: trees first, then ranges. A tree is cut at each height into its
highest nodes there, and a box takes one of them. A range is cut into blocks of first and of last values,
which are halved until each is one value; in the last range, all last values of a first value are gone
through in one sweep, and where it has many values, no further than `kernels.reach` says.
In the other ranges, neighbouring values may be taken together: then a box holds all of
them, costs what the nearest ends are apart, and has at least the excess of any box that it stands for.

What is settled so far costs something, and no box inside can have more excess than the k highest prices of
the rows left, less k times that cost. If no row left has so little excess so far, the rest is skipped.
Whatever is skipped changes nothing: the result is exact, and does not depend on the order.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from shoal.kernels.compiling import entry, inner
from shoal.kernels.reach import fill_rooms
from shoal.kernels.sorting import add_to_heap, drop_least, sort_front

STEPS_LEFT = 0  # of the state of a walk
ENOUGH = 1  # also of the state: an excess above it need not be known exactly
LOWEST = -(1 << 62)  # excess of a tuple for which no box has been found
HIGHEST = 1 << 61  # excess of a tuple that has more than enough
_HALVINGS = 66  # open blocks of one range: two for each halving of first and of last values
_MANY = 256  # values of the last range: with more, halving may take too long,
_LONG = 64  # which is so many steps for each row
_NARROWED = 3  # times that a sweep's room is computed again


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
    most: np.ndarray  # int64 (n_columns + 2): the sum of the k highest prices left
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
        value=np.zeros((n, m), np.int64), n_open=n_open, block=np.zeros((n, _HALVINGS, 4), np.int64),
        lo=lo, hi=hi, rank=numbers[3, :m], place=numbers[4, :m], place_by_price=numbers[5, :m],
        rank_at=numbers[6, :m], heap=numbers[7], start=numbers[8], found=numbers[9, :m],
        found_end=numbers[10, :m], by_rank=numbers[11, :m],
        top=np.zeros(m + _HALVINGS, np.int64), lacking=np.zeros(m + _HALVINGS, np.int64),
        rooms=np.zeros(2 * m, np.int64), room=np.zeros((_HALVINGS, 3), np.int64),
        state=np.array([0, HIGHEST]),
    )  # fmt: skip


@inner
def cut_tree(priced, walk, depth):
    """Put the rows left at a depth into parts, by their nodes at the current level. Writes `walk`."""
    n_parts, level = 0, walk.level[depth]
    over = priced.node[priced.node_at[level] :]
    under = priced.node[priced.node_at[max(level - 1, 0)] :]
    is_lowest = level == priced.level_at[depth]
    code, rows, nodes = priced.code[depth], walk.part_rows[depth], walk.part_node[depth]
    before, end = walk.before, walk.part_end[depth]
    for at in range(walk.begin[depth], walk.end[depth]):
        one = walk.by_price[depth, at]
        node = over[code[one]]
        part = walk.slot[node]
        if part < 0:
            part = np.int32(n_parts)
            n_parts += 1
            walk.slot[node] = part
            nodes[part] = node
            # A part that lies in a node of the level below is cheaper there, and has been seen.
            before[part] = np.int32(-1) if is_lowest else under[code[one]]
            rows[part], end[part] = 0, 0
        elif before[part] >= 0 and before[part] != under[code[one]]:
            before[part] = -1
        rows[part] += priced.size[one]
        end[part] += 1
    total = walk.begin[depth]
    for part in range(n_parts):
        walk.to_price[part], walk.to_value[part] = total, total
        total += end[part]
        end[part] = total
        if before[part] >= 0:
            rows[part] = -1
    for at in range(walk.begin[depth], walk.end[depth]):
        one, other = walk.by_price[depth, at], walk.by_value[depth, at]
        part = walk.slot[over[code[one]]]
        walk.by_price[depth + 1, walk.to_price[part]] = one
        walk.to_price[part] += 1
        part = walk.slot[over[code[other]]]
        walk.by_value[depth + 1, walk.to_value[part]] = other
        walk.to_value[part] += 1
    for part in range(n_parts):
        walk.slot[nodes[part]] = -1
    walk.n_parts[depth], walk.part[depth] = n_parts, 0
    walk.state[STEPS_LEFT] -= 4 * (walk.end[depth] - walk.begin[depth])


@inner
def highest_prices(priced, walk, depth, k):
    """Return the sum of the k highest prices left at a depth."""
    left, total = k, np.int64(0)
    for at in range(walk.begin[depth], walk.end[depth]):
        one = walk.by_price[depth, at]
        rows = min(left, priced.size[one])
        total += rows * walk.price[one]
        left -= rows
        if left == 0:
            break
    return total


@inner
def least_excess(walk, depth, excess):
    """Return the least excess so far of a tuple left at a depth."""
    least = excess[walk.by_price[depth, walk.begin[depth]]]
    for at in range(walk.begin[depth] + 1, walk.end[depth]):
        least = min(least, excess[walk.by_price[depth, at]])
    return least


@inner
def next_part(priced, walk, depth, k, margin, excess):
    """Open the next part of a tree in which a row may have more excess; return whether there is one."""
    while True:
        while walk.part[depth] < walk.n_parts[depth] and walk.state[STEPS_LEFT] >= 0:
            part = walk.part[depth]
            walk.part[depth] += 1
            node = walk.part_node[depth, part]
            cost = walk.cost[depth] + priced.height[node]
            if walk.part_rows[depth, part] < k or walk.most[depth] - k * cost <= walk.least[depth] + margin:
                continue
            walk.begin[depth + 1] = walk.part_end[depth, part - 1] if part > 0 else walk.begin[depth]
            walk.end[depth + 1] = walk.part_end[depth, part]
            walk.cost[depth + 1] = cost
            walk.most[depth + 1] = highest_prices(priced, walk, depth + 1, k)
            walk.least[depth + 1] = least_excess(walk, depth + 1, excess)
            walk.state[STEPS_LEFT] -= walk.end[depth + 1] - walk.begin[depth + 1]
            if walk.most[depth + 1] - k * cost > walk.least[depth + 1] + margin:
                walk.lo[depth] = node
                walk.hi[depth] = node
                return True
        walk.level[depth] += 1
        if walk.level[depth] >= priced.level_at[depth + 1] or walk.state[STEPS_LEFT] < 0:
            return False
        cut_tree(priced, walk, depth)


@inner
def open_range(priced, walk, depth):
    """List the values of a range that are left, and begin with one block of all. Writes `walk`."""
    n = walk.end[depth] - walk.begin[depth]
    value = walk.value[depth]
    for at in range(n):
        value[at] = priced.code[depth, walk.by_price[depth, walk.begin[depth] + at]]
    sort_front(value, n)
    n_values = 1
    for at in range(1, n):
        if value[at] != value[n_values - 1]:
            value[n_values] = value[at]
            n_values += 1
    walk.n_open[depth] = 1
    block = walk.block[depth]
    block[0, 0], block[0, 1], block[0, 2], block[0, 3] = 0, n_values - 1, 0, n_values - 1
    walk.state[STEPS_LEFT] -= 4 * n


@inner
def width(priced, col, low, high):
    """Return what a range from one value to another costs; if several are taken together, at least."""
    at = priced.position_at[col]
    wide = min(priced.position[at + high] - priced.position_to[at + low], priced.span[col])
    return np.int64(max(0, wide))


@inner
def most_inside(priced, walk, depth, low, high, k):
    """Return the sum of the k highest prices between two values, and how many rows are missing."""
    left, total = k, np.int64(0)
    code = priced.code[depth]
    for at in range(walk.begin[depth], walk.end[depth]):
        one = walk.by_price[depth, at]
        if low <= code[one] <= high:
            rows = min(left, priced.size[one])
            total += rows * walk.price[one]
            left -= rows
            if left == 0:
                break
    return total, left


@inner
def keep_between(priced, walk, depth, low, high, excess):
    """List the rows left between two values at the next depth; return their least excess so far."""
    code, to, least = priced.code[depth], np.int64(0), np.int64(1 << 62)
    for at in range(walk.begin[depth], walk.end[depth]):
        one = walk.by_price[depth, at]
        if low <= code[one] <= high:
            walk.by_price[depth + 1, to] = one
            to += 1
            least = min(least, excess[one])
    walk.begin[depth + 1], walk.end[depth + 1] = 0, to
    to = 0
    for at in range(walk.begin[depth], walk.end[depth]):
        one = walk.by_value[depth, at]
        if low <= code[one] <= high:
            walk.by_value[depth + 1, to] = one
            to += 1
    walk.least[depth + 1] = least
    return least


@inner
def least_between(priced, walk, depth, low, high, excess):
    """Return the least excess so far of the rows left between two values."""
    code, least = priced.code[depth], np.int64(1 << 62)
    for at in range(walk.begin[depth], walk.end[depth]):
        one = walk.by_price[depth, at]
        if low <= code[one] <= high:
            least = min(least, excess[one])
    return least


@inner
def next_interval(priced, walk, depth, n_tree, k, margin, excess):
    """Open the next interval of a range in which a row may have more excess; return whether there is one."""
    value, block, col = walk.value[depth], walk.block[depth], depth - n_tree
    while walk.n_open[depth] > 0 and walk.state[STEPS_LEFT] >= 0:
        walk.n_open[depth] -= 1
        top = walk.n_open[depth]
        from_first, from_last = block[top, 0], min(block[top, 1], block[top, 3])
        to_first, to_last = max(block[top, 2], from_first), block[top, 3]
        if from_first > from_last or to_first > to_last:
            continue
        cost = walk.cost[depth]
        if to_first > from_last:
            cost += width(priced, col, value[from_last], value[to_first])
        if walk.most[depth] - k * cost <= walk.least[depth] + margin:
            continue
        low, high = value[from_first], value[to_last]
        most, lacking = most_inside(priced, walk, depth, low, high, k)
        walk.state[STEPS_LEFT] -= walk.end[depth] - walk.begin[depth]
        if lacking > 0 or most - k * cost <= walk.least[depth] + margin:
            continue
        if from_first == from_last and to_first == to_last:
            if most - k * cost <= keep_between(priced, walk, depth, low, high, excess) + margin:
                continue
            walk.cost[depth + 1], walk.most[depth + 1] = cost, most
            walk.lo[depth] = low
            walk.hi[depth] = high
            return True
        if most - k * cost <= least_between(priced, walk, depth, low, high, excess) + margin:
            continue
        walk.n_open[depth] += 2
        for half in range(2):
            block[top + half, 0], block[top + half, 1] = from_first, from_last
            block[top + half, 2], block[top + half, 3] = to_first, to_last
        if from_last - from_first >= to_last - to_first:
            middle = (from_first + from_last) // 2
            block[top, 1] = middle
            block[top + 1, 0] = middle + 1
        else:
            middle = (to_first + to_last) // 2
            block[top, 2] = middle + 1
            block[top + 1, 3] = middle
    return False


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


@inner
def raise_all(walk, depth, k, margin, excess, box):
    """Raise the excess of all rows left at the last depth: there is no range."""
    value = walk.most[depth] - k * walk.cost[depth]
    for at in range(walk.begin[depth], walk.end[depth]):
        one = walk.by_price[depth, at]
        if value > excess[one] + margin:
            note(walk, one, value, -1, -1, excess, box)


@inner
def is_other_share(walk, n_tree, share, n_shares):
    """Return whether the nodes that are settled belong to another share of the work."""
    key = np.int64(0)
    for depth in range(n_tree):
        key = key * 31 + walk.lo[depth]
    return n_shares > 1 and key % n_shares != share


@inner
def open_depth(priced, walk, depth, n_tree):
    """Begin to settle the column at a depth."""
    if depth < n_tree:
        walk.level[depth] = priced.level_at[depth]
        cut_tree(priced, walk, depth)
    else:
        open_range(priced, walk, depth)


@entry
def greatest_excess(priced, k, margin, share, n_shares, walk, excess, box):
    """Raise the excess of each tuple to the greatest of any box that holds it. Writes `excess`, `box`.

    `excess` begins with any excess that a box has, or lower. Boxes that have no more than `margin` above it
    are passed over. A tuple with more than ENOUGH gets HIGHEST. `walk` has all tuples at depth 0. Returns
    whether the steps were enough: if not, the result is of no use.
    """
    n_columns, n_range = priced.code.shape[0], priced.span.shape[0]
    n_tree = n_columns - n_range
    last = n_columns - 1 if n_range > 0 else n_columns  # from here on nothing is branched on
    depth = np.int64(0)
    walk.cost[0] = 0
    walk.most[0] = highest_prices(priced, walk, depth, k)
    walk.least[0] = least_excess(walk, depth, excess)
    if depth < last:
        open_depth(priced, walk, depth, n_tree)
    while depth >= 0:
        if walk.state[STEPS_LEFT] < 0:
            return False
        if depth == last:
            if n_range > 0:
                sweep_range(priced, walk, depth, k, margin, excess, box)
            else:
                raise_all(walk, depth, k, margin, excess, box)
            depth -= 1
        elif depth < n_tree:
            if not next_part(priced, walk, depth, k, margin, excess):
                depth -= 1
            elif depth + 1 < n_tree or not is_other_share(walk, n_tree, share, n_shares):
                depth += 1
                if depth < last:
                    open_depth(priced, walk, depth, n_tree)
        elif next_interval(priced, walk, depth, n_tree, k, margin, excess):
            depth += 1
            if depth < last:
                open_depth(priced, walk, depth, n_tree)
        else:
            depth -= 1
    return walk.state[STEPS_LEFT] >= 0
