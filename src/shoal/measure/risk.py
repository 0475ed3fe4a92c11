"""The risk of re-identification by an attacker who knows the quasi values of a person in the table."""

from __future__ import annotations

from dataclasses import asdict, dataclass

import numpy as np
import numpy.typing as npt


@dataclass(frozen=True)
class Risk:
    """Re-identification by class sizes: a row in a class of s is found with probability 1 / s.

    Parameters
    ----------
    highest : float
        Of the row in the smallest class (the prosecutor's risk).
    average : float
        Over all rows: classes / rows (the marketer's risk).
    unique : int
        Rows that are alone in their class.
    below_k : int
        Rows in classes smaller than k.
    """

    highest: float
    average: float
    unique: int
    below_k: int

    def to_dict(self) -> dict[str, float | int]:
        """Return the risks by name."""
        return asdict(self)


def risk(sizes: npt.NDArray[np.int64], k: int) -> Risk:
    """Measure the risk of a table whose classes have these sizes."""
    rows = int(sizes.sum())
    return Risk(
        highest=1 / int(sizes.min()),
        average=len(sizes) / rows,
        unique=int((sizes == 1).sum()),
        below_k=int(sizes[sizes < k].sum()),
    )
