"""Measurements in processes of their own, and how their results are printed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

HERE = Path(__file__).parent
SHARED = HERE.parents[1] / "shared"
CONSOLE = Console(width=None if sys.stdout.isatty() else 240)  # in a file, no table is squeezed


def measured(script: str, *arguments: object, **environment: str) -> dict[str, Any]:
    """Run one measurement in a process of its own; it prints a JSON object last."""
    command = [sys.executable, str(HERE / script), *map(str, arguments)]
    done = subprocess.run(
        command, check=True, stdout=subprocess.PIPE, text=True, env={**os.environ, **environment}
    )
    result: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return result


def adult_folder() -> Path:
    """Return where Adult and its trees are."""
    return Path(os.environ.get("SHOAL_DATA", SHARED / "data")) / "adult"


def yardstick_file() -> Path:
    """Return the plain k-member loop that times are compared with."""
    return Path(os.environ.get("SHOAL_BENCH", SHARED / "bench")) / "plain_kmember.py"


def show(title: str, columns: list[str], rows: list[list[str]]) -> None:
    """Print one table of results."""
    table = Table(title=title, title_justify="left")
    for at, column in enumerate(columns):
        table.add_column(column, justify="left" if at == 0 else "right")
    for row in rows:
        table.add_row(*row)
    CONSOLE.print(table)
