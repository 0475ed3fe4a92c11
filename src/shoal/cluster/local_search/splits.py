"""The last step: classes of 2k rows or more are split, also where that saves nothing.

The search changes a class only where less is lost. Where many rows lose a whole column in any case, as
texts that hardly two rows share do, classes of all sizes lose the same, and large ones would stay. A
split never loses more, because the boxes of both parts lie inside that of the whole.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from shoal.arrays import LongArray
from shoal.cluster.local_search.partition import Partition

_COLUMNS = 16  # along which cuts are looked for: in wide tables those that save most by themselves
_LARGE = 64  # times k: larger classes are cut in their middle half, so that few cuts are nested
_TRIED_ROWS = 20_000  # that the cuts of a class which goals may forbid have together
_LEAST_TRIED = 16  # such cuts, however large the class is
_BATCH = 1 << 21  # cells that are examined together
_SHIFT = 32  # bits above those of any code


def split_large(cell: Any, partition: Partition, tally: Any) -> Partition:
    """Split classes of 2k rows or more until their rows are alike or no cut leaves two good parts.

    Parameters
    ----------
    cell : kernels.space.Cell
        All rows, in canonical order, and what their classes need.
    partition : Partition
        Of these rows, every class good.
    tally : kernels.goals.Tally
        An empty one.

    Returns
    -------
    partition : Partition
        The same one where nothing was split. Losses are those of `cell`.
    """
    from shoal.kernels.local_search.partition import partition_loss

    classes = np.split(partition.rows, partition.ends[:-1])
    done = [rows for rows in classes if not _is_open(cell, rows)]
    waiting = [np.sort(rows) for rows in classes if _is_open(cell, rows)]
    found_any = False
    while waiting:
        parts: list[LongArray] = []
        for batch in _batches(waiting, cell.codes.shape[1]):
            for rows, cut in zip(batch, _cuts(cell, batch, tally), strict=True):
                if cut is None:
                    done.append(rows)
                else:
                    parts += [np.sort(part) for part in cut]
                    found_any = True
        done += [rows for rows in parts if not _is_open(cell, rows)]
        waiting = [rows for rows in parts if _is_open(cell, rows)]
    if not found_any:
        return partition
    rows, ends = np.concatenate(done), np.cumsum([len(members) for members in done])
    return Partition(rows, ends, int(partition_loss(cell, rows, ends)))


def _is_open(cell: Any, rows: LongArray) -> bool:
    """Return whether a class could be split with some use: its rows are published alike otherwise."""
    return len(rows) >= 2 * cell.k and bool((cell.codes[rows] != cell.codes[rows[0]]).any())


def _batches(classes: list[LongArray], n_columns: int) -> Iterator[list[LongArray]]:
    """Put classes together as long as there is memory for them; a larger one is alone."""
    batch: list[LongArray] = []
    cells = 0
    for rows in classes:
        if batch and cells + len(rows) * n_columns > _BATCH:
            yield batch
            batch, cells = [], 0
        batch.append(rows)
        cells += len(rows) * n_columns
    if batch:
        yield batch


def _cuts(cell: Any, classes: list[LongArray], tally: Any) -> Iterator[tuple[LongArray, LongArray] | None]:
    """Yield the two parts of each class, None where no cut is allowed."""
    batch = _Batch.of(cell, classes)
    orders, losses = [], []
    for column in _promising(cell, batch):
        order = batch.along(column)
        orders.append(batch.rows[order])
        losses.append(_losses(cell, batch, order))
    in_order, lost = np.array(orders), np.array(losses)
    for begin, size in zip(batch.begins.tolist(), batch.sizes.tolist(), strict=True):
        places = slice(begin, begin + size)
        yield _best_cut(cell, in_order[:, places], lost[:, places], tally)


@dataclass(frozen=True)
class _Batch:
    """Some classes, their rows one class after the other, ascending."""

    rows: LongArray
    codes: LongArray  # (rows, columns)
    sizes: LongArray
    begins: LongArray
    number: LongArray  # of each row's class

    @classmethod
    def of(cls, cell: Any, classes: list[LongArray]) -> _Batch:
        rows = np.concatenate(classes)
        sizes = np.array([len(members) for members in classes], np.int64)
        number = np.repeat(np.arange(len(classes)), sizes)
        return cls(rows, cell.codes[rows].astype(np.int64), sizes, np.cumsum(sizes) - sizes, number)

    @property
    def before(self) -> LongArray:
        """How many rows of its class come before each place."""
        return np.arange(len(self.rows)) - self.begins[self.number]

    def along(self, column: int) -> LongArray:
        """Return the places ordered by class, then by a column's code, then by row."""
        return np.argsort(self.number << _SHIFT | self.codes[:, column], kind="stable")


