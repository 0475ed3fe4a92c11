"""Folders of parts as a maker would write them, and what both engines say about them."""

from __future__ import annotations

import csv
import hashlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyarrow import parquet

from shoal.recipe import Recipe
from shoal.verifier import Verdict, verify
from shoal.verifier.spark import verify_folder

Row = Sequence[Any]


def write_parts(folder: Path, names: Sequence[str], parts: Sequence[Sequence[Row]]) -> Path:
    """Write one file for each list of rows; the folder's ending says in which format."""
    folder.mkdir(parents=True)
    for at, rows in enumerate(parts):
        write_part(folder / f"part-{at:05d}{folder.suffix}", names, rows)
    return folder


def write_part(file: Path, names: Sequence[str], rows: Sequence[Row]) -> None:
    if file.suffix == ".csv":
        with file.open("w", encoding="utf-8", newline="") as out:
            lines = csv.writer(out, lineterminator="\n")
            lines.writerow(names)
            lines.writerows(["" if cell is None else cell for cell in row] for row in rows)
        return
    columns = [pa.array([row[at] for row in rows], pa.string()) for at in range(len(names))]
    parquet.write_table(pa.table(columns, names=list(names)), file)


def write_manifest(folder: Path, rows: int, classes: int, **sections: Any) -> Path:
    files = {file.name: hashlib.sha256(file.read_bytes()).hexdigest() for file in sorted(folder.iterdir())}
    manifest = {"release": {"files": files, "rows": rows, "classes": classes}, **sections}
    place = folder.with_name(folder.name + ".manifest.json")
    place.write_text(json.dumps(manifest), encoding="utf-8")
    return place


def both(spark: Any, folder: Path, recipe: Recipe, **given: Any) -> tuple[Verdict, Verdict]:
    """Return what DuckDB says, and Spark."""
    return verify(folder, recipe, **given), verify_folder(spark, str(folder), recipe, **given)


def codes(verdict: Verdict) -> list[str]:
    return [problem.code for problem in verdict.problems]
