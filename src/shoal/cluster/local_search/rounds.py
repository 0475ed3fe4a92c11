"""The rounds of the search: every round has new blocks, searched in parallel."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from shoal.arrays import FloatArray, LongArray
from shoal.cluster.local_search.blocks import random_blocks
from shoal.cluster.local_search.cell import highest_costs
from shoal.cluster.local_search.partition import Partition
from shoal.cluster.local_search.schedule import Plan, Schedule
from shoal.cluster.local_search.workers import Workers

if TYPE_CHECKING:
    from shoal.kernels.local_search.block_search import Searched

Tick = Callable[[float, int], None]  # called with the share of the search that is done, and the loss


def search(
    cell: Any,
    start: Partition,
    schedule: Schedule,
    random: np.random.Generator,
    workers: Workers,
    tick: Tick,
) -> Partition:
    """Search from a partition on; return the best one seen, which may be the start."""
    best = now = start
    scale = _scale(cell)
    schedule.begin(len(start.rows) / start.n_classes)
    while schedule.share < 1.0 and now.n_classes > 1:
        now = _round(cell, now, scale, schedule, random, workers, tick)
        schedule.next_round()
        best = min(best, now, key=lambda partition: partition.loss)
        tick(schedule.share, best.loss)
    return best


def _round(
    cell: Any,
    now: Partition,
    scale: FloatArray,
    schedule: Schedule,
    random: np.random.Generator,
    workers: Workers,
    tick: Tick,
) -> Partition:
    """Search every block once. A block that there is no time for stays as it is."""
    from shoal.kernels.local_search.partition import class_centres

    n_rows = len(now.rows)
    centres = class_centres(cell, now.rows, now.ends, scale)
    blocks = random_blocks(centres, schedule.classes_of_block(n_rows / now.n_classes), random)
    seeds = random.integers(0, 1 << 64, len(blocks), np.uint64)
    plan = schedule.plan(now.loss / n_rows, now.loss / now.n_classes)
    tasks = [
        partial(_search_block, cell, now, block, plan, seed)
        for block, seed in zip(blocks, seeds, strict=True)
    ]
    found: dict[int, Searched] = {}
    loss = now.loss
    with closing(workers.run(tasks)) as running:
        for number, result in running:
            found[number] = result
            loss += result.after - result.before
            tick(schedule.share_within(len(found) / len(blocks)), loss)
            if schedule.is_late:
                break
    untouched = [_classes(now, block) for at, block in enumerate(blocks) if at not in found]
    parts = [(found[at].rows, found[at].ends) for at in sorted(found)] + untouched
    begins = np.cumsum([0, *(len(rows) for rows, _ in parts)])
    ends = [ends + begin for (_, ends), begin in zip(parts, begins[:-1], strict=True)]
    return Partition(np.concatenate([rows for rows, _ in parts]), np.concatenate(ends), loss)


def _search_block(
    cell: Any,
    now: Partition,
    classes: LongArray,
    plan: Plan,
    seed: np.uint64,
    tally: Any,
) -> Searched:
    """Search among some classes."""
    from shoal.kernels.local_search.block_search import search_block

    n_steps = int(plan.steps * len(classes))
    return search_block(
        cell, now.rows, now.ends, classes, n_steps, plan.temperature, plan.patience,
        plan.is_wide, plan.is_first, plan.is_last, seed, tally,
    )  # fmt: skip


def _classes(partition: Partition, classes: LongArray) -> tuple[LongArray, LongArray]:
    """Return the rows of some classes, class by class, and where each ends."""
    from shoal.kernels.local_search.block_search import rows_of

    rows, labels = rows_of(partition.rows, partition.ends, classes)
    return rows, np.cumsum(np.bincount(labels, minlength=len(classes)))


def _scale(cell: Any) -> FloatArray:
    """Return by what codes are multiplied so that every column is as wide as it costs."""
    scale: FloatArray = highest_costs(cell) / np.maximum(1, cell.codes.max(axis=0, initial=1))
    return scale
