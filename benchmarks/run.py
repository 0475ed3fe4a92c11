"""Speed and loss of shoal, measured in one run and printed as ratios.

    python benchmarks/run.py [kmember] [million]

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

from rich.console import Console
from rich.table import Table

HERE = Path(__file__).parent
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


def kmember() -> None:
    """Compare k-member on adult8 at k = 10 with the plain single-threaded loop."""
    recipe = Path(os.environ.get("SHOAL_DATA", SHARED / "data")) / "adult" / "adult8.toml"
    yardstick = Path(os.environ.get("SHOAL_BENCH", SHARED / "bench")) / "plain_kmember.py"
    # Turn and turn about: a noisy neighbour then hurts both.
    plain, ours = [], []
    with tempfile.TemporaryDirectory() as cache:
        first = measured("kmember.py", recipe, XDG_CACHE_HOME=cache)
    for _ in range(2):
        plain.append(measured("yardstick.py", yardstick))
        ours.append(measured("kmember.py", recipe))
    plain_seconds = min(run["seconds"] for run in plain)
    seconds = min(run["seconds"] for run in ours)
    peak = max(run["peak_mib"] for run in ours)
    show(
        "k-member, adult8, k = 10, warm",
        ["", "seconds", "ratio", "total IL", "peak MiB"],
        [
            ["plain loop, one thread", f"{plain_seconds:.2f}", "1.00", f"{plain[0]['il']:,.0f}", ""],
            [
                "shoal",
                f"{seconds:.2f}",
                f"{seconds / plain_seconds:.2f}",
                f"{ours[0]['il']:,.0f}",
                f"{peak:.0f}",
            ],
            ["shoal, first call: compiled", f"{first['first_seconds']:.1f}", "", "", ""],
            ["shoal, first call: compiled before", f"{ours[0]['first_seconds']:.2f}", "", "", ""],
        ],
    )


def million(rows: int = 1_000_000) -> None:
    """Time every stage around the clustering on made-up hospital stays, with labels given."""
    stages = measured("stages.py", rows)
    peak = stages.pop("peak_mib")
    clustering = stages.pop("kmember_estimate")
    listed = [[stage, f"{seconds:.2f}"] for stage, seconds in stages.items()]
    listed.append(["k-member itself, extrapolated", f"{clustering:,.0f}"])
    show(f"{rows:,} hospital stays, labels given (peak {peak:.0f} MiB)", ["stage", "seconds"], listed)


PARTS = {"kmember": kmember, "million": million}

if __name__ == "__main__":
    for part in sys.argv[1:] or PARTS:
        PARTS[part]()
