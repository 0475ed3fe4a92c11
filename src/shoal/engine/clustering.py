"""Run a clusterer on an encoded table, or on a cell of one, so that every class meets every goal."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from shoal.cluster.clusterer import Clusterer, ClusterResult
from shoal.cluster.registry import MethodInfo, chosen_options
from shoal.errors import InfeasibleError
from shoal.privacy.feasible import rows_to_leave_out
from shoal.privacy.goalset import GoalSet
from shoal.privacy.repair import Mended, repair, told_loss
from shoal.recipe import Recipe
from shoal.stages import Tick
from shoal.table.columns import Encoded


def cluster(
    encoded: Encoded, recipe: Recipe, method: MethodInfo, progress: Tick | None = None
) -> ClusterResult:
    """Label all rows so that every class meets every goal; rows left out get -1, within `max_suppressed`."""
    asked = chosen_options(recipe.method.name, recipe.method.options, encoded.table_rows or encoded.n_rows)
    options = method.options.model_validate(asked)
    allowed = recipe.privacy.may_suppress(encoded.n_rows)
    inside = rows_with_values(encoded, recipe, allowed)
    part = encoded if inside.all() else encoded.take(inside)
    goals = GoalSet.of(part, recipe) if method.shape.has_classes else None
    if goals is not None:
        random = np.random.Generator(np.random.PCG64(recipe.method.seed))
        frequent = rows_to_leave_out(goals, allowed - int((~inside).sum()), random)
        if frequent.any():
            inside[np.flatnonzero(inside)[frequent]] = False
            part = encoded.take(inside)
            goals = GoalSet.of(part, recipe)
    may_suppress = allowed - int((~inside).sum())
    make = partial(method.make, recipe.privacy.k, recipe.method.seed, options)
    found = (
        make(may_suppress).fit(part, progress)
        if goals is None
        else _meeting(goals, part, make, may_suppress, method.clusterer.keeps_goals, progress)
    )
    if inside.all():
        return found
    labels = np.full(encoded.n_rows, -1, np.int32)
    labels[inside] = found.labels
    return replace(found, labels=labels)


def _meeting(
    goals: GoalSet,
    part: Encoded,
    make: Callable[..., Clusterer[Any]],
    may_suppress: int,
    keeps_goals: bool,
    progress: Tick | None,
) -> ClusterResult:
    """Cluster so that every class meets every goal, in two ways, and take the one that loses less.

    *Building*: the method keeps the goals as far as it can. *Mending*: it minds k rows alone. Either way
    the classes that fail in the end are repaired. A method that keeps all goals needs no second way,
    unless rows may be left out, which mending alone does.
    """
    ways: dict[str, tuple[ClusterResult, Mended]] = {}
    refused: InfeasibleError | None = None
    for at, (name, asked) in enumerate((("building", goals.kernel), ("mending", None))):
        tick = None if progress is None else _half(progress, at)
        found = _released_enough(goals, part, partial(make, goals=asked), may_suppress, tick)
        if found.levels is not None:
            return found  # whole columns are published at one level, which no repair may change
        if keeps_goals and may_suppress == 0 and goals.judge(found.labels).good.all():
            return found
        left = may_suppress - int((found.labels < 0).sum())
        try:
            ways[name] = found, repair(part, found.labels, goals, left)
        except InfeasibleError as error:  # where classes share people, the other way may still do
            refused = error
    if not ways:
        assert refused is not None  # both ways were refused
        raise refused
    losses = {name: mended.loss for name, (_, mended) in ways.items()}
    name = min(losses, key=losses.__getitem__)
    found, mended = ways[name]
    told = ", ".join(f"{way} {told_loss(loss)}" for way, loss in losses.items())
    remark = f"goals kept by {name}: Total IL by {told}"
    return replace(found, labels=mended.labels, remarks=(*found.remarks, remark, *mended.remarks))


def _released_enough(
    goals: GoalSet,
    part: Encoded,
    make: Callable[..., Clusterer[Any]],
    may_suppress: int,
    progress: Tick | None,
) -> ClusterResult:
    """Run a method; once more without leaving rows out, where no partition of the others meets the goals."""
    goals.set_released(np.ones(part.n_rows, dtype=bool))
    found = make(may_suppress).fit(part, progress)
    if (found.labels >= 0).all() or goals.could_hold(found.labels >= 0):
        return found
    goals.set_released(np.ones(part.n_rows, dtype=bool))
    return make(0).fit(part, progress)


def _half(progress: Tick, done: int) -> Tick:
    """Let one of two runs fill its half of the bar."""
    return lambda share, told="": progress((done + share) / 2, told)


def rows_with_values(encoded: Encoded, recipe: Recipe, allowed: int) -> npt.NDArray[np.bool_]:
    """Mark the rows that can be released: where missing quasi values are left out, those that have all."""
    if recipe.privacy.missing != "suppress":
        return np.ones(encoded.n_rows, dtype=bool)
    missing = encoded.missing_rows()
    if int(missing.sum()) > allowed:
        raise _too_many_missing(int(missing.sum()), encoded.n_rows, recipe.privacy.max_suppressed)
    inside: npt.NDArray[np.bool_] = ~missing
    return inside


def _too_many_missing(left_out: int, rows: int, share: float) -> InfeasibleError:
    return InfeasibleError(
        "infeasible.suppression",
        f"{left_out} of {rows} rows miss a quasi value, but only a share of {share} may be left out.",
        'raise max_suppressed, or set missing = "category" in [privacy]',
    )
