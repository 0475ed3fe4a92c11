"""Texts that a spreadsheet would run as a formula, made harmless in CSV files and read back.

A cell that begins with = + - @ or a control sign, and is not a plain number, gets an apostrophe in
front: spreadsheets show it as text. A cell that begins with apostrophes and then one of these signs
gets one more, so that taking one off always gives back what was there. So do the names of columns,
which are the first line of the file.
"""

from __future__ import annotations

from collections.abc import Callable

import polars as pl

from shoal.table.frames import series

_RUNS = r"^'*[=+\-@\t\r]"
_MARKED = r"^'+[=+\-@\t\r]"
_NUMBER = r"^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$"


def harmless(table: pl.DataFrame) -> pl.DataFrame:
    """Put an apostrophe before every text and name that a spreadsheet would run."""
    return _mapped(table, _marked)


def as_it_was(table: pl.DataFrame) -> pl.DataFrame:
    """Take the apostrophes off again."""
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
