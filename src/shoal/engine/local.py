"""Run a clusterer on this machine."""

from __future__ import annotations

from math import floor

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
        _check_suppression(int(left_out.sum()), encoded.n_rows, recipe.privacy.max_suppressed)
    may_suppress = floor(recipe.privacy.max_suppressed * encoded.n_rows) - int(left_out.sum())
    clusterer = method.make(recipe.privacy.k, recipe.method.seed, options, may_suppress)
    if not left_out.any():
        return clusterer.fit(encoded, progress)
    labels = np.full(encoded.n_rows, -1, np.int32)
    labels[~left_out] = clusterer.fit(encoded.take(~left_out), progress).labels
    return ClusterResult(labels)


def _check_suppression(left_out: int, rows: int, allowed: float) -> None:
    if left_out > allowed * rows:
        raise InfeasibleError(
            "infeasible.suppression",
            f"{left_out} of {rows} rows miss a quasi value, but only a share of {allowed} may be left out.",
            'raise max_suppressed, or set missing = "category" in [privacy]',
        )
