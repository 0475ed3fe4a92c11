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
from shoal.privacy.repair import Repaired, loss_text, repair
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
        else _cluster_with_goals(goals, part, make, may_suppress, method.clusterer.keeps_goals, progress)
    )
    if inside.all():
        return found
    labels = np.full(encoded.n_rows, -1, np.int32)
    labels[inside] = found.labels
    return replace(found, labels=labels)


def _cluster_with_goals(
    goals: GoalSet,
    part: Encoded,
    make: Callable[..., Clusterer[Any]],
    may_suppress: int,
    keeps_goals: bool,
    progress: Tick | None,
) -> ClusterResult:
    """Cluster with two strategies so that every class meets every goal, and take the one that loses less.

    *Building*: the method keeps the goals as far as it can. *Repairing*: it enforces k alone. With both,
    classes that still fail are repaired. A method that keeps all goals needs no second strategy, unless
    rows may be left out, which only the repair does.
    """
    strategies: dict[str, tuple[ClusterResult, Repaired]] = {}
    refused: InfeasibleError | None = None
    for at, (name, asked) in enumerate((("building", goals.kernel), ("repairing", None))):
        tick = None if progress is None else _half(progress, at)
        found = _fit(goals, part, partial(make, goals=asked), may_suppress, tick)
        if found.levels is not None:
            return found  # whole columns are published at one level, which a repair must not change
        if keeps_goals and may_suppress == 0 and goals.judge(found.labels).good.all():
            return found
        left = may_suppress - int((found.labels < 0).sum())
        try:
            strategies[name] = found, repair(part, found.labels, goals, left)
        except InfeasibleError as error:  # where classes share people, the other strategy may still succeed
            refused = error
    if not strategies:
        assert refused is not None  # both strategies failed
        raise refused
    losses = {name: repaired.loss for name, (_, repaired) in strategies.items()}
    name = min(losses, key=losses.__getitem__)
    found, repaired = strategies[name]
    listed = ", ".join(f"{strategy} {loss_text(loss)}" for strategy, loss in losses.items())
    remark = f"goals kept by {name}: Total IL by {listed}"
    return replace(found, labels=repaired.labels, remarks=(*found.remarks, remark, *repaired.remarks))


def _fit(
    goals: GoalSet,
    part: Encoded,
    make: Callable[..., Clusterer[Any]],
    may_suppress: int,
    progress: Tick | None,
) -> ClusterResult:
    """Run a method; if no partition of the rows it kept meets the goals, run it again and keep all rows."""
    goals.set_released(np.ones(part.n_rows, dtype=bool))
    found = make(may_suppress).fit(part, progress)
    if (found.labels >= 0).all() or goals.could_hold(found.labels >= 0):
        return found
    goals.set_released(np.ones(part.n_rows, dtype=bool))
    return make(0).fit(part, progress)


def _half(progress: Tick, done: int) -> Tick:
    """Report the progress of one of two runs as its half of the whole."""
    return lambda share, text="": progress((done + share) / 2, text)


def rows_with_values(encoded: Encoded, recipe: Recipe, allowed: int) -> npt.NDArray[np.bool_]:
    """Mark the rows that can be released: only complete ones where missing values are suppressed."""
    if recipe.privacy.missing != "suppress":
        return np.ones(encoded.n_rows, dtype=bool)
    missing = encoded.missing_rows()
    if int(missing.sum()) > allowed:
        raise too_many_missing(int(missing.sum()), encoded.n_rows, recipe.privacy.max_suppressed)
    inside: npt.NDArray[np.bool_] = ~missing
    return inside


def too_many_missing(left_out: int, rows: int, share: float) -> InfeasibleError:
    """Build the error for more rows with missing values than may be left out."""
    return InfeasibleError(
        "infeasible.suppression",
        f"{left_out} of {rows} rows lack a quasi value, but only a share of {share} may be left out.",
        'raise max_suppressed, or set missing = "category" in [privacy]',
    )
