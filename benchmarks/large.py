"""Measure quick local search on large tables of each shape: the clustering, and the whole command.

    python benchmarks/large.py [--rows 1000000] [--csv] [--json] [SHAPE ...]

For each shape: wall and CPU seconds and peak memory of the clustering, in a process that has nothing but the
encoded table; then the same of `shoal anonymize`, from the file to the release with its report, and the
seconds of its stages. On a few rows first, so that everything is compiled. Shapes as in `tables.py`; by
default the four whose loss is measured. k = 10.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from typing import Any

from contenders import OURS
from local_search import MILLION, on, runs_of, table
from processes import measured, show

QUICK = OURS[0]
SHAPES = ("numeric", "trees", "skewed", "registry")
K = 10
FEW = 2_000
STAGES = ("read", "encode", "cluster", "bounding", "recode", "measure", "write", "verify", "report")


def clustering(shape: str, rows: int) -> dict[str, Any]:
    """Cluster a table in a process of its own."""
    with table(shape, rows) as (file, _):
        found: dict[str, Any] = on(file, shape, runs_of((QUICK,), (K,), (1,)))["results"][0]
        return found


def command(shape: str, rows: int, ending: str) -> dict[str, Any]:
    """Run the whole command on a table."""
    with tempfile.TemporaryDirectory() as folder:
        recipe = measured("tables.py", ending, shape, rows, folder)["recipe"]
        method, _, effort = QUICK.partition(" ")
        return measured("whole_command.py", recipe, method, effort, ending)


def line(shape: str, cluster: dict[str, Any], whole: dict[str, Any]) -> list[str]:
    """Return the cells of one shape."""
    costs = [f"{one[what]:,.1f}" for one in (cluster, whole) for what in ("seconds", "cpu_seconds")]
    memory = [f"{one['peak_mib']:,.0f}" for one in (cluster, whole)]
    more = whole["seconds"] - whole["timings"]["cluster"]
    stages = [f"{whole['timings'].get(stage, 0.0):.1f}" for stage in STAGES]
    return [
        shape,
        *costs[:2],
        memory[0],
        f"{cluster['il']:,.0f}",
        *costs[2:],
        memory[1],
        f"{more:.1f}",
        *stages,
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("shapes", nargs="*", default=SHAPES)
    parser.add_argument("--rows", type=int, default=MILLION)
    parser.add_argument("--csv", action="store_true", help="read and write CSV instead of Parquet")
    parser.add_argument("--json", action="store_true", help="print what was measured as JSON")
    asked = parser.parse_args()
    found, ending = {}, "csv" if asked.csv else "parquet"
    for shape in asked.shapes:
        command(shape, FEW, ending)
        found[shape] = {
            "clustering": clustering(shape, asked.rows),
            "command": command(shape, asked.rows, ending),
        }
    if asked.json:
        json.dump(found, sys.stdout)
        return
    columns = ["shape", "cluster s", "CPU", "MiB", "Total IL", "command s", "CPU", "MiB", "more s", *STAGES]
    rows = [line(shape, one["clustering"], one["command"]) for shape, one in found.items()]
    show(f"{asked.rows:,} rows, {QUICK}, k = {K}", columns, rows)


if __name__ == "__main__":
    main()
