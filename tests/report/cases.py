"""Releases and facts to make reports of."""

from dataclasses import replace

import numpy as np
import polars as pl

from shoal.measure.published import published_costs
from shoal.recipe import Recipe
from shoal.recode.publish import publish
from shoal.report.distribution import Cell
from shoal.report.facts import Facts
from shoal.report.profile import ColumnProfile, Profile, SensitiveProfile, profile
from shoal.table.encode import encode


def recipe_of(sensitive=(), **columns):
    specs = {name: {"role": "quasi", **spec} for name, spec in columns.items()}
    specs |= {name: {"role": "sensitive"} for name in sensitive}
    return Recipe.from_dict({"columns": specs, "privacy": {"k": 2}})


def profiled(table, recipe, labels=None, size=5, costs=True):
    """Profile a release: labels for each input row, else classes of neighbours in canonical order."""
    encoded = encode(table, recipe)
    if labels is None:
        last = max(0, encoded.n_rows // size - 1)
        in_order = np.minimum(np.arange(encoded.n_rows) // size, last).astype(np.int32)
    else:
        in_order = np.array(labels, np.int32)[encoded.order]
    published = publish(encoded, in_order, recipe)
    lost = published_costs(encoded, published.classes) if costs else None
    return profile(table, encoded, published.labels, published.classes, lost, recipe)


def column_of(values, dtype=None, labels=None, size=5, **spec):
    """Profile one quasi column."""
    table = pl.DataFrame({"q": pl.Series(values, dtype=dtype)})
    return profiled(table, recipe_of(q=spec), labels, size).columns[0]


PROFILE = Profile(
    columns=(
        ColumnProfile(
            "age", "numeric", 2.0, 0.123456789, (Cell("below 20", 1234, 1200.5), Cell("above 19", 766, 799.5))
        ),
        ColumnProfile("sex", "categorical", 1.0, 0.0, (Cell("f", 1500, 1500.0), Cell("m", 500, 500.0))),
        ColumnProfile("city", "categorical", 1.0, 0.5, (Cell("all values", 2000, 2000.0),)),
    ),
    sensitive=(SensitiveProfile("disease", 37, None, 13), SensitiveProfile("cost", 1811, 0, 0)),
    class_sizes=((7, 100), (8, 151), (23, 4)),
)

FACTS = Facts(
    title="stays-k7.csv",
    version="9.8.7",
    rows=2017,
    released=2000,
    suppressed=17,
    classes=255,
    k_asked=6,
    k=7,
    goals=(
        {"type": "k-anonymity", "column": None, "asked": 6, "achieved": 7, "holds": True},
        {"type": "t-closeness", "column": "disease", "asked": 0.31, "achieved": 0.28765, "holds": True},
    ),
    method="k-member",
    paper="Byun and others, 2007.",
    seed=424242,
    options={"opens": "furthest", "label": None},
    loss={
        "il": 20934.2173,
        "gcp": 0.087361,
        "distortion_ratio": None,
        "dm": 30611,
        "c_avg": 1.31,
        "cm": 0.21,
    },
    loss_tight={
        "il": 19934.2,
        "gcp": 0.0777,
        "distortion_ratio": None,
        "dm": 30611,
        "c_avg": 1.31,
        "cm": 0.21,
    },
    profile=PROFILE,
    kept=("ward",),
    recipe='[privacy]\nk = 6\n\n[columns.age]\nrole = "quasi"\n',
    commands=[("check every promise", "shoal verify stays-k7.csv --recipe stays.toml")],
    versions={"shoal": "9.8.7", "polars": "2.3.4"},
    digest="ab" * 32,
)


def facts_about(found, **changes):
    """Facts with the profile of a real release."""
    return replace(FACTS, profile=found, **changes)
