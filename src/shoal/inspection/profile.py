"""The different values of a column, how often each occurs, and each row's value as a number."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import polars as pl

from shoal.arrays import LongArray
from shoal.inspection.contents import Sample

RARE = 10  # values with fewer rows are never shown
_SAMPLE = 500  # different values that are looked at one by one
_DENSE = 1 << 22  # range of whole numbers that are counted in one array


@dataclass(frozen=True)
class Profile:
    """What a column holds.

    Parameters
    ----------
    name : str
        Of the column.
    values : polars.Series
        Its different values, without missing ones.
    counts : array
        Rows of each value.
    codes : array
        For each row the position of its value, plus 1; 0 where it is missing.
    """

    name: str
    values: pl.Series = field(repr=False)
    counts: LongArray = field(repr=False)
    codes: LongArray = field(repr=False)

    @property
    def rows(self) -> int:
        """All rows."""
        return len(self.codes)

    @property
    def distinct(self) -> int:
        """Different values, without missing ones."""
        return len(self.values)

    @property
    def present(self) -> int:
        """Rows with a value."""
        return int(self.counts.sum())

    @property
    def missing(self) -> int:
        """Rows without a value."""
        return self.rows - self.present

    @property
    def unique(self) -> int:
        """Rows with a value that no other row has."""
        return int((self.counts == 1).sum())

    @property
    def unique_share(self) -> float:
        """Share of all rows with a value that no other row has."""
        return self.unique / self.rows

    @property
    def spread(self) -> float:
        """Different values per row that has one."""
        return self.distinct / max(1, self.present)

    @cached_property
    def texts(self) -> pl.Series:
        """The different values as texts."""
        return self.values.cast(pl.String)

    @cached_property
    def sample(self) -> Sample:
        """Some of the different values, spread evenly over all of them in their order."""
        ordered = self.texts.sort()
        step = max(1, -(-len(ordered) // _SAMPLE))
        return Sample(ordered.gather_every(step).to_list(), self.distinct, self.present)

    def frequent(self, most: int = 3) -> list[str]:
        """Return the most frequent values that may be shown."""
        shown = pl.DataFrame({"text": self.texts, "rows": self.counts}).filter(pl.col("rows") >= RARE)
        return shown.sort(["rows", "text"], descending=[True, False])["text"].head(most).to_list()


def profile(name: str, column: pl.Series) -> Profile:
    """Count the values of a column."""
    positions = _positions(column)
    present = positions[positions > 0]
    found, first = _first_rows(positions)
    times = np.bincount(present, minlength=len(found) + 1)[1:]
    return Profile(name, column.alias("").gather(pl.Series(first)), times, positions)


def _positions(column: pl.Series) -> LongArray:
    """Number the values from 1, missing ones 0."""
    values = column.alias("")
    if values.dtype == pl.String:
        numbers = values.cast(pl.Categorical(pl.Categories.random())).to_physical()
    elif values.dtype.is_float() or values.dtype.is_decimal():
        numbers = values.rank("dense")
    else:
        numbers = _offsets(values)
    codes = numbers.cast(pl.Int64).fill_null(-1).to_numpy() + 1
    return _without_gaps(codes)


def _offsets(values: pl.Series) -> pl.Series:
    whole = values.cast(pl.UInt8) if values.dtype == pl.Boolean else values.to_physical()
    ends = [whole.min(), whole.max()]
    if None in ends or int(ends[1]) - int(ends[0]) > _DENSE:  # type: ignore[arg-type]
        return whole.rank("dense")
    offsets: pl.Series = whole.cast(pl.Int64) - int(ends[0])  # type: ignore[arg-type]
    return offsets


def _without_gaps(codes: LongArray) -> LongArray:
    used = np.zeros(int(codes.max(initial=0)) + 1, bool)
    used[codes] = True
    used[0] = False
    numbers = np.where(used, np.cumsum(used), 0)
    renumbered: LongArray = numbers[codes]
    return renumbered


def _first_rows(positions: LongArray) -> tuple[LongArray, LongArray]:
    """Return each number from 1 on, and a row that has it."""
    n_values = int(positions.max(initial=0))
    rows = np.zeros(n_values + 1, np.int64)
    rows[positions] = np.arange(len(positions))
    return np.arange(1, n_values + 1), rows[1:]
