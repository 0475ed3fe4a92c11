"""The inner loops of KACA: classes smaller than k merge, one at a time, with the nearest class.

A class is a tuple of nodes with the rows that are published with it. What a node costs grows on
the way up, so the distortion from one node to another above it is the difference of their costs,
and Dist(C1, C2) = (n1 + n2) F(t12) - n1 F(t1) - n2 F(t2), where F adds up the costs of a tuple.

Classes are in no order: where one vanishes, the last one takes its place.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from shoal.kernels.compiling import entry, inner
from shoal.kernels.goals import add, is_good, remove
from shoal.kernels.trees import n_nodes

DONE, CLASSES, MAY_SUPPRESS = range(3)  # of the cursor: rows of `order` done, classes, rows


class Settings(NamedTuple):
    """What does not change during a call."""

    k: int
    outlier: int  # what a row of a class costs, above which the class is left out, or -1
    n_classes: int  # examined in one call, approximately


class Classes(NamedTuple):
    """The classes: tuples of nodes, and ascending lists of rows."""

    node: np.ndarray  # int32 (n_tree, n_classes)
    cost: np.ndarray  # int64 (n_classes): F of the tuple
    key: np.ndarray  # int64 (n_classes): a hash of the tuple
    size: np.ndarray  # int64 (n_classes)
    head: np.ndarray  # int64 (n_classes): the first row
    next: np.ndarray  # int64 (n): the next row of the same class, -1 for none
    of_row: np.ndarray  # int64 (n): the class of each row, -1 once it is suppressed
    good: np.ndarray  # bool (n_classes): has k rows and meets every goal


class Work(NamedTuple):
    """Scratch."""

    over: np.ndarray  # int32 (most nodes of a tree)
    joined: np.ndarray  # int32 (n_classes): F of the small class's tuple together with each other
    general: np.ndarray  # int32 (n_tree): a tuple


@inner
def costs_over(trees, col, node, over):
    """Compute what the lowest node over `node` and each other one costs. Writes `over`."""
    nodes = trees.node_at[col]
    at = nodes + node
    first, last = trees.first_leaf[at], trees.last_leaf[at]
    for other in range(n_nodes(trees, col)):  # parents come before their children
        to = nodes + other
        if other <= node and trees.first_leaf[to] <= first and last <= trees.last_leaf[to]:
            over[other] = trees.height[to]  # above, or the node itself
        elif other > node and first <= trees.first_leaf[to] and trees.last_leaf[to] <= last:
            over[other] = trees.height[at]  # below
        else:
            over[other] = over[trees.parent[to]]


@inner
def common_node(trees, col, one, other):
    """Return the lowest node over two nodes."""
    nodes = trees.node_at[col]
    while one != other:  # a parent has a lower number than its children
        if one > other:
            one = trees.parent[nodes + one]
        else:
            other = trees.parent[nodes + other]
    return one


@inner
def tuple_key(node):
    """Hash a tuple."""
    key = np.uint64(0)
    for col in range(node.shape[0]):
        key = (key ^ np.uint64(node[col])) * np.uint64(0x9E3779B97F4A7C15)
        key ^= key >> np.uint64(29)
    return np.int64(key)


@inner
def set_tuple(classes, c, node, trees):
    """Give a class its tuple. Writes `classes`."""
    cost = np.int64(0)
    for col in range(node.shape[0]):
        classes.node[col, c] = node[col]
        cost += trees.height[trees.node_at[col] + node[col]]
    classes.cost[c] = cost
    classes.key[c] = tuple_key(node)


@inner
def judge(classes, c, k, goals, tally):
    """Note whether a class is good. Writes `classes`; `tally` is empty before and after."""
    classes.good[c] = classes.size[c] >= k
    if goals is not None:
        row = classes.head[c]
        while row >= 0:
            add(goals, tally, row)
            row = classes.next[row]
        classes.good[c] &= is_good(goals, tally)
        row = classes.head[c]
        while row >= 0:
            remove(goals, tally, row)
            row = classes.next[row]


@inner
def start(leaf, tuples, trees, classes, k, goals, tally, work):
    """Make a class of each set of equal rows, which are adjacent. Writes `classes`, `work`."""
    n = tuples.shape[0]
    for row in range(n):
        c = tuples[row]
        classes.of_row[row] = c
        classes.next[row] = row + 1 if row + 1 < n and tuples[row + 1] == c else -1
        classes.size[c] += 1
        if row == 0 or tuples[row - 1] != c:
            classes.head[c] = row
            for col in range(leaf.shape[0]):
                work.general[col] = trees.leaf_node[trees.leaf_at[col] + leaf[col, row]]
            set_tuple(classes, c, work.general, trees)
    for c in range(tuples[n - 1] + 1):
        judge(classes, c, k, goals, tally)


@inner
def join_tuples(classes, n_classes, small, trees, work):
    """Compute F of the small class's tuple together with that of each class. Writes `work.joined`."""
    joined = work.joined
    for c in range(n_classes):
        joined[c] = 0
    for col in range(classes.node.shape[0]):
        costs_over(trees, col, classes.node[col, small], work.over)
        node = classes.node[col]
        for c in range(n_classes):
            joined[c] += work.over[node[c]]


@inner
def taken(n1, size, k):
    """Return how many rows of another class one of n1 rows merges with: all, or a stub if it is small."""
    return k - n1 if n1 < k and n1 + size >= 2 * k else size


