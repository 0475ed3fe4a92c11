"""Print a digest of the labels of every method, without goals and with them, on Adult and generated tables.

Run it before and after a change to the kernels that should change no label, and compare the two outputs:

    python -m benchmarks.labels [METHOD ...] > before.txt

Adult (k = 10) is left out where it is not at hand; methods that take long there get 3,000 of its rows.
"""

from __future__ import annotations

import hashlib
import os
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from shoal.bound.scans import Scans
from shoal.cluster import METHODS
from shoal.engine import local
from shoal.errors import PrivacyWarning, ShoalError
from shoal.recipe import Recipe
from shoal.table.encode import encode
from shoal.table.read import read

SLOW = {"local-search", "k-member", "threshold", "kaca", "c-means"}
SAMPLE = 3_000
GENERATED = 200
LEVELS = {"all": {"some": ["a", "b"], "others": ["c", "d"]}}
DIVERSITY: list[dict[str, Any]] = [
    {"type": "l-diversity", "l": 2},
    {"type": "l-diversity", "variant": "frequency", "l": 2},
    {"type": "l-diversity", "variant": "entropy", "l": 1.5},
    {"type": "l-diversity", "variant": "recursive", "l": 2, "c": 2.0},
    {"type": "alpha-k", "alpha": 0.7},
]
CLOSENESS: list[dict[str, Any]] = [
    {"type": "t-closeness", "t": 0.4},
    {"type": "t-closeness", "t": 0.4, "distance": "hierarchical"},
    {"type": "beta-likeness", "beta": 1.5},
    {"type": "beta-likeness", "beta": 1.5, "variant": "enhanced"},
    {"type": "delta-disclosure", "delta": 1.2},
]
OPTIONS: dict[str, list[dict[str, Any]]] = {
    "k-member": [{}, {"label": "ill"}, {"opens": "start", "anchor": "first"}],
    "oka": [{}, {"iterations": 3, "suppress": True}],
    "systematic": [{}, {"seeds": "random"}],
    "kaca": [{}, {"outlier": 0.5}],
    "cb": [{}, {"l": 2, "label": "ill"}],
    "mondrian": [{}, {"mode": "relaxed"}],
    "nh": [{}, {"mode": "relaxed"}],
    "local-search": [{"effort": "quick"}],
}


def digest(table: pl.DataFrame, recipe: Recipe) -> str:
    """Return the digest of the labels, or the code of the error that says why there are none."""
    try:
        found = local.run(encode(table, recipe), recipe, METHODS[recipe.method.name])
    except ShoalError as error:
        return error.code
    return hashlib.sha256(found.labels.astype("<i4").tobytes()).hexdigest()[:16]


def goals_of(asked: str, column: str, number: int) -> list[dict[str, Any]]:
    """Return the goals of one case."""
    if asked == "none":
        return []
    kinds = CLOSENESS if asked == "t-closeness" else DIVERSITY
    return [{**kinds[number % len(kinds)], "column": column}]


def cases(method: str) -> list[str]:
    """Return what a method is asked for; one that has no classes keeps no goals."""
    return (
        ["none", "l-diversity", "t-closeness", "subject"] if METHODS[method].shape.has_classes else ["none"]
    )


