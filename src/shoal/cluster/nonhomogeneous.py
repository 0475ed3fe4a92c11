"""NH, non-homogeneous generalization [wong2010]."""

from __future__ import annotations

from dataclasses import replace

from shoal.cluster.clusterer import Clusterer, ClusterResult
from shoal.cluster.mondrian import Mondrian
from shoal.recipe.options import MondrianOptions, NHOptions
from shoal.stages import Tick
from shoal.table.columns import Encoded


class NH(Clusterer[NHOptions]):
    """Give each row of a group a box of its own, over itself and the k - 1 rows that follow it.

    Mondrian makes the groups. In each, the rows form a ring in canonical order; a row's box covers
    k neighbours on the ring and so is narrower than one over the whole group. Which of the k rows
    inside a box its sensitive values belong to is decided by one secret shift for each group. Time
    is that of Mondrian.

    Parameters: see `Clusterer`. `k` is the number of rows that a box covers. The seed is not used:
    Mondrian draws nothing, and the shift is secret. Option `mode`: how Mondrian cuts.

    Notes
    -----
    After [wong2010]_. The release has no classes. Its guarantee: at least k originals fit each
    published row, and each original fits at least k published rows, in every one of the k shifts.
    Anyone who knows for certain which row is one person's knows the shift of the whole group.

    Examples
    --------
    >>> import polars as pl, shoal
    >>> encoded = shoal.encode(pl.DataFrame({"age": [20, 21, 40, 41, 60]}), quasi=["age"])
    >>> result = NH(k=2).fit(encoded)
    >>> result.labels, result.ring
    (array([0, 0, 0, 1, 1], dtype=int32), 2)

    References
    ----------
    .. [wong2010] Wong, Mamoulis, Cheung. Non-Homogeneous Generalization in Privacy Preserving Data
       Publishing. SIGMOD 2010. doi:10.1145/1807167.1807248
    """

    options_type = NHOptions

    def fit(self, encoded: Encoded, progress: Tick | None = None) -> ClusterResult:
        """Label the rows by group, in the order of the encoded rows; `ring` says what to publish."""
        mondrian = Mondrian(self.k, options=MondrianOptions(mode=self.options.mode))
        return replace(mondrian.fit(encoded, progress), ring=self.k)
