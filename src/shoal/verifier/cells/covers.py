"""Which raw values a published cell covers, column by column, derived from the contract.

Raw cells are read as *keys*: None for missing, numbers, positions in an order, texts, or the numbers of days,
months or years.
What a published cell covers is a set of keys or a span of them, or everything (None).
"""

from __future__ import annotations

import re
import struct
import unicodedata
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from fractions import Fraction
from math import inf
from typing import Any, Final

from shoal.recipe import Column, Recipe
from shoal.verifier.cells.dates import Precision, iso, period_of, precision_of, raw_number
from shoal.verifier.cells.foreign import Interval, Kind, Lost, Members, Prefix, read_foreign
from shoal.verifier.cells.form import members
from shoal.verifier.cells.nodes import tree_nodes
from shoal.verifier.reading.value import BLANKS

Key = Any  # None, OTHER, a number, a position or a text

_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)
_WHOLE = re.compile(r"[+-]?\d+", re.ASCII)
_CODE = re.compile(r"[+-]?0\d", re.ASCII)  # 007 is a code, not a number
_LINES: dict[str, Kind] = {"numeric": "numeric", "date": "date"}
_STORED_NUMBERS = re.compile(r"U?(TINY|SMALL|BIG|HUGE)?INT(EGER)?|FLOAT|DOUBLE|DECIMAL\(.*\)")


class _Other:
    """A raw cell that is not of its column's kind; only ``*`` covers it."""


OTHER: Final = _Other()


@dataclass(frozen=True)
class Span:
    """Everything from `low` to `high`, except for an end that it is `without`."""

    low: Key
    high: Key
    without_high: bool = False
    without_low: bool = False


Cover = Span | frozenset[Key] | set[Key] | None
_NOTHING: frozenset[Key] = frozenset()
_MISSING: frozenset[Key] = frozenset([None])


@dataclass(frozen=True)
class Reading:
    """How the cells of one quasi column are read.

    Parameters
    ----------
    key : callable
        The key of a raw cell.
    cover : callable
        What the cell of a release covers, given as one text, or as a low and a high one.
    """

    key: Callable[[str | None], Key]
    cover: Callable[[Sequence[str | None]], Cover]


def reading(recipe: Recipe, name: str, cells: Collection[str | None], stored: str) -> Reading:
    """Determine how a column is read.

    Parameters
    ----------
    recipe : Recipe
        Defines kind, order, hierarchy and which texts mean missing.
    name : str
        The column.
    cells : collection of str or None
        The distinct raw cells that it has in the original.
    stored : str
        Its type in the original, as DuckDB names it; empty for a text file.
    """
    column = recipe.columns[name]
    clean = _cleaner(recipe.input.missing, stored)
    texts = {text for text in map(clean, cells) if text is not None}
    # In a typed table, an empty text cannot be distinguished from a missing one: see `load`.
    has_blanks = bool(stored) and _is_text(stored) and "" not in recipe.input.missing and None in cells
    if has_blanks:
        texts.add("")
    kind = column.kind or found_kind(texts, column, stored)
    if column.hierarchy is not None:
        key, cover = _of_tree(recipe, name, kind, texts, stored)
    elif kind == "numeric":
        key, cover = _of_line(_number_key(texts, stored), _number_key(texts, ""))
    elif kind == "date":
        key, cover = _of_line(_date_key(texts), _date_key(texts))
    elif kind == "ordinal":
        key, cover = _of_order(column.order or [], stored)
    else:
        key, cover = _of_texts(stored)

    known = {key(text) for text in texts}

    def key_of_cell(cell: str | None) -> Key:
        text = clean(cell)
        return None if text is None else key(text)

    def cover_of_cells(published: Sequence[str | None]) -> Cover:
        if len(published) == 2:
            return _between(published[0], published[1], lambda end: key(_normal(end)))
        (text,) = published
        if text is None or text == "*":
            return _MISSING if text is None else None
        covered = cover(text)
        if isinstance(covered, frozenset) and known.isdisjoint(covered):
            precision = precision_of(texts) if kind == "date" else "day"
            shown_as = kind if column.hierarchy is None else "node"
            return _of_another_tool(text, shown_as, precision, known, covered)
        return (
            {*covered, None} if has_blanks and isinstance(covered, frozenset) and "" in covered else covered
        )

    return Reading(key_of_cell, cover_of_cells)


