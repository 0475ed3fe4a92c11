"""Run a clusterer on this machine."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from shoal.cluster.clusterer import ClusterResult, Progress
from shoal.cluster.registry import MethodInfo
from shoal.errors import InfeasibleError
from shoal.recipe import Recipe
from shoal.table.columns import Encoded


def run(
    encoded: Encoded, recipe: Recipe, method: MethodInfo, progress: Progress | None = None
) -> ClusterResult:
    """Label all rows; rows that must be left out get -1, within `max_suppressed`."""
    options = method.options.model_validate(recipe.method.options)
    left_out = np.zeros(encoded.n_rows, dtype=bool)
    if recipe.privacy.missing == "suppress":
        left_out = encoded.missing_rows()
    allowed = recipe.privacy.may_suppress(encoded.n_rows)
    n_left_out = int(left_out.sum())
    if n_left_out > allowed:
        raise _too_many_missing(n_left_out, encoded.n_rows, recipe.privacy.max_suppressed)
    clusterer = method.make(recipe.privacy.k, recipe.method.seed, options, allowed - n_left_out)
    if not left_out.any():
        return clusterer.fit(encoded, progress)
    found = clusterer.fit(encoded.take(~left_out), progress)
    labels = np.full(encoded.n_rows, -1, np.int32)
    labels[~left_out] = found.labels
    return replace(found, labels=labels)


def _too_many_missing(left_out: int, rows: int, share: float) -> InfeasibleError:
    return InfeasibleError(
        "infeasible.suppression",
        f"{left_out} of {rows} rows miss a quasi value, but only a share of {share} may be left out.",
        'raise max_suppressed, or set missing = "category" in [privacy]',
    )
