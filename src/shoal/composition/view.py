"""One published table as the composition check sees it: its boxes, and the values published with them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import polars as pl

from shoal.arrays import IntArray
from shoal.errors import RecipeError
from shoal.measure.released import classes_of
from shoal.recipe import Recipe, is_file, is_induced
from shoal.recipe.options import METHODS
from shoal.table import forms
from shoal.table.columns import Encoded
from shoal.table.frames import series
from shoal.table.sensitive import comparable


@dataclass(frozen=True, repr=False)  # a repr would show values
class View:
    """One published table.

    Parameters
    ----------
    names : tuple of str
        Its quasi columns.
    classes : polars.DataFrame
        Their published texts, one row for each class.
    class_of : ndarray of shape (n_released,), int32
        The class of each released row.
    values : polars.DataFrame
        For each released row, the columns that are published unchanged, in comparable form.
    labels : ndarray of shape (n_table_rows,), int32, or None
        The class of each row of the raw table, in the order of the input, -1 for a row that was left
        out; None when this is unknown, as for an earlier release.
    foreign : frozenset of str
        Quasi columns whose hierarchy may have been different from the current one.
    """

    names: tuple[str, ...]
    classes: pl.DataFrame
    class_of: IntArray
    values: pl.DataFrame
    labels: IntArray | None = None
    foreign: frozenset[str] = field(default=frozenset())

    @classmethod
    def ours(
        cls,
        table: pl.DataFrame,
        encoded: Encoded,
        labels: IntArray,
        classes: pl.DataFrame,
        names: Mapping[str, Sequence[str]],
        shown: Iterable[str],
    ) -> View:
        """Make the view of a table that is about to be published.

        Parameters
        ----------
        table : polars.DataFrame
            The raw table.
        encoded : Encoded
            Its rows in the order of `labels`.
        labels, classes, names
            Those of `recode.publish.Published`.
        shown : iterable of str
            The sensitive columns, and the kept ones if this view has them.
        """
        of_row = np.full(table.height, -1, np.int32)
        of_row[encoded.order] = labels
        released = np.flatnonzero(of_row >= 0)
        texts = {name: _box_texts(classes, columns) for name, columns in names.items()}
        values = {name: comparable(series(table, name)).gather(released) for name in shown}
        return cls(tuple(names), pl.DataFrame(texts), of_row[released], pl.DataFrame(values), of_row)

    @classmethod
    def earlier(
        cls, released: pl.DataFrame, quasi: Sequence[str], then: Recipe, now: Recipe | None = None
    ) -> View:
        """Make the view of an earlier release from its rows.

        Parameters
        ----------
        released : polars.DataFrame
            The released table, as written.
        quasi : sequence of str
            Its quasi columns.
        then, now : Recipe
            The recipe that it was made with, and that of the current table. Without the latter, no
            hierarchy is assumed to be the same. A column that was sensitive or kept then and is quasi
            now is a box of one value.
        """
        shown = [name for name in then.unchanged if name in released.columns]
        raw = [name for name in shown if now is not None and name in now.quasi]
        columns = {name: _published_columns(released, name) for name in quasi} | {
            name: [name] for name in raw
        }
        classes, class_of = classes_of(released, [made for names in columns.values() for made in names])
        texts = {name: _box_texts(classes, made) for name, made in columns.items()}
        for name in raw:  # an attacker who knows the column now finds a person by its exact value
            texts[name] = pl.Series(
                [t and forms.value_text(t) for t in texts[name].to_list()], dtype=pl.String
            )
        values = {name: comparable(series(released, name)) for name in shown}
        foreign = frozenset(name for name in quasi if now is None or not _alike(name, then, now))
        return cls(tuple(columns), pl.DataFrame(texts), class_of, pl.DataFrame(values), None, foreign)


def refuse_unavailable(recipe: Recipe, method: str | None = None) -> None:
    """Refuse what has no classes with boxes and so cannot be checked; `method` is the one that ran."""
    shapes = [recipe.shape, *(METHODS[name].shape for name in (method,) if name in METHODS)]
    reasons = {
        f'values = "{recipe.output.values}"': recipe.output.values != "generalize",
        **{shape.value: not shape.has_classes for shape in shapes},
    }
    found = [what for what, applies in reasons.items() if applies]
    if found:
        raise RecipeError(
            "recipe.not_available",
            f"What this release reveals together with others cannot be checked: it has {', '.join(found)}.",
            "publish one table only, of classes with ranges, nodes or sets",
        )


def _alike(name: str, then: Recipe, now: Recipe) -> bool:
    """Return whether a column has the same hierarchy in two recipes, whatever its values are.

    The manifest has only the name of a hierarchy file, which may have changed since, and omits a
    hierarchy that lists the column's values.
    """
    if name not in now.columns or "hierarchy" in then.columns[name].omitted:
        return False
    old, new = then.columns[name].hierarchy, now.columns[name].hierarchy
    return old == new and not is_file(new) and not is_induced(new)


def _published_columns(released: pl.DataFrame, name: str) -> list[str]:
    return [name] if name in released.columns else [f"{name}_low", f"{name}_high"]


def _box_texts(classes: pl.DataFrame, columns: Sequence[str]) -> pl.Series:
    """Return the published texts of a quasi column; bounds in separate columns become ranges."""
    texts = [series(classes, name).cast(pl.String) for name in columns]
    if len(texts) == 1:
        return texts[0]
    low, high = (text.to_list() for text in texts)
    return pl.Series([_joined(*ends) for ends in zip(low, high, strict=True)], dtype=pl.String)


def _joined(low: str | None, high: str | None) -> str:
    """Format two bounds as one text; empty bounds do not show whether the value is missing or lost."""
    if low is None or high is None:
        return forms.LOST
    return forms.value_text(low) if low == high else forms.range_text(low, high)
