"""Measure a release from its published columns and the raw table's ranges alone."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import polars as pl

from shoal.arrays import IntArray
from shoal.measure.labels import Labels, read_labels
from shoal.measure.loss import Loss, loss
from shoal.recipe import Recipe
from shoal.table.columns import Encoded
from shoal.table.frames import series


@dataclass(frozen=True, repr=False)  # a repr would show values
class ReadRelease:
    """A release and the meaning of its labels.

    Parameters
    ----------
    frame : polars.DataFrame
        Its rows, without suppressed ones.
    class_of_row : ndarray of shape (n_rows,), int32
        Rows with identical published values form one class.
    labels : Labels or None
        What the classes publish; None for typical values, which have no width.
    read_as : dict
        For each column with labels in another tool's style, the styles and how many cells have them.
    """

    frame: pl.DataFrame
    class_of_row: IntArray
    labels: Labels | None
    read_as: dict[str, list[dict[str, str | int]]]

    @property
    def sizes(self) -> npt.NDArray[np.int64]:
        """How many rows each class has."""
        return np.bincount(self.class_of_row)


def read_classes(encoded: Encoded, released: pl.DataFrame, recipe: Recipe) -> ReadRelease:
    """Group the rows of a release into classes and read what these publish.

    shoal leaves suppressed rows out; other tools keep them, with every quasi cell lost. Such rows count as
    suppressed if any label is in another tool's style, or if there are fewer than k, too few for a class.

    Raises
    ------
    DataError
        `data.labels` where labels are invalid.
    """
    classes, numbers = classes_of(released, published_names(released, recipe))
    if recipe.output.values != "generalize":
        return ReadRelease(released, numbers, None, {})
    sizes = np.bincount(numbers)
    labels = read_labels(encoded, classes, sizes, recipe.input.missing)
    lost = (labels.costs() == 1.0).all(axis=1)
    n_lost = int(sizes[lost].sum())
    if lost.all() or not (labels.read_as or 0 < n_lost < recipe.privacy.k):
        return ReadRelease(released, numbers, labels, labels.read_as)
    kept = released.filter(pl.Series(~lost[numbers]))
    classes, numbers = classes_of(kept, published_names(kept, recipe))
    remaining = read_labels(encoded, classes, np.bincount(numbers), recipe.input.missing)
    return ReadRelease(kept, numbers, remaining, labels.read_as)


def measure_release(encoded: Encoded, released: pl.DataFrame, recipe: Recipe) -> Loss:
    """Return the losses of a released table, rows in any order.

    `encoded` is the raw table: loss is relative to its ranges and trees, and the rows that it has
    beyond those of the release are the suppressed ones.
    """
    return loss_of(encoded, read_classes(encoded, released, recipe), recipe)


def loss_of(encoded: Encoded, release: ReadRelease, recipe: Recipe) -> Loss:
    """Return the losses of a release whose labels have been read."""
    costs = None if release.labels is None else release.labels.costs()
    labels = _padded(release.class_of_row, encoded.n_rows)
    label = None
    if recipe.label is not None and recipe.label in recipe.named("sensitive", "keep"):
        ranks = series(release.frame, recipe.label).cast(pl.String).fill_null("").rank("dense")
        label = _padded(ranks.cast(pl.Int32).to_numpy(), encoded.n_rows)
    return loss(replace(encoded, label=label), labels, costs, recipe.privacy.k)


def published_names(released: pl.DataFrame, recipe: Recipe) -> list[str]:
    """List the columns that the quasi columns are published as."""
    names = []
    for name in recipe.quasi:
        bounds = [f"{name}_low", f"{name}_high"]
        names += [name] if name in released.columns else bounds
    return names


def classes_of(table: pl.DataFrame, names: list[str]) -> tuple[pl.DataFrame, IntArray]:
    """Return the distinct combinations of the columns, and which one each row has."""
    plain = pl.DataFrame({str(at): series(table, name) for at, name in enumerate(names)})
    grouped = plain.with_row_index("row").group_by(plain.columns, maintain_order=True).agg("row")
    sizes = grouped["row"].list.len().to_numpy()
    numbers = np.empty(table.height, np.int32)
    numbers[grouped["row"].explode().to_numpy()] = np.repeat(np.arange(len(sizes), dtype=np.int32), sizes)
    return pl.DataFrame({name: grouped[str(at)] for at, name in enumerate(names)}), numbers


def _padded(numbers: npt.NDArray[np.int32], n_rows: int) -> IntArray:
    """Append -1 for the rows that were suppressed."""
    padded = np.full(n_rows, -1, np.int32)
    padded[: len(numbers)] = numbers
    return padded
