"""Published tables and what they share, as arrays, and what they reveal about each row together."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt
import polars as pl

from shoal.arrays import BoolArray, IntArray, LongArray
from shoal.composition.view import View
from shoal.errors import PromiseError
from shoal.measure.released import classes_of
from shoal.table.boxes import Piece, pieces_of
from shoal.table.columns import Encoded
from shoal.table.frames import series
from shoal.table.sensitive import comparable

if TYPE_CHECKING:
    from shoal.kernels.composition import Boxes, Cases, Counts, People

_BLOCK = 1 << 22  # entries of M that are held in memory at once
_BUDGET = 4096  # choices of own rows that are tried for a person when several views leave them open

Value = tuple[str | None, ...]


class JointGoal(NamedTuple):
    """A goal that M(i) must meet: it is tested once for each distinct multiset of its columns' values."""

    name: str
    columns: tuple[str, ...]
    holds: Callable[[Mapping[Value, int]], bool]


@dataclass(frozen=True, repr=False)
class Rows:
    """The result for each row of the encoded table, in its order; not for publication.

    A row that is in no view is not `checked`, and holds. Its `m` and `j` are 0.
    """

    checked: BoolArray
    m: LongArray
    j: LongArray
    exempt: BoolArray
    j_holds: BoolArray
    goal_holds: Mapping[str, BoolArray]

    def holds(self, k: int) -> BoolArray:
        """Mark the rows for which no attack was found."""
        found = (self.m >= k) & self.j_holds
        for of_goal in self.goal_holds.values():
            found &= of_goal
        return found | ~self.checked


class Pieces(NamedTuple):
    """The box of each class of a view: for each of its quasi columns, a piece for each class."""

    columns: list[int]
    pieces: list[list[Piece]]


def box_pieces(encoded: Encoded, view: View) -> Pieces:
    """Read the published texts of a view against the values of the current table."""
    columns = [at for at, column in enumerate(encoded.columns) if column.name in view.names]
    pieces = []
    for at in columns:
        column = encoded.columns[at]
        texts = series(view.classes, column.name).to_list()
        known = pieces_of(column, set(texts), known_only=column.name in view.foreign)
        pieces.append([known[text] for text in texts])
    return Pieces(columns, pieces)


def _boxes(of_views: Sequence[Pieces], views: Sequence[View]) -> Boxes:
    """Concatenate the pieces of all views, as kernels take them."""
    from shoal.kernels.composition import Boxes

    entries = [of_entry for view in of_views for of_entry in view.pieces]
    pieces = [piece for of_entry in entries for piece in of_entry]
    members = [piece.members for piece in pieces if piece.members is not None]
    lengths = [0 if piece.members is None else len(piece.members) for piece in pieces]
    end = np.cumsum(np.array(lengths, np.int64))
    return Boxes(
        column=np.array([at for view in of_views for at in view.columns], np.int32),
        entry_at=_starts([len(view.columns) for view in of_views]),
        piece_at=_starts([len(of_entry) for of_entry in entries])[:-1],
        low=np.array([piece.low for piece in pieces], np.int32),
        high=np.array([piece.high for piece in pieces], np.int32),
        begin=end - np.array(lengths, np.int64),
        end=end,
        members=np.concatenate([np.zeros(0, np.int32), *members]),
        n_classes=np.array([view.classes.height for view in views], np.int64),
    )


def _starts(lengths: Sequence[int]) -> LongArray:
    """Return where each of several runs begins, and where the last one ends."""
    return np.concatenate([np.zeros(1, np.int64), np.cumsum(np.array(lengths, np.int64))])


def _numbered(columns: Sequence[npt.NDArray[Any]]) -> tuple[LongArray, LongArray]:
    """Number the distinct combinations; return the index of one row of each, and the number of each row."""
    numbers = np.zeros(len(columns[0]), np.int64)
    for column in columns:
        distinct, ranks = np.unique(column, return_inverse=True)
        numbers = np.unique(numbers * len(distinct) + ranks, return_inverse=True)[1]
    return np.unique(numbers, return_index=True)[1], numbers


