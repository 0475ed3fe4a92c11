"""How close to the optimum: the lower bound at each k, its CPU time, and losses next to it.

    python benchmarks/bounds.py [--table adult8] [--effort normal] [--k 5,10,25,50,100] [--search quick]

Prints a table. The first call, which compiles, is not counted. `--search` also runs local search at that
effort, one seed, and prints its loss and the ratio to the bound. `--table` is one of `tables.py`, with
30,000 rows; Adult has all of its rows.
"""

from __future__ import annotations

import argparse
import time

from tables import ALL_ROWS, made

from shoal.bound.lower_bound import lower_bound
from shoal.cluster import METHODS
from shoal.measure.loss import loss
from shoal.measure.readings import tight_costs
from shoal.table.columns import Encoded
from shoal.table.encode import encode

ROWS = 30_000


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
    parser.add_argument("--table", default="adult8")
    parser.add_argument("--effort", default="normal", choices=["quick", "normal", "high"])
    parser.add_argument("--k", default="5,10,25,50,100")
    parser.add_argument("--search", choices=["quick", "normal", "high"])
    asked = parser.parse_args()
    encoded = encode(*made(asked.table, ALL_ROWS if asked.table.startswith("adult8") else ROWS))
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
