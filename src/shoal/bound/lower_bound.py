"""A lower bound of Total IL for every k-anonymous recoding by boxes.

D, the diversity of a set of rows, is the cost of one of them when the set is a class. D never decreases as
the set grows. Everything below follows from that alone, for any columns, weights and trees, with further
goals, and for any method that publishes boxes over at least k rows. i and j are rows, C is a class.

*Nearest row.* A class with i has a row at least as far from i as its (k - 1)-th nearest other row, so D(C) is
at least that distance.

*Smallest box.* D(C) is at least d_i, the least D of any k rows that include i. It is found by branch and
bound (`kernels.smallest_box`).

*Mutual reachability*, for tuples whose smallest box would take too long to find. If b is a lower bound of
each row's D(C), so is the k-th least max(D(i, j), b_i, b_j) over all rows j, including i: C has k rows, and
for all of them D(C) is at least each of the three.

*Drag.* A row in a sparse region widens its class for the others. Let b be any such bound, and w_ij = max(0,
max(b_i, D(i, j)) - b_j): if i is in j's class, j loses at least w_ij more than b_j. Let s_i be the mean of
the k - 1 least w_ij over j. In a class C, s_i is at most the mean of w_ij over the other rows. Summing over i
and exchanging the sums, the s_i add up to at most the sum over j of the mean over i of w_ij, which is at most
the sum of D(C) - b_j. So the sum of b_i + s_i over C is at most |C| D(C). (Where each row has its own box
over itself and k - 1 others, and each row is in the boxes of k - 1 others, as with the method `nh`, the same
holds with these in place of C.)

*Rows left out* cost the sum of all weights, W. Without drag no term exceeds W; with drag some may. For as
many rows as may be left out, those whose terms exceed W the most, only W is counted.

*Prices* (`bound.prices`) give the highest bound, and are used wherever all boxes can be gone through. They
begin with the sum above where it takes little time, so that they are never below it. Where there are too many
boxes, the terms above are prices that can be raised (`bound.raising`).

Costs are rounded to fixed-point integers; the largest possible rounding error is subtracted from the sum.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from math import ceil, floor, log10
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from shoal.arrays import IntArray, LongArray
from shoal.bound.bunched_ascent import BunchedAscent
from shoal.bound.confidence import lower_limit
from shoal.bound.prices import PLANS, WORK_FOR_ONE, feasible_prices
from shoal.bound.raising import Raising
from shoal.bound.sampled_prices import Draw, SampledPrices, costs_in_classes
from shoal.bound.scans import Scans, Share
from shoal.bound.separation import Separation
from shoal.bound.sums import total_of
from shoal.recipe import Recipe
from shoal.table.columns import Encoded, RangeColumn
from shoal.table.fixed import FixedColumns
from shoal.table.readings import node_costs

PASSES = 3  # of mutual reachability; more passes gain little
CONFIDENCE = 0.99  # of an estimate

# In lookups of a tuple's distance in one group of columns, each about a nanosecond.
_ALL_ROWS = 6_000_000_000  # for each pass over all pairs
_FEWER_ROWS = 2_500_000_000  # the same: above, a sample is tried first
_SAMPLED = 3_000_000_000
_MIN_SAMPLED, _MAX_SAMPLED = 500, 8_000
SEED = 20070409  # arbitrary, but fixed
_SEARCHED = 1_000_000_000  # steps of the search for boxes, a few nanoseconds each
_MAX_SEARCHED = _SEARCHED // 256  # for a single box
_PATIENT = 2_500_000_000  # steps of searches for boxes that take long
_PATIENCE = 10_000_000  # for a single one
_FIRST = 3  # times k candidates for the first box of such a search
_LEAST_SAMPLED, _MOST_PATIENT = 200, 2_000  # of them
_PATIENT_ALL = 90_000_000_000  # the same at high effort, for all rows
_PILOT = 32  # tuples from which the time of the search is estimated
_MAX_PRICED = 100_000  # distinct tuples
_MAX_BOXES = 10_000_000
_MAX_PASSED = 1_200_000  # distinct tuples: a pass takes about 400 bytes for each
_PASS = 2_500_000_000  # steps of a pass over a large table
_PILOT_PASS = 100_000_000  # of one for a few rows only: if that is not enough, a pass takes too long
_BUNCHED = 1.4  # times the work of other prices: each pass by bunches of values gains less,
_RAISING = 0.25  # of which this is for raising prices, and the rest for the ascent,
_LEAST_RAISED = 0.01  # if they were raised by so much
_ROUNDS = {"quick": 0, "normal": 12, "high": 1_000}  # of that
_FEW = 200  # distinct tuples, of which all boxes can be gone through in any case
_BEGIN_ABOVE = 100_000_000  # lookups: where prices begin with the bound by drag
_DIGITS = 3
_EXACT = 1e-12  # relative error of a float


BoundEffort = Literal["quick", "normal", "high"]
Bounding = bool | Literal["tight"]  # whether the loss is bounded; "tight": at high effort in any case


@dataclass(frozen=True)
class Bound:
    """A lower bound of Total IL.

    Parameters
    ----------
    total : float
        No k-anonymous table of boxes over this one has a lower Total IL.
    is_estimate : bool
        Computed from a sample of the rows: `total` is too high with a probability of at most 1 %, or so much
        for each estimate if several are added up.
    how : str
        What was computed, for how many rows.
    n_estimates : int, default 1
        How many estimates are added up, if it is one.
    """

    total: float
    is_estimate: bool
    how: str
    n_estimates: int = field(default=1, repr=False)

    @property
    def confidence(self) -> float:
        """The probability that the total is not too high, at least."""
        return max(0.0, round(1 - self.n_estimates * (1 - CONFIDENCE), 9)) if self.is_estimate else 1.0

    @property
    def rounded(self) -> float:
        """The total, rounded down to three digits: in full it would be a digest of the raw table."""
        if self.total <= 0:
            return 0.0
        digits = _DIGITS - 1 - floor(log10(self.total))
        scaled = self.total * 10.0**digits
        return round(floor(scaled * (1 + _EXACT)) / 10.0**digits, max(0, digits))

    def to_dict(self) -> dict[str, Any]:
        """Return the bound as fields for JSON."""
        return {"bound": self.rounded, "bound_is_estimate": self.is_estimate, "bound_how": self.how}


NO_BOUND: dict[str, Any] = {"bound": None, "bound_is_estimate": None, "bound_how": None, "bound_gap": None}


def bound_fields(bound: Bound | None, *losses: float | None) -> dict[str, Any]:
    """Return a bound as fields for JSON, all null for None; with how far the first loss known is above it."""
    if bound is None:
        return dict(NO_BOUND)
    il = next((loss for loss in losses if loss is not None), None)
    return {**bound.to_dict(), "bound_gap": None if il is None else gap(il, bound.rounded)}


def gap(il: float, bound: float) -> float | None:
    """Return by which share a loss is above the least possible one at most, rounded up to a hundredth.

    None if the bound is 0 and the loss is not.
    """
    if il <= bound:
        return 0.0
    return None if bound <= 0 else ceil(100 * (il / bound - 1) * (1 - _EXACT)) / 100


def effort_of(bound: Bounding) -> BoundEffort | None:
    """Return the effort that is asked for; None: as the recipe suggests."""
    return "high" if bound == "tight" else None


def total_bound(parts: Sequence[Bound | None]) -> Bound | None:
    """Return the bound of several tables together; None unless each has one.

    Where several are estimates, the probabilities that one is wrong add up.
    """
    known = [part for part in parts if part is not None]
    if len(known) < len(parts):
        return None
    how = "; ".join(dict.fromkeys(part.how for part in known))
    n_estimates = sum(part.n_estimates for part in known if part.is_estimate)
    return Bound(sum(part.total for part in known), n_estimates > 0, how, max(1, n_estimates))


def recipe_bound(
    encoded: Encoded,
    recipe: Recipe,
    *,
    suppressed: int = 0,
    effort: BoundEffort | None = None,
    classes: IntArray | None = None,
    progress: Share | None = None,
) -> Bound | None:
    """Bound the loss of all releases that a recipe allows, and of those that leave out `suppressed` rows.

    `effort` is high by default where the recipe asks for a search with high effort, and normal elsewhere.
    `classes` are those of some release, as for `lower_bound`.
    None where it allows no release, and for Anatomy, which publishes no boxes. Where rows that lack a quasi
    value are left out, they cost the sum of the weights and are in no class.
    """
    if not recipe.shape.is_generalized:
        return None
    k, may_suppress = recipe.privacy.k, max(suppressed, recipe.privacy.may_suppress(encoded.n_rows))
    inside = np.ones(encoded.n_rows, dtype=bool)
    if recipe.privacy.missing == "suppress":
        inside = ~encoded.missing_rows()
    left_out = int((~inside).sum())
    if int(inside.sum()) < k or left_out > may_suppress:
        return None
    part = encoded.take(inside) if left_out else encoded
    if effort is None:
        effort = "high" if recipe.method.options.get("effort") == "high" else "normal"
    may_suppress -= left_out
    return lower_bound(
        part,
        k,
        may_suppress=may_suppress,
        left_out=left_out,
        effort=effort,
        classes=None if classes is None else classes[inside],
        progress=progress,
    )


def lower_bound(
    encoded: Encoded,
    k: int,
    *,
    may_suppress: int = 0,
    left_out: int = 0,
    effort: BoundEffort = "normal",
    classes: IntArray | None = None,
    progress: Share | None = None,
) -> Bound:
    """Bound Total IL from below, for every k-anonymous recoding by boxes.

    Prices of all rows, where all boxes can be gone through: few numeric columns, up to 100,000 distinct
    quasi tuples. Elsewhere terms of all rows, up to about 30,000 distinct tuples, raised as prices if bunches
    of values leave few enough boxes. For larger tables a sample of rows is compared with all rows, and the
    total is a lower confidence limit: an estimate. It is higher if the classes of some release are known.
    With many numeric columns that is so from about 22,000 rows on, except at high effort.

    Parameters
    ----------
    encoded : Encoded
        At least k rows.
    k : int
        Smallest class size, at least 2.
    may_suppress : int, default 0
        How many of its rows may be left out, at the cost of the sum of the weights each.
    left_out : int, default 0
        Rows that are left out already and not among these, at the same cost.
    effort : "quick", "normal" or "high"
        How far prices are improved: a few seconds, or a minute or two at high effort.
    classes : ndarray of shape (n_rows,), int32, optional
        The class of each row in some release, -1 for none. Any will do; better ones lead to better prices.
    progress : callable, optional
        Called with the share that is done.

    Examples
    --------
    >>> import polars as pl, shoal
    >>> encoded = shoal.encode(pl.DataFrame({"age": [0, 1, 2, 10]}), quasi=["age"])
    >>> lower_bound(encoded, 2)
    Bound(total=1.8, is_estimate=False, how='row prices, all rows')
    """
    tick = progress or (lambda share: None)
    scans = Scans(encoded, k)
    weight = float(encoded.weights.sum())
    slack = rounding(encoded, scans.fixed)
    if (total := _by_prices(scans, may_suppress, slack, effort, tick)) is not None:
        return Bound(total + left_out * weight, False, "row prices, all rows")
    work = scans.m * scans.work_of_one
    # Where nearest rows are all that can be found for each row in a few seconds, boxes of a few say more.
    is_slow = work > _FEWER_ROWS and effort != "quick" and _mean_steps(scans) * _MIN_SAMPLED > _SEARCHED
    takes_all = work <= _ALL_ROWS and (effort == "high" or not is_slow)
    found = None
    if not takes_all and is_slow and not _is_patience_enough(scans):
        found = _of_a_sample(scans, slack, tick)
    elif not takes_all:
        found = _of_a_large_table(scans, classes, may_suppress, slack, effort, tick, is_slow=is_slow)
    if found is None and not takes_all and is_slow:
        found = _of_patient_searches(scans, slack, tick)
    if found is None and work <= _ALL_ROWS:
        found = _of_all_rows(scans, may_suppress, slack, effort, tick)
    if found is None:
        found = _of_a_sample(scans, slack, tick)
    return replace(found, total=found.total + left_out * weight)


def _by_prices(
    scans: Scans, may_suppress: int, slack: float, effort: BoundEffort, tick: Share
) -> float | None:
    """Sum feasible prices of all rows; None where there are too many boxes to go through."""
    if scans.m > _MAX_PRICED:
        return None
    start, work = None, scans.m * scans.work_of_one
    if work <= _BEGIN_ABOVE:
        start = _dragged(scans, _part(tick, 0.0, 0.2))[0] // (scans.k - 1)
        tick = _part(tick, 0.2, 1.0)
    separation = Separation(scans.fixed, scans.size, scans.k)
    if scans.m > _FEW and separation.n_boxes > _MAX_BOXES:
        return None  # a pass would be given up after as much work as all passes may take

    def later() -> LongArray:
        nonlocal start
        start = _dragged(scans, _silent)[0] // (scans.k - 1)
        return start

    has_time = start is None and work <= _ALL_ROWS
    prices = feasible_prices(separation, PLANS[effort], tick, start, later if has_time else None)
    if prices is None:
        return None
    total = _summed(scans, prices, 1, may_suppress, slack)
    if start is None:
        return total
    # With rows left out, a lower sum of prices can be cut by less.
    return max(total, _summed(scans, start, 1, may_suppress, 3 * slack))


def _of_all_rows(scans: Scans, may_suppress: int, slack: float, effort: BoundEffort, tick: Share) -> Bound:
    """Sum the terms of all rows, with drag; as prices, they are raised where there are several ranges."""
    terms, how = _dragged(scans, _part(tick, 0.0, 0.6), effort)
    # A term combines b_i, max(b_i, D) and b_j, and each can be off by the slack.
    total = _summed(scans, terms, scans.k - 1, may_suppress, 3 * slack)
    how = f"{how} with drag, all rows"
    proved = Bound(total, False, how)
    if len(scans.fixed.span) < 2:
        return proved
    prices = _by_bunches(scans, terms // (scans.k - 1), effort, _part(tick, 0.6, 1.0))
    raised = _summed(scans, prices, 1, may_suppress, 3 * slack)
    return Bound(raised, False, "row prices by bunches of values, all rows") if raised > total else proved


def _by_bunches(scans: Scans, start: LongArray, effort: BoundEffort, tick: Share) -> LongArray:
    """Raise feasible prices by boxes of neighbouring values, then let an ascent improve them."""
    work = min(int(_BUNCHED * PLANS[effort].work), WORK_FOR_ONE * scans.m)
    share = _RAISING
    raising = Raising(start, scans.size, scans.k, scans.fixed.whole, int(share * work), _part(tick, 0, share))
    prices = raising.by_bunches(lambda width: Separation(scans.fixed, scans.size, scans.k, width))
    if total_of(prices, scans.size) < (1 + _LEAST_RAISED) * total_of(start, scans.size):
        return prices  # most rows have no room, and would have none in the ascent
    separation = Separation(scans.fixed, scans.size, scans.k, raising.most_gained)
    plan = replace(PLANS[effort], rounds=_ROUNDS[effort], work=int((1 - share) * work))
    return BunchedAscent(separation, plan, _part(tick, share, 1.0), prices).run()


def _dragged(scans: Scans, tick: Share, effort: BoundEffort = "normal") -> tuple[LongArray, str]:
    """Return k - 1 times the bound with drag of each tuple; also return how."""
    bound, how = bounds_of_all(scans, _part(tick, 0.0, 0.7), effort)
    drag = np.zeros(scans.m, np.int64)
    drag[scans.order] = scans.dragged(scans.order, bound, _part(tick, 0.7, 1.0))
    return bound.astype(np.int64) * (scans.k - 1) + drag, how


def _summed(scans: Scans, terms: LongArray, times: int, may_suppress: int, slack: float) -> float:
    """Sum terms, given in fixed-point steps and so many times, over all rows; less a slack for each row."""
    fixed = scans.fixed
    # Python's own integers: the sum may need more than 64 bits.
    total: int = sum(term * rows for term, rows in zip(terms.tolist(), scans.size.tolist(), strict=True))
    total -= _above(terms - fixed.whole * times, scans.size, may_suppress)
    return float(max(0.0, (total / times - slack * int(scans.size.sum())) / fixed.unit))


def bounds_of_all(
    scans: Scans, tick: Share, effort: BoundEffort = "normal"
) -> tuple[npt.NDArray[np.int32], str]:
    """Bound D of every tuple's class; also return how."""
    order, bound = scans.order, np.zeros(scans.m, np.int32)
    if _mean_steps(scans) * scans.m <= _SEARCHED:
        bound[order], searched = _boxes(scans, order, tick)
    elif effort == "high" and _is_patience_enough(scans):
        bound[order], searched = _patient_boxes(scans, order, min(_PATIENCE, _PATIENT_ALL // scans.m), tick)
    else:
        bound[order] = scans.nearest(order, tick)
        searched = np.zeros(scans.m, dtype=bool)
    rest = order[~searched]
    for _ in range(PASSES if len(rest) else 0):
        bound[rest] = scans.reachable(rest, bound, tick)
    return bound, _terms_text(searched, "mutual reachability")


def _boxes(scans: Scans, ones: LongArray, tick: Share) -> tuple[LongArray, npt.NDArray[np.bool_]]:
    """Return D of each tuple's smallest box, or of its nearest row where the search takes too long.

    Also return which of them are smallest boxes.
    """
    near, found, _ = scans.boxes(ones, _MAX_SEARCHED, tick)
    searched: npt.NDArray[np.bool_] = found >= 0
    return np.where(searched, found, near), searched


def _patient_boxes(
    scans: Scans, ones: LongArray, steps: int, tick: Share
) -> tuple[LongArray, npt.NDArray[np.bool_]]:
    """Return D of each tuple's smallest box, or less where the search takes too long; and which are exact.

    The greatest excess at prices of 0 is the same thing with the sign changed, and `kernels.patient_excess`
    finds it sooner where there are many candidates.
    """
    excess, _, is_exact = scans.patient_excess(ones, np.zeros(scans.m, np.int64), steps, tick)
    return (-excess) // scans.k, is_exact


def _mean_steps(scans: Scans) -> float:
    """Estimate the steps of a search for a box, from a few tuples spread over the table."""
    if scans.m <= _PILOT:
        return 0.0
    pilot = scans.order[np.linspace(0, scans.m - 1, _PILOT).astype(np.int64)]
    return float(scans.boxes(pilot, _MAX_SEARCHED, lambda share: None)[2].mean())


def _is_patience_enough(scans: Scans) -> bool:
    """Return whether a patient search can begin: its first box takes the square of its candidates.

    With a larger k it would end there, and prove no more than the nearest row.
    """
    n_columns = len(scans.fixed.span) + len(scans.fixed.leaf)
    return n_columns * (_FIRST * scans.k) ** 2 <= _PATIENCE


def _terms_text(searched: npt.NDArray[np.bool_], other: str) -> str:
    """Describe the terms: those of smallest boxes, of another kind, or of both."""
    if searched.all():
        return "smallest box"
    return f"smallest box or {other}" if searched.any() else other


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


def _of_a_large_table(
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
    found = priced.limit(draw, _SAMPLED, 1 - CONFIDENCE, _part(tick, 0.5, 1.0))
    proved, n_rows = None, int(scans.size.sum())
    if smallest is not None:
        proved = Bound(_summed(scans, smallest, 1, 0, slack), False, "smallest box, all rows")
    if found is None:
        return proved
    total = max(0.0, found.mean - slack) * n_rows / scans.fixed.unit
    if proved is not None and proved.total >= total:
        return proved
    return Bound(total, True, _estimate_text("row prices", found.n_drawn, n_rows))


def _smallest_of_all(scans: Scans) -> LongArray | None:
    """Return the smallest box of each tuple, in steps, rounded down; None where a pass takes too long."""
    separation = Separation(scans.fixed, scans.size, scans.k) if scans.m <= _MAX_PASSED else None
    if separation is None or separation.n_boxes > _MAX_BOXES:
        return None
    nothing, known = np.zeros(scans.m, np.int64), np.full(scans.m, separation.highest)
    known[scans.order[np.linspace(0, scans.m - 1, _PILOT).astype(np.int64)]] = separation.lowest
    if separation.excess(nothing, known, _PILOT_PASS) is None:
        return None
    found = separation.excess(nothing, None, _PASS)
    return None if found is None else (-found[0]) // scans.k


def _of_patient_searches(scans: Scans, slack: float, tick: Share) -> Bound | None:
    """Return n times the lower confidence limit of the mean smallest box, where these take long to find.

    None where even these searches are too long.
    """
    nothing = np.zeros(scans.m, np.int64)
    pilot = scans.order[np.linspace(0, scans.m - 1, _PILOT // 2).astype(np.int64)]
    steps = float(scans.patient_excess(pilot, nothing, _PATIENCE, lambda share: None)[1].mean())
    time_for = max(_MIN_SAMPLED, 3 * _SAMPLED // (2 * scans.work_of_one))
    n_rows = min(_MOST_PATIENT, time_for, int(_PATIENT / steps))
    if n_rows < _LEAST_SAMPLED:
        return None
    tuples = _drawn(scans, n_rows)
    ones = scans.order[np.isin(scans.order, tuples)]
    terms = np.zeros(scans.m)
    terms[ones], searched = _patient_boxes(scans, ones, _PATIENCE, tick)
    return _estimate(scans, terms[tuples], slack, _terms_text(searched, "search cut short"))


def _of_a_sample(scans: Scans, slack: float, tick: Share) -> Bound:
    """Return n times the lower confidence limit of the mean term of rows drawn at random."""
    time_for = min(_MAX_SAMPLED, _SAMPLED // scans.work_of_one)
    terms, how = sampled_terms(scans, max(_MIN_SAMPLED, time_for), tick)
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
    time_for = int(_SEARCHED / max(1.0, _mean_steps(scans)))
    tuples = _drawn(scans, min(n_rows, time_for) if time_for >= _MIN_SAMPLED else n_rows)
    is_drawn = np.zeros(scans.m, dtype=bool)
    is_drawn[tuples] = True
    ones = scans.order[is_drawn[scans.order]]
    terms, searched = np.zeros(scans.m), np.zeros(len(ones), dtype=bool)
    if time_for >= _MIN_SAMPLED:
        terms[ones], searched = _boxes(scans, ones, tick)
    else:
        terms[ones] = scans.nearest(ones, tick)
    return terms[tuples], _terms_text(searched, "nearest row")


def _drawn(scans: Scans, n_rows: int) -> LongArray:
    """Draw rows and return their tuples, in the order of drawing."""
    return drawing(scans.size, [SEED])(n_rows)


def drawing(size: LongArray, seed: list[int]) -> Draw:
    """Return what draws rows independently of each other, and of what other seeds and other calls draw."""
    random, ends = np.random.Generator(np.random.PCG64(seed)), np.cumsum(size)

    def draw(n_rows: int) -> LongArray:
        return np.searchsorted(ends, random.integers(ends[-1], size=n_rows), side="right").astype(np.int64)

    return draw


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


def _silent(share: float) -> None:
    """Progress that nobody looks at."""


def _part(tick: Share, begin: float, end: float) -> Callable[[float], None]:
    """Report the progress of a part of the work as its part of the whole."""
    return lambda share: tick(begin + share * (end - begin))
