"""Publish each class as one box: ranges, nodes and sets that cover all its rows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import polars as pl

from shoal.table import forms
from shoal.table.columns import (
    Encoded,
    IntArray,
    QuasiColumn,
    RangeColumn,
    TreeColumn,
    class_extremes,
)


@dataclass(frozen=True, repr=False)  # a repr would show values
class Generalized:
    """The published classes, numbered in the order of their texts.

    Parameters
    ----------
    labels : ndarray of shape (n_rows,), int32
        Published class of each encoded row, -1 for a suppressed one. Clusters that are published
        alike are one class.
    texts : polars.DataFrame
        One row for each class, one column for each quasi column; null where a value is missing.
    """

    labels: IntArray
    texts: pl.DataFrame


def generalize(encoded: Encoded, labels: IntArray) -> Generalized:
    """Turn labels into published classes."""
    n_clusters = int(labels.max(initial=-1)) + 1
    texts = {}
    for column in encoded.columns:
        low, high = class_extremes(column, labels, n_clusters)
        texts[column.name] = _texts(column, labels, low, high)
    classes, class_of_cluster = _merged(pl.DataFrame(texts))
    # A suppressed row keeps -1: it indexes the extra last entry.
    return Generalized(np.append(class_of_cluster, np.int32(-1))[labels], classes)


def _merged(clusters: pl.DataFrame) -> tuple[pl.DataFrame, IntArray]:
    """Merge clusters that are published alike and number them in the order of their texts.

    Returns the classes and the class of each cluster.
    """
    # Numbers for names: Polars would take a column called "*" or "^a.*$" for a pattern.
    names = [str(at) for at in range(clusters.width)]
    plain = clusters.rename(dict(zip(clusters.columns, names, strict=True)))
    grouped = plain.with_row_index("cluster").group_by(names).agg("cluster").sort(names, nulls_last=True)
    members = grouped["cluster"]
    class_of_cluster = np.empty(clusters.height, np.int32)
    numbers = np.repeat(np.arange(grouped.height, dtype=np.int32), members.list.len().to_numpy())
    class_of_cluster[members.explode().to_numpy()] = numbers
    classes = pl.DataFrame({name: grouped[at] for name, at in zip(clusters.columns, names, strict=True)})
    return classes, class_of_cluster


def _texts(column: QuasiColumn, labels: IntArray, low: IntArray, high: IntArray) -> pl.Series:
    """Return the published text of each cluster in one column."""
    if isinstance(column, RangeColumn):
        return _each_pair(low, high, lambda a, b: _range_text(column, a, b))
    if not column.is_flat:
        nodes = column.tree.lca(low, high)
        return _each_pair(nodes, nodes, lambda node, _: _node_text(column, node))
    plain = _each_pair(low, high, lambda a, b: _flat_text(column, a, b))
    return _with_sets(column, labels, low, high, plain)


def _each_pair(first: IntArray, second: IntArray, write: Callable[[int, int], str | None]) -> pl.Series:
    """Write each distinct pair of codes once and spread the texts over the clusters."""
    keys = first.astype(np.int64) << 32 | second
    distinct, inverse = np.unique(keys, return_inverse=True)
    texts = [write(int(key >> 32), int(key & 0xFFFFFFFF)) for key in distinct]
    return pl.Series(texts, dtype=pl.String).gather(inverse)


def _range_text(column: RangeColumn, low: int, high: int) -> str | None:
    if low == column.missing:
        return None
    if high == column.missing:
        return forms.LOST
    if low == high:
        return forms.value_text(column.texts[low])
    return forms.range_text(column.texts[low], column.texts[high])


def _node_text(column: TreeColumn, node: int) -> str | None:
    tree = column.tree
    if column.has_missing and node == tree.leaf_nodes[column.missing]:
        return None
    label = tree.labels[node]
    if tree.height[node] == 0:
        return forms.value_text(label)
    if node == 0:
        return forms.LOST
    # A node's own label may be a range, as those of interval trees are; only what would be read as
    # something else is marked.
    return "\\" + label if label in ("", forms.LOST) or label.startswith("\\") else label


def _flat_text(column: TreeColumn, low: int, high: int) -> str | None:
    if low == high:
        return None if low == column.missing else forms.value_text(column.tree.leaf_labels[low])
    return forms.LOST


def _with_sets(
    column: TreeColumn, labels: IntArray, low: IntArray, high: IntArray, plain: pl.Series
) -> pl.Series:
    """Write the set of its values for each cluster that has several, none of them missing."""
    mixed = (low < high) & (high != column.missing)
    in_mixed = (labels >= 0) & mixed[labels]
    pairs = np.unique(labels[in_mixed].astype(np.int64) << 32 | column.codes[in_mixed])
    clusters, begins = np.unique(pairs >> 32, return_index=True)
    leaves = column.tree.leaf_labels
    codes = np.split(pairs & 0xFFFFFFFF, begins[1:]) if len(pairs) else []
    sets = [forms.set_text([leaves[code] for code in members]) for members in codes]
    if not sets:
        return plain
    return plain.scatter(clusters, sets)
