"""Read published labels as ranges or as sets of leaves, without the raw table."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from math import inf, nan

import numpy as np
import polars as pl

from shoal.arrays import IntArray
from shoal.errors import DataError
from shoal.hierarchy.periods import text_of
from shoal.hierarchy.tree import Tree
from shoal.measure import foreign
from shoal.measure.numbers import Ends, calendar_period, ends_of, in_unit, number_of
from shoal.table.forms import Lost, Range, Set, Value, parse
from shoal.utility.spread import LeafSpread, LineSpread

_LEADING_ZERO = re.compile(r"[+-]?0[0-9]")  # a code, such as a postcode, not a number
_QUARTER = re.compile(r"([0-9]{4})-Q([1-4])")
_DECADE = re.compile(r"([0-9]{3}0)s")
_WEEK = re.compile(r"([0-9]{4})-W([0-9]{2})")


@dataclass(frozen=True, repr=False)  # a repr would show values
class Texts:
    """The published texts of a column: the different ones, and which of them each row has.

    Parameters
    ----------
    distinct : list of tuples
        A label each; or two, the lower and the upper bound in separate columns.
    blanks : set of str
        Texts that mean missing, unless they are values.
    """

    distinct: list[tuple[str | None, ...]]
    label: IntArray
    blanks: frozenset[str]

    @classmethod
    def of(cls, *columns: pl.Series, missing: Collection[str] = ()) -> Texts:
        """Number the different texts of a column, or of two columns of bounds."""
        plain = pl.DataFrame({str(at): column.cast(pl.String) for at, column in enumerate(columns)})
        distinct = plain.unique(maintain_order=True).with_row_index("label")
        found = plain.join(distinct, on=plain.columns, how="left", nulls_equal=True, maintain_order="left")
        label = found["label"].to_numpy().astype(np.int32)
        return cls(distinct.drop("label").rows(), label, frozenset({"", *foreign.BLANKS, *missing}))

    def is_blank(self, label: tuple[str | None, ...]) -> bool:
        """Return whether a label means that the value is missing."""
        return all(text is None or text in self.blanks for text in label)


def read_line(
    name: str,
    texts: Texts,
    kind: str,
    order: Sequence[str] = (),
    nodes: Mapping[str, Ends] | None = None,
    *,
    all_of: Ends | None = None,
) -> LineSpread:
    """Read ranges.

    Parameters
    ----------
    nodes : mapping of str to pair of numbers, optional
        The ends of the nodes of a tree whose labels are not ranges.
    all_of : pair of numbers, optional
        The range that lost cells stand for if no other row says more.
    """
    reader = _LineReader(kind, order, nodes or {})
    ends = [reader.ends(label) for label in texts.distinct]
    whole = kind != "numeric" or all(_is_whole(end) for pair in ends if pair for end in pair)
    if whole:  # [15, 55[ then ends with 54
        ends = [reader.ends(label, whole=True) for label in texts.distinct]
    blank = [pair is None and texts.is_blank(label) for pair, label in zip(ends, texts.distinct, strict=True)]
    lost = [pair is None and _is_lost(label) for pair, label in zip(ends, texts.distinct, strict=True)]
    if not any(ends):
        ends = [all_of if is_lost else None for is_lost in lost]
    lost = [pair is None and is_lost for pair, is_lost in zip(ends, lost, strict=True)]
    unread = [not any(one) for one in zip(ends, blank, lost, strict=True)]
    if any(unread):
        raise _fault(name, texts, unread, "a value or a range")
    pairs = np.array([_plain(pair) for pair in ends], np.float64).reshape(-1, 2)
    # An open end is at the lowest or highest number of the release.
    finite = pairs[np.isfinite(pairs)]
    low, high = np.clip(pairs, finite.min(), finite.max()).T if len(finite) else np.full_like(pairs, nan).T
    return LineSpread(
        name, kind, texts.label, low, high, np.array(blank, float), np.array(lost, float), whole, tuple(order)
    )


def _is_whole(end: float | None) -> bool:
    return end is None or isinstance(end, int)


def _plain(ends: Ends | None) -> tuple[float, float]:
    """Return the ends as numbers; open ones are infinite, and NaN means that there is no range."""
    if ends is None:
        return nan, nan
    low, high = ends
    return -inf if low is None else float(low), inf if high is None else float(high)


class _LineReader:
    """Reads the labels of a column of numbers, dates or ordered values."""

    def __init__(self, kind: str, order: Sequence[str], nodes: Mapping[str, Ends]) -> None:
        self._kind = kind
        self._number = number_of(kind, tuple(order))
        self._nodes = nodes

    def ends(self, label: tuple[str | None, ...], *, whole: bool = False) -> Ends | None:
        """Return the ends of a label; None if it is missing or lost, or cannot be read."""
        if len(label) == 2:
            return self._between(*label)
        (text,) = label
        value = parse(text)
        if text is None or value is None or isinstance(value, Lost):
            return None
        if isinstance(value, Range) and (found := self._between(value.low, value.high)):
            return found
        if isinstance(value, Set) and (found := self._around(value.members)):
            return found
        plain = value.text if isinstance(value, Value) else text
        return self._between(plain, plain) or self._foreign(plain, whole) or self._between(text, text)

    def _between(self, low: str | None, high: str | None) -> Ends | None:
        if low is None or high is None:
            return None
        first, last = self._place(low), self._place(high)
        return None if first is None or last is None else (first[0], last[1])

    def _place(self, text: str) -> Ends | None:
        """Return the ends of one value: a month or a year has several days."""
        number = self._number(text)
        if number is not None:
            return number, number
        period = calendar_period(text, "day") if self._kind == "date" else None
        return None if period is None else ends_of(period, self._number, whole=True)

    def _around(self, members: Sequence[str]) -> Ends | None:
        numbers = [found for member in members if (found := self._number(member)) is not None]
        return (min(numbers), max(numbers)) if len(numbers) == len(members) else None

    def _foreign(self, text: str, whole: bool) -> Ends | None:
        """Read a calendar period, an interval or a mask as other tools write it, or the node of a tree."""
        found = foreign.interval(text)
        if self._kind == "date":
            found = calendar_period(text, "day") or (found and in_unit(found, "day")) or found
            ends = self._between_dates(found) if found else _longer_period(text)
        else:
            ends = ends_of(found, self._number, whole=whole) if found else self._masked(text)
        return ends or self._nodes.get(text)

    def _between_dates(self, found: foreign.Interval) -> Ends | None:
        """Return the days of an interval of days or of months."""
        days = ends_of(found, self._number, whole=True)
        months = None if days else ends_of(found, number_of("date", unit="month"), whole=True)
        if months is None:
            return days
        first, last = (None if end is None else self._place(text_of(int(end), "month")) for end in months)
        return first and first[0], last and last[1]

    def _masked(self, text: str) -> Ends | None:
        mask = foreign.mask(text)
        if self._kind != "numeric" or mask is None or not (mask.kept.isdecimal() and mask.kept.isascii()):
            return None
        return int(mask.kept.ljust(mask.length, "0")), int(mask.kept.ljust(mask.length, "9"))


def found_kind(texts: Texts) -> str:
    """Detect from the labels alone whether a column has numbers, dates or categories."""
    stated = [label for label in texts.distinct if not texts.is_blank(label) and not _is_lost(label)]
    if any(_LEADING_ZERO.match(text) for label in stated for text in label if text):
        return "categorical"
    for kind in ("numeric", "date"):
        reader = _LineReader(kind, (), {})
        if stated and all(reader.ends(label) for label in stated):
            return kind
    return "categorical"


def _longer_period(text: str) -> Ends | None:
    """Read a quarter, a decade or a week, as in trees of dates, in days since 1970.

    >>> _longer_period("1970-Q1"), _longer_period("1970s")
    ((0, 89), (0, 3651))
    """
    if found := _QUARTER.fullmatch(text):
        year, last_month = int(found[1]), 3 * int(found[2])
        return _days(date(year, last_month - 2, 1)), _days(_month_after(date(year, last_month, 1))) - 1
    if found := _DECADE.fullmatch(text):
        return _days(date(int(found[1]), 1, 1)), _days(date(int(found[1]) + 9, 12, 31))
    if found := _WEEK.fullmatch(text):
        first = _days(date.fromisocalendar(int(found[1]), int(found[2]), 1))
        return first, first + 6
    return None


def _month_after(day: date) -> date:
    return (day.replace(day=1) + timedelta(days=32)).replace(day=1)


def _days(day: date) -> int:
    return (day - date(1970, 1, 1)).days


def _is_lost(label: tuple[str | None, ...]) -> bool:
    mask = foreign.mask(label[0] or "")
    return isinstance(parse(label[0]), Lost) or (mask is not None and not mask.kept)


def read_leaves(
    name: str, texts: Texts, leaves: Sequence[str], tree: Tree | None = None, *, all_of: Sequence[int] = ()
) -> LeafSpread:
    """Read sets of leaves: nodes of a tree, or values, sets and masks of a column without a tree.

    `all_of` are the leaves that lost cells stand for if no other row says more.
    """
    reader = _LeafReader(leaves, tree, texts.blanks)
    read = [reader.leaves(text) for (text,) in texts.distinct]
    unread = [codes is None for codes in read]
    if any(unread):
        raise _fault(name, texts, unread, "a value, a set or a node")
    found = [codes or [] for codes in read]
    blank = np.array(
        [not codes and texts.is_blank(text) for codes, text in zip(found, texts.distinct, strict=True)]
    )
    if not any(found):
        found = [[] if is_blank else list(all_of) for is_blank in blank]
    lost = np.array([not codes for codes in found]) & ~blank
    return LeafSpread(
        name,
        texts.label,
        tuple(leaves),
        np.repeat(np.arange(len(found), dtype=np.int32), [len(codes) for codes in found]),
        np.array([leaf for codes in found for leaf in codes], np.int32),
        blank.astype(np.float64),
        lost.astype(np.float64),
    )


class _LeafReader:
    """Reads the labels of a column of categories."""

    def __init__(self, leaves: Sequence[str], tree: Tree | None, blanks: frozenset[str]) -> None:
        self._code = {leaf: at for at, leaf in enumerate(leaves)}
        self._tree = tree
        self._blanks = blanks
        self._node = {} if tree is None else {label: node for node, label in enumerate(tree.labels)}

    def leaves(self, text: str | None) -> list[int] | None:
        """Return the leaves of a label: none where it is missing or lost, None where it cannot be read."""
        value = parse(text)
        if text is None or value is None or isinstance(value, Lost):
            return []
        if isinstance(value, Set) and all(member in self._code for member in value.members):
            return sorted({self._code[member] for member in value.members})
        plain = value.text if isinstance(value, Value) else text
        if plain in self._code:
            return [self._code[plain]]
        if plain in self._node:
            return self._below(self._node[plain])
        mask = foreign.mask(plain)
        if mask is not None:
            return _held(mask, self._code) if mask.kept else []
        if text in self._code:  # a raw text that another tool did not escape
            return [self._code[text]]
        return [] if plain in self._blanks else None

    def _below(self, node: int) -> list[int]:
        if node == 0 or self._tree is None:  # the root says nothing
            return []
        return list(range(int(self._tree.first_leaf[node]), int(self._tree.last_leaf[node]) + 1))


def _held(mask: foreign.Mask, code: Mapping[str, int]) -> list[int]:
    """Return the codes of the values that a masked one may be."""
    return [at for leaf, at in code.items() if len(leaf) == mask.length and leaf.startswith(mask.kept)]


def values_in(texts: Texts) -> list[str]:
    """Return all categories that the labels of a column without a tree name, sorted.

    A masked label is a category of its own if the release has none of the values that it may stand for.
    """
    parsed = [parse(text) for (text,) in texts.distinct]
    sets = {member for value in parsed if isinstance(value, Set) for member in value.members}
    single = {value.text for value in parsed if isinstance(value, Value)}
    masks = {text: mask for text in single if (mask := foreign.mask(text)) is not None}
    named = {text: 0 for text in sets | (single - set(masks)) if text not in texts.blanks}
    unknown = {text for text, mask in masks.items() if mask.kept and not _held(mask, named)}
    return sorted({*named, *unknown})


def _fault(name: str, texts: Texts, unread: Sequence[bool], what: str) -> DataError:
    cells = int(np.bincount(texts.label, weights=np.array(unread, float)[texts.label]).sum())
    message = f"Column `{name}` of the release has {cells:,} cells that cannot be read."
    return DataError("data.labels", message, f"each cell should be {what}; give the recipe of the release")
