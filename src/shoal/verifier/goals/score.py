"""From the number of each class to the finding about a goal."""

from __future__ import annotations

from collections.abc import Iterable
from math import inf
from typing import NamedTuple, Protocol

from shoal.recipe.goals import Goal, LDiversity, RiskGoal
from shoal.verifier.goals.classes import Source
from shoal.verifier.goals.rules import Rule, rule_of
from shoal.verifier.verdict import MeasuredGoal, Problem, count, listed, shown


class Finding(NamedTuple):
    """A goal as measured, and the problem if it is not met."""

    goal: MeasuredGoal
    problem: Problem | None


class Counting(Protocol):
    """Whatever classes were counted with: all that is asked is what was counted."""

    @property
    def counts(self) -> str:
        """``"rows"`` or ``"people"``."""
        ...


class Score(NamedTuple):
    """How many classes, with how many rows, have a number, which may be infinite."""

    number: int | float
    classes: int
    rows: int


def scores(source: Source, query: str, parameters: Iterable[object] = ()) -> list[Score]:
    """Run a query that returns `class` and `number`, and count the classes and rows with each number."""
    found = source.session.rows(
        f"SELECT number, count(*), sum(n_rows) FROM ({query}) JOIN classes USING (class) GROUP BY number",
        list(parameters),
    )
    return [Score(number, int(classes), int(rows)) for number, classes, rows in found]


def judge(source: Counting, goal: Goal, found: Iterable[Score]) -> Finding:
    """Compare every class with the bound; a file without classes has a problem of its own."""
    found = list(found)
    if not found:
        return Finding(stated(goal, source.counts), None)
    rule = rule_of(goal)
    if isinstance(goal, LDiversity) and goal.variant != "entropy":  # whole numbers, often returned as doubles
        found = [score._replace(number=int(score.number)) if score.number < inf else score for score in found]
    worst = rule.worst(score.number for score in found)
    failing = [score for score in found if not rule.meets(score.number)]
    achieved = None if worst == inf else worst
    measured = stated(goal, source.counts, achieved, holds=not failing)
    return Finding(measured, _problem(goal, failing, worst, rule) if failing else None)


def stated(
    goal: Goal | RiskGoal, counts: str = "rows", achieved: int | float | None = None, *, holds: bool = False
) -> MeasuredGoal:
    """Return a goal of the recipe as it appears in a verdict."""
    return MeasuredGoal(goal.type, goal.column, goal.asked, achieved, holds, goal.form, counts)


def _problem(goal: Goal, failing: list[Score], worst: float, rule: Rule) -> Problem:
    rows, classes = sum(score.rows for score in failing), sum(score.classes for score in failing)
    where = f"{count(rows, 'row')} {'is' if rows == 1 else 'are'} in {count(classes, 'class', 'classes')}"
    form = f" ({found})" if (found := goal.form) else ""
    number = "no finite number" if worst == inf else shown(worst)
    message = (
        f"{where} without the required {goal.type}{form} of {listed(goal.columns)}, {rule.asked}; "
        f"the worst has {number}."
    )
    return Problem(rule.code, message)
