"""Determine the kind of each quasi column, and convert its values to a canonical form.

`1`, `1.0` and `"1"` are the same number, `-0.0` is `0`, and texts are compared trimmed and in Unicode
NFC. All later steps compare canonical values only.
"""

from __future__ import annotations

from dataclasses import astuple, dataclass
from decimal import Decimal

import polars as pl

from shoal.errors import DataError
from shoal.recipe import Column

_NUMBER = r"^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?$"
_LEADING_ZERO = r"^[+-]?0[0-9]"  # a code, such as a postcode, not a number
_WHOLE = r"^[+-]?[0-9]+(\.0*)?$"
_OFFSET = r" ?(Z|[+-][0-9]{2}(:?[0-9]{2})?)"
_DATE = (
    rf"^[0-9]{{4}}-[0-9]{{2}}-[0-9]{{2}}([T ][0-9]{{2}}:[0-9]{{2}}(:[0-9]{{2}}(\.[0-9]+)?)?({_OFFSET})?)?$"
)
# Months: 1952-09, 1952/09, 09.1952 or 09/1952.
_MONTH = r"^([0-9]{4})[-/](0[1-9]|1[0-2])$"
_MONTH_FIRST = r"^(0[1-9]|1[0-2])[./]([0-9]{4})$"
_ANY_MONTH = f"{_MONTH}|{_MONTH_FIRST}"
_YEAR = r"^[0-9]{4}$"
_NO_YEAR = "0000"
_INFINITE = r"^[+-]?inf(inity)?$"
_EXACT_IN_FLOAT = 2**53

# If nearly all texts of a column parse, the others are more likely errors than categories.
_ENOUGH = 5  # cells that must parse; fewer prove nothing
_FEW = 10  # one in this many cells may fail to parse, and one in any case


def settle(values: pl.Series, column: Column) -> tuple[str, pl.Series]:
    """Return the kind of a quasi column and its values in canonical form.

    Numeric columns become Int64 (Float64 if some value is not an integer), dates pl.Date, months and years
    their ISO texts, ordinal and categorical columns text. Cells that do not fit the given kind are counted
    in a `DataError`.
    """
    if isinstance(values.dtype, pl.Enum):  # if its order matters, the recipe contains it by now
        values = values.cast(pl.String)
    kind = column.kind or _detected_kind(values, column)
    forms = {"numeric": _numbers, "date": _dates, "ordinal": _texts, "categorical": _texts}
    canonical = forms[kind](values)
    if kind == "ordinal":
        assert column.order is not None  # the recipe has been validated
        known = [pl.Series([entry.strip()]).str.normalize("NFC").item() for entry in column.order]
        outside = canonical.is_in(known).not_().sum()
        if outside:
            message = f"Column `{values.name}` has {outside} cells whose values its order does not list."
            raise DataError("data.order", message, "list every value in `order`, or mark it as missing")
    return kind, canonical


def _detected_kind(values: pl.Series, column: Column) -> str:
    """Detect the kind from the hierarchy, the data type, or the texts."""
    found = stored_kind(values.dtype, column)
    if found is not None:
        return found
    return kind_of_texts(values.name, TextCounts.of(values.drop_nulls()))


def stored_kind(dtype: pl.DataType, column: Column) -> str | None:
    """Return the kind that the hierarchy or the data type implies; None for texts, which must be read."""
    if isinstance(column.tree, dict) and len(column.tree) == 1:
        built = {"intervals": "numeric", "dates": "date", "prefix": "categorical"}
        found = built.get(next(iter(column.tree)))
        if found:
            return found
    if column.hierarchy is not None:
        return "categorical"
    if dtype.is_numeric():
        return "numeric"
    if dtype in (pl.Date, pl.Datetime):
        return "date"
    return None if dtype == pl.String else "categorical"


@dataclass(frozen=True)
class TextCounts:
    """How many texts look like numbers, like codes with a leading zero, and like days, months or years."""

    cells: int = 0
    numbers: int = 0
    codes: int = 0
    days: int = 0
    months: int = 0
    years: int = 0

    @classmethod
    def of(cls, texts: pl.Series, times: pl.Series | None = None) -> TextCounts:
        """Count non-missing texts, each of which occurs so many times; once if not given."""
        are_numbers = texts.str.contains(_NUMBER)
        are_codes = are_numbers & texts.str.contains(_LEADING_ZERO)
        are_days = texts.str.contains(_DATE) & iso_days(texts).is_not_null()
        looks = (are_numbers, are_codes, are_days, _are_months(texts), _are_years(texts))
        if times is None:
            return cls(len(texts), *(int(marks.sum()) for marks in looks))
        return cls(int(times.sum()), *(int(times.filter(marks).sum()) for marks in looks))

    def joined(self, other: TextCounts) -> TextCounts:
        """Return the counts of two parts of a column together."""
        return TextCounts(*map(sum, zip(astuple(self), astuple(other), strict=True)))


