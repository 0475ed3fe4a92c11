"""The columns that pass between Spark and its workers, with their types."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from shoal.engine.spark.frame import SparkTable
from shoal.recipe import Recipe
from shoal.recode.microaggregate import column_step
from shoal.table.codebook import Book, Codebook, RangeBook

_EXACT = 2**53
KEY, HASH, STATE = "key", "hash", "state"
PERSON, LABEL, ABOUT, COUNTED, CELL = "person", "label", "about", "counted", "cell"
ROWS, SIZE, PEOPLE, MOST = "rows", "size", "people", "most"
KEPT, LEFT_OUT, UNKNOWN_VALUE = range(3)  # the states of an encoded row
SEVERAL = -1  # in place of the cell, for classes whose rows are not all seen together


def prepared_schema(table: SparkTable, codebook: Codebook) -> Any:
    """Return the schema of encoded rows."""
    from pyspark.sql import types as t

    ranges = [book for book in codebook.quasi if isinstance(book, RangeBook)]
    fields = [t.StructField(f"x{at}", t.IntegerType()) for at in range(len(codebook.quasi))]
    fields += [
        t.StructField(f"q{at}", t.DoubleType() if book.is_float else t.LongType())
        for at, book in enumerate(ranges)
    ]
    fields += [t.StructField(f"g{at}", t.IntegerType()) for at in range(len(codebook.sensitive))]
    fields += _others(table, codebook.recipe)
    fields += [t.StructField(name, t.LongType()) for name in (KEY, HASH)]
    fields.append(t.StructField(STATE, t.ByteType()))
    return t.StructType([*fields, *_about_rows(codebook.recipe)])


def clustered_columns(codebook: Codebook) -> list[str]:
    """Return the columns of encoded rows that clustering and publishing need; others only cells do."""
    ranges = sum(isinstance(book, RangeBook) for book in codebook.quasi)
    trees = [f"x{at}" for at in range(ranges, len(codebook.quasi))]
    goals = [f"g{at}" for at in range(len(codebook.sensitive))]
    others = [f"o{at}" for at in range(len(codebook.recipe.named("sensitive", "keep")))]
    about = [field.name for field in _about_rows(codebook.recipe)]
    return [*trees, *(f"q{at}" for at in range(ranges)), *goals, *others, HASH, *about]


def released_schema(table: SparkTable, codebook: Codebook) -> Any:
    """Return the schema of published classes, with their rows in a list, and of the rows about cells.

    Shuffling and sorting classes is much less work than doing so with rows. A row about a cell has the
    cell's report, for the driver, and its counts of values, which are summed first.
    """
    from pyspark.sql import types as t

    published = [dtype for book in codebook.quasi for _, dtype in published_columns(book, codebook.recipe)]
    fields = [t.StructField(f"p{at}", dtype) for at, dtype in enumerate(published)]
    goals = range(len(codebook.sensitive))
    of_rows = [*_others(table, codebook.recipe), *(t.StructField(f"g{at}", t.IntegerType()) for at in goals)]
    of_rows += _about_rows(codebook.recipe)
    of_rows = of_rows or [t.StructField(HASH, t.LongType())]  # nothing but the number of rows matters then
    fields.append(t.StructField(ROWS, t.ArrayType(t.StructType(of_rows))))
    fields += [t.StructField(f"a{at}", t.DoubleType()) for at in goals]
    fields += [t.StructField(name, t.IntegerType()) for name in (CELL, SIZE, PEOPLE, MOST)]
    return t.StructType([*fields, *(t.StructField(name, t.StringType()) for name in (ABOUT, COUNTED))])


def rows_of(classes: Any) -> Any:
    """Return the rows of published classes, each with the published values p0, p1, ... of its class."""
    published = [name for name in classes.columns if name[0] == "p" and name != PEOPLE]
    return classes.selectExpr(*published, f"inline({ROWS})")


def arrow_schema(schema: Any) -> Any:
    """Return a schema of Spark's as Arrow has it."""
    from pyspark.sql.pandas.types import to_arrow_schema

    return to_arrow_schema(schema, timezone="UTC")


def _others(table: SparkTable, recipe: Recipe) -> list[Any]:
    """Return the sensitive and kept columns, with the types that they have."""
    from pyspark.sql import types as t

    names = recipe.named("sensitive", "keep")
    return [
        t.StructField(f"o{at}", table.frame.schema[table.plain(name)].dataType)
        for at, name in enumerate(names)
    ]


def _about_rows(recipe: Recipe) -> list[Any]:
    """Return whose each row is, and its label, where the recipe has such columns."""
    from pyspark.sql import types as t

    wanted = {PERSON: recipe.subject, LABEL: recipe.label}
    return [t.StructField(name, t.StringType()) for name, column in wanted.items() if column is not None]


def published_columns(book: Book, recipe: Recipe) -> list[tuple[str, Any]]:
    """Return what a quasi column is published as: names and types."""
    from pyspark.sql import types as t

    output = recipe.output
    if not isinstance(book, RangeBook) or (output.values, output.bounds_as) == ("generalize", "text"):
        return [(book.name, t.StringType())]
    dtype = _number_type(book, recipe) if book.kind == "numeric" else t.StringType()
    dtype = t.DateType() if book.kind == "date" and book.unit == "day" else dtype
    if output.values == "microaggregate":
        return [(book.name, dtype)]
    return [(f"{book.name}_{end}", dtype) for end in ("low", "high")]


def _number_type(book: RangeBook, recipe: Recipe) -> Any:
    """Return the type of published numbers: whole if every one that there can be is."""
    from pyspark.sql import types as t

    most = max(abs(book.line.low), abs(book.line.high))
    if recipe.output.values == "microaggregate":
        whole = column_step(book.line) >= 1 and most < _EXACT
    else:
        grid = recipe.columns[book.name].grid if recipe.output.bounds == "snapped" else None
        whole = not book.is_float and (grid is None or Fraction(repr(grid)).denominator == 1)
    return t.LongType() if whole else t.DoubleType()
