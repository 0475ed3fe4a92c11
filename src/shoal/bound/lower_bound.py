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

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from shoal.arrays import IntArray, LongArray
from shoal.bound.bunched_ascent import BunchedAscent
from shoal.bound.estimates import (
    MIN_SAMPLED,
    of_a_large_table,
    of_a_sample,
    of_near_rows,
    of_patient_searches,
)
from shoal.bound.goal_prices import GoalLimits, goal_limits, with_goals
from shoal.bound.prices import PLANS, WORK_FOR_ONE, feasible_prices
from shoal.bound.progress import Share, part, silent
from shoal.bound.raising import Raising
from shoal.bound.result import Bound, BoundEffort
from shoal.bound.scans import Scans
from shoal.bound.separation import FEW, MAX_BOXES, Separation
from shoal.bound.sums import total_of
from shoal.bound.terms import (
    SEARCHED,
    dragged,
    is_patience_enough,
    mean_steps,
    rounding,
    sampled_drag,
    summed,
)
from shoal.recipe import Recipe
from shoal.table.columns import Encoded

# In lookups of a tuple's distance in one group of columns, each about a nanosecond.
_ALL_ROWS = 6_000_000_000  # for each pass over all pairs
_FEWER_ROWS = 2_500_000_000  # the same: above, a sample is tried first
_MAX_PRICED = 100_000  # distinct tuples
_BEGIN_ABOVE = 100_000_000  # lookups: where prices begin with the bound by drag
_BUNCHED = 1.4  # times the work of other prices: each pass by bunches of values gains less,
_RAISING = 0.25  # of which this is for raising prices, and the rest for the ascent,
_LEAST_RAISED = 0.01  # if they were raised by so much
_REACHED = 1.15  # times the sampled sum with drag of nearest rows is no less than that by mutual reachability
_ROUNDS = {"quick": 0, "normal": 12, "high": 1_000}  # of that


