"""Numbers and days of text files as people write them: 1.234,5 and 31.12.1990, or 12/31/1990.

They are rewritten as 1234.5 and 1990-12-31 when a file is read. All later steps know only these forms.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import polars as pl

from shoal.recipe import DAY_ORDERS, Input
from shoal.table.frames import series

# Digits, or groups of three with dots between them, then a comma and decimals. Either may be missing.
_NUMBER = r"^[+-]?(\d+|\d{1,3}(\.\d{3})+)(,\d+)?$"
_DECIMALS = r",(\d+)$"
_FEW = 20  # texts
_TIME = r"([T ]\d{2}:\d{2}(?::\d{2}(?:\.\d+)?)?)?"


def as_usual(frame: pl.DataFrame, given: Input) -> pl.DataFrame:
    """Rewrite the numbers and days of a text file; other texts stay as they are."""
    if given.decimal == ",":
        frame = _of_texts(frame, _with_points)
    if given.dates is not None:
        frame = _of_texts(frame, partial(_iso, order=given.dates))
    return frame


def _of_texts(frame: pl.DataFrame, rewrite: Callable[[pl.Series], pl.Series]) -> pl.DataFrame:
    columns = {name: series(frame, name) for name in frame.columns}
    return pl.DataFrame(
        {name: rewrite(column) if column.dtype == pl.String else column for name, column in columns.items()}
    )


def _with_points(texts: pl.Series) -> pl.Series:
    changed = texts.str.contains(_NUMBER) & texts.str.contains("[.,]")
    points = texts.str.replace_all(".", "", literal=True).str.replace(",", ".", literal=True)
    return points.zip_with(changed.fill_null(False), texts)


def _iso(texts: pl.Series, order: str) -> pl.Series:
    parts = _parts(texts, order)
    iso = pl.concat_str([parts["Y"], parts["M"], parts["D"]], separator="-") + parts["time"].fill_null("")
    return pl.select(pl.coalesce(iso, texts)).to_series().alias(texts.name)


def _parts(texts: pl.Series, order: str) -> dict[str, pl.Series]:
    """Return year, month, day and time of the texts that are days in this order; null for others."""
    mark = order[1]
    pattern = "^" + rf"\{mark}".join(r"(\d{4})" if letter == "Y" else r"(\d{1,2})" for letter in order[::2])
    found = {letter: texts.str.extract(f"{pattern}{_TIME}$", at + 1) for at, letter in enumerate(order[::2])}
    found["time"] = texts.str.extract(f"{pattern}{_TIME}$", 4)
    return {name: part.str.zfill(2) if name in "MD" else part for name, part in found.items()}


def found_conventions(frame: pl.DataFrame) -> dict[str, str]:
    """Return how numbers and days are written, as keys of [input], if some column shows it beyond doubt."""
    found = {}
    texts = [series(frame, name).drop_nulls() for name in frame.columns]
    texts = [column for column in texts if column.dtype == pl.String and len(column)]
    if any(map(_has_commas, texts)):
        found["decimal"] = ","
    orders = [order for order in DAY_ORDERS if any(_are_days(column, order) for column in texts)]
    if len(orders) == 1:
        found["dates"] = orders[0]
    return found


def _has_commas(texts: pl.Series) -> bool:
    """Return whether texts are numbers, most with a decimal comma; 1,234 may as well mean thousands."""
    for part in (texts.head(_FEW), texts):  # most columns fail at once
        if not part.str.contains(_NUMBER).all():
            return False
    decimals = texts.str.extract(_DECIMALS).drop_nulls().str.len_chars()
    return len(decimals) > 0.5 * len(texts) and bool((decimals != 3).any())


def _are_days(texts: pl.Series, order: str) -> bool:
    """Return whether all texts are days in this order."""
    for part in (texts.head(_FEW), texts):
        if _parts(part, order)["Y"].null_count():
            return False
    return _iso(texts, order).str.slice(0, 10).str.to_date("%Y-%m-%d", strict=False).null_count() == 0
