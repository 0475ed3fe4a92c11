"""KACA, clustering in attribute hierarchies [li2006]."""

from __future__ import annotations

import numpy as np

from shoal.arrays import LongArray
from shoal.cluster.clusterer import Clusterer, ClusterResult, check_feasible
from shoal.errors import Fault, RecipeError
from shoal.recipe.options import KACAOptions
from shoal.stages import Tick
from shoal.table.columns import Encoded, TreeColumn, numbered
from shoal.table.fixed import fixed_columns
from shoal.table.intervals import with_trees
from shoal.table.readings import Reading, Whd

_CLASSES_PER_CALL = 50_000_000  # between two calls progress is shown and an interruption is seen


class KACA(Clusterer[KACAOptions]):
    """Merge each set of equal rows that is smaller than k with the nearest one.

    How far two classes are apart is what their rows would lose on the way up to a common tuple, in
    steps of the hierarchies. A class that is large enough to stay at k rows without them lends a
    stub of its rows and keeps its own detail. Time grows with the square of the number of distinct
    tuples.

    Parameters: see `Clusterer`. The seed chooses the order in which small classes are merged.
    Options: `weights`, `beta`, `outlier`, which leaves out up to `may_suppress` rows.

    Notes
    -----
    Follows algorithm 1 and definitions 5 to 11 of [li2006]_. A column without a hierarchy gets the
    default interval tree. Settled here: the next small class is the one with the earliest row in a
    random order; of equally near classes the one whose first row comes first is taken; a stub takes
    the first rows in canonical order; classes with equal tuples are one. A merged class keeps the
    common tuple of its parts for all further distances; it is published as its rows are, which may
    be narrower. An `outlier` is a small class of which each row would lose more than that: it is
    left out as long as `may_suppress` allows and k rows remain.

    With further privacy goals, a class that fails one is merged like a small one, with the whole of the
    nearest class once it has k rows.

    Every class has at least k rows: the loop ends only then, and as long as a class has fewer, there
    is another one to merge with, because at least k rows remain.

    Examples
    --------
    >>> import polars as pl, shoal
    >>> encoded = shoal.encode(pl.DataFrame({"sex": ["f", "f", "m", "m", "x"]}), quasi=["sex"])
    >>> KACA(k=2).fit(encoded).labels
    array([0, 0, 1, 1, 0], dtype=int32)

    References
    ----------
    .. [li2006] Li, Wong, Fu, Pei. Achieving k-Anonymity by Clustering in Attribute Hierarchical
       Structures. DaWaK 2006. doi:10.1007/11823728_39
    """

    options_type = KACAOptions

    def fit(self, encoded: Encoded, progress: Tick | None = None) -> ClusterResult:
        """Label the rows, in the order of the encoded rows."""
        from shoal.kernels import kaca as kernel

        n = encoded.n_rows
        check_feasible(n, self.k)
        encoded = with_trees(encoded)
        fixed = fixed_columns(encoded, np.arange(n), self._readings(encoded))
        n_classes, n_tree = int(encoded.tuple_of_row[-1]) + 1, len(fixed.leaf)
        classes = kernel.Classes(
            np.zeros((n_tree, n_classes), np.int32), np.zeros(n_classes, np.int64),
            np.zeros(n_classes, np.int64), np.zeros(n_classes, np.int64), np.zeros(n_classes, np.int64),
            np.zeros(n, np.int64), np.zeros(n, np.int64), np.zeros(n_classes, np.bool_),
        )  # fmt: skip
        work = kernel.Work(
            np.zeros(len(fixed.trees.parent), np.int32), np.zeros(n_classes, np.int32),
            np.zeros(n_tree, np.int32),
        )  # fmt: skip
        goals, tally = self.goals_and_tally()
        outlier = -1 if self.options.outlier is None else round(self.options.outlier * fixed.unit)
        cursor = np.zeros(3, np.int64)
        cursor[kernel.MAY_SUPPRESS] = min(self.may_suppress, n - self.k)
        settings = kernel.Settings(self.k, outlier, _CLASSES_PER_CALL)
        order = draw(n, self.seed)
        args = (fixed.leaf, encoded.tuple_of_row, order, fixed.trees, classes, goals, tally)
        kernel.merge_small(*args, cursor, settings, work)  # makes the classes
        done = 0.0
        while not classes.good[: cursor[kernel.CLASSES]].all() and cursor[kernel.CLASSES] > 1:
            cursor[kernel.DONE] = 0  # a class that was good may have given a stub away that it needed
            while cursor[kernel.DONE] < n:
                kernel.merge_small(*args, cursor, settings, work)
                done = max(done, int(cursor[kernel.DONE]) / n)
                if progress is not None:
                    progress(done)
        if progress is not None:
            progress(1.0)
        return ClusterResult(numbered(classes.of_row))

    def _readings(self, encoded: Encoded) -> dict[str, Reading]:
        """Return how each column's nodes are costed; refuse weights that do not fit the trees."""
        weights = self.options.weights
        if not isinstance(weights, dict):
            return {column.name: Whd(weights, self.options.beta) for column in encoded.columns}
        heights = {c.name: c.tree.total_height for c in encoded.columns if isinstance(c, TreeColumn)}
        faults = [fault for name, given in weights.items() for fault in _weight_faults(name, given, heights)]
        if faults:
            raise RecipeError.from_faults(faults)
        return {name: Whd(tuple(weights[name])) if name in weights else Whd() for name in heights}


def draw(n_rows: int, seed: int) -> LongArray:
    """Draw the order of the rows whose small classes are merged first."""
    return np.random.Generator(np.random.PCG64(seed)).permutation(n_rows)


def _weight_faults(name: str, given: list[float], heights: dict[str, int]) -> list[Fault]:
    if name not in heights:
        hint = f"quasi columns: {', '.join(heights)}"
        return [Fault("recipe.option", f"Option `weights` names `{name}`, which is no quasi column.", hint)]
    if len(given) != heights[name]:
        message = (
            f"Option `weights` has {len(given)} numbers for column `{name}`, whose tree has "
            f"{heights[name]} steps from root to leaf."
        )
        return [Fault("recipe.option", message, "give one weight for each step, from the root down")]
    if not any(weight >= 1e-6 for weight in given):
        message = f"Option `weights` has nothing above 0 for column `{name}`."
        return [Fault("recipe.option", message, "give at least one step a weight")]
    return []
