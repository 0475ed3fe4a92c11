"""Run every kernel once, so that later processes find them compiled."""

import polars as pl

from shoal.anonymize import prepare
from shoal.cluster import METHODS
from shoal.recipe import Recipe


def compile_kernels():
    """Anonymize a table of four rows."""
    table = pl.DataFrame({"age": [1, 2, 3, 4, 5], "sex": ["f", "m", "f", "m", "f"], "ill": list("abcab")})
    for method in METHODS:
        changes = {"method": {"name": method}}
        prepare(table, Recipe.from_roles(quasi=["age", "sex"], sensitive=["ill"], k=2, changes=changes))
