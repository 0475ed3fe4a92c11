"""Range: the largest sensitive number of each class is at least e above its smallest.

Zhang, Koudas, Srivastava, Yu (2007), "Aggregate query answering on anonymized tables": with k distinct
values, (k, e)-anonymity. Numbers are taken as they are written, so that 0.3 is exactly 0.2 above 0.1. A class
without values has 0.
"""

from __future__ import annotations

from shoal.recipe.goals import ValueRange
from shoal.verifier.cells.places import units
from shoal.verifier.goals.classes import Source
from shoal.verifier.goals.counted import count_places, texts
from shoal.verifier.goals.score import Finding, judge, scores, stated
from shoal.verifier.verdict import Problem

_NUMBERS = (
    "SELECT class, coalesce(CAST(max(value) - min(value) AS DOUBLE) / ?, 0) AS number "
    "FROM totals LEFT JOIN counted USING (class) GROUP BY class"
)


def value_range(source: Source, goal: ValueRange) -> Finding:
    """Measure the smallest range."""
    (name,) = goal.columns
    found = units(source.recipe, name, texts(source, name), source.loaded.stored(name))
    if isinstance(found, Problem):
        return Finding(stated(goal, source.counts), found)
    count_places(source, name, found.places)
    return judge(source, goal, scores(source, _NUMBERS, [float(found.per_one)]))
