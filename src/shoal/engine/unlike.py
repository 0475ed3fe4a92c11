"""Text columns whose values rarely occur in k rows: without a hierarchy they cannot be generalized."""

from __future__ import annotations

import numpy as np

from shoal.table.columns import Encoded, TreeColumn

_NEARLY_ALL = 0.9  # share of the rows whose text fewer than k rows have


def unlike_remarks(encoded: Encoded, k: int) -> tuple[str, ...]:
    """Name the quasi columns without a hierarchy in which hardly any text occurs in k rows.

    No class of k rows can agree in such a column, so it is published as sets or lost. This concerns
    utility, not privacy: hence a remark, not a warning.
    """
    return tuple(
        remark
        for column in encoded.columns
        if isinstance(column, TreeColumn) and column.is_flat and (remark := _remark(column, k))
    )


def _remark(column: TreeColumn, k: int) -> str:
    counts = np.bincount(column.codes, minlength=column.tree.n_leaves)
    counts = counts[np.arange(len(counts)) != column.missing]
    rows = int(counts.sum())
    if int(counts[counts < k].sum()) < _NEARLY_ALL * rows or rows == 0:
        return ""
    different = int(np.count_nonzero(counts))
    return (
        f"Column `{column.name}` has {different:,} different texts in {rows:,} rows and no hierarchy: "
        "it is lost almost everywhere. Drop it, or give it a hierarchy, such as { prefix = 1 }."
    )
