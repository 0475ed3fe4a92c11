"""The privacy goals, one query each, on the classes of the file.

A goal is added as one function that takes the session, the loaded file and what the recipe asks,
and as one line in `MEASURES`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from shoal.errors import RecipeError
from shoal.recipe import Recipe
from shoal.verify.load import Loaded
from shoal.verify.session import Session
from shoal.verify.verdict import Goal, Problem, count


class Finding(NamedTuple):
    """A goal as measured, and the problem where it is not met."""

    goal: Goal
    problem: Problem | None


def build_classes(session: Session, loaded: Loaded, quasi: Sequence[str]) -> tuple[int, int]:
    """Make the table ``classes``: one row for each combination of quasi cells, with its size.

    GROUP BY takes missing cells for equal, so those without a value form classes of their own.
    Returns the number of classes and the smallest size, 0 when there is none.
    """
    columns = ", ".join(loaded.column(name) for name in quasi)
    grouped = f"SELECT {columns}, count(*) AS size FROM {loaded.table} GROUP BY {columns}"
    session.database.execute(f"CREATE TEMP TABLE classes AS {grouped}")
    classes, smallest = session.row("SELECT count(*), coalesce(min(size), 0) FROM classes")
    return int(classes), int(smallest)


def measure(session: Session, loaded: Loaded, recipe: Recipe) -> list[Finding]:
    """Measure every goal of the recipe; `build_classes` comes first."""
    return [MEASURES[asked["type"]](session, loaded, asked) for asked in _asked(recipe)]


def unmeasured(recipe: Recipe) -> list[Goal]:
    """Return the goals of a file whose classes are not known: nothing is achieved."""
    return [Goal(asked["type"], asked["column"], asked["asked"], 0, False) for asked in _asked(recipe)]


def _asked(recipe: Recipe) -> list[Mapping[str, Any]]:
    """List what the recipe asks for, k first. A goal that cannot be measured is never ignored."""
    unknown = [goal for goal in recipe.privacy.goal if goal.type not in MEASURES]
    if unknown:
        message = f"This version of shoal cannot verify {count(len(unknown), 'goal')} of the recipe."
        hint = "take them out of the recipe, or use a later version"
        raise RecipeError("recipe.not_available", message, hint)
    k = {"type": "k-anonymity", "column": None, "asked": recipe.privacy.k}
    return [k, *({**goal.to_dict(), "asked": goal.asked} for goal in recipe.privacy.goal)]


def k_anonymity(session: Session, loaded: Loaded, asked: Mapping[str, Any]) -> Finding:
    """Compare the smallest class with k."""
    k = int(asked["asked"])
    smallest, classes, rows = session.row(
        "SELECT coalesce(min(size), 0), count(*) FILTER (size < ?), coalesce(sum(size) FILTER (size < ?), 0) "
        "FROM classes",
        [k, k],
    )
    goal = Goal("k-anonymity", None, k, int(smallest), bool(smallest >= k))
    if not classes:  # a file without rows has its own problem
        return Finding(goal, None)
    affected = f"{count(int(rows), 'row')} {'is' if rows == 1 else 'are'} in"
    small = f"{count(int(classes), 'class', 'classes')} smaller than k = {k}"
    message = f"{affected} {small}; the smallest class has {count(int(smallest), 'row')}."
    return Finding(goal, Problem("verify.k", message))


MEASURES: dict[str, Callable[[Session, Loaded, Mapping[str, Any]], Finding]] = {
    "k-anonymity": k_anonymity,
}
