"""Settle what kind each quasi column is, and bring its values to one canonical form.

`1`, `1.0` and `"1"` are one number, `-0.0` is `0`, and a text is compared in Unicode NFC without
spaces around it. Everything after this step compares canonical values only.
"""

from __future__ import annotations

import polars as pl

from shoal.errors import DataError
from shoal.recipe import Column

_NUMBER = r"^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?$"
_LEADING_ZERO = r"^[+-]?0[0-9]"  # a code such as a postcode, not a number
_DATE = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}([T ][0-9]{2}:[0-9]{2}(:[0-9]{2}(\.[0-9]+)?)?)?$"
_EXACT_IN_FLOAT = 2**53


def settle(values: pl.Series, column: Column) -> tuple[str, pl.Series]:
    """Return the kind of a quasi column and its values in canonical form.

    Numeric columns become Int64 (Float64 when some value is not whole), dates pl.Date, ordinal and
    categorical columns text. Cells that do not fit the kind given are counted in a `DataError`.
    """
    kind = column.kind or _found_kind(values, column)
    forms = {"numeric": _numbers, "date": _dates, "ordinal": _texts, "categorical": _texts}
    canonical = forms[kind](values)
    if kind == "ordinal":
        assert column.order is not None  # the recipe has been checked
        known = [pl.Series([entry.strip()]).str.normalize("NFC").item() for entry in column.order]
        outside = canonical.is_in(known).not_().sum()
        if outside:
            message = f"Column `{values.name}` has {outside} cells that its order does not list."
            raise DataError("data.order", message, "list every value in `order`, or mark it as missing")
    return kind, canonical


def _found_kind(values: pl.Series, column: Column) -> str:
    """Find the kind from the hierarchy given, the stored type, or the texts."""
    if isinstance(column.hierarchy, dict) and len(column.hierarchy) == 1:
        built = {"intervals": "numeric", "dates": "date", "prefix": "categorical"}
        found = built.get(next(iter(column.hierarchy)))
        if found:
            return found
    if column.hierarchy is not None:
        return "categorical"
    if values.dtype.is_numeric():
        return "numeric"
    if values.dtype in (pl.Date, pl.Datetime):
        return "date"
    if values.dtype != pl.String or values.null_count() == len(values):
        return "categorical"
    if _all_match(values, _NUMBER) and not values.str.contains(_LEADING_ZERO).any():
        return "numeric"
    return (
        "date"
        if _all_match(values, _DATE) and _days(values.drop_nulls()).null_count() == 0
        else "categorical"
    )


def _all_match(values: pl.Series, pattern: str) -> bool:
    return bool(values.str.contains(pattern).all())


def _numbers(values: pl.Series) -> pl.Series:
    if values.dtype == pl.Boolean or values.dtype.is_temporal():
        raise _misfit(values.name, "numeric", values.len() - values.null_count())
    if values.dtype == pl.String:
        whole = values.cast(pl.Int64, strict=False)
        if whole.null_count() == values.null_count():
            return whole
        values = _parsed_floats(values)
    elif values.dtype.is_integer():
        return _whole_or_float(values)
    floats = values.cast(pl.Float64).fill_nan(None)
    infinite = floats.is_infinite().sum()
    if infinite:
        message = f"Column `{values.name}` holds {infinite} infinities."
        raise DataError("data.infinite", message, "mark them as missing, or take these rows out")
    floats = floats.set(floats == 0, 0.0)  # -0.0 is 0.0
    if ((floats == floats.round()) & (floats.abs() < _EXACT_IN_FLOAT)).all():
        return floats.cast(pl.Int64)
    return floats


def _whole_or_float(values: pl.Series) -> pl.Series:
    whole = values.cast(pl.Int64, strict=False)
    return whole if whole.null_count() == values.null_count() else values.cast(pl.Float64)


def _parsed_floats(values: pl.Series) -> pl.Series:
    # Polars would also take "nan" and other spellings; only plain numbers and infinities pass here.
    lower = values.str.to_lowercase()
    plain = values.str.contains(_NUMBER) | lower.str.contains(r"^[+-]?inf(inity)?$")
    misfits = int(plain.not_().sum())
    if misfits:
        raise _misfit(values.name, "numeric", misfits)
    floats = lower.cast(pl.Float64, strict=False)
    lost = floats.null_count() - values.null_count()
    if lost:
        raise _misfit(values.name, "numeric", lost)
    return floats


def _days(texts: pl.Series) -> pl.Series:
    """Read ISO dates, with or without a time of day; null where there is no such day."""
    return texts.str.slice(0, 10).str.to_date("%Y-%m-%d", strict=False)


def _dates(values: pl.Series) -> pl.Series:
    if values.dtype in (pl.Date, pl.Datetime):
        days, fits = values.cast(pl.Date), values.is_not_null()
    elif values.dtype == pl.String:
        days, fits = _days(values), values.str.contains(_DATE)
    else:
        raise _misfit(values.name, "date", values.len() - values.null_count())
    fits = fits & days.dt.year().is_between(1, 9999)  # the years that an ISO date can be read back from
    misfits = values.len() - values.null_count() - int(fits.sum())
    if misfits:
        raise _misfit(values.name, "date", misfits)
    return days


def _texts(values: pl.Series) -> pl.Series:
    if values.dtype.is_numeric():
        numbers = _numbers(values)
        return numbers.cast(pl.String) if numbers.dtype == pl.Int64 else values.cast(pl.String)
    return values if values.dtype == pl.String else values.cast(pl.String)


def _misfit(name: str, kind: str, count: int) -> DataError:
    forms = {"numeric": "a number such as 12 or 3.5", "date": "a date such as 2026-03-31"}
    message = f"Column `{name}` has {count} cells that are not {kind} values."
    hint = f"each cell should be {forms[kind]}; list marks such as NA in [input] missing, or change the kind"
    return DataError("data.kind", message, hint)
