"""Parse published values, to find which values of another table they cover."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from itertools import chain

import numpy as np
import numpy.typing as npt

from shoal.arrays import IntArray
from shoal.errors import DataError
from shoal.hierarchy.periods import Unit, number_of
from shoal.table.columns import QuasiColumn, RangeColumn, TreeColumn
from shoal.table.forms import LOST, Published, Range, Set, Value, parse

_NUMBER = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?(e[+-]?[0-9]+)?")  # as published
_Number = Callable[[str], Fraction | None]


@dataclass(frozen=True, repr=False)
class Piece:
    """A published value: the codes of a table that it covers, and its exact weighted cost.

    Parameters
    ----------
    low, high : int
        The lowest and the highest covered code; low > high if there is none.
    members : ndarray of int32, or None
        The covered codes, ascending; None if these are all codes from `low` to `high`.
    cost : Fraction
        Between 0 and the column's weight.
    """

    low: int
    high: int
    members: IntArray | None
    cost: Fraction

    def holds(self, codes: IntArray) -> npt.NDArray[np.bool_]:
        """Mark the codes that are covered."""
        if self.members is not None:
            return np.isin(codes, self.members)
        return (self.low <= codes) & (codes <= self.high)


Pieces = dict[str | None, Piece]  # by published text


def pieces_of(column: QuasiColumn, texts: set[str | None], *, known_only: bool = False) -> Pieces:
    """Parse the distinct published texts of a column.

    A node or category that the table does not have covers none of its rows. With `known_only` it is an
    error instead, for a release that may have used another hierarchy, in which the node could cover any
    row. Sets and ranges are then also parsed if the column has a hierarchy.
    """
    parsed = {text: parse(text) for text in texts}
    weight = Fraction(column.weight)
    known: Pieces = {}
    if None in parsed:
        known[None] = Piece(column.missing, column.missing, None, Fraction(0))
    if LOST in parsed:
        known[LOST] = Piece(0, column.missing, None, weight)
    others = {text: parsed[text] for text in parsed if text is not None and text != LOST}
    if isinstance(column, RangeColumn):
        known |= _ranges(column, others, weight)
    elif column.is_flat:
        known |= _sets(column, others, weight, known_only=known_only)
    else:
        known |= _nodes(column, others, weight, known_only=known_only)
    if len(known) < len(parsed):
        raise _misread(column, len(parsed) - len(known), known_only=known_only)
    return known


def _misread(column: QuasiColumn, count: int, *, known_only: bool) -> DataError:
    if known_only and isinstance(column, TreeColumn):
        return DataError(
            "data.kind",
            f"Column `{column.name}`: {count} distinct values of the earlier release do not match "
            "the column's current values and hierarchy.",
            f"set the hierarchy of [columns.{column.name}] to the one that the earlier release used",
        )
    return DataError(
        "data.kind",
        f"Column `{column.name}` is {column.kind} in the new rows, but {count} "
        "distinct values of the earlier release are not.",
        f"set kind in [columns.{column.name}] to the kind that the earlier release used",
    )


def _ranges(column: RangeColumn, parsed: Mapping[str, Published], weight: Fraction) -> Pieces:
    """Parse ranges of numbers, dates or ordered texts; skip values of another kind.

    Costs should be relative to the range of the earlier raw table, which is not known. It is estimated
    from the published ends and the new values.
    """

    def number(text: str) -> Fraction | None:
        return _number(text, column.kind, column.unit, column.order)

    found = {text: _ends(value, number) for text, value in parsed.items()}
    ends = {text: pair for text, pair in found.items() if pair is not None}
    numbers = column.numbers.tolist()
    line = [*chain(*ends.values()), *map(_exact, numbers[:1] + numbers[-1:])]
    span = max(line, default=Fraction(0)) - min(line, default=Fraction(0))

    def read(low: Fraction, high: Fraction) -> Piece:
        first = bisect_left(numbers, low, key=_exact)
        last = bisect_right(numbers, high, key=_exact) - 1
        return Piece(first, last, None, weight * (high - low) / (span or 1))

    return {text: read(*pair) for text, pair in ends.items()}


def _ends(value: Published, number: _Number) -> tuple[Fraction, Fraction] | None:
    """Return the exact ends of a published range; None if it is not a range of the column's kind."""
    if isinstance(value, Range):
        low, high = number(value.low), number(value.high)
    elif isinstance(value, Value):
        low = high = number(value.text)
    else:
        return None
    return None if low is None or high is None else (low, high)


