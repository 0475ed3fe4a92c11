"""Run contenders on one encoded table: seconds, CPU seconds, loss, classes, memory. Prints JSON.

The argument is a JSON object: `file` as `tables.py` has written it, and `runs`, each with a `name`, `k` and
`seed`. With `goals`, methods run through the engine and keep the goals of the table's recipe. With `cold`,
nothing is compiled beforehand. `bound` lists the k for which the lower bound is added.
"""

from __future__ import annotations

import json
import resource
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
from contenders import YARDSTICK, bound_of, labels_of, plain_loop, total_il
from rich.console import Console
from rich.progress import track
from tables import kept

from shoal.arrays import IntArray
from shoal.cluster import METHODS
from shoal.engine import local
from shoal.errors import InfeasibleError
from shoal.recipe import Recipe
from shoal.table.columns import Encoded

WARM_ROWS = 2000
STDERR = Console(stderr=True)


def peak_mib() -> float:
    """Return the most memory that this process has had so far."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def now_mib() -> float:
    """Return the memory that this process has now."""
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * resource.getpagesize() / 2**20


def engine_labels(name: str, encoded: Encoded, recipe: Recipe, k: int, seed: int) -> IntArray:
    """Label the rows so that the goals of the recipe are met."""
    method, _, effort = name.partition(" ")
    asked = {
        "privacy": recipe.privacy.model_copy(update={"k": k}),
        "method": recipe.method.model_copy(
            update={"name": method, "seed": seed, "options": {"effort": effort} if effort else {}}
        ),
    }
    return local.run(encoded, recipe.model_copy(update=asked), METHODS[method]).labels


def warm_up(encoded: Encoded, recipe: Recipe, names: set[str], goals: bool) -> None:
    """Let every contender run once on a few rows, so that it is compiled, or loaded."""
    few = encoded.take(np.linspace(0, encoded.n_rows - 1, min(WARM_ROWS, encoded.n_rows)).astype(np.int64))
    for name in sorted(names):
        if name == YARDSTICK:
            plain_loop()
        elif name.endswith(" s"):
            labels_of("local-search quick", few, 10, 0)
        elif goals:
            with suppress(InfeasibleError):  # so few rows may not do
                engine_labels(name, few, recipe, 10, 0)
        else:
            labels_of(name, few, 10, 0)


def measured_run(encoded: Encoded, recipe: Recipe, run: dict[str, Any], goals: bool) -> dict[str, Any]:
    """Run one contender once, and check that every class has k rows."""
    name, k, seed = run["name"], run["k"], run["seed"]
    begin, used = time.perf_counter(), time.process_time()
    if name == YARDSTICK:
        il = plain_loop()(k)
        return {**run, "seconds": time.perf_counter() - begin, "il": il}
    try:
        labels = engine_labels(name, encoded, recipe, k, seed) if goals else labels_of(name, encoded, k, seed)
    except InfeasibleError:  # no partition that meets the goals was found
        return {**run, "seconds": time.perf_counter() - begin, "il": None}
    seconds, cpu_seconds = time.perf_counter() - begin, time.process_time() - used
    peak = peak_mib()
    sizes = np.bincount(labels[labels >= 0])
    assert sizes.min() >= k, f"{name} left a class of {sizes.min()} rows, but k is {k}"
    assert len(labels) == encoded.n_rows
    il = total_il(encoded, labels, k)
    return {
        **run,
        "seconds": seconds,
        "cpu_seconds": cpu_seconds,
        "il": il,
        "classes": len(sizes),
        "suppressed": int((labels < 0).sum()),
        "peak_mib": peak,
    }


def main() -> None:
    asked = json.loads(sys.argv[1])
    encoded, recipe = kept(Path(asked["file"]))
    goals = asked.get("goals", False)
    if not asked.get("cold"):
        warm_up(encoded, recipe, {run["name"] for run in asked["runs"]}, goals)
    before = now_mib()
    results = [
        measured_run(encoded, recipe, run, goals)
        for run in track(asked["runs"], asked.get("title", "measuring"), console=STDERR)
    ]
    bounds = {k: bound_of(encoded, k) for k in asked.get("bound", [])}
    print(json.dumps({"rows": encoded.n_rows, "before_mib": before, "results": results, "bounds": bounds}))


if __name__ == "__main__":
    main()
