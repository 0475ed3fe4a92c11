"""The plan of a run: how many cells, and whether the largest fits into a worker's memory."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from typing import Any

from shoal.engine.cells.planning import Plan
from shoal.engine.spark.machine import machine_bytes
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
_LEAST_OVERHEAD = "384m"  # that Spark asks a cluster for, per executor


def task_bytes(rows: int, codebook: Codebook) -> int:
    """Estimate the memory of the task that clusters a cell of so many rows."""
    return _WORKER_BYTES + rows * _row_bytes(codebook)


def _row_bytes(codebook: Codebook) -> int:
    others = len(codebook.recipe.named("sensitive", "keep")) + len(codebook.sensitive)
    return _ROW_BYTES + _COLUMN_BYTES * (len(codebook.quasi) + others // 2)


def refuse_small_workers(spark: Any) -> None:
    """Refuse a limit on Python workers with which they could not even load what they need."""
    given = spark.conf.get(_LIMIT, None)
    if given and _most_of_each(given, spark) < _ADDRESS_BYTES:
        message = (
            f"A Python worker may map {_size(_most_of_each(given, spark))}, but needs "
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


def _cells(plan: Plan) -> str:
    return "1 cell" if len(plan.counts) == 1 else f"{len(plan.counts):,} cells"


def worker_bytes(spark: Any) -> int | None:
    """Return the memory that a Python worker may use; None where nothing limits it that is known here."""
    conf, master = spark.conf, _master(spark)
    tasks = _tasks(spark)
    given = conf.get(_LIMIT, None)
    if given:
        return None if tasks is None else _bytes(given) // tasks - _ADDRESS_BYTES + _WORKER_BYTES
    if _is_local(spark):
        return machine_bytes() // (os.cpu_count() or 1)
    overhead = conf.get("spark.executor.memoryOverhead", None)
    if tasks is None or (not overhead and not _has_containers(master)):
        return None
    return (_bytes(overhead) if overhead else _usual_overhead(spark)) // tasks


def _usual_overhead(spark: Any) -> int:
    """Return what Spark asks a cluster for per executor, besides Java's heap, if nobody says how much."""
    conf = spark.conf
    factor = conf.get("spark.executor.memoryOverheadFactor", None)
    if not factor and _master(spark).startswith("k8s://"):
        # More for Python, but only if Kubernetes runs the driver too.
        usual = "0.4" if conf.get("spark.submit.deployMode", "") == "cluster" else "0.1"
        factor = conf.get("spark.kubernetes.memoryOverheadFactor", usual)
    heap = _bytes(conf.get("spark.executor.memory", "1g"))
    least = _bytes(conf.get("spark.executor.minMemoryOverhead", _LEAST_OVERHEAD))
    return max(least, int(heap * float(factor or 0.1)))


def _master(spark: Any) -> str:
    return str(spark.conf.get("spark.master", ""))


def _is_local(spark: Any) -> bool:
    """Return whether all runs in one process: the workers of `local-cluster` are processes of their own."""
    return _master(spark) == "local" or _master(spark).startswith("local[")


def _has_containers(master: str) -> bool:
    """Return whether something limits an executor: a standalone cluster has no containers."""
    return not master.startswith(("spark://", "local-cluster"))


def _most_of_each(text: str, spark: Any) -> int:
    """Return what each task of an executor has at most of a size."""
    return _bytes(text) // (_tasks(spark) or 1)


def _tasks(spark: Any) -> int | None:
    """Return how many tasks an executor runs at the same time; None where its worker's cores decide."""
    cores, master = spark.conf.get("spark.executor.cores", None), _master(spark)
    if not cores and master.startswith("spark://"):
        return None
    of_master = re.match(r"local-cluster\[\s*\d+\s*,\s*(\d+)", master)
    number = int(cores or (of_master[1] if of_master else 1))
    return max(1, number // max(1, int(spark.conf.get("spark.task.cpus", "1") or 1)))


def _bytes(text: str) -> int:
    """Read a size as Spark writes it: 512m, 2g; a bare number counts mebibytes."""
    digits = text.strip().lower().removesuffix("b")
    unit = _UNITS.get(digits[-1:], 0)
    return int(digits[:-1]) * unit if unit else int(digits) << 20


def _size(number: int) -> str:
    return f"{number / (1 << 30):.1f} GiB" if number >= 1 << 30 else f"{number >> 20} MiB"
