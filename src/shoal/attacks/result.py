"""What an attack achieves, next to what was promised and to what is possible without the release."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from math import sqrt
from typing import Any, Final, Literal

from shoal.errors import printable

Group = Literal["singling out", "linkability", "inference"]
Finding = Literal["broken", "exposed", "none"]

GROUPS: Final[tuple[Group, ...]] = ("singling out", "linkability", "inference")
SHOWN_FROM = 10  # a value is named, and people or rows are counted, only from this number on
ROUNDING = 1e-9  # a success is above a ceiling only by more than this
_Z = 1.959963984540054  # of a normal distribution: 95 % lie within


# Every attack and what it tries. The reference documentation and the tests walk this table.
ATTACKS: dict[str, str] = {
    "classes-worst": "Find the row of the most exposed person, by rows with equal labels.",
    "containment-worst": "Find the row of the most exposed person, by all boxes that contain the person.",
    "kept-worst": "The same, by an attacker who also knows the columns that are released unchanged.",
    "people-worst": "Find the most exposed person in a class by counting people, not rows.",
    "extra-columns": "Link rows to people by columns that the recipe does not release.",
    "row-order": "Link rows to people by their position in the file.",
    "range-ends": "Find people by ends of ranges, which are somebody's exact values (minimality).",
    "classes": "Link each person to a row, by rows with equal labels.",
    "containment": "Link each person to a row, by all boxes that contain the person.",
    "subsets": "Link each person to a row, knowing at most three quasi columns; the best choice of columns.",
    "kept": "Link each person to a row, knowing also the columns that are released unchanged.",
    "intersection": "Link each person to a value, by what this release and earlier ones have in common.",
    "homogeneity": "Learn a person's sensitive value for certain: all rows of the class share it.",
    "skewness": "Guess a person's sensitive value: the most frequent one in the person's class.",
    "candidates": "The same guess, by all boxes that contain the person.",
    "minimality": "Guess the sensitive value of groups that were generalized only because of a goal.",
    "recovery": "Recover generalized values from columns that are released unchanged.",
    "downcoding": "Recover generalized values from all columns of the box and from who lives where.",
}  # fmt: skip


@dataclass(frozen=True)
class Result:
    """The outcome of one attack.

    Parameters
    ----------
    attack : str
        One of `ATTACKS`.
    group : str
        Singling out, linkability or inference, as WP29 distinguishes them.
    success : float
        The share of people (or cells) for which the attack is right, or its chance for one person.
    baseline : float or None
        The same on the raw table.
    guess : float or None
        The same without the release.
    ceiling : float or None
        What the recipe promises; None if it promises nothing about this attack.
    low, high : float
        A 95 % interval of the success; both are the success where it is a count, not an estimate.
    interval : str
        How it was made: ``"wilson"`` or ``"exact"``.
    rows : int
        How many people (or cells) were attacked; fewer than all where a sample was taken.
    finding : str
        ``"broken"``: a promise does not hold. ``"exposed"``: nothing was promised, but people are exposed.
    message : str
        The same in words, without cells, except for values that occur often, and without small counts.
    columns : tuple of str
        Those that the attack is about, if not all.
    details : dict
        More numbers, small counts too.
    """

    attack: str
    group: Group
    success: float
    baseline: float | None
    guess: float | None
    ceiling: float | None
    low: float
    high: float
    interval: Literal["wilson", "exact"]
    rows: int
    finding: Finding
    message: str
    columns: tuple[str, ...] = ()
    details: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.attack not in ATTACKS:
            raise AssertionError(f"attack {self.attack} is not listed")
        object.__setattr__(self, "message", printable(self.message))

    def to_dict(self) -> dict[str, Any]:
        """Return the result as in the JSON of ``shoal attack``."""
        return {
            "attack": self.attack,
            "group": self.group,
            "columns": list(self.columns),
            "success": self.success,
            "baseline": self.baseline,
            "guess": self.guess,
            "ceiling": self.ceiling,
            "low": self.low,
            "high": self.high,
            "interval": self.interval,
            "rows": self.rows,
            "finding": self.finding,
            "message": self.message,
            "details": self.details,
        }


@dataclass(frozen=True)
class Attacks(Sequence[Result]):
    """All attacks on a release.

    Parameters
    ----------
    results : tuple of Result
        In the order of their groups.
    notes : tuple of str
        Attacks that were not possible, and why.
    """

    results: tuple[Result, ...]
    notes: tuple[str, ...] = ()

    @property
    def holds(self) -> bool:
        """Whether no attack broke a promise."""
        return not self.broken

    @property
    def broken(self) -> list[Result]:
        """The attacks that broke a promise."""
        return [result for result in self.results if result.finding == "broken"]

    @property
    def exposed(self) -> list[Result]:
        """The attacks that succeeded where nothing was promised."""
        return [result for result in self.results if result.finding == "exposed"]

    @property
    def verdict(self) -> str:
        """The outcome in one sentence."""
        if self.broken:
            return f"{_attacks(len(self.broken))} broke a promise."
        if self.exposed:
            return f"No promise was broken, but {_attacks(len(self.exposed))} exposed people in other ways."
        return "No promise was broken, and no attack gained more than the recipe allows."

    def to_list(self) -> list[dict[str, Any]]:
        """Return the JSON of ``shoal attack``."""
        return [result.to_dict() for result in self.results]

    def __getitem__(self, at: Any) -> Any:
        return self.results[at]

    def __len__(self) -> int:
        return len(self.results)

    def __iter__(self) -> Iterator[Result]:
        return iter(self.results)

    def __str__(self) -> str:
        found = [*self.broken, *self.exposed]
        worst = {result.attack for result in found}
        # What is said about the most exposed person need not be said again about the average.
        shown = [result for result in found if f"{result.attack}-worst" not in worst]
        lines = [self.verdict, *(f"  {result.message}" for result in shown)]
        return "\n".join([*lines, *(f"  {note}" for note in self.notes)])

    def __repr__(self) -> str:
        found = f"broken={[each.attack for each in self.broken]}, exposed={[e.attack for e in self.exposed]}"
        return f"Attacks({len(self)} attacks, {found})"


def _attacks(number: int) -> str:
    return "1 attack" if number == 1 else f"{number} attacks"


def wilson(successes: float, trials: int) -> tuple[float, float]:
    """Return the 95 % interval of a share (Wilson 1927); an expected number of successes need not be whole.

    Examples
    --------
    >>> low, high = wilson(8, 10)
    >>> round(low, 4), round(high, 4)
    (0.4902, 0.9433)
    >>> wilson(0, 0)
    (0.0, 1.0)
    """
    if trials == 0:
        return 0.0, 1.0
    share, z2 = successes / trials, _Z * _Z
    middle = (share + z2 / (2 * trials)) / (1 + z2 / trials)
    half = _Z / (1 + z2 / trials) * sqrt(share * (1 - share) / trials + z2 / (4 * trials * trials))
    return max(0.0, min(share, middle - half)), min(1.0, max(share, middle + half))


def mean_result(
    attack: str,
    group: Group,
    success: float,
    rows: int,
    *,
    baseline: float | None,
    guess: float | None,
    message: str,
    ceiling: float | None = None,
    finding: Finding = "none",
    columns: Sequence[str] = (),
    details: dict[str, Any] | None = None,
) -> Result:
    """Make the result of an attack on many people: a share with Wilson's interval."""
    low, high = wilson(success * rows, rows)
    return Result(
        attack, group, success, baseline, guess, ceiling, low, high, "wilson", rows, finding, message,
        tuple(columns), details or {},
    )  # fmt: skip


