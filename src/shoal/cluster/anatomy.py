"""The bucketization of Anatomy [xiao2006]: groups in which every sensitive value appears once."""

from __future__ import annotations

from heapq import heapify, heappop, heappush

import numpy as np

from shoal.arrays import IntArray, LongArray
from shoal.cluster.clusterer import Clusterer, ClusterResult
from shoal.errors import InfeasibleError, RecipeError
from shoal.recipe.options import AnatomyOptions
from shoal.stages import Tick
from shoal.table.columns import Encoded

_GROUPS_PER_CALL = 50_000  # between two calls progress is shown


class Anatomy(Clusterer[AnatomyOptions]):
    """Put rows into groups of at least l different sensitive values; quasi values play no part.

    The groups are not classes: their rows are not published alike, and k is not promised.

    Parameters: see `Clusterer`. The seed chooses the rows that share a group; anyone who knows it
    can separate them again. Option `l`: how many values a group has at least. `k` and
    `may_suppress` are not used: no row is left out.

    Notes
    -----
    After [xiao2006]_: one row from each of the l most frequent values left makes a group, until fewer
    than l values are left; each row that is left then joins a group without its value. Settled here:
    of values as frequent as each other, the smallest text; of the rows of a value, a random one; a row
    that is left joins the group made first of those that may take it. A missing value is no value: rows
    without one are dealt to the groups afterwards.

    Every group has at least l values, each of them once. At most l - 1 rows are left, each of another
    value. As no value has more than 1 / l of the rows, none has more rows than there are groups, so the
    value of a row that is left is absent from some group.

    Examples
    --------
    >>> import polars as pl, shoal
    >>> people = pl.DataFrame({"age": [20, 30, 40, 50], "ill": ["flu", "flu", "cold", "gout"]})
    >>> recipe = shoal.Recipe.from_roles(quasi=["age"], sensitive=["ill"], k=2)
    >>> Anatomy(k=2, seed=2).fit_predict(shoal.encode(people, recipe))
    array([1, 0, 0, 1], dtype=int32)

    .. [xiao2006] Xiao, Tao: Anatomy: Simple and Effective Privacy Preservation. VLDB 2006.
    """

    options_type = AnatomyOptions

    def fit(self, encoded: Encoded, progress: Tick | None = None) -> ClusterResult:
        """Group the rows by the label column."""
        if encoded.label is None:
            message = "Anatomy groups rows by a sensitive column, and there is none."
            raise RecipeError("recipe.invalid", message, "give one column the role sensitive")
        values = np.where(encoded.label == encoded.label_missing, -1, encoded.label).astype(np.int32)
        check_eligible(values, self.options.l)
        return ClusterResult(groups(values, self.options.l, draw(len(values), self.seed), progress))


def draw(n_rows: int, seed: int) -> LongArray:
    """Draw the priority of the rows: of those with the same value, the lowest comes first."""
    return np.random.Generator(np.random.PCG64(seed)).permutation(n_rows)


def check_eligible(values: IntArray, l: int) -> None:  # noqa: E741 - the name that everybody uses
    """Refuse values (-1 is none) of which no grouping is l-diverse: one is too frequent."""
    counts = np.bincount(values[values >= 0], minlength=1)
    total, highest = int(counts.sum()), int(counts.max())
    if total and l * highest <= total:
        return
    if not total:
        message, hint = "No row has a sensitive value.", "give a table with values, or publish nothing"
    else:
        message = (
            f"l = {l} is asked for, but {highest} of the {total} rows with a sensitive value share one: "
            f"more than 1 / {l} of them."
        )
        most = total // highest
        hint = f"lower l to {most}" if most >= 2 else "no l above 1 can be met; publish nothing"
    raise InfeasibleError("infeasible.goal", message, hint)


def groups(
    values: IntArray,
    l: int,  # noqa: E741 - the name that everybody uses
    priority: LongArray,
    progress: Tick | None = None,
) -> IntArray:
    """Return the group of each row, numbered in the order of making; values are eligible, -1 is none."""
    by_value = np.lexsort((priority, values))
    by_value = by_value[np.searchsorted(values[by_value], 0) :]
    counts = np.bincount(values[by_value])
    dealt = _deal(counts, l, progress)
    n_groups = len(dealt) // l
    labels = np.full(len(values), -1, np.int32)
    # The m-th row of a value goes to the m-th group that has the value; behind them may be one more.
    turns = np.argsort(dealt, kind="stable")
    used = np.bincount(dealt, minlength=len(counts))
    begins, first = np.cumsum(counts) - counts, np.cumsum(used) - used
    for value in np.flatnonzero(counts):
        rows = by_value[begins[value] : begins[value] + counts[value]]
        having = turns[first[value] : first[value] + used[value]] // l
        labels[rows[: len(having)]] = having
        labels[rows[len(having) :]] = _first_without(having)
    _deal_missing(labels, values, priority, n_groups)
    return labels


def _deal(counts: LongArray, l: int, progress: Tick | None) -> LongArray:  # noqa: E741
    """List the values of each group, l of them, group after group: always the most frequent ones left."""
    heap = [(-int(count), value) for value, count in enumerate(counts) if count]
    heapify(heap)
    dealt: list[int] = []
    total = int(counts.sum())
    while len(heap) >= l:
        largest = [heappop(heap) for _ in range(l)]
        for count, value in largest:
            dealt.append(value)
            if count < -1:
                heappush(heap, (count + 1, value))
        if progress is not None and len(dealt) % (_GROUPS_PER_CALL * l) == 0:
            progress(len(dealt) / total)
    return np.array(dealt, np.int64)


def _first_without(having: LongArray) -> int:
    """Return the lowest number that is not in an ascending list."""
    gaps = np.flatnonzero(having != np.arange(len(having)))
    return int(gaps[0]) if len(gaps) else len(having)


def _deal_missing(labels: IntArray, values: IntArray, priority: LongArray, n_groups: int) -> None:
    """Deal rows without a value to the groups, round and round. Writes `labels`."""
    rows = np.flatnonzero(values < 0)
    rows = rows[np.argsort(priority[rows], kind="stable")]
    labels[rows] = np.arange(len(rows)) % n_groups
