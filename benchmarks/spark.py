"""The engine spark next to the engine local: loss, wall time by stage, and memory of the driver.

    python -m benchmarks.spark [--rows 1000000,10000000] [--master local[2]] [--no-local] [--folder DIR]

Census-like rows (SAL, 7 quasi columns), k = 10, local search at quick effort, without the lower bound. Each
run is a process of its own and writes a Parquet release with its report. Wall times are without the start of
Spark. The memory is the most that the driver's Python process and its JVM had; with `local[2]` that JVM runs
the tasks too, with `local-cluster[2,1,4096]` it is the driver's alone.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

_RUN = """
import json, sys, warnings
warnings.simplefilter("ignore")
from shoal.recipe import Recipe
from shoal.workflow.prepare import prepare
recipe, changes = sys.argv[1], json.loads(sys.argv[2])
release = prepare(None, Recipe.load(recipe, changes=changes), bound=False)
release.write(report=True, force=True)
print(json.dumps({"timings": release.timings, "il": release.loss.il, "classes": release.classes,
                  "k": release.k, "remarks": release.remarks}))
"""


def main() -> None:
    """Run the benchmark and print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", default="1000000")
    parser.add_argument("--master", default="local[2]")
    parser.add_argument("--no-local", action="store_true")
    parser.add_argument("--folder", type=Path, default=None)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=given.folder) as name:
        for rows in map(int, given.rows.split(",")):
            _compare(Path(name), rows, given.master, with_local=not given.no_local)


def _compare(folder: Path, rows: int, master: str, *, with_local: bool) -> None:
    from shoal.datasets import write_census

    place = folder / str(rows)
    place.mkdir()
    recipe = write_census(place, rows, 0, table="SAL", quasi=7, k=10, ending="parquet")
    local = _measured(recipe, place / "local.parquet", {}) if with_local else None
    # Where the driver runs no tasks, a small heap shows that it needs no more for more rows.
    heap = "4g" if master.startswith("local[") else "1g"
    conf = {"spark.driver.memory": heap, "spark.executor.memory": "3g"}
    spark = _measured(recipe, place / "spark.parquet", {"name": "spark", "master": master, "conf": conf})
    for title, found in (("local", local), ("spark", spark)):
        if found is not None:
            stages = ", ".join(f"{stage} {seconds:.1f}" for stage, seconds in found["timings"].items())
            print(
                f"{rows:,} rows, {title}: {_wall(found):.1f} s ({stages}), Total IL {found['il']:,.0f}, "
                f"{found['classes']:,} classes, driver at most {found['peak'] / 2**20:,.0f} MiB",
                flush=True,
            )
    if local is not None:
        print(
            f"{rows:,} rows, spark / local: wall time {_wall(spark) / _wall(local):.2f}, "
            f"Total IL {spark['il'] / local['il']:.4f}",
            flush=True,
        )


def _wall(found: dict[str, Any]) -> float:
    """Sum the stages, without the start of Spark."""
    return float(sum(seconds for stage, seconds in found["timings"].items() if stage != "start"))


def _measured(recipe: Path, output: Path, engine: dict[str, Any]) -> dict[str, Any]:
    """Run in a process of its own and watch its memory."""
    changes = {
        "method": {"name": "local-search", "options": {"effort": "quick"}},
        "output": {"path": str(output)},
        "engine": engine,
    }
    command = [sys.executable, "-c", _RUN, str(recipe), json.dumps(changes)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    peak = [0]
    watcher = threading.Thread(target=_watch, args=(process, peak), daemon=True)
    watcher.start()
    text, _ = process.communicate()
    if process.returncode:
        raise SystemExit(f"the run failed with status {process.returncode}")
    found: dict[str, Any] = json.loads(text.strip().splitlines()[-1])
    return {**found, "peak": peak[0]}


def _watch(process: subprocess.Popen[str], peak: list[int]) -> None:
    while process.poll() is None:
        peak[0] = max(peak[0], sum(_resident(pid) for pid in (process.pid, *_drivers(process.pid))))
        time.sleep(0.5)


def _drivers(parent: int) -> list[int]:
    """Return the JVM of the driver, which the Python process starts."""
    try:
        children = Path(f"/proc/{parent}/task/{parent}/children").read_text().split()
    except OSError:
        return []
    return [int(child) for child in children]


def _resident(pid: int) -> int:
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:
        return 0
    return sum(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmRSS"))


if __name__ == "__main__":
    main()
