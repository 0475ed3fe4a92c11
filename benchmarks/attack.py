"""Time and memory of `shoal attack` on census-like rows: SAL and weeks of work, 8 quasi columns. Prints JSON.

    python -m benchmarks.attack METHOD K ROWS [ROWS ...]

For each number of rows a release is made first, which is not timed. `seconds` has the time of each attack;
`total` includes reading both files. With --wide, two of the columns get 100,000 different numbers, so that
grids are too large and people are sampled.
"""

from __future__ import annotations

import json
import resource
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import polars as pl

import shoal
from shoal.attacks import run
from shoal.datasets import census, census_recipe
from shoal.recipe import Recipe


def main() -> None:
    arguments = [argument for argument in sys.argv[1:] if argument != "--wide"]
    method, k = arguments[0], int(arguments[1])
    results = [_measured(method, k, int(rows), wide="--wide" in sys.argv) for rows in arguments[2:]]
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(json.dumps({"method": method, "k": k, "peak_mib": peak, "results": results}))


def _measured(method: str, k: int, rows: int, *, wide: bool) -> dict[str, object]:
    sections = census_recipe("SAL", quasi=7, k=k).to_dict()
    sections["columns"]["weeks"] = {"role": "quasi", "kind": "numeric"}
    sections["method"] = {"name": method}
    weeks = np.random.Generator(np.random.PCG64(1)).integers(0, 53, rows)
    table = census(rows, 0).with_columns(weeks=pl.Series(weeks))
    if wide:
        table, sections = _widened(table, sections)
    recipe = Recipe.from_dict(sections)
    with tempfile.TemporaryDirectory() as folder:
        original, released = Path(folder, "raw.csv"), Path(folder, "out.csv")
        table.write_csv(original)
        shoal.anonymize(table, recipe=recipe).write(released)
        seconds: dict[str, float] = {}
        _time_each(seconds)
        begin = time.perf_counter()
        found = run.attack(original, released, recipe)
        total = time.perf_counter() - begin
    return {
        "rows": rows,
        "total": round(total, 1),
        "seconds": {name: round(spent, 2) for name, spent in seconds.items()},
        "attacks": [[each.attack, each.success, each.rows, each.finding] for each in found],
    }


def _widened(table: pl.DataFrame, sections: dict) -> tuple[pl.DataFrame, dict]:
    random = np.random.Generator(np.random.PCG64(0))
    names = [name for name, column in sections["columns"].items() if column["role"] == "quasi"][:2]
    for name in names:
        table = table.with_columns(pl.Series(name, random.integers(0, 100_000, table.height)))
        sections["columns"][name] = {"role": "quasi", "kind": "numeric"}
    return table, sections


def _time_each(seconds: dict[str, float]) -> None:
    """Add up the time of each attack and of reading."""
    for name in ("_read", "by_classes", "by_containment", "by_kept", "by_subsets", "by_order", "infer",
                 "by_goals", "who_is_inside", "by_ends", "recover", "downcode"):  # fmt: skip
        setattr(run, name, _timed(getattr(run, name), name, seconds))


def _timed(function, name, seconds):
    def timed(*given, **more):
        begin = time.perf_counter()
        try:
            return function(*given, **more)
        finally:
            seconds[name] = seconds.get(name, 0.0) + time.perf_counter() - begin

    return timed


if __name__ == "__main__":
    main()
