"""Assign every released row a raw row of its own, or count those that have none: a maximum flow.

A *box* represents identical released rows, a *point* identical raw rows. Whatever has only one option is
sent there first, which never hurts; then every point gives to the box with the fewest options. Rows that
are still open are sent along shortest augmenting paths (Dinic). When no such path is left, the flow is a
maximum.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from heapq import heappop, heappush

import numpy as np

from shoal.verifier.originals.axis import Axis, Flags, Ints
from shoal.verifier.originals.inside import Grid, Pairs

_FEW = 200  # a round for single options is worthwhile if at least one pair in this many is one


def unmatched(axes: Sequence[Axis], released: Ints, raw: Ints, *, most: int | None = None) -> int:
    """Return how many released rows cannot have a raw row of their own inside their box.

    Parameters
    ----------
    axes : sequence of Axis
        The columns.
    released : ndarray of shape (n_boxes,)
        How many rows each box represents.
    raw : ndarray of shape (n_points,)
        How many rows each point represents.
    most : int, optional
        Points inside one box that are tried first; the result does not depend on it.
    """
    if not len(released) or not len(raw):
        return int(released.sum())
    if len(axes) == 1 and axes[0].members is None:
        return _unmatched_on_a_line(axes[0], released, raw)
    found = Grid(axes).pairs(most)
    flow = _Flow(found.box, found.point, released.copy(), raw.copy())
    flow.fill()
    partial = found.partial
    while True:
        seen_boxes, seen_points = flow.close()
        if not flow.open.any():
            return 0
        # A box may lead on to points inside it that were not tried yet.
        more = _beyond(axes, np.flatnonzero(seen_boxes & partial), np.flatnonzero(~seen_points))
        if not len(more.box):
            return int(flow.open.sum())
        flow.add(more)


def _unmatched_on_a_line(axis: Axis, released: Ints, raw: Ints) -> int:
    """Do the same for runs of codes: each raw row goes to the open run that ends first."""
    rows_of_cell = np.bincount(axis.cells, released, len(axis.low)).astype(np.int64).tolist()
    left = np.bincount(axis.codes, raw, axis.size).astype(np.int64).tolist()
    begins = sorted(
        (low, high, cell) for cell, (low, high) in enumerate(zip(axis.low, axis.high, strict=True))
    )
    waiting: list[tuple[int, int]] = []  # the end of each open run, and its cell
    at = 0
    for code in range(axis.size):
        rows = left[code]
        while at < len(begins) and begins[at][0] == code:
            heappush(waiting, begins[at][1:])
            at += 1
        while rows and waiting:
            end, cell = waiting[0]
            taken = min(rows, rows_of_cell[cell]) if end >= code else 0
            rows -= taken
            rows_of_cell[cell] -= taken
            if end < code or not rows_of_cell[cell]:
                heappop(waiting)
    return int(sum(rows_of_cell))


def _beyond(axes: Sequence[Axis], boxes: Ints, points: Ints) -> Pairs:
    """Return, for each point inside any of the boxes, one such box, which is enough to reach it."""
    boxes_of, points_of = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
    while len(boxes) and len(points):
        grid = Grid([axis.of_points(points) for axis in axes])
        found, rest = grid.first_pairs(boxes)
        reached, first = np.unique(found.point, return_index=True)
        boxes_of.append(found.box[first])
        points_of.append(points[reached])
        boxes, points = rest, np.delete(points, reached)
    return Pairs(np.concatenate(boxes_of), np.concatenate(points_of), np.zeros(0, np.bool_))


@dataclass
class _Flow:
    """A flow over pairs of a box and a point inside it.

    Parameters
    ----------
    box, point : ndarrays of shape (n_pairs,)
        The pairs.
    open : ndarray of shape (n_boxes,)
        Released rows that have no raw row yet.
    left : ndarray of shape (n_points,)
        Raw rows that are not assigned yet.
    """

    box: Ints
    point: Ints
    open: Ints
    left: Ints

    def __post_init__(self) -> None:
        self.amounts = np.zeros(len(self.box), np.int64)

    def add(self, more: Pairs) -> None:
        """Add pairs without flow."""
        self.box, self.point = np.append(self.box, more.box), np.append(self.point, more.point)
        self.amounts = np.append(self.amounts, np.zeros(len(more.box), np.int64))

    def fill(self) -> None:
        """Send what can be sent without rerouting."""
        pairs = np.arange(len(self.box))
        while True:
            pairs = pairs[(self.open[self.box[pairs]] > 0) & (self.left[self.point[pairs]] > 0)]
            if not len(pairs):
                return
            box, point = self.box[pairs], self.point[pairs]
            spare = (np.bincount(box, self.left[point], len(self.open)) - self.open)[box]
            wanted = (np.bincount(point, self.open[box], len(self.left)) - self.left)[point]
            # A box that needs all rows inside it, or a point that can serve all its boxes, has one option.
            chosen = np.flatnonzero((spare <= 0) | (wanted <= 0))
            if len(chosen) * _FEW < len(pairs):
                # The side with more options chooses, so that each round makes good progress.
                by_box = np.count_nonzero(self.open) > np.count_nonzero(self.left)
                keys, values = (box, wanted / self.left[point]) if by_box else (point, spare / self.open[box])
                chosen = _least_of_each(keys, values)
            chosen = chosen[np.argsort(spare[chosen], kind="stable")]
            self.amounts[pairs[chosen]] += self._send(box[chosen], point[chosen])

    def _send(self, box: Ints, point: Ints) -> Ints:
        """Send as much as both sides have along different pairs, first come, first served."""
        amounts = np.minimum(self.open[box], self.left[point])
        amounts = _granted(box, _granted(point, amounts, self.left), self.open)
        np.subtract.at(self.open, box, amounts)
        np.subtract.at(self.left, point, amounts)
        return amounts

    def close(self) -> tuple[Flags, Flags]:
        """Send open rows along augmenting paths until none is left; return what the last search reached."""
        self._by_box = _Index(self.box, len(self.open))
        self._by_point = _Index(self.point, len(self.left))
        while True:
            layers, seen_boxes, seen_points = self._layers()
            if not layers:
                return seen_boxes, seen_points
            self._send_along(layers)

    def _layers(self) -> tuple[list[Ints], Flags, Flags]:
        """Search from all open boxes at once.

        Returns pairs from boxes to points, from these points to boxes that have rows of them, and so on, up
        to the first points with rows left, and which boxes and points were reached. There are no layers when
        no reachable point has rows left.
        """
        seen_boxes, seen_points = self.open > 0, np.zeros(len(self.left), np.bool_)
        boxes = np.flatnonzero(seen_boxes)
        layers = []
        while len(boxes):
            there = self._by_box.of(boxes)
            there = there[~seen_points[self.point[there]]]
            points = np.unique(self.point[there])
            seen_points[points] = True
            layers.append(there)
            if (self.left[points] > 0).any():
                return layers, seen_boxes, seen_points
            back = self._by_point.of(points)
            back = back[(self.amounts[back] > 0) & ~seen_boxes[self.box[back]]]
            boxes = np.unique(self.box[back])
            seen_boxes[boxes] = True
            layers.append(back)
        return [], seen_boxes, seen_points

    def _send_along(self, layers: list[Ints]) -> None:
        """Send rows along the layers until every path is blocked.

        Only pairs that lead to a point with rows left are followed. Nodes are numbered boxes first.
        """
        ways: dict[int, list[int]] = {}
        n_boxes = len(self.open)
        good = self.left > 0
        for at in range(len(layers) - 1, -1, -1):
            forth = at % 2 == 0
            begin, end = (self.box, self.point) if forth else (self.point, self.box)
            pairs = layers[at][good[end[layers[at]]]]
            good = np.zeros(len(self.open if forth else self.left), np.bool_)
            good[begin[pairs]] = True
            nodes = begin[pairs] + (0 if forth else n_boxes)
            for node, pair in zip(nodes.tolist(), pairs.tolist(), strict=True):
                ways.setdefault(node, []).append(pair)
        for box in np.flatnonzero(self.open).tolist():
            while self.open[box] and (path := self._path(box, ways)):
                self._send_on(path)

    def _path(self, start: int, ways: dict[int, list[int]]) -> list[int]:
        """Find a path and drop the dead ends; an empty path means that none is left."""
        n_boxes = len(self.open)
        path: list[int] = []
        node = start
        while True:
            here = ways.get(node)
            if not here:
                if not path:
                    return []
                pair = path.pop()
                node = int(self.point[pair]) + n_boxes if len(path) % 2 else int(self.box[pair])
                ways[node].pop()
                continue
            pair = here[-1]
            if len(path) % 2 and not self.amounts[pair]:
                here.pop()
                continue
            path.append(pair)
            node = int(self.point[pair]) + n_boxes if len(path) % 2 else int(self.box[pair])
            if len(path) % 2 and self.left[self.point[pair]]:
                return path

    def _send_on(self, path: list[int]) -> None:
        """Send as much as possible along a path: forward on every other pair, back on those between."""
        forth, back = path[::2], path[1::2]
        box, point = self.box[forth[0]], self.point[forth[-1]]
        amount = min(self.open[box], self.left[point], *self.amounts[back])
        self.amounts[forth] += amount
        self.amounts[back] -= amount
        self.open[box] -= amount
        self.left[point] -= amount


class _Index:
    """Finds the pairs of a box or a point."""

    def __init__(self, keys: Ints, size: int) -> None:
        self._order = np.argsort(keys, kind="stable")
        self._begins = np.searchsorted(keys[self._order], np.arange(size + 1))

    def of(self, keys: Ints) -> Ints:
        """Return the pairs of these keys."""
        begins = self._begins[keys]
        times = self._begins[keys + 1] - begins
        ends = np.cumsum(times)
        places = np.arange(int(times.sum())) + np.repeat(begins - ends + times, times)
        pairs: Ints = self._order[places]
        return pairs


def _granted(keys: Ints, amounts: Ints, has: Ints) -> Ints:
    """Limit amounts so that those of one key do not exceed what it has, first come, first served."""
    order = np.argsort(keys, kind="stable")
    keys, amounts = keys[order], amounts[order]
    before = np.cumsum(amounts) - amounts
    firsts = np.flatnonzero(np.diff(keys, prepend=-1))
    before -= np.repeat(before[firsts], np.diff(np.append(firsts, len(keys))))
    granted = np.empty_like(amounts)
    granted[order] = np.clip(has[keys] - before, 0, amounts)
    return granted


def _least_of_each(keys: Ints, values: np.ndarray[tuple[int], np.dtype[np.float64]]) -> Ints:
    """Return where each key has its least value, the first of ties."""
    order = np.lexsort((values, keys))
    least: Ints = order[np.flatnonzero(np.diff(keys[order], prepend=-1))]
    return least
