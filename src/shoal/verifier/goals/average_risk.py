"""The average risk of re-identification: of a row in a class of s, the risk is 1 / s.

So every class adds 1, and the average over all rows (or people, once in each class) is classes / rows.
"""

from __future__ import annotations

from shoal.recipe.goals import AverageRisk
from shoal.verifier.goals.classes import Source
from shoal.verifier.goals.score import Counting, Finding, stated
from shoal.verifier.verdict import Problem, count


def average_risk(source: Source, goal: AverageRisk) -> Finding:
    """Measure the average over the whole file."""
    classes, size = source.session.row("SELECT count(*), coalesce(sum(size), 0) FROM classes")
    return judge_average(source, goal, int(classes), int(size))


def judge_average(source: Counting, goal: AverageRisk, classes: int, size: int) -> Finding:
    """Compare the average with the threshold; a file without rows has a problem of its own."""
    if not size:
        return Finding(stated(goal, source.counts), None)
    average = classes / size
    if average <= goal.threshold:
        return Finding(stated(goal, source.counts, average, holds=True), None)
    where = f"{count(classes, 'class', 'classes')} of {size} {source.counts}"
    message = f"The average risk of {where} is {average:.4g}, above {goal.threshold}."
    return Finding(stated(goal, source.counts, average), Problem("verify.average_risk", message))
