"""What privacy goals count: the values of sensitive columns, and the people behind the rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from shoal.arrays import FloatArray, IntArray
from shoal.errors import DataError, Fault, RecipeError
from shoal.recipe import Recipe
from shoal.recipe.goals import Goal, TCloseness, ValueRange
from shoal.table.columns import SensitiveColumn, most_decimals
from shoal.table.frames import series
from shoal.table.kinds import settle
from shoal.table.tree_columns import tree_column

# 1, 1.0 and 1e0 are the same value; 007 is a code, not a number.
_NUMBER = r"^[+-]?((0|[1-9][0-9]*)(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?$"
_MOST_DECIMALS = 15
_EXACT = 2.0**53  # above this, different integers become the same float


def sensitive_columns(table: pl.DataFrame, recipe: Recipe) -> tuple[SensitiveColumn, ...]:
    """Number the values that each goal counts; report the faults of all goals at once."""
    found: list[SensitiveColumn] = []
    faults: list[Fault] = []
    for goal in recipe.privacy.column_goals:
        try:
            found.append(_of_goal(table, recipe, goal))
        except RecipeError as error:
            faults += error.faults
    if faults:
        raise RecipeError.from_faults(faults)
    return tuple(found)


def _of_goal(table: pl.DataFrame, recipe: Recipe, goal: Goal) -> SensitiveColumn:
    distance = goal.distance if isinstance(goal, TCloseness) else "equal"
    if distance == "ordered":
        return _ordered(series(table, goal.columns[0]), goal.columns[0], recipe)
    if isinstance(goal, ValueRange):
        return _numeric(series(table, goal.columns[0]), goal.columns[0], recipe)
    if distance == "hierarchical":
        return _in_tree(series(table, goal.columns[0]), goal.columns[0], recipe)
    return _plain([series(table, name) for name in goal.columns], goal.columns)


def _plain(columns: list[pl.Series], names: tuple[str, ...]) -> SensitiveColumn:
    """Number the combinations of values; a combination with a missing value is missing."""
    codes = np.zeros(len(columns[0]), np.int64)
    present = np.ones(len(columns[0]), dtype=bool)
    for values in columns:
        texts = comparable(values)
        ranks = texts.rank("dense").fill_null(0).cast(pl.Int64).to_numpy()  # 0 is missing
        codes = np.unique(codes * (int(ranks.max(initial=0)) + 1) + ranks, return_inverse=True)[1]
        present &= ranks > 0
    numbers = np.full(len(codes), -1, np.int32)
    distinct, numbers[present] = np.unique(codes[present], return_inverse=True)
    return SensitiveColumn(names, numbers, len(distinct))


def _ordered(values: pl.Series, name: str, recipe: Recipe) -> SensitiveColumn:
    kind, canonical = settle(without_empty(values), recipe.columns[name])
    positions = ordered_positions(canonical, kind, name, recipe)
    codes = (positions.rank("dense") - 1).cast(pl.Int32).fill_null(-1).to_numpy()
    return SensitiveColumn((name,), codes, int(codes.max(initial=-1)) + 1)


def ordered_positions(canonical: pl.Series, kind: str, name: str, recipe: Recipe) -> pl.Series:
    """Return canonical values in a form that sorts as the distance ordered requires."""
    if kind == "categorical":
        message = f"Column `{name}` has no order, which the distance ordered requires."
        raise RecipeError(
            "recipe.invalid", message, 'add kind = "ordinal" and order = [...], or use another distance'
        )
    if kind != "ordinal":
        return canonical
    order = canonical_list(recipe.columns[name].order or [])
    return canonical.replace_strict(order, list(range(len(order))), return_dtype=pl.Int64)


def _numeric(values: pl.Series, name: str, recipe: Recipe) -> SensitiveColumn:
    kind, canonical = settle(without_empty(values), recipe.columns[name])
    refuse_without_numbers(kind, canonical, name)
    numbers, units = in_units(distinct_numbers(canonical))
    codes = (canonical.rank("dense") - 1).cast(pl.Int32).fill_null(-1).to_numpy()
    return SensitiveColumn((name,), codes, len(numbers), numbers=numbers, units=units)


def refuse_without_numbers(kind: str, canonical: pl.Series, name: str) -> None:
    """Refuse a column whose values are not numbers, unless all are missing."""
    if kind != "numeric" and canonical.null_count() < len(canonical):
        message = f"Column `{name}` is {kind}, but the goal range requires numbers."
        raise RecipeError("recipe.invalid", message, "use t-closeness or l-diversity, or correct the kind")


def distinct_numbers(canonical: pl.Series) -> npt.NDArray[Any]:
    """Return the distinct values of a numeric column, ascending."""
    return canonical.drop_nulls().unique().sort().to_numpy()


def in_units(numbers: npt.NDArray[Any]) -> tuple[FloatArray, float]:
    """Return numbers in units so small that all are whole, and how many units are 1.

    Differences are exact then: 0.3 - 0.1 is 0.2. Numbers with too many digits for that stay as they are.

    Examples
    --------
    >>> in_units(np.array([0.1, 0.3]))
    (array([1., 3.]), 10.0)
    """
    decimals = most_decimals(numbers)
    floats = numbers.astype(np.float64)
    if decimals > _MOST_DECIMALS or np.abs(floats).max(initial=0) * 10.0**decimals >= _EXACT:
        return floats, 1.0
    units = 10.0**decimals
    return np.rint(floats * units), units


def _in_tree(values: pl.Series, name: str, recipe: Recipe) -> SensitiveColumn:
    kind, canonical = settle(without_empty(values), recipe.columns[name])
    column = tree_column(name, canonical, kind, recipe)
    codes = np.where(column.codes == column.missing, -1, column.codes).astype(np.int32)
    return SensitiveColumn((name,), codes, column.tree.n_leaves, column.tree)


def comparable(values: pl.Series) -> pl.Series:
    """Convert values so that equal values are equal texts; missing values are null."""
    text, number = pl.col("text"), pl.col("number")
    # One query: each method of a Series is one of its own, which takes longer than its work on few values.
    query = values.cast(pl.String).to_frame("text").lazy().select(text.str.strip_chars().str.normalize("NFC"))
    numbers = pl.when(text.str.contains(_NUMBER)).then(text).cast(pl.Float64, strict=False)
    query = query.with_columns(number=numbers)
    query = query.with_columns(pl.when(number == 0).then(0.0).otherwise(number).alias("number"))  # -0 is 0
    query = query.select(
        pl.when(number.abs() < _EXACT).then(number.cast(pl.String)).otherwise(text).alias("text")
    )
    return query.select(pl.when(text != "").then(text).alias(values.name)).collect().to_series()


def without_empty(values: pl.Series) -> pl.Series:
    """Treat an empty text as a missing value: a file cannot distinguish them."""
    return values.set((values == "").fill_null(False), None) if values.dtype == pl.String else values


def canonical_list(texts: list[str]) -> list[str]:
    """Convert the values of an order to the canonical form of column values."""
    return pl.Series(texts, dtype=pl.String).str.strip_chars().str.normalize("NFC").to_list()


def person_codes(table: pl.DataFrame, recipe: Recipe) -> IntArray | None:
    """Number the people in the subject column; missing values are an error."""
    if recipe.subject is None:
        return None
    texts = comparable(series(table, recipe.subject))
    missing = texts.null_count()
    if missing:
        message = f"The subject column `{recipe.subject}` has {missing} missing values."
        raise DataError.from_faults(
            [Fault("data.missing", message, "correct the data, or remove these rows")]
        )
    return (texts.rank("dense") - 1).cast(pl.Int32).to_numpy()
