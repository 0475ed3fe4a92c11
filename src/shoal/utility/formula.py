"""Formulas of an analysis: `outcome ~ predictor + predictor`."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass

from shoal.errors import ShoalError
from shoal.recipe import did_you_mean

_EXAMPLE = 'for example "dead ~ age + bmi"; a name with ~, + or blanks at its ends goes in backticks'
_TOKEN = re.compile(r"`[^`]*`|[~+]|[^~+`]+")


class AnalysisError(ShoalError):
    """An analysis cannot be understood, or cannot be done with this table."""


@dataclass(frozen=True)
class Formula:
    """An outcome and the columns that should explain it."""

    outcome: str
    predictors: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.outcome} ~ {' + '.join(self.predictors)}"


def parse_formula(text: str, columns: Collection[str]) -> Formula:
    """Read a formula whose names are those of released columns.

    Nothing is evaluated: there are no functions, products or powers.

    Examples
    --------
    >>> parse_formula("dead ~ age + `body + mass`", ["dead", "age", "body + mass"])
    Formula(outcome='dead', predictors=('age', 'body + mass'))
    """
    outcome, names = _split(text)
    for name in (outcome, *names):
        if name not in columns:
            raise _unknown(name, columns)
    repeated = {name for name in names if names.count(name) > 1 or name == outcome}
    if repeated:
        listed = ", ".join(f"`{name}`" for name in sorted(repeated))
        raise AnalysisError(
            "analysis.formula", f"The analysis names {listed} twice.", "name each column once"
        )
    return Formula(outcome, tuple(names))


def _split(text: str) -> tuple[str, list[str]]:
    """Return the name before the tilde and those after it."""
    tokens = [token for token in _TOKEN.findall(text) if token.strip()]
    marks, names = tokens[1::2], tokens[::2]
    is_name = all(token not in ("~", "+") for token in names)
    if "".join(_TOKEN.findall(text)) != text or len(tokens) < 3 or len(names) == len(marks) or not is_name:
        raise _misshapen()
    if marks[0] != "~" or set(marks[1:]) - {"+"}:
        raise _misshapen()
    plain = [name[1:-1] if name.startswith("`") else name.strip() for name in names]
    return plain[0], plain[1:]


def _misshapen() -> AnalysisError:
    message = "An analysis should be an outcome, a tilde, and one or more predictors with plus signs between."
    return AnalysisError("analysis.formula", message, _EXAMPLE)


def _unknown(name: str, columns: Collection[str]) -> AnalysisError:
    message = f"The analysis names `{name}`, which is not a released column."
    listed = f"columns: {', '.join(columns)}"
    if any(mark in name for mark in "*:()^|/"):
        listed += "; products, functions and powers are not supported"
    return AnalysisError(
        "analysis.formula", message, " ".join(filter(None, [did_you_mean(name, columns), listed]))
    )
