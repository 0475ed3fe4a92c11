"""Gather what a report says beside promises and losses: risk, attacks, utility, the cost of k.

A report must not take much longer than the release itself. What takes long is left out for large tables, and
the page names the command that computes it. Nothing depends on the order of the input.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import polars as pl

from shoal.attacks import ATTACKS
from shoal.bound.lower_bound import recipe_bound
from shoal.cluster.registry import choose
from shoal.errors import RecipeError, ShoalError
from shoal.recipe import Recipe
from shoal.release.parts import Numbers
from shoal.release.risk import released_risk
from shoal.report.findings import CostOfK, Findings, Section
from shoal.risks.report import SUBSET_SIZE
from shoal.table import frames
from shoal.table.columns import Encoded
from shoal.utility.measured import measure_utility
from shoal.workflow.attack import attack
from shoal.workflow.compare import Outcome, outcome_of, variant_of
from shoal.workflow.risk import table_risk

if TYPE_CHECKING:
    import pyarrow as pa

# The most rows for which a part of the report is computed.
KEPT_ROWS = 200_000  # a larger raw table is not kept until the report is made
ATTACKED_ROWS = 50_000
MOST_COLUMNS = 40  # quasi columns whose combinations are looked at
CURVE_ROWS, SLOW_CURVE_ROWS = 20_000, 2_000  # for methods with and without a setting for quick work
BOUNDED_ROWS = 5_000  # for which the curve has bounds of other k too: they take time with the square
_FEW_ROWS = 3_000  # up to which two values of k on each side of the release's own are tried, not one
_KS = (2, 3, 5, 10, 20, 50, 100, 200, 500, 1000)
_BY_POSITION = "row-order"  # depends on the order of the input, which a report must not

Gather = Callable[[Sequence[str]], Findings]


@dataclass(frozen=True, repr=False)  # a repr would show cells
class Made:
    """A table of classes that was released.

    Parameters
    ----------
    recipe : Recipe
        What was asked for.
    frame : polars.DataFrame
        The released rows.
    people : pyarrow.Array or None
        The person of each of them, where there is a subject column.
    numbers : Numbers
        Its guarantees and losses.
    """

    recipe: Recipe
    frame: pl.DataFrame
    people: pa.Array | None
    numbers: Numbers


def gather_later(table: pl.DataFrame, encoded: Encoded, made: Made) -> Gather:
    """Return a function that gathers everything when a report is made, given formulas to compare.

    What needs the raw values of many rows is computed at once, so that nothing keeps them.
    """
    if table.height <= KEPT_ROWS:
        return lambda formulas: _of_few_rows(table, encoded, made, formulas)
    before, n_rows = _risk_before(table, made.recipe, 1), table.height
    return lambda formulas: _of_many_rows(n_rows, before, made, formulas)


def _of_many_rows(n_rows: int, before: Mapping[str, Any], made: Made, formulas: Sequence[str]) -> Findings:
    if formulas:
        message = f"The raw table of {n_rows:,} rows is not kept, so the report cannot compare an analysis."
        raise RecipeError("recipe.not_available", message, f"{_MEASURE} --analysis FORMULA")
    left_out: dict[Section, str] = {
        "subsets": _too_many(n_rows, "which combinations of columns single people out", _RISK),
        "attacks": _too_many(n_rows, "attacks", _ATTACK),
        "utility": _too_many(n_rows, "usefulness", _MEASURE),
        "cost": _too_many(n_rows, "the cost of other values of k", _COMPARE),
    }
    after = released_risk(made.frame, made.recipe, made.people, subset_size=1).to_dict()
    return Findings(risk_before=before, risk_after=after, left_out=left_out)


def _of_few_rows(table: pl.DataFrame, encoded: Encoded, made: Made, formulas: Sequence[str]) -> Findings:
    left_out: dict[Section, str] = {}
    if len(encoded.columns) > MOST_COLUMNS:
        return _of_many_columns(table, encoded, made, formulas)
    attacks, notes = _attacks(table, encoded, made, left_out)
    return Findings(
        risk_before=_risk_before(table, made.recipe, SUBSET_SIZE),
        risk_after=released_risk(made.frame, made.recipe, made.people).to_dict(),
        attacks=attacks,
        attack_notes=notes,
        utility=_utility(table, encoded, made, formulas, left_out),
        costs=_costs(encoded, made, left_out),
        left_out=left_out,
    )


def _of_many_columns(table: pl.DataFrame, encoded: Encoded, made: Made, formulas: Sequence[str]) -> Findings:
    """Gather what does not look at many combinations of columns."""
    wide = f"With {len(encoded.columns)} quasi columns"
    left_out: dict[Section, str] = {
        "attacks": f"{wide}, attacks would take too long here. To make them: {_ATTACK}",
        "cost": f"{wide}, the cost of other values of k would take too long here. To compute it: {_COMPARE}",
    }
    if not formulas:
        left_out["utility"] = f"{wide}, usefulness would take too long here. To compute it: {_MEASURE}"
    return Findings(
        risk_before=_risk_before(table, made.recipe, 1),
        risk_after=released_risk(made.frame, made.recipe, made.people, subset_size=1).to_dict(),
        utility=_utility(table, encoded, made, formulas, left_out) if formulas else None,
        left_out=left_out,
    )


_RISK = "shoal risk RAW.csv --recipe RECIPE.toml"
_ATTACK = "shoal attack RAW.csv RELEASE.csv --recipe RECIPE.toml"
_MEASURE = "shoal measure RAW.csv --recipe RECIPE.toml --released RELEASE.csv"
_COMPARE = "shoal compare RECIPE.toml --k 5,10,20 --chart comparison.html"


def _too_many(n_rows: int, what: str, command: str) -> str:
    return f"With {n_rows:,} rows, {what} would take too long here. To compute it: {command}"


def _risk_before(table: pl.DataFrame, recipe: Recipe, subset_size: int) -> dict[str, Any]:
    return table_risk(table, recipe, subset_size=subset_size).to_dict()


def _attacks(
    table: pl.DataFrame, encoded: Encoded, made: Made, left_out: dict[Section, str]
) -> tuple[list[dict[str, Any]], list[str]]:
    """Attack the release as an outsider would."""
    if table.height > ATTACKED_ROWS:
        left_out["attacks"] = _too_many(table.height, "attacks", _ATTACK)
        return [], []
    known = made.recipe.named("quasi", "sensitive", "keep", "subject")
    columns = {name: frames.series(table, name).gather(encoded.order) for name in known}
    try:
        found = attack(pl.DataFrame(columns), made.frame, made.recipe)
    except ShoalError as error:
        left_out["attacks"] = f"The attacks were not made. {error.message}"
        return [], []
    results = [{**one, "about": ATTACKS[one["attack"]]} for one in found.to_list()]
    return [one for one in results if one["attack"] != _BY_POSITION], list(found.notes)


def _utility(
    table: pl.DataFrame, encoded: Encoded, made: Made, formulas: Sequence[str], left_out: dict[Section, str]
) -> dict[str, Any] | None:
    """Compare the release with the raw table; a wrong formula is an error."""
    if not formulas and not made.frame.height:
        left_out["utility"] = "No row was released."
        return None
    return measure_utility(table, encoded, made.frame, made.recipe, formulas).to_json()


def _costs(encoded: Encoded, made: Made, left_out: dict[Section, str]) -> list[CostOfK]:
    """Return what other values of k would cost, with the same method and as little effort as possible."""
    recipe, n_rows = made.recipe, encoded.n_rows
    method, _ = choose(recipe.method.name, n_rows)
    options = dict(recipe.method.options) if recipe.method.name == method.name else {}
    has_effort = "effort" in method.options.model_fields
    own = made.numbers.loss.gcp
    if own is None:
        left_out["cost"] = "The loss of typical values is not defined, so there is no curve of k."
        return []
    if n_rows > (CURVE_ROWS if has_effort else SLOW_CURVE_ROWS):
        left_out["cost"] = _too_many(n_rows, "the cost of other values of k", _COMPARE)
        return []
    if has_effort:
        options = {name: value for name, value in options.items() if name != "seconds"} | {"effort": "quick"}
    most = n_rows * float(encoded.weights.sum())
    bound = made.numbers.bound
    costs = [CostOfK(recipe.privacy.k, own, None if bound is None else bound.total / most, is_release=True)]
    for k in _other_ks(recipe.privacy.k, n_rows):
        variant = variant_of(recipe, method.name, k, options)
        if not isinstance(variant, Recipe):
            continue
        outcome = outcome_of({variant.label: encoded}, variant)
        if isinstance(outcome, Outcome) and outcome.loss.gcp is not None:
            is_bounded = bound is not None and n_rows <= BOUNDED_ROWS
            least = recipe_bound(encoded, variant, effort="quick") if is_bounded else None
            costs.append(CostOfK(k, outcome.loss.gcp, None if least is None else least.total / most))
    return sorted(costs, key=lambda cost: cost.k)


def _other_ks(k: int, n_rows: int) -> list[int]:
    """Choose values of k around that of the release."""
    on_each_side = 2 if n_rows <= _FEW_ROWS else 1
    below = [other for other in _KS if other < k][-on_each_side:]
    above = [other for other in _KS if k < other <= n_rows // 2][:on_each_side]
    return [*below, *above]
