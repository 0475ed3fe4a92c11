"""Where the two tables of a release in parts lie: X.quasi.csv and X.sensitive.csv for X.csv."""

from __future__ import annotations

from pathlib import Path

from shoal.errors import OutputError
from shoal.table.write import check_target, report_path


def part_paths(path: Path) -> tuple[Path, Path]:
    """Return where the quasi and the sensitive table lie."""
    quasi, sensitive = (path.with_name(f"{path.stem}.{part}{path.suffix}") for part in ("quasi", "sensitive"))
    return quasi, sensitive


def check_parts(path: Path) -> None:
    """Refuse a place where the two tables cannot be written, before any work is done.

    A release in one table that lies there under the name itself would lose its manifest, and whoever
    takes all files of that name would publish both releases.
    """
    check_target(path)
    for file in (path, report_path(path)):
        if file.exists():
            quasi, sensitive = part_paths(path)
            message = f"{file} is there already, and {quasi.name} and {sensitive.name} would lie beside it."
            raise OutputError("output.unwritable", message, "choose another name, or take that file away")
    for file in part_paths(path):
        check_target(file)
