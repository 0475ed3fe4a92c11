"""Lower bounds of large tables, from rows drawn at random: estimates (see `bound.lower_bound`)."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from shoal.arrays import IntArray, LongArray
from shoal.bound.confidence import lower_limit
from shoal.bound.near_prices import PLANS, NearPrices
from shoal.bound.progress import Share, part
from shoal.bound.result import CONFIDENCE, Bound, BoundEffort
from shoal.bound.sampled_prices import Draw, SampledPrices, costs_in_classes
from shoal.bound.scans import Scans
from shoal.bound.separation import MAX_BOXES, Separation
from shoal.bound.terms import (
    PATIENCE,
    PILOT,
    SEARCHED,
    mean_steps,
    patient_boxes,
    smallest_boxes,
    summed,
    terms_text,
)

SEED = 20070409  # arbitrary, but fixed
_SAMPLED = 3_000_000_000
MIN_SAMPLED, _MAX_SAMPLED = 500, 8_000
_PATIENT = 2_500_000_000  # steps of searches for boxes that take long
_LEAST_SAMPLED, _MOST_PATIENT = 200, 2_000  # of them
_MAX_PASSED = 1_200_000  # distinct tuples: a pass takes about 400 bytes for each
_PASS = 2_500_000_000  # steps of a pass over a large table
_PILOT_PASS = 100_000_000  # of one for a few rows only: if that is not enough, a pass takes too long


def of_a_large_table(
    scans: Scans,
    classes: IntArray | None,
    may_suppress: int,
    slack: float,
    effort: BoundEffort,
    tick: Share,
    *,
    is_slow: bool,
) -> Bound | None:
    """Bound the sum of prices that follow from smallest boxes, or from the classes of a release.

    None where there are no such prices, they are no better than smallest boxes, or take too long.
    """
    if effort == "quick":
        return None
    smallest = _smallest_of_all(scans)
    tick(0.5)
    if smallest is None and classes is None:
        return None
    costs = None if classes is None else costs_in_classes(scans.fixed, scans.size, classes)
    most = scans.fixed.whole if may_suppress else None
    priced = SampledPrices(scans, smallest, costs, most, is_slow=is_slow)
    # Other rows than those of `_drawn`: which of both estimates is reported is decided by rows drawn here.
    draw = drawing(scans.size, [SEED, 2])
    found = priced.limit(draw, _SAMPLED, 1 - CONFIDENCE, part(tick, 0.5, 1.0))
    proved, n_rows = None, int(scans.size.sum())
    if smallest is not None:
        proved = Bound(summed(scans, smallest, 1, 0, slack), False, "smallest box, all rows")
    if found is None:
        return proved
    total = max(0.0, found.mean - slack) * n_rows / scans.fixed.unit
    if proved is not None and proved.total >= total:
        return proved
    return Bound(total, True, _estimate_text("row prices", found.n_drawn, n_rows))


def _smallest_of_all(scans: Scans) -> LongArray | None:
    """Return the smallest box of each tuple, in steps, rounded down; None where a pass takes too long."""
    separation = Separation(scans.fixed, scans.size, scans.k) if scans.m <= _MAX_PASSED else None
    if separation is None or separation.n_boxes > MAX_BOXES:
        return None
    nothing, known = np.zeros(scans.m, np.int64), np.full(scans.m, separation.highest)
    known[scans.order[np.linspace(0, scans.m - 1, PILOT).astype(np.int64)]] = separation.lowest
    if separation.excess(nothing, known, _PILOT_PASS) is None:
        return None
    found = separation.excess(nothing, None, _PASS)
    return None if found is None else (-found[0]) // scans.k


def of_near_rows(
    scans: Scans, near: LongArray, may_suppress: int, slack: float, effort: BoundEffort, tick: Share
) -> Bound:
    """Return a lower confidence limit of the sum of prices that follow from how far the nearest rows are.

    `near` is D of each tuple and its (k - 1)-th nearest other row.
    """
    priced = NearPrices(scans, near, scans.fixed.whole if may_suppress else None)
    # Other rows than those of the other estimates.
    draw = drawing(scans.size, [SEED, 3])
    found = priced.limit(draw, PLANS[effort], 1 - CONFIDENCE, tick)
    n_rows = int(scans.size.sum())
    total = max(0.0, found.mean - slack) * n_rows / scans.fixed.unit
    return Bound(total, True, _estimate_text("row prices", found.n_drawn, n_rows))


def of_patient_searches(scans: Scans, slack: float, tick: Share) -> Bound | None:
    """Return n times the lower confidence limit of the mean smallest box, where these take long to find.

    None where even these searches are too long.
    """
    nothing = np.zeros(scans.m, np.int64)
    pilot = scans.order[np.linspace(0, scans.m - 1, PILOT // 2).astype(np.int64)]
    steps = float(scans.patient_excess(pilot, nothing, PATIENCE, lambda share: None)[1].mean())
    time_for = max(MIN_SAMPLED, 3 * _SAMPLED // (2 * scans.work_of_one))
    n_rows = min(_MOST_PATIENT, time_for, int(_PATIENT / steps))
    if n_rows < _LEAST_SAMPLED:
        return None
    tuples = _drawn(scans, n_rows)
    ones = scans.order[np.isin(scans.order, tuples)]
    terms = np.zeros(scans.m)
    terms[ones], searched = patient_boxes(scans, ones, PATIENCE, tick)
    return _estimate(scans, terms[tuples], slack, terms_text(searched, "search cut short"))


def of_a_sample(scans: Scans, slack: float, tick: Share) -> Bound:
    """Return n times the lower confidence limit of the mean term of rows drawn at random."""
    time_for = min(_MAX_SAMPLED, _SAMPLED // scans.work_of_one)
    terms, how = sampled_terms(scans, max(MIN_SAMPLED, time_for), tick)
    return _estimate(scans, terms, slack, how)


def _estimate(scans: Scans, terms: npt.NDArray[np.float64], slack: float, how: str) -> Bound:
    """Return the estimate from the terms of rows drawn."""
    total, how = estimated(terms, slack, scans.fixed.unit, int(scans.size.sum()), how)
    return Bound(total, True, how)


def estimated(
    terms: npt.NDArray[np.float64], slack: float, unit: int, rows: int, how: str
) -> tuple[float, str]:
    """Return the lower confidence limit of the sum over all rows, from the terms of rows drawn."""
    limit = lower_limit(np.maximum(0.0, terms - slack) / unit, 1 - CONFIDENCE)
    return rows * limit, _estimate_text(how, len(terms), rows)


def _estimate_text(how: str, drawn: int, rows: int) -> str:
    """Describe an estimate: by which terms, of how many rows."""
    return f"{how}, {drawn:,} of {rows:,} rows, {100 * CONFIDENCE:.0f} % confidence"


def sampled_terms(scans: Scans, n_rows: int, tick: Share) -> tuple[npt.NDArray[np.float64], str]:
    """Draw rows independently and bound D of each one's class; also return how.

    Fewer are drawn where there is no time to search boxes for all, as long as they suffice.
    """
    time_for = int(SEARCHED / max(1.0, mean_steps(scans)))
    tuples = _drawn(scans, min(n_rows, time_for) if time_for >= MIN_SAMPLED else n_rows)
    is_drawn = np.zeros(scans.m, dtype=bool)
    is_drawn[tuples] = True
    ones = scans.order[is_drawn[scans.order]]
    terms, searched = np.zeros(scans.m), np.zeros(len(ones), dtype=bool)
    if time_for >= MIN_SAMPLED:
        terms[ones], searched = smallest_boxes(scans, ones, tick)
    else:
        terms[ones] = scans.nearest(ones, tick)
    return terms[tuples], terms_text(searched, "nearest row")


def _drawn(scans: Scans, n_rows: int) -> LongArray:
    """Draw rows and return their tuples, in the order of drawing."""
    return drawing(scans.size, [SEED])(n_rows)


def drawing(size: LongArray, seed: list[int]) -> Draw:
    """Return what draws rows independently of each other, and of what other seeds and other calls draw."""
    random, ends = np.random.Generator(np.random.PCG64(seed)), np.cumsum(size)

    def draw(n_rows: int) -> LongArray:
        return np.searchsorted(ends, random.integers(ends[-1], size=n_rows), side="right").astype(np.int64)

    return draw
