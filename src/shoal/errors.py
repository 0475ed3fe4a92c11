"""The exception hierarchy, with a stable code for each error, and the privacy warnings.

A message names columns and numbers, never a cell value: errors end up in logs and tickets, which are
read by people who may not see the table.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass

# Every code that shoal can raise, and its meaning. The reference documentation and the tests iterate
# over this table: raising a code that is not listed is a programming error.
CODES: dict[str, str] = {
    "recipe.unreadable": "The recipe file cannot be opened or is not TOML.",
    "recipe.invalid": "A key of the recipe is unknown, missing, or has a value that is not allowed.",
    "recipe.unknown_column": "The recipe names a column that the table does not have.",
    "recipe.unnamed_column": "The table has columns that have no role in the recipe.",
    "recipe.doubly_used_column": "A column has two roles.",
    "recipe.no_quasi": "No column has the role quasi.",
    "recipe.option": "A method option is unknown or its value is not allowed.",
    "recipe.not_available": "The recipe uses a feature that this version of shoal does not support yet.",
    "recipe.key": "The key for pseudonyms is missing, cannot be read, or is too short.",
    "recipe.omitted": "The values of an order or a hierarchy are needed, but a manifest omits them.",
    "data.unreadable": "The input cannot be opened or does not match its file extension.",
    "data.table": "The input holds several sheets or tables and none is chosen, or it lacks the one chosen.",
    "data.too_large": "The input expands to far more data than a file of its size should.",
    "data.empty": "The input has no rows.",
    "data.encoding": "The input is not in UTF-8, UTF-16 with a byte order mark, or the given encoding.",
    "data.ragged": "Some lines of the input have more or fewer cells than the header.",
    "data.duplicate_column": "Two columns of the input have the same name.",
    "data.kind": "A column has cells that do not fit its kind, or a type that cannot be released.",
    "data.infinite": "A numeric column contains infinite values.",
    "data.order": "An ordinal column contains values that its order does not list.",
    "data.labels": "A quasi column of a release has labels that do not match the raw table.",
    "data.too_many_values": "A column has more different values than a dictionary may hold.",
    "data.missing": "A quasi column has missing values, and the recipe treats them as an error.",
    "data.perturb": "A column cannot be perturbed as the recipe asks, because of its kind or its values.",
    "data.repeated": "An identifier that should get pseudonyms repeats, so rows of a person could be linked.",
    "hierarchy.unreadable": "A hierarchy file cannot be opened or parsed.",
    "hierarchy.cycle": "A hierarchy contains a cycle.",
    "hierarchy.roots": "A hierarchy has no root or more than one.",
    "hierarchy.duplicate": "A value occurs twice in a hierarchy.",
    "hierarchy.uncovered": "A column contains values that its hierarchy does not.",
    "hierarchy.build": "A hierarchy cannot be built as the recipe specifies.",
    "hierarchy.edit": "A change to a hierarchy is not possible.",
    "analysis.formula": "The formula of an analysis cannot be read, or names a column that is not released.",
    "analysis.data": "An analysis is not possible with the raw table, or a column has too many categories.",
    "danger.unique_kept": "A kept column is unique on more than half of the rows and not accepted by name.",
    "danger.unique": "A kept or sensitive column is unique on many rows and not accepted by name.",
    "danger.recoverable": "Generalized values can be inferred from columns not accepted by name.",
    "danger.duplicate": "A sensitive column duplicates a quasi column and is not accepted by name.",
    "engine.memory": "A part of the table does not fit into the memory of a worker.",
    "engine.failed": "Spark could not finish: a worker or Spark itself ended, or lacked something.",
    "engine.rows": "Spark lost or doubled rows, or the input changed while it was read.",
    "output.unwritable": "The release cannot be written to its output path.",
    "output.exists": "A file that is not a release of this recipe would be overwritten.",
    "infeasible.rows": "The table has fewer rows than k.",
    "infeasible.suppression": "More rows would have to be suppressed than max_suppressed allows.",
    "infeasible.goal": "A privacy goal cannot be met by any partition of this table.",
    "ledger.broken": "The ledger, or a manifest that it names, was changed or left incomplete.",
    "ledger.changed": "Another release was entered into the ledger while this one was made.",
    "record.unusable": "The private record of a table that is published again cannot be read or used.",
    "key.unusable": "A key cannot be read, is not an Ed25519 key in PEM, or other users can read it.",
    "composition.refused": "The tables published together reveal more than the goals allow.",
    "web.start": "The page cannot be served: its address, its folder or a package is not available.",
    "promise.broken": "The written release breaks a promise; it was deleted.",
}


# Control and formatting characters (such as bidirectional overrides), surrogates, and Unicode line and
# paragraph separators.
_UNPRINTABLE = {"Cc", "Cf", "Cs", "Zl", "Zp"}


def printable(text: str, keep: str = "") -> str:
    r"""Escape characters that a terminal or a log would interpret instead of displaying.

    Column and file names are untrusted: printed unescaped, they could clear the screen, or hide or
    add a line.

    Examples
    --------
    >>> print(printable("a\x1b[31mb"))
    a\x1b[31mb
    """
    if text.isprintable():
        return text
    return "".join(
        ascii(char)[1:-1] if char not in keep and unicodedata.category(char) in _UNPRINTABLE else char
        for char in text
    )


@dataclass(frozen=True)
class Fault:
    """A single problem: a stable code, a message, and a hint on how to fix it."""

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
    """The base class of all errors that shoal raises deliberately.

    Parameters
    ----------
    code : str
        One of `CODES`; stable between versions.
    message : str
        A sentence that names columns and numbers, never a cell value.
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
    """Format several faults as a numbered list, each followed by its hint."""
    lines = [f"{len(faults)} faults:"]
    for number, fault in enumerate(faults, 1):
        lines.append(f"  {number}. {fault.message}")
        if fault.hint:
            lines.append(f"     hint: {fault.hint}")
    return "\n".join(lines)


class RecipeError(ShoalError):
    """The recipe is invalid or does not fit the table."""


class DataError(ShoalError):
    """The table itself cannot be used."""


class TableChoiceError(DataError):
    """The input holds several tables, and one must be chosen.

    Parameters
    ----------
    message, hint : str
        As of every error.
    choices : sequence of str
        The names of the tables.
    """

    def __init__(self, message: str, hint: str, choices: Sequence[str]) -> None:
        super().__init__("data.table", message, hint)
        self.choices = tuple(choices)


class HierarchyError(ShoalError):
    """A hierarchy is invalid or does not cover its column."""


class OutputError(ShoalError):
    """The release cannot be written."""


class EngineError(ShoalError):
    """Spark could not finish the work."""


class InfeasibleError(ShoalError):
    """No partition of this table meets the goals."""

    exit_status = 3


class PromiseError(ShoalError):
    """The written release does not keep a promise, and was deleted."""

    exit_status = 1


class CacheWarning(UserWarning):
    """Compiled kernels cannot be cached, so every run takes longer."""


class PrivacyWarning(UserWarning):
    """Something allowed that the publisher should review."""

    def __init__(self, message: str) -> None:
        super().__init__(printable(message))


class DominatedClassWarning(PrivacyWarning):
    """One person accounts for more than half of the rows of a class."""


class EarlierReleaseWarning(PrivacyWarning):
    """Other releases of the same columns are in the output folder and were not checked with this one."""


class GroupShiftWarning(PrivacyWarning):
    """Each group is protected by one secret shift, which a single known link reveals."""


class IdentityUnprotectedWarning(PrivacyWarning):
    """Quasi values are released unchanged: anyone who knows them can find a person's row."""


class KnownSeedWarning(PrivacyWarning):
    """Random choices that must stay secret were drawn from a seed that can be known or guessed."""


class LinkableReleaseWarning(PrivacyWarning):
    """Releases with the same pseudonyms can be linked row by row."""


class RecoverableColumnWarning(PrivacyWarning):
    """A column that is released unchanged reveals generalized values."""


class PerturbedAgainWarning(PrivacyWarning):
    """A perturbed column is in several releases, whose versions can be compared and averaged."""


class RepeatedIdentifierWarning(PrivacyWarning):
    """An identifier repeats while k counts rows: one person may account for a whole class."""


class SensitiveUnprotectedWarning(PrivacyWarning):
    """A sensitive column is protected by k alone: all rows of a class may share one value."""


class UniqueColumnWarning(PrivacyWarning):
    """A column that is released unchanged has unique values."""
