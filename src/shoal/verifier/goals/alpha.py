"""(alpha,k)-anonymity: no sensitive value has a share above alpha in a class.

Wong, Li, Fu, Wang (2006), "(alpha,k)-anonymity", here for every value: r1 / n <= alpha, where r1 is the
count of the most frequent value and n the number of rows (or people) with a value. Without values it is 0.
"""

from __future__ import annotations

from shoal.recipe.goals import AlphaK
from shoal.verifier.goals.classes import Source
from shoal.verifier.goals.counted import count_values
from shoal.verifier.goals.score import Finding, judge, scores

_NUMBERS = (
    # One division of two counts, so that exactly 1/5 is 0.2.
    "SELECT class, coalesce(CAST(max(n) AS DOUBLE) / CAST(any_value(bearers) AS DOUBLE), 0) AS number "
    "FROM totals LEFT JOIN counted USING (class) GROUP BY class"
)


def alpha_k(source: Source, goal: AlphaK) -> Finding:
    """Measure the largest share."""
    count_values(source, goal.columns)
    return judge(source, goal, scores(source, _NUMBERS))
