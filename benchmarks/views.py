"""Loss, time and composition of the sub-tables of [bhaladhare2016] on the 32,561 rows of Adult. Prints JSON.

The quasi columns stand in the paper's order; occupation is sensitive, and `?` in it is a value like any
other (no quasi column has missing values). Losses are means over seeds. Times are the best of them, in
processor seconds: single clusterings are so short that on a busy machine the clock says little.
"""

from __future__ import annotations

import json
import sys
import time
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

import polars as pl
from adult45 import COLUMNS
from rich.console import Console
from rich.progress import track

from shoal.cluster import METHODS, ClusterResult
from shoal.composition.check import Composition, check
from shoal.composition.together import JointGoal
from shoal.composition.view import View
from shoal.recipe import Recipe
from shoal.recode.view_columns import narrowed, view_recipes
from shoal.table.columns import Encoded
from shoal.table.encode import encode
from shoal.workflow.publishing import published_as, published_loss

QUASI = ["age", "race", "marital-status", "sex", "fnlwgt"]
NUMERIC = ("age", "fnlwgt")
SENSITIVE = "occupation"
KS = (20, 40, 60, 80, 100)
KINDS = ("equal", "unequal", "nested")
STDERR = Console(stderr=True)
KNOWN = JointGoal("two values", (SENSITIVE,), lambda left: len(left) > 1)  # else the value is known

Names = tuple[str, ...]


@dataclass(frozen=True)
class Part:
    """Some quasi columns of the table, with the sensitive one, as a table of its own."""

    names: Names
    recipe: Recipe
    encoded: Encoded


def adult32(folder: Path) -> pl.DataFrame:
    """Read all training rows."""
    lines = (folder / "adult.data").read_text(encoding="utf-8").splitlines()
    rows = [[cell.strip() for cell in line.split(",")] for line in lines if line]
    table = pl.DataFrame(rows, schema=COLUMNS, orient="row").select(*QUASI, SENSITIVE)
    return table.with_columns(pl.col(NUMERIC).cast(pl.Int64))


def recipe_of(folder: Path, views: str) -> Recipe:
    """Name the paper's columns; k is set by each run."""
    columns: dict[str, Any] = {name: {"role": "quasi", "kind": "numeric"} for name in QUASI}
    for name in QUASI:
        if name not in NUMERIC:
            tree = f"adult_hierarchy_{name}.csv"
            columns[name] = {"role": "quasi", "kind": "categorical", "hierarchy": tree}
    columns[SENSITIVE] = {"role": "sensitive"}
    return Recipe.from_dict(
        {"columns": columns, "privacy": {"k": min(KS)}, "output": {"views": views}}, base=folder
    )


def fit(part: Part, method: str, k: int, seed: int) -> tuple[ClusterResult, float]:
    """Return the classes, and the processor seconds of the clustering, of all threads together."""
    info = METHODS[method]
    begin = time.process_time()
    found = info.make(k, seed, info.options()).fit(part.encoded)
    return found, time.process_time() - begin


def il_of(part: Part, found: ClusterResult) -> float:
    """Return the Total IL of what would be published."""
    published = published_as(part.encoded, found, part.recipe)
    il = published_loss(part.encoded, published, part.recipe).il
    assert il is not None
    return il


def view_of(table: pl.DataFrame, part: Part, found: ClusterResult) -> View:
    """Return what the composition check looks at."""
    published = published_as(part.encoded, found, part.recipe)
    return View.ours(table, part.encoded, published.labels, published.classes, published.names, [SENSITIVE])


def told(composition: Composition) -> dict[str, Any]:
    """Return the exact counts: Adult is public."""
    return {
        "tables": composition.views, "verdict": composition.verdict, "refused": composition.refused_rows,
        "below_m": composition.below_m, "below_j": composition.below_j,
        "known": composition.below_goals[KNOWN.name],
        "alone": int((composition.rows.j == 1).sum()),
        "worst_m": composition.worst_m, "worst_j": composition.worst_j,
    }  # fmt: skip


def main() -> None:
    folder, seeds = Path(sys.argv[1]), range(int(sys.argv[2]))
    table = adult32(folder)
    kinds = {kind: recipe_of(folder, kind) for kind in KINDS}
    parts: dict[Names, Part] = {}
    for recipe in kinds.values():
        for of_view in view_recipes(recipe):
            names = tuple(of_view.quasi)
            parts.setdefault(names, Part(names, of_view, encode(table, of_view)))
    whole = parts[tuple(QUASI)]
    nested = [tuple(QUASI[: at + 1]) for at in range(len(QUASI))]
    # Of the release of the whole table, some columns: the rows stand in the order of the whole.
    projected = {
        names: Part(names, part.recipe, narrowed(whole.encoded, names)) for names, part in parts.items()
    }

    runs = [("systematic", names) for names in parts] + [("k-member", names) for names in nested]
    for method, names in runs:
        fit(parts[names], method, 5000, 0)  # compile, or load what is compiled
    ils: dict[tuple[str, Names, int], list[float]] = {}
    seconds: dict[tuple[str, Names, int], list[float]] = {}
    found: dict[tuple[Names, int], ClusterResult] = {}  # systematic, seed 0
    # Seeds turn about: a noisy neighbour then hurts all of them.
    everything = list(product(seeds, KS, runs))
    for seed, k, (method, names) in track(everything, "clustering", console=STDERR):
        result, took = fit(parts[names], method, k, seed)
        seconds.setdefault((method, names, k), []).append(took)
        ils.setdefault((method, names, k), []).append(il_of(parts[names], result))
        if (method, names) == ("systematic", whole.names):
            for shown, part in projected.items():
                ils.setdefault(("projection", shown, k), []).append(il_of(part, result))
        if method == "systematic" and seed == 0:
            found[names, k] = result

    checked = []
    releases = [("whole", "clustering"), *product(KINDS, ("clustering", "projection"))]
    for k, (kind, by) in track(list(product(KS, releases)), "composition", console=STDERR):
        sets = [whole.names] if kind == "whole" else [tuple(names) for names in kinds[kind].views]
        views = [
            view_of(table, parts[names], found[names, k])
            if by == "clustering"
            else view_of(table, projected[names], found[whole.names, k])
            for names in sets
        ]
        composition = check(whole.encoded, table, views, k, [KNOWN])
        checked.append({"views": kind, "by": by, "k": k, **told(composition)})

    results = [
        {
            "method": method, "columns": list(names), "k": k, "il": sum(runs) / len(runs),
            "seconds": min(seconds.get((method, names, k), [0.0])),
        }
        for (method, names, k), runs in ils.items()
    ]  # fmt: skip
    views_of = {kind: recipe.views for kind, recipe in kinds.items()}
    print(json.dumps({"rows": table.height, "views": views_of, "results": results, "composition": checked}))


if __name__ == "__main__":
    main()
