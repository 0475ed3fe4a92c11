"""`shoal.risk`: the risk of a raw or released table."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from shoal.arrays import FloatArray, LongArray
from shoal.errors import DataError, RecipeError
from shoal.recipe import Address, Recipe, roles_of
from shoal.risks.report import (
    DEFAULT_K,
    SUBSET_SIZE,
    Owner,
    RiskReport,
    Sample,
    measure_risk,
)
from shoal.risks.tables import load_population, needed_columns, published_columns
from shoal.stages import Progress, stage
from shoal.table import frames
from shoal.table.numbering import value_codes
from shoal.table.read import mark_missing, read, read_any_release


def risk(
    data: Any,
    recipe: Recipe | None = None,
    *,
    quasi: Iterable[str] = (),
    subject: str | None = None,
    identifiers: Iterable[str] = (),
    k: int | None = None,
    population: Any = None,
    sampling_fraction: float | None = None,
    sampling_weight: str | None = None,
    household: str | None = None,
    subset_size: int = SUBSET_SIZE,
    seed: int = 0,
    progress: Progress | None = None,
) -> RiskReport:
    """Measure how likely the people in a table are to be re-identified.

    The table may be raw or released: rows with equal quasi values form a class, whatever these values are.

    Parameters
    ----------
    data : pandas, Polars or Arrow frame, or Recipe
        The table; or a recipe whose [input] names a file.
    recipe : Recipe, optional
        Which columns are quasi, and their kinds and hierarchies. The parameters below override it.
    quasi : iterable of str
        The columns that an outsider may know about a person. Other columns need not be named.
    subject : str, optional
        The column that identifies people, where one may have several rows.
    identifiers : iterable of str
        Columns that name people; the first one names the lines of `per_person`, unless there is a subject.
    k : int, optional
        Rows in smaller classes count as at risk; 5, or the recipe's.
    population : frame or path, optional
        The people from whom those in the table were drawn, with the same quasi columns, not generalized.
    sampling_fraction : float, optional
        The share of the population that is in the table.
    sampling_weight : str, optional
        The column that says how many people of the population each row stands for.
    household : str, optional
        The column that identifies households.
    subset_size : int, default 3
        Every subset of up to so many quasi columns is measured.
    seed : int, default 0
        For the intervals of estimates.
    progress : callable, optional
        Called with the name of a stage and the fraction that is done.

    Examples
    --------
    >>> import polars as pl, shoal
    >>> people = pl.DataFrame({"age": [31, 31, 58, 60], "sex": ["f", "f", "m", "f"]})
    >>> found = shoal.risk(people, quasi=["age", "sex"])
    >>> found.prosecutor.unique, found.prosecutor.average
    (2, 0.75)
    """
    if isinstance(data, Recipe):
        recipe, data = data, None
    roles = roles_of(quasi=quasi, identifier=identifiers, subject=() if subject is None else (subject,))
    changes = {"columns": {name: {"role": role} for name, role in roles.items()}, "privacy": {"k": k}}
    asked = _asked(recipe, changes)
    return table_risk(
        data,
        asked,
        population=population,
        sampling_fraction=sampling_fraction,
        sampling_weight=sampling_weight,
        household=household,
        subset_size=subset_size,
        seed=seed,
        progress=progress,
    )


def _asked(recipe: Recipe | None, changes: Mapping[str, Any]) -> Recipe:
    if recipe is not None:
        return recipe.changed(changes)
    return Recipe.from_dict({"privacy": {"k": DEFAULT_K}}, changes=changes)


def table_risk(
    data: Any,
    recipe: Recipe,
    *,
    is_release: bool = False,
    population: Any = None,
    sampling_fraction: float | None = None,
    sampling_weight: str | None = None,
    household: str | None = None,
    subset_size: int = SUBSET_SIZE,
    seed: int = 0,
    progress: Progress | None = None,
) -> RiskReport:
    """Measure the risk of a frame, a file, or the file that the recipe names where `data` is None.

    A file is read as the recipe says, or as a release.
    """
    _check(sampling_fraction, sampling_weight, subset_size)
    timings: dict[str, float] = {}  # not reported
    with stage(timings, "read", progress):
        columns: dict[str, list[str]] = {}
        also = [name for name in (sampling_weight, household) if name is not None]

        def choose(present: list[str]) -> Collection[str]:
            columns.update(published_columns(recipe.quasi, present))
            return needed_columns(recipe, columns, also, present)

        table = _read(data, recipe, choose, is_release=is_release)
        if not columns:  # a reader of releases that does not choose
            choose(table.columns)
        owner = _owner(table, recipe, household)
        weights = None if sampling_weight is None else _weights(table, sampling_weight)
        people = None if population is None else load_population(population, recipe)
    with stage(timings, "measure", progress) as tick:
        return measure_risk(
            table,
            dict(columns),
            recipe.privacy.k,
            sample=Sample(sampling_fraction, weights, people),
            owner=owner,
            subset_size=subset_size,
            seed=seed,
            is_release=is_release,
            kind=frames.kind_of(None if isinstance(data, (Path, Address)) else data),
            tick=tick,
        )


def _check(fraction: float | None, weight: str | None, subset_size: int) -> None:
    """Refuse settings that make no sense, before any work is done."""
    if fraction is not None and not 0 < fraction <= 1:
        message = "The sampling fraction should be above 0 and at most 1."
        raise RecipeError("recipe.invalid", message, "for example 0.05 for one person in twenty")
    if fraction is not None and weight is not None:
        message = "A sampling fraction and a column of sampling weights are given."
        raise RecipeError("recipe.invalid", message, "give one of them: the weights imply the fraction")
    if subset_size < 1:
        raise RecipeError("recipe.invalid", "Subsets have at least 1 column.", "for example 3")


def _read(data: Any, recipe: Recipe, choose: frames.Choose, *, is_release: bool) -> pl.DataFrame:
    if isinstance(data, Path) and is_release:
        names = [name for quasi in recipe.quasi for name in (quasi, f"{quasi}_low", f"{quasi}_high")]
        return read_any_release(data, names, spreadsheet_safe=recipe.output.spreadsheet_safe)
    if isinstance(data, (Path, Address)):
        return read(data, recipe.reading, choose)
    if data is not None:
        return mark_missing(frames.to_polars(data, choose), recipe.input.missing)
    if recipe.source is None:
        raise RecipeError("recipe.invalid", "The recipe names no input.", 'add [input] path = "..."')
    return read(recipe.source, recipe.reading, choose)


def _owner(table: pl.DataFrame, recipe: Recipe, household: str | None) -> Owner:
    named = [name for name in recipe.named("subject", "identifier") if name in table.columns]
    subject = recipe.subject if recipe.subject in table.columns else None
    key = subject or next(iter(named), None)
    return Owner(
        key=None if key is None else frames.series(table, key).alias(key),
        person=None if subject is None else _present_codes(table, subject, "subject"),
        household=None if household is None else _present_codes(table, household, "household"),
    )


def _present_codes(table: pl.DataFrame, name: str, what: str) -> LongArray:
    codes = value_codes(frames.series(table, name))
    missing = int((codes < 0).sum())
    if missing:
        message = f"The {what} column `{name}` has {missing} missing values."
        raise DataError("data.missing", message, "correct the data, or remove these rows")
    return np.unique(codes, return_inverse=True)[1].astype(np.int64)


def _weights(table: pl.DataFrame, name: str) -> FloatArray:
    weights = frames.series(table, name).cast(pl.Float64, strict=False)
    wrong = int((~(weights.fill_null(0) >= 1) | weights.fill_null(0).is_infinite()).sum())
    if wrong:
        message = (
            f"The column of sampling weights `{name}` has {wrong} cells that are not numbers of at least 1."
        )
        raise DataError("data.kind", message, "a row stands for at least the person it is about")
    return weights.to_numpy()
