"""Boxes learned from one table, into which the rows of later tables are put in groups of at least k.

The boxes are the classes of a release and unions of them, in a binary tree whose root covers everything.
All of it follows from the release, so the boxes disclose nothing that the release does not.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
import numpy.typing as npt
import polars as pl

from shoal.arrays import FloatArray, IntArray
from shoal.errors import PromiseError, RecipeError
from shoal.privacy.goalset import GoalSet
from shoal.recipe import Recipe, Shape
from shoal.recode.inside import PublishedBoxes, published_classes
from shoal.recode.publish import published_column
from shoal.release.release import Release
from shoal.table import frames
from shoal.table.boxes import Piece, pieces_of
from shoal.table.columns import Encoded, QuasiColumn, TreeColumn
from shoal.table.encode import encode
from shoal.table.forms import LOST
from shoal.table.given import table_of
from shoal.utility.values import published_values
from shoal.verifier import verify_table
from shoal.workflow.grouping import group_rows

_WIDTH_DIGITS = 3


@dataclass(frozen=True, repr=False)  # a repr would show values
class FrozenBoxes:
    """The boxes of a release and their unions.

    Parameters
    ----------
    recipe : Recipe
        That of the release, with the kinds of its columns. Later tables need its columns.
    texts : polars.DataFrame
        The published quasi values of each box. Box 0 covers everything.
    of_class : ndarray of shape (n_classes,), int32
        The box of each class of the release, in the order of their labels.
    names : tuple of str
        The names of the values.
    values : ndarray of shape (n_boxes, n_values), float64
        Each box as numbers: those of `shoal.values` for a class, the mean over its rows for a union.
    widths : list of Fraction
        The cost of each box in the table that they were learned from, rounded.
    """

    recipe: Recipe
    texts: pl.DataFrame
    of_class: IntArray
    names: tuple[str, ...]
    values: FloatArray
    widths: list[Fraction]

    @classmethod
    def of(cls, release: Release, table: pl.DataFrame) -> FrozenBoxes:
        """Learn the boxes of a release of `table`."""
        refuse_unfrozen(release.recipe)
        recipe = _with_kinds(release)
        classes = published_classes(release.frame, recipe.quasi)
        sizes = np.bincount(release.labels[release.labels >= 0], minlength=classes.height)
        names, numbers = _numbers(release, classes)
        members = _tree(_scaled(numbers))
        encoded = encode(table_of(table, recipe), recipe)
        texts = _unions(encoded, classes, members, recipe)
        values = np.stack([_mean(numbers[inside], sizes[inside]) for inside in members])
        of_class = np.zeros(classes.height, np.int32)
        for box, inside in enumerate(members[1:], 1):
            if len(inside) == 1:
                of_class[inside] = box
        # Exact costs would show how many values the raw table has.
        widths = [round(width, _WIDTH_DIGITS) for width in PublishedBoxes(encoded, texts).widths()]
        return cls(recipe, texts, of_class, names, values, widths)

    @property
    def k(self) -> int:
        """How many rows a box needs."""
        return self.recipe.privacy.k

    def without(self, column: str) -> FrozenBoxes:
        """Return the same boxes for tables that lack a sensitive column, and without the goals about it."""
        columns = {name: spec for name, spec in self.recipe.columns.items() if name != column}
        goals = [goal for goal in self.recipe.privacy.column_goals if column not in goal.columns]
        privacy = self.recipe.privacy.model_copy(update={"goal": goals})
        recipe = self.recipe.model_copy(update={"columns": columns, "privacy": privacy})
        return replace(self, recipe=recipe)

    def place(self, table: pl.DataFrame) -> IntArray:
        """Put each row of a raw table into a box, in groups that meet k and all goals; -1 if held back."""
        encoded = encode(table_of(table, self.recipe), self.recipe)
        goals = GoalSet.of(encoded, self.recipe)
        found = group_rows(PublishedBoxes(encoded, self.texts), self.widths, self.k, goals)
        return encoded.in_input_order(found)

    def release(self, table: pl.DataFrame) -> pl.DataFrame:
        """Return the rows of a raw table that can be published, as texts, in canonical order and verified."""
        box = self.place(table)
        shown, names = box >= 0, self.recipe.named("sensitive", "keep")
        given = table_of(table, self.recipe)
        columns = {name: frames.series(self.texts, name).gather(box[shown]) for name in self.recipe.quasi}
        columns |= {name: frames.series(given, name).filter(shown) for name in names}
        plain = pl.DataFrame({str(at): values for at, values in enumerate(columns.values())})
        plain = plain.sort(plain.columns, nulls_last=True)
        found = pl.DataFrame({name: plain[str(at)] for at, name in enumerate(columns)})
        if found.height and not verify_table(found.to_arrow(), self.recipe).holds:
            message = "The rows put into frozen boxes break a promise; nothing was released."
            raise PromiseError("promise.broken", message, "this is a bug in shoal: please report it")
        return found


def refuse_unfrozen(recipe: Recipe) -> None:
    """Refuse a recipe whose release has no boxes that later rows could be put into."""
    reasons = {
        f"the method `{recipe.method.name}`": recipe.shape is not Shape.CLASSES,
        "a goal about risk": bool(recipe.privacy.risk_goals),
    }
    found = [what for what, applies in reasons.items() if applies]
    if found:
        message = f"Later rows cannot be put into the classes of a release with {' and '.join(found)}."
        raise RecipeError("recipe.not_available", message, "use another method, and goals about columns")


def _with_kinds(release: Release) -> Recipe:
    """Return the recipe with the kinds that were found: a few later rows may look like another kind."""
    columns = {
        name: column.model_copy(update={"kind": release.kinds[name]["kind"]})
        if name in release.kinds
        else column
        for name, column in release.recipe.columns.items()
    }
    return release.recipe.model_copy(update={"columns": columns})


def _numbers(release: Release, classes: pl.DataFrame) -> tuple[tuple[str, ...], FloatArray]:
    """Return the names and the numbers of each class; dates are days since 1970."""
    kinds = {name: str(kind["kind"]) for name, kind in release.kinds.items()}
    every = pl.DataFrame({name: frames.series(release.frame, name) for name in classes.columns})
    made = published_values(every, release.recipe, kinds)
    keys = {f"key {at}": frames.series(every, name) for at, name in enumerate(every.columns)}
    numbers = {f"number {at}": _as_float(frames.series(made, name)) for at, name in enumerate(made.columns)}
    both = pl.DataFrame({**keys, **numbers}).unique(subset=list(keys)).sort(list(keys), nulls_last=True)
    return tuple(made.columns), both.select(list(numbers)).to_numpy()


def _as_float(values: pl.Series) -> pl.Series:
    return (values.cast(pl.Int32) if values.dtype == pl.Date else values).cast(pl.Float64)


def _scaled(numbers: FloatArray) -> FloatArray:
    """Scale each column of numbers to a range of 1; a missing number is the mean."""
    filled = np.where(np.isnan(numbers), _mean(numbers, np.ones(len(numbers))), numbers)
    filled = np.nan_to_num(filled)
    span = np.ptp(filled, axis=0)
    return np.asarray(filled / np.where(span > 0, span, 1))


def _mean(numbers: FloatArray, weights: npt.NDArray[np.generic]) -> FloatArray:
    """Return the weighted mean of the rows, column by column, without missing numbers."""
    counted = np.where(np.isnan(numbers), 0.0, weights[:, None].astype(np.float64))
    total = counted.sum(axis=0)
    found = (np.nan_to_num(numbers) * counted).sum(axis=0) / np.where(total > 0, total, 1)
    return np.where(total > 0, found, np.nan)


def _tree(points: FloatArray) -> list[IntArray]:
    """Split the classes in halves along the column that varies most, down to single classes.

    Returns the classes in each box. The first box, the root, is not only the union of all classes: it
    covers what none of them does.
    """
    every = np.arange(len(points), dtype=np.int32)
    members = [every, every]
    for box, inside in enumerate(members):  # grows
        if box > 0 and len(inside) > 1:
            widest = int(points[inside].var(axis=0).argmax())
            along = inside[np.argsort(points[inside, widest], kind="stable")]
            members += [along[: len(along) // 2], along[len(along) // 2 :]]
    return members


def _unions(
    encoded: Encoded, classes: pl.DataFrame, members: Sequence[IntArray], recipe: Recipe
) -> pl.DataFrame:
    """Return the published texts of unions of classes; the first of them, the root, covers everything."""
    made = {}
    for column in encoded.columns:
        texts = frames.series(classes, column.name).to_list()
        made[column.name] = _union_texts(column, texts, members, recipe)
    return pl.DataFrame(
        {name: made[name] for name in recipe.quasi}, schema_overrides=dict.fromkeys(made, pl.String)
    )


def _union_texts(
    column: QuasiColumn, texts: list[str | None], members: Sequence[IntArray], recipe: Recipe
) -> list[str | None]:
    """Return the text of each union in one column."""
    pieces = pieces_of(column, set(texts))
    found: list[str | None] = [LOST] * len(members)
    mixed: dict[int, IntArray] = {}
    for box, inside in enumerate(members[1:], 1):
        parts = {texts[at] for at in inside}
        if len(parts) == 1:
            (found[box],) = parts
        elif not parts & {LOST, None}:  # as in a class, nothing is left of a value that may be missing
            mixed[box] = np.unique(np.concatenate([_codes(column, pieces[part]) for part in parts]))
    if not mixed:
        return found
    # A union is published like a class that has the values of all its parts.
    labels = np.repeat(np.arange(len(mixed), dtype=np.int32), [len(codes) for codes in mixed.values()])
    every = replace(column, codes=np.concatenate(list(mixed.values())).astype(np.int32))
    (published,) = published_column(every, labels, len(mixed), recipe).values()
    for box, text in zip(mixed, published.to_list(), strict=True):
        found[box] = text
    return found


def _codes(column: QuasiColumn, piece: Piece) -> IntArray:
    """Return codes that determine what a union with this piece is published as."""
    if piece.members is not None:
        return piece.members
    if isinstance(column, TreeColumn) and column.is_flat:  # a set lists all its values
        return np.arange(piece.low, piece.high + 1, dtype=np.int32)
    return np.array([piece.low, piece.high], np.int32)
