"""Sorting and choosing without memory of its own. Numba's own functions take a second or two to compile."""

from __future__ import annotations

import numpy as np

from shoal.kernels.compiling import inner


@inner
def sort_front(values, n):
    """Sort the first n values, by Shell's method. Writes `values`."""
    gap = n
    while gap > 1:
        gap = max(1, (5 * gap - 1) // 11)
        for at in range(gap, n):
            value, to = values[at], at
            while to >= gap and values[to - gap] > value:
                values[to] = values[to - gap]
                to -= gap
            values[to] = value


@inner
def sort_places(places, n, key):
    """Sort the first n places by their keys, equal keys by place. Writes `places`."""
    gap = n
    while gap > 1:
        gap = max(1, (5 * gap - 1) // 11)
        for at in range(gap, n):
            place, to = places[at], at
            while to >= gap and comes_before(place, places[to - gap], key):
                places[to] = places[to - gap]
                to -= gap
            places[to] = place


@inner
def comes_before(one, other, key):
    """Return whether a place comes before another one when they are sorted by keys."""
    return key[one] < key[other] or (key[one] == key[other] and one < other)


@inner
def ranked(values, n, rank):
    """Return the value that is number `rank`, from 0, of the first n, by Hoare's method. Writes `values`."""
    low, high = 0, n - 1
    while low < high:
        pivot = middle_of(values[low], values[(low + high) // 2], values[high])
        left, right = low, high
        while left <= right:
            while values[left] < pivot:
                left += 1
            while values[right] > pivot:
                right -= 1
            if left <= right:
                values[left], values[right] = values[right], values[left]
                left += 1
                right -= 1
        if rank <= right:
            high = right
        elif rank >= left:
            low = left
        else:
            break
    return values[rank]


@inner
def middle_of(one, other, third):
    """Return the second least of three values."""
    return max(min(one, other), min(max(one, other), third))


@inner
def first_least(values, n):
    """Return the place of the least of the first n values, the first one of equals."""
    least, best = values[0], 0
    for at in range(1, n):
        if values[at] < least:
            least, best = values[at], at
    return best


@inner
def add_to_heap(heap, n, key):
    """Add a key to a heap of n, the least of which comes first. Writes `heap`."""
    at = np.int64(n)
    while at > 0:
        above = (at - 1) >> 1
        if heap[above] <= key:
            break
        heap[at] = heap[above]
        at = above
    heap[at] = key


@inner
def drop_least(heap, n):
    """Take the least key out of a heap of n. Writes `heap`."""
    key, at, below, left = heap[n - 1], np.int64(0), np.int64(1), n - 1
    while below < left:
        if below + 1 < left and heap[below + 1] < heap[below]:
            below += 1
        if heap[below] >= key:
            break
        heap[at] = heap[below]
        at = below
        below = 2 * at + 1
    heap[at] = key
