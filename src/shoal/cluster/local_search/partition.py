"""A partition as the search keeps it: the rows, class by class."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from shoal.arrays import IntArray, LongArray
from shoal.table.columns import numbered


@dataclass(frozen=True)
class Partition:
    """Rows in the order of their classes, where each class ends, and the loss in fixed point."""

    rows: LongArray
    ends: LongArray
    loss: int

    @property
    def n_classes(self) -> int:
        """The number of classes."""
        return len(self.ends)

    def labels(self) -> IntArray:
        """Return the class of each row, classes numbered by their first rows."""
        labels = np.empty(len(self.rows), np.int32)
        labels[self.rows] = np.repeat(
            np.arange(self.n_classes, dtype=np.int32), np.diff(self.ends, prepend=0)
        )
        return numbered(labels)
