"""Publish a whole column at one level of its tree, as global recoding does."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import polars as pl

from shoal.arrays import IntArray
from shoal.recode.bounds import each_pair, end_text
from shoal.recode.generalize import node_text
from shoal.table import forms
from shoal.table.columns import QuasiColumn, RangeColumn
from shoal.table.intervals import nodes_at_level, with_tree

Codes = tuple[Fraction | None, Fraction | None]  # the lowest and the highest value that may be published


def level_texts(column: QuasiColumn, codes: IntArray, level: int, limits: Codes = (None, None)) -> pl.Series:
    """Return the published text of each class, given the code of one of its rows.

    Intervals end at the `limits` of a column that has top or bottom codes.
    """
    trees = with_tree(column)
    leaves = np.where(codes == column.missing, trees.missing, codes)
    nodes = nodes_at_level(trees.tree, level)[leaves]

    def write(node: int, _: int) -> str | None:
        text = node_text(trees, node)
        return _in_terms_of(column, text, limits) if isinstance(column, RangeColumn) else text

    return each_pair(nodes, nodes, write)


def _in_terms_of(column: RangeColumn, text: str | None, limits: Codes) -> str | None:
    """Format a node of the default interval tree, whose labels are numbers, like the column's values."""
    value = forms.parse(text)
    if isinstance(value, forms.Range):
        high = Fraction(value.high)
        if column.kind == "ordinal":  # there is nothing beyond the last value
            high = min(high, Fraction(len(column.order) - 1))
        low, bottom, top = Fraction(value.low), *limits
        low = low if bottom is None else max(low, bottom)
        high = high if top is None else min(high, top)
        if low == high:
            return forms.value_text(end_text(column, low))
        return forms.range_text(end_text(column, low), end_text(column, high))
    if isinstance(value, forms.Value):
        return forms.value_text(end_text(column, Fraction(value.text)))
    return text
