"""delta-disclosure: no class makes a sensitive value much more, or less, likely than the whole file.

Brickell, Shmatikov (2008), "The cost of privacy". With the share p of a value in the file and q in the
class, abs(ln(q / p)) < delta for every value of the file. It is infinite for a value that the class lacks; a
class without any value has 0.
"""

from __future__ import annotations

from shoal.recipe.goals import DeltaDisclosure
from shoal.verifier.goals.classes import Source
from shoal.verifier.goals.counted import count_values
from shoal.verifier.goals.score import Finding, judge, scores

# q / p is (n N) / (P total): one division of whole numbers, as for beta-likeness.
_NUMBERS = (
    "SELECT class, CASE WHEN any_value(total) = 0 THEN 0 "
    "WHEN count(value) < any_value(m) THEN CAST('infinity' AS DOUBLE) "
    "ELSE max(abs(ln(CAST(c.n * s.n AS DOUBLE) / CAST(w.n * total AS DOUBLE)))) END AS number "
    "FROM totals LEFT JOIN counted c USING (class) LEFT JOIN whole w USING (value), "
    "(SELECT sum(n) AS n, count(*) AS m FROM whole) s GROUP BY class"
)


def delta_disclosure(source: Source, goal: DeltaDisclosure) -> Finding:
    """Measure the largest logarithm."""
    count_values(source, goal.columns)
    return judge(source, goal, scores(source, _NUMBERS))
