"""What every release is made from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import polars as pl

from shoal.bound.result import Bounding
from shoal.composition.companions import Companions
from shoal.dangers import Values
from shoal.recipe import Recipe
from shoal.stages import Progress


@dataclass(frozen=True, repr=False)  # a repr would show cells
class Job:
    """A table that has been read, and what to do with it.

    Parameters
    ----------
    table : polars.DataFrame
        The table, with its identifiers; columns that the recipe protects are protected already.
    raw : polars.DataFrame
        The same rows as they were read, with which a report compares the release.
    recipe : Recipe
        What to do; `asked` is the same before kinds and orders were detected in the table.
    values : Values
        The table, for finding dangers.
    companions : Companions
        Tables about the same people that are checked together with this one.
    bound : bool or "tight"
        Whether to compute the lower bound of the loss; "tight": at high effort.
    timings : dict of str to float
        Seconds of each stage; later stages add theirs.
    """

    table: pl.DataFrame
    raw: pl.DataFrame
    recipe: Recipe
    asked: Recipe
    values: Values
    companions: Companions
    bound: Bounding
    timings: dict[str, float]
    progress: Progress | None

    def about(self) -> dict[str, Any]:
        """Return what every release says about its origin, as fields of `Release`."""
        return {
            "recipe": self.recipe,
            "rows": self.table.height,
            "timings": self.timings,
            "also": self.companions.also,
            "accepts_composition": self.companions.accepted,
        }
