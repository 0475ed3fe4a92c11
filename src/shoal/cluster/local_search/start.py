"""The start: the table is cut from above into cells, and these into classes."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from math import ceil
from typing import TYPE_CHECKING, Any

import numpy as np

from shoal.arrays import LongArray
from shoal.cluster.local_search.partition import Partition
from shoal.cluster.local_search.workers import Workers

if TYPE_CHECKING:
    from shoal.kernels.local_search.start import Started

CELL_ROWS = 3000  # rollouts above this gain nothing
_CELL_CLASSES = 30  # at least, for large k
_TRIED = 2  # cuts of a group that are rolled out; the time for more is better spent on the search
_TRIED_IF_GROWN = 1  # none is where growth loses less than cuts in any case,
_MANY_ROWS = 50_000  # or, in a table of more rows, where it is worth its time at all
_PROBES = 8  # cells that show whether growth from single rows loses less
_PROBE_ROWS = 500  # of such a cell that are grown, since growth takes time with their square
_PROBE_CLASSES = 10  # at least, for large k
_WORTHWHILE = 0.25  # share of the probes in which growth loses less, from which on all cells are grown
Tick = Callable[[float], None]


def cut_from_above(cell: Any, workers: Workers, tick: Tick, share: float = 1.0) -> Partition:
    """Part all rows: cut greedily down to cells, each cell with rollouts of the best cuts.

    `share` is that of the rows in their table: where they are only a part of it, other parts are probed too.
    """
    from shoal.kernels.local_search import start as kernel

    rows = np.arange(len(cell.codes))
    cells = _cells(cell, rows, max(CELL_ROWS, _CELL_CLASSES * cell.k), workers)
    wins = _growth_wins(cell, rows, cells, workers, share)
    grows = wins >= _WORTHWHILE
    is_settled = wins == 1 or (grows and len(rows) > share * _MANY_ROWS)
    tried = _TRIED_IF_GROWN if is_settled else _TRIED
    found: dict[int, Started] = {}
    tasks = [partial(kernel.start_cell, cell, rows, *group, tried, grows) for group in cells]
    for at, result in workers.run(tasks):
        found[at] = result
        tick(len(found) / len(cells))
    ends = np.concatenate([found[number].ends for number in range(len(cells))])
    return Partition(rows, ends, sum(cell.loss for cell in found.values()))


def _growth_wins(
    cell: Any, rows: LongArray, cells: list[tuple[int, int]], workers: Workers, share: float
) -> float:
    """Return in which share of a few cells growth loses less than cuts: rarely on trees, mostly on numbers.

    Of each of these cells every so many rows are tried.
    """
    from shoal.kernels.local_search import start as kernel

    tasks = []
    for begin, end in cells[:: -(-len(cells) // ceil(share * _PROBES))]:
        apart = (end - begin) // max(_PROBE_ROWS, _PROBE_CLASSES * cell.k)
        some = rows[begin : end : max(1, apart)].copy()
        tasks.append(partial(kernel.start_cell, cell, some, 0, len(some), _TRIED, True))
    return sum(result.is_grown for _, result in workers.run(tasks)) / len(tasks)


def _cells(cell: Any, rows: LongArray, most: int, workers: Workers) -> list[tuple[int, int]]:
    """Cut groups of more than `most` rows where that saves most; return where each begins and ends."""
    from shoal.kernels.local_search import start as kernel

    groups, cells = [(0, len(rows))], []
    while groups:
        cells += [(begin, end) for begin, end in groups if end - begin <= most]
        large = [(begin, end) for begin, end in groups if end - begin > most]
        groups = []
        for at, middle in workers.run([partial(kernel.cut_once, cell, rows, *group) for group in large]):
            begin, end = large[at]
            if middle == end:
                cells.append((begin, end))
            else:
                groups += [(begin, middle), (middle, end)]
    return sorted(cells)
