"""Everything that `shoal measure` reports, as one dictionary."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from shoal.arrays import IntArray
from shoal.bound.lower_bound import recipe_bound
from shoal.bound.result import Bound, Bounding, bound_fields, effort_of
from shoal.errors import DataError, ShoalError
from shoal.measure.distortion import distortion, distortion_ratio, modification_rate
from shoal.measure.labels import Labels
from shoal.measure.released import ReadRelease, loss_of, published_names, read_classes
from shoal.recipe import Recipe, induced_file
from shoal.risks.distribution import risk
from shoal.stages import Progress, stage
from shoal.table.coding import code_ends
from shoal.table.columns import Encoded
from shoal.table.encode import encode
from shoal.table.given import table_of
from shoal.table.induced import with_induced
from shoal.table.orders import with_orders
from shoal.table.read import read_any_release
from shoal.table.readings import Reading, Whd
from shoal.utility.measured import measure_utility
from shoal.verifier import verify_table


def measure_tables(
    recipe: Recipe,
    released: Path | None,
    *,
    analyses: Sequence[str] = (),
    bound: Bounding = True,
    progress: Progress | None = None,
) -> dict[str, Any]:
    """Measure the raw table that the recipe names and, if given, a release of it.

    With `bound`, also return the lower bound of the loss of any release; `analyses` are formulas whose
    results are compared.
    """
    timings: dict[str, float] = {}  # not reported
    with stage(timings, "read", progress):
        table = table_of(None, recipe, code=False)
        recipe = with_orders(recipe, table)
        recipe = with_induced(recipe if released is None else _written_trees(recipe, released), table)
    with stage(timings, "encode", progress):
        encoded = encode(code_ends(table, recipe), recipe)
    numbers: dict[str, Any] = {"raw": _raw_numbers(encoded, recipe.privacy.k)}
    if released is None:
        return numbers
    # Labels are read before the bound is computed, so that invalid labels are reported without delay.
    release = read_classes(encoded, _release_of(encoded, released, recipe), recipe)
    with stage(timings, "utility", progress):
        useful = measure_utility(table, encoded, release.frame, recipe, analyses)
    least = None
    if bound:
        with stage(timings, "bounding", progress) as tick:
            suppressed = encoded.n_rows - release.frame.height
            effort = effort_of(bound)
            holds = _meets_goals(release, recipe)
            least = recipe_bound(
                encoded, recipe, suppressed=suppressed, effort=effort, goals=holds, progress=tick
            )
    with stage(timings, "measure", progress):
        measured = _released_numbers(encoded, release, recipe, least)
        return {**numbers, **measured, "utility": useful.to_json()}


def _written_trees(recipe: Recipe, released: Path) -> Recipe:
    """Return the recipe with the induced hierarchies that are next to a release, if all of them are."""
    written = all(induced_file(released, name).is_file() for name in recipe.induced)
    return recipe.beside(released) if written else recipe


def _raw_numbers(encoded: Encoded, k: int) -> dict[str, Any]:
    sizes = np.bincount(encoded.tuple_of_row)
    return {
        "rows": encoded.n_rows,
        "k": int(sizes.min()),
        "classes": len(sizes),
        "risk": risk(sizes, k).brief(),
    }


def _release_of(encoded: Encoded, path: Path, recipe: Recipe) -> pl.DataFrame:
    """Read a release; refuse one that cannot come from this table."""
    names = [name for quasi in recipe.quasi for name in (quasi, f"{quasi}_low", f"{quasi}_high")]
    frame = read_any_release(path, names, spreadsheet_safe=recipe.output.spreadsheet_safe)
    absent = [name for name in published_names(frame, recipe) if name not in frame.columns]
    if absent or frame.height > encoded.n_rows:
        missing = f"{len(absent)} columns missing"
        message = f"The release {path} was not made from this table: {frame.height} rows, {missing}."
        raise DataError("data.unreadable", message, "give the release that was made with this recipe")
    return frame


def _meets_goals(release: ReadRelease, recipe: Recipe) -> bool:
    """Return whether a release is known to meet the goals for sensitive columns.

    One that misses a goal may lose less than any that meets it. Several views may be released, of which this
    is one, and what other goals compare with may not be there: neither matters.
    """
    goals = recipe.privacy.column_goals
    if not goals:
        return True
    asked = {
        "privacy": recipe.privacy.model_copy(update={"goal": goals}),
        "output": recipe.output.model_copy(update={"views": "whole"}),
    }
    try:
        verdict = verify_table(release.frame.to_arrow(), recipe.model_copy(update=asked))
    except ShoalError:
        return False
    return bool(verdict.goals) and all(goal.holds for goal in verdict.goals)


def _released_numbers(
    encoded: Encoded, release: ReadRelease, recipe: Recipe, least: Bound | None
) -> dict[str, Any]:
    sizes = release.sizes
    lost = loss_of(encoded, release, recipe)
    measures = {} if release.labels is None else _more_measures(encoded, release.labels, release.class_of_row)
    return {
        "k": int(sizes.min()),
        "classes": len(sizes),
        "suppressed": encoded.n_rows - release.frame.height,
        "loss": lost.to_dict(),
        "measures": measures,
        **bound_fields(least, lost.il),
        "risk": risk(sizes, recipe.privacy.k).brief(),
        "read_as": release.read_as,
    }


def _more_measures(encoded: Encoded, published: Labels, labels: IntArray) -> dict[str, float | None]:
    """Compute measures beyond the contract's losses; NCP in its three readings, normalized like GCP."""
    n, weights = encoded.n_rows, encoded.weights
    sizes = np.bincount(labels)
    suppressed = n - len(labels)

    def gcp(reading: Reading) -> float:
        lost = float(sizes @ (published.costs(reading) @ weights))
        return (lost + suppressed * float(weights.sum())) / (n * float(weights.sum()))

    uniform, height = (published.costs(Whd(scheme)) for scheme in ("uniform", "height"))
    return {
        "gcp_leaves": gcp("leaves"),
        "gcp_order": gcp("order"),
        "distortion": distortion(encoded, labels, uniform),
        "distortion_ratio_height": distortion_ratio(encoded, labels, height),
        "modification_rate": modification_rate(encoded, labels, uniform),
    }
