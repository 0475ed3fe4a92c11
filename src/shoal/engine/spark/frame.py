"""A Spark DataFrame with plain column names, and what of it a recipe uses."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

from shoal.engine.spark.scan import Scan, scan_of
from shoal.errors import DataError, RecipeError
from shoal.failures import guarded
from shoal.recipe import Recipe, column_faults

# Types of Spark whose values have a text each.
_USABLE = {
    "string",
    "boolean",
    "tinyint",
    "smallint",
    "int",
    "bigint",
    "float",
    "double",
    "date",
    "timestamp",
}
_USABLE_PREFIXES = ("decimal", "timestamp_ntz", "varchar", "char")


@dataclass(frozen=True)
class SparkTable:
    """The columns that a recipe uses, under plain names: real names may have dots, quotes and backticks.

    Parameters
    ----------
    frame : pyspark.sql.DataFrame
        With columns c0, c1 and so on.
    names : tuple of str
        The real name of each.
    scan : Scan or None
        How workers read the rows without Spark.
    """

    frame: Any
    names: tuple[str, ...]
    scan: Scan | None = None

    @classmethod
    def of(cls, frame: Any, recipe: Recipe) -> SparkTable:
        """Choose the columns that a recipe uses; report what does not fit."""
        present = list(frame.columns)
        if len(set(present)) < len(present):
            raise DataError("data.duplicate_column", "Some column names occur twice.", "rename the columns")
        faults = column_faults(recipe, present)
        if faults:
            raise RecipeError.from_faults(faults)
        label = () if recipe.label is None else (recipe.label,)
        used = {*recipe.named("quasi", "sensitive", "keep", "subject", "identifier"), *label}
        plain = frame.toDF(*(f"c{at}" for at in range(len(present))))
        chosen = [at for at, name in enumerate(present) if name in used]
        _refuse_types([(present[at], plain.schema[at].dataType.simpleString()) for at in chosen], recipe)
        kept = plain.select(*(f"c{at}" for at in chosen)).toDF(*(f"c{at}" for at in range(len(chosen))))
        return cls(kept, tuple(present[at] for at in chosen))

    def scanned(self, given: Any, tasks: int) -> SparkTable:
        """Return the table as workers can read it, if it is the files of a frame that is given."""
        return replace(self, scan=scan_of(given, self.names, tasks))

    def mapped(self, task: Any, schema: Any) -> Any:
        """Return what a task makes of the rows, which it gets in batches of Arrow's."""
        if self.scan is None:
            return self.frame.mapInArrow(guarded(task), schema)
        return self.scan.mapped(self.frame.sparkSession, task, schema)

    def spread(self, tasks: int) -> SparkTable:
        """Return the table in at least as many partitions as tasks run at the same time."""
        if self.scan is not None or self.frame.rdd.getNumPartitions() >= tasks:
            return self
        return SparkTable(self.frame.repartition(2 * tasks), self.names)

    def usable(self, names: Iterable[str]) -> list[str]:
        """Return those of some columns whose values have a text: identifiers may be of any type."""
        schema = self.frame.schema
        return [name for name in names if _is_usable(schema[self.plain(name)].dataType.simpleString())]

    def plain(self, name: str) -> str:
        """Return the plain name of a column."""
        return f"c{self.names.index(name)}"


def _is_usable(dtype: str) -> bool:
    return dtype in _USABLE or dtype.startswith(_USABLE_PREFIXES)


def _refuse_types(types: list[tuple[str, str]], recipe: Recipe) -> None:
    """Refuse columns whose values have no text: lists, structures, bytes."""
    for name, dtype in types:
        if _is_usable(dtype) or name in recipe.named("identifier"):
            continue
        message = f"Column `{name}` is stored as {dtype}, which cannot be released."
        raise DataError("data.kind", message, "convert it to text or numbers, or give it the role drop")
