"""From groups to Anatomy's two tables: quasi values with their group, and groups with their values."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import polars as pl

from shoal.recipe import ANATOMY_COUNT, ANATOMY_GROUP, Recipe
from shoal.table import frames
from shoal.table.kinds import settle
from shoal.table.shuffling import written_order


@dataclass(frozen=True, repr=False)  # a repr would show values
class Parts:
    """The two tables, each in canonical order, joined only by the group."""

    quasi: pl.DataFrame
    sensitive: pl.DataFrame

    @property
    def groups(self) -> int:
        """The number of groups."""
        return int(self.quasi[ANATOMY_GROUP].n_unique())

    @property
    def diversity(self) -> int:
        """The largest l for which every group has l values, none with a share above 1 / l."""
        present = pl.DataFrame(
            {
                "group": self.sensitive[ANATOMY_GROUP],
                "count": self.sensitive[ANATOMY_COUNT],
                "has": self.sensitive.to_series(1).is_not_null(),
            }
        ).filter(pl.col("has"))
        found = present.group_by("group").agg(pl.col("count").sum() // pl.col("count").max())
        return int(found["count"].min()) if found.height == self.groups else 0  # type: ignore[arg-type]


def separate(table: pl.DataFrame, labels: npt.NDArray[np.int32], recipe: Recipe) -> Parts:
    """Build both tables; a row whose label is -1 is in neither.

    A kept column goes with the quasi values: in both tables it would join them row by row. Groups are
    numbered by their published values, so that the numbers reveal nothing about how they were formed.
    """
    inside = pl.Series(np.flatnonzero(labels >= 0))
    (name,) = recipe.named("sensitive")
    known = _known_columns(table, recipe)
    # Numbers as names: Polars would take a column called "*" or "^a.*$" for a pattern.
    rows = pl.DataFrame({str(at): values.gather(inside) for at, values in enumerate(known.values())})
    rows = rows.with_columns(pl.Series("value", frames.series(table, name).gather(inside)))
    rows = rows.with_columns(pl.Series("made", labels[inside.to_numpy()]))
    columns = [str(at) for at in range(len(known))]
    rows = rows.with_columns(_numbers(rows, columns).alias("group"))
    quasi = rows.sort([*columns, "group"], nulls_last=True)
    counted = rows.group_by("group", "value").agg(pl.len().cast(pl.Int64).alias("count"))
    counted = counted.sort("group", "value", nulls_last=True)
    quasi, counted = _ordered(quasi, recipe), _ordered(counted, recipe)
    return Parts(
        pl.DataFrame({**dict(zip(known, quasi.select(columns), strict=True)), ANATOMY_GROUP: quasi["group"]}),
        pl.DataFrame(
            {ANATOMY_GROUP: counted["group"], name: counted["value"], ANATOMY_COUNT: counted["count"]}
        ),
    )


def _ordered(rows: pl.DataFrame, recipe: Recipe) -> pl.DataFrame:
    shuffle = written_order(rows.height, recipe)
    return rows if shuffle is None else rows[shuffle]


def _known_columns(table: pl.DataFrame, recipe: Recipe) -> dict[str, pl.Series]:
    """Return quasi columns in their canonical form and kept ones unchanged, in the table's order."""
    columns = {}
    for name in table.columns:
        values = frames.series(table, name)
        if name in recipe.quasi:
            columns[name] = settle(values, recipe.columns[name])[1]
        elif name in recipe.named("keep"):
            columns[name] = values
    return columns


def _numbers(rows: pl.DataFrame, columns: list[str]) -> pl.Series:
    """Number the groups from 1 in the order of their rows, then of their values."""
    ranked = rows.sort(columns, nulls_last=True).select(
        "made",
        pl.struct(columns).rle_id().alias("row"),
        pl.col("value").rank("dense").fill_null(0).alias("value"),
    )
    listed = ranked.group_by("made").agg(pl.col("row").sort(), pl.col("value").sort())
    keys = list(
        zip(listed["row"].to_list(), listed["value"].to_list(), listed["made"].to_list(), strict=True)
    )
    order = [made for _, _, made in sorted(keys)]
    number = np.empty(len(order), np.int64)
    number[order] = np.arange(1, len(order) + 1)
    return pl.Series(number[rows["made"].to_numpy()])
