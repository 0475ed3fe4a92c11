"""Start Spark and read what a recipe names: folders or files of Parquet, ORC and CSV, or a table by name."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from shoal.engine.spark.footers import exactly, refuse_ragged
from shoal.engine.spark.text import SEPARATORS, read_text
from shoal.errors import DataError, RecipeError
from shoal.failures import is_of_spark
from shoal.recipe import Recipe
from shoal.table.formats import READABLE


def is_spark(data: Any) -> bool:
    """Return whether data is a Spark DataFrame, without importing Spark."""
    return any(base.__module__.startswith("pyspark.sql") for base in type(data).__mro__)


def refuse_connect(data: Any) -> None:
    """Refuse a DataFrame of Spark Connect, which has no jobs to cancel and no partitions to count."""
    if any(base.__module__.startswith("pyspark.sql.connect") for base in type(data).__mro__):
        message = "The engine `spark` does not take DataFrames of Spark Connect."
        hint = "make it in a classic session, without SPARK_REMOTE, or write it to a file that shoal reads"
        raise RecipeError("recipe.not_available", message, hint)


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
    try:
        return _read(spark, recipe, given.path)
    except Exception as error:  # Java raises others than PySpark where it lacks what an address needs
        if not is_of_spark(error):
            raise
        message = f"Spark cannot read {given.path}."
        raise DataError(
            "data.unreadable",
            message,
            "check that the path exists, its format, and that Spark has what such an address needs",
        ) from None


def _read(spark: Any, recipe: Recipe, path: str) -> Any:
    """Read an address as it is, and a bare path on this machine as what it names."""
    given = recipe.input
    local = None if "://" in path else recipe.resolve(path).absolute()
    place = path if local is None else f"file:{exactly(str(local))}"
    extension = Path(path).suffix.lower()
    if extension in READABLE and extension not in (".parquet", *SEPARATORS):
        message = f"The engine spark does not read {extension} files."
        raise DataError("data.unreadable", message, "use the engine local, or convert the table to Parquet")
    if extension == ".orc":
        return _read_columnar(spark, place, "orc")
    is_bare = extension not in SEPARATORS and _is_columnar(local or Path(path.removeprefix("file://")))
    if extension == ".parquet" or is_bare:
        return _read_columnar(spark, place, "parquet")
    return read_text(spark, place, given, extension)


def _read_columnar(spark: Any, place: str, form: str) -> Any:
    """Read files that say what their columns are, if all say the same."""
    frame = spark.read.format(form).load(place)
    refuse_ragged(frame, form)
    return frame


def _is_columnar(folder: Path) -> bool:
    """Return whether a local folder without an extension holds Parquet files."""
    return folder.is_dir() and any(folder.glob("*.parquet"))
