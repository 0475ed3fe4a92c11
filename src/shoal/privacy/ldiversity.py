"""l-diversity: every class has at least l well-represented values.

Four variants. *Distinct*: at least l different values. *Frequency*: l x r1 <= size, no value has a
share above 1 / l [he2012, definition 3]. *Entropy*: exp(-sum q ln q) >= l. *Recursive* (c, l):
r1 < c (r_l + ... + r_m), with the counts r1 >= r2 >= ... >= r_m. All but the second are from
[machanavajjhala2006]_. The paper says that recursive (c, 1) always holds; here the inequality decides.
Entropy may fall short by 1e-9, because it is a sum of rounded logarithms.

.. [machanavajjhala2006] Machanavajjhala, Gehrke, Kifer, Venkitasubramaniam. l-Diversity: Privacy Beyond
   k-Anonymity. ICDE 2006. doi:10.1109/ICDE.2006.1
.. [he2012] He, Chen, Chen, Dong, Wang, Huang. Clustering-Based k-Anonymity. PAKDD 2012.
   doi:10.1007/978-3-642-30217-6_34
"""

from __future__ import annotations

from math import ceil, exp, log

import numpy as np

from shoal.privacy.goal import Counts, Measure, Obstacle, share_obstacle
from shoal.privacy.limits import Limits, Values
from shoal.recipe.goals import LDiversity

_ROUNDING = 1e-9  # by which an entropy may fall short
_HALVINGS = 60


def measure(goal: LDiversity) -> Measure:
    """Return the goal as the kernels take it."""
    from shoal.kernels import goals as kernel

    kinds = {
        "distinct": kernel.DISTINCT,
        "frequency": kernel.FREQUENCY,
        "entropy": kernel.ENTROPY,
        "recursive": kernel.RECURSIVE,
    }
    return Measure(kinds[goal.variant], float(goal.l), goal.c or 0.0)


def limits(goal: LDiversity, values: Values) -> Limits:
    """Return what the values of every class keep to: a number of them, and the share of the most frequent."""
    n, share, needed = values.n_present, 1.0, ceil(goal.l - 2 * _ROUNDING)
    if goal.variant == "frequency":
        share, needed = 1 / goal.l, 0  # a class without any value is no problem there
    elif goal.variant == "entropy":
        share = _most_by_entropy(goal.l, n)
    elif goal.c is not None:
        share = _most_recursively(goal.c, needed, n)
    return Limits(np.full(values.n, share), needed)


def _most_by_entropy(l: float, n: int) -> float:  # noqa: E741 - the name in the literature
    """Return the greatest share of a value, where the entropy of n values is that of l equal shares at least.

    The others' entropy is greatest if they are equally frequent, and the sum falls from 1 / n on.
    """
    low, high = 1 / max(n, 1), 1.0
    for _ in range(_HALVINGS):
        share = (low + high) / 2
        rest = 1 - share
        entropy = -share * log(share) - (rest * log(rest / max(n - 1, 1)) if rest > 0 else 0.0)
        low, high = (share, high) if entropy >= log(max(l - 2 * _ROUNDING, 1.0)) else (low, share)
    return high


def _most_recursively(c: float, l: int, n: int) -> float:  # noqa: E741 - the name in the literature
    """Return the greatest share of a value, where r1 < c (r_l + ... + r_m) for m values, n at most.

    The tail has m - l + 1 counts, and none of those from r_2 on is below one of them: they have (m - 1) /
    (m - l + 1) times the tail at least, which is above r1 / c. That is least for the most values.
    """
    if l == 1:
        return min(1.0, c)
    if n < l:
        return 1.0  # no class is diverse enough
    return 1 / (1 + (n - 1) / (c * (n - l + 1)))


def obstacle(goal: LDiversity, name: str, counts: Counts) -> Obstacle:
    """Return what in the table makes the goal infeasible."""
    counts = np.sort(counts[counts > 0])[::-1]
    if len(counts) == 0:
        return Obstacle(f"l = {goal.l} is asked for, but no row has a value of {name}.", "remove the goal")
    asked = f"l = {goal.asked}"
    if goal.variant == "distinct":
        values = f"only {len(counts)} different values" if len(counts) > 1 else "only one value"
        return Obstacle(f"{asked} is asked for, but {name} has {values}.", f"lower l to {len(counts)}")
    if goal.variant == "frequency":
        return share_obstacle(asked, name, counts, f"lower l to {int(counts.sum()) // int(counts[0])}")
    if goal.variant == "entropy":
        shares = counts / counts.sum()
        number = exp(-float((shares * np.log(shares)).sum()))
        message = (
            f"{asked} is asked for, but {name} is only as diverse as {number:.3f} equally frequent values."
        )
        return Obstacle(message, f"lower l to {int(number * 1000) / 1000}, or choose another variant")
    tail = int(counts[int(goal.l) - 1 :].sum())
    message = (
        f"(c = {goal.c}, {asked}) is asked for, but the most frequent value of {name} occurs "
        f"{int(counts[0])} times, and those from rank {goal.asked} on {tail} times in total."
    )
    return Obstacle(message, "lower l or raise c")
