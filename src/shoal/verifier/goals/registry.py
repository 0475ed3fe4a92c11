"""The privacy goals, each measured on the classes of the file.

To add a goal, write one file with one function that takes the source and what the recipe asks for, and add
one line to `MEASURES`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from shoal.errors import RecipeError
from shoal.recipe import Recipe
from shoal.verifier.goals.alpha import alpha_k
from shoal.verifier.goals.average_risk import average_risk
from shoal.verifier.goals.classes import Source, build_cells
from shoal.verifier.goals.disclosure import delta_disclosure
from shoal.verifier.goals.kmap import k_map
from shoal.verifier.goals.ldiversity import l_diversity
from shoal.verifier.goals.likeness import beta_likeness
from shoal.verifier.goals.score import Counting, Finding, Score, stated
from shoal.verifier.goals.tcloseness import t_closeness
from shoal.verifier.goals.value_range import value_range
from shoal.verifier.verdict import MeasuredGoal, Problem, count

MEASURES: dict[str, Callable[[Source, Any], Finding]] = {
    "l-diversity": l_diversity,
    "t-closeness": t_closeness,
    "alpha-k": alpha_k,
    "beta-likeness": beta_likeness,
    "delta-disclosure": delta_disclosure,
    "range": value_range,
    "k-map": k_map,
    "average-risk": average_risk,
}


def measure(source: Source, quasi: Sequence[str]) -> list[Finding]:
    """Measure k and every goal of the recipe; call `build_classes` first."""
    goals = source.recipe.privacy.goal
    refuse_unknown(source.recipe)
    present = {name for goal in goals for name in goal.columns if source.loaded.has_once(name)}
    if present or source.people:
        build_cells(source, quasi, sorted(present))
    findings = [k_anonymity(source)]
    for goal in goals:
        if present.issuperset(goal.columns):
            findings.append(MEASURES[goal.type](source, goal))
        else:  # a missing or duplicate column is already a problem
            findings.append(Finding(stated(goal, source.counts), None))
    return findings


def unmeasured(recipe: Recipe) -> list[MeasuredGoal]:
    """Return the goals of a file whose classes are unknown: nothing is achieved."""
    refuse_unknown(recipe)
    k = MeasuredGoal("k-anonymity", None, recipe.privacy.k, 0, False)
    return [k, *(stated(goal) for goal in recipe.privacy.goal)]


def refuse_unknown(recipe: Recipe) -> None:
    """Refuse goals that cannot be measured, rather than ignore them."""
    unknown = [goal for goal in recipe.privacy.goal if goal.type not in MEASURES]
    if unknown:
        message = f"This version of shoal cannot verify {count(len(unknown), 'goal')} of the recipe."
        hint = "remove them from the recipe, or use a later version"
        raise RecipeError("recipe.not_available", message, hint)


def k_anonymity(source: Source) -> Finding:
    """Compare the smallest class with k."""
    k = source.recipe.privacy.k
    smallest, classes, rows = source.session.row(
        "SELECT coalesce(min(size), 0), count(*) FILTER (size < ?), "
        "coalesce(sum(n_rows) FILTER (size < ?), 0) FROM classes",
        [k, k],
    )
    return judge_k(source, k, int(smallest), Score(k, int(classes), int(rows)))


def judge_k(source: Counting, k: int, smallest: int, below: Score) -> Finding:
    """State k as measured; `below` are the classes that are smaller."""
    goal = MeasuredGoal("k-anonymity", None, k, smallest, smallest >= k, counts=source.counts)
    if not below.classes:  # a file without rows has its own problem
        return Finding(goal, None)
    affected = f"{count(below.rows, 'row')} {'is' if below.rows == 1 else 'are'} in"
    small = f"{count(below.classes, 'class', 'classes')} smaller than k = {k}"
    is_people = source.counts == "people"
    least = count(smallest, "person", "people") if is_people else count(smallest, "row")
    message = f"{affected} {small}; the smallest class has {least}."
    return Finding(goal, Problem("verify.k", message))
