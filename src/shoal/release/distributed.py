"""Released rows that Spark holds, and the folder that they are written to."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # most releases need none of Spark
    from shoal.engine.spark.files import Layout
    from shoal.engine.spark.run import SparkRun

_PERSON = "person"  # what the engine calls the column of people


@dataclass(frozen=True, repr=False)  # a repr would show cells
class Distributed:
    """The released rows of one table, in no order.

    Parameters
    ----------
    run : SparkRun
        What the engine has made.
    layout : Layout
        How the rows are sorted and what the columns are called.
    classes, height : int
        Classes and rows.
    """

    run: SparkRun
    layout: Layout
    classes: int
    height: int

    @property
    def columns(self) -> list[str]:
        """The released columns, in the order of the table."""
        return [name for _, name in self.layout.columns]

    @property
    def spark(self) -> Any:
        """The session that holds the rows."""
        return self.run.released.sparkSession

    def frame(self) -> Any:
        """Return the released rows as a Spark DataFrame."""
        plain = self.run.released.select(*(plain for plain, _ in self.layout.columns))
        return plain.toDF(*self.columns)

    def with_people(self) -> tuple[Any, str]:
        """Return the released rows with one more column, that of the people, and its name."""
        name = _PERSON
        while name in self.columns:
            name += "_"
        plain = self.run.released.select(*(plain for plain, _ in self.layout.columns), _PERSON)
        return plain.toDF(*self.columns, name), name


def published_names(run: SparkRun) -> list[list[str]]:
    """Return the plain names of the published columns of each quasi column: one, or two for bounds."""
    from shoal.engine.spark.schema import published_columns

    widths = [len(published_columns(book, run.codebook.recipe)) for book in run.codebook.quasi]
    ends = [0, *accumulate(widths)]
    return [[f"p{at}" for at in range(low, high)] for low, high in pairwise(ends)]


def layout_of(run: SparkRun) -> Layout:
    """Return how the rows of a run are sorted and called: columns in the order of the table."""
    from shoal.engine.spark.files import Layout

    recipe = run.codebook.recipe
    others = recipe.named("sensitive", "keep")
    keys = [f"p{at}" for at in range(len(run.names) - len(others))]
    plain = {name: f"p{at}" for at, name in enumerate(run.names[: len(keys)])}
    released = {name: f"o{at}" for at, name in enumerate(others)}
    columns = []
    for name in run.table.names:
        made = [(plain[part], part) for part in (name, f"{name}_low", f"{name}_high") if part in plain]
        if recipe.columns[name].role == "quasi":
            columns += made
        elif name in released:
            columns.append((released[name], name))
    return Layout(tuple(keys), tuple(released.values()), tuple(columns))
