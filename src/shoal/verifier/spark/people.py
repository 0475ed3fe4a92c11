"""Whose rows these are: only the maker knows, and only for the rows that were really written.

The maker's rows come from its memory, the others from the files. Both must be the same rows, or people
would be counted in a table that nobody gets. Rows have no order in Spark, so each class is compared by the
number of its rows and by the sums of two hashes of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from shoal.errors import DataError
from shoal.verifier.reading.value import EXACT, NUMBER
from shoal.verifier.spark.cells import as_text, key
from shoal.verifier.spark.reading import Table
from shoal.verifier.verdict import Problem, count

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

_MARKS = "^'+(?=[=+@\\t\\r-])"
# A text file has 2024-01-02T03:04:05.000000+0000 where Spark writes 2024-01-02 03:04:05.
_TIME = (
    "^[0-9]{4}-[0-9]{2}-[0-9]{2}[T ][0-9]{2}:[0-9]{2}(:[0-9]{2}([.][0-9]{1,6})?)?(Z|[+-][0-9]{2}:?[0-9]{2})?$"
)


def attach_people(
    people: DataFrame, person: str, table: Table, quasi: Sequence[str]
) -> tuple[DataFrame | None, list[Problem]]:
    """Return the maker's rows with the columns of the files, by their place, and ``person``.

    None, with a problem, where they are not the rows that were written.
    """
    placed = _placed(people, person, table)
    if placed is None:
        message = "The maker's rows do not have the columns of the files: people were not counted."
        return None, [Problem("verify.rows", message)]
    _refuse_nobody(placed)
    differing, written, own = _compare(table, placed, quasi)
    if differing:
        classes = count(differing, "class", "classes")
        message = (
            f"The files have {count(written, 'row')} and the maker's table {own}, which differ in {classes}."
        )
        return None, [Problem("verify.rows", message)]
    return placed, []


def _placed(people: DataFrame, person: str, table: Table) -> DataFrame | None:
    """Name the columns by their place in the files; None unless there is one for each."""
    from pyspark.sql import functions as sql

    names = people.columns
    if names.count(person) != 1 or sorted(name for name in names if name != person) != sorted(table.names):
        return None
    numbered = people.toDF(*(f"p{at}" for at in range(len(names))))
    fields = numbered.schema.fields
    chosen = [sql.col(f"p{names.index(person)}").alias("person")]
    for at, name in enumerate(table.names):
        place = names.index(name)
        of = fields[place].dataType
        chosen.append(as_text(numbered[f"p{place}"], of).alias(f"c{at}"))
    return numbered.select(*chosen)


def _refuse_nobody(placed: DataFrame) -> None:
    """Refuse rows of nobody: how many people they are cannot be known."""
    from pyspark.sql import functions as sql

    rows, known = placed.agg(sql.count(sql.lit(1)), sql.count("person")).collect()[0]
    if known < rows:
        message = f"{rows - known} of {rows} subjects are missing: whose rows are these?"
        raise DataError("data.missing", message, "fix the data, or remove these rows")


def _compare(table: Table, placed: DataFrame, quasi: Sequence[str]) -> tuple[int, int, int]:
    """Count the classes in which the two tables differ, and the rows of each table."""
    written = _sums(table, table.rows, quasi)
    own = _sums(table, placed, quasi).withColumnsRenamed({name: f"own_{name}" for name in _SUMMED})
    same = " AND ".join(f"{name} <=> own_{name}" for name in _SUMMED)
    joined = written.join(own, "class", "full_outer")
    found = joined.selectExpr(f"count_if(NOT ({same}))", "sum(n)", "sum(own_n)").collect()[0]
    return int(found[0]), int(found[1] or 0), int(found[2] or 0)


_SUMMED = ("n", "first", "second")


def _sums(table: Table, rows: DataFrame, quasi: Sequence[str]) -> DataFrame:
    """Sum up each class in an order-independent way.

    Both tables are brought into one form first: a text file has marks before some texts, and writes numbers
    in another way than the maker's table may hold them. Quasi cells are compared as they are but for the
    marks, since they were published as texts.
    """
    from pyspark.sql import functions as sql

    published = [sql.col(table.column(name)) for name in table.names]
    texts = [sql.regexp_replace(cell, _MARKS, "") if table.marked else cell for cell in published]
    pairs = list(zip(table.names, texts, strict=True))
    of_class = key([text for name, text in pairs if name in quasi])
    forms = key([text if name in quasi else _form(text) for name, text in pairs])
    hashed = rows.select(
        of_class.alias("class"),
        sql.xxhash64(forms).cast("decimal(38,0)").alias("first"),
        sql.xxhash64(sql.lit("again"), sql.reverse(forms)).cast("decimal(38,0)").alias("second"),
    )
    return hashed.groupBy("class").agg(
        sql.count(sql.lit(1)).alias("n"), sql.sum("first").alias("first"), sql.sum("second").alias("second")
    )


def _form(text: Column) -> Column:
    """Write numbers and times in one way; any other text stays as it is.

    Digits that a double does not hold stay too.
    """
    from pyspark.sql import functions as sql

    number = text.try_cast("double")
    is_exact = (sql.abs(number) < EXACT) | text.rlike("[.eE]")
    is_number = text.rlike(f"^({NUMBER})$") & is_exact
    is_special = text.rlike("^(?i)([+-]?inf(inity)?|nan)$")
    return (
        sql.when(is_number | is_special, (number + 0.0).cast("string"))
        .when(text.rlike(_TIME), _in_one_form(text))
        .otherwise(text)
    )


def _in_one_form(time: Column) -> Column:
    """Write a time with or without a zone in one way; one without is taken as it is, in UTC."""
    from pyspark.sql import functions as sql

    with_colon = sql.regexp_replace(time, "([+-][0-9]{2})([0-9]{2})$", "$1:$2")
    return sql.coalesce(with_colon.try_cast("timestamp").cast("string"), time)
