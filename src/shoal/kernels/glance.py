"""What the rows near by tell of the greatest excess of any box that holds a tuple: no less than it is.

A box costs no less than its furthest row is away, and its k highest prices are among those of the rows that
are no further. So no excess is above the greatest mean of the k highest prices up to some distance, less that
distance. Only distances count that k rows reach, and that the highest prices can pay for. They are taken in
*rings*: the highest prices up to the outer edge, less the distance of the inner one.

That takes little longer than finding the nearest rows. `kernels.patient_excess` tells more, and takes a
hundred times as long.
"""

from __future__ import annotations

from shoal.kernels.compiling import entry, inner
from shoal.kernels.nearest import fill_distances, gather_least, kth_cost
from shoal.kernels.row_excess import top_near

_RINGS = 8  # the width of each grows by that of the first
_NARROWED = 4  # times that the last distance is computed again


@inner
def last_distance(tuples, k, near, least, scan, prices):
    """Return the distance from which on no excess, k times, is above `least`."""
    edge = prices.price[prices.by_price[0]] - least // k
    for _ in range(_NARROWED):
        if edge <= near:
            break
        total = top_near(prices, tuples.size, scan.cost, k, k * edge)
        edge = min(edge, -((least - total) // k))
    return edge


@inner
def most_in_rings(tuples, k, near, scan, prices):
    """Return k times the most excess that a box can have, by its furthest row."""
    inner_edge, rings = near, _RINGS * (_RINGS + 1) // 2
    most = top_near(prices, tuples.size, scan.cost, k, k * near + 1) - k * near
    wide = last_distance(tuples, k, near, most, scan, prices) - near
    for ring in range(_RINGS):
        outer_edge = near + wide * ((ring + 1) * (ring + 2) // 2) // rings
        if outer_edge > inner_edge:
            total = top_near(prices, tuples.size, scan.cost, k, k * outer_edge)
            most = max(most, total - k * inner_edge)
            inner_edge = outer_edge
    return most


@entry
def glances(tuples, trees, k, ones, scan, prices, found):
    """Find no less than k times the greatest excess of a box over each of some tuples. Writes `found`."""
    for at in range(ones.shape[0]):
        fill_distances(tuples, trees, ones[at], scan)
        gather_least(scan, tuples.size, k)
        found[at] = most_in_rings(tuples, k, kth_cost(scan, tuples.size, k), scan, prices)
