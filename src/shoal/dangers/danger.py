"""A danger: something legal that reveals more than k promises, with its numbers.

Messages end up in manifests and logs. They contain column names and numbers only. A number about raw
values is not shown if it, or the number of rows that it leaves, is below `SMALLEST`.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from shoal.errors import (
    DominatedClassWarning,
    EarlierReleaseWarning,
    Fault,
    PrivacyWarning,
    RecipeError,
    RecoverableColumnWarning,
    RepeatedIdentifierWarning,
    SensitiveUnprotectedWarning,
    UniqueColumnWarning,
)
from shoal.recipe import Recipe
from shoal.wording import accept_setting

SMALLEST = 10
MIN_ROWS = 20  # in smaller tables nearly every value is rare and nearly every rule holds by chance
NOTABLE = 0.1  # share of the rows above which a danger is reported
MOST = 0.5  # share of the rows above which a sensitive column is refused too

# Every danger and its meaning. The reference documentation and the tests walk this table. The part after
# the dot is the name that `accept` takes; `earlier` concerns a folder, not a column.
DANGERS: dict[str, str] = {
    "danger.unique": "A kept or sensitive column has values that only one row (or one person) has.",
    "danger.recoverable": "Generalized quasi values can be inferred from a column released unchanged.",
    "danger.duplicate": "A sensitive column duplicates a quasi column.",
    "danger.repeated": "An identifier repeats and no column has the role subject, so k counts rows.",
    "danger.dominated": "In some classes one person has more than half of the rows.",
    "danger.alike": "In some classes everyone has the same sensitive value.",
    "danger.earlier": "Other releases of the same columns are in the folder and were not checked.",
}
# Dangers that are warned of, the first two where they are not refused.
_WARNINGS: dict[str, type[PrivacyWarning]] = {
    "danger.unique": UniqueColumnWarning,
    "danger.recoverable": RecoverableColumnWarning,
    "danger.repeated": RepeatedIdentifierWarning,
    "danger.dominated": DominatedClassWarning,
    "danger.alike": SensitiveUnprotectedWarning,
    "danger.earlier": EarlierReleaseWarning,
}


@dataclass(frozen=True)
class Danger:
    """One danger.

    Parameters
    ----------
    code : str
        One of `DANGERS`.
    columns : tuple of str
        The columns it concerns.
    message : str
        A sentence with column names and numbers, no values.
    numbers : mapping of str to int, float or None
        The same numbers; None where one is too small to be shown.
    accepted : bool
        Whether the recipe accepts it: then it is neither refused nor warned of, and listed as accepted.
    reason : str or None
        Why, if the recipe says so.
    refused_as : str
        The code of the error if it is refused; empty if it is only warned of.
    remedy : str
        For the error: what can be done instead of accepting it.
    """

    code: str
    columns: tuple[str, ...]
    message: str
    numbers: Mapping[str, int | float | None] = field(default_factory=dict)
    accepted: bool = False
    reason: str | None = None
    refused_as: str = ""
    remedy: str = ""

    def __post_init__(self) -> None:
        if self.code not in DANGERS:
            raise AssertionError(f"danger code {self.code} is not listed")

    def to_dict(self) -> dict[str, Any]:
        """Return the danger as it appears in JSON and in the manifest."""
        return {
            "code": self.code,
            "columns": list(self.columns),
            "message": self.message,
            "accepted": self.accepted,
            **({"reason": self.reason} if self.accepted else {}),
        }

    @property
    def name(self) -> str:
        """The name that `accept` takes."""
        return self.code.removeprefix("danger.")

    @property
    def accepted_on(self) -> tuple[str, ...]:
        """The columns released unchanged, on which it is accepted: all but the one revealed."""
        return self.columns if len(self.columns) == 1 else self.columns[:-1]


def acceptance(recipe: Recipe, name: str, *columns: str) -> dict[str, Any]:
    """Return whether the recipe accepts the danger of this name for all of the columns, and why."""
    reasons = [recipe.columns[column].accepted.get(name) for column in columns]
    if any(reason is None for reason in reasons):
        return {"accepted": False}
    given = "; ".join(dict.fromkeys(filter(None, reasons)))
    return {"accepted": True, "reason": given or None}


def is_refused(number: int, rows: int, recipe: Recipe, *columns: str) -> bool:
    """Return whether columns that single out, or reveal, so many of some rows must be accepted by name.

    A kept column can be dropped. A sensitive one is what the release is made for: it is refused only if most
    rows are concerned.
    """
    return number > MOST * rows or any(recipe.columns[name].role == "keep" for name in columns)


def warn_of(dangers: Iterable[Danger]) -> None:
    """Warn of every danger that has not been accepted and is not refused."""
    for danger in dangers:
        if not danger.accepted and not danger.refused_as:
            warnings.warn(danger.message, _WARNINGS[danger.code], stacklevel=3)


def refuse(dangers: Iterable[Danger], recipe: Recipe) -> None:
    """Refuse the dangers that the recipe must accept by name and does not, all in one error."""
    found = [danger for danger in dangers if danger.refused_as and not danger.accepted]
    if not found:
        return
    found.sort(
        key=lambda danger: danger.refused_as != "danger.unique_kept"
    )  # the error's own code: the worst
    # By column: everything to accept, so that each hint shows the whole line for the recipe.
    lines: dict[str, dict[str, str]] = {}
    for danger in found:
        for column in danger.accepted_on:
            so_far = lines.setdefault(column, dict(recipe.columns[column].accepted))
            so_far.setdefault(danger.name, "REASON")
    raise RecipeError.from_faults([_fault(danger, lines) for danger in found])


def _fault(danger: Danger, lines: Mapping[str, Mapping[str, str]]) -> Fault:
    settings = " and ".join(accept_setting(column, lines[column]) for column in danger.accepted_on)
    return Fault(danger.refused_as, danger.message, f"{danger.remedy}, or accept this: {settings}")


def shown(number: int, of: int) -> int | None:
    """Return a number about raw values if it may be shown: neither it nor the remainder is small.

    Examples
    --------
    >>> shown(12, 40), shown(0, 40), shown(40, 40), shown(3, 40), shown(38, 40)
    (12, 0, 40, None, None)
    """
    return None if 0 < number < SMALLEST or 0 < of - number < SMALLEST else number


def part(number: int, of: int, nouns: str) -> str:
    """Format a part of all rows or classes without revealing more than `shown` does.

    Examples
    --------
    >>> part(12, 4000, "rows"), part(40, 40, "rows")
    ('12 of 4,000 rows', 'all 40 rows')
    >>> part(3, 40, "rows"), part(38, 40, "rows"), part(3, 5, "classes")
    ('fewer than 10 of 40 rows', 'all but fewer than 10 of 40 rows', 'some of the 5 classes')
    """
    if number == of:
        return f"all {of:,} {nouns}"
    if shown(number, of) is not None:
        return f"{number:,} of {of:,} {nouns}"
    if of < 2 * SMALLEST:
        return f"some of the {of:,} {nouns}"
    few = f"fewer than {SMALLEST} of {of:,} {nouns}"
    return few if number < SMALLEST else f"all but {few}"


def together(of_views: Sequence[Sequence[Danger]]) -> list[Danger]:
    """Combine the dangers of several views; where not all views have one, name those that do."""
    found: dict[tuple[str, tuple[str, ...], str], tuple[Danger, list[int]]] = {}
    for number, dangers in enumerate(of_views, 1):
        for danger in dangers:
            key = (danger.code, danger.columns, danger.message)
            found.setdefault(key, (danger, []))[1].append(number)
    return [_in_views(danger, numbers, len(of_views)) for danger, numbers in found.values()]


def _in_views(danger: Danger, numbers: Sequence[int], views: int) -> Danger:
    if len(numbers) == views:
        return danger
    where = f"View{'s' if len(numbers) > 1 else ''} {', '.join(map(str, numbers))}: "
    return replace(danger, message=where + danger.message)
