"""Choose how to build a hierarchy for the values of a column, and build it."""

from __future__ import annotations

import datetime
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from shoal.hierarchy import build
from shoal.hierarchy.periods import number_of, text_of, unit_of
from shoal.hierarchy.tree import Tree

# Letters and digits, with separators that are common in codes, and at least one digit.
_CODE = re.compile(r"(?=.*\d)[^\W_]+(?:[.\-/ ]?[^\W_]+)*")
_DATE_LEVELS = {"day": ("month", "year"), "month": ("year", "decade"), "year": ("decade",)}


@dataclass(frozen=True)
class Plan:
    """How a tree is built: the builder, its levels if any, and why it was chosen."""

    builder: Literal["flat", "default", "intervals", "prefix", "dates", "codes", "induce"]
    levels: tuple[Any, ...] = ()
    reason: str = ""

    def __str__(self) -> str:
        listed = ", ".join(map(str, self.levels))
        text = {
            "flat": "flat, all values directly under the root",
            "default": "intervals of 1/16, 1/8, 1/4 and 1/2 of the range",
            "intervals": f"intervals of {listed}",
            "prefix": f"prefix, masking {listed} more of the last characters at each level",
            "dates": f"dates by {listed}",
            "codes": f"the known structure of {listed}",
            "induce": f"induced from how often values occur together with those of {listed}",
        }[self.builder]
        return f"{text} (chosen: {self.reason})" if self.reason else text


def suggest(kind: str, values: Sequence[Any]) -> Plan:
    """Choose a builder for the distinct values of a column.

    Examples
    --------
    >>> [suggest("categorical", values).builder for values in (["I20", "J45"], ["yes", "not"])]
    ['prefix', 'flat']
    """
    if kind == "numeric":
        return Plan("default", reason="the column is numeric")
    if kind == "date":
        unit = unit_of(str(values[0])) if values else "day"
        what = "dates" if unit == "day" else f"{unit}s"
        return Plan("dates", _DATE_LEVELS[unit], f"the column contains {what}")
    if _are_codes(values):
        return Plan("prefix", (1,), "the values look like codes of equal length")
    return Plan("flat", reason="the texts have no known structure; group them by hand in the file")


def grow(plan: Plan, values: Sequence[Any], column: str, kind: str = "") -> Tree:
    """Build the tree of a plan over distinct canonical values: numbers, dates or texts.

    Months and years are texts; only `kind` distinguishes them from other texts.

    Raises
    ------
    HierarchyError
        If the builder refuses the values.
    """
    if plan.builder == "intervals":
        return build.intervals(values, plan.levels, column)
    if plan.builder == "dates":
        return build.dates(values, plan.levels, column)
    if plan.builder == "prefix":
        return build.prefix(leaf_texts(values), plan.levels[0], column)
    if plan.builder == "default" and values and (kind == "date" or isinstance(values[0], datetime.date)):
        texts = leaf_texts(values)
        unit = unit_of(texts[0])
        numbers = [number for text in texts if (number := number_of(text, unit)) is not None]
        # An interval may end after the last day that a date can represent.
        return build.default_intervals(numbers, column, text=lambda number: text_of(int(number), unit))
    if plan.builder == "default" and values and not isinstance(values[0], str):
        return build.default_intervals(values, column)
    return build.flat(leaf_texts(values), column)


def leaf_texts(values: Sequence[Any]) -> list[str]:
    """Return the leaf labels of canonical values."""
    return [build.number_text(value) if isinstance(value, (int, float)) else str(value) for value in values]


def _are_codes(values: Sequence[str]) -> bool:
    """Return whether texts are codes: several, of equal length, each with a digit."""
    lengths = {len(value) for value in values}
    return (
        len(values) > 1
        and len(lengths) == 1
        and lengths.pop() > 1
        and all(_CODE.fullmatch(value) for value in values)
    )
