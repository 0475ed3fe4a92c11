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
_LIMIT = "spark.executor.pyspark.memory"
_LEAST_ROWS = 1_000  # of a cell that anybody would ask for
_LEAST_OVERHEAD = 384 << 20  # that Spark asks a cluster for, per executor


def task_bytes(rows: int, codebook: Codebook) -> int:
    """Estimate the memory of the task that clusters a cell of so many rows."""
    return _WORKER_BYTES + rows * _row_bytes(codebook)


def _row_bytes(codebook: Codebook) -> int:
    others = len(codebook.recipe.named("sensitive", "keep")) + len(codebook.sensitive)
    return _ROW_BYTES + _COLUMN_BYTES * (len(codebook.quasi) + others // 2)


def refuse_small_workers(spark: Any) -> None:
    """Refuse a limit on Python workers with which they could not even load what they need."""
    given = spark.conf.get(_LIMIT, None)
    if given and _share(given, spark) < _ADDRESS_BYTES:
        message = (
            f"A Python worker may map {_size(_share(given, spark))}, but needs "
            f"{_size(_ADDRESS_BYTES)} before it has any row."
        )
        hint = (
            f"raise {_LIMIT}, which the tasks of an executor share, or leave it out and set "
            "spark.executor.memoryOverhead"
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
        room = "" if there is None else f"; a task has {_size(there)}"
        show(
            f"plan: {codebook.rows:,} rows in {_cells(plan)} of up to {cell_rows:,} rows; the "
            f"largest has {largest:,} and needs about {_size(needed)} of memory{room}"
        )
    if there is not None and needed > there:
        message = f"A cell of {largest:,} rows needs about {_size(needed)}, but a task has {_size(there)}."
        fitting = (there - _WORKER_BYTES) // _row_bytes(codebook)
        raise DataError("engine.memory", message, _advice(fitting, spark, is_cut=largest <= cell_rows))


def _advice(fitting: int, spark: Any, *, is_cut: bool) -> str:
    """Say what to do about a cell that is too large, when `fitting` rows would not be."""
    more = f"give each task more memory: {_more_memory(spark)}"
    if not is_cut:
        return f"no cut of this cell meets the goals: {more}; or relax the goals"
    if fitting < _LEAST_ROWS:
        return more
    unit = 10 ** (len(str(fitting)) - 2)
    return f"lower cell_rows to {fitting // unit * unit:,}, or {more}"


def _more_memory(spark: Any) -> str:
    """Return what limits the memory of a task, as an advice."""
    if spark.conf.get(_LIMIT, None):
        return f"raise {_LIMIT}"
    if _is_local(spark):
        return "use a machine that has more"
    return "raise spark.executor.memoryOverhead"


def _is_local(spark: Any) -> bool:
    return str(spark.conf.get("spark.master", "")).startswith("local")


def _cells(plan: Plan) -> str:
    return "1 cell" if len(plan.counts) == 1 else f"{len(plan.counts):,} cells"


def worker_bytes(spark: Any) -> int | None:
    """Return the memory that a Python worker may use; None where nothing limits it that is known here."""
    conf = spark.conf
    given = conf.get(_LIMIT, None)
    if given:
        return _share(given, spark) - _ADDRESS_BYTES + _WORKER_BYTES
    if _is_local(spark):
        return _machine_bytes() // (os.cpu_count() or 1)
    overhead = conf.get("spark.executor.memoryOverhead", None)
    if not overhead and conf.get("spark.master", "").startswith("spark://"):
        return None  # a standalone cluster has no containers
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


def _size(number: int) -> str:
    return f"{number / (1 << 30):.1f} GiB" if number >= 1 << 30 else f"{number >> 20} MiB"
