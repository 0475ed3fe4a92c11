"""The utility of a release: dependence between columns, errors of counts, and analyses, before and after."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from math import floor, isfinite, log10
from typing import Any

import polars as pl

from shoal.recipe import Recipe
from shoal.table.columns import Encoded
from shoal.utility.analysis import Analysis, Coefficient, analyse
from shoal.utility.columns import paired_columns
from shoal.utility.dependence import MOST_COLUMNS, Dependence, dependences
from shoal.utility.formula import parse_formula
from shoal.utility.queries import QueryError, query_errors

_DIGITS = 4


@dataclass(frozen=True)
class Utility:
    """What a release is still good for.

    Parameters
    ----------
    dependence : tuple of Dependence
        Of each pair of columns, largest change first.
    queries : tuple of QueryError
        Errors of random counts, by selectivity.
    analyses : tuple of Analysis
        Those that were asked for.
    left_out : tuple of str
        Columns whose dependence was not measured, because there are too many.
    """

    dependence: tuple[Dependence, ...]
    queries: tuple[QueryError, ...]
    analyses: tuple[Analysis, ...] = ()
    left_out: tuple[str, ...] = ()

    @property
    def mean_change(self) -> float | None:
        """The mean over all pairs of columns of the absolute change in dependence; None without pairs."""
        changes = [abs(pair.change) for pair in self.dependence]
        return sum(changes) / len(changes) if changes else None

    def to_json(self) -> dict[str, Any]:
        """Return everything as plain values, with four digits: more would be a digest of the raw table."""
        plain = {
            "dependence": {
                "measure": "cramers_v",
                "mean_change": self.mean_change,
                "pairs": [{**asdict(pair), "change": pair.change} for pair in self.dependence],
                "left_out": list(self.left_out),
            },
            "queries": [asdict(errors) for errors in self.queries],
            "analyses": [_analysis(analysis) for analysis in self.analyses],
        }
        rounded: dict[str, Any] = _rounded(plain)
        return rounded


def measure_utility(
    table: pl.DataFrame,
    encoded: Encoded,
    released: pl.DataFrame,
    recipe: Recipe,
    analyses: Sequence[str] = (),
) -> Utility:
    """Measure the utility of a released table.

    Parameters
    ----------
    table : polars.DataFrame
        The raw table.
    encoded : Encoded
        Its quasi columns.
    released : polars.DataFrame
        The release, from this or another tool, rows in any order.
    analyses : sequence of str
        Formulas such as `"dead ~ age + bmi"`.
    """
    pairs = paired_columns(table, encoded, released, recipe)
    formulas = [parse_formula(text, pairs) for text in analyses]  # before anything takes time
    seed = recipe.method.seed
    return Utility(
        dependence=tuple(dependences(pairs)),
        queries=tuple(query_errors(pairs, seed)),
        analyses=tuple(analyse(formula, pairs, seed) for formula in formulas),
        left_out=tuple(pairs)[MOST_COLUMNS:],
    )


def _analysis(analysis: Analysis) -> dict[str, Any]:
    return {**asdict(analysis), "coefficients": [_coefficient(one) for one in analysis.coefficients]}


def _coefficient(coefficient: Coefficient) -> dict[str, Any]:
    return {**asdict(coefficient), "overlap": coefficient.overlap}


def _rounded(value: Any) -> Any:
    """Round all numbers that are not whole, at any depth."""
    if isinstance(value, dict):
        return {key: _rounded(inner) for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [_rounded(inner) for inner in value]
    if not isinstance(value, float) or not value or not isfinite(value):
        return value
    return round(value, _DIGITS - 1 - floor(log10(abs(value))))
