"""The privacy goals in the SQL of PostgreSQL; what each means is said in `verifier.goals`.

Counts are multiplied as numeric, which is exact, and divided once as double precision.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from shoal.recipe.goals import (
    BetaLikeness,
    Goal,
    LDiversity,
    RiskGoal,
    TCloseness,
    ValueRange,
)
from shoal.verifier.goals.score import Finding, Score, judge
from shoal.verifier.postgres.table import FLOATS, Stored, identifier

_NUMBERS = ("smallint", "integer", "bigint", "numeric", *FLOATS)
# Texts that are the same number to readers of tables: 1, 1.0 and 1e0. 007 is a code.
_NUMBER = r"^[+-]?((0|[1-9][0-9]{0,14})(\.[0-9]{0,15})?|\.[0-9]{1,15})([eE][+-]?[0-9]{1,2})?$"


class Counting(Protocol):
    """Where rows or people are counted."""

    @property
    def stored(self) -> Stored:
        """The table."""

    @property
    def people(self) -> bool:
        """Whether people are counted."""

    @property
    def counts(self) -> str:
        """``"rows"`` or ``"people"``."""

    @property
    def size(self) -> str:
        """The SQL of the size of a group."""

    def rows(self, cells: Sequence[str]) -> str:
        """Return the SQL of all rows."""


# Every class with its values: n of its total, P of N in the whole table. A class without values has one row.
_COUNTED = (
    "WITH given AS MATERIALIZED (SELECT ROW({labels})::text AS class, {value} AS value{person} FROM {rows}), "
    "classes AS (SELECT class, count(*) AS n_rows, {bearers} AS bearers FROM given GROUP BY class), "
    "counted AS (SELECT class, value, {number} AS n FROM given WHERE value IS NOT NULL "
    "GROUP BY class, value), "
    "whole AS (SELECT value, {number} AS p FROM given WHERE value IS NOT NULL GROUP BY value), "
    "every AS (SELECT coalesce(sum(p), 0) AS every, count(*) AS m FROM whole), "
    "totals AS (SELECT class, sum(n) AS total FROM counted GROUP BY class), "
    "beside AS (SELECT class, n_rows, bearers, value, n::numeric AS n, p::numeric AS p, every, m, "
    "coalesce(total, 0) AS total FROM classes LEFT JOIN totals USING (class) LEFT JOIN counted USING (class) "
    "LEFT JOIN whole USING (value) CROSS JOIN every), "
    "scored AS ({scored}) "
    "SELECT number, count(*), sum(n_rows)::bigint FROM scored GROUP BY number"
)
_BY_CLASS = "SELECT class, max(n_rows) AS n_rows, ({number})::float8 AS number FROM beside GROUP BY class"
_INFINITE = "'Infinity'::float8"
_GAIN = "greatest(0, (n * every - p * total)::float8 / nullif(p * total, 0)::float8)"
_BASIC = f"coalesce(max({_GAIN}), 0)"
_EXPRESSIONS = {
    "distinct": "count(value)",
    "frequency": f"CASE WHEN max(bearers) = 0 THEN {_INFINITE} ELSE div(max(bearers), max(n)) END",
    "entropy": (
        "CASE WHEN max(total) = 0 THEN 0 ELSE exp(-sum(n::float8 / nullif(total, 0)::float8 "
        "* ln(n::float8 / nullif(total, 0)::float8))) END"
    ),
    "equal": (
        "coalesce((sum(abs(n * every - p * total)) + max(total) * (max(every) - sum(p)))::float8 "
        "/ nullif(2 * max(total * every), 0)::float8, 0)"
    ),
    "alpha-k": "coalesce(max(n)::float8 / nullif(max(bearers), 0)::float8, 0)",
    "basic": _BASIC,
    "enhanced": (
        f"CASE WHEN coalesce(bool_or({_GAIN} > -ln(p::float8 / nullif(every, 0)::float8)), false) "
        f"THEN {_INFINITE} ELSE {_BASIC} END"
    ),
    "delta-disclosure": (
        f"CASE WHEN max(total) = 0 THEN 0 WHEN count(value) < max(m) THEN {_INFINITE} "
        "ELSE max(abs(ln((n * every)::float8 / nullif(p * total, 0)::float8))) END"
    ),
    "range": "coalesce(max(value::numeric) - min(value::numeric), 0)",
}
# Counts in descending order: later sums are smaller, so the places that satisfy it come first.
_RECURSIVE = (
    "SELECT class, max(n_rows) AS n_rows, count(*) FILTER (WHERE first < {c} * rest)::float8 AS number "
    "FROM (SELECT class, n_rows, (max(n) OVER (PARTITION BY class))::float8 AS first, "
    "(sum(n) OVER (PARTITION BY class ORDER BY n DESC, value ROWS BETWEEN CURRENT ROW AND "
    "UNBOUNDED FOLLOWING))::float8 AS rest FROM beside) AS placed GROUP BY class"
)


def measured(counting: Counting, goal: Goal | RiskGoal, labels: Sequence[str]) -> Finding | None:
    """Measure a goal on the classes that the labels form; None where SQL alone cannot."""
    if isinstance(goal, RiskGoal) or not set(goal.columns) <= set(counting.stored.names):
        return None
    types = [counting.stored.type_of(name) for name in goal.columns]
    if isinstance(goal, TCloseness) and goal.distance != "equal":
        return None
    if isinstance(goal, ValueRange) and types[0] not in _NUMBERS:
        return None
    found = [Score(number, int(n), int(rows)) for number, n, rows in _scores(counting, goal, labels)]
    return judge(counting, goal, found)


def _scores(counting: Counting, goal: Goal, labels: Sequence[str]) -> list[tuple[float, int, int]]:
    first = len(labels)
    values = [f"c{first + at}" for at in range(len(goal.columns))]
    joint = (
        values[0]
        if len(values) == 1
        else f"CASE WHEN {' AND '.join(f'{v} IS NOT NULL' for v in values)} "
        f"THEN ROW({', '.join(values)})::text END"
    )
    if isinstance(goal, LDiversity) and goal.variant == "recursive":
        scored = _RECURSIVE.format(c=repr(float(goal.c or 0)))
    else:
        scored = _BY_CLASS.format(number=_EXPRESSIONS[_name(goal)])
    cells = [*labels, *(_value(counting.stored, name) for name in goal.columns)]
    has_value = "FILTER (WHERE value IS NOT NULL)"
    sql = _COUNTED.format(
        labels=", ".join(f"c{at}" for at in range(first)),
        value=joint,
        person=", person" if counting.people else "",
        rows=counting.rows(cells),
        number=counting.size,
        bearers=f"{counting.size} {has_value}",
        scored=scored,
    )
    return [(number, classes, rows) for number, classes, rows in counting.stored.rows(sql)]


def _name(goal: Goal) -> str:
    if isinstance(goal, (LDiversity, BetaLikeness)):
        return goal.variant
    return "equal" if isinstance(goal, TCloseness) else goal.type


def _value(stored: Stored, name: str) -> str:
    """Return the SQL of a sensitive value: one text for one value, NULL where it is missing."""
    value, one = identifier(name), stored.type_of(name)
    if one in FLOATS:  # minus zero is zero
        return f"CASE WHEN {value} = 'NaN' THEN NULL ELSE ({value} + 0)::text END"
    if one != "text":
        return f"{value}::text"
    number = f"({value}::float8 + 0)"
    return (
        f"CASE WHEN {value} = '' THEN NULL WHEN {value} ~ '{_NUMBER}' AND abs({number}) < 9007199254740992 "
        f"THEN {number}::text ELSE {value} END"
    )