def _of_another_tool(
    text: str, kind: str, precision: Precision, known: Collection[Key], otherwise: Cover
) -> Cover:
    """Read a cell that is in none of our own forms as another tool may have written it."""
    line: Kind = precision if kind == "date" and precision != "day" else _LINES.get(kind, "text")
    found = read_foreign(text, line)
    if isinstance(found, Lost):
        return None
    if isinstance(found, Prefix) and kind == "categorical":
        texts = (key for key in known if isinstance(key, str) and len(key) == found.length)
        return frozenset(key for key in texts if key.startswith(found.kept))
    if isinstance(found, Members):
        return frozenset(_point(point, precision) for point in found.points)
    if isinstance(found, Interval):
        low = -inf if found.low is None else _point(found.low, precision)
        high = inf if found.high is None else _point(found.high, precision)
        return Span(low, high, not found.include_high, not found.include_low)
    return otherwise


def _point(end: Decimal | date, precision: Precision) -> int | float:
    """Return the key of an end: the number of a day, month or year, a whole number, or a float."""
    if isinstance(end, date):
        return period_of(end, precision)
    return int(end) if end == end.to_integral_value() else float(end)


def _between(low: str | None, high: str | None, key: Callable[[str], Key]) -> Cover:
    """Read a range from two columns, which are both empty whether the value is lost or missing."""
    if low is None and high is None:
        return None
    if low is None or high is None:
        return _NOTHING
    return _span(key(low), key(high))


def _span(low: Key, high: Key, *, without_high: bool = False) -> Cover:
    return _NOTHING if low is OTHER or high is OTHER else Span(low, high, without_high)


def _cleaner(missing: Sequence[str], stored: str) -> Callable[[str | None], str | None]:
    """Trim a raw cell; None if it means missing. A typed table has no texts for missing numbers."""
    means_missing = set(missing)
    is_text = _is_text(stored)

    def clean(cell: str | None) -> str | None:
        if not is_text or (cell is None and stored):
            return None if cell == "nan" else cell
        text = _normal(cell or "")
        return None if text in means_missing else text

    return clean


def _is_text(stored: str) -> bool:
    return stored in ("", "VARCHAR") or stored.startswith("ENUM")


def _normal(text: str) -> str:
    return unicodedata.normalize("NFC", text.strip(BLANKS))


def found_kind(texts: Collection[str], column: Column, stored: str) -> str:
    """Find the kind that a recipe leaves open, as the contract defines it.

    Examples
    --------
    >>> quasi = Column(role="quasi")
    >>> [found_kind(texts, quasi, "") for texts in (["1", "2.5"], ["01", "22"], ["2024-02-29"], [])]
    ['numeric', 'categorical', 'date', 'categorical']
    >>> [found_kind(texts, quasi, "") for texts in (["1952/09", "10.1952"], ["1952"], ["1952", "1952-09"])]
    ['date', 'numeric', 'categorical']
    """
    hierarchy = column.tree
    if isinstance(hierarchy, dict) and len(hierarchy) == 1:
        built = {"intervals": "numeric", "dates": "date", "prefix": "categorical"}
        return built.get(next(iter(hierarchy)), "categorical")
    if hierarchy is not None:
        return "categorical"
    if _STORED_NUMBERS.fullmatch(stored):
        return "numeric"
    if texts and all(_NUMBER.fullmatch(text) and not _CODE.match(text) for text in texts):
        return "numeric"
    # Years alone are numbers.
    is_date = any(all(raw_number(text, each) is not None for text in texts) for each in ("day", "month"))
    return "date" if texts and is_date else "categorical"


def _number_key(texts: Collection[str], stored: str) -> Callable[[str], Key]:
    """Read numbers: exactly if all in the column are whole, otherwise as floats."""
    exact = all(_WHOLE.fullmatch(text) and -(2**63) <= int(text) < 2**63 for text in texts)

    def key(text: str) -> Key:
        if not _NUMBER.fullmatch(text):
            return OTHER
        if exact and _WHOLE.fullmatch(text):
            return int(text)
        number = float(text)
        if stored == "FLOAT":  # written with only the digits that distinguish it from other 32-bit floats
            number = struct.unpack("f", struct.pack("f", number))[0]
        return number if abs(number) < float("inf") else OTHER

    return key


def _number_text(number: float) -> str:
    """Format a number as in a release."""
    return str(number) if isinstance(number, int) else repr(number + 0.0).removesuffix(".0")


def _date_key(texts: Collection[str]) -> Callable[[str], Key]:
    """Read dates of the precision that all cells of the column have."""
    precision = precision_of(texts)

    def key(text: str) -> Key:
        number = raw_number(text, precision)
        return OTHER if number is None else number

    return key


def _ends(text: str, brackets: str = "[]") -> list[str] | None:
    """Split a range or a set; None if it is neither."""
    return members(text[1:-1]) if text.startswith(brackets[0]) and text.endswith(brackets[1]) else None