def recipe_bound(
    encoded: Encoded,
    recipe: Recipe,
    *,
    suppressed: int = 0,
    effort: BoundEffort | None = None,
    classes: IntArray | None = None,
    goals: bool = True,
    progress: Share | None = None,
) -> Bound | None:
    """Bound the loss of all releases that a recipe allows, and of those that leave out `suppressed` rows.

    Without `goals`, of those too that miss the recipe's goals for sensitive columns. `effort` is high by
    default where the recipe asks for a search with high effort, and normal elsewhere. `classes` are those of
    some release, as for `lower_bound`.
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
    within = encoded.take(inside) if left_out else encoded
    if effort is None:
        effort = "high" if recipe.method.options.get("effort") == "high" else "normal"
    may_suppress -= left_out
    return lower_bound(
        within,
        k,
        goals=goal_limits(within, recipe, may_suppress) if goals else [],
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
    goals: Sequence[GoalLimits] = (),
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
    With many numeric columns that is so from about 22,000 rows on.

    Parameters
    ----------
    encoded : Encoded
        At least k rows.
    k : int
        Smallest class size, at least 2.
    goals : sequence of GoalLimits, optional
        What every class has to keep to besides.
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
    tick = progress or silent
    scans = Scans(encoded, max([k, *(goal.least_rows for goal in goals)]))
    weight = float(encoded.weights.sum())
    slack = rounding(encoded, scans.fixed)
    shared = part(tick, 0.0, 0.4) if goals else tick
    if (priced := _by_prices(scans, may_suppress, slack, effort, shared)) is not None:
        total, prices, start = priced
        given = goals, PLANS[effort], may_suppress, slack, part(tick, 0.4, 1.0)
        with_goal = with_goals(scans, encoded.tuple_of_row, start, prices, *given)
        how = "row prices"
        if with_goal is not None and with_goal.total > total:
            total, how = with_goal.total, f"row prices with {with_goal.name}"
        found = Bound(total, False, f"{how}, all rows")
    else:
        found = _by_terms(scans, classes, may_suppress, slack, effort, tick)
    if scans.k > k:
        found = replace(found, how=f"{found.how}, {scans.k} rows to a class because of goals")
    most = encoded.n_rows * weight  # what every release loses at most
    return replace(found, total=min(found.total, most) + left_out * weight)


def _by_prices(
    scans: Scans, may_suppress: int, slack: float, effort: BoundEffort, tick: Share
) -> tuple[float, LongArray, LongArray] | None:
    """Sum feasible prices of all rows; None where there are too many boxes to go through.

    Also return them, and those that they began with: the terms with drag, or 0.
    """
    if scans.m > _MAX_PRICED:
        return None
    start, work = None, scans.m * scans.work_of_one
    if work <= _BEGIN_ABOVE:
        start = dragged(scans, part(tick, 0.0, 0.2))[0] // (scans.k - 1)
        tick = part(tick, 0.2, 1.0)
    separation = Separation(scans.fixed, scans.size, scans.k)
    if scans.m > FEW and separation.n_boxes > MAX_BOXES:
        return None  # a pass would be given up after as much work as all passes may take

    def later() -> LongArray:
        nonlocal start
        start = dragged(scans, silent)[0] // (scans.k - 1)
        return start

    has_time = start is None and work <= _ALL_ROWS
    prices = feasible_prices(separation, PLANS[effort], tick, start, later if has_time else None)
    if prices is None:
        return None
    total = summed(scans, prices, 1, may_suppress, slack)
    if start is None:
        return total, prices, np.zeros(scans.m, np.int64)
    # With rows left out, a lower sum of prices can be cut by less.
    return max(total, summed(scans, start, 1, may_suppress, 3 * slack)), prices, start


def _by_terms(
    scans: Scans, classes: IntArray | None, may_suppress: int, slack: float, effort: BoundEffort, tick: Share
) -> Bound:
    """Bound the loss by the terms of all rows, or estimate it from a sample of rows."""
    work = scans.m * scans.work_of_one
    # Where nearest rows are all that can be found for each row in a few seconds, boxes of a few say more.
    is_slow = work > _FEWER_ROWS and effort != "quick" and mean_steps(scans) * MIN_SAMPLED > SEARCHED
    is_patient = is_slow and is_patience_enough(scans)
    if work <= _ALL_ROWS and is_patient:
        return _of_many_numbers(scans, may_suppress, slack, effort, tick)
    if work <= _ALL_ROWS:
        return _of_all_rows(scans, may_suppress, slack, effort, tick)
    found = None
    if is_patient or not is_slow:
        found = of_a_large_table(scans, classes, may_suppress, slack, effort, tick, is_slow=is_slow)
    if found is None and is_patient:
        found = of_patient_searches(scans, slack, tick)
    return found or of_a_sample(scans, slack, tick)


def _of_many_numbers(
    scans: Scans, may_suppress: int, slack: float, effort: BoundEffort, tick: Share
) -> Bound:
    """Estimate the loss by prices of near rows, or bound it by drag, whichever is higher.

    A few rows far from all others may drag their classes by more than prices say. If a sample of rows shows
    nothing of that, drag is left out, except at high effort.
    """
    near = np.zeros(scans.m, np.int64)
    near[scans.order] = scans.nearest(scans.order, part(tick, 0.0, 0.1))
    estimate = of_near_rows(scans, near, may_suppress, slack, effort, part(tick, 0.1, 0.6))
    if effort != "high" and _REACHED * sampled_drag(scans, near) < estimate.total:
        return estimate
    proved = _of_all_rows(scans, may_suppress, slack, "normal", part(tick, 0.6, 1.0))
    return estimate if estimate.total > proved.total else proved


def _of_all_rows(scans: Scans, may_suppress: int, slack: float, effort: BoundEffort, tick: Share) -> Bound:
    """Sum the terms of all rows, with drag; as prices, they are raised where there are several ranges."""
    terms, how = dragged(scans, part(tick, 0.0, 0.6), effort)
    # A term combines b_i, max(b_i, D) and b_j, and each can be off by the slack.
    total = summed(scans, terms, scans.k - 1, may_suppress, 3 * slack)
    how = f"{how} with drag, all rows"
    proved = Bound(total, False, how)
    if len(scans.fixed.span) < 2:
        return proved
    prices = _by_bunches(scans, terms // (scans.k - 1), effort, part(tick, 0.6, 1.0))
    raised = summed(scans, prices, 1, may_suppress, 3 * slack)
    return Bound(raised, False, "row prices by bunches of values, all rows") if raised > total else proved


def _by_bunches(scans: Scans, start: LongArray, effort: BoundEffort, tick: Share) -> LongArray:
    """Raise feasible prices by boxes of neighbouring values, then let an ascent improve them."""
    work = min(int(_BUNCHED * PLANS[effort].work), WORK_FOR_ONE * scans.m)
    share = _RAISING
    raising = Raising(start, scans.size, scans.k, scans.fixed.whole, int(share * work), part(tick, 0, share))
    prices = raising.by_bunches(lambda width: Separation(scans.fixed, scans.size, scans.k, width))
    if total_of(prices, scans.size) < (1 + _LEAST_RAISED) * total_of(start, scans.size):
        return prices  # most rows have no room, and would have none in the ascent
    separation = Separation(scans.fixed, scans.size, scans.k, raising.most_gained)
    plan = replace(PLANS[effort], rounds=_ROUNDS[effort], work=int((1 - share) * work))
    return BunchedAscent(separation, plan, part(tick, share, 1.0), prices).run()
