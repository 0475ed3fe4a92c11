"""Measure what the first run compiles: CPU seconds (user and system) with an empty cache, and without.

    python -m benchmarks.first_run [PATH ...]

PATH is demo, goals or every. Each path runs twice, in processes with a cache in a temporary folder:
the difference is what compiling takes.
"""

from __future__ import annotations

import os
import sys
import tempfile
import warnings
from pathlib import Path
from unittest import mock

PATHS = {
    "demo": "`shoal demo --rows 500`: local search without goals, the bound",
    "goals": "local search with goals, no bound",
    "every": "every kernel of the package",
}


def run_path(path: str) -> None:
    """Run one path in this process."""
    warnings.simplefilter("ignore")
    if path == "demo":
        from shoal.cli.main import app

        with tempfile.TemporaryDirectory() as folder:
            app(["demo", "--rows", "500", "--dir", folder, "--quiet"])
    elif path == "goals":
        from shoal.warm import run_job

        run_job("local-search:goals")
    else:
        run_everything()


def run_everything() -> None:
    """Call every kernel, those too that only an option or a large table needs."""
    import numpy as np
    import polars as pl

    from shoal.cluster import METHODS, kmember
    from shoal.engine import local
    from shoal.measure.distortion import kmember_cost
    from shoal.recipe import Recipe
    from shoal.table.encode import encode
    from shoal.warm import jobs_of, run_job

    for job in jobs_of(list(METHODS)):
        run_job(job)
    table = pl.DataFrame({"age": [1, 1, 1, 1, 1, 9, 20], "sex": list("fffmmmm")})
    for method, options in (("oka", {"suppress": True}), ("k-member", {}), ("local-search", {})):
        changes = {"method": {"name": method, "options": options}, "privacy": {"max_suppressed": 0.5}}
        recipe = Recipe.from_roles(quasi=["age", "sex"], k=3, changes=changes)
        encoded = encode(table, recipe)
        with mock.patch.multiple(kmember, _BLOCK=2, _PARALLEL_FROM=1):
            labels = local.run(encoded, recipe, METHODS[method]).labels
    kmember_cost(encoded, labels)
    METHODS["local-search"].make(3, 0, recipe.options).improve(encoded, np.zeros(7, np.int32))  # type: ignore[attr-defined]


def cpu_seconds(path: str, cache: Path) -> float:
    """Run a path in a process of its own; return its CPU seconds."""
    child = os.fork()
    if child == 0:
        os.environ["XDG_CACHE_HOME"] = str(cache)
        os.execv(sys.executable, [sys.executable, "-m", "benchmarks.first_run", "--run", path])
    _, status, used = os.wait4(child, 0)
    if status:
        raise SystemExit(f"{path} ended with status {status}")
    return used.ru_utime + used.ru_stime


def main() -> None:
    if sys.argv[1:2] == ["--run"]:
        run_path(sys.argv[2])
        return
    print("| path | empty cache, CPU s | filled cache, CPU s | compiling, CPU s | kernels |")
    print("|---|---|---|---|---|")
    for path in sys.argv[1:] or PATHS:
        with tempfile.TemporaryDirectory() as folder:
            cold = cpu_seconds(path, Path(folder))
            n_kernels = len(list(Path(folder).rglob("*.nbi")))
            warm = cpu_seconds(path, Path(folder))
        print(f"| {PATHS[path]} | {cold:.1f} | {warm:.1f} | {cold - warm:.1f} | {n_kernels} |", flush=True)


if __name__ == "__main__":
    main()
