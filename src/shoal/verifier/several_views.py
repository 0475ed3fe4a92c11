"""A release in several views: ``X.1.csv``, ``X.2.csv`` and so on, one manifest for all.

Every view is verified as a table of its own: it has the quasi columns that the recipe gives it, all
sensitive columns and no others; kept columns stand in the first view alone, because a value that few
rows have joins the views as a row number would.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from shoal.errors import DataError
from shoal.recipe import Column, Output, Recipe, Shape
from shoal.verifier.manifest import Claims, Counted, number_problems, parts_digest_problems
from shoal.verifier.reading.load import existing
from shoal.verifier.verdict import MeasuredGoal, Problem, Verdict, conclude

_MORE_IS_BETTER = ("k-anonymity", "l-diversity")


def has_views(recipe: Recipe) -> bool:
    """Return whether a release is written as views."""
    return recipe.shape is Shape.VIEWS


def promised_views(recipe: Recipe) -> list[Recipe]:
    """Return what each view promises, as the recipe of a table of its own."""
    promised = []
    for number, quasi in enumerate(recipe.views):
        columns = {}
        for name, column in recipe.columns.items():
            elsewhere = column.role == "quasi" and name not in quasi
            elsewhere |= column.role == "keep" and number > 0
            columns[name] = Column(role="drop") if elsewhere else column
        kept = ("values", "aggregate", "bounds", "bounds_as", "spreadsheet_safe")
        output = Output(**{key: getattr(recipe.output, key) for key in kept})
        promised.append(recipe.model_copy(update={"columns": columns, "output": output}))
    return promised


def view_files(path: str | Path, number: int) -> list[Path]:
    """Return the files of all views, given the name that they share."""
    named = Path(path)
    files = [named.with_name(f"{named.stem}.{at}{named.suffix}") for at in range(1, number + 1)]
    for at, file in enumerate(files, 1):
        if not file.exists():
            message = f"{file}, which is view {at} of {number}, cannot be read: there is no such file."
            hint = "give the name that the views share: X.csv for X.1.csv, X.2.csv and so on"
            raise DataError("data.unreadable", message, hint)
    return [existing(file) for file in files]


def view_digest_problems(claims: Claims, files: Sequence[Path]) -> list[Problem]:
    """Compare all views with the one manifest."""
    return parts_digest_problems(claims, {f"view {at}": file for at, file in enumerate(files, 1)})


def one_verdict(verdicts: Sequence[Verdict], before: Sequence[Problem], claims: Claims) -> Verdict:
    """Put the verdicts about all views together: rows and classes summed, the worst of all else."""
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
    """List what is remarked about all views, and about single ones with their number."""
    of_all = [r for r in verdicts[0].remarks if all(r in verdict.remarks for verdict in verdicts)]
    single = [
        f"View {at}: {remark}"
        for at, verdict in enumerate(verdicts, 1)
        for remark in verdict.remarks
        if remark not in of_all
    ]
    return of_all + single


def worst_goals(views: Sequence[Sequence[MeasuredGoal]]) -> tuple[MeasuredGoal, ...]:
    """Return each goal as the view that achieves least has it; all views have the same goals."""
    return tuple(_worst(goals) for goals in zip(*views, strict=True))


def _worst(goals: Sequence[MeasuredGoal]) -> MeasuredGoal:
    """Return the first of those that are missed by most or, if none is missed, held with least to spare.

    Where no number says how bad a missed goal is, it is the worst; a goal that is held without one has
    most to spare.
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
