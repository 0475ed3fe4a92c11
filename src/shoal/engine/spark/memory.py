"""The plan of a run: how many cells, and whether the largest fits into a worker's memory."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from shoal.engine.cells.planning import Plan
from shoal.errors import DataError
from shoal.table.codebook import Codebook

_ROW_BYTES = 400  # of one row of a cell while it is clustered and published, besides its columns
_COLUMN_BYTES = 130  # of one quasi column of such a row
_WORKER_BYTES = 350 << 20  # of a worker before it has any row: Python, Arrow, Polars, Numba
_UNITS = {"k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40}
_LEAST_OVERHEAD = 384 << 20  # that Spark asks a cluster for, per executor


def task_bytes(rows: int, codebook: Codebook) -> int:
    """Estimate the memory of the task that clusters a cell of so many rows."""
    others = len(codebook.recipe.named("sensitive", "keep")) + len(codebook.sensitive)
    return _WORKER_BYTES + rows * (_ROW_BYTES + _COLUMN_BYTES * (len(codebook.quasi) + others // 2))


def refuse_large(
    plan: Plan,
    largest: int,
    codebook: Codebook,
    spark: Any,
    cell_rows: int,
    show: Callable[[str], None] | None,
) -> None:
    """Show the plan; refuse it if its largest cell does not fit into a worker's memory."""
    needed, there = task_bytes(largest, codebook), worker_bytes(spark)
    if show is not None:
        room = "" if there is None else f" of {_gigabytes(there)}"
        show(
            f"plan: {codebook.rows:,} rows in {_cells(plan)} of up to {cell_rows:,} rows; the "
            f"largest has {largest:,} and needs about {_gigabytes(needed)}{room} of a task's memory"
        )
    if there is not None and needed > there:
        message = (
            f"A cell of {largest:,} rows needs about {_gigabytes(needed)}, but a task has "
            f"{_gigabytes(there)}."
        )
        hint = "lower cell_rows, or give each task more memory: spark.executor.pyspark.memory"
        if largest > cell_rows:
            hint = "no cut of this cell meets the goals: give each task more memory, or relax the goals"
        raise DataError("engine.memory", message, hint)


def _cells(plan: Plan) -> str:
    return "1 cell" if len(plan.counts) == 1 else f"{len(plan.counts):,} cells"


def worker_bytes(spark: Any) -> int | None:
    """Return the memory that a Python worker may use; None where nothing limits it that is known here."""
    conf = spark.conf
    cores = int(conf.get("spark.executor.cores", "1") or 1) // max(
        1, int(conf.get("spark.task.cpus", "1") or 1)
    )
    given = conf.get("spark.executor.pyspark.memory", None)
    if given:
        return _bytes(given) // max(1, cores)
    master = conf.get("spark.master", "")
    if master.startswith("local"):
        return _machine_bytes() // (os.cpu_count() or 1)
    overhead = conf.get("spark.executor.memoryOverhead", None)
    heap = _bytes(conf.get("spark.executor.memory", "1g"))
    return (_bytes(overhead) if overhead else max(_LEAST_OVERHEAD, heap // 10)) // max(1, cores)


def _bytes(text: str) -> int:
    """Read a size as Spark writes it: 512m, 2g; a bare number counts mebibytes."""
    digits = text.strip().lower().removesuffix("b")
    unit = _UNITS.get(digits[-1:], 0)
    return int(digits[:-1]) * unit if unit else int(digits) << 20


def _machine_bytes() -> int:
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def _gigabytes(number: int) -> str:
    return f"{number / (1 << 30):.1f} GiB"
