"""The risk of each person, for the owner of the table alone, and of households."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from shoal.arrays import FloatArray, LongArray


@dataclass(frozen=True)
class HouseholdRisk:
    """The risk that at least one member of a household is re-identified.

    Parameters
    ----------
    households : int
        How many there are.
    highest, average : float
        Over all households.
    expected : float
        The expected number of households with a re-identified member.
    """

    households: int
    highest: float
    average: float
    expected: float

    def to_dict(self) -> dict[str, Any]:
        """Return the numbers by name."""
        return asdict(self)


def highest_by_person(person: LongArray, risks: FloatArray) -> FloatArray:
    """Return the highest risk of any row of each person, numbered from 0."""
    highest = np.zeros(int(person.max()) + 1)
    np.maximum.at(highest, person, risks)
    return highest


def risk_by_household(household: LongArray, risks: FloatArray) -> FloatArray:
    """Return the risk of each household, numbered from 0, whose members are found independently.

    `risks` has one for each person.
    """
    with np.errstate(divide="ignore"):
        unfound = np.bincount(household, weights=np.log1p(-np.minimum(1.0, risks)))
    return -np.expm1(unfound)


def household_risk(risks: FloatArray) -> HouseholdRisk:
    """Summarize the risks of all households."""
    return HouseholdRisk(len(risks), float(risks.max()), float(risks.mean()), float(risks.sum()))
