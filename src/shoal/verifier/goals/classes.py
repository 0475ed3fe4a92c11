"""The classes of a file, and the people in them where the person of each row is given."""

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
    """A loaded file with its recipe; `people`: whether people are counted instead of rows."""

    session: Session
    loaded: Loaded
    recipe: Recipe
    people: bool = False

    @property
    def counts(self) -> str:
        """What is counted, as a goal names it."""
        return "people" if self.people else "rows"


def check_subjects(subjects: pa.Array) -> None:
    """Refuse rows without a person: how many people they belong to is unknown."""
    if subjects.null_count:
        message = f"{subjects.null_count} of {len(subjects)} subjects are missing: people cannot be counted."
        raise DataError("data.missing", message, "fill them in, or leave these rows out")


def load_people(session: Session, subjects: pa.Array) -> None:
    """Create the table ``people``: the person of each row, by its position in the file.

    People are numbered, so that what identifies them is not copied from table to table.
    """
    import pyarrow as pa

    places = pa.array(range(len(subjects)), pa.int64())
    session.database.register("given", pa.table({"place": places, "subject": subjects}))
    session.database.execute(
        "CREATE TEMP TABLE people AS SELECT place, dense_rank() OVER (ORDER BY subject) AS person FROM given"
    )
    session.database.unregister("given")


def build_classes(source: Source, quasi: Sequence[str]) -> tuple[int, int]:
    """Create the table ``classes``: for each combination of quasi cells its number, its rows and its size.

    The size counts people where they are known. GROUP BY treats missing cells as equal, so rows without a
    value form separate classes.
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
    """Create the table ``cells``: how often each class has each combination of cells in the other columns.

    There are far fewer of them than rows. Where people are counted, each person has separate combinations.
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
    """Return the SQL of the file's rows, with the person of each where people are counted.

    A row's number is its position in the file only in a session that preserves order.
    """
    table = source.loaded.table
    if not source.people:
        return table
    return f"(SELECT t.*, person FROM {table} t JOIN people ON place = t.rowid)"
