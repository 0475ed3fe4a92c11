"""Everything about the risk of one table: who looks for whom, with what, and how likely they succeed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import polars as pl

from shoal.arrays import BoolArray, FloatArray, LongArray
from shoal.errors import RecipeError
from shoal.risks.classes import Known, dense
from shoal.risks.distribution import Risk, Sizes, risk
from shoal.risks.people import HouseholdRisk, highest_by_person, household_risk, risk_by_household
from shoal.risks.population import PopulationRisk, count_matching, population_risk
from shoal.risks.posterior import individual_risk
from shoal.risks.subsets import MOST, Subset, largest_size, subset_risks
from shoal.risks.tables import box_texts
from shoal.risks.uniqueness import Uniqueness, population_uniqueness
from shoal.stages import Tick
from shoal.table import frames
from shoal.table.columns import Encoded
from shoal.table.forms import LOST
from shoal.table.numbering import value_codes

DEFAULT_K = 5
SUBSET_SIZE = 3


@dataclass(frozen=True, repr=False)  # a repr would show cells
class Sample:
    """What is known about how a table was drawn from a population.

    Parameters
    ----------
    fraction : float or None
        The share of the population that is in the table.
    weights : ndarray of shape (n_rows,), float64, or None
        How many people of the population each row stands for.
    population : Encoded or None
        The quasi columns of the population itself.
    """

    fraction: float | None = None
    weights: FloatArray | None = None
    population: Encoded | None = None


@dataclass(frozen=True, repr=False)
class Owner:
    """What only the owner of the table knows: who each row is, and who live together.

    Parameters
    ----------
    key : polars.Series or None
        What names the row of each person; None for row numbers.
    person : ndarray of shape (n_rows,), int64, or None
        The person of each row, from 0; None if each row is a different person.
    household : ndarray of shape (n_rows,), int64, or None
        The household of each row, from 0.
    """

    key: pl.Series | None = None
    person: LongArray | None = None
    household: LongArray | None = None


@dataclass(frozen=True, repr=False)
class RiskReport:
    """The risk of re-identification in one table.

    Parameters
    ----------
    rows, classes, suppressed : int
        Rows and classes that were counted, and rows that were not because they have lost every value.
    people : int or None
        Different people, where a column identifies them.
    k : int
        The size of the smallest class, in people.
    asked : int
        Rows in classes smaller than this count as at risk.
    prosecutor : Risk
        From an attacker who knows that a person is in the table.
    journalist : Risk
        From an attacker who knows the population, but not who is in the table.
    basis : {"table", "population", "weights", "sampling fraction"}
        What `journalist` rests on; without anything else, on the table as if it were the population.
    subsets : list of Subset
        From attackers who know only some columns, worst first.
    subset_size : int
        The most columns of a subset, apart from all together.
    population : PopulationRisk or None
        Compared with a population.
    uniqueness : Uniqueness or None
        Estimated population uniques.
    households : HouseholdRisk or None
        Where a column identifies households.
    remarks : tuple of str
        What was counted differently from what may be expected.
    """

    rows: int
    classes: int
    suppressed: int
    people: int | None
    k: int
    asked: int
    prosecutor: Risk
    journalist: Risk
    basis: str
    subsets: list[Subset]
    subset_size: int
    population: PopulationRisk | None = None
    uniqueness: Uniqueness | None = None
    households: HouseholdRisk | None = None
    remarks: tuple[str, ...] = ()
    _per_person: pl.DataFrame | None = field(default_factory=pl.DataFrame)
    _kind: str = "polars"

    @property
    def marketer(self) -> float:
        """The expected share of rows that an attacker re-identifies who links all of them to a population."""
        return self.journalist.average

    @property
    def per_person(self) -> Any:
        """The risk of each person, highest first, as the kind of frame that was given: for the owner alone.

        One line for each person where a column identifies people, otherwise for each row. An error where only
        the sizes of classes are known.
        """
        if self._per_person is None:
            message = "The risk of each person is not known: Spark holds the rows of this release."
            raise RecipeError("recipe.not_available", message, "read a part of it, and use `shoal.risk`")
        return frames.as_kind(self._per_person, self._kind)

    def to_dict(self) -> dict[str, Any]:
        """Return the numbers that `shoal risk --json` prints: nothing about single people."""
        return {
            "rows": self.rows,
            "suppressed": self.suppressed,
            "people": self.people,
            "classes": self.classes,
            "k": self.k,
            "asked_k": self.asked,
            "prosecutor": self.prosecutor.to_dict(),
            "journalist": {"basis": self.basis, **self.journalist.to_dict()},
            "marketer": self.marketer,
            "subset_size": self.subset_size,
            "subsets": [subset.to_dict() for subset in self.subsets],
            "population": None if self.population is None else self.population.to_dict(),
            "uniqueness": None if self.uniqueness is None else self.uniqueness.to_dict(),
            "households": None if self.households is None else self.households.to_dict(),
            "remarks": list(self.remarks),
        }

    def __repr__(self) -> str:
        return (
            f"RiskReport({self.rows} rows in {self.classes} classes; k {self.k}; highest risk "
            f"{self.prosecutor.highest:.3g}, average {self.prosecutor.average:.3g}; "
            f"{self.prosecutor.unique} unique)"
        )


def risk_of_sizes(sizes: LongArray, k: int) -> RiskReport:
    """Return the risk of a release of which only the sizes of the classes are known, each row a person."""
    whole = risk(sizes, k)
    remark = "Only the sizes of classes are known: choices of columns and single rows were not looked at."
    return RiskReport(
        rows=int(sizes.sum()),
        classes=len(sizes),
        suppressed=0,
        people=None,
        k=int(sizes.min()),
        asked=k,
        prosecutor=whole,
        journalist=whole,
        basis="table",
        subsets=[],
        subset_size=0,
        remarks=(remark,),
        _per_person=None,
    )


def measure_risk(
    frame: pl.DataFrame,
    columns: Mapping[str, Sequence[str]],
    k: int,
    *,
    sample: Sample = Sample(),  # noqa: B008  # it is immutable
    owner: Owner = Owner(),  # noqa: B008
    subset_size: int = SUBSET_SIZE,
    seed: int = 0,
    is_release: bool = False,
    kind: str = "polars",
    tick: Tick | None = None,
) -> RiskReport:
    """Measure the risk of a table, raw or released: rows with equal values in all quasi columns are a class.

    Parameters
    ----------
    frame : polars.DataFrame
        The rows.
    columns : dict of str to sequence of str
        The quasi columns, and under which names the frame has each: bounds have two.
    k : int
        Rows in smaller classes count as at risk.
    is_release : bool, default False
        Whether the classes were made: then they are not drawn at random, and nothing is estimated from them.
    """
    lost = _lost_rows(frame, columns)
    if 0 < int(lost.sum()) < k:
        frame, sample, owner = _without(lost, frame, sample, owner)
    else:
        lost = np.zeros(frame.height, dtype=bool)
    known = Known(tuple(columns), tuple(_codes(frame, names) for names in columns.values()), owner.person)
    sizes = known.sizes
    compared, matching = _compared(frame, columns, known, sample.population, k)
    hidden, basis = _hidden_among(known, sample, matching)
    size = largest_size(len(columns), min(subset_size, len(columns)))
    fraction = _fraction(known, sample)
    people = _person_risks(frame.height, known, hidden, owner)
    return RiskReport(
        rows=frame.height,
        classes=len(sizes),
        suppressed=int(lost.sum()),
        people=None if known.person is None else int(known.person.max()) + 1,
        k=int(sizes.min()),
        asked=k,
        prosecutor=risk(sizes, k),
        journalist=risk(hidden, k, sizes),
        basis=basis,
        subsets=subset_risks(known, k, size, tick),
        subset_size=size,
        population=compared,
        uniqueness=None if fraction is None or is_release else population_uniqueness(sizes, fraction, seed),
        households=people.households,
        remarks=_remarks(len(columns), subset_size, size, compared),
        _per_person=people.frame,
        _kind=kind,
    )


def _lost_rows(frame: pl.DataFrame, columns: Mapping[str, Sequence[str]]) -> BoolArray:
    """Mark the rows that have lost every quasi value, as other tools write suppressed ones."""
    lost = np.ones(frame.height, dtype=bool)
    for names in columns.values():
        for name in names:
            lost &= (frames.series(frame, name).cast(pl.String) == LOST).fill_null(False).to_numpy()
            if not lost.any():
                return lost
    return lost


def _without(
    lost: BoolArray, frame: pl.DataFrame, sample: Sample, owner: Owner
) -> tuple[pl.DataFrame, Sample, Owner]:
    kept = ~lost
    weights = None if sample.weights is None else sample.weights[kept]
    key = pl.Series("row", np.arange(1, len(lost) + 1)) if owner.key is None else owner.key
    person, household = (
        None if numbers is None else dense(numbers[kept], int(numbers.max()) + 1)[0]
        for numbers in (owner.person, owner.household)
    )
    chosen = pl.Series(kept)
    return (
        frame.filter(chosen),
        Sample(sample.fraction, weights, sample.population),
        Owner(key.filter(chosen), person, household),
    )


def _codes(frame: pl.DataFrame, names: Sequence[str]) -> LongArray:
    """Number the values of a quasi column; a missing value is a value of its own."""
    codes, n_codes = np.zeros(frame.height, np.int64), 1
    for name in names:
        more = value_codes(frames.series(frame, name)) + 1
        card = int(more.max()) + 1
        codes, n_codes = dense(codes * card + more, n_codes * card)
    return codes


def _compared(
    frame: pl.DataFrame,
    columns: Mapping[str, Sequence[str]],
    known: Known,
    population: Encoded | None,
    k: int,
) -> tuple[PopulationRisk | None, LongArray | None]:
    """Compare with the population, and count the people who match each class."""
    if population is None:
        return None, None
    first = np.unique(known.labels, return_index=True)[1]
    classes = pl.DataFrame(
        {made: frames.series(frame, made).gather(first) for names in columns.values() for made in names}
    )
    matching, covered = count_matching(population, box_texts(classes, columns))
    people = population.n_rows if population.person is None else int(population.person.max()) + 1
    return population_risk(known.sizes, matching, covered, people, k), matching


def _hidden_among(known: Known, sample: Sample, matching: LongArray | None) -> tuple[Sizes, str]:
    """Return among how many people of the population a row of each class hides, and how that is known."""
    if matching is not None:
        return np.maximum(matching, known.sizes), "population"
    if sample.weights is not None:
        standing_for = np.bincount(known.labels, weights=_shared(known, sample.weights))
        return 1 / individual_risk(known.sizes, np.maximum(standing_for, known.sizes)), "weights"
    if sample.fraction is not None and sample.fraction < 1:
        return 1 / individual_risk(known.sizes, known.sizes / sample.fraction), "sampling fraction"
    return known.sizes, "table"


def _shared(known: Known, weights: FloatArray) -> FloatArray:
    """Share a weight among the rows that a person has in one class."""
    if known.person is None:
        return weights
    _, pair, rows = np.unique(
        known.labels * (int(known.person.max()) + 1) + known.person, return_inverse=True, return_counts=True
    )
    shared: FloatArray = weights / rows[pair]
    return shared


def _fraction(known: Known, sample: Sample) -> float | None:
    """Return the share of the population that is in the table, if that is known."""
    if sample.weights is None:
        return sample.fraction
    return min(1.0, int(known.sizes.sum()) / float(_shared(known, sample.weights).sum()))


@dataclass(frozen=True, repr=False)
class _PersonRisks:
    frame: pl.DataFrame
    households: HouseholdRisk | None


def _person_risks(n_rows: int, known: Known, hidden: Sizes, owner: Owner) -> _PersonRisks:
    """Return one line for each person, highest risk first, and the risk of households."""
    person = np.arange(n_rows) if owner.person is None else owner.person
    first = np.unique(person, return_index=True)[1]
    found, journalist = (
        highest_by_person(person, (1 / sizes)[known.labels]) for sizes in (known.sizes, hidden)
    )
    key = pl.Series("row", np.arange(1, n_rows + 1)) if owner.key is None else owner.key
    lines = {"0": key.gather(first)}
    lines |= {
        "1": pl.Series(np.rint(1 / found).astype(np.int64)),
        "2": pl.Series(found),
        "3": pl.Series(journalist),
    }
    names = {"0": key.name, "1": "people_alike", "2": "prosecutor_risk", "3": "journalist_risk"}
    households = None
    if owner.household is not None:
        of_household = risk_by_household(owner.household[first], journalist)
        households = household_risk(of_household)
        lines["4"], names["4"] = pl.Series(of_household[owner.household[first]]), "household_risk"
    frame = pl.DataFrame(lines).sort(["2", "3", "0"], descending=[True, True, False], nulls_last=True)
    return _PersonRisks(frame.rename(names), households)


def _remarks(n_columns: int, asked: int, size: int, compared: PopulationRisk | None) -> tuple[str, ...]:
    remarks = []
    if size < min(asked, n_columns):
        remarks.append(
            f"Only subsets of up to {size} columns were counted: {n_columns} columns have more than {MOST:,} "
            f"subsets of up to {asked}."
        )
    if compared is not None and compared.short:
        short = f"{compared.short:,} classes match" if compared.short > 1 else "1 class matches"
        remarks.append(
            f"{short} fewer people of the population than the table has in it: the population seems to lack "
            "some of them. The number in the table was used."
        )
    return tuple(remarks)
