"""A lower bound as it is reported: rounded, next to a loss, and added up over several tables."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import ceil, floor, log10
from typing import Any, Literal

CONFIDENCE = 0.99  # of an estimate
_DIGITS = 3
_EXACT = 1e-12  # relative error of a float

BoundEffort = Literal["quick", "normal", "high"]
Bounding = bool | Literal["tight"]  # whether the loss is bounded; "tight": at high effort in any case


@dataclass(frozen=True)
class Bound:
    """A lower bound of Total IL.

    Parameters
    ----------
    total : float
        No table of boxes over this one that meets k and the goals has a lower Total IL.
    is_estimate : bool
        Computed from a sample of the rows: `total` is too high with a probability of at most 1 %, or so much
        for each estimate if several are added up.
    how : str
        What was computed, for how many rows.
    n_estimates : int, default 1
        How many estimates are added up, if it is one.
    """

    total: float
    is_estimate: bool
    how: str
    n_estimates: int = field(default=1, repr=False)

    @property
    def confidence(self) -> float:
        """The probability that the total is not too high, at least."""
        return max(0.0, round(1 - self.n_estimates * (1 - CONFIDENCE), 9)) if self.is_estimate else 1.0

    @property
    def rounded(self) -> float:
        """The total, rounded down to three digits: in full it would be a digest of the raw table."""
        if self.total <= 0:
            return 0.0
        digits = _DIGITS - 1 - floor(log10(self.total))
        scaled = self.total * 10.0**digits
        return round(floor(scaled * (1 + _EXACT)) / 10.0**digits, max(0, digits))

    def to_dict(self) -> dict[str, Any]:
        """Return the bound as fields for JSON."""
        return {"bound": self.rounded, "bound_is_estimate": self.is_estimate, "bound_how": self.how}


NO_BOUND: dict[str, Any] = {"bound": None, "bound_is_estimate": None, "bound_how": None, "bound_gap": None}


def bound_fields(bound: Bound | None, *losses: float | None) -> dict[str, Any]:
    """Return a bound as fields for JSON, all null for None; with how far the first loss known is above it."""
    if bound is None:
        return dict(NO_BOUND)
    il = next((loss for loss in losses if loss is not None), None)
    return {**bound.to_dict(), "bound_gap": None if il is None else gap(il, bound.rounded)}


def gap(il: float, bound: float) -> float | None:
    """Return by which share a loss is above the least possible one at most, rounded up to a hundredth.

    None if the bound is 0 and the loss is not, and if the bound does not hold for what has been lost: the
    release is no release of boxes with so many rows, or an estimate is too high.
    """
    if bound <= 0:
        return 0.0 if il <= 0 else None
    share = (il / bound - 1) * (1 - _EXACT)
    return None if share < -_EXACT else max(0.0, ceil(100 * share) / 100)


def effort_of(bound: Bounding) -> BoundEffort | None:
    """Return the effort that is asked for; None: as the recipe suggests."""
    return "high" if bound == "tight" else None


def total_bound(parts: Sequence[Bound | None]) -> Bound | None:
    """Return the bound of several tables together; None unless each has one.

    Where several are estimates, the probabilities that one is wrong add up.
    """
    known = [part for part in parts if part is not None]
    if len(known) < len(parts):
        return None
    how = "; ".join(dict.fromkeys(part.how for part in known))
    n_estimates = sum(part.n_estimates for part in known if part.is_estimate)
    return Bound(sum(part.total for part in known), n_estimates > 0, how, max(1, n_estimates))