def _bare(text: str) -> str:
    return text.removeprefix("\\")


Key_and_cover = tuple[Callable[[str], Key], Callable[[str], Cover]]


def _of_line(key: Callable[[str], Key], end: Callable[[str], Key]) -> Key_and_cover:
    """Read numbers or dates: values and ranges."""

    def cover(text: str) -> Cover:
        ends = _ends(text)
        if ends is None:
            ends = [text, text]
        return _span(end(ends[0]), end(ends[1])) if len(ends) == 2 else _NOTHING

    return key, cover


def _of_order(order: Sequence[str], stored: str) -> Key_and_cover:
    """Read the values of an order as their positions in it."""
    canonical = text_key(stored)
    position = {canonical(_normal(value)): place for place, value in enumerate(order)}

    def key(text: str) -> Key:
        return position.get(canonical(text), OTHER)

    def cover(text: str) -> Cover:
        ends = _ends(text)
        if ends is None:
            ends = [_bare(text)] * 2
        return _span(key(ends[0]), key(ends[1])) if len(ends) == 2 else _NOTHING

    return key, cover


def text_key(stored: str) -> Callable[[str], str]:
    """Return a function that makes texts comparable; stored numbers may be written in many ways."""
    if not _STORED_NUMBERS.fullmatch(stored):
        return str

    def key(text: str) -> str:
        if _WHOLE.fullmatch(text):
            return str(int(text))
        return _number_text(float(text)) if _NUMBER.fullmatch(text) else text

    return key


def _of_texts(stored: str) -> Key_and_cover:
    """Read categories without a hierarchy: values and sets."""
    key = text_key(stored)

    def cover(text: str) -> Cover:
        if _ends(text) is not None:
            return _NOTHING
        inside = _ends(text, "{}")
        return frozenset(map(key, [_bare(text)] if inside is None else inside))

    return key, cover


def _of_tree(recipe: Recipe, name: str, kind: str, texts: Collection[str], stored: str) -> Key_and_cover:
    """Read the nodes of a hierarchy."""
    hierarchy = recipe.columns[name].tree
    if isinstance(hierarchy, dict) and "intervals" in hierarchy and kind == "numeric":
        number = _number_key(texts, stored)
        return _of_intervals([*map(number, texts)], hierarchy["intervals"], number)
    key = leaf_key(kind, texts, stored)
    keys = {found for text in texts if (found := key(text)) is not OTHER}
    nodes = tree_nodes(recipe, name, kind, keys, text_key(stored) if kind == "categorical" else str)
    return key, lambda text: nodes.get(_bare(text), _NOTHING)


def leaf_key(kind: str, texts: Collection[str], stored: str) -> Callable[[str], Key]:
    """Return a function from a cell to the key of a leaf; `texts` are all cells of the column."""
    if kind == "numeric":
        return _as_text(_number_key(texts, stored), _number_text)
    if kind == "date":
        precision = precision_of(texts)
        return _as_text(_date_key(texts), lambda number: iso(number, precision))
    return text_key(stored)


def line_key(column: Column, kind: str, texts: Collection[str], stored: str) -> Callable[[str], Key] | None:
    """Return a function from a cell to an ordered key; None for a kind without an order."""
    if kind == "numeric":
        return _number_key(texts, stored)
    if kind == "date":
        return _date_key(texts)
    return _of_order(column.order or [], stored)[0] if kind == "ordinal" else None


def _as_text(read: Callable[[str], Key], write: Callable[[Any], str]) -> Callable[[str], Key]:
    def key(text: str) -> Key:
        found = read(text)
        return OTHER if found is OTHER else write(found)

    return key


def _of_intervals(
    numbers: Sequence[Key], widths: Sequence[float], number: Callable[[str], Key]
) -> Key_and_cover:
    """Read intervals. On whole numbers both ends are inside; otherwise the high end begins the next one."""
    present = [decimal(found) for found in numbers if found is not OTHER]
    whole = all(Fraction(found).denominator == 1 for found in [*present, *map(decimal, widths)])

    def key(text: str) -> Key:
        found = number(text)
        return OTHER if found is OTHER else decimal(found)

    def cover(text: str) -> Cover:
        ends = _ends(text)
        if ends is None:
            return _span(key(text), key(text))
        return _span(key(ends[0]), key(ends[1]), without_high=not whole) if len(ends) == 2 else _NOTHING

    return key, cover


def decimal(number: float) -> int | Fraction:
    """Return the decimal as it is written: 0.1 is one tenth, not the nearest float."""
    exact = Fraction(repr(number))
    return int(exact) if exact.denominator == 1 else exact