def _number(text: str, kind: str, unit: Unit, order: tuple[str, ...] = ()) -> Fraction | None:
    if kind == "ordinal":
        return Fraction(order.index(text)) if text in order else None
    if kind == "date":
        number = number_of(text, unit)
        return None if number is None else Fraction(number)
    # A text such as 01067 is a code, not the number 1067.
    return Fraction(text) if _NUMBER.fullmatch(text) else None


def _exact(number: float) -> Fraction:
    """Return the decimal as which a number is published, so that 0.3 is inside [0.3, 0.4]."""
    return Fraction(number) if isinstance(number, int) else Fraction(repr(number))


def _sets(
    column: TreeColumn, parsed: Mapping[str, Published], weight: Fraction, *, known_only: bool
) -> Pieces:
    """Parse values and sets of values; skip ranges."""
    code_of = _leaf_codes(column)
    texts = {text: (value.text,) for text, value in parsed.items() if isinstance(value, Value)}
    sets = {text: value.members for text, value in parsed.items() if isinstance(value, Set)}
    # Under a single root, any two values are at the maximum distance.
    return {
        text: _listed(
            (code_of[member] for member in members if member in code_of), weight * (len(members) > 1)
        )
        for text, members in {**texts, **sets}.items()
        if not known_only or all(member in code_of for member in members)
    }


def _nodes(
    column: TreeColumn, parsed: Mapping[str, Published], weight: Fraction, *, known_only: bool
) -> Pieces:
    """Parse the labels of tree nodes; with `known_only` also sets and ranges of leaves."""
    tree = column.tree
    # The only label that can occur twice is that of the leaf for missing values, which is the last.
    node_of = {label: node for node, label in reversed(list(enumerate(tree.labels)))}

    def read(text: str, value: Published) -> Piece | None:
        # A label may look like a range, as in interval trees.
        node = node_of.get(value.text if isinstance(value, Value) else text)
        if node is not None:
            # Only an empty text and `*` cover missing values.
            last = min(int(tree.last_leaf[node]), column.missing - 1)
            cost = weight * int(tree.height[node]) / max(1, tree.total_height)
            return Piece(int(tree.first_leaf[node]), last, None, cost)
        return _leaves_in(column, value) if known_only else _listed((), Fraction(0))

    found = {text: read(text, value) for text, value in parsed.items()}
    return {text: piece for text, piece in found.items() if piece is not None}


def _leaves_in(column: TreeColumn, value: Published) -> Piece | None:
    """Parse a set or range published with another recipe; None if it cannot be parsed."""
    code_of = _leaf_codes(column)
    weight = Fraction(column.weight)
    if isinstance(value, Set):
        codes = [code_of.get(member, -1) for member in value.members]
        return None if min(codes) < 0 else _listed(codes, weight)
    if column.kind not in {"numeric", "date"}:
        return None
    unit = column.unit
    numbers = {code: _number(label, column.kind, unit) for label, code in code_of.items()}
    ends = _ends(value, lambda text: _number(text, column.kind, unit))
    if ends is None or None in numbers.values():
        return None
    low, high = ends
    inside = (code for code, number in numbers.items() if number is not None and low <= number <= high)
    return _listed(inside, weight)


def _leaf_codes(column: TreeColumn) -> dict[str, int]:
    """Return the code of each leaf label, except that of missing values."""
    return {label: code for code, label in enumerate(column.tree.leaf_labels) if code != column.missing}


def _listed(codes: Iterable[int], cost: Fraction) -> Piece:
    """Make a piece from single codes; consecutive codes need no list."""
    members = np.array(sorted(set(codes)), np.int32)
    if not len(members):
        return Piece(0, -1, None, cost)
    low, high = int(members[0]), int(members[-1])
    return Piece(low, high, None if high - low + 1 == len(members) else members, cost)
