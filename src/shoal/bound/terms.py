"""The terms of all rows that a bound adds up: smallest boxes, near rows, drag (see `bound.lower_bound`)."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from shoal.arrays import LongArray
from shoal.bound.progress import Share, part
from shoal.bound.result import BoundEffort
from shoal.bound.scans import Scans
from shoal.table.columns import Encoded, RangeColumn
from shoal.table.fixed import FixedColumns
from shoal.table.readings import node_costs

PASSES = 3  # of mutual reachability; more passes gain little
SEARCHED = 1_000_000_000  # steps of the search for boxes, a few nanoseconds each
_MAX_SEARCHED = SEARCHED // 256  # for a single box
PATIENCE = 10_000_000  # for a single one
_FIRST = 3  # times k candidates for the first box of such a search
_PATIENT_ALL = 90_000_000_000  # the same at high effort, for all rows
_SOME = 600  # tuples from which a sum over all is estimated
PILOT = 32  # tuples from which the time of the search is estimated


def dragged(scans: Scans, tick: Share, effort: BoundEffort = "normal") -> tuple[LongArray, str]:
    """Return k - 1 times the bound with drag of each tuple; also return how."""
    bound, how = bounds_of_all(scans, part(tick, 0.0, 0.7), effort)
    drag = np.zeros(scans.m, np.int64)
    drag[scans.order] = scans.dragged(scans.order, bound, part(tick, 0.7, 1.0))
    return bound.astype(np.int64) * (scans.k - 1) + drag, how


def summed(scans: Scans, terms: LongArray, times: int, may_suppress: int, slack: float) -> float:
    """Sum terms of tuples, in fixed-point steps and so many times; see `total_of_terms`."""
    return total_of_terms(scans.fixed, scans.size, terms, times, may_suppress, slack)


def total_of_terms(
    fixed: FixedColumns, size: LongArray, terms: LongArray, times: int, may_suppress: int, slack: float
) -> float:
    """Sum terms, given in fixed-point steps and so many times, over all rows; less a slack for each row."""
    # Python's own integers: the sum may need more than 64 bits.
    total: int = sum(term * rows for term, rows in zip(terms.tolist(), size.tolist(), strict=True))
    total -= _above(terms - fixed.whole * times, size, may_suppress)
    return float(max(0.0, (total / times - slack * int(size.sum())) / fixed.unit))


def _above(excess: LongArray, sizes: LongArray, rows: int) -> int:
    """Sum the greatest positive excesses of this many rows."""
    total = 0
    for at in np.argsort(-excess, kind="stable"):
        if rows <= 0 or excess[at] <= 0:
            break
        taken = min(rows, int(sizes[at]))
        total += taken * int(excess[at])
        rows -= taken
    return total


def bounds_of_all(
    scans: Scans, tick: Share, effort: BoundEffort = "normal"
) -> tuple[npt.NDArray[np.int32], str]:
    """Bound D of every tuple's class; also return how."""
    order, bound = scans.order, np.zeros(scans.m, np.int32)
    if mean_steps(scans) * scans.m <= SEARCHED:
        bound[order], searched = smallest_boxes(scans, order, tick)
    elif effort == "high" and is_patience_enough(scans):
        bound[order], searched = patient_boxes(scans, order, min(PATIENCE, _PATIENT_ALL // scans.m), tick)
    else:
        bound[order] = scans.nearest(order, tick)
        searched = np.zeros(scans.m, dtype=bool)
    rest = order[~searched]
    for _ in range(PASSES if len(rest) else 0):
        bound[rest] = scans.reachable(rest, bound, tick)
    return bound, terms_text(searched, "mutual reachability")


def sampled_drag(scans: Scans, bound: LongArray) -> float:
    """Estimate the bound with drag that follows from a bound of D of every tuple's class."""
    some = scans.order[np.linspace(0, scans.m - 1, min(scans.m, _SOME)).astype(np.int64)]
    drag = scans.dragged(some, bound.astype(np.int32), lambda share: None) / (scans.k - 1)
    size = scans.size[some]
    mean = float((size * (bound[some] + drag)).sum()) / float(size.sum())
    return mean * float(scans.size.sum()) / scans.fixed.unit


def smallest_boxes(scans: Scans, ones: LongArray, tick: Share) -> tuple[LongArray, npt.NDArray[np.bool_]]:
    """Return D of each tuple's smallest box, or of its nearest row where the search takes too long.

    Also return which of them are smallest boxes.
    """
    near, found, _ = scans.boxes(ones, _MAX_SEARCHED, tick)
    searched: npt.NDArray[np.bool_] = found >= 0
    return np.where(searched, found, near), searched


def patient_boxes(
    scans: Scans, ones: LongArray, steps: int, tick: Share
) -> tuple[LongArray, npt.NDArray[np.bool_]]:
    """Return D of each tuple's smallest box, or less where the search takes too long; and which are exact.

    The greatest excess at prices of 0 is the same thing with the sign changed, and `kernels.patient_excess`
    finds it sooner where there are many candidates.
    """
    excess, _, is_exact = scans.patient_excess(ones, np.zeros(scans.m, np.int64), steps, tick)
    return (-excess) // scans.k, is_exact


def mean_steps(scans: Scans) -> float:
    """Estimate the steps of a search for a box, from a few tuples spread over the table."""
    if scans.m <= PILOT:
        return 0.0
    pilot = scans.order[np.linspace(0, scans.m - 1, PILOT).astype(np.int64)]
    return float(scans.boxes(pilot, _MAX_SEARCHED, lambda share: None)[2].mean())


def is_patience_enough(scans: Scans) -> bool:
    """Return whether a patient search can begin: its first box takes the square of its candidates.

    With a larger k it would end there, and prove no more than the nearest row.
    """
    n_columns = len(scans.fixed.span) + len(scans.fixed.leaf)
    return n_columns * (_FIRST * scans.k) ** 2 <= PATIENCE


def terms_text(searched: npt.NDArray[np.bool_], other: str) -> str:
    """Describe the terms: those of smallest boxes, of another kind, or of both."""
    if searched.all():
        return "smallest box"
    return f"smallest box or {other}" if searched.any() else other


def rounding(encoded: Encoded, fixed: FixedColumns) -> float:
    """Return by how many fixed-point steps D of a set of rows can differ from its exact value."""
    total, n_trees = 0.0, 0
    begins = np.append(fixed.trees.node_at, len(fixed.trees.height))
    for column in encoded.columns:
        full = column.weight * fixed.unit
        if isinstance(column, RangeColumn):
            exact = column.points * full
            span = round(full)
            total += 2 * float(np.abs(np.rint(column.points * span) - exact).max(initial=0.0)) + abs(
                span - full
            )
        else:
            heights = fixed.trees.height[begins[n_trees] : begins[n_trees + 1]]
            total += float(np.abs(heights - node_costs(column, "height") * full).max(initial=0.0))
            n_trees += 1
    return total
