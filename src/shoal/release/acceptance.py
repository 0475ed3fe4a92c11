"""Compare what was claimed with what the verifier counted."""

from __future__ import annotations

from collections.abc import Sequence
from math import isclose

from shoal.errors import PromiseError
from shoal.recipe import Shape
from shoal.release.parts import Numbers
from shoal.verifier import MeasuredGoal, Verdict
from shoal.verifier.postgres import Inside
from shoal.verifier.verdict import listed


def accept(verdict: Verdict, claimed: Numbers, shape: Shape, title: str = "") -> None:
    """Raise unless the verifier found that every promise holds and counted what was claimed."""
    broken = [f"{problem.code}: {problem.message}" for problem in verdict.problems]
    broken += _miscounted(verdict, claimed, shape)
    if broken or not verdict.holds:
        table = f"{title.capitalize()}: " if title else ""
        raise PromiseError(
            "promise.broken",
            f"{table}The release does not keep its promises and was deleted. {' '.join(broken)}",
            "this is a bug in shoal: please report it with the recipe, not the data",
        )


def accept_inside(found: Inside, claimed: Numbers, shape: Shape) -> None:
    """Raise unless the database counted what was claimed."""
    broken = [f"{problem.code}: {problem.message}" for problem in found.problems]
    counted = [
        ("rows", found.rows, claimed.released),
        (shape.groups, found.classes, claimed.classes),
        ("k", found.k, claimed.k if found.k is not None else None),
    ]
    broken += [
        f"{name} is {number}, not {said} as claimed." for name, number, said in counted if number != said
    ]
    pairs = [pair for pair in zip(found.goals, claimed.goals, strict=True) if pair[0] is not None]
    broken += _differing_goals([goal for goal, _ in pairs if goal], [claim for _, claim in pairs])
    if broken:
        raise PromiseError(
            "promise.broken",
            f"The release does not keep its promises in the database and was undone. {' '.join(broken)}",
            "this is a bug in shoal: please report it with the recipe, not the data",
        )


def agree(one: Verdict, other: Verdict) -> None:
    """Raise unless two verifiers found the same in the same files; not all verifiers make all remarks."""
    names = ("holds", "rows", "classes", "k", "k_wildcard", "problems")
    differing = [name for name in names if getattr(one, name) != getattr(other, name)]
    differing += ["goals"] if not _are_same_goals(one.goals, other.goals) else []
    if differing:
        raise PromiseError(
            "promise.broken",
            f"Two verifiers do not agree about the release, which was deleted: {listed(differing)} differ.",
            "this is a bug in shoal: please report it with the recipe, not the data",
        )


def _are_same_goals(found: Sequence[MeasuredGoal], others: Sequence[MeasuredGoal]) -> bool:
    def asked(goal: MeasuredGoal) -> tuple[object, ...]:
        return goal.type, goal.column, goal.asked, goal.holds, goal.variant, goal.counts

    return [asked(goal) for goal in found] == [asked(goal) for goal in others] and all(
        _are_alike(*pair) for pair in zip(found, others, strict=True)
    )


def _miscounted(verdict: Verdict, claimed: Numbers, shape: Shape) -> list[str]:
    """List the numbers that differ from the claims."""
    # The box of a single row fits more rows than the k neighbours that it was made for.
    is_least = shape is Shape.BOXES
    broken = []
    counted = verdict.k or 0
    if claimed.k is not None and (counted < claimed.k or (counted > claimed.k and not is_least)):
        broken.append(f"k is {verdict.k}, not {claimed.k} as claimed.")
    if verdict.classes != claimed.classes:
        broken.append(f"{shape.groups} is {verdict.classes}, not {claimed.classes} as claimed.")
    return broken + ([] if is_least else _differing_goals(verdict.goals, claimed.goals))


def _differing_goals(counted: Sequence[MeasuredGoal], claimed: Sequence[MeasuredGoal]) -> list[str]:
    """List the goals that differ from the claims."""
    if len(counted) != len(claimed):
        return [f"{len(counted)} goals were measured, not {len(claimed)} as claimed."]
    return [
        f"{claim.type} is {found.achieved}, not {claim.achieved} as claimed."
        for found, claim in zip(counted, claimed, strict=True)
        if not _are_alike(found, claim)
    ]


def _are_alike(counted: MeasuredGoal, claimed: MeasuredGoal) -> bool:
    """Check whether two engines agree, up to the last digits of a float."""
    if counted.achieved is None or claimed.achieved is None:
        return counted.achieved is claimed.achieved
    return isclose(counted.achieved, claimed.achieved, rel_tol=1e-9, abs_tol=1e-9)
