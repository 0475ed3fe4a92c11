"""From the number of each class to the finding about a goal."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from math import inf
from typing import NamedTuple, Protocol

from shoal.recipe.goals import Goal, RiskGoal
from shoal.verifier.goals.classes import Source
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


@dataclass(frozen=True)
class Rule:
    """What a goal requires of every class.

    Parameters
    ----------
    code : str
        The problem when a class does not meet it.
    asked : str
        The bound in words: ``at least 3``.
    sign : str
        How a number that will do compares with the limit: ``>=``, ``<=`` or ``<``.
    limit : float
        The bound, with what is allowed for rounding.
    """

    code: str
    asked: str
    sign: str
    limit: float

    def meets(self, number: int | float) -> bool:
        """Return whether a number meets the bound."""
        return bool(_COMPARED[self.sign](number, self.limit))

    @property
    def worst(self) -> Callable[[Iterable[int | float]], int | float]:
        """`min` where a high number is good, `max` where a low one is."""
        return min if self.sign == ">=" else max


_COMPARED = {">=": operator.ge, "<=": operator.le, "<": operator.lt}


def at_least(code: str, bound: float, *, slack: float = 0, besides: str = "") -> Rule:
    """Require a number that is at least a bound, up to `slack`."""
    return Rule(code, f"at least {bound}{besides}", ">=", bound - slack)


def at_most(code: str, bound: float) -> Rule:
    """Require a number that is at most a bound."""
    return Rule(code, f"at most {bound}", "<=", bound)


def below(code: str, bound: float) -> Rule:
    """Require a number below a bound."""
    return Rule(code, f"less than {bound}", "<", bound)


def scores(source: Source, query: str, parameters: Iterable[object] = ()) -> list[Score]:
    """Run a query that returns `class` and `number`, and count the classes and rows with each number."""
    found = source.session.rows(
        f"SELECT number, count(*), sum(n_rows) FROM ({query}) JOIN classes USING (class) GROUP BY number",
        list(parameters),
    )
    return [Score(number, int(classes), int(rows)) for number, classes, rows in found]


def judge(source: Counting, goal: Goal, found: Iterable[Score], rule: Rule) -> Finding:
    """Compare every class with the bound; a file without classes has a problem of its own."""
    found = list(found)
    if not found:
        return Finding(stated(goal, source.counts), None)
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
