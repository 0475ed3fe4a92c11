"""How close to the optimum: the lower bound at each k, its CPU time, and losses next to it.

    python benchmarks/bounds.py [--table adult8] [--effort normal] [--k 5,10,25,50,100] [--search quick]
                                [--rows 30000]

Prints a table. The first call, which compiles, is not counted. `--search` first runs local search at that
effort, one seed, gives its classes to the bound as `shoal anonymize` does, and prints its CPU time, its loss
and the ratio to the bound. `--table` is one of `tables.py`; Adult has all of its rows. With a goal, as in
`--table "adult8 closeness"`, both keep it.
"""

from __future__ import annotations

import argparse
import time

from tables import ALL_ROWS, made

from shoal.arrays import IntArray
from shoal.bound.lower_bound import recipe_bound
from shoal.cluster import METHODS
from shoal.engine import local
from shoal.measure.loss import loss
from shoal.measure.readings import tight_costs
from shoal.recipe import Recipe
from shoal.table.columns import Encoded
from shoal.table.encode import encode

ROWS = 30_000


def searched(encoded: Encoded, recipe: Recipe, effort: str) -> IntArray:
    """Return the classes of local search."""
    method = recipe.method.model_copy(
        update={"name": "local-search", "seed": 1, "options": {"effort": effort}}
    )
    asked = recipe.model_copy(update={"method": method})
    return local.run(encoded, asked, METHODS["local-search"]).labels


def with_k(recipe: Recipe, k: int) -> Recipe:
    """Return the recipe with another k."""
    return recipe.model_copy(update={"privacy": recipe.privacy.model_copy(update={"k": k})})


def total_il(encoded: Encoded, k: int, labels: IntArray) -> float:
    """Return the Total IL of classes, tight."""
    found = loss(encoded, labels, tight_costs(encoded, labels), k).il
    assert found is not None
    return found


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--table", default="adult8")
    parser.add_argument("--effort", default="normal", choices=["quick", "normal", "high"])
    parser.add_argument("--k", default="5,10,25,50,100")
    parser.add_argument("--search", choices=["quick", "normal", "high"])
    parser.add_argument("--rows", type=int, default=ROWS)
    asked = parser.parse_args()
    table, recipe = made(asked.table, ALL_ROWS if asked.table.startswith("adult8") else asked.rows)
    encoded = encode(table, recipe)
    few = encoded.take(encoded.order < 500)
    recipe_bound(few, with_k(recipe, 5), effort="normal")  # compiles
    if asked.search:
        searched(few, with_k(recipe, 5), asked.search)
    print("| k | bound | CPU s | search CPU s | loss | loss / bound | how |\n|---|---|---|---|---|---|---|")
    for k in map(int, asked.k.split(",")):
        begun = time.process_time()
        labels = searched(encoded, with_k(recipe, k), asked.search) if asked.search else None
        halfway = time.process_time()
        found = recipe_bound(encoded, with_k(recipe, k), effort=asked.effort, classes=labels)
        assert found is not None
        seconds = time.process_time() - halfway
        il = None if labels is None else total_il(encoded, k, labels)
        told = "| | |" if il is None else f"{halfway - begun:.1f} | {il:,.0f} | {il / found.total:.3f} |"
        print(f"| {k} | {found.total:,.0f} | {seconds:.1f} | {told} {found.how} |", flush=True)


if __name__ == "__main__":
    main()