def generated(number: int) -> tuple[pl.DataFrame, dict[str, Any]]:
    """Make up a table: few or many values, missing ones, rows that stand twice, and an uneven tree."""
    random = np.random.Generator(np.random.PCG64(number))
    n = int(random.integers(8, 90))
    places = ["x1", "x2", "y", "z1", "z2", "z3"]
    tree = {"all": {"x": ["x1", "x2"], "y": [], "z": {"zz": ["z1", "z2"], "z3": []}}}

    def some(values: Any, share: float) -> list[Any]:
        drawn = random.choice(values, n).tolist()
        missing = random.random(n) < share
        return [None if gone else value for value, gone in zip(drawn, missing, strict=True)]

    share = float(random.choice([0.0, 0.1]))
    data = {
        "age": some(np.arange(random.integers(2, 60)), share),
        "pay": some(np.arange(random.integers(2, 9)) / 4, 0.0),
        "place": some(places, share),
        "sex": some(["f", "m"], 0.0),
        "ill": random.choice(list("aaabbbccd"), n).tolist(),
        "who": random.integers(0, max(4, 3 * n // 4), n).tolist(),
    }
    columns = {
        "age": {"role": "quasi", "kind": "numeric"},
        "pay": {"role": "quasi", "kind": "numeric", "weight": 2.0},
        "place": {"role": "quasi", "hierarchy": tree},
        "sex": {"role": "quasi", "kind": "categorical"},
        "ill": {"role": "sensitive", "hierarchy": LEVELS},
    }
    return pl.DataFrame(data), columns


def generated_digests(method: str, asked: str) -> str:
    """Return one digest of all generated tables."""
    total = hashlib.sha256()
    options = OPTIONS.get(method, [{}])
    for number in range(GENERATED):
        table, columns = generated(number)
        who = {"role": "subject" if asked == "subject" else "drop"}
        recipe = Recipe.from_dict(
            {
                "columns": {**columns, "who": who},
                "privacy": {
                    "k": 2 + number % 4,
                    "goal": goals_of(asked, "ill", number // 4),
                    "max_suppressed": 0.1 * (number % 3),
                },
                "method": {"name": method, "seed": number, "options": options[number % len(options)]},
            }
        )
        total.update(digest(table, recipe).encode())
    return total.hexdigest()[:16]


def adult_digests(folder: Path, method: str, asked: str) -> str:
    """Return the digest of Adult's labels, of a sample where the method is slow."""
    goal = {
        "none": [],
        "l-diversity": [{"type": "l-diversity", "column": "salary-class", "l": 2}],
        "t-closeness": [{"type": "t-closeness", "column": "salary-class", "t": 0.3}],
        "subject": [{"type": "l-diversity", "column": "salary-class", "l": 2}],
    }[asked]
    changes = {
        "columns": {"who": {"role": "subject" if asked == "subject" else "drop"}},
        "privacy": {"goal": goal},
        "method": {"name": method, "seed": 1},
    }
    recipe = Recipe.load(folder / "adult" / "adult8.toml", changes=changes)
    table = read(folder / "adult" / "adult.csv", recipe.input)
    if method in SLOW:
        table = table[:: len(table) // SAMPLE][:SAMPLE]
    return digest(table.with_columns(who=pl.Series(np.arange(len(table)) * 7 // 8)), recipe)


def bound_digest() -> str:
    """Return one digest of the lower bounds of all generated tables."""
    total = hashlib.sha256()
    for number in range(GENERATED):
        table, columns = generated(number)
        recipe = Recipe.from_dict({"columns": {**columns, "who": {"role": "drop"}}, "privacy": {"k": 3}})
        scans = Scans(encode(table, recipe), 3)
        near = scans.nearest(scans.order, lambda _: None).astype(np.int32)
        for found in (near, scans.boxes(scans.order, 1 << 40, lambda _: None)):
            total.update(np.asarray(found).tobytes())
        total.update(scans.dragged(scans.order, near, lambda _: None).tobytes())
    return total.hexdigest()[:16]


def lines(methods: list[str]) -> Iterator[str]:
    """Compute all digests, one to a line."""
    folder = Path(os.environ.get("SHOAL_DATA", Path(__file__).parents[2] / "shared" / "data"))
    for method in methods:
        for asked in cases(method):
            yield f"{method} {asked} generated {generated_digests(method, asked)}"
            if (folder / "adult").is_dir():
                yield f"{method} {asked} adult {adult_digests(folder, method, asked)}"
    yield f"bound {bound_digest()}"


def main() -> None:
    """Print the digests as they come."""
    warnings.simplefilter("ignore", PrivacyWarning)
    for line in lines(sys.argv[1:] or list(METHODS)):
        print(line, flush=True)


if __name__ == "__main__":
    main()
