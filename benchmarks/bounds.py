"""How close to the optimum: the lower bound on Adult at each k, its CPU time, and losses next to it.

    python -m benchmarks.bounds [--effort normal] [--k 5,10,25,50,100] [--search quick]

Prints a table. The first call, which compiles, is not counted. `--search` also runs local search at that
effort, one seed, and prints its loss and the ratio to the bound. Adult is found as the tests find it.
"""

from __future__ import annotations

import argparse
import os
import time
from pathlib import Path

from shoal.bound.lower_bound import lower_bound
from shoal.cluster import METHODS
from shoal.measure.loss import loss
from shoal.measure.readings import tight_costs
from shoal.recipe import Recipe
from shoal.table.columns import Encoded
from shoal.table.encode import encode
from shoal.table.given import table_of


def total_il(encoded: Encoded, k: int, effort: str) -> float:
    """Return the Total IL of local search, tight."""
    info = METHODS["local-search"]
    labels = info.make(k, 1, info.options.model_validate({"effort": effort})).fit(encoded).labels
    found = loss(encoded, labels, tight_costs(encoded, labels), k).il
    assert found is not None
    return found


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--effort", default="normal", choices=["quick", "normal", "high"])
    parser.add_argument("--k", default="5,10,25,50,100")
    parser.add_argument("--search", choices=["quick", "normal", "high"])
    asked = parser.parse_args()
    recipe = Recipe.load(Path(os.environ.get("SHOAL_DATA", "../shared/data")) / "adult" / "adult8.toml")
    encoded = encode(table_of(None, recipe), recipe)
    lower_bound(encoded.take(encoded.order < 500), 5, effort="normal")  # compiles
    print("| k | bound | CPU s | loss | loss / bound | how |\n|---|---|---|---|---|---|")
    for k in map(int, asked.k.split(",")):
        begun = time.process_time()
        found = lower_bound(encoded, k, effort=asked.effort)
        seconds = time.process_time() - begun
        il = total_il(encoded, k, asked.search) if asked.search else None
        told = "| |" if il is None else f"{il:,.0f} | {il / found.total:.3f} |"
        print(f"| {k} | {found.total:,.0f} | {seconds:.1f} | {told} {found.how} |", flush=True)


if __name__ == "__main__":
    main()
