"""What a cell reports about itself: sums, from which the loss of the whole table follows."""

from __future__ import annotations

from collections.abc import Sequence
from math import fsum
from typing import Any

import numpy as np

from shoal.measure.published import published_costs
from shoal.measure.readings import tight_costs
from shoal.privacy.goalset import GoalSet
from shoal.recipe import Recipe
from shoal.recipe.goals import LDiversity
from shoal.recode.publish import Published
from shoal.table.columns import Encoded


def measured(encoded: Encoded, published: Published, recipe: Recipe) -> dict[str, Any]:
    """Sum what the classes of a cell lose in each column, and say what they achieve."""
    sizes = np.bincount(published.labels[published.labels >= 0], minlength=published.classes.height)
    generalized = recipe.output.values == "generalize"
    lost = (sizes @ published_costs(encoded, published.classes)).tolist() if generalized else None
    goals = GoalSet.of(encoded, recipe) if len(sizes) else None
    judgement = None if goals is None else goals.judge(published.labels)
    return {
        "rows": encoded.n_rows,
        "released": int(sizes.sum()),
        "classes": len(sizes),
        "lost": lost,
        "tight": (sizes @ tight_costs(encoded, published.labels)).tolist() if len(sizes) else None,
        "people": int(sizes.min()) if judgement is None and len(sizes) else judgement and judgement.people,
        "achieved": [] if judgement is None else [_finite(number) for number in judgement.achieved],
    }


def _finite(number: float) -> float | None:
    """Return what JSON can hold."""
    return number if np.isfinite(number) else None


def total(reports: Sequence[dict[str, Any]], key: str, n_columns: int) -> list[float] | None:
    """Sum what is lost in each column over all cells; None where that is not defined."""
    known = [report[key] for report in reports if report[key] is not None]
    if not known:
        return None
    return [fsum(lost[at] for lost in known) for at in range(n_columns)]


def worst(reports: Sequence[dict[str, Any]], recipe: Recipe) -> list[float | None]:
    """Return what the worst class of all cells achieves of each goal; None for infinity."""
    found: list[float | None] = []
    for at, goal in enumerate(recipe.privacy.goal):
        numbers = [report["achieved"][at] for report in reports if report["achieved"]]
        is_least = isinstance(goal, LDiversity)
        known = [number for number in numbers if number is not None]
        if is_least:  # infinity is better than any number
            found.append(min(known, default=None))
        else:
            found.append(max(known) if known and len(known) == len(numbers) else None)
    return found
