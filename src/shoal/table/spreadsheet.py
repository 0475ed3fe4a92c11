"""Escape texts in CSV files that a spreadsheet would run as a formula, and unescape them.

A cell that starts with = + - @ or a control character, and is not a plain number, is prefixed with an
apostrophe, so that spreadsheets show it as text. A cell that starts with apostrophes followed by one of
these characters gets another one, so that removing one always restores the original. The same applies
to column names, which are the first line of the file.
"""

from __future__ import annotations

from collections.abc import Callable

import polars as pl

from shoal.table.frames import series

_RUNS = r"^'*[=+\-@\t\r]"
_MARKED = r"^'+[=+\-@\t\r]"
_NUMBER = r"^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$"


def escaped(table: pl.DataFrame) -> pl.DataFrame:
    """Prefix every text and name that a spreadsheet would run with an apostrophe."""
    return _mapped(table, _marked)


def unescaped(table: pl.DataFrame) -> pl.DataFrame:
    """Remove the apostrophes."""
    return _mapped(table, _unmarked)


def _mapped(table: pl.DataFrame, change: Callable[[pl.Series], pl.Series]) -> pl.DataFrame:
    names = change(pl.Series(table.columns, dtype=pl.String)).to_list()
    columns = zip(names, (series(table, name) for name in table.columns), strict=True)
    return pl.DataFrame(
        {name: change(values) if values.dtype == pl.String else values for name, values in columns}
    )


def _marked(texts: pl.Series) -> pl.Series:
    runs = texts.str.contains(_RUNS) & texts.str.contains(_NUMBER).not_()
    return _where(runs, "'" + texts, texts)


def _unmarked(texts: pl.Series) -> pl.Series:
    marked = texts.str.contains(_MARKED)
    return _where(marked, texts.str.slice(1), texts)


def _where(mask: pl.Series, changed: pl.Series, texts: pl.Series) -> pl.Series:
    return changed.zip_with(mask.fill_null(value=False), texts) if mask.any() else texts
