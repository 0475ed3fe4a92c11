"""The order in which released rows are written: sorted by what is published, or shuffled after that.

A shuffled release is the sorted one, permuted by random numbers that depend on the seed and the number of
rows alone. Both are known to anyone who has the manifest, so the order reveals nothing that the sorted rows
do not, neither about the input nor about how the rows of two tables belong together.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from shoal.recipe import Recipe, Shape

# The seed of Anatomy determines its groups and is secret; an order drawn from it could give it away.
_PUBLIC_SEED = 0


def written_order(n_rows: int, recipe: Recipe) -> npt.NDArray[np.int64] | None:
    """Return which row of the sorted table is written at each position; None if the table stays sorted."""
    if recipe.output.order == "sorted":
        return None
    seed = _PUBLIC_SEED if recipe.shape is Shape.TWO_TABLES else recipe.method.seed
    # The raw output of PCG64 stays the same in all versions of NumPy, unlike that of `permutation`.
    keys = np.random.PCG64(seed).random_raw(n_rows)
    return np.argsort(keys, kind="stable")