def _promising(cell: Any, batch: _Batch) -> list[int]:
    """Choose the columns along which classes are cut; the lower number of equals."""
    n_columns = batch.codes.shape[1]
    if n_columns <= _COLUMNS:
        return list(range(n_columns))
    saved = [_saved_alone(cell, batch, column) for column in range(n_columns)]
    best = np.argsort(-np.array(saved), kind="stable")[:_COLUMNS]
    return sorted(best.tolist())


def _saved_alone(cell: Any, batch: _Batch, column: int) -> int:
    """Return what the best cuts along a column save in that column, over all classes."""
    codes = batch.codes[batch.along(column), column]
    first, last = (codes[ends][batch.number] for ends in (batch.begins, batch.begins + batch.sizes - 1))
    before = batch.before
    after = batch.sizes[batch.number] - before
    previous = np.where(before > 0, np.roll(codes, 1), first)
    lost = before * _column_costs(cell, column, first, previous)
    lost += after * _column_costs(cell, column, codes, last)
    whole = batch.sizes[batch.number] * _column_costs(cell, column, first, last)
    allowed = (before >= cell.k) & (after >= cell.k)
    return int(np.maximum.reduceat(np.where(allowed, whole - lost, 0), batch.begins).sum())


def _losses(cell: Any, batch: _Batch, order: LongArray) -> LongArray:
    """Return what both parts lose together when a class is cut before each place of an order.

    Codes are moved by so much from one class to the next that the extremes up to a place, over all
    classes, are those of its own class.
    """
    codes, shift = batch.codes[order], (batch.number << _SHIFT)[:, None]
    up, down = codes + shift, codes - shift
    first = _box_costs(cell, np.minimum.accumulate(down) + shift, np.maximum.accumulate(up) - shift)
    second = _box_costs(
        cell,
        np.minimum.accumulate(up[::-1])[::-1] - shift,
        np.maximum.accumulate(down[::-1])[::-1] + shift,
    )
    before = batch.before
    lost: LongArray = before * np.roll(first, 1) + (batch.sizes[batch.number] - before) * second
    return lost


def _box_costs(cell: Any, low: LongArray, high: LongArray) -> LongArray:
    """Return D of boxes, one in each row."""
    n_range = len(cell.span)
    costs: LongArray = np.minimum(high[:, :n_range] - low[:, :n_range], cell.span).sum(axis=1)
    for column in range(n_range, low.shape[1]):
        costs += _column_costs(cell, column, low[:, column], high[:, column])
    return costs


def _column_costs(cell: Any, column: int, low: LongArray, high: LongArray) -> LongArray:
    """Return what sets cost in one column, as `kernels.space.column_cost` does."""
    tree = column - len(cell.span)
    if tree < 0:
        widths: LongArray = np.minimum(high - low, cell.span[column])
        return widths
    begin, n_leaves = cell.over_at[tree], cell.n_leaves[tree]
    if cell.is_small[tree]:
        pairs: LongArray = cell.over[begin + low * n_leaves + high].astype(np.int64)
        return pairs
    log = cell.log[high - low]
    level = begin + log * n_leaves
    costs = np.maximum(cell.over[level + low], cell.over[level + high - (1 << log)])
    found: LongArray = np.where(low == high, 0, costs).astype(np.int64)
    return found


def _best_cut(
    cell: Any, orders: LongArray, losses: LongArray, tally: Any
) -> tuple[LongArray, LongArray] | None:
    """Return both parts of the cut that loses least and is allowed.

    Of equals the one that leaves room for most classes counts, then the one nearest to the middle, then
    the first column, then the first place.
    """
    size, k = losses.shape[1], cell.k
    margin = max(k, size // 4) if size > _LARGE * k else k
    before = np.arange(margin, size - margin + 1)
    room = before // k + (size - before) // k
    n_orders = len(orders)
    keys = (np.abs(2 * before - size), -room)
    rank = np.lexsort((*(np.tile(key, n_orders) for key in keys), losses[:, before].ravel()))
    for at in _tried(cell, rank, size):
        order, place = orders[at // len(before)], before[at % len(before)]
        if _are_good(cell, order, place, tally):
            return order[:place], order[place:]
    return None


def _tried(cell: Any, rank: LongArray, size: int) -> LongArray:
    """Return the cuts that are tried where goals may forbid them: all, unless that would take too long."""
    return rank[: max(_LEAST_TRIED, _TRIED_ROWS // size)] if cell.goals is not None else rank[:1]


def _are_good(cell: Any, order: LongArray, place: int, tally: Any) -> bool:
    """Return whether both parts meet every goal."""
    from shoal.kernels.goals import all_good

    if cell.goals is None:
        return True
    return bool(all_good(cell.goals, tally, order, np.array([place, len(order)])))
