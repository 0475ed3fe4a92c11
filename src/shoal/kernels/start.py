"""The start of the search: groups are cut from above; small ones with rollouts, or grown from single rows."""

from __future__ import annotations

import numpy as np
from numba import njit

from shoal.kernels.cuts import ONE, ZERO, allowed_cuts, cut_with_rollouts, cut_work, no_cuts, part, sort_front
from shoal.kernels.growth import GROWING, grow_classes
from shoal.kernels.space import local_cell


@njit(cache=True, nogil=True)
def cut_once(cell, rows, begin, end, tally):
    """Cut a group where that saves most; return where the second part begins, `end` if nothing was cut.

    Writes `rows`.
    """
    ids = rows[begin:end].copy()
    local = local_cell(cell, ids, tally)
    work, cuts = cut_work(local, end - begin), no_cuts()
    places = np.arange(end - begin)
    allowed_cuts(local, places, ZERO, end - begin, cuts, ONE, 0.0, work.state, work)
    if cuts.found[0] == 0:
        return end
    middle = part(local.codes, places, ZERO, end - begin, cuts.col[0], cuts.low[0], cuts.high[0])
    for at in range(end - begin):
        rows[begin + at] = ids[places[at]]
    return begin + middle


@njit(cache=True, nogil=True)
def write_classes(rows, begin, ids, labels, n_classes):
    """Write the rows class by class; return where each class ends. Writes `rows` from `begin` on."""
    ends = np.zeros(n_classes + 1, np.int64)
    for label in labels:
        ends[label + 1] += 1
    ends = begin + np.cumsum(ends)
    free = ends.copy()
    for at in range(labels.shape[0]):
        rows[free[labels[at]]] = ids[at]
        free[labels[at]] += 1
    return ends[1:]


@njit(cache=True, nogil=True)
def start_cell(cell, rows, begin, end, tried, grows, tally):
    """Part the rows from `begin` to `end` into classes by cuts, or by growth if that is asked and loses less.

    Returns where each class ends, the loss, and whether growth lost less. Writes `rows`.
    """
    ids = rows[begin:end].copy()
    m = end - begin
    local = local_cell(cell, ids, tally)
    places, labels, most = np.arange(m), np.zeros(m, np.int64), m // local.k + 2
    ends = np.zeros(most, np.int64)
    loss = cut_with_rollouts(
        local, places, ZERO, m, tried, 3 * local.k, ends, no_cuts(), no_cuts(), cut_work(local, m)
    )
    n_classes = ends[0]
    ends[0] = 0
    sort_front(ends, n_classes + 1)
    for c in range(n_classes):
        labels[places[ends[c] : ends[c + 1]]] = c
    if not grows:
        return write_classes(rows, begin, ids, labels, n_classes), loss, False
    d = local.codes.shape[1]
    grown, low, high = np.zeros(m, np.int64), np.zeros((most, d), np.int32), np.zeros((most, d), np.int32)
    n_grown, grown_loss = grow_classes(
        local,
        np.arange(m),
        GROWING,
        m,
        GROWING,
        grown,
        low,
        high,
        np.zeros(most, np.int64),
        np.zeros(local.goals.begin[-1], np.bool_),
    )
    if grown_loss >= loss:
        return write_classes(rows, begin, ids, labels, n_classes), loss, False
    return write_classes(rows, begin, ids, grown, n_grown), grown_loss, True
