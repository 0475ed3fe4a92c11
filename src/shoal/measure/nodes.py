"""Labels of columns with a tree: a node, or for categories without a hierarchy a value or a set of values."""

from __future__ import annotations

from functools import cached_property

import numpy as np
import polars as pl

from shoal.arrays import LongArray
from shoal.hierarchy.build import number_text
from shoal.measure import foreign
from shoal.measure.meaning import Meaning
from shoal.measure.numbers import Ends, NumberOf, ends_of, number_of
from shoal.table.columns import TreeColumn
from shoal.table.forms import Lost, Set, Value, parse, split_sets


class NodeReader:
    """Reads the labels of one column with a hierarchy.

    Parameters
    ----------
    column : TreeColumn
        Of the raw table, not flat.
    """

    def __init__(self, column: TreeColumn) -> None:
        self._column = column
        tree = column.tree
        last = tree.n_nodes - int(column.has_missing)  # the leaf of missing values has no label
        # A leaf with the same label as the root comes later, and wins.
        self._by_label = {tree.labels[node]: node for node in range(last)}

    def own(self, text: str) -> Meaning | None:
        """Read a label in one of shoal's own forms; None if it is in none."""
        value = parse(text)
        if isinstance(value, Lost):
            return Meaning(cost=1.0)
        # A node's label may itself look like a range, as those of interval trees do.
        return self._labelled(None, value.text if isinstance(value, Value) else text)

    def foreign(self, text: str) -> Meaning | None:
        """Read a label as another tool may have written it; None if it is not a node."""
        named = self._labelled(foreign.UNESCAPED, text) or self._number(text)
        mask = foreign.mask(text)
        if named is None and mask is not None and not mask.kept:
            return Meaning(foreign.MASKED, cost=1.0)
        return named or self._same_interval(text)

    def _labelled(self, style: str | None, label: str) -> Meaning | None:
        node = self._by_label.get(label)
        return None if node is None else Meaning(style, node=node)

    def _number(self, text: str) -> Meaning | None:
        """Read a number that is spelled differently: 31.0 is 31."""
        number = number_of("numeric")(text) if self._column.kind == "numeric" else None
        return None if number is None else self._labelled(None, number_text(number))

    def _same_interval(self, text: str) -> Meaning | None:
        """Read an interval as the node whose label denotes the same interval."""
        found = foreign.interval(text)
        ends = self._ends(text)
        node = None if ends is None else self._by_interval.get(ends)
        return None if found is None or node is None else Meaning(found.style, node=node)

    @cached_property
    def _by_interval(self) -> dict[Ends, int]:
        """The nodes by interval; of several with the same interval, the lowest."""
        return {ends: node for label, node in self._by_label.items() if (ends := self._ends(label))}

    def _ends(self, label: str) -> Ends | None:
        found = foreign.interval(label)
        if found is None or self._column.kind not in ("numeric", "date"):
            return None
        return ends_of(found, self._number_of, whole=self._whole)

    @cached_property
    def _number_of(self) -> NumberOf:
        return number_of(self._column.kind, unit=self._column.unit)

    @cached_property
    def _whole(self) -> bool:
        number = self._number_of
        n_values = self._column.tree.n_leaves - int(self._column.has_missing)
        return all(isinstance(number(leaf), int) for leaf in self._column.tree.leaf_labels[:n_values])


class FlatReader:
    """Reads the labels of one column of categories without a hierarchy.

    Parameters
    ----------
    column : TreeColumn
        Of the raw table, flat.
    """

    def __init__(self, column: TreeColumn) -> None:
        n_values = column.tree.n_leaves - int(column.has_missing)
        self._leaf = {label: leaf for leaf, label in enumerate(column.tree.leaf_labels[:n_values])}

    def set_ends(self, texts: pl.Series) -> LongArray:
        """Return the first and the last leaf of the plain sets among many labels, -1 for all others."""
        ends = np.full((len(texts), 2), -1)
        label_of_member, members = split_sets(texts)
        if len(members) == 0:
            return ends
        labels, leaves = pl.Series(list(self._leaf), dtype=pl.String), range(len(self._leaf))
        leaf = members.replace_strict(labels, leaves, default=-1, return_dtype=pl.Int64).to_numpy()
        begins = np.flatnonzero(np.diff(label_of_member, prepend=-1))
        found = np.stack([np.minimum.reduceat(leaf, begins), np.maximum.reduceat(leaf, begins)], 1)
        found[found[:, 0] < 0] = -1
        ends[label_of_member[begins]] = found
        return ends

    def own(self, text: str) -> Meaning | None:
        """Read a label in one of shoal's own forms; None if it is in none."""
        value = parse(text)
        if isinstance(value, Lost):
            return Meaning(cost=1.0)
        if isinstance(value, Set):
            return self._leaves(None, list(value.members))
        return self._leaves(None, [value.text]) if isinstance(value, Value) else None

    def foreign(self, text: str) -> Meaning | None:
        """Read a label as another tool may have written it; None if it contains no raw value."""
        if text in self._leaf:
            return Meaning(foreign.UNESCAPED)
        mask = foreign.mask(text)
        if mask is None:
            return None
        if not mask.kept:
            return Meaning(foreign.MASKED, cost=1.0)
        held = [one for one in self._leaf if len(one) == mask.length and one.startswith(mask.kept)]
        return self._leaves(foreign.MASKED, held)

    def _leaves(self, style: str | None, values: list[str]) -> Meaning | None:
        leaves = [self._leaf.get(value, -1) for value in values]
        if not leaves or min(leaves) < 0:
            return None
        ends = min(leaves), max(leaves)
        return Meaning(style, leaves=None if ends[0] == ends[1] else ends)
