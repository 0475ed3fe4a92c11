"""What the worst class of a release achieves of each goal.

A cell knows that of its own classes. Classes of several cells that are published alike are one, though, and
equal rows are published where they happen to be: such classes are counted again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from operator import and_
from typing import TYPE_CHECKING, Any

from shoal.engine.spark import tasks
from shoal.engine.spark.schema import CELL, PERSON, SEVERAL, rows_of
from shoal.failures import guarded_group
from shoal.recipe import Recipe
from shoal.recipe.goals import Goal

if TYPE_CHECKING:
    import pyarrow as pa

    from shoal.table.columns import SensitiveColumn


def worst_classes(
    pieces: Any, keys: Sequence[str], sensitive: tuple[SensitiveColumn, ...], recipe: Recipe
) -> list[float | None]:
    """Return the number of the worst class for each goal; None for infinity."""
    from pyspark.sql import functions as f

    goals = recipe.privacy.column_goals
    if not goals:
        return []
    numbers = [f.first(f"a{at}").alias(f"a{at}") for at in range(len(goals))]
    classes = pieces.groupBy(*keys).agg(f.min(CELL).alias("first"), f.max(CELL).alias("last"), *numbers)
    is_several = (f.col("first") != f.col("last")) | (f.col("first") == SEVERAL)
    alone = _worst(classes.where(~is_several), goals)
    several = classes.where(is_several).select(*(f.col(key).alias(f"k{at}") for at, key in enumerate(keys)))
    again = _counted_again(pieces, several, keys, sensitive, recipe)
    return [
        _number([row[at] for row in (alone, _worst(again, goals)) if row[at] is not None], goal)
        for at, goal in enumerate(goals)
    ]


def _worst(classes: Any, goals: Sequence[Goal]) -> Any:
    """Return the worst number for each goal; None without classes."""
    from pyspark.sql import functions as f

    return classes.agg(
        *((f.min if goal.more_is_better else f.max)(f"a{at}") for at, goal in enumerate(goals))
    ).collect()[0]


def _number(found: list[float], goal: Goal) -> float | None:
    number = (min if goal.more_is_better else max)(found)
    return None if number == float("inf") else number


def _counted_again(
    pieces: Any, several: Any, keys: Sequence[str], sensitive: tuple[SensitiveColumn, ...], recipe: Recipe
) -> Any:
    """Return what the classes listed achieve, from the counts of their values."""
    from pyspark.sql import functions as f

    same = [f.col(key).eqNullSafe(f.col(f"k{at}")) for at, key in enumerate(keys)]
    rows = rows_of(pieces.join(several, reduce(and_, same), "left_semi"))
    codes = [f"g{at}" for at in range(len(sensitive))]
    who = [] if recipe.subject is None else [PERSON]
    counts = rows.groupBy(*keys, *codes, *who).agg(f.count(f.lit(1)).alias("n"))
    task = JudgeClass(sensitive, recipe)
    schema = ", ".join(f"a{at} double" for at in range(len(sensitive)))
    return counts.groupBy(*keys).applyInArrow(guarded_group(task), schema)


@dataclass(frozen=True)
class JudgeClass:
    """Judge a class by how many of its rows, or of a person's, have each combination of values.

    Parameters
    ----------
    sensitive : tuple of SensitiveColumn
        What the goals count, with the counts of the whole table.
    """

    sensitive: tuple[SensitiveColumn, ...]
    recipe: Recipe

    def __call__(self, key: tuple[pa.Scalar, ...], table: pa.Table) -> pa.Table:
        """Return what the class achieves of each goal."""
        tasks.limit_threads()
        import numpy as np
        import pyarrow as pa

        from shoal.engine.cells.counts import CellCount, Feasible

        times = table["n"].to_numpy()
        if self.recipe.subject is None:
            person = np.arange(len(times))
        else:
            times = np.ones(len(times), np.int64)
            person = np.unique(table[PERSON].to_numpy(zero_copy_only=False), return_inverse=True)[1]
        values, holders = [], []
        for at, column in enumerate(self.sensitive):
            codes = table[f"g{at}"].to_numpy()
            # A person counts once for each value, and once as a holder of any.
            pairs, first = np.unique(np.stack([person, codes]), axis=1, return_index=True)
            inside = pairs[1] >= 0
            weights = times[first][inside]
            values.append(np.bincount(pairs[1][inside], weights, column.n_values).astype(np.int64))
            firsts = np.unique(pairs[0][inside], return_index=True)[1]
            holders.append(int(weights[firsts].sum()))
        cell = CellCount(0, 0, tuple(values), tuple(holders))
        achieved = Feasible(self.sensitive, self.recipe).achieved(cell)
        return pa.table({f"a{at}": [float(number)] for at, number in enumerate(achieved)})
