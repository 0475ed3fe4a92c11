"""The kind of a column, with the reason: numbers, dates of some precision, or categories.

Integers are not always numbers: regions 1 to 10 are names, and so are codes of four digits.
"""

from __future__ import annotations

import re
from typing import Literal, NamedTuple

import numpy as np
import polars as pl

from shoal.errors import DataError
from shoal.inspection.national import agree
from shoal.inspection.profile import Profile
from shoal.recipe import Column
from shoal.table.kinds import TextCounts, settle

Precision = Literal["day", "month", "year"]

FEW = 20  # different integers that may be codes although nothing else says so
_NEARLY_ALL = 0.98
_DAY_FORMS = (
    r"^\d{4}-\d{2}-\d{2}([T ]\d{2}:\d{2}.*)?$",
    r"^(0?[1-9]|[12]\d|3[01])[./-](0?[1-9]|1[0-2])[./-](19|20)\d\d$",
    r"^(0?[1-9]|1[0-2])/(0?[1-9]|[12]\d|3[01])/(19|20)\d\d$",
    r"^(19|20)\d\d[./](0?[1-9]|1[0-2])[./](0?[1-9]|[12]\d|3[01])$",
    r"^(19|20)\d\d(0[1-9]|1[0-2])(0[1-9]|[12]\d|3[01])$",
)
_MONTH_FORMS = (
    r"^(18|19|20)\d\d[./-](0[1-9]|1[0-2])$",
    r"^(0?[1-9]|1[0-2])[./-](18|19|20)\d\d$",
    r"^(18|19|20)\d\d-?M(0[1-9]|1[0-2])$",
)
_YEARS = (1880, 2040)


class Found(NamedTuple):
    """The kind of a column, why, and for dates the precision and whether shoal reads them as dates."""

    kind: str
    reason: str
    precision: Precision | None = None
    is_iso: bool = False  # YYYY-MM-DD, the only form of a day that a recipe takes as kind date
    is_usable: bool = True  # False if the column cannot be released with this kind


def find_kind(found: Profile, hints: list[str]) -> Found:
    """Return the kind of a column; `hints` are what its name may mean."""
    dtype = found.values.dtype
    if isinstance(dtype, pl.Enum):
        return Found("ordinal", "its data type has an order")
    if dtype in (pl.Date, pl.Datetime):
        return Found("date", "its data type is a date", "day", is_iso=True)
    if dtype in (pl.Boolean, pl.Time):
        return Found("categorical", f"its data type is {str(dtype).lower()}")
    if not found.distinct:
        return Found("categorical", "all values are missing")
    if dtype.is_numeric():
        return _number_kind(found, found.values, hints)
    return _text_kind(found, hints)


def _text_kind(found: Profile, hints: list[str]) -> Found:
    for precision, forms in (("day", _DAY_FORMS), ("month", _MONTH_FORMS)):
        for form in forms:
            if agree(found.sample.texts, re.compile(form).match, _NEARLY_ALL):
                return _date_kind(found, form, precision)  # type: ignore[arg-type]
    counts = TextCounts.of(pl.Series(found.sample.texts))
    if counts.numbers < 0.5 * counts.cells:
        return Found("categorical", "the values are texts")
    counts = TextCounts.of(found.texts, pl.Series(found.counts))
    if counts.numbers < counts.cells:
        misfits = counts.cells - counts.numbers
        return Found("categorical", f"{misfits:,} of {counts.cells:,} cells are not numbers")
    if counts.codes:
        return Found("categorical", "integers with leading zeros are codes")
    try:
        _, numbers = settle(found.texts, Column(role="quasi", kind="numeric"))
    except DataError:
        return Found("categorical", "some integers are too large to be distinguished as numbers")
    return _number_kind(found, numbers, hints)


def _date_kind(found: Profile, form: str, precision: Precision) -> Found:
    """Describe a form of dates; one that not all values have is none that a recipe could use."""
    example = {"day": "YYYY-MM-DD", "month": "YYYY/MM or MM.YYYY"}[precision]
    counts = TextCounts.of(found.texts, pl.Series(found.counts))
    if form is _DAY_FORMS[0]:
        return Found("date", "values are dates, YYYY-MM-DD", "day", is_iso=counts.days == counts.cells)
    if form is _DAY_FORMS[-1] and found.spread > 0.9:
        return Found("categorical", "the values are integers of eight digits")
    if precision == "day":
        return Found("date", "values look like dates, but not in the form YYYY-MM-DD", "day")
    return Found("date", f"values look like months, {example}", "month", is_iso=counts.months == counts.cells)


