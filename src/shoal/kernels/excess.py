"""The greatest excess of any box over each tuple: what prices of rows are checked by (see `bound.prices`).

The excess of a box with at least k rows is the sum of the k highest prices inside, less k times its cost.
All boxes are gone through, column by column: trees first, then ranges. A tree is cut at each height into its
highest nodes there, and a box takes one of them. A range is cut into blocks of first and of last values,
which are halved until each is one value; in the last range, all last values of a first value are gone
through in one sweep (`kernels.last_range`). In the other ranges, neighbouring values may be taken together:
then a box holds all of them, costs what the nearest ends are apart, and has at least the excess of any box
that it stands for.

What is settled so far costs something, and no box inside can have more excess than the k highest prices of
the rows left, less k times that cost. If no row left has so little excess so far, the rest is skipped.
Whatever is skipped changes nothing: the result is exact, and does not depend on the order.

With a privacy goal, the k highest prices are those of the rows that it allows together
(`kernels.allowance`); then the last range is halved like the others.
"""

from __future__ import annotations

import numpy as np

from shoal.kernels.allowance import begin_counting, count, has_values, in_rows, units_of
from shoal.kernels.box_walk import LOWEST, STEPS_LEFT, note
from shoal.kernels.compiling import entry, inner
from shoal.kernels.last_range import sweep_range
from shoal.kernels.sorting import sort_front


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
def highest_prices(priced, allowance, walk, depth, k):
    """Return the sum of the k highest prices left at a depth; LOWEST if these rows can make no class."""
    begin_counting(allowance)
    left, total = units_of(allowance, k), np.int64(0)
    for at in range(walk.begin[depth], walk.end[depth]):
        one = walk.by_price[depth, at]
        units = count(allowance, one, priced.size[one], left)
        total += units * walk.price[one]
        left -= units
        if left == 0 and has_values(allowance):
            return in_rows(allowance, total)
    return np.int64(LOWEST)


@inner
def least_excess(walk, depth, excess):
    """Return the least excess so far of a tuple left at a depth."""
    least = excess[walk.by_price[depth, walk.begin[depth]]]
    for at in range(walk.begin[depth] + 1, walk.end[depth]):
        least = min(least, excess[walk.by_price[depth, at]])
    return least


@inner
def next_part(priced, allowance, walk, depth, k, margin, excess):
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
            walk.most[depth + 1] = highest_prices(priced, allowance, walk, depth + 1, k)
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
def most_inside(priced, allowance, walk, depth, low, high, k):
    """Return the sum of the k highest prices between two values; LOWEST if no class can be made of them."""
    begin_counting(allowance)
    left, total = units_of(allowance, k), np.int64(0)
    code = priced.code[depth]
    for at in range(walk.begin[depth], walk.end[depth]):
        one = walk.by_price[depth, at]
        if low <= code[one] <= high:
            units = count(allowance, one, priced.size[one], left)
            total += units * walk.price[one]
            left -= units
            if left == 0 and has_values(allowance):
                return in_rows(allowance, total)
    return np.int64(LOWEST)


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
def next_interval(priced, allowance, walk, depth, n_tree, k, margin, excess):
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
        most = most_inside(priced, allowance, walk, depth, low, high, k)
        walk.state[STEPS_LEFT] -= walk.end[depth] - walk.begin[depth]
        if most - k * cost <= walk.least[depth] + margin:
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
def greatest_excess(priced, allowance, k, margin, share, n_shares, walk, excess, box):
    """Raise the excess of each tuple to the greatest of any box that holds it. Writes `excess`, `box`.

    `excess` begins with any excess that a box has, or lower. Boxes that have no more than `margin` above it
    are passed over. A tuple with more than ENOUGH gets HIGHEST. `walk` has all tuples at depth 0. `allowance`
    is what a privacy goal allows in a class, None without one. Both are scratch, and written. Returns whether
    the steps were enough: if not, the result is of no use.
    """
    n_columns, n_range = priced.code.shape[0], priced.span.shape[0]
    n_tree = n_columns - n_range
    last = n_columns  # from here on nothing is branched on
    if allowance is None:
        last -= min(n_range, 1)
    depth = np.int64(0)
    walk.cost[0] = 0
    walk.most[0] = highest_prices(priced, allowance, walk, depth, k)
    walk.least[0] = least_excess(walk, depth, excess)
    if depth < last:
        open_depth(priced, walk, depth, n_tree)
    while depth >= 0:
        if walk.state[STEPS_LEFT] < 0:
            return False
        if depth == n_columns:
            raise_all(walk, depth, k, margin, excess, box)
            depth -= 1
        elif depth == last:
            if allowance is None:  # with goals, a sweep would have to choose among its rows
                sweep_range(priced, walk, depth, k, margin, excess, box)
            depth -= 1
        elif depth < n_tree:
            if not next_part(priced, allowance, walk, depth, k, margin, excess):
                depth -= 1
            elif depth + 1 < n_tree or not is_other_share(walk, n_tree, share, n_shares):
                depth += 1
                if depth < last:
                    open_depth(priced, walk, depth, n_tree)
        elif next_interval(priced, allowance, walk, depth, n_tree, k, margin, excess):
            depth += 1
            if depth < last:
                open_depth(priced, walk, depth, n_tree)
        else:
            depth -= 1
    return walk.state[STEPS_LEFT] >= 0
