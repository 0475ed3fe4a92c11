"""What was found out about a release beside its promises: risk, attacks, utility, the cost of k.

Plain values, gathered elsewhere. Numbers come with all digits; the page rounds them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

Section = Literal["risk", "subsets", "attacks", "utility", "cost"]


@dataclass(frozen=True)
class CostOfK:
    """What one k costs.

    Parameters
    ----------
    k : int
    gcp : float
        Information lost, 0 to 1.
    bound : float or None
        No release loses less at this k; None if not computed.
    is_release : bool
        Whether this is the release itself; others were searched with little effort.
    """

    k: int
    gcp: float
    bound: float | None
    is_release: bool = False


@dataclass(frozen=True)
class Findings:
    """What the report says beside the promises and the losses.

    Parameters
    ----------
    risk_before, risk_after : mapping or None
        Of the raw and the released table, as in `shoal risk --json`.
    attacks : sequence of mappings
        As in `shoal attack --json`.
    attack_notes : sequence of str
        Attacks that were not made, and why.
    utility : mapping or None
        As in `shoal measure --json`.
    costs : sequence of CostOfK
        By k; empty if not computed.
    left_out : mapping of str to str
        For each section that is missing, a sentence that says why and how to get it.
    """

    risk_before: Mapping[str, Any] | None = None
    risk_after: Mapping[str, Any] | None = None
    attacks: Sequence[Mapping[str, Any]] = ()
    attack_notes: Sequence[str] = ()
    utility: Mapping[str, Any] | None = None
    costs: Sequence[CostOfK] = ()
    left_out: Mapping[Section, str] = field(default_factory=dict)
