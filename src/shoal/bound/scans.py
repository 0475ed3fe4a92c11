"""Compare quasi tuples with all others, one batch at a time, on several threads."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from queue import SimpleQueue
from typing import Any

import numpy as np
import numpy.typing as npt

from shoal.arrays import IntArray, LongArray
from shoal.bound.progress import Share
from shoal.table.columns import Encoded, TreeColumn
from shoal.table.fixed import FixedColumns, fixed_columns

# Combinations of values that are looked up together: their distances should fit into a fast cache, and be
# few compared with the tuples that look them up.
_MAX_COMBINED, _SHARE_COMBINED = 8192, 16
_MAX_PAIRS = 1 << 22  # combinations of two groups that are counted to find out how many occur
_MAX_CANDIDATES = 1 << 16  # for the smallest box of one tuple
_LOOKED_UP = 40_000_000  # in one call of a kernel: a few hundredths of a second


class Scans:
    """The distinct quasi tuples of a table, and the calls to the kernels.

    The result for a tuple depends on the table alone, not on threads or on the tuples before it.

    Parameters
    ----------
    encoded : Encoded
    k : int
    """

    def __init__(self, encoded: Encoded, k: int) -> None:
        begins = np.flatnonzero(np.diff(encoded.tuple_of_row, prepend=-1))
        self.k, self.m = k, len(begins)
        self.size: LongArray = np.diff(np.append(begins, encoded.n_rows)).astype(np.int64)
        self.fixed: FixedColumns = fixed_columns(encoded, begins)
        values = np.concatenate([self.fixed.position, self.fixed.leaf])
        self.tuples = _tuples(_dense_codes(encoded, begins), values, self.size, self.fixed.span)
        # Neighbours in this order agree in many columns: what is near one is near the next.
        self.order: LongArray = np.lexsort(self.tuples.code[::-1])
        self.work_of_one = self.m * len(self.tuples.code)
        self._scratch: SimpleQueue[tuple[Any, Any]] = SimpleQueue()

    def nearest(self, ones: LongArray, tick: Share) -> LongArray:
        """Return D of each tuple and its (k - 1)-th nearest other row."""
        return self.reachable(ones, np.zeros(self.m, np.int32), tick)

    def reachable(self, ones: LongArray, bound: IntArray, tick: Share) -> LongArray:
        """Return the k-th least max(D(i, j), b_i, b_j) over all rows j, for each tuple i listed."""
        from shoal.kernels.nearest import scan_tuples

        def call(part: LongArray, scan: Any, _: Any, found: LongArray) -> None:
            scan_tuples(self.tuples, self.fixed.trees, self.k, bound, part, scan, found, False)

        return self._found(call, ones, 1, tick)[0]

    def dragged(self, ones: LongArray, bound: IntArray, tick: Share) -> LongArray:
        """Return the sum of the k - 1 least max(0, max(b_i, D(i, j)) - b_j), for each tuple i listed."""
        from shoal.kernels.nearest import scan_tuples

        def call(part: LongArray, scan: Any, _: Any, found: LongArray) -> None:
            scan_tuples(self.tuples, self.fixed.trees, self.k, bound, part, scan, found, True)

        return self._found(call, ones, 1, tick)[0]

    def boxes(self, ones: LongArray, steps: int, tick: Share) -> tuple[LongArray, LongArray, LongArray]:
        """Return D of the nearest, the least D of any k rows with each tuple, and the steps taken.

        The second is -1 where `steps` do not suffice.
        """
        from shoal.kernels.smallest_box import smallest_boxes

        def call(
            part: LongArray, scan: Any, search: Any, near: LongArray, found: LongArray, taken: LongArray
        ) -> None:
            tuples, trees = self.tuples, self.fixed.trees
            smallest_boxes(tuples, trees, self.k, part, steps, scan, search, near, found, taken)

        near, found, taken = self._found(call, ones, 3, tick)
        return near, found, taken

    def excess(
        self, ones: LongArray, prices: LongArray, steps: int, tick: Share
    ) -> tuple[LongArray, LongArray]:
        """Return k times the greatest excess of a box over each tuple, and the steps taken.

        The excess is too high where `steps` do not suffice.
        """
        from shoal.kernels.row_excess import priced, row_excesses, with_room

        listed, n = priced(prices), len(self.fixed.span) + len(self.fixed.leaf)

        def call(part: LongArray, scan: Any, search: Any, found: LongArray, taken: LongArray) -> None:
            room = with_room(listed, n, len(search.other))
            given = self.tuples, self.fixed.trees, self.k, part, steps
            row_excesses(*given, scan, search, room, found, taken)

        found, taken = self._found(call, ones, 2, tick)
        return found, taken

    def glances(self, ones: LongArray, prices: LongArray, tick: Share) -> LongArray:
        """Return no less than the same, by what the rows near by tell."""
        from shoal.kernels.glance import glances
        from shoal.kernels.row_excess import priced

        listed = priced(prices)

        def call(part: LongArray, scan: Any, _: Any, found: LongArray) -> None:
            glances(self.tuples, self.fixed.trees, self.k, part, scan, listed, found)

        return self._found(call, ones, 1, tick)[0]

    def patient_excess(
        self, ones: LongArray, prices: LongArray, steps: int, tick: Share
    ) -> tuple[LongArray, LongArray, npt.NDArray[np.bool_]]:
        """Return the same for tables with many numbers, and which are exact; others are too high by less."""
        from shoal.kernels.box_parts import with_more_room
        from shoal.kernels.left_out import empty_charges
        from shoal.kernels.patient_excess import patient_excesses
        from shoal.kernels.row_excess import priced

        listed, n = priced(prices), len(self.fixed.span) + len(self.fixed.leaf)

        def call(
            part: LongArray, scan: Any, search: Any, found: LongArray, taken: LongArray, exact: LongArray
        ) -> None:
            c = len(search.other)
            room, charges = with_more_room(listed, n, c, self.k), empty_charges(n, c)
            given = self.tuples, self.fixed.trees, self.k, part, steps
            patient_excesses(*given, scan, search, room, charges, found, taken, exact)

        found, taken, exact = self._found(call, ones, 3, tick)
        return found, taken, exact == 1

    def _found(
        self, call: Callable[..., None], ones: LongArray, n_results: int, tick: Share
    ) -> list[LongArray]:
        """Call a kernel for all tuples listed, in batches."""
        from shoal.kernels.threads import share_out

        results = [np.zeros(len(ones), np.int64) for _ in range(n_results)]
        step = max(1, _LOOKED_UP // self.work_of_one)

        def run(begin: int, end: int) -> None:
            part = slice(begin, end)
            with self._borrowed() as (scan, search):
                call(ones[part], scan, search, *(result[part] for result in results))

        share_out(run, len(ones), step, tick)
        return results

    @contextmanager
    def _borrowed(self) -> Iterator[tuple[Any, Any]]:
        """Lend scratch space to one call; concurrent calls have one each."""
        scratch = self._new_scratch() if self._scratch.empty() else self._scratch.get()
        yield scratch
        self._scratch.put(scratch)

    def _new_scratch(self) -> tuple[Any, Any]:
        from shoal.kernels.nearest import SOME, empty_scan
        from shoal.kernels.smallest_box import empty_search

        trees = self.fixed.trees
        most = np.append(self.fixed.span, trees.height[trees.node_at]).astype(np.int32)  # roots come first
        scan = empty_scan(self.tuples, len(trees.leaf_node), self.k)
        # A first box is sought among as many as the rows it needs, however large k is.
        return scan, empty_search(most, min(self.m, max(_MAX_CANDIDATES, SOME * self.k)))


def tuples_of(values: IntArray, sizes: LongArray, span: IntArray) -> Any:
    """Return different rows as the kernels take them: positions and leaves, and how many rows have each."""
    codes = [np.unique(column, return_inverse=True)[1].astype(np.int64).ravel() for column in values]
    return _tuples(codes, values, sizes, span)


def tuples_of_rows(encoded: Encoded, fixed: FixedColumns) -> Any:
    """Return all rows of a table, equal ones too and in any order, as the kernels take different ones."""
    rows = np.arange(encoded.n_rows)
    values = np.concatenate([fixed.position, fixed.leaf])
    return _tuples(_dense_codes(encoded, rows), values, np.ones(encoded.n_rows, np.int64), fixed.span)


def _tuples(codes: list[LongArray], values: IntArray, sizes: LongArray, span: IntArray) -> Any:
    from shoal.kernels.nearest import Tuples

    groups = _groups(codes, max(64, len(sizes) // _SHARE_COMBINED))
    return Tuples(size=sizes, span=span, **_looked_up(groups, values, len(span)))


def _dense_codes(encoded: Encoded, rows: LongArray) -> list[LongArray]:
    """Number the distinct values of each column, in the order of fixed columns: ranges, then trees."""
    columns = sorted(encoded.columns, key=lambda column: isinstance(column, TreeColumn))
    return [_numbered(column.codes[rows].astype(np.int64), column.missing + 1) for column in columns]


def _numbered(codes: npt.NDArray[np.int64], n_codes: int) -> npt.NDArray[np.int64]:
    """Number the codes that occur, in their order and without gaps."""
    occurs = np.zeros(n_codes, np.int64)
    occurs[codes] = 1
    numbers: npt.NDArray[np.int64] = (np.cumsum(occurs) - 1)[codes]
    return numbers


def _groups(columns: list[LongArray], most: int) -> list[tuple[list[int], LongArray]]:
    """Group columns as long as few combinations of their values occur.

    Returns the columns of each group, and the number of each tuple's combination.
    """
    most = min(most, _MAX_COMBINED)
    sizes = [int(column.max(initial=0)) + 1 for column in columns]
    groups: list[tuple[list[int], LongArray]] = []
    for col in sorted(range(len(columns)), key=lambda col: sizes[col]):
        small = groups if sizes[col] <= most else []  # a column may have too many values on its own
        for at, (members, codes) in enumerate(small):
            n_pairs = (int(codes.max()) + 1) * sizes[col]
            if n_pairs > _MAX_PAIRS:
                continue
            joined = _numbered(codes * sizes[col] + columns[col], n_pairs)
            if joined.max() < most:
                groups[at] = ([*members, col], joined)
                break
        else:
            groups.append(([col], columns[col]))
    return groups


def _looked_up(
    groups: list[tuple[list[int], LongArray]], values: npt.NDArray[np.int32], n_range: int
) -> dict[str, npt.NDArray[Any]]:
    """Return the arrays of `kernels.nearest.Tuples` that describe groups; ranges are the first columns."""
    is_range = [len(members) == 1 and members[0] < n_range for members, _ in groups]
    sizes = [1 if alone else int(codes.max()) + 1 for alone, (_, codes) in zip(is_range, groups, strict=True)]
    value = np.zeros((len(values), max(sizes)), np.int32)
    code = np.zeros((len(groups), values.shape[1]), np.uint32)
    for group, (members, codes) in enumerate(groups):
        if is_range[group]:
            code[group] = values[members[0]]
            continue
        code[group] = codes
        for col in members:
            value[col, codes] = values[col]
    return {
        "code": code,
        "is_range": np.array(is_range, np.bool_),
        "group_at": np.cumsum([0, *sizes], dtype=np.int64),
        "column_at": np.cumsum([0, *(len(members) for members, _ in groups)], dtype=np.int64),
        "column": np.array([col for members, _ in groups for col in members], np.int64),
        "value": value,
    }