def kind_of_texts(name: str, texts: TextCounts) -> str:
    """Detect the kind of non-missing texts; raise an error if only a few of them do not parse."""
    if not texts.cells:
        return "categorical"
    # Years alone are numbers, unless the recipe says otherwise.
    parsed = {"numeric": 0 if texts.codes else texts.numbers, "date": texts.days + texts.months}
    for kind, count in parsed.items():
        if count == texts.cells:
            if kind == "date":
                refuse_mixed(name, texts)
            return kind
        if count >= _ENOUGH and texts.cells - count <= max(1, texts.cells // _FEW):
            raise _dirty(name, kind, texts.cells - count, texts.cells)
    return "categorical"


def _dirty(name: str, kind: str, misfits: int, cells: int) -> DataError:
    what = {"numeric": "numbers", "date": "dates"}[kind]
    message = f"Column `{name}`: {misfits} of {cells} cells are not {what}, but all others are."
    hint = (
        "list them in [input] missing if they mark missing values, correct them, or set "
        f'kind = "categorical" in [columns.{name}] if they are intended'
    )
    return DataError("data.kind", message, hint)


def refuse_mixed(name: str, texts: TextCounts) -> None:
    """Refuse dates of different precision: none of them could be published without changing others."""
    counts = {"days": texts.days, "months": texts.months, "years": texts.years}
    present = [f"{count} cells are {unit}" for unit, count in counts.items() if count]
    if len(present) < 2 or sum(counts.values()) < texts.cells:
        return
    message = f"Column `{name}` has dates of different precision: {', '.join(present)}."
    hint = (
        "give all of them the same precision, such as 1952-09 for months, or set "
        f'kind = "categorical" in [columns.{name}]'
    )
    raise DataError("data.kind", message, hint)


def _numbers(values: pl.Series) -> pl.Series:
    if values.dtype == pl.Boolean or values.dtype.is_temporal():
        raise misfit(values.name, "numeric", values.len() - values.null_count())
    whole = integers(values)
    if whole is not None:
        return whole
    floats = _floats(_parsed_floats(values) if values.dtype == pl.String else values)
    if _are_exact(floats):
        return floats.cast(pl.Int64)
    _refuse_collapsed(values, floats)
    return floats


def integers(values: pl.Series) -> pl.Series | None:
    """Return the numbers as integers if all of them are stored or written as such, else None."""
    if values.dtype.is_float():
        return None
    whole = values.cast(pl.Int64, strict=False)
    if whole.null_count() > values.null_count():
        return None
    is_decimal = values.dtype.is_decimal()
    return None if is_decimal and not (whole.cast(values.dtype) == values).all() else whole


def _floats(values: pl.Series) -> pl.Series:
    floats = values.cast(pl.Float64).fill_nan(None)
    infinite = floats.is_infinite().sum()
    if infinite:
        raise infinite_fault(values.name, int(infinite))
    return floats.set(floats == 0, 0.0)  # -0.0 is 0.0


def _are_exact(floats: pl.Series) -> bool:
    return bool(((floats == floats.round()) & (floats.abs() < _EXACT_IN_FLOAT)).all())


def _refuse_collapsed(values: pl.Series, floats: pl.Series) -> None:
    """Refuse distinct integers that would become the same float."""
    if values.dtype.is_float():
        return
    texts = values.cast(pl.String)
    is_large = (floats.abs() >= _EXACT_IN_FLOAT) & texts.str.contains(_WHOLE)
    large = pl.DataFrame({"text": texts, "float": floats}).filter(is_large).group_by("text", "float").len()
    exact: dict[float, set[Decimal]] = {}
    for text, number, _ in large.iter_rows():
        exact.setdefault(number, set()).add(Decimal(text))
    collapsed = [number for number, numbers in exact.items() if len(numbers) > 1]
    count = large.filter(large["float"].is_in(collapsed))["len"].sum()
    if count:
        raise large_fault(values.name, int(count))


def _parsed_floats(values: pl.Series) -> pl.Series:
    # Polars would also accept "nan" and other spellings; accept only plain numbers and infinities.
    lower = values.str.to_lowercase()
    plain = values.str.contains(_NUMBER) | lower.str.contains(_INFINITE)
    misfits = int(plain.not_().sum())
    if misfits:
        raise misfit(values.name, "numeric", misfits)
    floats = lower.cast(pl.Float64, strict=False)
    lost = floats.null_count() - values.null_count()
    if lost:
        raise misfit(values.name, "numeric", lost)
    return floats


def iso_days(texts: pl.Series) -> pl.Series:
    """Parse ISO dates, with or without a time of day; null if there is no such day.

    With a UTC offset, the day is the local one, as written.
    """
    return texts.str.slice(0, 10).str.to_date("%Y-%m-%d", strict=False)


def iso_months(texts: pl.Series) -> pl.Series:
    """Write months in ISO form, 1952-09; null for all other texts."""
    months = texts.set(~_are_months(texts), None)
    return months.str.replace(_MONTH, "$1-$2").str.replace(_MONTH_FIRST, "$2-$1")


def _are_months(texts: pl.Series) -> pl.Series:
    return texts.str.contains(_ANY_MONTH) & ~texts.str.contains(_NO_YEAR, literal=True)


def _iso_years(texts: pl.Series) -> pl.Series:
    return texts.set(~_are_years(texts), None)


def _are_years(texts: pl.Series) -> pl.Series:
    return texts.str.contains(_YEAR) & (texts != _NO_YEAR)


def _dates(values: pl.Series) -> pl.Series:
    if values.dtype == pl.String:
        return _written_dates(values)
    if values.dtype.is_numeric():
        return _stored_years(values)
    present = values.len() - values.null_count()
    if values.dtype not in (pl.Date, pl.Datetime):
        raise misfit(values.name, "date", present)
    # A cast would return the day in UTC; the column's own time zone determines the day.
    days = values.dt.date()
    fits = days.dt.year().is_between(1, 9999)  # the years that ISO dates can represent
    if fits.sum() < present:
        raise misfit(values.name, "date", present - int(fits.sum()))
    return days


def _written_dates(values: pl.Series) -> pl.Series:
    """Read texts of one precision: days, months or years."""
    fewest = len(values)
    for read in (_iso_dates, iso_months, _iso_years):
        found = read(values)
        misfits = found.null_count() - values.null_count()
        if not misfits:
            return found
        fewest = min(fewest, misfits)
    refuse_mixed(values.name, TextCounts.of(values.drop_nulls()))
    raise misfit(values.name, "date", fewest)


def _iso_dates(values: pl.Series) -> pl.Series:
    days = iso_days(values)
    return days.set(~(values.str.contains(_DATE) & days.dt.year().is_between(1, 9999)), None)


def _stored_years(values: pl.Series) -> pl.Series:
    """Read numbers as years."""
    floats = _floats(values)
    fits = floats.is_between(1, 9999) & (floats == floats.round())
    misfits = floats.len() - floats.null_count() - int(fits.sum())
    if misfits:
        raise misfit(values.name, "date", misfits)
    return floats.cast(pl.Int64).cast(pl.String).str.zfill(4)


def _texts(values: pl.Series) -> pl.Series:
    if values.dtype.is_float() or values.dtype.is_decimal():
        floats = _floats(values)
        return floats.cast(pl.Int64).cast(pl.String) if _are_exact(floats) else values.cast(pl.String)
    return values if values.dtype == pl.String else values.cast(pl.String)


def misfit(name: str, kind: str, count: int) -> DataError:
    """Build the error for cells that do not fit the kind of their column."""
    forms = {"numeric": "a number such as 12 or 3.5", "date": "a date such as 2026-03-31 or 2026-03"}
    message = f"Column `{name}` has {count} cells that are not {kind} values."
    hint = f"each cell should be {forms[kind]}; list marks such as NA in [input] missing, or change the kind"
    return DataError("data.kind", message, hint)


def infinite_fault(name: str, count: int) -> DataError:
    """Build the error for infinite values."""
    message = f"Column `{name}` contains {count} infinite values."
    return DataError("data.infinite", message, "mark them as missing, or remove these rows")


def look_like_numbers(texts: pl.Series) -> pl.Series:
    """Mark the texts that are plain numbers or infinities."""
    lower = texts.str.to_lowercase()
    return lower.str.contains(_NUMBER) | lower.str.contains(_INFINITE)


def large_fault(name: str, count: int) -> DataError:
    """Build the error for integers that a float cannot distinguish."""
    message = (
        f"Column `{name}` has {count} cells with integers too large to be distinguished: they "
        "need more than 64 bits, or the column also contains fractions."
    )
    hint = f'if they are codes, set kind = "categorical" in [columns.{name}]; or use a larger unit'
    return DataError("data.kind", message, hint)
