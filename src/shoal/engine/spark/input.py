"""Start Spark and read what a recipe names: folders or files of Parquet, ORC and CSV, or a table by name."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from shoal.errors import DataError, RecipeError
from shoal.failures import is_of_spark
from shoal.recipe import Input, Recipe
from shoal.table.formats import READABLE

_SEPARATORS = (",", ";", "\t", "|")
_TEXT = {".csv": None, ".tsv": "\t"}


def is_spark(data: Any) -> bool:
    """Return whether data is a Spark DataFrame, without importing Spark."""
    return any(base.__module__.startswith("pyspark.sql") for base in type(data).__mro__)


def read_input(spark: Any, recipe: Recipe) -> Any:
    """Read the input of a recipe into a Spark DataFrame."""
    given = recipe.input
    if given.table is not None:
        try:
            return spark.table(given.table)
        except Exception as error:
            if not is_of_spark(error):
                raise
            message = f"Spark has no table {given.table}."
            raise DataError("data.unreadable", message, "check the name and the catalog") from None
    if given.path is None:
        raise RecipeError("recipe.invalid", "The recipe names no input.", 'add [input] path = "..."')
    place = _place(recipe, given.path)
    try:
        return _read(spark, place, given)
    except Exception as error:  # Java raises others than PySpark where it lacks what an address needs
        if not is_of_spark(error):
            raise
        message = f"Spark cannot read {given.path}."
        raise DataError(
            "data.unreadable",
            message,
            "check that the path exists, its format, and that Spark has what such an address needs",
        ) from None


def _place(recipe: Recipe, path: str) -> str:
    """Return an address as Spark takes it; a bare path is on this machine."""
    return path if "://" in path else recipe.resolve(path).absolute().as_uri()


def _read(spark: Any, place: str, given: Input) -> Any:
    extension = Path(place).suffix.lower()
    if extension in READABLE and extension not in (".parquet", *_TEXT):
        message = f"The engine spark does not read {extension} files."
        raise DataError("data.unreadable", message, "use the engine local, or convert the table to Parquet")
    if extension == ".parquet":
        return spark.read.parquet(place)
    if extension == ".orc":
        return spark.read.orc(place)
    if extension not in _TEXT and _is_columnar(place):
        return spark.read.parquet(place)
    first = _first_line(spark, place, given)
    separator = given.separator or _TEXT.get(extension) or _separator(first)
    _refuse_open_quotes(spark, place, given, separator)
    options = {
        "sep": separator,
        "header": given.header,
        "quote": '"',
        "escape": '"',
        "nullValue": "",
        "emptyValue": "",
        "mode": "FAILFAST",  # a line that cannot be read is an error, never a row of missing values
        "inferSchema": False,
        "ignoreLeadingWhiteSpace": True,
        "ignoreTrailingWhiteSpace": True,
        "encoding": given.encoding or "UTF-8",
    }
    frame = spark.read.options(**options).csv(place)
    return frame if given.names is None else frame.toDF(*given.names)


def _is_columnar(place: str) -> bool:
    """Return whether a local folder without an extension holds Parquet files."""
    folder = Path(place.removeprefix("file://"))
    return folder.is_dir() and any(folder.glob("*.parquet"))


def _first_line(spark: Any, place: str, given: Input) -> str:
    if given.separator is not None:
        return ""
    found = _lines(spark, place, given).limit(1).collect()
    return str(found[0][0]) if found else ""


def _lines(spark: Any, place: str, given: Input) -> Any:
    return spark.read.option("encoding", given.encoding or "UTF-8").text(place)


def _refuse_open_quotes(spark: Any, place: str, given: Input, separator: str) -> None:
    """Refuse lines that end inside quotes: Spark would make two rows of such a cell and the next line."""
    from pyspark.sql import functions as f

    line = f.col("value")
    is_open = line.contains('"') & line.rlike(_open_quotes(separator))
    found = _lines(spark, place, given).where(is_open).count()
    if found:
        lines = "1 line that ends" if found == 1 else f"{found:,} lines that end"
        message = f"{given.path} has {lines} inside quotes."
        hint = "with line breaks in cells, use the engine local, or convert the table to Parquet"
        raise DataError("data.unreadable", message, hint)


def _open_quotes(separator: str) -> str:
    """Return the regular expression, as Java takes it, of a line whose last cell has no closing quote."""
    end, quoted = re.escape(separator), '"(?:[^"]++|"")*+'
    cell = f'(?: *+{quoted}"[^{end}]*+|(?! *+")[^{end}]*+)'
    return f"^(?:{cell}{end})*+ *+{quoted}$"


def _separator(line: str) -> str:
    """Return the separator that the header has most of; a comma where it has none."""
    return max(_SEPARATORS, key=line.count)
