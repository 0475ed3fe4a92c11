"""How close to the optimum: the lower bound at each k, its CPU time, and losses next to it.

    python benchmarks/bounds.py [--table adult8] [--effort normal] [--k 5,10,25,50,100] [--search quick]
                                [--rows 30000]

Prints a table. The first call, which compiles, is not counted. `--search` first runs local search at that
effort, one seed, gives its classes to the bound as `shoal anonymize` does, and prints its CPU time, its loss
and the ratio to the bound. `--table` is one of `tables.py`; Adult has all of its rows.
"""

from __future__ import annotations

import argparse
import time

from tables import ALL_ROWS, made

from shoal.arrays import IntArray
from shoal.bound.lower_bound import lower_bound
from shoal.cluster import METHODS
from shoal.measure.loss import loss
from shoal.measure.readings import tight_costs
from shoal.table.columns import Encoded
from shoal.table.encode import encode

ROWS = 30_000


def searched(encoded: Encoded, k: int, effort: str) -> IntArray:
    """Return the classes of local search."""
    info = METHODS["local-search"]
    return info.make(k, 1, info.options.model_validate({"effort": effort})).fit(encoded).labels


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
    encoded = encode(*made(asked.table, ALL_ROWS if asked.table.startswith("adult8") else asked.rows))
    few = encoded.take(encoded.order < 500)
    lower_bound(few, 5, effort="normal")  # compiles
    if asked.search:
        searched(few, 5, asked.search)
    print("| k | bound | CPU s | search CPU s | loss | loss / bound | how |\n|---|---|---|---|---|---|---|")
    for k in map(int, asked.k.split(",")):
        begun = time.process_time()
        labels = searched(encoded, k, asked.search) if asked.search else None
        halfway = time.process_time()
        found = lower_bound(encoded, k, effort=asked.effort, classes=labels)
        seconds = time.process_time() - halfway
        il = None if labels is None else total_il(encoded, k, labels)
        told = "| | |" if il is None else f"{halfway - begun:.1f} | {il:,.0f} | {il / found.total:.3f} |"
        print(f"| {k} | {found.total:,.0f} | {seconds:.1f} | {told} {found.how} |", flush=True)


if __name__ == "__main__":
    main()
