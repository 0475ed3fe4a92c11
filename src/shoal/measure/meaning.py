"""What a published label means for its cost."""

from __future__ import annotations

from typing import NamedTuple


class Meaning(NamedTuple):  # made for each of very many labels: sooner than a dataclass
    """A fixed cost, or a node of the column's tree, or several leaves of a flat one.

    Parameters
    ----------
    style : str or None
        How another tool spells it; None for shoal's own forms.
    cost : float
        Between 0 and 1; ignored where there is a node or leaves.
    node : int or None
        A node of the column's tree.
    leaves : tuple of int, or None
        The first and the last leaf.
    """

    style: str | None = None
    cost: float = 0.0
    node: int | None = None
    leaves: tuple[int, int] | None = None
