"""Which rows of another table lie inside the classes of a release, read from published values alone."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from fractions import Fraction
from itertools import chain

import numpy as np
import numpy.typing as npt
import polars as pl

from shoal.errors import DataError
from shoal.table import frames
from shoal.table.columns import Encoded, IntArray, QuasiColumn, RangeColumn, TreeColumn
from shoal.table.forms import LOST, Published, Range, Set, Value, parse

_NUMBER = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?(e[+-]?[0-9]+)?")  # as numbers are published
_EPOCH = date(1970, 1, 1)

Values = dict[str | None, "PublishedValue"]  # by published text
Test = Callable[[IntArray], npt.NDArray[np.bool_]]  # which of these codes lie inside a published value


def narrowest_class(encoded: Encoded, frozen: pl.DataFrame) -> IntArray:
    """Return the narrowest earlier class that each row lies in, -1 for none."""
    texts = [frames.series(frozen, column.name).to_list() for column in encoded.columns]
    values = [values_of(column, set(given)) for column, given in zip(encoded.columns, texts, strict=True)]
    boxes = [[known[text] for text in given] for known, given in zip(values, texts, strict=True)]
    widths = [sum(value.cost for value in box) for box in zip(*boxes, strict=True)]
    box_of_row = np.full(encoded.n_rows, -1, np.int32)
    waiting = np.arange(encoded.n_rows)
    # The sort is stable and classes are in canonical order: ties go to the first.
    for at in sorted(range(frozen.height), key=widths.__getitem__):
        rows = waiting
        for column, of_column in zip(encoded.columns, boxes, strict=True):
            rows = rows[of_column[at].holds(column.codes[rows])]
        if len(rows):
            box_of_row[rows] = at
            waiting = waiting[box_of_row[waiting] < 0]
    return box_of_row


@dataclass(frozen=True, repr=False)
class PublishedValue:
    """A published value: which of the new codes lie inside, and its weighted cost, exactly."""

    holds: Test
    cost: Fraction


def values_of(column: QuasiColumn, texts: set[str | None]) -> Values:
    """Read the different published texts of a column."""
    parsed = {text: parse(text) for text in texts}
    weight = Fraction(column.weight)
    known: Values = {}
    if None in parsed:
        known[None] = PublishedValue(_between(column.missing, column.missing), Fraction(0))
    if LOST in parsed:
        known[LOST] = PublishedValue(_between(0, column.missing), weight)
    others = {text: parsed[text] for text in parsed if text is not None and text != LOST}
    if isinstance(column, RangeColumn):
        known |= _ranges(column, others, weight)
    else:
        known |= _sets(column, others, weight) if column.is_flat else _nodes(column, others, weight)
    if len(known) < len(parsed):
        raise DataError(
            "data.kind",
            f"Column `{column.name}` is {column.kind} in the new rows, but {len(parsed) - len(known)} "
            "different values of the earlier release are not.",
            f"name the kind that the earlier release has: [columns.{column.name}] kind",
        )
    return known


def _ranges(column: RangeColumn, parsed: Mapping[str, Published], weight: Fraction) -> Values:
    """Read ranges of numbers, dates or ordered texts; leave out what is of another kind.

    The earlier raw table's range, which would be the yardstick for costs, is not known. All that is
    known takes its place: the published ends and the new values.
    """
    ends = {text: pair for text, value in parsed.items() if (pair := _ends(column, value)) is not None}
    numbers = column.numbers.tolist()
    line = [*chain(*ends.values()), *map(_exact, numbers[:1] + numbers[-1:])]
    span = max(line, default=Fraction(0)) - min(line, default=Fraction(0))

    def read(low: Fraction, high: Fraction) -> PublishedValue:
        first = bisect_left(numbers, low, key=_exact)
        last = bisect_right(numbers, high, key=_exact) - 1
        return PublishedValue(_between(first, last), weight * (high - low) / (span or 1))

    return {text: read(*pair) for text, pair in ends.items()}


def _ends(column: RangeColumn, value: Published) -> tuple[Fraction, Fraction] | None:
    """Return the ends of a published range, exactly; None for what is no range of the column's kind."""
    if isinstance(value, Range):
        low, high = _number(column, value.low), _number(column, value.high)
    elif isinstance(value, Value):
        low = high = _number(column, value.text)
    else:
        return None
    return None if low is None or high is None else (low, high)


def _number(column: RangeColumn, text: str) -> Fraction | None:
    if column.kind == "ordinal":
        return Fraction(column.order.index(text)) if text in column.order else None
    if column.kind == "date":
        try:
            return Fraction((date.fromisoformat(text) - _EPOCH).days)
        except ValueError:
            return None
    # A text such as 01067 is a code, not the number 1067.
    return Fraction(text) if _NUMBER.fullmatch(text) else None


def _exact(number: float) -> Fraction:
    """Return the decimal that a number is published as: 0.3 lies inside [0.3, 0.4]."""
    return Fraction(number) if isinstance(number, int) else Fraction(repr(number))


def _sets(column: TreeColumn, parsed: Mapping[str, Published], weight: Fraction) -> Values:
    """Read values and sets of values; leave out ranges."""
    code_of = {label: code for code, label in enumerate(column.tree.leaf_labels) if code != column.missing}

    def read(members: Sequence[str]) -> PublishedValue:
        codes = [code_of[member] for member in members if member in code_of]
        # Under a single root any two values are as far apart as can be.
        return PublishedValue(lambda given: np.isin(given, codes), weight * int(len(members) > 1))

    texts = {text: (value.text,) for text, value in parsed.items() if isinstance(value, Value)}
    sets = {text: value.members for text, value in parsed.items() if isinstance(value, Set)}
    return {text: read(members) for text, members in {**texts, **sets}.items()}


def _nodes(column: TreeColumn, parsed: Mapping[str, Published], weight: Fraction) -> Values:
    """Read the labels of a tree's nodes."""
    tree = column.tree
    # A label stands twice only where the second is the leaf for missing values, which is the last.
    node_of = {label: node for node, label in reversed(list(enumerate(tree.labels)))}

    def read(label: str) -> PublishedValue:
        node = node_of.get(label)
        if node is None:  # no new value is below it
            return PublishedValue(_between(0, -1), Fraction(0))
        # Only an empty text and `*` stand for missing values.
        last = min(int(tree.last_leaf[node]), column.missing - 1)
        cost = weight * int(tree.height[node]) / max(1, tree.total_height)
        return PublishedValue(_between(int(tree.first_leaf[node]), last), cost)

    # A label may itself look like a range, as those of interval trees do.
    return {text: read(value.text if isinstance(value, Value) else text) for text, value in parsed.items()}


def _between(low: int, high: int) -> Test:
    return lambda codes: (low <= codes) & (codes <= high)