@dataclass(frozen=True, repr=False)
class Group:
    """Several views and what they share, as arrays.

    value : the number of each row's tuple of shared columns, of those in `values`
    labels : (views, rows) the class of each row, -1 unknown, -2 not in the view
    is_in : (views, rows) whether the row is in the view, or may be
    codes : (columns, rows)
    """

    boxes: Boxes
    counts: Counts
    link: tuple[str, ...]
    values: pl.DataFrame
    value: IntArray
    labels: IntArray
    is_in: BoolArray
    codes: IntArray
    known: BoolArray

    @classmethod
    def of(
        cls,
        encoded: Encoded,
        table: pl.DataFrame,
        views: Sequence[View],
        pieces: Sequence[Pieces],
        link: tuple[str, ...],
    ) -> Group:
        """Number the shared tuples and build the arrays."""
        from shoal.kernels.composition import BY_BOXES, NOT_IN, count_outside, mark_possible

        own = pl.DataFrame({name: comparable(series(table, name)).gather(encoded.order) for name in link})
        values, of_row = _tuples([(encoded.n_rows, own), *((len(v.class_of), v.values) for v in views)], link)
        counts = _counts(views, of_row[1:], max(1, values.height))
        boxes = _boxes(pieces, views)
        codes = np.array([column.codes for column in encoded.columns], np.int32)
        codes = codes.reshape(len(encoded.columns), encoded.n_rows)
        labels = np.full((len(views), encoded.n_rows), BY_BOXES, np.int32)
        is_in = np.zeros((len(views), encoded.n_rows), dtype=bool)
        places, number = _numbered([*codes, of_row[0]])
        for at, view in enumerate(views):
            if view.labels is not None:
                labels[at] = view.labels[encoded.order]
                is_in[at] = labels[at] >= 0
            else:
                possible = np.zeros(len(places), dtype=bool)
                chosen = np.ascontiguousarray(codes[:, places])
                mark_possible(boxes, counts, at, chosen, of_row[0][places], possible)
                is_in[at] = possible[number]
        labels[~is_in] = NOT_IN
        outside = count_outside(boxes, labels, codes)
        if outside:
            message = f"{outside} rows are outside the values that are published for them."
            raise PromiseError("promise.broken", message, "this is a bug in shoal: please report it")
        known = np.array([view.labels is not None for view in views])
        return cls(boxes, counts, link, values, of_row[0], labels, is_in, codes, known)

    def check(self, k: int, goals: Sequence[JointGoal]) -> Rows:
        """Check every row that is in a view: in one of ours, if there are any."""
        from shoal.kernels.composition import MOST, NOT_IN, People

        counting = self.is_in[self.known] if self.known.any() else self.is_in
        checked: BoolArray = np.logical_or.reduce(counting, axis=0)
        n_rows = len(self.value)
        asked = [goal for goal in goals if set(goal.columns) <= set(self.link)]
        m, j = np.zeros(n_rows, np.int64), np.zeros(n_rows, np.int64)
        exempt, j_holds = np.zeros(n_rows, dtype=bool), np.ones(n_rows, dtype=bool)
        goal_holds = {goal.name: np.ones(n_rows, dtype=bool) for goal in asked}
        rows = np.flatnonzero(checked)
        if not len(rows):
            return Rows(checked, m, j, exempt, j_holds, goal_holds)
        bits = (self.is_in * (np.int64(1) << np.arange(len(self.known)))[:, None]).sum(axis=0)
        places, person = _numbered([*self.codes, bits])
        people = People(
            np.ascontiguousarray(self.codes[:, places]),
            np.bincount(person),
            np.ascontiguousarray(bits[places]),
        )
        # The person of a row matters only where its class in a view is unknown.
        is_open = self.is_in[~self.known].any(axis=0)
        first, case = _numbered(
            [*self.labels[:, rows], self.value[rows], np.where(is_open, person, -1)[rows]]
        )
        at = rows[first]
        cases = self._cases(at, person, self.labels[:, at], k)
        size, meets = self._remaining(cases, people, asked)
        m[rows] = size[case]
        for name, of_case in meets.items():
            goal_holds[name][rows] = of_case[case]
        if asked and self.known.any():  # what the boxes leave possible must meet the goals as well
            first, number = _numbered([person[rows]])
            at = rows[first]
            by_boxes = np.where(self.is_in[:, at], np.int32(-1), np.int32(NOT_IN))
            boxed = self._cases(at, person, by_boxes, k)
            for name, of_case in self._remaining(boxed, people, asked)[1].items():
                goal_holds[name][rows] &= of_case[number]
        joint, joint_rare = self._joint(cases, people, k)
        j[rows], exempt[rows], j_holds[rows] = (
            joint[case],
            (joint_rare == MOST)[case],
            (joint_rare >= k)[case],
        )
        return Rows(checked, m, j, exempt, j_holds, goal_holds)

    def _remaining(
        self, cases: Cases, people: People, goals: Sequence[JointGoal]
    ) -> tuple[LongArray, dict[str, BoolArray]]:
        """Return |M| of each case and whether M meets each goal, one block at a time."""
        from shoal.kernels.composition import leave_over

        n_cases, n_values = len(cases.person), max(1, self.values.height)
        size = np.zeros(n_cases, np.int64)
        meets = {goal.name: np.ones(n_cases, dtype=bool) for goal in goals}
        asked = [(goal, *_projection(self.values, self.link, goal)) for goal in goals]
        known: dict[str, dict[bytes, bool]] = {goal.name: {} for goal in goals}
        step = max(1, _BLOCK // n_values)
        for begin in range(0, n_cases, step):
            left = np.zeros((min(step, n_cases - begin), n_values), np.int32)
            leave_over(self.boxes, self.counts, cases, people.codes, begin, left)
            size[begin : begin + len(left)] = left.sum(axis=1, dtype=np.int64)
            for goal, tuples, of_value in asked:
                projected = np.zeros((len(left), len(tuples)), np.int64)
                np.add.at(projected.T, of_value, left.T)
                holds = [_holds(goal, tuples, row, known[goal.name]) for row in projected]
                meets[goal.name][begin : begin + len(left)] = holds
        return size, meets

    def _cases(self, rows: LongArray, person: LongArray, labels: IntArray, k: int) -> Cases:
        """Build the cases of some rows with these classes."""
        from shoal.kernels.composition import Cases

        value = self.value[rows]
        rare = np.zeros(len(rows), dtype=bool)
        for view in range(len(labels)):
            inside = np.flatnonzero(labels[view] >= 0)
            rare[inside] |= self._rows_with(view, labels[view, inside], value[inside]) < k
        return Cases(person[rows].astype(np.int32), value, np.ascontiguousarray(labels), rare)

    def _joint(self, cases: Cases, people: People, k: int) -> LongArray:
        """Return the smallest J of each case, and the smallest where its value is rare; `MOST` if never."""
        from shoal.kernels.composition import Limits, count_joint

        joint = np.zeros((2, len(cases.person)), np.int64)
        in_views = people.views[cases.person]
        for views in np.unique(in_views):
            here = np.flatnonzero(in_views == views)
            known = [v for v in np.flatnonzero(self.known).tolist() if int(views) >> v & 1]
            # The view with the most classes has the smallest boxes.
            pivot = max(known, key=lambda v: int(self.boxes.n_classes[v]), default=-1)
            order = here[np.argsort(cases.label[pivot, here], kind="stable")] if known else here
            limits = Limits(k, _BUDGET)
            count_joint(self.boxes, self.counts, people, cases, order, pivot, limits, joint)
        return joint

    def _rows_with(self, view: int, number: IntArray, value: IntArray) -> LongArray:
        """Count the rows of a class that have a value, for many pairs."""
        counts, width = self.counts, max(1, self.values.height)
        first = counts.class_at[view]
        last = first + self.boxes.n_classes[view]
        sizes = np.diff(counts.begin[first : last + 1])
        entries = slice(counts.begin[first], counts.begin[last])
        keys = np.repeat(np.arange(len(sizes)), sizes) * width + counts.value[entries]
        asked = number.astype(np.int64) * width + value
        at = np.minimum(np.searchsorted(keys, asked), max(0, len(keys) - 1))
        found: LongArray = np.where(keys[at] == asked, counts.rows[entries][at], 0).astype(np.int64)
        return found


def _tuples(
    parts: Sequence[tuple[int, pl.DataFrame]], link: tuple[str, ...]
) -> tuple[pl.DataFrame, list[IntArray]]:
    """Number the tuples of shared columns; return them, and the number of each row of each part."""
    if not link:
        return pl.DataFrame(), [np.zeros(n_rows, np.int32) for n_rows, _ in parts]
    together = pl.DataFrame(
        {
            name: pl.concat([series(part, name).alias("value") for _, part in parts], rechunk=True)
            for name in link
        }
    )
    values, numbers = classes_of(together, list(link))
    ends = np.cumsum([n_rows for n_rows, _ in parts])[:-1]
    return values, np.split(numbers, ends)


def _counts(views: Sequence[View], values: Sequence[IntArray], n_values: int) -> Counts:
    """Count the rows of each value in each class."""
    from shoal.kernels.composition import Counts

    n_classes = [view.classes.height for view in views]
    class_at = _starts(n_classes)
    keys = [
        (view.class_of + first) * n_values + value
        for view, first, value in zip(views, class_at[:-1], values, strict=True)
    ]
    found, rows = np.unique(np.concatenate(keys), return_counts=True)
    sizes = np.bincount(found // n_values, minlength=int(class_at[-1]))
    return Counts(
        class_at[:-1], _starts(sizes.tolist()), (found % n_values).astype(np.int32), rows.astype(np.int32)
    )


def _projection(
    values: pl.DataFrame, link: tuple[str, ...], goal: JointGoal
) -> tuple[list[Value], LongArray]:
    """Return the distinct values of a goal's columns, and which one each shared tuple has."""
    wanted = [link.index(name) for name in goal.columns]
    rows = [tuple(row[at] for at in wanted) for row in values.rows()]
    number = {row: at for at, row in enumerate(dict.fromkeys(rows))}
    return list(number), np.array([number[row] for row in rows], np.int64)


def _holds(goal: JointGoal, tuples: Sequence[Value], counts: LongArray, known: dict[bytes, bool]) -> bool:
    """Test a goal on a multiset, once for each distinct one."""
    key = counts.tobytes()
    if key not in known:
        known[key] = bool(goal.holds({tuples[at]: int(counts[at]) for at in np.flatnonzero(counts).tolist()}))
    return known[key]
