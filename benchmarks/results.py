"""Figures that were measured, kept as JSON, and medians over seeds of them."""

from __future__ import annotations

import json
import os
import platform
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from statistics import median
from typing import Any

LIBRARIES = ("shoal", "numpy", "numba", "polars", "pyarrow", "duckdb")


def save(root: Path, part: str, found: dict[str, Any]) -> None:
    """Keep the figures of a part, with where and when they were measured."""
    folder = root / "benchmarks" / "results"
    folder.mkdir(parents=True, exist_ok=True)
    day = datetime.now(UTC).date().isoformat()
    lines = [
        f" {json.dumps(key)}: {_lines(value)}" for key, value in {**found, "day": day, **machine()}.items()
    ]
    (folder / f"{part}.json").write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")


def load(root: Path, part: str) -> dict[str, Any] | None:
    """Return the figures of a part, or None if it has not been measured."""
    file = root / "benchmarks" / "results" / f"{part}.json"
    if not file.exists():
        return None
    found: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    return found


def _lines(value: Any) -> str:
    """Write a list with one line for each entry, so that a new measurement is a readable change."""
    if isinstance(value, list) and value and isinstance(value[0], dict):
        return "[\n  " + ",\n  ".join(json.dumps(_rounded(entry)) for entry in value) + "\n ]"
    return json.dumps(_rounded(value))


def _rounded(value: Any) -> Any:
    if isinstance(value, float):
        return float(f"{value:.6g}")
    if isinstance(value, dict):
        return {key: _rounded(entry) for key, entry in value.items()}
    return [_rounded(entry) for entry in value] if isinstance(value, list) else value


def machine() -> dict[str, Any]:
    """Tell what kind of machine this is."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    return {
        "machine": {
            "cores": len(os.sched_getaffinity(0)),
            "processor": _processor(),
            "memory_gib": round(memory, 1),
            "system": f"{platform.system()} {platform.machine()}",
            "python": platform.python_version(),
            "libraries": {name: version(name) for name in LIBRARIES},
        }
    }


def _processor() -> str:
    for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return "unknown processor"


@dataclass(frozen=True)
class Figures:
    """The runs of a part, of which medians over seeds are asked for."""

    runs: list[dict[str, Any]]

    def median(self, what: str, name: str, **where: Any) -> float | None:
        """Return the median of a figure over the runs of a contender that fit; None where there are none."""
        found = [
            run[what]
            for run in self.runs
            if run["name"] == name
            and run.get(what) is not None
            and all(run.get(key) == value for key, value in where.items())
        ]
        return median(found) if found else None

    def has(self, name: str, **where: Any) -> bool:
        """Tell whether a contender ran."""
        return self.median("il", name, **where) is not None

    def names(self) -> list[str]:
        """List the contenders, in the order in which they ran first."""
        return list(dict.fromkeys(run["name"] for run in self.runs))

    def values(self, key: str) -> list[Any]:
        """List the values of a key, in the order in which they came first."""
        return list(dict.fromkeys(run[key] for run in self.runs))
