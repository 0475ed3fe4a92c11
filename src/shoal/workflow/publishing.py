"""Publish what a method found, and measure what was published."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from shoal.arrays import FloatArray
from shoal.measure.loss import Loss, loss
from shoal.measure.published import published_costs
from shoal.measure.readings import tight_costs
from shoal.privacy.goalset import GoalSet
from shoal.recipe import Recipe
from shoal.recipe.goals import COUNTED, Goal, KMap, LDiversity, RiskGoal
from shoal.recode.publish import Published
from shoal.risks.goals import Population, average_risk
from shoal.table import frames
from shoal.table.columns import Encoded
from shoal.table.shuffling import written_order
from shoal.verifier import MeasuredGoal

if TYPE_CHECKING:
    import pyarrow as pa


def achieved_goals(
    encoded: Encoded, published: Published, recipe: Recipe
) -> tuple[int, tuple[MeasuredGoal, ...]]:
    """Return the size of the smallest class, in people, and what is achieved for every further goal."""
    goals = GoalSet.of(encoded, recipe) if published.classes.height else None
    smallest = int(np.bincount(published.labels[published.labels >= 0]).min())
    if not recipe.shape.has_classes or not published.classes.height:
        return smallest, ()
    judged: list[MeasuredGoal] = []
    if goals is not None:
        judgement = goals.judge(published.labels)
        smallest = judgement.people
        for asked, achieved, holds in zip(goals.asked, judgement.achieved, judgement.holds, strict=True):
            judged.append(_measured(asked, _number(achieved, asked), holds, encoded))
    by_column = iter(judged)
    return smallest, tuple(
        _risk_achieved(encoded, published, goal, recipe) if isinstance(goal, RiskGoal) else next(by_column)
        for goal in recipe.privacy.goal
    )


def _risk_achieved(encoded: Encoded, published: Published, goal: RiskGoal, recipe: Recipe) -> MeasuredGoal:
    if isinstance(goal, KMap):
        fewest = int(Population(recipe, goal).matching(published.classes, published.names).min())
        return _measured(goal, fewest, fewest >= goal.k, encoded)
    average = average_risk(published.labels, encoded.person)
    return _measured(goal, average, average <= goal.threshold, encoded)


def _measured(
    asked: Goal | RiskGoal, achieved: int | float | None, holds: bool, encoded: Encoded
) -> MeasuredGoal:
    counts = "rows" if encoded.person is None else "people"
    return MeasuredGoal(asked.type, asked.column, asked.asked, achieved, holds, asked.form, counts)


def _number(achieved: float, asked: Goal) -> int | float | None:
    """Return a number that JSON can represent: whole where values are counted, None for infinity."""
    if not np.isfinite(achieved):
        return None
    return int(achieved) if isinstance(asked, LDiversity) and asked.variant in COUNTED else achieved


def published_loss(encoded: Encoded, published: Published, recipe: Recipe) -> Loss:
    """Measure what was published."""
    return loss_of_costs(encoded, published, class_costs(encoded, published, recipe), recipe)


def loss_of_costs(encoded: Encoded, published: Published, costs: FloatArray | None, recipe: Recipe) -> Loss:
    """Measure what was published, given the cost of each class; without classes, sizes are not defined."""
    lost = loss(encoded, published.labels, costs, recipe.privacy.k)
    return lost if recipe.shape.has_classes else replace(lost, dm=None, c_avg=None, cm=None)


def tight_loss(encoded: Encoded, published: Published, recipe: Recipe) -> Loss:
    """Measure the classes' own values."""
    return loss(encoded, published.labels, tight_costs(encoded, published.labels), recipe.privacy.k)


def class_costs(encoded: Encoded, published: Published, recipe: Recipe) -> FloatArray | None:
    """Return the loss of each class; None for typical values, which have no width."""
    return published_costs(encoded, published.classes) if recipe.output.values == "generalize" else None


def raw_columns(table: pl.DataFrame, recipe: Recipe) -> pa.Table:
    """Return the raw columns, without which boxes of single rows cannot be verified."""
    columns = {name: frames.series(table, name) for name in recipe.named("quasi", "sensitive", "keep")}
    for name in recipe.quasi:
        values = columns[name]
        if isinstance(values.dtype, pl.Datetime):
            # With a zone, DuckDB would show the time in the session's zone.
            columns[name] = values.dt.replace_time_zone(None)
        elif isinstance(values.dtype, pl.Enum):
            columns[name] = values.cast(pl.String)
    return pl.DataFrame(columns).to_arrow()


def released_frame(
    table: pl.DataFrame, encoded: Encoded, published: Published, recipe: Recipe
) -> tuple[pl.DataFrame, pa.Array | None]:
    """Assemble the published columns in canonical order: sorted by what is published, or shuffled after that.

    Columns are built from the recipe alone, so nothing without a role can slip through. Also returns the
    person of each row, where there is a subject column: for the verifier, never to be written.
    """
    inside = published.labels >= 0
    order = encoded.order[published.partner[inside]]
    others = [*recipe.named("sensitive", "keep"), *recipe.pseudonyms]
    # Classes are numbered in the order of their texts, so this sorts by all published columns.
    # Numbers as names: Polars would take a column called "*" or "^a.*$" for a pattern.
    keys = {"class": pl.Series(published.labels[inside])}
    keys |= {str(at): frames.series(table, name).gather(order) for at, name in enumerate(others)}
    people = {} if encoded.person is None else {"person": pl.Series(encoded.person[inside])}
    rows = pl.DataFrame({**keys, **people}).sort(list(keys), nulls_last=True)
    shuffle = written_order(rows.height, recipe)
    rows = rows if shuffle is None else rows[shuffle]
    columns = {name: rows[str(at)] for at, name in enumerate(others)}
    for name in published.classes.columns:
        columns[name] = frames.series(published.classes, name).gather(rows["class"])
    written = [made for name in table.columns for made in published.names.get(name, [name])]
    frame = pl.DataFrame({name: columns[name] for name in written if name in columns})
    return frame, rows["person"].to_arrow() if people else None
