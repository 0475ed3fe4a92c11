"""Distortion of KACA and Incognito on the 45,222 rows of [li2006], 3 to 9 quasi columns. Prints JSON.

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
from shoal.measure.published import published_costs
from shoal.recipe import Recipe
from shoal.table.columns import Encoded
from shoal.table.encode import encode
from shoal.table.readings import Whd
from shoal.workflow.publishing import published_as

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


def recipe_of(folder: Path, n_quasi: int) -> Recipe:
    """Name the first so many columns of table 2 as quasi, each with its tree."""
    columns: dict[str, Any] = {
        name: {"role": "quasi", "kind": "categorical", "hierarchy": f"adult_hierarchy_{name}.csv"}
        for name in QUASI[:n_quasi]
    }
    return Recipe.from_dict({"columns": {**columns, "default": "drop"}, "privacy": {"k": 2}}, base=folder)


def measured(
    method: str, weights: str, k: int, seed: int, encoded: Encoded, recipe: Recipe
) -> tuple[float, float]:
    """Return the distortion ratio of what would be published, and the seconds of the clustering."""
    info = METHODS[method]
    options = info.options.model_validate({"weights": weights} if method == "kaca" else {})
    begin = time.perf_counter()
    found = info.make(k, seed, options).fit(encoded)
    seconds = time.perf_counter() - begin
    published = published_as(encoded, found, recipe)
    costs = published_costs(encoded, published.classes, Whd(weights))
    ratio = distortion_ratio(encoded, published.labels, costs)
    assert ratio is not None
    return ratio, seconds


def main() -> None:
    folder, repeats = Path(sys.argv[1]), int(sys.argv[2])
    table = adult45(folder)
    results = []
    for n_quasi in range(3, 10):
        recipe = recipe_of(folder, n_quasi)
        encoded = encode(table, recipe)
        for method in ("kaca", "incognito"):
            for weights in ("uniform", "height"):
                for k in (2, 10):
                    seeds = range(repeats if method == "kaca" else 1)  # Incognito draws nothing
                    runs = [measured(method, weights, k, seed, encoded, recipe) for seed in seeds]
                    ratio, seconds = (sum(numbers) / len(runs) for numbers in zip(*runs, strict=True))
                    results.append(
                        {
                            "method": method, "weights": weights, "quasi": n_quasi, "k": k,
                            "ratio": ratio, "seconds": seconds,
                        }
                    )  # fmt: skip
    print(json.dumps({"rows": table.height, "results": results}))


if __name__ == "__main__":
    main()
