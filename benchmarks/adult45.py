"""Distortion of KACA on the 45,222 rows of [li2006], 3 to 9 quasi columns. Prints JSON.

The columns and their order are those of its table 2. Its trees are one level taller than the ones
used here for work class, education, marital status and native country.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

import polars as pl

from shoal.cluster import METHODS
from shoal.measure.distortion import distortion_ratio
from shoal.measure.readings import tight_costs
from shoal.recipe import Recipe
from shoal.table.columns import Encoded
from shoal.table.encode import encode
from shoal.table.readings import Whd

COLUMNS = [
    "age", "workclass", "fnlwgt", "education", "education-num", "marital-status", "occupation",
    "relationship", "race", "sex", "capital-gain", "capital-loss", "hours", "native-country",
    "salary-class",
]  # fmt: skip
QUASI = [
    "age", "workclass", "education", "marital-status", "occupation", "race", "sex", "native-country",
    "salary-class",
]  # fmt: skip


def adult45(folder: Path) -> pl.DataFrame:
    """Read training and test rows without missing values."""
    files = (folder / "adult.data", folder / "adult.test")
    lines = [line for file in files for line in file.read_text(encoding="utf-8").splitlines() if line]
    rows = [[cell.strip() for cell in line.rstrip(".").split(",")] for line in lines]
    table = pl.DataFrame([row for row in rows if "?" not in row], schema=COLUMNS, orient="row")
    return table.select(QUASI).with_columns(pl.col("salary-class").str.to_uppercase())


def encoded(table: pl.DataFrame, folder: Path, n_quasi: int) -> Encoded:
    """Encode the first so many columns of table 2, each with its tree."""
    columns: dict[str, Any] = {
        name: {"role": "quasi", "kind": "categorical", "hierarchy": f"adult_hierarchy_{name}.csv"}
        for name in QUASI[:n_quasi]
    }
    data = {"columns": {**columns, "default": "drop"}, "privacy": {"k": 2}}
    return encode(table, Recipe.from_dict(data, base=folder))


def main() -> None:
    folder, repeats = Path(sys.argv[1]), int(sys.argv[2])
    table = adult45(folder)
    results = []
    for weights in ("uniform", "height"):
        for n_quasi in range(3, 10):
            rows = encoded(table, folder, n_quasi)
            for k in (2, 10):
                ratios, seconds = [], []
                for seed in range(repeats):
                    method = METHODS["kaca"]
                    clusterer = method.make(k, seed, method.options.model_validate({"weights": weights}))
                    begin = time.perf_counter()
                    labels = clusterer.fit(rows).labels
                    seconds.append(time.perf_counter() - begin)
                    costs = tight_costs(rows, labels, Whd(weights))
                    ratios.append(distortion_ratio(rows, labels, costs))
                results.append(
                    {
                        "method": "kaca", "weights": weights, "quasi": n_quasi, "k": k,
                        "ratio": sum(ratios) / repeats, "seconds": sum(seconds) / repeats,
                    }
                )  # fmt: skip
    print(json.dumps({"rows": table.height, "results": results}))


if __name__ == "__main__":
    main()
