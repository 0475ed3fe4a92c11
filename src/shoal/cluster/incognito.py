"""Incognito: the best full-domain generalization [lefevre2005]."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from math import prod
from typing import Any

import numpy as np

from shoal.arrays import BoolArray, IntArray, LongArray
from shoal.cluster.clusterer import Clusterer, ClusterResult, check_feasible
from shoal.errors import InfeasibleError
from shoal.recipe.options import IncognitoOptions
from shoal.stages import Tick
from shoal.table.columns import Encoded, TreeColumn, numbered
from shoal.table.fixed import fixed_columns
from shoal.table.intervals import nodes_at_level, with_trees

_MAX_KEY = 1 << 62

Lattice = BoolArray  # one axis for each column, one entry for each level


class Incognito(Clusterer[IncognitoOptions]):
    """Publish every column at one level of its tree, at the levels that lose least.

    All combinations of levels that leave every group of equal rows with k are found; the one with
    the least distortion is published. Time grows with the number of combinations that cannot be
    ruled out by looking at fewer columns.

    Parameters: see `Clusterer`. Up to `may_suppress` rows in smaller groups are left out. The seed
    is not used: Incognito draws nothing.

    Notes
    -----
    After [lefevre2005]_: what is not k-anonymous in some of the columns is not in all of them, and
    what is k-anonymous stays so at higher levels. Sets of columns are examined from small to large,
    and only what neither rule decides is counted, on distinct tuples. A column without a hierarchy
    gets the default interval tree. Settled here: a value at level h is published as its highest
    ancestor of height h or less, so that uneven trees have levels too; distortion is that of uniform
    weights, times the weights of the columns, and a row left out costs all of them; ties go to the
    lexicographically smallest levels. Rows in groups of fewer than k are left out when they are no
    more than `may_suppress` altogether. Further privacy goals are checked in the same way, because a
    union of groups that meet them does; then nothing is left out.

    Every class has at least k rows, because smaller groups are left out, and levels at which too
    many would be are not admissible. The roots always are.

    Examples
    --------
    >>> import polars as pl, shoal
    >>> table = pl.DataFrame({"zip": ["10115", "10117", "80331", "80333"]})
    >>> encoded = shoal.encode(table, quasi=["zip"], hierarchies={"zip": {"prefix": 1}})
    >>> result = Incognito(k=2).fit(encoded)
    >>> result.labels, result.levels
    (array([0, 0, 1, 1], dtype=int32), (1,))

    References
    ----------
    .. [lefevre2005] LeFevre, DeWitt, Ramakrishnan. Incognito: Efficient Full-Domain K-Anonymity.
       SIGMOD 2005. doi:10.1145/1066157.1066164
    """

    options_type = IncognitoOptions

    def fit(self, encoded: Encoded, progress: Tick | None = None) -> ClusterResult:
        """Label the rows, in the order of the encoded rows; `levels` says what to publish."""
        check_feasible(encoded.n_rows, self.k)
        search = _Search(with_trees(encoded), self.k, self.may_suppress, self.goals_and_tally())
        admissible = search.admissible(progress)
        levels = search.best(admissible)
        return ClusterResult(search.labels(levels), levels=levels)


@dataclass(frozen=True)
class _Column:
    """One column's leaves as codes at each level, and what each level costs a leaf."""

    codes: list[IntArray]  # by level: the code of what each leaf is published as
    costs: list[LongArray]  # by level: the cost of that, in fixed-point steps
    weight: int

    @property
    def n_levels(self) -> int:
        return len(self.codes)


