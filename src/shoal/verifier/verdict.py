"""The result of a verification: the goals as measured, and the problems by code.

Nothing here ever contains a cell, only column names and numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from shoal.errors import printable

# Every code that a verdict can carry, and its meaning. The reference documentation and the
# tests walk this table: a code that is used but not listed is a programming error.
PROBLEMS: dict[str, str] = {
    "verify.unreadable": "The file exists but is not in the format that its name indicates.",
    "verify.empty": "The file has no rows. A release without rows never holds.",
    "verify.ragged": "Some lines of the file have more or fewer cells than its header.",
    "verify.parts": "A part of the folder is missing or has other columns, or a file is no part of it.",
    "verify.missing_column": "A column that the recipe releases is not in the file.",
    "verify.forbidden_column": "The file has a column that the recipe does not release.",
    "verify.duplicate_column": "Two columns of the file have the same name.",
    "verify.form": "A quasi column has cells that are not in a published form of its kind.",
    "verify.node": "A quasi column has cells that are not nodes of its hierarchy.",
    "verify.grid": "A quasi column has ranges whose ends are not on its grid.",
    "verify.code": "A column has values beyond its top or bottom code.",
    "verify.pseudonym": "A column of pseudonyms has other texts, repeats, or identifiers in clear.",
    "verify.unique": "A kept column is unique on more than half of the rows and not explicitly accepted.",
    "verify.k": "Some rows are in classes smaller than k.",
    "verify.l": "Some classes or groups have fewer than l well-represented sensitive values.",
    "verify.t": "In some classes the sensitive values are further than t from those of the whole file.",
    "verify.alpha": "In some classes a sensitive value has a share above alpha.",
    "verify.beta": "In some classes a sensitive value gains more than beta times its share of the file.",
    "verify.delta": "In some classes a sensitive value's share is delta or more from that in the whole file.",
    "verify.range": "In some classes the sensitive numbers are less than e apart.",
    "verify.k_map": "Some classes match fewer people of the population than k-map asks for.",
    "verify.average_risk": "The average risk of re-identification is above the threshold.",
    "verify.distance": "Sensitive values are not numbers, or not in the order or tree, as a goal needs.",
    "verify.groups": "The two files do not have the same groups, of the same sizes.",
    "verify.fit": "Some rows fit fewer than k originals, or some originals fewer than k rows (NH).",
    "verify.not_verifiable": "A non-homogeneous release (NH) can be verified only against its original.",
    "verify.order": "Shuffled rows are not in the order that the seed gives, and may follow the input.",
    "verify.digest": "The file is not the one that its manifest describes.",
    "verify.signature": "The manifest has no signature, or one that does not belong to the given key.",
    "verify.ledger": "The ledger was changed, or a manifest or a release is not the one that it describes.",
    "verify.manifest": "The manifest has numbers that differ from those of the file.",
    "verify.rows": "The file does not have the number of rows that its maker says it released.",
    "verify.original_rows": "The file has more rows than the original, or leaves out more than is allowed.",
    "verify.original_values": "The file has sensitive or kept values that the original does not have.",
    "verify.original_match": "The rows of the file cannot be matched one to one with rows of the original.",
}


@dataclass(frozen=True)
class Problem:
    """One promise that does not hold: a stable code and a sentence without cells."""

    code: str
    message: str

    def __post_init__(self) -> None:
        if self.code not in PROBLEMS:
            raise AssertionError(f"problem code {self.code} is not listed")
        object.__setattr__(self, "message", printable(self.message))


@dataclass(frozen=True)
class MeasuredGoal:
    """One privacy goal: what was asked and what the file achieves.

    Parameters
    ----------
    type : str
        The goal's name, such as ``"k-anonymity"``.
    column : str, list of str or None
        The sensitive column that it concerns, or those that count jointly; None for k-anonymity.
    asked : int or float
        The threshold in the recipe.
    achieved : int, float or None
        The number of the file's worst class; None when it is not finite.
    holds : bool
        Whether every class of the file meets the threshold.
    variant : str or None
        Which form of the goal: ``"distinct"``, ``"ordered"``, ``"enhanced"`` and so on.
    counts : str
        What was counted: ``"rows"``, or ``"people"`` where there is a subject column.
    """

    type: str
    column: str | list[str] | None
    asked: int | float
    achieved: int | float | None
    holds: bool
    variant: str | None = None
    counts: str = "rows"

    def to_dict(self) -> dict[str, Any]:
        """Return the goal as in JSON: the variant if there is one, what is counted if not rows."""
        fields = asdict(self)
        if self.variant is None:
            del fields["variant"]
        if self.counts == "rows":
            del fields["counts"]
        return fields


@dataclass(frozen=True, repr=False)
class Verdict:
    """What was found in a release.

    Parameters
    ----------
    holds : bool
        True when there is no problem and every goal is met.
    rows, classes : int
        Rows of the file, and distinct combinations of its quasi columns; Anatomy: its groups.
    k : int or None
        Size of the smallest class; 0 when there is none. Anatomy promises no k: None.
        NH: the fewest originals that fit a row, or rows that an original fits.
    goals : tuple of MeasuredGoal
        Every goal of the recipe, as measured.
    problems : tuple of Problem
        What does not hold, in the order in which it was checked.
    has_classes : bool
        False for NH, which counts the originals that fit each row instead.
    k_wildcard : int or None
        The size (in rows or people) of the smallest class including all classes that match it when an
        empty quasi cell may be anything; `k` when none is empty. None without classes, and where there are
        too many people to compare.
    remarks : tuple of str
        What a reader should know about the numbers although nothing is wrong.

    Examples
    --------
    >>> goal = MeasuredGoal("k-anonymity", None, asked=5, achieved=7, holds=True)
    >>> print(Verdict(True, rows=90, classes=12, k=7, goals=(goal,), problems=()))
    The release holds: 90 rows in 12 classes, the smallest of 7.
      k-anonymity: asked 5, achieved 7, holds
    """

    holds: bool
    rows: int
    classes: int
    k: int | None
    goals: tuple[MeasuredGoal, ...]
    problems: tuple[Problem, ...]
    has_classes: bool = True
    k_wildcard: int | None = None
    remarks: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return the verdict as in the JSON of ``shoal verify``."""
        return {
            "holds": self.holds,
            "rows": self.rows,
            "classes": self.classes,
            "k": self.k,
            "k_wildcard": self.k_wildcard,
            "goals": [goal.to_dict() for goal in self.goals],
            "problems": [{"code": p.code, "message": p.message} for p in self.problems],
            "remarks": list(self.remarks),
        }

    def __repr__(self) -> str:
        codes = ", ".join(problem.code for problem in self.problems)
        return (
            f"Verdict(holds={self.holds}, rows={self.rows}, classes={self.classes}, k={self.k}, "
            f"problems=[{codes}])"
        )

    def __str__(self) -> str:
        holds = "holds" if self.holds else "does not hold"
        lines = [f"The release {holds}: {count(self.rows, 'row')} in {self._pieces()}."]
        lines += [f"  {_goal_line(goal)}" for goal in self.goals]
        lines += [f"  {problem.code}: {problem.message}" for problem in self.problems]
        lines += [f"  {remark}" for remark in self.remarks]
        return "\n".join(lines)

    def _pieces(self) -> str:
        if self.k is None:
            return count(self.classes, "group")
        if not self.has_classes:
            boxes = count(self.classes, "box", "boxes")
            return f"{boxes}, at least {self.k} originals for each row and rows for each original"
        compatible = f" ({self.k_wildcard} where an empty cell may be anything)"
        known = self.k_wildcard in (None, self.k)
        pieces = f"{count(self.classes, 'class', 'classes')}, the smallest of {self.k}"
        return pieces if known else pieces + compatible


