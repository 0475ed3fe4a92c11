"""Count rows, classes, people and goals with the database's own SQL."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from shoal.recipe import Recipe
from shoal.recipe.goals import AverageRisk
from shoal.verifier.goals.average_risk import judge_average
from shoal.verifier.goals.registry import judge_k
from shoal.verifier.goals.score import Finding, Score
from shoal.verifier.header import header_problems, quasi_columns
from shoal.verifier.postgres.goals import measured
from shoal.verifier.postgres.table import FLOATS, Stored, identifier
from shoal.verifier.verdict import MeasuredGoal, Problem, count

if TYPE_CHECKING:
    import pyarrow as pa

_PEOPLE = "shoal_people"


@dataclass(frozen=True)
class Inside:
    """What the database counted.

    Parameters
    ----------
    rows, classes : int
    k : int or None
        The size of the smallest class; None where there are no classes.
    goals : tuple of MeasuredGoal or None
        In the order of the recipe, k first; None for a goal that SQL alone cannot measure: k-map, and
        distances along an order or in a hierarchy.
    problems : tuple of Problem
    """

    rows: int
    classes: int
    k: int | None
    goals: tuple[MeasuredGoal | None, ...]
    problems: tuple[Problem, ...]


@dataclass(frozen=True)
class _Counting:
    """What is counted, and the SQL of a table with the columns c0, c1, ... and, for people, `person`."""

    stored: Stored
    people: bool

    @property
    def counts(self) -> str:
        """``"rows"`` or ``"people"``."""
        return "people" if self.people else "rows"

    @property
    def size(self) -> str:
        """The SQL of the size of a group."""
        return "count(DISTINCT person)" if self.people else "count(*)"

    def rows(self, cells: Sequence[str]) -> str:
        """Return the SQL of all rows with these cells as c0, c1 and so on."""
        named = ", ".join(f"{cell} AS c{at}" for at, cell in enumerate(cells))
        if not self.people:
            return f"(SELECT {named} FROM {self.stored.place}) AS r"
        numbered = f"SELECT {named}, row_number() OVER (ORDER BY ctid) AS place FROM {self.stored.place}"
        return f"(SELECT n.*, person FROM ({numbered}) AS n JOIN pg_temp.{_PEOPLE} USING (place)) AS r"


def verify_inside(
    cursor: Any, schema: str, table: str, recipe: Recipe, *, rows: int, subjects: pa.Array | None = None
) -> Inside:
    """Recompute the promises of a release from the table alone, where it is.

    Parameters
    ----------
    cursor : adbc_driver_manager.dbapi.Cursor
        In the transaction that sees the table. Only temporary tables are created.
    schema, table : str
        As stored.
    recipe : Recipe
        What was promised.
    rows : int
        How many rows should be there.
    subjects : pyarrow.Array, optional
        The person of each row, in the order in which the rows were written.
    """
    stored = Stored.of(cursor, schema, table)
    ((found,),) = stored.rows(f"SELECT count(*) FROM {stored.place}")
    problems = [*header_problems(stored.names, recipe), *_row_problems(found, rows, subjects)]
    quasi = quasi_columns(recipe, stored.names)
    if problems or not set(quasi) <= set(stored.names):
        return Inside(found, 0, 0, (None,) * (1 + len(recipe.privacy.goal)), tuple(problems))
    if subjects is not None:
        _load_people(cursor, subjects)
    counting = _Counting(stored, subjects is not None)
    labels = [_label(stored, name) for name in quasi]
    classes, smallest, below, rows_below, sizes = _classes(counting, labels, recipe.privacy.k)
    if not recipe.shape.has_classes:  # the boxes of single rows are compared with the original elsewhere
        return Inside(found, classes, None, (None,) * (1 + len(recipe.privacy.goal)), ())
    findings: list[Finding | None] = [
        judge_k(counting, recipe.privacy.k, smallest, Score(recipe.privacy.k, below, rows_below))
    ]
    for goal in recipe.privacy.goal:
        if isinstance(goal, AverageRisk):
            findings.append(judge_average(counting, goal, classes, sizes))
        else:
            findings.append(measured(counting, goal, labels))
    problems = [each.problem for each in findings if each is not None and each.problem is not None]
    goals = tuple(None if each is None else each.goal for each in findings)
    return Inside(found, classes, smallest, goals, tuple(problems))


def _row_problems(found: int, expected: int, subjects: pa.Array | None) -> list[Problem]:
    if not found:
        return [Problem("verify.empty", "The table has no rows.")]
    message = f"The table has {count(found, 'row')}, but {expected} should have been released."
    problems = [Problem("verify.rows", message)] if found != expected else []
    if subjects is not None and len(subjects) != found:
        message = f"The table has {count(found, 'row')}, but the subjects of {len(subjects)} are known."
        problems.append(Problem("verify.rows", message))
    return problems


def _label(stored: Stored, name: str) -> str:
    """Return the SQL of a quasi cell; an empty text is missing, as for a reader of a file."""
    value = identifier(name)
    return f"({value} + 0)::text" if stored.type_of(name) in FLOATS else f"nullif({value}::text, '')"


def _load_people(cursor: Any, subjects: pa.Array) -> None:
    """Create a temporary table with the person of each row, as numbers that identify nobody."""
    import pyarrow as pa

    numbers = subjects.dictionary_encode()
    codes = numbers.combine_chunks().indices if isinstance(numbers, pa.ChunkedArray) else numbers.indices
    places = pa.array(range(1, len(codes) + 1), pa.int64())
    cursor.execute(f"CREATE TEMP TABLE {_PEOPLE} (place bigint, person bigint) ON COMMIT DROP")
    people = pa.table({"place": places, "person": codes.cast(pa.int64())})
    cursor.adbc_ingest(_PEOPLE, people, mode="append", db_schema_name="pg_temp")


def _classes(counting: _Counting, labels: Sequence[str], k: int) -> tuple[int, int, int, int, int]:
    """Return the number of classes, the smallest size, and classes and rows below k; the sum of all sizes."""
    columns = ", ".join(f"c{at}" for at in range(len(labels)))
    grouped = f"SELECT {counting.size} AS size, count(*) AS n FROM {counting.rows(labels)} GROUP BY {columns}"
    (found,) = counting.stored.rows(
        "SELECT count(*), coalesce(min(size), 0), count(*) FILTER (WHERE size < "
        f"{int(k)}), coalesce(sum(n) FILTER (WHERE size < {int(k)}), 0)::bigint, "
        f"coalesce(sum(size), 0)::bigint FROM ({grouped}) AS classes"
    )
    classes, smallest, below, rows, sizes = map(int, found)
    return classes, smallest, below, rows, sizes
