"""The same table released by both engines, each release made once."""

import random
import warnings
from datetime import date, timedelta
from functools import cache
from types import SimpleNamespace

import polars as pl
import pytest

from shoal.errors import PrivacyWarning
from shoal.recipe import Recipe
from shoal.workflow.prepare import prepare

REGIONS = {"any": {f"region {at}": {f"town {at}{each}": {} for each in range(4)} for at in range(5)}}
TOWNS = [town for region in REGIONS["any"].values() for town in region]


def people(rows, seed, missing=0.0):
    """A table with something of every kind, and columns that reveal others."""
    random_one = random.Random(seed)
    found = []
    for at in range(rows):
        town, blood = random_one.choice(TOWNS), random_one.choice("abcd")
        found.append(
            {
                "age": None if random_one.random() < missing else random_one.randint(18, 80),
                "blood": blood,
                "town": town,
                "score": round(random_one.gauss(50, 20), 1),
                "born": date(1990, 1, 1) + timedelta(random_one.randint(0, 4000)),
                "again": {"a": "1", "b": "2", "c": "3", "d": "4"}[blood],
                "ill": random_one.choice(["flu", "cold", "gout"]),
                "zip": 1000 + TOWNS.index(town),
                "card": f"card {at // 3}",
            }
        )
    return pl.DataFrame(found)


ROLES = {
    "quasi": ["age", "blood", "town", "score", "born"],
    "sensitive": ["again", "ill"],
    "keep": ["zip"],
    "identifier": ["card"],
}


def recipe_of(cell_rows=None, *, accepts=True, **sections):
    columns = {name: {"role": role} for role, names in ROLES.items() for name in names}
    columns["town"]["hierarchy"] = REGIONS
    columns["score"]["weight"] = 2.0
    if accepts:
        columns["again"]["accept"] = ["duplicate"]
        columns["zip"]["accept"] = {"recoverable": "these towns have one postcode each"}
    given = {"privacy": {"k": 5}, "method": {"name": "mondrian"}, "engine": {"cell_rows": cell_rows}}
    return Recipe.from_dict({"columns": columns, **given, **sections})


def to_spark(spark, table, parts=3):
    return spark.createDataFrame(table.rows(named=True), _schema(table)).repartition(parts)


def _schema(table):
    names = {pl.Int64: "bigint", pl.Float64: "double", pl.String: "string", pl.Date: "date"}
    return ", ".join(f"`{name}` {names[dtype]}" for name, dtype in table.schema.items())


def released(data, recipe, **how):
    """Make a release that nobody verifies: other tests do that."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PrivacyWarning)
        return prepare(data, recipe, **how)


@cache
def whole(spark):
    """A release in one cell, by both engines."""
    table, recipe = people(400, seed=1, missing=0.1), recipe_of()
    distributed = released(to_spark(spark, table), recipe)
    return SimpleNamespace(table=table, recipe=recipe, local=released(table, recipe), spark=distributed)


@cache
def in_cells(spark):
    """A release in several cells, bounds in two columns, some rows left out, by both engines."""
    table = people(700, seed=2, missing=0.02)
    privacy = {"k": 5, "missing": "suppress", "max_suppressed": 0.1}
    recipe = recipe_of(250, privacy=privacy, output={"bounds_as": "columns"})
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("shoal.engine.spark.aggregates.MOST_TEXTS", 60)  # some columns have more
        distributed = released(to_spark(spark, table), recipe, bound=False)
    return SimpleNamespace(
        table=table, recipe=recipe, local=released(table, recipe, bound=False), spark=distributed
    )
