"""A release in several views: ``X.1.csv``, ``X.2.csv`` and so on, one manifest for all.

Every view is verified as a separate table: it has the quasi columns that the recipe gives it, all
sensitive columns and no others; kept columns are only in the first view, because a rare value links the
views like a row number.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from shoal.errors import DataError
from shoal.recipe import Column, Output, Recipe, Shape
from shoal.verifier.manifest import Claims, Counted, number_problems, parts_digest_problems
from shoal.verifier.reading.load import existing
from shoal.verifier.verdict import MeasuredGoal, Problem, Verdict, conclude

_MORE_IS_BETTER = ("k-anonymity", "l-diversity", "k-map", "range")


def has_views(recipe: Recipe) -> bool:
    """Return whether a release is written as views."""
    return recipe.shape is Shape.VIEWS


def promised_views(recipe: Recipe) -> list[Recipe]:
    """Return what each view promises, as the recipe of a separate table."""
    promised = []
    for number, quasi in enumerate(recipe.views):
        columns = {}
        for name, column in recipe.columns.items():
            elsewhere = column.role == "quasi" and name not in quasi
            elsewhere |= column.role == "keep" and number > 0
            columns[name] = Column(role="drop") if elsewhere else column
        kept = ("values", "aggregate", "bounds", "bounds_as", "spreadsheet_safe", "order")
        output = Output(**{key: getattr(recipe.output, key) for key in kept})
        promised.append(recipe.model_copy(update={"columns": columns, "output": output}))
    return promised


def view_files(path: str | Path, number: int) -> list[Path]:
    """Return the files of all views, given the name that they share."""
    named = Path(path)
    files = [named.with_name(f"{named.stem}.{at}{named.suffix}") for at in range(1, number + 1)]
    for at, file in enumerate(files, 1):
        if not file.exists():
            message = f"{file}, view {at} of {number}, cannot be read: there is no such file."
            hint = "give the name that the views share: X.csv for X.1.csv, X.2.csv and so on"
            raise DataError("data.unreadable", message, hint)
    return [existing(file) for file in files]


def view_digest_problems(claims: Claims, files: Sequence[Path]) -> list[Problem]:
    """Compare all views with the one manifest."""
    return parts_digest_problems(claims, {f"view {at}": file for at, file in enumerate(files, 1)})


def one_verdict(verdicts: Sequence[Verdict], before: Sequence[Problem], claims: Claims) -> Verdict:
    """Combine the verdicts on all views: rows and classes are summed, for the rest the worst counts."""
    problems = [*before]
    goals = worst_goals([verdict.goals for verdict in verdicts])
    classes = sum(verdict.classes for verdict in verdicts)
    wildcards = [verdict.k_wildcard for verdict in verdicts]
    for at, verdict in enumerate(verdicts, 1):
        problems += [Problem(found.code, f"View {at}: {found.message}") for found in verdict.problems]
    problems += number_problems(claims, Counted(min(verdict.rows for verdict in verdicts), classes, goals))
    return conclude(
        sum(verdict.rows for verdict in verdicts),
        classes,
        min(verdict.k or 0 for verdict in verdicts),
        goals,
        problems,
        k_wildcard=None if None in wildcards else min(number or 0 for number in wildcards),
        remarks=_all_remarks(verdicts),
    )


def _all_remarks(verdicts: Sequence[Verdict]) -> list[str]:
    """List the remarks about all views, and those about single views with their number."""
    of_all = [r for r in verdicts[0].remarks if all(r in verdict.remarks for verdict in verdicts)]
    single = [
        f"View {at}: {remark}"
        for at, verdict in enumerate(verdicts, 1)
        for remark in verdict.remarks
        if remark not in of_all
    ]
    return of_all + single


def worst_goals(views: Sequence[Sequence[MeasuredGoal]]) -> tuple[MeasuredGoal, ...]:
    """Return each goal from the view that achieves least; all views have the same goals."""
    return tuple(_worst(goals) for goals in zip(*views, strict=True))


def _worst(goals: Sequence[MeasuredGoal]) -> MeasuredGoal:
    """Return the goal that is missed by the widest margin or, if none is missed, met by the narrowest.

    A missed goal without a number is the worst; a goal that is met without one has the widest margin.
    Ties go to the first.
    """
    missed = [goal for goal in goals if not goal.holds]
    without = [goal for goal in missed if goal.achieved is None]
    if without:
        return without[0]
    counted = [goal for goal in missed or goals if goal.achieved is not None]
    if not counted:
        return goals[0]
    sign = 1 if goals[0].type in _MORE_IS_BETTER else -1
    return min(counted, key=lambda goal: sign * (goal.achieved or 0))
