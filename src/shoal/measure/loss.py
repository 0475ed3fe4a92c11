"""Measures of information loss for a partition into classes.

*Tight* losses are computed from the raw values of a class's members, *published* ones from the released
values. They differ when a method publishes more general values than its classes need.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass

import numpy as np
import numpy.typing as npt

from shoal.arrays import IntArray
from shoal.measure.distortion import distortion_ratio
from shoal.table.columns import Encoded


@dataclass(frozen=True)
class Loss:
    """The losses of one release; None where a measure is not defined."""

    il: float | None = None
    gcp: float | None = None
    distortion_ratio: float | None = None
    dm: int | None = None
    c_avg: float | None = None
    cm: float | None = None

    def to_dict(self) -> dict[str, float | int | None]:
        """Return the measures by name."""
        return asdict(self)


def loss(encoded: Encoded, labels: IntArray, costs: npt.NDArray[np.float64] | None, k: int) -> Loss:
    """Measure a partition.

    Parameters
    ----------
    labels : ndarray of shape (n_rows,), int32
        Class of each row, -1 for a suppressed row, which costs the sum of the weights.
    costs : ndarray of shape (n_classes, n_columns), float64
        The loss of each class in each column, between 0 and 1; None where classes are published as
        typical values, for which box losses are not defined.

    Notes
    -----
    IL and GCP follow [byun2007] and [he2012], with GCP = IL / (n x sum of the weights); DM is the sum
    of squared class sizes plus n for each suppressed row; C_avg = (n / classes) / k; CM is the share
    of rows that are suppressed or differ from their class's majority label; the distortion ratio is
    that of [li2006] with uniform weights, for which WHD is the node's height over the tree's.
    n counts input rows.
    """
    n = encoded.n_rows
    sizes = np.bincount(labels[labels >= 0])
    suppressed = n - int(sizes.sum())
    total_weight = float(encoded.weights.sum())
    il = None
    if costs is not None:
        il = float(sizes @ (costs @ encoded.weights)) + suppressed * total_weight
    return Loss(
        il=il,
        gcp=None if il is None else il / (n * total_weight),
        distortion_ratio=None if costs is None else distortion_ratio(encoded, labels, costs),
        dm=int((sizes.astype(np.int64) ** 2).sum()) + n * suppressed,
        c_avg=n / len(sizes) / k,
        cm=None if encoded.label is None else classification_metric(labels, encoded.label),
    )


def classification_metric(labels: IntArray, label: IntArray) -> float:
    """Return the share of rows that are suppressed or differ from their class's majority label."""
    released = labels >= 0
    pairs = labels[released].astype(np.int64) << 32 | label[released]
    distinct, counts = np.unique(pairs, return_counts=True)
    majority = np.zeros(int(labels.max(initial=-1)) + 1, np.int64)
    np.maximum.at(majority, distinct >> 32, counts)
    return 1 - float(majority.sum()) / len(labels)
