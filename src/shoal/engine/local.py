"""The engine of one machine: the table is in memory, and clustered whole or cell by cell."""

from __future__ import annotations

from dataclasses import replace

from shoal.cluster.clusterer import ClusterResult
from shoal.cluster.registry import MethodInfo
from shoal.engine.cells.in_memory import cluster_cells
from shoal.engine.clustering import cluster
from shoal.engine.codes import code_remarks
from shoal.engine.risk_goals import cluster_within_risk
from shoal.engine.unlike import unlike_remarks
from shoal.recipe import Recipe, Shape
from shoal.stages import Tick
from shoal.table.columns import Encoded


def run(encoded: Encoded, recipe: Recipe, method: MethodInfo, progress: Tick | None = None) -> ClusterResult:
    """Label all rows so that every class meets every goal; rows left out get -1, within `max_suppressed`."""
    cell_rows = recipe.engine.cell_rows
    if recipe.privacy.risk_goals:
        found = cluster_within_risk(encoded, recipe, method, progress)
    elif cell_rows is None:
        found = cluster(encoded, recipe, method, progress)
    else:
        found = cluster_cells(encoded, recipe, method, cell_rows, progress)
    if recipe.shape is not Shape.TWO_TABLES:  # these publish values unchanged
        found = replace(found, remarks=(*found.remarks, *code_remarks(encoded, recipe)))
    if recipe.output.values != "generalize":  # each class publishes one value, however mixed it is
        return found
    return replace(found, remarks=(*found.remarks, *unlike_remarks(encoded, recipe.privacy.k)))
