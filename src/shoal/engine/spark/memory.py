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
# What a worker has mapped before it has any row. Spark's limit on Python workers counts that, used or not.
_ADDRESS_BYTES = 3 << 30
_UNITS = {"k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40}
_LEAST_OVERHEAD = 384 << 20  # that Spark asks a cluster for, per executor


def task_bytes(rows: int, codebook: Codebook) -> int:
    """Estimate the memory of the task that clusters a cell of so many rows."""
    others = len(codebook.recipe.named("sensitive", "keep")) + len(codebook.sensitive)
    return _WORKER_BYTES + rows * (_ROW_BYTES + _COLUMN_BYTES * (len(codebook.quasi) + others // 2))


def refuse_small_workers(spark: Any) -> None:
    """Refuse a limit on Python workers with which they could not even load what they need."""
    given = spark.conf.get("spark.executor.pyspark.memory", None)
    if given and _share(given, spark) < _ADDRESS_BYTES:
        message = (
            f"A Python worker may map {_gigabytes(_share(given, spark))}, but needs "
            f"{_gigabytes(_ADDRESS_BYTES)} before it has any row."
        )
        hint = (
            "raise spark.executor.pyspark.memory, which the tasks of an executor share, or leave it out and "
            "set spark.executor.memoryOverhead"
        )
        raise DataError("engine.memory", message, hint)


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
        hint = "lower cell_rows, or give each task more memory: spark.executor.memoryOverhead"
        if largest > cell_rows:
            hint = "no cut of this cell meets the goals: give each task more memory, or relax the goals"
        raise DataError("engine.memory", message, hint)


def _cells(plan: Plan) -> str:
    return "1 cell" if len(plan.counts) == 1 else f"{len(plan.counts):,} cells"


def worker_bytes(spark: Any) -> int | None:
    """Return the memory that a Python worker may use; None where nothing limits it that is known here."""
    conf = spark.conf
    given = conf.get("spark.executor.pyspark.memory", None)
    if given:
        return _share(given, spark) - _ADDRESS_BYTES + _WORKER_BYTES
    master = conf.get("spark.master", "")
    if master.startswith("local"):
        return _machine_bytes() // (os.cpu_count() or 1)
    overhead = conf.get("spark.executor.memoryOverhead", None)
    heap = _bytes(conf.get("spark.executor.memory", "1g"))
    return (_bytes(overhead) if overhead else max(_LEAST_OVERHEAD, heap // 10)) // _tasks(spark)


def _share(text: str, spark: Any) -> int:
    """Return what each task of an executor has of a size."""
    return _bytes(text) // _tasks(spark)


def _tasks(spark: Any) -> int:
    """Return how many tasks an executor runs at the same time."""
    cores, for_each = (
        int(spark.conf.get(key, "1") or 1) for key in ("spark.executor.cores", "spark.task.cpus")
    )
    return max(1, cores // max(1, for_each))


def _bytes(text: str) -> int:
    """Read a size as Spark writes it: 512m, 2g; a bare number counts mebibytes."""
    digits = text.strip().lower().removesuffix("b")
    unit = _UNITS.get(digits[-1:], 0)
    return int(digits[:-1]) * unit if unit else int(digits) << 20


def _machine_bytes() -> int:
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def _gigabytes(number: int) -> str:
    return f"{number / (1 << 30):.1f} GiB"
