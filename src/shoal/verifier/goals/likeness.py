"""beta-likeness: no sensitive value is much more frequent in a class than in the whole file.

Cao, Karras (2012), "Publishing microdata with a robust privacy guarantee". With the share p of a value in
the file and q in the class, its gain is (q - p) / p where q > p:

- basic: every gain <= beta;
- enhanced: every gain <= min(beta, -ln p). The number is the largest gain, or infinite when one of them
  exceeds its -ln p, since no beta helps then.

A class without values, or in which none gains, has 0.
"""

from __future__ import annotations

from shoal.recipe.goals import BetaLikeness
from shoal.verifier.goals.classes import Source
from shoal.verifier.goals.counted import count_values
from shoal.verifier.goals.score import Finding, judge, scores

# With n of a class's total and P of the file's N, the gain is (n N - P total) / (P total): one division
# of whole numbers, which doubles hold exactly up to 90 million rows.
_GAINS = (
    "SELECT class, "
    "greatest(0, CAST(c.n * s.n - w.n * total AS DOUBLE) / CAST(w.n * total AS DOUBLE)) AS gain, "
    "-ln(CAST(w.n AS DOUBLE) / CAST(s.n AS DOUBLE)) AS bound "
    "FROM totals LEFT JOIN counted c USING (class) LEFT JOIN whole w USING (value), "
    "(SELECT sum(n) AS n FROM whole) s"
)
_NUMBERS = {
    "basic": f"SELECT class, coalesce(max(gain), 0) AS number FROM ({_GAINS}) GROUP BY class",
    "enhanced": (
        "SELECT class, CASE WHEN coalesce(bool_or(gain > bound), false) THEN CAST('infinity' AS DOUBLE) "
        f"ELSE coalesce(max(gain), 0) END AS number FROM ({_GAINS}) GROUP BY class"
    ),
}


def beta_likeness(source: Source, goal: BetaLikeness) -> Finding:
    """Measure the largest gain."""
    count_values(source, goal.columns)
    return judge(source, goal, scores(source, _NUMBERS[goal.variant]))
