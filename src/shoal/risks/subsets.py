"""What each few columns reveal: an attacker seldom knows all quasi columns of a person."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from itertools import combinations
from math import comb, prod
from typing import Any

import numpy as np

from shoal.arrays import LongArray
from shoal.risks.classes import Known, dense
from shoal.stages import Tick

MOST = 20_000  # subsets that are counted


@dataclass(frozen=True)
class Subset:
    """The risk from an attacker who knows some columns.

    Parameters
    ----------
    columns : tuple of str
        What is known.
    classes : int
        Different combinations of values.
    unique : int
        Rows that are alone in their class.
    below_k, share_below_k : int, float
        Rows in classes smaller than k, and their share of all.
    highest, average : float
        The risk of the row in the smallest class, and over all rows.
    """

    columns: tuple[str, ...]
    classes: int
    unique: int
    below_k: int
    share_below_k: float
    highest: float
    average: float

    def to_dict(self) -> dict[str, Any]:
        """Return the numbers by name."""
        return {**asdict(self), "columns": list(self.columns)}


def subset_risks(known: Known, k: int, size: int = 3, tick: Tick | None = None) -> list[Subset]:
    """Measure every subset of up to `size` columns, and all columns together, worst first.

    Worst is the subset that makes the most rows unique, then the one with the most rows in classes
    smaller than k, then the one with the highest average; of several alike, the one with fewer columns.
    """
    n_columns = len(known.names)
    subsets = [
        subset
        for length in range(1, min(size, n_columns) + 1)
        for subset in combinations(range(n_columns), length)
    ]
    found = []
    for done, (subset, sizes) in enumerate(_sizes(known, subsets)):
        found.append(_measured(known, subset, sizes, k))
        if tick is not None:
            tick((done + 1) / len(subsets))
    if size < n_columns:
        found.append(_measured(known, tuple(range(n_columns)), known.sizes, k))
    place = {name: at for at, name in enumerate(known.names)}

    def badness(one: Subset) -> tuple[float | int, ...]:
        return (
            -one.unique,
            -one.below_k,
            -one.average,
            len(one.columns),
            *(place[name] for name in one.columns),
        )

    return sorted(found, key=badness)


def largest_size(n_columns: int, size: int) -> int:
    """Return the most columns, up to `size`, whose subsets are few enough to be counted; at least 1."""
    while size > 1 and sum(comb(n_columns, length) for length in range(1, size + 1)) > MOST:
        size -= 1
    return size


def _sizes(known: Known, subsets: list[tuple[int, ...]]) -> Iterator[tuple[tuple[int, ...], LongArray]]:
    """Return the class sizes of each subset; subsets with the same beginning share its classes."""
    prefix: tuple[int, ...] = ()
    labels, n_labels = np.zeros(known.n_rows, np.int64), 1
    for subset in subsets:
        if subset[:-1] != prefix:
            prefix = subset[:-1]
            n_keys = prod(known.cards[at] for at in prefix)
            keys = np.zeros(known.n_rows, np.int64)
            for at in prefix:
                keys = keys * known.cards[at] + known.codes[at]
            labels, n_labels = dense(keys, n_keys)
        last = subset[-1]
        yield (
            subset,
            known.sizes_by(labels * known.cards[last] + known.codes[last], n_labels * known.cards[last]),
        )


def _measured(known: Known, subset: tuple[int, ...], sizes: LongArray, k: int) -> Subset:
    total, below = int(sizes.sum()), int(sizes[sizes < k].sum())
    return Subset(
        columns=tuple(known.names[at] for at in subset),
        classes=len(sizes),
        unique=int((sizes == 1).sum()),
        below_k=below,
        share_below_k=below / total,
        highest=1 / int(sizes.min()),
        average=len(sizes) / total,
    )
