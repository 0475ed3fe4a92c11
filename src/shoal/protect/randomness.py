"""Secret random numbers, the same for any order of the input.

Somebody who knows the random numbers can subtract noise, undo swaps, and see which cells were changed. So
they come from the operating system, or from a seed in [secrets], which no manifest shows; the seed of the
method is public and has no part in them.
"""

from __future__ import annotations

import hashlib
import secrets
import warnings

import numpy as np
import numpy.typing as npt
import polars as pl

from shoal.errors import KnownSeedWarning
from shoal.recipe import Recipe
from shoal.table.frames import series

_SECRET_BITS = 128
_GUESSABLE = 2**32  # smaller seeds can be tried out one after the other


class Randomness:
    """A source of random numbers for each column, independent of all other columns."""

    def __init__(self, seed: int | None) -> None:
        if seed is not None and seed < _GUESSABLE:
            warnings.warn(
                "The seed in [secrets] is small enough to be found by trying: anyone who does can undo the "
                "perturbation. For a release, leave it out or draw one of 18 digits.",
                KnownSeedWarning,
                stacklevel=6,
            )
        self._seed = secrets.randbits(_SECRET_BITS) if seed is None else seed

    def of(self, *names: str) -> np.random.Generator:
        """Return the generator of a column, or of several that are perturbed together."""
        digest = hashlib.sha256("\0".join(names).encode("utf-8", "backslashreplace")).digest()
        entropy = [self._seed, int.from_bytes(digest[:16])]
        return np.random.Generator(np.random.PCG64(np.random.SeedSequence(entropy)))


def canonical_rows(table: pl.DataFrame, recipe: Recipe) -> npt.NDArray[np.int64]:
    """Return the rows in an order that depends on their contents alone.

    Rows that are equal in all columns that matter to a release are interchangeable.
    """
    names = [*recipe.named("quasi", "sensitive", "keep", "subject"), *recipe.pseudonyms]
    if recipe.label is not None and recipe.label not in names:
        names.append(recipe.label)
    # Numbers as names: Polars would take a column called "*" or "^a.*$" for a pattern.
    keys = {str(at): _sortable(series(table, name)) for at, name in enumerate(names)}
    frame = pl.DataFrame(keys)
    return frame.select(pl.arg_sort_by(frame.columns)).to_series().cast(pl.Int64).to_numpy()


def _sortable(values: pl.Series) -> pl.Series:
    return values if values.dtype.is_numeric() or values.dtype.is_temporal() else values.cast(pl.String)
