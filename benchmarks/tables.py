"""Make a table, encode it, and keep it for the processes that measure on it. Prints JSON.

    python benchmarks/tables.py encode NAME ROWS FILE      the encoded table and its recipe, pickled
    python benchmarks/tables.py parquet NAME ROWS FOLDER   a Parquet file with a recipe, k = 10; or csv

Names: `adult8`; `adult8 distinct`, `adult8 entropy` and `adult8 closeness`, with occupation sensitive and
a goal for it; `resampled`, rows of Adult drawn again and again, a tenth of the cells from other rows;
`INCOME` and `SAL`, census-like rows with eight quasi columns; `numeric`, `trees`, `skewed`, `registry`,
`distinct`; `columns 1` to `columns 15`. Adult is cut to ROWS if it has more.
"""

from __future__ import annotations

import json
import pickle
import resource
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from processes import adult_folder
from shapes import made_up

from shoal.datasets import census, write_census
from shoal.datasets.census import CENSUS_TREES
from shoal.recipe import Recipe, to_toml
from shoal.table.columns import Encoded
from shoal.table.encode import encode
from shoal.table.read import read

ALL_ROWS = 1_000_000_000
NOISE = 0.1  # of the cells of `resampled`
CHUNK = 1_000_000  # rows that are drawn at once: what is needed for drawing is freed in between
CENSUS_QUASI = {
    "INCOME": ["age", "occupation", "birthplace", "gender", "education", "race", "work_class", "marital"],
    "SAL": ["age", "gender", "education", "marital", "race", "work_class", "country", "occupation"],
}
GOALS: dict[str, dict[str, Any]] = {
    "distinct": {"type": "l-diversity", "variant": "distinct", "column": "occupation", "l": 5},
    "entropy": {"type": "l-diversity", "variant": "entropy", "column": "occupation", "l": 4},
    "closeness": {"type": "t-closeness", "column": "occupation", "t": 0.2},
}


def made(name: str, rows: int) -> tuple[pl.DataFrame, Recipe]:
    """Return a table and its recipe."""
    kind, _, more = name.partition(" ")
    if kind == "adult8":
        return _adult8(rows, more)
    if kind == "resampled":
        return _resampled(rows)
    if kind in CENSUS_QUASI:
        return _census(kind, rows)
    return made_up(kind, rows, int(more or 0))


def _adult8(rows: int, goal: str) -> tuple[pl.DataFrame, Recipe]:
    changes: dict[str, Any] = {}
    if goal:
        roles = {"occupation": {"role": "sensitive"}, "salary-class": {"role": "drop"}}
        changes = {"columns": roles, "privacy": {"goal": [GOALS[goal]]}}
    recipe = Recipe.load(adult_folder() / "adult8.toml", changes=changes)
    table = read(recipe.resolve(recipe.input.path or ""), recipe.input)
    return table if rows >= table.height else table.sample(rows, seed=0), recipe


def _resampled(rows: int) -> tuple[pl.DataFrame, Recipe]:
    """Draw rows of Adult with replacement, and in each column a tenth of the cells from rows of their own."""
    adult, recipe = _adult8(ALL_ROWS, "")
    random = np.random.Generator(np.random.PCG64(2026))
    drawn = random.integers(0, adult.height, rows)
    columns = {}
    for name in adult.columns:
        others = random.integers(0, adult.height, rows)
        columns[name] = adult[name].gather(np.where(random.random(rows) < NOISE, others, drawn))
    return pl.DataFrame(columns), recipe


def _census(kind: str, rows: int) -> tuple[pl.DataFrame, Recipe]:
    """Draw people in parts; without the column that is left over, which clustering has no use for."""
    names = CENSUS_QUASI[kind]
    parts = [
        census(min(CHUNK, rows - begin), seed, table=kind).select(names)  # type: ignore[arg-type]
        for seed, begin in enumerate(range(0, rows, CHUNK))
    ]
    columns: dict[str, dict[str, Any]] = {
        column: {"role": "quasi", "kind": "categorical", "hierarchy": CENSUS_TREES[kind][column]}  # type: ignore[index]
        if column in CENSUS_TREES[kind]  # type: ignore[index]
        else {"role": "quasi", "kind": "numeric"}
        for column in names
    }
    return pl.concat(parts), Recipe.from_dict({"columns": columns, "privacy": {"k": 10}})


def keep(name: str, rows: int, file: Path) -> dict[str, float]:
    """Encode a table into a file."""
    begin = time.perf_counter()
    table, recipe = made(name, rows)
    drawn = time.perf_counter()
    encoded = encode(table, recipe)
    seconds = time.perf_counter() - drawn
    with file.open("wb") as target:
        pickle.dump((encoded, recipe), target, protocol=5)
    return {
        "rows": table.height,
        "make_seconds": drawn - begin,
        "encode_seconds": seconds,
        "peak_mib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    }


def kept(file: Path) -> tuple[Encoded, Recipe]:
    """Read what `keep` has written."""
    with file.open("rb") as source:
        return pickle.load(source)  # type: ignore[no-any-return]  # written by ourselves a moment ago


def written(name: str, rows: int, folder: Path, ending: str) -> Path:
    """Write a table and its recipe into a folder; a census with its trees as files of their own."""
    if name in CENSUS_QUASI:
        return write_census(folder, rows, 0, table=name, quasi=8, k=10, ending=ending)  # type: ignore[arg-type]
    table, recipe = made(name, rows)
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / f"table.{ending}"
    (table.write_csv if ending == "csv" else table.write_parquet)(file)
    sections = recipe.to_dict()
    path = folder / "table.toml"
    given = {
        "input": {"path": file.name},
        "columns": sections["columns"],
        "privacy": {"k": 10},
        "output": {"path": f"release.{ending}"},
    }
    path.write_text(to_toml(given), encoding="utf-8")
    return path


def main() -> None:
    what, name, rows, place = sys.argv[1], sys.argv[2], int(sys.argv[3]), Path(sys.argv[4])
    if what == "encode":
        print(json.dumps(keep(name, rows, place)))
    else:
        print(json.dumps({"recipe": str(written(name, rows, place, what))}))


if __name__ == "__main__":
    main()
