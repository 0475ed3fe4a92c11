"""How often each sensitive value occurs in each class, and in the whole file.

A missing cell is not a value and is left out of all counts. For several columns that count jointly, each
combination is one value, which is missing if any part is. With people, the count of a value is the number
of people who have it: a person with two values counts for both.
"""

from __future__ import annotations

from collections.abc import Sequence

from shoal.verifier.goals.classes import Source
from shoal.verifier.reading.value import bare, comparable

_FLOATS = ("FLOAT", "DOUBLE")  # types that have NaN


def count_values(source: Source, names: Sequence[str]) -> None:
    """Count the values of one column, or the combinations of several; see `_count`."""
    # A list keeps the parts separate, whatever they contain.
    value = "v0" if len(names) == 1 else f"[{', '.join(f'v{i}' for i in range(len(names)))}]"
    forms = " ".join(_joined(source, name, f"v{i}") for i, name in enumerate(names))
    _count(
        source,
        f"SELECT cells.*, {value} AS value FROM cells {forms}",
        [_missing(source, name) for name in names],
    )


def _joined(source: Source, name: str, value: str) -> str:
    """Return the SQL that adds a column's values to its cells; its parameter lists the texts for missing.

    Only distinct cells are normalized, which is slower than finding them.
    """
    cell = source.loaded.column(name)
    form = comparable(cell, marked=source.loaded.marked)
    different = f"SELECT DISTINCT {cell} FROM cells WHERE {cell} IS NOT NULL"
    forms = f"SELECT {cell} AS of_{value}, {form} AS {value} FROM ({different})"
    return f"JOIN (FROM ({forms}) WHERE {value} IS NOT NULL) ON cells.{cell} = of_{value}"


def texts(source: Source, name: str) -> list[str]:
    """List the distinct texts of a column, as written except for marks and blanks."""
    cell = source.loaded.column(name)
    text = bare(cell, marked=source.loaded.marked)
    found = source.session.rows(
        f"SELECT DISTINCT {text} AS text FROM (SELECT DISTINCT {cell} FROM cells) "
        "WHERE text <> '' AND NOT list_contains(?, text)",
        [_missing(source, name)],
    )
    return [text for (text,) in found]


def count_places(source: Source, name: str, places: dict[str, int]) -> None:
    """Count the values of a column by the position of each of its texts; see `_count`."""
    import pyarrow as pa

    database = source.session.database
    given = pa.table(
        {"text": pa.array(places.keys(), pa.string()), "value": pa.array(places.values(), pa.int64())}
    )
    database.register("given", given)
    database.execute("CREATE OR REPLACE TEMP TABLE places AS FROM given")
    database.unregister("given")
    cell = source.loaded.column(name)
    text = bare(cell, marked=source.loaded.marked)
    placed = (
        f"SELECT {cell} AS raw, value FROM (SELECT DISTINCT {cell} FROM cells) JOIN places ON text = {text}"
    )
    _count(source, f"SELECT cells.*, value FROM cells JOIN ({placed}) ON cells.{cell} = raw", [])


def _count(source: Source, valued: str, parameters: list[list[str]]) -> None:
    """Create the tables of counts from the cells with a `value`.

    ``counted`` has the count of each value in each class, ``whole`` the same for the file, and ``totals``,
    for each class, the sum of its counts and how many rows or people have any value.
    """
    database = source.session.database
    number = "count(DISTINCT person)" if source.people else "sum(times)"
    number = f"CAST({number} AS HUGEINT) AS n"  # so that products are exact
    database.execute(f"CREATE OR REPLACE TEMP TABLE valued AS {valued}", parameters)
    database.execute(
        f"CREATE OR REPLACE TEMP TABLE counted AS SELECT class, value, {number} FROM valued GROUP BY ALL"
    )
    database.execute(f"CREATE OR REPLACE TEMP TABLE whole AS SELECT value, {number} FROM valued GROUP BY ALL")
    database.execute(
        "CREATE OR REPLACE TEMP TABLE totals AS "
        "SELECT class, coalesce(total, 0) AS total, coalesce(h.n, 0) AS bearers FROM classes "
        "LEFT JOIN (SELECT class, sum(n) AS total FROM counted GROUP BY class) USING (class) "
        f"LEFT JOIN (SELECT class, {number} FROM valued GROUP BY class) h USING (class)"
    )


def _missing(source: Source, name: str) -> list[str]:
    """List the texts that mean missing; NaN, where the column was stored as floats."""
    return ["nan"] if source.loaded.stored(name) in _FLOATS else []
