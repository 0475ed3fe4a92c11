"""Whole numbers that look like codes: as numbers they are published as ranges, which mean nothing."""

from __future__ import annotations

import re

import numpy as np

from shoal.recipe import Recipe
from shoal.table.columns import Encoded, RangeColumn
from shoal.wording import setting

_FEWEST, _FEW = 3, 50  # different values of a column of codes
_FEW_UNNAMED = 20  # where nothing about the name says so
_CLEAR = 3.0  # standard deviations by which the rows of neighbouring values differ

_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+|[0-9]+")
_CODES = {
    "area", "branch", "canton", "category", "class", "cluster", "code", "codes", "county", "department",
    "district", "ethnicity", "group", "id", "industry", "kind", "nationality", "occupation", "province",
    "race", "region", "religion", "sector", "state", "status", "type", "zone",
}  # fmt: skip
_QUANTITIES = {
    "age", "ages", "amount", "birth", "children", "count", "day", "days", "distance", "duration", "grade",
    "height", "hour", "hours", "income", "length", "level", "minutes", "month", "months", "n", "num",
    "number", "percent", "price", "rank", "rate", "rooms", "salary", "score", "size", "visits", "wage",
    "week", "weeks", "weight", "year", "years",
}  # fmt: skip


def code_remarks(encoded: Encoded, recipe: Recipe) -> tuple[str, ...]:
    """Name the columns of whole numbers, taken for numbers without being asked, that look like codes."""
    return tuple(
        _remark(column)
        for column in encoded.columns
        if isinstance(column, RangeColumn)
        and column.kind == "numeric"
        and recipe.columns[column.name].kind is None
        and looks_like_codes(column)
    )


def looks_like_codes(column: RangeColumn) -> bool:
    """Return whether few whole numbers are more likely codes than quantities.

    The name decides if it has a word for either. Otherwise the numbers are codes if most of their range is
    empty, or if the rows of neighbouring numbers go up and down: those of a quantity rise and fall slowly.
    """
    numbers = column.numbers
    if numbers.dtype.kind != "i" or not _FEWEST <= len(numbers) <= _FEW:
        return False
    words = {word.lower() for word in _WORD.findall(column.name)}
    if words & (_QUANTITIES | _CODES):
        return bool(words & _CODES) and not words & _QUANTITIES
    if not _FEWEST + 2 <= len(numbers) <= _FEW_UNNAMED:
        return False
    counts = np.bincount(column.codes[column.codes != column.missing], minlength=len(numbers))
    steps = np.diff(counts) / np.sqrt(counts[1:] + counts[:-1] + 1.0)
    turns = (steps[1:] * steps[:-1] < 0) & (np.minimum(abs(steps[1:]), abs(steps[:-1])) > _CLEAR)
    is_sparse = int(numbers[-1]) - int(numbers[0]) + 1 >= 2 * len(numbers) and counts.min() >= _FEW
    return bool(is_sparse or 2 * turns.sum() >= len(turns))


def _remark(column: RangeColumn) -> str:
    return (
        f"Column `{column.name}` has {len(column.numbers)} different whole numbers and is taken for a "
        f"number, so it is published as ranges. If these are codes, set "
        f"{setting(f'columns.{column.name}', 'kind', 'categorical')}; "
        f"if not, {setting(f'columns.{column.name}', 'kind', 'numeric')} says so."
    )
