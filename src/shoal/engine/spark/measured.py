"""What a cell reports about itself: sums, from which the loss of the whole table follows."""

from __future__ import annotations

from collections.abc import Sequence
from math import fsum
from typing import Any

import numpy as np
import polars as pl

from shoal.arrays import FloatArray, IntArray, LongArray
from shoal.engine.spark.schema import MOST, PEOPLE, SIZE
from shoal.measure.published import published_costs
from shoal.measure.readings import tight_costs
from shoal.privacy.goalset import GoalSet
from shoal.recipe import Recipe
from shoal.recode.publish import Published
from shoal.table.columns import Encoded


def measured(encoded: Encoded, published: Published, recipe: Recipe) -> dict[str, Any]:
    """Sum what the classes of a cell lose in each column."""
    sizes = np.bincount(published.labels[published.labels >= 0], minlength=published.classes.height)
    generalized = recipe.output.values == "generalize"
    lost = (sizes @ published_costs(encoded, published.classes)).tolist() if generalized else None
    return {
        "lost": lost,
        "tight": (sizes @ tight_costs(encoded, published.labels)).tolist() if len(sizes) else None,
    }


def class_counts(encoded: Encoded, labels: IntArray, classes: int) -> dict[str, pl.Series]:
    """Count the rows and people of each class, and the rows with its most frequent label."""
    inside = labels >= 0
    size = np.bincount(labels[inside], minlength=classes)
    people, most = size, np.zeros(classes, np.int64)
    if encoded.person is not None:
        people = np.bincount(_pairs(labels[inside], encoded.person[inside])[0], minlength=classes)
    if encoded.label is not None:
        np.maximum.at(most, *_pairs(labels[inside], encoded.label[inside]))
    counts = {SIZE: size, PEOPLE: people, MOST: most}
    return {name: pl.Series(numbers.astype(np.int32)) for name, numbers in counts.items()}


def _pairs(labels: IntArray, codes: IntArray) -> tuple[LongArray, LongArray]:
    """Return the class of each different pair of class and code, and how often it occurs."""
    width = int(codes.max(initial=0)) + 1
    pairs, times = np.unique(labels * np.int64(width) + codes, return_counts=True)
    return pairs // width, times


def achieved(encoded: Encoded, published: Published, recipe: Recipe) -> FloatArray:
    """Return what each class of a cell achieves of each goal."""
    goals = GoalSet.of(encoded, recipe)
    if goals is None or not published.classes.height:
        return np.zeros((published.classes.height, len(recipe.privacy.column_goals)))
    return goals.judge(published.labels).by_class


def total(reports: Sequence[dict[str, Any]], key: str, n_columns: int) -> list[float] | None:
    """Sum what is lost in each column over all cells; None where that is not defined."""
    known = [report[key] for report in reports if report[key] is not None]
    if not known:
        return None
    return [fsum(lost[at] for lost in known) for at in range(n_columns)]
