"""l-diversity: every class has at least l well-represented sensitive values.

Machanavajjhala, Gehrke, Kifer, Venkitasubramaniam (2006), "l-diversity: privacy beyond k-anonymity";
the frequency variant is definition 3 of He, Chen, Chen, Xiao, Zhang (2012). With the counts
r1 >= r2 >= ... >= rm of a class and n rows (or people) that have a value:

- distinct: m >= l;
- frequency: l r1 <= n. The number is the largest such l, n // r1;
- entropy: exp(-sum of q ln q) >= l, up to 1e-9 of rounding;
- recursive (c,l): r1 < c (r_l + ... + r_m). The number is the largest such l, 0 if there is none.

A class without values has no well-represented ones, but also none that is too frequent: it fails all
variants except frequency.
"""

from __future__ import annotations

from shoal.recipe.goals import LDiversity
from shoal.verifier.goals.classes import Source
from shoal.verifier.goals.counted import count_values
from shoal.verifier.goals.score import Finding, judge, scores

_NUMBERS = {
    "distinct": (
        "SELECT class, count(value) AS number FROM totals LEFT JOIN counted USING (class) GROUP BY class"
    ),
    # An exact division of whole numbers; without values no l is too high.
    "frequency": (
        "SELECT class, CASE WHEN any_value(bearers) = 0 THEN CAST('infinity' AS DOUBLE) "
        "ELSE any_value(bearers) // max(n) END AS number "
        "FROM totals LEFT JOIN counted USING (class) GROUP BY class"
    ),
    # In the order of the counts, so that the sum does not depend on the number of threads.
    "entropy": (
        "SELECT class, CASE WHEN any_value(total) = 0 THEN 0 "
        "ELSE exp(-fsum(q * ln(q) ORDER BY q)) END AS number "
        "FROM (SELECT class, total, CAST(n AS DOUBLE) / CAST(total AS DOUBLE) AS q "
        "FROM totals LEFT JOIN counted USING (class)) GROUP BY class"
    ),
    # Later sums are smaller, so the ranks that satisfy it come first.
    "recursive": (
        "SELECT class, count(*) FILTER (first < CAST(? AS DOUBLE) * rest) AS number "
        "FROM (SELECT class, CAST(max(n) OVER (PARTITION BY class) AS DOUBLE) AS first, "
        "CAST(sum(n) OVER (PARTITION BY class ORDER BY n DESC, value "
        "ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING) AS DOUBLE) AS rest "
        "FROM totals LEFT JOIN counted USING (class)) GROUP BY class"
    ),
}


def l_diversity(source: Source, goal: LDiversity) -> Finding:
    """Measure one of the four variants."""
    count_values(source, goal.columns)
    parameters = [goal.c] if goal.variant == "recursive" else []
    return judge(source, goal, scores(source, _NUMBERS[goal.variant], parameters))
