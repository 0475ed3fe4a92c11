"""What each goal requires of every class, the same for every engine that verifies it."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from shoal.recipe.goals import AlphaK, BetaLikeness, DeltaDisclosure, Goal, LDiversity, TCloseness, ValueRange

_ROUNDED_LOGARITHMS = 1e-9  # absolute: of the entropy
_ROUNDED_NUMBERS = 1e-12  # relative: of numbers with very many digits


def rule_of(goal: Goal) -> Rule:
    """Return what a goal requires of every class."""
    if isinstance(goal, LDiversity):
        besides = f" with c = {goal.c}" if goal.variant == "recursive" else ""
        slack = _ROUNDED_LOGARITHMS if goal.variant == "entropy" else 0
        return _at_least("verify.l", goal.asked, slack=slack, besides=besides)
    if isinstance(goal, TCloseness):
        return _at_most("verify.t", goal.t)
    if isinstance(goal, AlphaK):
        return _at_most("verify.alpha", goal.alpha)
    if isinstance(goal, BetaLikeness):
        return _at_most("verify.beta", goal.beta)
    if isinstance(goal, ValueRange):
        return _at_least("verify.range", goal.e, slack=goal.e * _ROUNDED_NUMBERS)
    if isinstance(goal, DeltaDisclosure):
        return _below("verify.delta", goal.delta)
    raise TypeError(f"no rule for a goal of type {type(goal).__name__}")  # never passed over


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


def _at_least(code: str, bound: float, *, slack: float = 0, besides: str = "") -> Rule:
    """Require a number that is at least a bound, up to `slack`."""
    return Rule(code, f"at least {bound}{besides}", ">=", bound - slack)


def _at_most(code: str, bound: float) -> Rule:
    """Require a number that is at most a bound."""
    return Rule(code, f"at most {bound}", "<=", bound)


def _below(code: str, bound: float) -> Rule:
    """Require a number below a bound."""
    return Rule(code, f"less than {bound}", "<", bound)