@inner
def closest_class(classes, n_classes, small, k, trees, work):
    """Return the class nearest to a small one, and how far it is; of equals the one that comes first."""
    join_tuples(classes, n_classes, small, trees, work)
    n1, own = classes.size[small], classes.cost[small]
    least, best = np.int64(1) << 62, -1
    for c in range(n_classes):
        n2 = taken(n1, classes.size[c], k)
        far = (n1 + n2) * work.joined[c] - n1 * own - n2 * classes.cost[c]
        if far > least or c == small:
            continue
        if far < least or classes.head[c] < classes.head[best]:
            least, best = far, c
    return best, least


@inner
def merged_lists(following, one, other):
    """Merge two ascending lists of rows; return the first row. Writes `following`."""
    if one < 0 or other < 0:
        return max(one, other)
    head = min(one, other)
    if one == head:
        one = following[one]
    else:
        other = following[other]
    tail = head
    while one >= 0 and other >= 0:
        if one < other:
            following[tail] = one
            one = following[one]
        else:
            following[tail] = other
            other = following[other]
        tail = following[tail]
    following[tail] = max(one, other)
    return head


@inner
def claim(classes, c):
    """Tell the rows of a class which one they are in. Writes `classes.of_row`."""
    row = classes.head[c]
    while row >= 0:
        classes.of_row[row] = c
        row = classes.next[row]


@inner
def take_stub(classes, c, n_rows):
    """Cut the first rows off a class; return the first one. Writes `classes`."""
    head = classes.head[c]
    last = head
    for _ in range(n_rows - 1):
        last = classes.next[last]
    classes.head[c] = classes.next[last]
    classes.next[last] = -1
    classes.size[c] -= n_rows
    return head


@inner
def vanish(classes, n_classes, c):
    """Put the last class in the place of one that has vanished; return how many there are."""
    last = n_classes - 1
    if c != last:
        for col in range(classes.node.shape[0]):
            classes.node[col, c] = classes.node[col, last]
        classes.cost[c], classes.key[c] = classes.cost[last], classes.key[last]
        classes.size[c], classes.head[c] = classes.size[last], classes.head[last]
        classes.good[c] = classes.good[last]
        claim(classes, c)
    return last


@inner
def class_like(classes, n_classes, c):
    """Return another class with the same tuple, or -1."""
    key = classes.key[c]
    for other in range(n_classes):
        if classes.key[other] == key and other != c:
            same = True
            for col in range(classes.node.shape[0]):
                same &= classes.node[col, other] == classes.node[col, c]
            if same:
                return other
    return -1


@inner
def merge(classes, n_classes, small, other, k, trees, goals, tally, work):
    """Merge a small class with another, or with its stub; return how many classes there are."""
    for col in range(classes.node.shape[0]):
        one, two = classes.node[col, small], classes.node[col, other]
        work.general[col] = common_node(trees, col, one, two)
    n2 = taken(classes.size[small], classes.size[other], k)
    is_whole = n2 == classes.size[other]
    stub = take_stub(classes, other, n2)
    classes.head[small] = merged_lists(classes.next, classes.head[small], stub)
    classes.size[small] += n2
    set_tuple(classes, small, work.general, trees)
    like = class_like(classes, n_classes, small)
    if is_whole and like == other:
        # The vanished class had this very tuple; there may be no other like it.
        like = -1
    if like >= 0:
        classes.head[like] = merged_lists(classes.next, classes.head[like], classes.head[small])
        classes.size[like] += classes.size[small]
        claim(classes, like)
        judge(classes, like, k, goals, tally)
        if not is_whole and like != other:
            judge(classes, other, k, goals, tally)
        gone, second = max(small, other), min(small, other)
        n_classes = vanish(classes, n_classes, gone if is_whole else small)
        return vanish(classes, n_classes, second) if is_whole else n_classes
    claim(classes, small)
    judge(classes, small, k, goals, tally)
    if not is_whole:
        judge(classes, other, k, goals, tally)
    return vanish(classes, n_classes, other) if is_whole else n_classes


@inner
def suppress(classes, n_classes, c):
    """Leave out the rows of a class; return how many classes there are."""
    row = classes.head[c]
    while row >= 0:
        classes.of_row[row] = -1
        row = classes.next[row]
    return vanish(classes, n_classes, c)


@entry
def merge_small(leaf, tuples, order, trees, classes, goals, tally, cursor, settings, work):
    """Merge classes that are not good, the one with the earliest row in `order` first.

    With no classes they are made first: one of each set of equal rows. Writes `classes`, `tally`, `cursor`
    and `work`.
    """
    k, outlier, budget = settings.k, settings.outlier, settings.n_classes
    if cursor[CLASSES] == 0:
        start(leaf, tuples, trees, classes, k, goals, tally, work)
        cursor[CLASSES] = tuples[tuples.shape[0] - 1] + 1
        return
    n = order.shape[0]
    while cursor[DONE] < n and budget > 0:
        small = classes.of_row[order[cursor[DONE]]]
        if small < 0 or classes.good[small] or cursor[CLASSES] == 1:
            cursor[DONE] += 1
            continue
        budget -= cursor[CLASSES]
        other, far = closest_class(classes, cursor[CLASSES], small, k, trees, work)
        size = classes.size[small]
        if outlier >= 0 and far > outlier * size and size <= cursor[MAY_SUPPRESS]:
            cursor[MAY_SUPPRESS] -= size
            cursor[CLASSES] = suppress(classes, cursor[CLASSES], small)
        else:
            cursor[CLASSES] = merge(classes, cursor[CLASSES], small, other, k, trees, goals, tally, work)
