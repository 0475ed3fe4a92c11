"""The classes of a file, and the people in them where somebody says whose each row is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from shoal.errors import DataError
from shoal.recipe import Recipe
from shoal.verifier.reading.load import Loaded
from shoal.verifier.reading.session import Session

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True)
class Source:
    """A loaded file with its recipe; `people`: people are counted, not rows."""

    session: Session
    loaded: Loaded
    recipe: Recipe
    people: bool = False

    @property
    def counts(self) -> str:
        """What is counted, as a goal names it."""
        return "people" if self.people else "rows"


def check_subjects(subjects: pa.Array) -> None:
    """Refuse rows of nobody: how many people they are cannot be known."""
    if subjects.null_count:
        message = f"{subjects.null_count} of {len(subjects)} subjects are missing: whose rows are these?"
        raise DataError("data.missing", message, "mend the data, or leave these rows out")


def load_people(session: Session, subjects: pa.Array) -> None:
    """Make the table ``people``: the person of each row, by its place in the file.

    People are numbered, so that what tells them apart does not go from table to table.
    """
    import pyarrow as pa

    places = pa.array(range(len(subjects)), pa.int64())
    session.database.register("given", pa.table({"place": places, "subject": subjects}))
    session.database.execute(
        "CREATE TEMP TABLE people AS SELECT place, dense_rank() OVER (ORDER BY subject) AS person FROM given"
    )
    session.database.unregister("given")


def build_classes(source: Source, quasi: Sequence[str]) -> tuple[int, int]:
    """Make the table ``classes``: for each combination of quasi cells its number, its rows and its size.

    The size is that of people, where they are known. GROUP BY takes missing cells for equal, so those
    without a value form classes of their own.
    Returns the number of classes and the smallest size, 0 when there is none.
    """
    session, loaded = source.session, source.loaded
    columns = ", ".join(loaded.column(name) for name in quasi)
    size = "count(DISTINCT person)" if source.people else "count(*)"
    grouped = f"SELECT {columns}, count(*) AS n_rows, {size} AS size FROM {_rows(source)} GROUP BY {columns}"
    session.database.execute(
        f"CREATE TEMP TABLE classes AS SELECT row_number() OVER () AS class, * FROM ({grouped})"
    )
    classes, smallest = session.row("SELECT count(*), coalesce(min(size), 0) FROM classes")
    return int(classes), int(smallest)


def build_cells(source: Source, quasi: Sequence[str], others: Sequence[str]) -> None:
    """Make the table ``cells``: how often each class has each combination of cells in the other columns.

    There are far fewer of them than rows. Where people are counted each has combinations of their own.
    """
    loaded = source.loaded
    columns = "".join(f", r.{loaded.column(name)}" for name in others)
    person = ", person" if source.people else ""
    same = " AND ".join(f"r.{cell} IS NOT DISTINCT FROM k.{cell}" for cell in map(loaded.column, quasi))
    source.session.database.execute(
        f"CREATE TEMP TABLE cells AS SELECT class{person}{columns}, count(*) AS times "
        f"FROM {_rows(source)} r JOIN classes k ON {same} GROUP BY ALL"
    )


def _rows(source: Source) -> str:
    """Write the SQL of the file's rows, with the person of each where people are counted.

    A row's number is its place in the file only in a session that keeps order.
    """
    table = source.loaded.table
    if not source.people:
        return table
    return f"(SELECT t.*, person FROM {table} t JOIN people ON place = t.rowid)"
