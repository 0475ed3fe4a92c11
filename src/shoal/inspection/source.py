"""Read the table that is inspected: with or without a header line, whatever its columns hold."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass, replace
from itertools import groupby
from pathlib import Path
from typing import Any

import polars as pl

from shoal.errors import DataError, RecipeError
from shoal.recipe import Address, Input
from shoal.recipe.database_faults import check_input
from shoal.table.conventions import as_usual, found_conventions
from shoal.table.formats import has_names, is_text
from shoal.table.frames import Choose, series, to_polars
from shoal.table.read import first_records, mark_missing, read

_DATUM = re.compile(
    r"[+-]?(\d[\d.,]*|\.\d+)([eE][+-]?\d+)?|\d{1,4}[-./]\d{1,2}([-./]\d{1,4})?.*|\S+@\S+\.\w+|[?]?"
)
_YEAR = re.compile(r"(19|20)\d\d")
# Texts that mean missing wherever they occur. Words such as `unknown` may be an answer of their own.
MARKS = (
    "?",
    "NA",
    "N/A",
    "n/a",
    "na",
    "NULL",
    "null",
    "NaN",
    "nan",
    "#N/A",
    "(null)",
    "<NA>",
    ".",
    "-",
    "--",
)
_STATE_CODE = re.compile(r"[A-Z]{2}")


@dataclass(frozen=True)
class Source:
    """A table, how it was read, and the columns that could not be."""

    table: pl.DataFrame
    given: Input
    unusable: list[str]
    names: list[str]  # of all columns, in their order
    header_found: bool | None = None  # None if there is nothing to detect


def load(data: Any, given: Input, header: bool | None) -> Source:
    """Read a file, or convert a frame; mark what means missing.

    Parameters
    ----------
    data : Path, Address, or pandas, Polars or Arrow frame
        The table.
    given : Input
        How to read a file.
    header : bool, optional
        Whether a text file has a header line; None to find out.
    """
    if isinstance(data, Address):
        check_input(given.model_copy(update={"path": data.dsn}))
        return _source(lambda choose: read(data, given, choose), given)
    if not isinstance(data, Path):
        return _source(lambda choose: mark_missing(to_polars(data, choose), given.missing), given)
    check_input(given.model_copy(update={"path": str(data)}))
    path, found = data, None
    if has_names(path) and given.names is not None:
        message = f"Column names are given, but {path} has its own."
        raise RecipeError(
            "recipe.invalid", message, "give names only for a text file or a sheet without a header line"
        )
    if is_text(path) and given.names is None:
        records = first_records(path, given)
        found = has_header(records) if header is None else None
        if header is False or found is False:
            names = [f"column_{at}" for at in range(1, len(records[0]) + 1)] if records else None
            given = given.model_copy(update={"header": False, "names": names})
    source = _source(lambda choose: read(path, given, choose), given, found)
    conventions = found_conventions(source.table) if is_text(path) else {}
    given = source.given.model_copy(update=conventions)
    return replace(source, table=as_usual(source.table, given), given=given)


def has_header(records: list[list[str]]) -> bool:
    """Return whether the first record looks like column names rather than like the records below it.

    Examples
    --------
    >>> has_header([["age", "sex"], ["31", "f"], ["33", "f"]]), has_header([["31", "f"], ["33", "f"]])
    (True, False)
    """
    if len(records) < 2:
        return True
    votes = 0
    for at, cell in enumerate(records[0]):
        below = [record[at].strip() for record in records[1:] if at < len(record)]
        votes += _vote(cell.strip(), below)
    return votes >= 0


def _vote(cell: str, below: list[str]) -> int:
    """Return more than 0 if a cell differs in form from those below it, less if it could be one of them.

    A number above numbers, or a word above them, counts twice.
    """
    filled = [other for other in below if other]
    data = sum(bool(_DATUM.fullmatch(other)) for other in filled)
    if data < 0.8 * len(filled):
        return -1 if cell in filled else _vote_by_form(cell, filled)
    if not filled or not _DATUM.fullmatch(cell):
        return 2 * bool(filled)
    years = sum(bool(_YEAR.fullmatch(other)) for other in filled)
    return 2 if _YEAR.fullmatch(cell) and years < 0.5 * len(filled) else -2


def _vote_by_form(cell: str, below: list[str]) -> int:
    """Compare a text with texts that are nearly all of one form, such as `A9` for P1234567."""
    form, times = Counter(map(_form, below)).most_common(1)[0]
    if times < 0.8 * len(below):
        return 0
    if _form(cell) != form:
        return 1
    return -1 if any(char in form for char in "9 @") else 0  # a single word may be a name or a value


def _form(text: str) -> str:
    """Return the classes of a text's characters: A for capital letters, a for others, 9 for digits."""
    classes = (
        "9" if char.isdigit() else "A" if char.isupper() else "a" if char.isalpha() else char for char in text
    )
    return "".join(char for char, _ in groupby(classes))


def _source(reader: Any, given: Input, found: bool | None = None) -> Source:
    names: list[str] = []

    def every(present: list[str]) -> Collection[str]:
        names[:] = present
        return present

    unusable: list[str] = []
    try:
        table = reader(every)
    except DataError as error:
        unusable = [name for name in names if error.code in _BY_COLUMN and not _is_readable(reader, name)]
        if not unusable or len(unusable) == len(names):
            raise
        usable = [name for name in names if name not in unusable]
        table = reader(lambda _: usable)
    names = names or table.columns
    marks = found_marks(table)
    given = given.model_copy(update={"missing": list(dict.fromkeys([*given.missing, *marks]))})
    if marks:
        table = mark_missing(table, given.missing)
    return Source(table, given, unusable, names, found)


_BY_COLUMN = ("data.kind", "data.unreadable")


def _is_readable(reader: Any, name: str) -> bool:
    choose: Choose = lambda _: [name]  # noqa: E731  # a choice of columns is a callable
    try:
        reader(choose)
    except DataError:
        return False
    return True


def found_marks(table: pl.DataFrame) -> list[str]:
    """Return the usual marks for missing values that texts of the table use."""
    found: set[str] = set()
    for name in table.columns:
        texts = series(table, name)
        if texts.dtype == pl.String:
            used = set(texts.filter(texts.is_in(MARKS)).unique().to_list())
            if "NA" in used and _are_state_codes(texts):  # Namibia
                used.discard("NA")
            found |= used
    return [mark for mark in MARKS if mark in found]


def _are_state_codes(texts: pl.Series) -> bool:
    codes = texts.drop_nulls().unique()
    return len(codes) > 5 and bool(codes.str.contains(f"^{_STATE_CODE.pattern}$").all())
