"""What a cell reports about itself: sums, from which the loss of the whole table follows."""

from __future__ import annotations

from collections.abc import Sequence
from math import fsum
from typing import Any

import numpy as np

from shoal.arrays import FloatArray
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
