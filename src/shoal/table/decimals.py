"""Numbers of text files that are written with a decimal comma, as in 1.234,5."""

from __future__ import annotations

import polars as pl

from shoal.table.frames import series

# Digits, or groups of three with dots between them, then a comma and decimals. Either may be missing.
_NUMBER = r"^[+-]?(\d+|\d{1,3}(\.\d{3})+)(,\d+)?$"
_DECIMALS = r",(\d+)$"


def with_points(frame: pl.DataFrame) -> pl.DataFrame:
    """Write all numbers in the texts of a frame with a decimal point, and leave other texts as they are."""
    return pl.DataFrame({name: _with_points(series(frame, name)) for name in frame.columns})


def _with_points(texts: pl.Series) -> pl.Series:
    if texts.dtype != pl.String:
        return texts
    changed = texts.str.contains(_NUMBER) & texts.str.contains("[.,]")
    if not changed.any():
        return texts
    points = texts.str.replace_all(".", "", literal=True).str.replace(",", ".", literal=True)
    return points.zip_with(changed.fill_null(False), texts)


def has_commas(frame: pl.DataFrame) -> bool:
    """Return whether a column of a frame has nothing but numbers, most of them with a decimal comma.

    Three digits after every comma may as well be thousands, as in 1,234.
    """
    for name in frame.columns:
        texts = series(frame, name).drop_nulls()
        if texts.dtype != pl.String or not len(texts) or not texts.str.contains(_NUMBER).all():
            continue
        decimals = texts.str.extract(_DECIMALS).drop_nulls().str.len_chars()
        if len(decimals) > 0.5 * len(texts) and (decimals != 3).any():
            return True
    return False
