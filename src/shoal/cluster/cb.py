"""CB, clustering by binary splits [he2012], with its extension to l-diversity."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from shoal.arrays import IntArray
from shoal.cluster.clusterer import Clusterer, ClusterResult, check_feasible
from shoal.errors import InfeasibleError, RecipeError
from shoal.recipe.options import CBOptions
from shoal.stages import Tick
from shoal.table.columns import Encoded
from shoal.table.fixed import fixed_columns

_ROWS_TIMES_ROUNDS = 5_000_000  # between two calls progress is shown and an interruption is seen


class CB(Clusterer[CBOptions]):
    """Split the rows in two around two centres, and so on in both halves, until none has 2k rows.

    Each split is the best of several rounds, by loss. A round gives every row to the nearer centre,
    lends rows to a side that has fewer than k, and makes the sides' means and most frequent values
    the next centres. Time grows a little faster than the number of rows.

    Parameters: see `Clusterer`. The seed chooses the first centres and the orders in which rows are
    visited. Options: `rounds`, `ncp`, `l`, `label`.

    Notes
    -----
    Follows figure 4 of [he2012]_. Settled here: a row as near to both centres goes to the side with
    fewer rows at that moment (the text; the figure sends it to the second); the short side borrows
    the rows nearest to its centre; the next centres are those of the sides after lending. Means are
    rounded to the fixed-point grid of `table.fixed`, about 1e-8 of the range. With `ncp="order"` a
    tree is a line of leaves, as definition 1 assumes; else its centre is the most frequent leaf.

    With `l`, a group is split only when both halves keep the share of the most frequent value of
    the label column at 1 / l or less (definition 3); a group that refuses is final, where the
    paper's loop would not end. Then rows are dealt by that value (figure 5) into groups of l, and
    neighbours are joined until they have k rows, because groups of l < k rows would break k. A privacy
    goal of that kind (variant "frequency") does the same. Other goals are kept by splitting only where
    both halves meet them; rows that are dealt out may break them again, to be repaired afterwards.

    Every class has at least k rows, because no split is made that leaves fewer; without `l` it has
    at most 2k - 1, because a group of 2k rows is always split.

    Examples
    --------
    >>> import polars as pl, shoal
    >>> encoded = shoal.encode(pl.DataFrame({"age": [20, 21, 40, 41, 60]}), quasi=["age"])
    >>> CB(k=2).fit(encoded).labels
    array([0, 0, 1, 1, 1], dtype=int32)

    References
    ----------
    .. [he2012] He, Chen, Chen, Dong, Wang, Huang. Clustering-Based k-Anonymity. PAKDD 2012.
       doi:10.1007/978-3-642-30217-6_34
    """

    options_type = CBOptions

    def fit(self, encoded: Encoded, progress: Tick | None = None) -> ClusterResult:
        """Label the rows, in the order of the encoded rows."""
        n = encoded.n_rows
        check_feasible(n, self.k)
        times, sensitive = self._diversity(encoded)
        _check_diversity(sensitive, times)
        visit = draw(n, self.options.rounds, self.seed)
        groups = self._split(encoded, times, sensitive, visit, progress)
        labels = np.empty(n, np.int32)
        number = 0
        for rows in groups:
            for members in _dealt(rows, sensitive, times, self.k):
                labels[members] = number
                number += 1
        return ClusterResult(labels)

    def _diversity(self, encoded: Encoded) -> tuple[int | None, IntArray]:
        """Return l and the values for definition 3: those of the options, else of the first such goal."""
        from shoal.kernels.goals import FREQUENCY

        if self.options.l is not None:
            return self.options.l, _sensitive(encoded)
        goals, _ = self.goals_and_tally()
        of_goals = np.flatnonzero([] if goals is None else goals.kind == FREQUENCY)
        if len(of_goals) == 0 or encoded.person is not None:
            return None, np.full(encoded.n_rows, -1, np.int32)
        return int(goals.bound[of_goals[0]]), goals.code[of_goals[0]]

    def _split(
        self,
        encoded: Encoded,
        times: int | None,
        sensitive: IntArray,
        visit: IntArray,
        progress: Tick | None,
    ) -> Iterator[IntArray]:
        """Give the rows of each group that is not split any more, ascending."""
        from shoal.kernels import cb as kernel
        from shoal.kernels.waiting import CLASSES, SETTLED, WAITING, all_waiting

        n, k = encoded.n_rows, self.k
        fixed = fixed_columns(encoded, np.arange(n), self.options.ncp)
        trees = fixed.trees
        slots = kernel.Slots(
            fixed.position.copy(), fixed.leaf.copy(), np.arange(n, dtype=np.int32), visit, sensitive.copy()
        )
        most_counted = max(len(trees.leaf_node), int(sensitive.max(initial=0)) + 1)
        work = kernel.Work(
            np.zeros(n, np.int32), np.zeros(n, np.int8), np.zeros(n, np.int8), np.zeros(n, np.int32),
            np.zeros((2, len(trees.parent)), np.int32), np.zeros((2, most_counted), np.int32),
            np.zeros((2, len(fixed.span) + len(fixed.leaf)), np.int32),
        )  # fmt: skip
        sides = kernel.Sides(
            np.zeros((2, len(fixed.span)), np.int32), np.zeros((2, len(fixed.leaf)), np.int32),
            np.zeros(2, np.int64),
        )  # fmt: skip
        ends = np.zeros(n // k + 1, np.int64)
        stack, cursor = all_waiting(n, n // k + 2)
        per_call = max(1, _ROWS_TIMES_ROUNDS // self.options.rounds)
        settings = kernel.Settings(k, times or 0, per_call)
        goals, tally = self.goals_and_tally()
        while cursor[WAITING] > 0:
            kernel.split_groups(
                slots, trees, fixed.span, stack, ends, goals, tally, cursor, settings, sides, work
            )
            if progress is not None:
                progress(int(cursor[SETTLED]) / n)
        return iter(np.split(slots.row, ends[: cursor[CLASSES] - 1]))


def draw(n_rows: int, rounds: int, seed: int) -> IntArray:
    """Draw the order in which the rows are visited in each round."""
    random = np.random.Generator(np.random.PCG64(seed))
    return np.array([random.permutation(n_rows) for _ in range(rounds)], np.int32)


def _sensitive(encoded: Encoded) -> IntArray:
    if encoded.label is None:
        raise RecipeError("recipe.option", "l-diversity needs a label column.", "name one in `label`")
    return np.where(encoded.label == encoded.label_missing, -1, encoded.label).astype(np.int32)


def _check_diversity(sensitive: IntArray, times: int | None) -> None:
    """Refuse a table that violates definition 3 as a whole: so does any partition of it."""
    present = sensitive[sensitive >= 0]
    most = int(np.bincount(present).max(initial=0))
    if times is not None and times * most > len(present):
        raise InfeasibleError(
            "infeasible.goal",
            f"l = {times} is asked for, but one value makes up {most} of the {len(present)} values of the "
            "label column.",
            f"lower l to {len(present) // most}, or choose another column",
        )


def _dealt(rows: IntArray, sensitive: IntArray, times: int | None, k: int) -> Iterator[IntArray]:
    """Split a final group once more by dealing its rows by sensitive value [he2012, figure 5].

    Neighbouring hands are joined until each class has k rows, the rest into the last.
    """
    if times is None or len(rows) < 2 * k:
        yield rows
        return
    by_value = rows[np.argsort(np.where(sensitive[rows] < 0, len(sensitive), sensitive[rows]), kind="stable")]
    n_hands = max(1, int((sensitive[rows] >= 0).sum()) // times)
    hand = np.arange(len(rows)) % n_hands
    dealt = by_value[np.argsort(hand, kind="stable")]
    ends, begin = [], 0
    for end in np.cumsum(np.bincount(hand)).tolist():
        if end - begin >= k:
            ends.append(end)
            begin = end
    yield from np.split(dealt, ends[:-1])
