"""How many people are unique in the population, estimated from a sample."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from shoal.arrays import FloatArray, LongArray
from shoal.risks import pitman, snb, zayatz
from shoal.risks.possible import possible_uniques

MODELS: dict[str, Callable[[FloatArray, FloatArray, float], FloatArray]] = {
    "pitman": pitman.population_uniques,
    "zayatz": zayatz.population_uniques,
    "snb": snb.population_uniques,
}
_DRAWS = 200  # of the bootstrap
_ENDS = (2.5, 97.5)  # percentiles
_SMALL_SAMPLE = 0.1  # sampling fraction up to which the rule chooses Pitman's model


@dataclass(frozen=True)
class Estimate:
    """Population uniques by one model, and between which numbers they lie if the model is right."""

    uniques: float
    low: float
    high: float


@dataclass(frozen=True)
class Uniqueness:
    """The population uniques.

    Parameters
    ----------
    fraction, people : float
        The share of the population that is in the sample, and the size of the population.
    sample_unique : int
        Rows that are unique in the sample.
    estimates : dict of str to Estimate or None
        By model; None where its equations have no solution.
    model : str
        The model that the rule of Dankar et al. chooses.
    low, high : float
        Between which numbers the population uniques lie, whatever the population is like.
    """

    fraction: float
    people: float
    sample_unique: int
    estimates: dict[str, Estimate | None]
    model: str
    low: float
    high: float

    @property
    def uniques(self) -> float:
        """The estimate by the chosen model."""
        found = self.estimates[self.model]
        assert found is not None  # Zayatz's estimate always exists
        return found.uniques

    @property
    def share_of_sample_unique(self) -> float | None:
        """The share of sample uniques that are population uniques; None without sample uniques."""
        if not self.sample_unique:
            return None
        return min(1.0, self.uniques * self.fraction / self.sample_unique)

    def to_dict(self) -> dict[str, Any]:
        """Return the numbers as `shoal risk --json` prints them."""
        return {
            "sampling_fraction": self.fraction,
            "people": self.people,
            "sample_unique": self.sample_unique,
            "model": self.model,
            "uniques": self.uniques,
            "share": self.uniques / self.people,
            "share_of_sample_unique": self.share_of_sample_unique,
            "possible": [self.low, self.high],
            "models": {
                name: None
                if found is None
                else {"uniques": found.uniques, "interval": [found.low, found.high]}
                for name, found in self.estimates.items()
            },
        }


def population_uniqueness(sizes: LongArray, fraction: float, seed: int = 0) -> Uniqueness:
    """Estimate the population uniques from the sizes of a sample's classes.

    The intervals of the models come from a bootstrap: the numbers of classes of each size are drawn from
    Poisson distributions with the counted numbers as means, and so is the number of population uniques with
    the estimate as its mean.

    The rule [dankar2012]_: up to a tenth of the population, Pitman's model, or Zayatz's estimate where it
    has no solution; above, the lower one of SNB and Zayatz.

    .. [dankar2012] Dankar, El Emam, Neisa, Roffey. Estimating the re-identification risk of clinical data
       sets. BMC Medical Informatics and Decision Making 12 (2012).
    """
    distinct, times = np.unique(sizes, return_counts=True)
    values, counts = distinct.astype(np.float64), times.astype(np.float64)
    unique, people = int((sizes == 1).sum()), float(sizes.sum()) / fraction
    estimates: dict[str, Estimate | None]
    if unique == 0 or fraction == 1:
        estimates = {name: Estimate(unique, unique, unique) for name in MODELS}
    else:
        draws = np.vstack(
            [counts, np.random.Generator(np.random.PCG64(seed)).poisson(counts, (_DRAWS, len(counts)))]
        )
        draws = draws[(draws > 0).any(axis=1)]
        estimates = {name: _estimate(model, values, draws, fraction, seed) for name, model in MODELS.items()}
    low, high = (float(unique),) * 2 if fraction == 1 else possible_uniques(values, counts, fraction)
    return Uniqueness(fraction, people, unique, estimates, _chosen(estimates, fraction), low, high)


def _estimate(
    model: Callable[[FloatArray, FloatArray, float], FloatArray],
    values: FloatArray,
    draws: FloatArray,
    fraction: float,
    seed: int,
) -> Estimate | None:
    """Estimate from the counts, the first of the draws, and from all others for the interval."""
    found = model(values, draws, fraction)
    people = float(draws[0] @ values) / fraction
    if not np.isfinite(found[0]):
        return None
    usable = np.clip(found[np.isfinite(found)], 0, people)
    by_chance = np.random.Generator(np.random.PCG64(seed)).poisson(usable)
    low, high = np.percentile(np.minimum(by_chance, people), _ENDS)
    point = float(usable[0])
    return Estimate(point, min(float(low), point), max(float(high), point))


def _chosen(estimates: dict[str, Estimate | None], fraction: float) -> str:
    by_pitman, by_snb, by_zayatz = (estimates[name] for name in ("pitman", "snb", "zayatz"))
    if fraction <= _SMALL_SAMPLE:
        return "pitman" if by_pitman is not None else "zayatz"
    assert by_zayatz is not None
    return "snb" if by_snb is not None and by_snb.uniques <= by_zayatz.uniques else "zayatz"
