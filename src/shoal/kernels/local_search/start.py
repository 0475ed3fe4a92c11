"""The start of the search: groups are cut from above; small ones with rollouts, or grown from single rows."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from shoal.arrays import LongArray
from shoal.kernels.compiling import entry
from shoal.kernels.goals import Tally
from shoal.kernels.local_search.cuts import (
    BEST,
    N_ENDS,
    N_FOUND,
    ONE,
    ZERO,
    allowed_cuts,
    cut_with_rollouts,
    cut_work,
    no_cuts,
    part,
)
from shoal.kernels.local_search.growth import grow_classes, waiting_rows
from shoal.kernels.local_search.space import Cell, local_cell, n_values

CUT_ONCE, CUT_ALL, GROW = range(3)


class Started(NamedTuple):
    """The classes of a cell."""

    ends: LongArray  # where each class ends
    loss: int
    is_grown: bool  # growth lost less than cuts


_NOTHING = np.zeros(0, np.int64)


def cut_once(cell: Cell, rows: LongArray, begin: int, end: int, tally: Tally | None) -> int:
    """Cut a group where that saves most; return where the second part begins, `end` if nothing was cut.

    Writes `rows`.
    """
    middle, _ = best_cut(cell, rows, begin, end, tally)
    return middle


def best_cut(
    cell: Cell, rows: LongArray, begin: int, end: int, tally: Tally | None
) -> tuple[int, tuple[int, int, int]]:
    """Cut a group as `cut_once` does; also return the column and the codes, from and to, of the first part.

    Writes `rows`.
    """
    ids, cuts = rows[begin:end].copy(), no_cuts()
    local, places = local_cell(cell, ids, tally), np.arange(end - begin)
    middle, _ = _run(local, CUT_ONCE, places, ONE, cuts=cuts)
    if middle < end - begin:
        rows[begin:end] = ids[places]
    return begin + int(middle), (int(cuts.col[0]), int(cuts.low[0]), int(cuts.high[0]))


def start_cell(
    cell: Cell, rows: LongArray, begin: int, end: int, tried: int, grows: bool, tally: Tally | None
) -> Started:
    """Part the rows from `begin` to `end` into classes by cuts, or by growth if that is asked and loses less.

    Writes `rows`.
    """
    ids, m = rows[begin:end].copy(), end - begin
    local, places = local_cell(cell, ids, tally), np.arange(m)
    ends, grown = np.zeros(m // local.k + 2, np.int64), np.zeros(m, np.int64)
    n_classes, loss = _run(local, CUT_ALL, places, tried, ends, grown)
    ends[N_ENDS] = 0  # from here on, where the first class begins
    labels = np.empty(m, np.int64)
    labels[places] = np.repeat(np.arange(n_classes), np.diff(np.sort(ends[: n_classes + 1])))
    if grows:
        n_grown, grown_loss = _run(local, GROW, np.arange(m), tried, ends, grown)
        if grown_loss < loss:
            return Started(_write_classes(rows, begin, ids, grown, n_grown), grown_loss, True)
    return Started(_write_classes(rows, begin, ids, labels, n_classes), loss, False)


def _run(cell, way, places, tried, ends=_NOTHING, labels=_NOTHING, cuts=None):
    """Call the kernel with room for as many rows as there are."""
    m, d = len(places), cell.codes.shape[1]
    most = m // cell.k + 2
    low, high, size = np.zeros((most, d), np.int32), np.zeros((most, d), np.int32), np.zeros(most, np.int64)
    helpful = np.zeros(n_values(cell), np.bool_)
    waiting = waiting_rows(cell, m if way == GROW else 0)
    work = cut_work(cell, 0 if way == GROW else m)
    return cut_or_grow(
        cell, way, places, tried, ends, cuts or no_cuts(), no_cuts(), work, waiting, labels, low, high, size,
        helpful,
    )  # fmt: skip


@entry
def cut_or_grow(
    cell, way, places, tried, ends, cuts, inner, work, waiting, labels, low, high, size, helpful
):  # fmt: skip
    """Cut a group once, cut it with rollouts, or grow classes in it; return a number and a loss.

    The three are one kernel, because LLVM then optimises what they share once. The number is the size of the
    first part, all if nothing was cut; or the number of classes.
    """
    n = places.shape[0]
    if way == CUT_ONCE:
        whole = allowed_cuts(cell, places, ZERO, n, cuts, ONE, 0.0, work.state, work)
        if cuts.state[N_FOUND] == 0:
            return n, whole
        return part(cell.codes, places, ZERO, n, cuts.col[BEST], cuts.low[BEST], cuts.high[BEST]), whole
    if way == CUT_ALL:
        loss = cut_with_rollouts(cell, places, ZERO, n, tried, 3 * cell.k, ends, cuts, inner, work)
        return ends[N_ENDS], loss
    return grow_classes(cell, waiting, places, n, ZERO, labels, low, high, size, helpful)


def _write_classes(rows, begin, ids, labels, n_classes):
    """Write the rows class by class; return where each class ends. Writes `rows` from `begin` on."""
    rows[begin : begin + len(ids)] = ids[np.argsort(labels, kind="stable")]
    return begin + np.cumsum(np.bincount(labels, minlength=n_classes))
