"""The privacy goals in Spark SQL; what each means is said in `verifier.goals`.

Each query gives every class its number for one goal or several. Only the worst of those that meet a goal and
the worst of those that do not come to the driver, with the number of their classes and rows. Counts are
multiplied as decimals, which are exact, and divided once as doubles.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from shoal.errors import RecipeError
from shoal.recipe.goals import AlphaK, BetaLikeness, Goal, KMap, LDiversity, RiskGoal, TCloseness
from shoal.verifier.cells.places import Tree, order, tree, units
from shoal.verifier.goals.average_risk import judge_average
from shoal.verifier.goals.registry import judge_k, refuse_unknown
from shoal.verifier.goals.rules import Rule, rule_of
from shoal.verifier.goals.score import Finding, Score, judge, stated
from shoal.verifier.spark.classes import ClassFacts, Source
from shoal.verifier.spark.closeness import hierarchical, ordered
from shoal.verifier.spark.counted import Counts, count_places, count_values, texts
from shoal.verifier.verdict import Problem

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

# Every class with its values (n of its total, P of N in all parts); one without values has one row.
_BESIDE = (
    "FROM (SELECT t.*, c.n, value, w.n AS whole, s.n AS every, m, "
    "CAST(c.n AS DECIMAL(19, 0)) * s.n AS here, CAST(w.n AS DECIMAL(19, 0)) * total AS there "
    "FROM {totals} t LEFT JOIN {counted} c USING (class) LEFT JOIN {whole} w USING (value), "
    "(SELECT sum(n) AS n, count(*) AS m FROM {whole}) s) GROUP BY class"
)
_INFINITE = "DOUBLE('Infinity')"
_GAIN = "greatest(0D, CAST(here - there AS DOUBLE) / nullif(CAST(there AS DOUBLE), 0D))"
_BOUND = "-ln(CAST(whole AS DOUBLE) / CAST(every AS DOUBLE))"
_DISTINCT = "CAST(count(value) AS DOUBLE)"
_FREQUENCY = (
    f"CASE WHEN any_value(bearers) = 0 THEN {_INFINITE} "
    "ELSE CAST(any_value(bearers) DIV max(n) AS DOUBLE) END"
)
# In the order of the counts, so that one class has one sum however many tasks there are.
_ENTROPY = (
    "CASE WHEN any_value(total) = 0 THEN 0D ELSE exp(-aggregate(array_sort(collect_list("
    "CAST(n AS DOUBLE) / nullif(total, 0))), 0D, (sum, q) -> sum + q * ln(q))) END"
)
_EQUAL = (
    "coalesce(CAST(sum(abs(here - there)) + CAST(any_value(total) AS DECIMAL(19, 0)) "
    "* (any_value(every) - sum(whole)) AS DOUBLE) / nullif(CAST(2 * any_value("
    "CAST(total AS DECIMAL(19, 0)) * every) AS DOUBLE), 0D), 0D)"
)
_SHARE = "coalesce(CAST(max(n) AS DOUBLE) / nullif(any_value(bearers), 0), 0D)"
_BASIC = f"coalesce(max({_GAIN}), 0D)"
_ENHANCED = f"CASE WHEN coalesce(bool_or({_GAIN} > {_BOUND}), false) THEN {_INFINITE} ELSE {_BASIC} END"
_DISCLOSURE = (
    f"CASE WHEN any_value(total) = 0 THEN 0D WHEN count(value) < any_value(m) THEN {_INFINITE} "
    "ELSE max(abs(ln(CAST(here AS DOUBLE) / nullif(CAST(there AS DOUBLE), 0D)))) END"
)


class _Asked(NamedTuple):
    """A goal, its place in the recipe, and the column of a query that has its number for each class."""

    at: int
    goal: Goal
    rule: Rule
    number: str


def measure(source: Source, facts: ClassFacts) -> list[Finding]:
    """Measure k and every goal of the recipe; goals on the same columns by one query."""
    recipe = source.recipe
    refuse_unknown(recipe)
    smaller = Score(recipe.privacy.k, facts.small_classes, facts.small_rows)
    findings: dict[int, Finding] = {}
    queries: dict[tuple[str | None, tuple[str, ...]], list[_Asked]] = {}
    for at, goal in enumerate(recipe.privacy.goal):
        if isinstance(goal, RiskGoal):
            findings[at] = _risk(source, goal)
            continue
        if not all(map(source.table.has_once, goal.columns)):
            # A column that is not there, or twice, is a problem already.
            findings[at] = Finding(stated(goal, source.counts), None)
            continue
        asked = _Asked(at, goal, rule_of(goal), "number" if goal.needs_kind else f"number{at}")
        form = goal.form or goal.type if goal.needs_kind else None
        queries.setdefault((form, goal.columns), []).append(asked)
    for (distance, _), query in queries.items():
        if distance is None:
            findings |= _measured(source, query)
        else:
            findings |= _ranges(source, query) if distance == "range" else _distances(source, query)
    k = judge_k(source, recipe.privacy.k, facts.smallest, smaller)
    return [k, *(findings[at] for at in range(len(recipe.privacy.goal)))]


def _risk(source: Source, goal: RiskGoal) -> Finding:
    """Measure a goal about risk."""
    if isinstance(goal, KMap):
        message = "The engine `spark` cannot verify the goal k-map."
        raise RecipeError("recipe.not_available", message, "verify it with the engine duckdb")
    (found,) = source.spark.sql(
        "SELECT count(*), coalesce(sum(size), 0) FROM {classes}", classes=source.classes
    ).collect()
    return judge_average(source, goal, int(found[0]), int(found[1]))


def _measured(source: Source, asked: Sequence[_Asked]) -> dict[int, Finding]:
    """Measure goals that are about the same columns."""
    numbers = _numbers(source, count_values(source, asked[0].goal.columns), asked)
    return _judged(source, asked, numbers)


def _judged(source: Source, asked: Sequence[_Asked], numbers: DataFrame) -> dict[int, Finding]:
    found = {}
    for each, scores in zip(asked, _scores(source, asked, numbers), strict=True):
        found[each.at] = judge(source, each.goal, scores)
    return found


def _expression(goal: Goal) -> str:
    """Write the SQL of a class's number."""
    if isinstance(goal, LDiversity):
        if goal.variant == "recursive":
            return _recursive(goal)
        return {"distinct": _DISTINCT, "frequency": _FREQUENCY, "entropy": _ENTROPY}[goal.variant]
    if isinstance(goal, TCloseness):
        return _EQUAL
    if isinstance(goal, AlphaK):
        return _SHARE
    if isinstance(goal, BetaLikeness):
        return {"basic": _BASIC, "enhanced": _ENHANCED}[goal.variant]
    return _DISCLOSURE


