"""Decide where the new rows of an extension go: into published classes, into new ones, or nowhere yet."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

from shoal.arrays import BoolArray, IntArray
from shoal.cluster.registry import METHODS
from shoal.engine.clustering import cluster
from shoal.errors import InfeasibleError
from shoal.privacy.feasible import rows_to_leave_out
from shoal.privacy.goalset import GoalSet
from shoal.recipe import Method, Recipe
from shoal.recipe.options import SystematicOptions
from shoal.recode.inside import narrowest_class
from shoal.stages import Tick
from shoal.table.columns import Encoded

METHOD = "systematic"


@dataclass(frozen=True)
class Placed:
    """Where each encoded row goes; -1 for elsewhere.

    Parameters
    ----------
    joins : ndarray of shape (n_rows,), int32
        The published class that it joins.
    labels : ndarray of shape (n_rows,), int32
        Its new class.
    """

    joins: IntArray
    labels: IntArray

    @property
    def held_back(self) -> BoolArray:
        """The rows that go nowhere yet."""
        marks: BoolArray = (self.joins < 0) & (self.labels < 0)
        return marks


def place(encoded: Encoded, frozen: pl.DataFrame | None, recipe: Recipe, progress: Tick) -> Placed:
    """Place the new rows so that those of each class have k people and meet the goals by themselves.

    Parameters
    ----------
    encoded : Encoded
        The new rows.
    frozen : polars.DataFrame or None
        The published classes; None if no row may join one.
    recipe : Recipe
    progress : callable
    """
    nowhere = np.full(encoded.n_rows, -1, np.int32)
    # A goal that compares a class with the whole release compares new classes with the new rows: these remain
    # when the earlier release is subtracted. Which rows join must not change what they are compared with.
    compares = any(goal.compares for goal in recipe.privacy.column_goals)
    joins = nowhere if frozen is None or compares else joined_classes(encoded, frozen, recipe)
    labels = nowhere.copy()
    waiting = joins < 0
    labels[waiting] = _new_classes(encoded.take(waiting), recipe, progress)
    return Placed(joins, labels)


def joined_classes(encoded: Encoded, frozen: pl.DataFrame, recipe: Recipe) -> IntArray:
    """Return the published class that each row joins; -1 where those who would join fail a goal."""
    box = narrowest_class(encoded, frozen)
    inside = box >= 0
    if not inside.any():
        return box
    labels = np.full(encoded.n_rows, -1, np.int32)
    labels[inside] = np.unique(box[inside], return_inverse=True)[1]
    goals = GoalSet.of(encoded, recipe)
    good = np.bincount(labels[inside]) >= recipe.privacy.k if goals is None else goals.judge(labels).good
    enough = np.append(good, False)  # -1 indexes the extra last entry
    return np.where(enough[labels], box, np.int32(-1))


def _new_classes(rows: Encoded, recipe: Recipe, progress: Tick) -> IntArray:
    """Cluster rows into new classes; -1 for rows without which the others meet the goals, or for all."""
    labels = np.full(rows.n_rows, -1, np.int32)
    if rows.n_rows < recipe.privacy.k:
        return labels
    asked = _own_recipe(recipe)
    inside = np.ones(rows.n_rows, dtype=bool)
    try:
        goals = GoalSet.of(rows, asked)
        if goals is not None:
            random = np.random.Generator(np.random.PCG64(recipe.method.seed))
            inside = ~rows_to_leave_out(goals, rows.n_rows - recipe.privacy.k, random)
        part = rows if inside.all() else rows.take(inside)
        labels[inside] = cluster(part, asked, METHODS[METHOD], progress).labels
    except InfeasibleError:
        return np.full(rows.n_rows, -1, np.int32)
    return labels


def _own_recipe(recipe: Recipe) -> Recipe:
    """Return the recipe for new classes: another method, and nothing is left out to lose less."""
    given = recipe.options
    options = given.model_dump(exclude_unset=True) if isinstance(given, SystematicOptions) else {}
    method = Method(name=METHOD, seed=recipe.method.seed, options=options)
    privacy = recipe.privacy.model_copy(update={"max_suppressed": 0.0})
    return recipe.model_copy(update={"method": method, "privacy": privacy})