def _number_kind(found: Profile, numbers: pl.Series, hints: list[str]) -> Found:
    if numbers.dtype.is_float() or numbers.dtype.is_decimal():
        floats = numbers.cast(pl.Float64)
        if bool(floats.is_infinite().any()):
            return Found("numeric", "some values are infinite", is_usable=False)
        if not bool((floats == floats.round()).all()):
            return Found("numeric", "values are numbers with decimals")
        numbers = floats.cast(pl.Int64, strict=False)
        if numbers.null_count():
            return Found("numeric", "values are numbers")
    order = numbers.arg_sort().to_numpy()
    values, counts = numbers.to_numpy().astype(np.int64)[order], found.counts[order]
    if _are_years(values, hints):
        return Found("date", "values look like years", "year")
    return _integer_kind(found, values, counts, hints)


def _are_years(values: np.ndarray, hints: list[str]) -> bool:
    low, high = int(values[0]), int(values[-1])
    if low < _YEARS[0] or high > _YEARS[1] or len(values) < 3:
        return False
    named = bool({"birth date", "event date"}.intersection(hints))
    return named or len(values) >= 0.5 * (high - low + 1)


def _integer_kind(found: Profile, values: np.ndarray, counts: np.ndarray, hints: list[str]) -> Found:
    """Distinguish numbers from codes: by the name, else by how many there are and how they are spread."""
    few = f"{len(values)} different integers"
    said = next((hint for hint in hints if hint in _NUMBERS or hint in _CODES), None)
    if said in _CODES:
        return Found("categorical", f"the header says {said}: integers are codes")
    if said in _NUMBERS and len(values) > 2:
        return Found("numeric", f"values are integers, and the header says {said}")
    if len(values) == 1:
        return Found("categorical", "there is one value only")
    if len(values) <= FEW and found.present >= 2 * len(values) and _are_few_codes(values, counts):
        return Found("categorical", f"{few}, which are more likely codes than numbers")
    if _are_wide_codes(values, counts):
        return Found("categorical", f"{few} of the same length with gaps between them are likely codes")
    if _are_rough(values, counts):
        return Found("categorical", f"{few}, whose frequencies jump from one to the next, are likely codes")
    return Found("numeric", "values are integers")


_CODES = ("code", "postcode", "place", "country", "occupation", "sex", "marital status", "ethnicity",
          "religion", "diagnosis", "treatment", "politics", "language", "employer", "record number", "phone",
          "national number", "account", "payment card")  # fmt: skip
_NUMBERS = ("age", "number", "household", "body", "money", "survey weight", "coordinates", "score")


_FIRST_CODES = (10, 11, 100, 101, 1000, 1001)
_TAIL = 0.03  # share of the rows by which frequencies may rise by chance where they are small


def _are_few_codes(values: np.ndarray, counts: np.ndarray) -> bool:
    """Return whether a few integers are codes: they start as codes do, or are of one length with gaps."""
    low, high = int(values[0]), int(values[-1])
    if low < 0:
        return False
    if low > 1:
        has_gaps = len(values) < high - low + 1
        return len(str(low)) == len(str(high)) and (has_gaps or low in _FIRST_CODES)
    rising = np.diff(counts).clip(min=0).sum()
    if low == 0 and len(values) > 3 and rising < _TAIL * counts.sum():
        return False  # 0 is the most frequent, and each further one is rarer: a count of something
    return high < 1000 and (high - low + 1 <= 3 * len(values) or high < 100)


def _are_wide_codes(values: np.ndarray, counts: np.ndarray) -> bool:
    """Return whether integers of one length, three digits or more, repeat more than a smooth spread would.

    `expected` is how many different integers the rows in each stretch of 20 would hit by chance.
    """
    low, high = int(values[0]), int(values[-1])
    if low < 100 or len(str(low)) != len(str(high)) or counts.sum() < 2 * len(values):
        return False
    tens, fives = (counts[values % step == 0].sum() / counts.sum() for step in (10, 5))
    if tens > 0.5 or fives > 0.7:
        return False  # rounded amounts
    width = 20
    rows = np.bincount((values - low) // width, counts)
    expected = (width * (1 - (1 - 1 / width) ** rows)).sum()
    return bool(len(values) < 0.6 * expected)


def _are_rough(values: np.ndarray, counts: np.ndarray) -> bool:
    """Return whether frequencies of up to a hundred integers jump as those of numbers do not."""
    low, high = int(values[0]), int(values[-1])
    if (
        low not in (0, 1, 10, 11)
        or not FEW < len(values) <= 100
        or counts.sum() < 20 * len(values)
        or high > 120
    ):
        return False
    if counts[values % 5 == 0].sum() > 0.4 * counts.sum():
        return False  # people round
    all_counts = np.zeros(high - low + 1)
    all_counts[values - low] = counts
    jumps = np.diff(all_counts) ** 2
    both = all_counts[1:] + all_counts[:-1]
    jumps, both = jumps[both > 0], both[both > 0]
    # More than chance gives (the variance of a difference of counts is their sum), and more than a slope.
    return bool(np.median(jumps / both) > 4 and np.median(np.sqrt(jumps) / both) > 0.15)
