"""Goals about the risk of re-identification: what a release achieves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import polars as pl

from shoal.arrays import IntArray, LongArray
from shoal.recipe import Recipe
from shoal.recipe.goals import KMap
from shoal.risks.population import count_matching
from shoal.risks.tables import box_texts, load_population
from shoal.table.columns import Encoded


def average_risk(labels: IntArray, person: IntArray | None) -> float:
    """Return the average risk of rows, or of people once in each class: classes / rows. -1 is no class."""
    inside = labels >= 0
    if person is None:
        units = int(inside.sum())
    else:
        units = len(np.unique(labels[inside].astype(np.int64) * (int(person.max()) + 1) + person[inside]))
    return len(np.unique(labels[inside])) / units


class Population:
    """The population that a goal names, against which published classes are counted."""

    def __init__(self, recipe: Recipe, goal: KMap) -> None:
        self._people: Encoded = load_population(recipe.resolve(goal.population), recipe, by_row=True)

    def matching(self, classes: pl.DataFrame, names: Mapping[str, Sequence[str]]) -> LongArray:
        """Count the people whom each class matches; `names` are the columns of each quasi column."""
        return count_matching(self._people, box_texts(classes, names))[0]
