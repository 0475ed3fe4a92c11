"""The risk of re-identification over all rows: highest, average, and how it is distributed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from shoal.arrays import FloatArray, LongArray

THRESHOLDS = (2, 3, 5, 10, 20)  # a risk above 1/2, 1/3 and so on
SHARES = (0.5, 0.75, 0.9, 0.95, 0.99)  # of the rows, for the quantiles
_EDGES = (1, 2, 3, 5, 10, 20, 50, 100, 1000)  # class sizes at which a bar of the histogram begins

Sizes = npt.NDArray[np.integer[Any]] | FloatArray


@dataclass(frozen=True)
class Risk:
    """Re-identification by class sizes: a row in a class of s is found with probability 1 / s.

    Parameters
    ----------
    highest : float
        Of the row in the smallest class.
    average : float
        Over all rows.
    unique : int
        Rows that are alone in their class.
    below_k : int
        Rows in classes smaller than k.
    quantiles : dict of float to float
        The risk that this share of the rows does not exceed.
    above : dict of int to int
        For s of 2, 3, 5, 10 and 20: the rows whose risk is above 1 / s.
    histogram : tuple of Bar
        Classes and rows by class size.
    """

    highest: float
    average: float
    unique: int
    below_k: int
    quantiles: dict[float, float]
    above: dict[int, int]
    histogram: tuple[Bar, ...]

    def brief(self) -> dict[str, float | int]:
        """Return the four main numbers by name."""
        return {
            "highest": self.highest,
            "average": self.average,
            "unique": self.unique,
            "below_k": self.below_k,
        }

    def to_dict(self) -> dict[str, Any]:
        """Return the numbers as `shoal risk --json` prints them."""
        rows = sum(bar.rows for bar in self.histogram)
        return {
            **self.brief(),
            "quantiles": [{"share": share, "risk": risk} for share, risk in self.quantiles.items()],
            "above": [
                {"threshold": f"1/{size}", "rows": count, "share": count / rows}
                for size, count in self.above.items()
            ],
            "histogram": [vars(bar) for bar in self.histogram],
        }


@dataclass(frozen=True)
class Bar:
    """The classes whose size is at least `size_from` and less than `size_below`; None for no limit."""

    size_from: int
    size_below: int | None
    classes: int
    rows: int


def risk(sizes: Sizes, k: int, rows: LongArray | None = None) -> Risk:
    """Measure the risk of a table.

    Parameters
    ----------
    sizes : ndarray of shape (n_classes,)
        The number of people among whom a row of the class hides: 1 / risk.
    k : int
        Classes smaller than this count as at risk.
    rows : ndarray of shape (n_classes,), int, optional
        The rows of each class in the table; without it, these are the sizes.
    """
    count = sizes.astype(np.int64) if rows is None else rows
    total = int(count.sum())
    return Risk(
        highest=1 / sizes.min().item(),
        # Each class of s rows adds s times 1 / s: that is exact, unlike a sum of quotients.
        average=(len(sizes) if rows is None else float((rows / sizes).sum())) / total,
        unique=_below(2, sizes, count),
        below_k=_below(k, sizes, count),
        quantiles=_quantiles(sizes, count),
        above={size: _below(size, sizes, count) for size in THRESHOLDS},
        histogram=_histogram(sizes, count),
    )


def _below(limit: int, sizes: Sizes, rows: LongArray) -> int:
    return int(rows[sizes < limit].sum())


def _quantiles(sizes: Sizes, rows: LongArray) -> dict[float, float]:
    """Return the smallest risk that at least a share of the rows does not exceed."""
    order = np.argsort(-sizes, kind="stable")  # from the lowest risk
    reached = np.cumsum(rows[order])
    # A share is read as a decimal: 0.9 of 10 rows is 9, although 0.9 * 10 may differ in floating point.
    needed = [-(-round(share * 100) * int(reached[-1]) // 100) for share in SHARES]
    at = np.searchsorted(reached, needed)
    return {share: 1 / sizes[order[place]].item() for share, place in zip(SHARES, at, strict=True)}


def _histogram(sizes: Sizes, rows: LongArray) -> tuple[Bar, ...]:
    bar_of = np.searchsorted(_EDGES, sizes, side="right") - 1
    classes = np.bincount(bar_of, minlength=len(_EDGES)).tolist()
    counts = np.bincount(bar_of, weights=rows, minlength=len(_EDGES)).astype(np.int64).tolist()
    ends = (*_EDGES[1:], None)
    return tuple(map(Bar, _EDGES, ends, classes, counts))