def _column(column: TreeColumn, weight: int) -> _Column:
    tree = column.tree
    nodes = [nodes_at_level(tree, level) for level in range(tree.total_height + 1)]
    codes = [np.unique(published, return_inverse=True)[1].astype(np.int32) for published in nodes]
    heights = [tree.height[published].astype(np.int64) for published in nodes]
    costs = [height * weight // max(1, tree.total_height) for height in heights]
    return _Column(codes, costs, weight)


class _Search:
    """The search through the lattices of all sets of columns."""

    def __init__(self, encoded: Encoded, k: int, may_suppress: int, goals_and_tally: tuple[Any, Any]) -> None:
        self.goals, self.tally = goals_and_tally
        # A union of groups that share people may fail a goal that both meet; then nothing can be pruned.
        self.is_monotone = encoded.person is None or self.goals is None or len(self.goals.kind) == 0
        unit = fixed_columns(encoded, np.arange(0)).unit
        trees = [column for column in encoded.columns if isinstance(column, TreeColumn)]
        self.columns = [_column(column, round(column.weight * unit)) for column in trees]
        # Rows left out are not monotone under goals: a group that fails may spoil one that it joins.
        may_suppress = may_suppress if self.goals is None else 0
        self.k, self.may_suppress, self.n_rows = k, min(may_suppress, encoded.n_rows - 1), encoded.n_rows
        self.tuple_of_row = encoded.tuple_of_row
        heads = np.flatnonzero(np.diff(self.tuple_of_row, prepend=-1))
        self.leaf = np.array([column.codes[heads] for column in trees], np.int32)
        self.sizes = np.bincount(self.tuple_of_row)

    def admissible(self, progress: Tick | None) -> Lattice:
        """Return which level vectors leave enough rows in groups of k."""
        n = len(self.columns)
        if not self.is_monotone:
            return self._decide(tuple(range(n)), {})
        known: dict[tuple[int, ...], Lattice] = {}
        sets = [subset for size in range(1, n + 1) for subset in combinations(range(n), size)]
        for done, subset in enumerate(sets):
            known[subset] = self._decide(subset, known)
            if progress is not None:
                progress(done / len(sets))
        return known[tuple(range(n))]

    def _decide(self, subset: tuple[int, ...], known: dict[tuple[int, ...], Lattice]) -> Lattice:
        """Decide every vector of a set of columns, from the lowest levels up."""
        shape = tuple(self.columns[at].n_levels for at in subset)
        possible = np.ones(shape, dtype=bool)
        for axis in range(len(subset)):
            smaller = subset[:axis] + subset[axis + 1 :]
            if smaller in known:
                possible &= np.expand_dims(known[smaller], axis)
        counting = _Counting(self, subset)
        holds = np.zeros(shape, dtype=bool)
        vectors = np.argwhere(possible)
        for vector in map(tuple, vectors[np.argsort(vectors.sum(axis=1), kind="stable")]):
            implied = self.is_monotone and _is_implied(holds, vector)
            holds[vector] = implied or counting.is_admissible(vector)
        return holds

    def best(self, admissible: Lattice) -> tuple[int, ...]:
        """Return the admissible vector of least distortion."""
        # What all rows would cost together: never more than the true cost, as a row left out costs most.
        totals = np.zeros(admissible.shape, np.int64)
        for axis, column in enumerate(self.columns):
            of_level = [int(cost[self.leaf[axis]] @ self.sizes) for cost in column.costs]
            totals += np.array(of_level).reshape([-1 if a == axis else 1 for a in range(admissible.ndim)])
        vectors = np.argwhere(admissible)
        bounds = totals[tuple(vectors.T)]
        least: int | None = None
        best: tuple[int, ...] = ()
        for at in np.argsort(bounds, kind="stable"):
            if least is not None and bounds[at] > least:
                break
            vector = tuple(vectors[at].tolist())
            cost = int(bounds[at]) + self._left_out(vector)
            if least is None or (cost, vector) < (least, best):
                least, best = cost, vector
        if least is None:  # the roots are admissible except where groups share people
            raise InfeasibleError(
                "infeasible.goal",
                "No levels were found at which all goals are met: some people have several values, and too "
                "many of them share one.",
                "loosen the goals, or keep one row for each person",
            )
        return best

    def _left_out(self, vector: tuple[int, ...]) -> int:
        """Return what leaving out the rows in small groups adds to the cost of a vector."""
        if self.may_suppress == 0:
            return 0
        is_small = self._group_sizes(vector) < self.k
        whole = sum(column.weight for column in self.columns)
        own = sum(
            c.costs[level][leaf] for c, level, leaf in zip(self.columns, vector, self.leaf, strict=True)
        )
        return int((self.sizes * (whole - own))[is_small].sum())

    def _group_sizes(self, vector: tuple[int, ...]) -> LongArray:
        """Return for each tuple how many rows its group has."""
        groups = _groups(self.columns, vector, self.leaf)
        rows: LongArray = np.bincount(groups, weights=self.sizes).astype(np.int64)
        return rows[groups]

    def labels(self, vector: tuple[int, ...]) -> IntArray:
        """Number the groups of at least k rows by their first rows; the rows of others get -1."""
        groups = np.where(self._group_sizes(vector) >= self.k, _groups(self.columns, vector, self.leaf), -1)
        return numbered(groups)[self.tuple_of_row]


def _groups(columns: list[_Column], vector: tuple[int, ...], leaves: IntArray) -> LongArray:
    """Number the group of each tuple, again after each column, so that numbers stay small."""
    groups = np.zeros(leaves.shape[1], np.int64)
    for column, level, leaf in zip(columns, vector, leaves, strict=True):
        codes = column.codes[level]
        groups = np.unique(groups * (int(codes.max()) + 1) + codes[leaf], return_inverse=True)[1]
    return groups


def _is_implied(holds: Lattice, vector: tuple[int, ...]) -> bool:
    """Return whether a vector one level lower in some column holds: then this one does."""
    for axis, level in enumerate(vector):
        below = (*vector[:axis], level - 1, *vector[axis + 1 :])
        if level > 0 and holds[below]:
            return True
    return False


class _Counting:
    """The distinct tuples of some of the columns, and the counting of their groups."""

    def __init__(self, search: _Search, subset: tuple[int, ...]) -> None:
        self.search, self.columns = search, [search.columns[at] for at in subset]
        self.all_leaves = search.leaf[list(subset)]
        self.leaf, self.sizes = _projected(self.all_leaves, search.sizes)
        self.code = np.concatenate([codes for column in self.columns for codes in column.codes])
        lengths = [len(codes) for column in self.columns for codes in column.codes]
        begins = np.cumsum([0, *lengths])[:-1]
        firsts = np.cumsum([0, *(column.n_levels for column in self.columns)])[:-1]
        self.begin = [
            begins[first : first + c.n_levels] for first, c in zip(firsts, self.columns, strict=True)
        ]
        self.radix = [[int(codes.max()) + 1 for codes in column.codes] for column in self.columns]
        entries = 1 << int(2 * len(self.sizes)).bit_length()
        self.keys = np.zeros(len(self.sizes), np.int64)
        self.table = np.zeros(entries, np.int64), np.zeros(entries, np.int64)

    def is_admissible(self, vector: tuple[int, ...]) -> bool:
        """Count the rows in groups of fewer than k."""
        from shoal.kernels import groups as kernel

        begin = np.array([begins[level] for begins, level in zip(self.begin, vector, strict=True)])
        radix = [radix[level] for radix, level in zip(self.radix, vector, strict=True)]
        leaf = self.leaf
        if prod(radix) >= _MAX_KEY:
            self.keys[:] = _groups(self.columns, vector, self.leaf)
            leaf = leaf[:0]
        small = kernel.rows_in_small_groups(
            leaf, self.code, begin, np.array(radix), self.keys, self.sizes, self.search.k, *self.table
        )
        return bool(small <= self.search.may_suppress) and (
            self.search.goals is None or self._meets_goals(vector)
        )

    def _meets_goals(self, vector: tuple[int, ...]) -> bool:
        """Return whether every group meets the privacy goals, from the rows of all tuples."""
        from shoal.kernels import goals as kernel

        groups = _groups(self.columns, vector, self.all_leaves)[self.search.tuple_of_row]
        rows = np.argsort(groups, kind="stable")
        ends = np.cumsum(np.bincount(groups))
        return bool(kernel.all_good(self.search.goals, self.search.tally, rows, ends))


def _projected(leaf: IntArray, sizes: LongArray) -> tuple[IntArray, LongArray]:
    """Return the distinct columns of `leaf` and how many rows each has."""
    order = np.lexsort(leaf[::-1])
    leaf = leaf[:, order]
    is_first = np.ones(leaf.shape[1], dtype=bool)
    is_first[1:] = (leaf[:, 1:] != leaf[:, :-1]).any(axis=0)
    return np.ascontiguousarray(leaf[:, is_first]), np.add.reduceat(sizes[order], np.flatnonzero(is_first))
