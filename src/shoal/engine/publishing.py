"""Turn what a clusterer found into published classes that keep the goals."""

from __future__ import annotations

from shoal.cluster.clusterer import ClusterResult
from shoal.engine.hiding import hide_cells
from shoal.privacy.goalset import GoalSet
from shoal.privacy.repair import repair
from shoal.recipe import Recipe, Shape
from shoal.recode.publish import Published, publish, publish_ring
from shoal.table.columns import Encoded


def published_as(encoded: Encoded, found: ClusterResult, recipe: Recipe) -> Published:
    """Publish what a method found: classes, whole columns at one level, or a box for each row."""
    if recipe.shape is Shape.BOXES:
        return publish_ring(encoded, found.labels, recipe, found.ring or recipe.privacy.k)
    if recipe.privacy.suppress_cells:
        hiding = hide_cells(encoded, found.labels, recipe, found.levels)
        published = publish(encoded, hiding.labels, recipe, found.levels, hiding.hidden)
    else:
        published = publish(encoded, found.labels, recipe, found.levels)
    goals = GoalSet.of(encoded, recipe)
    # Classes with identical published values are merged, which can break a goal only where they share people.
    while goals is not None and goals.counts_people and not goals.judge(published.labels).good.all():
        repaired = repair(encoded, published.labels, goals, may_suppress=0)
        published = publish(
            encoded, repaired.labels, recipe
        )  # at their own extremes: levels may not cover them
    return published