def worst_result(
    attack: str,
    group: Group,
    success: float,
    rows: int,
    *,
    baseline: float | None,
    guess: float | None,
    message: str,
    high: float | None = None,
    ceiling: float | None = None,
    finding: Finding = "none",
    columns: Sequence[str] = (),
    details: dict[str, Any] | None = None,
) -> Result:
    """Make the result for the most exposed person: counted, or with a bound where only a sample was."""
    top = success if high is None else max(success, high)
    return Result(
        attack, group, success, baseline, guess, ceiling, success, top, "exact", rows, finding, message,
        tuple(columns), details or {},
    )  # fmt: skip


def percent(share: float) -> str:
    """Format a share for a message: two digits that matter.

    Examples
    --------
    >>> percent(1), percent(0.1234), percent(0.000123), percent(0)
    ('100 %', '12 %', '0.012 %', '0 %')
    """
    return f"{100 * share:.3g} %" if share > 0.99 else f"{100 * share:.2g} %"


def counted(number: int, plural: str) -> str:
    """Format a number of people or rows; a small one is not shown, because reports repeat the messages.

    Examples
    --------
    >>> counted(2000, "rows"), counted(3, "people"), counted(0, "people")
    ('2,000 rows', 'fewer than 10 people', '0 people')
    """
    return f"fewer than {SHOWN_FROM} {plural}" if 0 < number < SHOWN_FROM else f"{number:,} {plural}"


def listed(names: Sequence[str]) -> str:
    """Format column names for a message."""
    return ", ".join(f"`{name}`" for name in names)
