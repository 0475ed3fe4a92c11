"""The privacy goals in Spark SQL; what each means is said in `verifier.goals`.

Each query gives every class its ``number``. Only the worst of those that meet a goal and the worst of those
that do not come to the driver, with the number of their classes and rows. Counts are multiplied as decimals,
which are exact, and divided once as doubles.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

from shoal.recipe.goals import AlphaK, BetaLikeness, DeltaDisclosure, Goal, LDiversity, TCloseness
from shoal.verifier.cells.places import order, tree
from shoal.verifier.goals.registry import judge_k, refuse_unknown
from shoal.verifier.goals.score import Finding, Rule, Score, at_least, at_most, below, judge, stated
from shoal.verifier.spark.classes import ClassFacts, Source
from shoal.verifier.spark.closeness import equal, hierarchical, ordered
from shoal.verifier.spark.counted import Counts, count_places, count_values, texts
from shoal.verifier.verdict import Problem

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_WIDE = "CAST({} AS DECIMAL(19, 0))"
_ALL = "(SELECT sum(n) AS n, count(*) AS m FROM {whole}) s"
_BESIDE = f"FROM {{totals}} LEFT JOIN {{counted}} c USING (class) LEFT JOIN {{whole}} w USING (value), {_ALL}"
_OWN = "FROM {totals} LEFT JOIN {counted} USING (class) GROUP BY class"
_ROWS = "any_value(n_rows) AS n_rows"
_HERE = f"CAST({_WIDE.format('c.n')} * s.n AS DOUBLE)"  # n N: over P total it is q / p
_THERE = f"CAST({_WIDE.format('w.n')} * total AS DOUBLE)"
_MORE = f"CAST({_WIDE.format('c.n')} * s.n - {_WIDE.format('w.n')} * total AS DOUBLE)"

_DIVERSITY = {
    "distinct": f"SELECT {_ROWS}, CAST(count(value) AS DOUBLE) AS number {_OWN}",
    "frequency": (
        f"SELECT {_ROWS}, CASE WHEN any_value(bearers) = 0 THEN DOUBLE('Infinity') "
        f"ELSE CAST(any_value(bearers) DIV max(n) AS DOUBLE) END AS number {_OWN}"
    ),
    # In the order of the counts, so that one class has one sum however many tasks there are.
    "entropy": (
        f"SELECT {_ROWS}, CASE WHEN any_value(total) = 0 THEN 0D ELSE exp(-aggregate(array_sort("
        "collect_list(n / nullif(total, 0))), 0D, (sum, q) -> sum + q * ln(q))) END AS number "
        f"FROM (SELECT class, n_rows, total, CAST(n AS DOUBLE) AS n FROM {{totals}} "
        "LEFT JOIN {counted} USING (class)) GROUP BY class"
    ),
    "recursive": (
        f"SELECT {_ROWS}, CAST(count_if(first < :c * rest) AS DOUBLE) AS number "
        "FROM (SELECT class, n_rows, CAST(max(n) OVER (PARTITION BY class) AS DOUBLE) AS first, "
        "CAST(sum(n) OVER (PARTITION BY class ORDER BY n DESC, value "
        "ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING) AS DOUBLE) AS rest "
        "FROM {totals} LEFT JOIN {counted} USING (class)) GROUP BY class"
    ),
}
_SHARE = (
    f"SELECT {_ROWS}, coalesce(CAST(max(n) AS DOUBLE) / nullif(any_value(bearers), 0), 0D) AS number {_OWN}"
)
_GAINS = (
    f"SELECT class, n_rows, greatest(0D, {_MORE} / nullif({_THERE}, 0D)) AS gain, "
    f"-ln(CAST(w.n AS DOUBLE) / nullif(CAST(s.n AS DOUBLE), 0D)) AS bound {_BESIDE}"
)
_LIKENESS = {
    "basic": f"SELECT {_ROWS}, coalesce(max(gain), 0D) AS number FROM ({_GAINS}) GROUP BY class",
    "enhanced": (
        f"SELECT {_ROWS}, CASE WHEN coalesce(bool_or(gain > bound), false) THEN DOUBLE('Infinity') "
        f"ELSE coalesce(max(gain), 0D) END AS number FROM ({_GAINS}) GROUP BY class"
    ),
}
_DISCLOSURE = (
    f"SELECT {_ROWS}, CASE WHEN any_value(total) = 0 THEN 0D "
    "WHEN count(value) < any_value(m) THEN DOUBLE('Infinity') "
    f"ELSE max(abs(ln({_HERE} / nullif({_THERE}, 0D)))) END AS number {_BESIDE} GROUP BY class"
)


class _Asked(NamedTuple):
    """A goal whose number every class has."""

    goal: Goal
    rule: Rule
    numbers: DataFrame


def measure(source: Source, facts: ClassFacts) -> list[Finding]:
    """Measure k and every goal of the recipe; all goals by one query in the end."""
    recipe = source.recipe
    refuse_unknown(recipe)
    smaller = Score(recipe.privacy.k, facts.small_classes, facts.small_rows)
    findings = [judge_k(source, recipe.privacy.k, facts.smallest, smaller)]
    of_columns: dict[tuple[str, ...], Counts] = {}

    def counts(names: tuple[str, ...]) -> Counts:
        if names not in of_columns:
            of_columns[names] = count_values(source, names)
        return of_columns[names]

    asked: list[_Asked | Finding] = []
    for goal in recipe.privacy.goal:
        if all(map(source.table.has_once, goal.columns)):
            asked.append(_ask(source, goal, counts))
        else:  # a column that is not there, or twice, is a problem already
            asked.append(Finding(stated(goal, source.counts), None))
    scores = _scores(source, [each for each in asked if isinstance(each, _Asked)])
    for each in asked:
        findings.append(each if isinstance(each, Finding) else _judge(source, each, scores.pop(0)))
    return findings


def _judge(source: Source, asked: _Asked, scores: list[Score]) -> Finding:
    if isinstance(asked.goal, LDiversity) and asked.goal.variant != "entropy":
        scores = [s._replace(number=int(s.number)) if s.number < float("inf") else s for s in scores]
    return judge(source, asked.goal, scores, asked.rule)


def _ask(source: Source, goal: Goal, counts: Callable[[tuple[str, ...]], Counts]) -> _Asked | Finding:
    """Write the query of a goal, and what it asks of every class."""
    if isinstance(goal, TCloseness):
        return _ask_closeness(source, goal, counts)
    if isinstance(goal, LDiversity):
        query = _DIVERSITY[goal.variant]
        besides = f" with c = {goal.c}" if goal.variant == "recursive" else ""
        slack = 1e-9 if goal.variant == "entropy" else 0
        rule = at_least("verify.l", goal.asked, slack=slack, besides=besides)
    elif isinstance(goal, AlphaK):
        query, rule = _SHARE, at_most("verify.alpha", goal.alpha)
    elif isinstance(goal, BetaLikeness):
        query, rule = _LIKENESS[goal.variant], at_most("verify.beta", goal.beta)
    else:
        assert isinstance(goal, DeltaDisclosure)
        query, rule = _DISCLOSURE, below("verify.delta", goal.delta)
    found = counts(goal.columns)
    tables = {name: frame for name, frame in vars(found).items() if f"{{{name}}}" in query}
    args = {"c": float(goal.c or 0)} if isinstance(goal, LDiversity) and ":c" in query else None
    return _Asked(goal, rule, source.spark.sql(query, args=args, **tables))


def _ask_closeness(
    source: Source, goal: TCloseness, counts: Callable[[tuple[str, ...]], Counts]
) -> _Asked | Finding:
    rule = at_most("verify.t", goal.t)
    if goal.distance == "equal":
        return _Asked(goal, rule, equal(source, counts(goal.columns)))
    (name,) = goal.columns
    found, stored = texts(source, name), source.table.stored(name)
    if goal.distance == "ordered":
        places = order(source.recipe, name, found, stored)
        if isinstance(places, Problem):
            return Finding(stated(goal, source.counts), places)
        return _Asked(goal, rule, ordered(source, count_places(source, name, places)))
    above = tree(source.recipe, name, found, stored)
    if isinstance(above, Problem):
        return Finding(stated(goal, source.counts), above)
    return _Asked(goal, rule, hierarchical(source, count_places(source, name, above.places), above))


def _scores(source: Source, asked: list[_Asked]) -> list[list[Score]]:
    """Return for each goal the worst number that meets it, and the worst that does not."""
    found: list[list[Score]] = [[] for _ in asked]
    if not asked:
        return found
    summaries = [_summary(source, at, each) for at, each in enumerate(asked)]
    every = summaries[0]
    for summary in summaries[1:]:
        every = every.unionAll(summary)
    for at, worst, classes, rows in every.collect():
        found[at].append(Score(worst, int(classes), int(rows)))
    return found


def _summary(source: Source, at: int, asked: _Asked) -> DataFrame:
    rule = asked.rule
    worst = "min" if rule.sign == ">=" else "max"
    return source.spark.sql(
        f"SELECT {at} AS goal, {worst}(number) AS worst, count(*) AS classes, sum(n_rows) AS n_rows "
        f"FROM {{numbers}} GROUP BY number {rule.sign} :limit",
        args={"limit": float(rule.limit)},
        numbers=asked.numbers,
    )
