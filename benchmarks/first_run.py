"""Measure first runs and second runs.

    python -m benchmarks.first_run [demo] [goals] [every]
    python -m benchmarks.first_run second
    python -m benchmarks.first_run clone

The first form measures what is compiled, in CPU seconds (user and system): each path runs twice, in processes
with a cache in a temporary folder, and the difference is what compiling takes. `second` measures how long
commands take when everything has been compiled. `clone` times `make demo` and `make test` in a fresh clone
without an environment or a cache.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
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
        from shoal.workflow.warming import run_job

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
    from shoal.workflow.warming import jobs_of, run_job

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


def measure_second_runs(repeats: int = 9) -> None:
    """Print the wall seconds of commands on the demo's 10,000 rows: the least and the median."""
    shoal = str(Path(sys.executable).with_name("shoal"))
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([shoal, "demo", "--dir", folder, "--quiet"], check=True)
        ask = [shoal, "anonymize", f"{folder}/hospital.toml", "--json", "-o"]
        commands = {
            "`shoal --help`": [shoal, "--help"],
            "Mondrian, report": [*ask, f"{folder}/mondrian.csv", "--method", "mondrian"],
            "local search, report, less its clustering": [*ask, f"{folder}/search.csv"],
        }
        print("| command | least, s | median, s |\n|---|---|---|")
        for name, command in commands.items():
            wall = [_wall(command) for _ in range(repeats + 1)][1:]
            print(f"| {name} | {min(wall):.2f} | {statistics.median(wall):.2f} |", flush=True)


def _wall(command: list[str]) -> float:
    """Return the wall seconds of a command, without those of a local search."""
    begin = time.perf_counter()
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    wall = time.perf_counter() - begin
    told = json.loads(done.stdout) if "--json" in command else {}
    return wall - told["timings"]["cluster"] if told.get("method") == "local-search" else wall


def measure_clone() -> None:
    """Print the wall seconds of what a newcomer types."""
    print("| in a fresh clone | s |\n|---|---|")
    for target in ("demo", "test"):
        with tempfile.TemporaryDirectory() as folder:
            clone, environment = f"{folder}/shoal", {**os.environ, "XDG_CACHE_HOME": f"{folder}/cache"}
            environment.setdefault("SHOAL_DATA", str(Path("../shared/data").resolve()))
            subprocess.run(["git", "clone", "-q", ".", clone], check=True)
            begin = time.perf_counter()
            subprocess.run(
                ["make", target], cwd=clone, env=environment, check=True, stdout=subprocess.DEVNULL
            )
            print(f"| `make {target}` | {time.perf_counter() - begin:.0f} |", flush=True)


def main() -> None:
    if sys.argv[1:2] == ["--run"]:
        run_path(sys.argv[2])
        return
    if sys.argv[1:] == ["second"]:
        measure_second_runs()
        return
    if sys.argv[1:] == ["clone"]:
        measure_clone()
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
