"""One tree of exceptions, each with a stable code, and the privacy warnings.

A message names columns and numbers, never a cell's value: errors end up in logs and tickets,
and those are read by people who may not see the table.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass

# Every code that shoal can raise, with what it means. The reference documentation and the tests
# walk this table: a code that is raised but not listed is a programming error.
CODES: dict[str, str] = {
    "recipe.unreadable": "The recipe file cannot be opened or is not TOML.",
    "recipe.invalid": "A key of the recipe is unknown, missing, or has a value that is not allowed.",
    "recipe.unknown_column": "The recipe names a column that the table does not have.",
    "recipe.unnamed_column": "The table has columns to which the recipe gives no role.",
    "recipe.doubly_used_column": "One column is named in two roles.",
    "recipe.no_quasi": "No column has the role quasi.",
    "recipe.option": "A method option is unknown or its value is not allowed.",
    "recipe.not_available": "The recipe asks for something that this version of shoal does not have yet.",
    "recipe.omitted": "Values are needed that a manifest leaves out: an order, or a hierarchy's.",
    "data.unreadable": "The input cannot be opened or is not in the format that its name says.",
    "data.empty": "The input has no rows.",
    "data.encoding": "The input is not UTF-8 (nor UTF-16 with its mark, nor the encoding given).",
    "data.ragged": "Some lines of the input have more or fewer cells than the header.",
    "data.duplicate_column": "Two columns of the input have the same name.",
    "data.kind": "A column has cells that do not fit its kind, or a type that cannot be released.",
    "data.infinite": "A numeric column holds infinities.",
    "data.order": "An ordinal column holds values that its order does not list.",
    "data.labels": "A quasi column of a release has labels that mean nothing for the raw table.",
    "data.missing": "A quasi column has missing values and the recipe says that this is an error.",
    "hierarchy.unreadable": "A hierarchy file cannot be opened or parsed.",
    "hierarchy.cycle": "A hierarchy contains a cycle.",
    "hierarchy.roots": "A hierarchy has no root or several.",
    "hierarchy.duplicate": "A value stands at two places of a hierarchy.",
    "hierarchy.uncovered": "A column holds values that its hierarchy does not have.",
    "hierarchy.build": "A hierarchy cannot be built from what the recipe gives.",
    "danger.unique_kept": "A kept column is unique on more than half of the rows and not accepted by name.",
    "output.unwritable": "The release cannot be written where it should go.",
    "output.exists": "Something else than a release of this recipe is there already, and would be lost.",
    "infeasible.rows": "The table has fewer rows than k.",
    "infeasible.suppression": "More rows would have to be left out than max_suppressed allows.",
    "infeasible.goal": "A privacy goal cannot be met by any partition of this table.",
    "composition.refused": "The tables published together give away more than the goals allow.",
    "promise.broken": "What was written does not keep a promise; it was deleted.",
}


# Control characters, marks that turn the direction of the text around them, halves of characters,
# and line ends that are none to most programs.
_UNPRINTABLE = {"Cc", "Cf", "Cs", "Zl", "Zp"}


def printable(text: str, keep: str = "") -> str:
    r"""Spell out what a terminal or a log would obey instead of showing it.

    Names of columns and files are somebody else's: printed as they are, they could clear the
    screen, hide a line or add one.

    Examples
    --------
    >>> print(printable("a\x1b[31mb"))
    a\x1b[31mb
    """
    if text.isprintable():
        return text
    return "".join(
        ascii(sign)[1:-1] if sign not in keep and unicodedata.category(sign) in _UNPRINTABLE else sign
        for sign in text
    )


@dataclass(frozen=True)
class Fault:
    """One thing that is wrong: a stable code, a sentence, and what to do about it."""

    code: str
    message: str
    hint: str = ""

    def __post_init__(self) -> None:
        if self.code not in CODES:
            raise AssertionError(f"error code {self.code} is not listed")
        object.__setattr__(self, "message", printable(self.message))
        object.__setattr__(self, "hint", printable(self.hint))

    def __str__(self) -> str:
        return f"{self.message}\n\nhint: {self.hint}" if self.hint else self.message


class ShoalError(ValueError):
    """The root of all errors that shoal raises on purpose.

    Parameters
    ----------
    code : str
        One of `CODES`; stable between versions.
    message : str
        A sentence that names columns and numbers, never a cell's value.
    hint : str, optional
        What the user can do.
    """

    exit_status = 2

    def __init__(self, code: str, message: str, hint: str = "") -> None:
        self._set((Fault(code, message, hint),))

    @classmethod
    def from_faults(cls, faults: Sequence[Fault]) -> ShoalError:
        """Build one error that reports all of `faults` at once."""
        error = cls(faults[0].code, faults[0].message, faults[0].hint)
        error._set(tuple(faults))
        return error

    def _set(self, faults: tuple[Fault, ...]) -> None:
        self.faults = faults
        self.code = faults[0].code
        self.message = faults[0].message
        self.hint = faults[0].hint
        text = str(faults[0]) if len(faults) == 1 else _numbered(faults)
        super().__init__(text)


def _numbered(faults: Sequence[Fault]) -> str:
    """List several faults, each with its hint below it."""
    lines = [f"{len(faults)} faults:"]
    for number, fault in enumerate(faults, 1):
        lines.append(f"  {number}. {fault.message}")
        if fault.hint:
            lines.append(f"     hint: {fault.hint}")
    return "\n".join(lines)


class RecipeError(ShoalError):
    """What is asked for is wrong or does not fit the table."""


class DataError(ShoalError):
    """The table itself cannot be used."""


class HierarchyError(ShoalError):
    """A hierarchy is broken or does not cover its column."""


class OutputError(ShoalError):
    """The release cannot be written."""


class InfeasibleError(ShoalError):
    """No partition of this table meets the goals."""

    exit_status = 3


class PromiseError(ShoalError):
    """What was written does not hold what was promised. It has been deleted."""

    exit_status = 1


class CacheWarning(UserWarning):
    """Compiled kernels cannot be kept, so every run takes longer."""


class PrivacyWarning(UserWarning):
    """Something legal that a careful publisher should look at."""

    def __init__(self, message: str) -> None:
        super().__init__(printable(message))


class DominatedClassWarning(PrivacyWarning):
    """One person has more than half of the rows of a class."""


class DuplicateColumnWarning(PrivacyWarning):
    """A sensitive column says the same as a quasi column."""


class EarlierReleaseWarning(PrivacyWarning):
    """Releases of the same columns lie beside this one and were not checked together with it."""


class GroupShiftWarning(PrivacyWarning):
    """Rows hide behind one secret shift for each group: one known link gives it away."""


class IdentityUnprotectedWarning(PrivacyWarning):
    """Quasi values are released as they are: whoever knows them finds a person's row."""


class KnownSeedWarning(PrivacyWarning):
    """What should be secret was drawn from a seed that somebody may know or guess."""


class RecoverableColumnWarning(PrivacyWarning):
    """Generalized values follow from a column that is released as it is."""


class RepeatedIdentifierWarning(PrivacyWarning):
    """An identifier repeats while k counts rows: one person may fill a class."""


class SensitiveUnprotectedWarning(PrivacyWarning):
    """A sensitive column is released with no goal but k: a class may share one value."""


class UniqueColumnWarning(PrivacyWarning):
    """A column that is released as it is has values that nobody else has."""
