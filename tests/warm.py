"""Run every kernel once, so that later processes find them compiled."""

import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import polars as pl

from shoal.anonymize import prepare
from shoal.cluster import METHODS
from shoal.measure.scans import Scans
from shoal.recipe import Recipe
from shoal.table.encode import encode

ROOT = Path(__file__).parents[1]
TABLE = pl.DataFrame(
    {
        "age": [1, 2, 3, 4, 5, 6, 7, 8],
        "sex": ["f", "f", "f", "f", "m", "m", "m", "m"],
        "ill": list("aaaabbbb"),  # classes of near rows have one value: they are mended
        "who": [1, 1, 2, 3, 4, 5, 6, 7],
    }
)
LEVELS = {"all": {"some": ["a"], "others": ["b"]}}
GOALS = [
    {"type": "l-diversity", "column": "ill", "l": 2},
    {"type": "t-closeness", "distance": "hierarchical", "column": "ill", "t": 0.4},
]


def compile_kernels():
    """Let two processes compile all kernels: one those of local search, which are half of them."""
    own = subprocess.Popen([sys.executable, "-W", "ignore", "-m", "tests.warm", "local-search"], cwd=ROOT)
    _run([name for name in METHODS if name != "local-search"])
    _compile_composition()
    _compile_bound()
    assert own.wait() == 0


def _run(methods):
    """Anonymize a few rows by these methods: by k alone, and with goals that rows and people meet."""
    for method in methods:
        prepare(TABLE, _recipe(method), bound=False)
        if METHODS[method].has_classes:
            for who in ("drop", "subject"):
                prepare(TABLE, _recipe(method, who, GOALS), bound=False)


def _compile_composition():
    """Check a release beside an earlier one."""
    with TemporaryDirectory() as folder:
        earlier = Path(folder) / "earlier.csv"
        prepare(TABLE, _recipe("mondrian"), bound=False).write(earlier)
        manifest = Path(f"{earlier}.manifest.json")
        recipe = _recipe("mondrian", goals=GOALS)
        prepare(TABLE, recipe, also=[manifest], accept_composition=True, bound=False)


def _compile_bound():
    """Bound the loss in every form."""
    scans = Scans(encode(TABLE, _recipe("mondrian")), 2)
    near = scans.nearest(scans.order, print_nothing).astype(np.int32)
    scans.boxes(scans.order, 1 << 40, print_nothing)
    scans.dragged(scans.order, near, print_nothing)


def print_nothing(share):
    """Take no notice of progress."""


def _recipe(method, who="drop", goals=()):
    changes = {
        "columns": {"who": {"role": who}, **({"ill": {"hierarchy": LEVELS}} if goals else {})},
        "privacy": {"goal": list(goals)},
        "method": {"name": method},
    }
    return Recipe.from_roles(quasi=["age", "sex"], sensitive=["ill"], k=2, changes=changes)


if __name__ == "__main__":
    _run(sys.argv[1:])
