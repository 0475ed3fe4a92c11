"""Loss on Adult with induced hierarchies, relative to the given ones.

    python benchmarks/induced.py [SEEDS]

Local search clusters Adult with the given trees, without any (sets of values), and with induced ones. The GCP
of the classes is always measured with the given trees, so that all three have the same yardstick.
"""

from __future__ import annotations

import sys

import numpy as np
import polars as pl
from processes import show
from tables import ALL_ROWS, made

from shoal.arrays import IntArray
from shoal.cluster import METHODS
from shoal.recipe import Recipe
from shoal.table.columns import Encoded, class_extremes
from shoal.table.encode import encode
from shoal.table.induced import with_induced

KS = (5, 10, 25)


def with_hierarchies(recipe: Recipe, hierarchy: str | None) -> Recipe:
    """Return the recipe with another hierarchy for each column that has one."""
    columns = {
        name: column if column.hierarchy is None else column.model_copy(update={"hierarchy": hierarchy})
        for name, column in recipe.columns.items()
    }
    return recipe.model_copy(update={"columns": columns})


def labels_of(table: pl.DataFrame, recipe: Recipe, k: int, seed: int) -> IntArray:
    """Cluster a table; return the class of each of its rows, in its order."""
    encoded = encode(table, recipe)
    info = METHODS["local-search"]
    found = info.make(k, seed, info.options.model_validate({})).fit(encoded)
    return encoded.in_input_order(found.labels)


def gcp(given: Encoded, labels: IntArray) -> float:
    """Measure classes with the given trees."""
    of_row = labels[given.order]
    sizes = np.bincount(of_row)
    costs = [column.cost(*class_extremes(column, of_row, len(sizes))) for column in given.columns]
    return float(sum(cost @ sizes for cost in costs)) / (given.n_rows * len(given.columns))


def main() -> None:
    seeds = range(1, int(sys.argv[1]) + 1 if len(sys.argv) > 1 else 4)
    table, recipe = made("adult8", ALL_ROWS)
    given = encode(table, recipe)
    recipes = {
        "given": recipe,
        "none": with_hierarchies(recipe, None),
        "induced": with_induced(with_hierarchies(recipe, "induce"), table),
    }
    rows = []
    for k in KS:
        losses = {
            name: float(np.mean([gcp(given, labels_of(table, asked, k, seed)) for seed in seeds]))
            for name, asked in recipes.items()
        }
        rows.append(
            [
                str(k),
                f"{losses['given']:.4f}",
                f"{losses['none'] / losses['given']:.3f}",
                f"{losses['induced'] / losses['given']:.3f}",
            ]
        )
    show(
        f"Adult, local search, {len(seeds)} seeds: GCP by the given trees",
        ["k", "given trees", "none / given", "induced / given"],
        rows,
    )


if __name__ == "__main__":
    main()
