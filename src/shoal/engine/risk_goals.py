"""Meet goals about the risk of re-identification, which are properties of what is published.

*average-risk* is met by every partition whose classes have 1 / threshold rows. So k is raised, in
proportion to what is lacking, until the classes that are published meet the goal.

*k-map* counts people of a population inside the published boxes. The box of two classes together contains
both boxes, so merging never makes it worse. Each class that matches too few people merges with the class
with which it loses the least, until none is left. Where whole columns are published at one level, classes
cannot be merged one by one, and k is raised instead.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from math import ceil

import numpy as np

from shoal.arrays import FloatArray, IntArray, LongArray
from shoal.cluster.clusterer import ClusterResult
from shoal.cluster.registry import MethodInfo
from shoal.engine.clustering import cluster
from shoal.engine.publishing import published_as
from shoal.errors import InfeasibleError
from shoal.privacy.goalset import GoalSet
from shoal.privacy.repair import shared_people
from shoal.recipe import Recipe
from shoal.recipe.goals import AverageRisk, KMap
from shoal.risks.goals import Population, average_risk
from shoal.stages import Tick
from shoal.table.columns import Encoded, class_extremes, numbered


def cluster_within_risk(
    encoded: Encoded, recipe: Recipe, method: MethodInfo, progress: Tick | None = None
) -> ClusterResult:
    """Label all rows so that the goals about risk are met, besides all others."""
    averages = [goal.threshold for goal in recipe.privacy.risk_goals if isinstance(goal, AverageRisk)]
    maps = [goal for goal in recipe.privacy.risk_goals if isinstance(goal, KMap)]
    populations = [(goal.k, Population(recipe, goal)) for goal in maps]
    n_people = encoded.n_rows if encoded.person is None else len(np.unique(encoded.person))
    threshold = min(averages, default=1.0)
    _refuse_impossible(threshold, n_people)
    k = recipe.privacy.k
    while True:
        found = cluster(encoded, _with_k(recipe, k), method, progress)
        for wanted, population in populations:
            found = _mapped(encoded, found, recipe, wanted, population)
        average = average_risk(published_as(encoded, found, recipe).labels, encoded.person)
        is_short = found.levels is not None and _is_short(encoded, found, recipe, populations)
        if average <= threshold and not is_short:
            return _remarked(found, recipe.privacy.k, k)
        if k >= n_people:
            raise _too_few_matches(max((wanted for wanted, _ in populations), default=0))
        needed = max(k + 1, ceil(k * Fraction(average) / Fraction(threshold)), 2 * k if is_short else 0)
        k = min(needed, n_people)


def _refuse_impossible(threshold: float, n_people: int) -> None:
    """Refuse an average that even one class of all people exceeds."""
    if 1 / n_people > threshold:
        message = f"The average risk should be at most {threshold}, but one class of all has 1/{n_people}."
        raise InfeasibleError("infeasible.goal", message, "raise the threshold, or add people")


def _with_k(recipe: Recipe, k: int) -> Recipe:
    return recipe.model_copy(update={"privacy": recipe.privacy.model_copy(update={"k": k})})


def _remarked(found: ClusterResult, asked: int, k: int) -> ClusterResult:
    if k == asked:
        return found
    return replace(
        found, remarks=(*found.remarks, f"k was raised from {asked} to {k} to meet a goal about risk")
    )


def _is_short(
    encoded: Encoded, found: ClusterResult, recipe: Recipe, populations: list[tuple[int, Population]]
) -> bool:
    """Return whether a class of whole columns at one level matches too few people."""
    published = published_as(encoded, found, recipe)
    return any(
        int(population.matching(published.classes, published.names).min()) < wanted
        for wanted, population in populations
    )


def _mapped(
    encoded: Encoded, found: ClusterResult, recipe: Recipe, wanted: int, population: Population
) -> ClusterResult:
    """Merge classes until each matches as many people as wanted."""
    if found.levels is not None:
        return found
    mergers, labels = 0, found.labels
    while True:
        published = published_as(encoded, replace(found, labels=labels), recipe)
        failing = np.flatnonzero(population.matching(published.classes, published.names) < wanted)
        if not len(failing):
            break
        if published.classes.height == 1:
            raise _too_few_matches(wanted)
        labels, merged = _merged(encoded, published.labels, failing)
        mergers += merged
    if not mergers:
        return found
    goals = GoalSet.of(encoded, recipe)
    if goals is not None and not goals.judge(labels).good.all():
        raise shared_people()  # classes that share people may be worse together
    remark = f"{mergers} mergers gave every class {wanted} matching people of the population"
    return replace(found, labels=labels, remarks=(*found.remarks, remark))


def _too_few_matches(wanted: int) -> InfeasibleError:
    message = f"k-map asks for {wanted} matching people, but even one class of all rows matches fewer."
    return InfeasibleError("infeasible.goal", message, "lower its k, or use the population of these rows")


def _merged(encoded: Encoded, labels: IntArray, failing: LongArray) -> tuple[IntArray, int]:
    """Merge each failing class with the one that adds the least loss, each class at most once."""
    sizes = np.bincount(labels[labels >= 0])
    boxes = [class_extremes(column, labels, len(sizes)) for column in encoded.columns]
    losses = sizes * _costs(encoded, boxes)
    target, is_free = np.arange(len(sizes)), np.ones(len(sizes), dtype=bool)
    mergers = 0
    for number in failing.tolist():
        if not is_free[number] or is_free.sum() < 2:
            continue
        united = [(np.minimum(low, low[number]), np.maximum(high, high[number])) for low, high in boxes]
        added = (sizes + sizes[number]) * _costs(encoded, united) - losses - losses[number]
        added[~is_free] = np.inf
        added[number] = np.inf
        partner = int(np.argmin(added))
        target[max(number, partner)] = min(number, partner)
        is_free[[number, partner]] = False
        mergers += 1
    merged = np.where(labels >= 0, target[labels], -1)
    return numbered(merged), mergers


def _costs(encoded: Encoded, boxes: list[tuple[IntArray, IntArray]]) -> FloatArray:
    """Return the loss of a row in each box."""
    pairs = zip(encoded.columns, boxes, strict=True)
    costs: FloatArray = np.sum(
        [column.weight * column.cost(low, high) for column, (low, high) in pairs], axis=0
    )
    return costs
