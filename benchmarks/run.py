"""Speed and loss of shoal, measured in one run and printed as ratios.

    python benchmarks/run.py [methods] [million] [census]

Times are the best of several warm runs. Each part runs in a process of its own, so that peak memory
is its own too. Adult and the yardstick come from `SHOAL_DATA` and `SHOAL_BENCH`, or from `../shared`
beside the checkout.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from shoal.cluster import METHODS

HERE = Path(__file__).parent
NAMES = [name for name, info in METHODS.items() if info.has_loss]
SHARED = HERE.parents[1] / "shared"
CONSOLE = Console()


def measured(script: str, *arguments: object, **environment: str) -> dict[str, float]:
    """Run one measurement in a process of its own; it prints a JSON object last."""
    command = [sys.executable, str(HERE / script), *map(str, arguments)]
    done = subprocess.run(
        command, check=True, stdout=subprocess.PIPE, text=True, env={**os.environ, **environment}
    )
    result: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return result


def show(title: str, columns: list[str], rows: list[list[str]]) -> None:
    """Print one table of results."""
    table = Table(title=title, title_justify="left")
    for at, column in enumerate(columns):
        table.add_column(column, justify="left" if at == 0 else "right")
    for row in rows:
        table.add_row(*row)
    CONSOLE.print(table)


def methods() -> None:
    """Compare every method on adult8 at k = 10 with the plain single-threaded k-member loop."""
    recipe = Path(os.environ.get("SHOAL_DATA", SHARED / "data")) / "adult" / "adult8.toml"
    yardstick = Path(os.environ.get("SHOAL_BENCH", SHARED / "bench")) / "plain_kmember.py"
    with tempfile.TemporaryDirectory() as cache:
        compiled = {name: measured("method.py", recipe, name, XDG_CACHE_HOME=cache) for name in NAMES}
    # Turn and turn about: a noisy neighbour then hurts all of them.
    runs: dict[str, list[dict[str, float]]] = {"plain k-member loop": [], **{name: [] for name in NAMES}}
    for _ in range(2):
        runs["plain k-member loop"].append(measured("yardstick.py", yardstick))
        for name in NAMES:
            runs[name].append(measured("method.py", recipe, name))
    best = {name: min(run["seconds"] for run in found) for name, found in runs.items()}
    rows = []
    for name, found in runs.items():
        ratio = best[name] / best["plain k-member loop"]
        first = f"{compiled[name]['first_seconds']:.1f}" if name in compiled else ""
        peak = f"{max(run['peak_mib'] for run in found):.0f}" if name in compiled else ""
        rows.append([name, f"{best[name]:.3f}", f"{ratio:.3f}", f"{found[0]['il']:,.0f}", peak, first])
    columns = ["", "seconds, warm", "ratio", "total IL", "peak MiB", "seconds, first call: compiled"]
    show("adult8, k = 10", columns, rows)


def million(rows: int = 1_000_000) -> None:
    """Time every stage around the clustering on made-up hospital stays, with labels given."""
    stages = measured("stages.py", rows)
    peak = stages.pop("peak_mib")
    clustering = stages.pop("kmember_estimate")
    listed = [[stage, f"{seconds:.2f}"] for stage, seconds in stages.items()]
    listed.append(["k-member itself, extrapolated", f"{clustering:,.0f}"])
    show(f"{rows:,} hospital stays, labels given (peak {peak:.0f} MiB)", ["stage", "seconds"], listed)


def census() -> None:
    """Time CB on 100,000 to 500,000 census-like rows, seven quasi columns, k = 100, as [he2012] does."""
    found: dict[str, Any] = measured("census.py", "cb", 7, 100, *range(100_000, 500_001, 100_000))
    rows = [[f"{r['rows']:,}", f"{r['seconds']:.2f}", f"{100 * r['gcp']:.1f}"] for r in found["results"]]
    title = f"CB, SAL, seven quasi columns, k = 100 (peak {found['peak_mib']:.0f} MiB)"
    show(title, ["rows", "seconds, warm", "GCP, %"], rows)


PARTS = {"methods": methods, "million": million, "census": census}

if __name__ == "__main__":
    for part in sys.argv[1:] or PARTS:
        PARTS[part]()