def _numbers(source: Source, counts: Counts, asked: Sequence[_Asked]) -> DataFrame:
    """Give every class its numbers for goals that are about the same columns."""
    numbers = ", ".join(f"{_expression(each.goal)} AS {each.number}" for each in asked)
    return source.spark.sql(f"SELECT any_value(n_rows) AS n_rows, {numbers} {_BESIDE}", **vars(counts))


def _recursive(goal: LDiversity) -> str:
    """Write the SQL that counts the places l with r1 < c (r_l + ... + r_m), of counts in descending order."""
    step = (
        "named_struct('rest', found.rest - n, 'places', found.places + "
        f"IF(found.most < {float(goal.c or 0)!r}D * CAST(found.rest AS DOUBLE), 1, 0), 'most', found.most)"
    )
    start = (
        "named_struct('rest', any_value(CAST(total AS BIGINT)), 'places', 0, 'most', CAST(max(n) AS DOUBLE))"
    )
    counts = "reverse(array_sort(collect_list(n)))"
    return f"CAST(aggregate({counts}, {start}, (found, n) -> {step}).places AS DOUBLE)"


def _distances(source: Source, asked: Sequence[_Asked]) -> dict[int, Finding]:
    """Measure goals on one distance along an order or in a tree; or say why that cannot be done."""
    goal = asked[0].goal
    (name,) = goal.columns
    found, stored = texts(source, name), source.table.stored(name)
    place = order if goal.form == "ordered" else tree
    placed = place(source.recipe, name, found, stored)
    if isinstance(placed, Problem):
        return {each.at: Finding(stated(each.goal, source.counts), placed) for each in asked}
    if isinstance(placed, Tree):
        numbers = hierarchical(source, count_places(source, name, placed.places), placed)
    else:
        numbers = ordered(source, count_places(source, name, placed))
    return _judged(source, asked, numbers)


def _ranges(source: Source, asked: Sequence[_Asked]) -> dict[int, Finding]:
    """Measure goals on the range of one column's numbers."""
    (name,) = asked[0].goal.columns
    found = units(source.recipe, name, texts(source, name), source.table.stored(name))
    if isinstance(found, Problem):
        return {each.at: Finding(stated(each.goal, source.counts), found) for each in asked}
    counts = count_places(source, name, found.places)
    numbers = source.spark.sql(
        "SELECT any_value(n_rows) AS n_rows, "
        "coalesce(CAST(max(value) - min(value) AS DOUBLE) / :per_one, 0D) AS number "
        "FROM {totals} LEFT JOIN {counted} USING (class) GROUP BY class",
        args={"per_one": float(found.per_one)},
        totals=counts.totals,
        counted=counts.counted,
    )
    return _judged(source, asked, numbers)


def _scores(source: Source, asked: Sequence[_Asked], numbers: DataFrame) -> list[list[Score]]:
    """Return for each goal of a query the worst number that meets it, and the worst that does not."""
    wanted, limits = [], {}
    for at, _, rule, number in asked:
        limits[f"limit{at}"] = float(rule.limit)
        worst = "min" if rule.sign == ">=" else "max"
        for meets in (f"{number} {rule.sign} :limit{at}", f"NOT {number} {rule.sign} :limit{at}"):
            wanted.append(
                f"array({worst}({number}) FILTER (WHERE {meets}), CAST(count_if({meets}) AS DOUBLE))"
            )
            wanted.append(f"sum(n_rows) FILTER (WHERE {meets})")
    sql = f"SELECT {', '.join(wanted)} FROM {{numbers}}"
    (found,) = source.spark.sql(sql, args=limits, numbers=numbers).collect()
    pairs = [(*found[at], found[at + 1]) for at in range(0, len(found), 2)]
    scores = [Score(worst, int(classes), int(rows or 0)) for worst, classes, rows in pairs]
    return [[s for s in scores[at : at + 2] if s.classes] for at in range(0, len(scores), 2)]
