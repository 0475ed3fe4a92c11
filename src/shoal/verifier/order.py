"""The order of shuffled rows: it must be the one that the seed gives, and so reveal nothing about the input.

The shuffle is undone here; the rows must then be sorted by what is published. A file whose rows follow the
order of the raw table is not.
"""

from __future__ import annotations

from collections.abc import Sequence

from shoal.recipe import Recipe, Shape
from shoal.verifier.reading.apostrophe import plain_sql
from shoal.verifier.reading.load import Loaded
from shoal.verifier.reading.session import Session
from shoal.verifier.verdict import Problem, count


def is_shuffled(recipe: Recipe) -> bool:
    """Return whether rows are written in an order that is to be checked."""
    return recipe.output.order == "shuffled"


def order_problems(session: Session, loaded: Loaded, names: Sequence[str], recipe: Recipe) -> list[Problem]:
    """Check that the rows, in the order before the shuffle, are sorted by these columns.

    The session must preserve the order of rows. Cells may be sorted as numbers or as texts; missing ones come
    last.
    """
    if not is_shuffled(recipe) or loaded.rows < 2 or not all(map(loaded.has_once, names)):
        return []
    _build_sorted(session, loaded, recipe)
    columns = [loaded.column(name) for name in names]
    misplaced = _misplaced(session, [plain_sql(cell) if loaded.marked else cell for cell in columns])
    session.database.execute("DROP TABLE in_sorted_order")
    if not misplaced:
        return []
    rows = count(misplaced, "row")
    message = f"The order of the rows is not the one that the seed gives: {rows} out of place."
    return [Problem("verify.order", message)]


def _build_sorted(session: Session, loaded: Loaded, recipe: Recipe) -> None:
    """Create the table ``in_sorted_order``: the rows with the position of each before the shuffle."""
    import numpy as np
    import pyarrow as pa

    # Anatomy's seed is secret, and its tables are shuffled as with the seed 0.
    seed = 0 if recipe.shape is Shape.TWO_TABLES else recipe.method.seed
    drawn = np.random.PCG64(seed).random_raw(loaded.rows)
    rank = np.argsort(drawn, kind="stable")
    session.database.register("ranks", pa.table({"place": np.arange(loaded.rows), "rank": rank}))
    session.database.execute(
        f"CREATE TEMP TABLE in_sorted_order AS SELECT t.*, rank FROM {loaded.table} t "
        "JOIN ranks ON place = t.rowid"
    )
    session.database.unregister("ranks")


def _misplaced(session: Session, columns: Sequence[str]) -> int:
    """Count the rows that should come before the row above them, column by column."""
    misplaced, equal = 0, "TRUE"
    for cell in columns:
        query = (
            f"SELECT {_count_before('text')}, {_count_before('number')}, count(text) - count(number) FROM "
            f"(SELECT {equal} AS equal, lag(rank) OVER up AS rank_above, "
            f"{cell} AS text, lag({cell}) OVER up AS text_above, "
            f"{_number(cell)} AS number, lag({_number(cell)}) OVER up AS number_above "
            "FROM in_sorted_order WINDOW up AS (ORDER BY rank))"
        )
        as_texts, as_numbers, no_numbers = session.row(query)
        misplaced += min(as_texts, as_texts if no_numbers else as_numbers)
        equal += f" AND {cell} IS NOT DISTINCT FROM lag({cell}) OVER up"
    return misplaced


def _number(cell: str) -> str:
    return f"try_cast({cell} AS DOUBLE)"


def _count_before(key: str) -> str:
    """Write the SQL that counts the rows whose cell should come before the one above it."""
    before = f"{key} < {key}_above OR ({key} IS NOT NULL AND {key}_above IS NULL)"
    return f"count(*) FILTER (rank_above IS NOT NULL AND equal AND ({before}))"
