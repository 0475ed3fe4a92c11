"""A release against its original: whether all released rows can be different raw rows.

A released row may be a raw row that is inside its box and has the same sensitive and kept values.
Whether all of them can be different raw rows at the same time is decided exactly (see `flow`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from shoal.recipe import Recipe
from shoal.verifier.cells.covers import Reading, reading
from shoal.verifier.originals.axis import Axis, Ints, covering_axis, equal_axis
from shoal.verifier.originals.flow import unmatched
from shoal.verifier.reading.apostrophe import plain
from shoal.verifier.reading.load import Loaded
from shoal.verifier.reading.session import Session
from shoal.verifier.reading.value import comparable
from shoal.verifier.verdict import Problem, count, listed

if TYPE_CHECKING:
    import pyarrow as pa

_MATCH = "verify.original_match"


@dataclass(frozen=True)
class Texts:
    """A column of texts: the distinct ones, and which of them each row has."""

    different: list[str | None]
    of_row: Ints


@dataclass(frozen=True)
class Sides:
    """Released and raw rows, identical ones combined.

    Parameters
    ----------
    axes : dict of str to Axis
        The axis of each column.
    released, raw : ndarrays
        How many rows each box and each point represents.
    """

    axes: dict[str, Axis]
    released: Ints
    raw: Ints

    def unmatched(self, names: Sequence[str]) -> int:
        """Return how many released rows have no raw row of their own, judged by these columns."""
        chosen = [self.axes[name] for name in names]
        if not chosen:
            return max(0, int(self.released.sum() - self.raw.sum()))
        boxes, released = _together([(axis.cells, len(axis.low)) for axis in chosen], self.released)
        points, raw = _together([(axis.codes, axis.size) for axis in chosen], self.raw)
        return unmatched([axis.of_boxes(boxes).of_points(points) for axis in chosen], released, raw)


def _together(columns: Sequence[tuple[Ints, int]], rows: Ints) -> tuple[Ints, Ints]:
    """Combine rows that agree in all columns: where each combination first occurs, and its rows."""
    key = np.zeros(len(rows), np.int64)
    for values, size in columns:
        key = np.unique(key * max(1, size) + values, return_inverse=True)[1].astype(np.int64)
    _, first, kind = np.unique(key, return_index=True, return_inverse=True)
    return first, np.bincount(kind, rows, len(first)).astype(np.int64)


def pairing_problems(session: Session, loaded: Loaded, original: Loaded, recipe: Recipe) -> list[Problem]:
    """Compare all columns that both tables have."""
    others = [name for name in recipe.unchanged if loaded.has_once(name)]
    absent = [name for name in others if not original.has_once(name)]
    if absent:
        message = f"Columns missing from the original, or in it twice: {listed(absent)}."
        return [Problem("verify.original_values", message)]
    quasi = [
        name for name in recipe.quasi if recipe.output.values == "generalize" and original.has_once(name)
    ]
    sides = read_sides(session, loaded, original, recipe, quasi, others)
    strange = sides.unmatched(others)
    problems = _value_problems(strange, others) + _match_problems(sides, strange)
    return problems + _perturbed_problems(session, loaded, original, recipe)


def _perturbed_problems(session: Session, loaded: Loaded, original: Loaded, recipe: Recipe) -> list[Problem]:
    """Check what perturbed columns keep: swapping keeps each value, PRAM each category, noise nothing."""
    problems = []
    for name, how in recipe.perturbed.items():
        if how == "noise" or not (loaded.has_once(name) and original.has_once(name)):
            continue
        boxes, released = grouped(session, loaded, [name])
        points, raw = grouped(session, original, [name])
        axis = _equal(session, recipe.input.missing, (boxes[name], loaded.marked), points[name])
        if how == "pram":  # each category may come as often as it likes
            raw = np.full(len(raw), int(released.sum()), np.int64)
        problems += _value_problems(Sides({name: axis}, released, raw).unmatched([name]), [name])
    return problems


def _value_problems(strange: int, names: Sequence[str]) -> list[Problem]:
    """Report the number of rows whose sensitive or kept values are not in the original."""
    if not names or not strange:
        return []
    rows = f"{count(strange, 'row')} {'has' if strange == 1 else 'have'}"
    message = f"{rows} values in {listed(names)} that the original does not have, or has less often."
    return [Problem("verify.original_values", message)]


def _match_problems(sides: Sides, strange: int) -> list[Problem]:
    """Find rows that have no raw row of their own, beyond those whose values are known to be wrong."""
    open_rows = sides.unmatched(list(sides.axes))
    if open_rows <= strange:
        return []
    rows = f"{count(open_rows, 'row')} of the file cannot be matched one to one with rows of the original"
    return [Problem(_MATCH, f"{rows}: {_where(sides, strange)}.")]


def _where(sides: Sides, strange: int) -> str:
    """Name the columns that do not fit on their own, or those without which the rest fits."""
    names = list(sides.axes)
    alone = [name for name in names if sides.unmatched([name]) > strange]
    if alone:
        return f"{listed(alone)} {'does' if len(alone) == 1 else 'do'} not fit the original"
    without = [name for name in names if sides.unmatched([n for n in names if n != name]) <= strange]
    if without:
        return f"each column fits the original by itself, but not {_or(without)} together with the others"
    return "each column fits the original by itself, but several do not fit together"


def _or(names: Sequence[str]) -> str:
    return " or ".join(f"`{name}`" for name in names)


def read_sides(
    session: Session,
    loaded: Loaded,
    original: Loaded,
    recipe: Recipe,
    quasi: Sequence[str],
    others: Sequence[str],
) -> Sides:
    """Read the columns of both tables; quasi columns that the release does not have are left out."""
    published = {name: published_as(loaded, name) for name in quasi}
    published = {name: columns for name, columns in published.items() if columns}
    shown = [column for columns in published.values() for column in columns]
    boxes, released = grouped(session, loaded, [*shown, *others])
    points, raw = grouped(session, original, [*published, *others])
    axes = {}
    for name, columns in published.items():
        read = reading(recipe, name, set(points[name].different), original.stored(name))
        axes[name] = _covering(read, points[name], [boxes[column] for column in columns], loaded.marked)
        if recipe.privacy.missing == "suppress":  # a row that lacks a value is not in the release
            missing = np.array([read.key(text) is None for text in points[name].different])
            raw[missing[points[name].of_row]] = 0
    for name in others:
        axes[name] = _equal(session, recipe.input.missing, (boxes[name], loaded.marked), points[name])
    return Sides(axes, released, raw)


def published_as(loaded: Loaded, name: str) -> list[str]:
    """List the columns of a file that a quasi column is published as: itself or its bounds, or none."""
    bounds = [f"{name}_low", f"{name}_high"]
    if loaded.has_once(name):
        return [name]
    return bounds if all(map(loaded.has_once, bounds)) else []


def grouped(session: Session, loaded: Loaded, names: Sequence[str]) -> tuple[dict[str, Texts], Ints]:
    """Return the distinct combinations of some columns, column by column, and their numbers of rows."""
    columns = "".join(f"{loaded.column(name)}, " for name in names)
    found = session.table(f"SELECT {columns}count(*) AS n FROM {loaded.table} GROUP BY ALL")
    texts = {name: _texts(found.column(at)) for at, name in enumerate(names)}
    return texts, found.column(len(names)).to_numpy().astype(np.int64)


def _texts(column: pa.ChunkedArray) -> Texts:
    encoded: Any = column.combine_chunks().dictionary_encode(null_encoding="encode")
    return Texts(encoded.dictionary.to_pylist(), encoded.indices.to_numpy().astype(np.int64))


def _covering(read: Reading, raw: Texts, published: Sequence[Texts], marked: bool) -> Axis:
    """Build the axis of a quasi column, published as one column or as two."""
    cells, of_box = _tuples(published)
    bare = [tuple(plain(text) if marked and text is not None else text for text in cell) for cell in cells]
    covers = [read.cover(cell) for cell in bare]
    return covering_axis([read.key(text) for text in raw.different], raw.of_row, covers, of_box)


def _tuples(columns: Sequence[Texts]) -> tuple[list[tuple[str | None, ...]], Ints]:
    """Combine columns: the distinct combinations, and which of them each row has."""
    key = np.zeros(len(columns[0].of_row), np.int64)
    for column in columns:
        key = key * len(column.different) + column.of_row
    _, first, of_row = np.unique(key, return_index=True, return_inverse=True)
    cells = [tuple(column.different[column.of_row[at]] for column in columns) for at in first]
    return cells, of_row.astype(np.int64)


def _equal(session: Session, missing: list[str], released: tuple[Texts, bool], raw: Texts) -> Axis:
    """Build the axis of a column that is published unchanged."""
    number: dict[str | None, int] = {}
    codes = []
    for texts, marked in (released, (raw, False)):
        forms = comparable_texts(session, texts.different, missing, marked=marked)
        codes.append(
            np.array([number.setdefault(form, len(number)) for form in forms], np.int64)[texts.of_row]
        )
    return equal_axis(codes[1], codes[0], len(number))


def comparable_texts(
    session: Session, texts: Sequence[str | None], missing: list[str], *, marked: bool
) -> list[str | None]:
    """Normalize texts to the form in which cells are compared."""
    import pyarrow as pa

    places = pa.array(range(len(texts)), pa.int64())
    session.database.register("given", pa.table({"place": places, "cell": pa.array(texts, pa.string())}))
    form = comparable("cell", marked=marked)
    found = session.rows(f"SELECT {form} FROM given ORDER BY place", [missing])
    session.database.unregister("given")
    return [text for (text,) in found]
