"""What a report may show of the rows: losses, class sizes, distributions, values that leak."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from shoal.arrays import FloatArray, IntArray, LongArray
from shoal.recipe import Recipe
from shoal.report.distribution import MISSING, Cell, released_cells
from shoal.report.scale import SMALLEST
from shoal.table.columns import Encoded
from shoal.table.frames import series

_TENTHS = 10
_MOST_LEAKS = 10  # values that are named


@dataclass(frozen=True, repr=False)
class ColumnProfile:
    """A quasi column: what it lost, and its distribution.

    Parameters
    ----------
    name, kind : str
    weight : float
    share_lost : float or None
        Information lost in this column, 0 to 1; a suppressed row has lost everything. None if not
        defined.
    cells : tuple of Cell
        All released rows; empty if there are fewer than `SMALLEST`.
    """

    name: str
    kind: str
    weight: float
    share_lost: float | None
    cells: tuple[Cell, ...]


@dataclass(frozen=True, repr=False)
class Leak:
    """A value that all rows of some classes share.

    Parameters
    ----------
    value : str or None
        None for all values together that have fewer than `SMALLEST` rows, or are not among the most frequent.
    classes, rows : int
        The classes whose rows all have it, and their rows: anyone can count them in the release.
    """

    value: str | None
    classes: int
    rows: int


@dataclass(frozen=True, repr=False)
class SensitiveProfile:
    """A sensitive column, which is released unchanged.

    Parameters
    ----------
    distinct : int
        Distinct values in the released rows.
    missing : int or None
        Released rows without a value; None for 1 to `SMALLEST` - 1.
    alike : int
        Classes whose rows all have the same value.
    leaks : tuple of Leak
        These classes by value, most rows first.
    """

    name: str
    distinct: int
    missing: int | None
    alike: int
    leaks: tuple[Leak, ...] = ()


@dataclass(frozen=True, repr=False)
class Profile:
    """What the report draws.

    Parameters
    ----------
    class_sizes : tuple of pairs of int
        Pairs of class size and number of classes, by size.
    groups : str
        What they are called: "groups" if their rows do not look alike.
    class_losses : tuple of int
        Released rows by the loss of their class, in tenths of everything; empty if not defined.
    """

    columns: tuple[ColumnProfile, ...]
    sensitive: tuple[SensitiveProfile, ...]
    class_sizes: tuple[tuple[int, int], ...]
    groups: str = "classes"
    class_losses: tuple[int, ...] = ()


def profile(
    table: pl.DataFrame,
    encoded: Encoded,
    labels: IntArray,
    classes: pl.DataFrame,
    costs: FloatArray | None,
    recipe: Recipe,
) -> Profile:
    """Describe a release compared with the raw table, revealing nothing about fewer than ten rows.

    Parameters
    ----------
    table : polars.DataFrame
        The raw table, in input order.
    encoded : Encoded
        Its quasi columns.
    labels : ndarray of shape (n_rows,), int32
        Published class of each encoded row, -1 for a suppressed one.
    classes : polars.DataFrame
        Published values: a row for each class, and one column, or two for bounds, per quasi column.
    costs : ndarray of shape (n_classes, n_columns), float64, or None
        Loss of each class in each column, from `published_costs`; None if not defined.
    """
    inside = labels >= 0
    sizes = np.bincount(labels[inside], minlength=classes.height)
    lost = [None] * len(encoded.columns) if costs is None else _shares_lost(encoded, sizes, costs)
    columns = tuple(
        ColumnProfile(
            column.name, column.kind, column.weight, share, released_cells(column, inside, sizes, classes)
        )
        for column, share in zip(encoded.columns, lost, strict=True)
    )
    losses = () if costs is None else _class_losses(sizes, costs, encoded.weights)
    return replace(group_profile(table, encoded, labels, recipe), columns=columns, class_losses=losses)


def group_profile(table: pl.DataFrame, encoded: Encoded, labels: IntArray, recipe: Recipe) -> Profile:
    """Describe the groups and sensitive columns of a release whose quasi values are not generalized."""
    inside = labels >= 0
    released = encoded.order[inside]
    sensitive = tuple(
        _sensitive(name, series(table, name).gather(released), labels[inside])
        for name in recipe.named("sensitive")
    )
    sizes = np.bincount(labels[inside])
    counts = np.unique(sizes[sizes > 0], return_counts=True)
    class_sizes = tuple((int(size), int(count)) for size, count in zip(*counts, strict=True))
    return Profile((), sensitive, class_sizes, recipe.shape.groups)


def _shares_lost(encoded: Encoded, sizes: LongArray, costs: FloatArray) -> list[float]:
    suppressed = encoded.n_rows - sizes.sum()
    shares: list[float] = ((sizes @ costs + suppressed) / encoded.n_rows).tolist()
    return shares


def _class_losses(sizes: LongArray, costs: FloatArray, weights: FloatArray) -> tuple[int, ...]:
    """Count the rows of the classes that lost up to a tenth of everything, up to two tenths, and so on."""
    shares = np.round(costs @ weights / max(float(weights.sum()), 1e-300), 9)
    tenths = np.clip(np.ceil(shares * _TENTHS).astype(np.int64) - 1, 0, _TENTHS - 1)
    counts: list[int] = np.bincount(tenths, sizes, minlength=_TENTHS).astype(np.int64).tolist()
    return tuple(counts)


def _leaks(values: pl.Series, pairs: pl.DataFrame) -> tuple[Leak, ...]:
    """Count the classes of one value by that value; name only values that many rows have."""
    alike = (
        pairs.group_by("class")
        .agg(pl.col("value").n_unique().alias("kinds"), pl.col("value").first(), pl.len().alias("rows"))
        .filter(pl.col("kinds") == 1)
        .group_by("value")
        .agg(pl.len().alias("classes"), pl.col("rows").sum())
    )
    if alike.is_empty():
        return ()
    frequent = values.to_frame("value").group_by("value").len("all")
    counted = (
        alike.join(frequent, on="value", nulls_equal=True)
        .with_columns(pl.col("value").cast(pl.String).fill_null(MISSING).alias("text"))
        .sort(["rows", "text"], descending=[True, False])
    )
    lines = counted.select("text", "classes", "rows", "all").rows()
    named = [line for line in lines if line[3] >= SMALLEST][:_MOST_LEAKS]
    others = [line for line in lines if line not in named]
    leaks = [Leak(text, classes, rows) for text, classes, rows, _ in named]
    if others:
        leaks.append(Leak(None, sum(line[1] for line in others), sum(line[2] for line in others)))
    return tuple(leaks)


def _sensitive(name: str, values: pl.Series, labels: IntArray) -> SensitiveProfile:
    pairs = pl.DataFrame({"class": labels, "value": values})
    leaks = _leaks(values, pairs)
    missing = values.null_count()
    return SensitiveProfile(
        name=name,
        distinct=values.drop_nulls().n_unique(),
        missing=missing if missing == 0 or missing >= SMALLEST else None,
        alike=sum(leak.classes for leak in leaks),
        leaks=leaks,
    )