def _goal_line(goal: MeasuredGoal) -> str:
    names = [goal.column] if isinstance(goal.column, str) else goal.column
    about = f" of {listed(names)}" if names else ""
    form = f" ({goal.variant})" if goal.variant else ""
    people = " people" if goal.counts == "people" and goal.type == "k-anonymity" else ""
    achieved = "no finite number" if goal.achieved is None else shown(goal.achieved)
    holds = "holds" if goal.holds else "does not hold"
    return f"{goal.type}{form}{about}: asked {goal.asked}{people}, achieved {achieved}, {holds}"


def conclude(
    rows: int,
    classes: int,
    k: int | None,
    goals: Sequence[MeasuredGoal],
    problems: Sequence[Problem],
    *,
    has_classes: bool = True,
    k_wildcard: int | None = None,
    remarks: Sequence[str] = (),
) -> Verdict:
    """Combine the findings into a verdict; the release holds only if there is no problem."""
    holds = not problems and all(goal.holds for goal in goals)
    return Verdict(
        holds, rows, classes, k, tuple(goals), tuple(problems), has_classes, k_wildcard, tuple(remarks)
    )


def count(number: int, singular: str, plural: str = "") -> str:
    """Format a number with its noun: ``1 row``, ``2 rows``.

    Examples
    --------
    >>> count(1, "row"), count(0, "row"), count(3, "class", "classes")
    ('1 row', '0 rows', '3 classes')
    >>> count(10_000, "row")
    '10,000 rows'
    """
    return f"{number:,} {singular if number == 1 else plural or singular + 's'}"


def listed(names: Sequence[str]) -> str:
    """Format column names for a message."""
    return ", ".join(f"`{printable(name)}`" for name in names)


def shown(number: int | float) -> str:
    """Format a number for a message: a fraction with six digits.

    Examples
    --------
    >>> shown(3), shown(2 / 3), shown(2.9999999999999996)
    ('3', '0.666667', '3')
    """
    return f"{number:.6g}" if isinstance(number, float) else str(number)
