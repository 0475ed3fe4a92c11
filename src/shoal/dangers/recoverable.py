"""Columns that are released unchanged and from which generalized quasi values can be inferred.

Single columns are always searched; two and three together only where that does not take long. A rule of
more columns would need more rows than a table usually has: the values of four columns together rarely repeat.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from functools import lru_cache, partial, reduce
from itertools import combinations, product
from math import comb
from typing import NamedTuple

import numpy as np
import polars as pl

from shoal.arrays import BoolArray
from shoal.dangers.danger import MIN_ROWS, NOTABLE, SMALLEST, Danger, acceptance, is_refused, part, shown
from shoal.dangers.rules import by_chance, follows, rules
from shoal.dangers.scene import Codes, Scene
from shoal.recipe import Recipe
from shoal.recode.publish import Published
from shoal.table.columns import QuasiColumn, RangeColumn, class_extremes
from shoal.table.forms import value_text
from shoal.table.frames import series

_MIN_SUPPORT = 2  # rows that a rule is learned from
_MIN_SUPPORT_OF_SEVERAL = 5  # values of several columns together agree by chance more often
_MOST_TOGETHER = 3
_WORK = 5_000_000  # rows x combinations of columns x quasi columns up to which combinations are tried


class _Source(NamedTuple):
    """One column, or several together, that may reveal quasi values."""

    names: tuple[str, ...]
    codes: Codes
    fewest: int


class _Cells(NamedTuple):
    """The generalized cells of a quasi column."""

    column: QuasiColumn
    rows: Codes  # the encoded rows whose other values are published with these cells


class RecoverableCount(NamedTuple):
    """What shows whether generalized cells can be inferred; counts of parts of a table add up.

    `follow` counts the generalized cells whose raw value a rule names, `chance` how many there would be if
    the columns were independent.
    """

    hidden: int
    follow: int = 0
    chance: float = 0.0

    @property
    def recovered(self) -> int:
        """The cells that can be inferred; 0 where they are few, or no more than by chance."""
        if self.follow < SMALLEST or self.follow <= NOTABLE * self.hidden:
            return 0
        return self.follow if self.follow - self.chance > NOTABLE * self.hidden else 0


def recoverable(scene: Scene, duplicates: Collection[tuple[str, str]]) -> list[Danger]:
    """Find them: an attacker is assumed to know which values of two columns go together.

    `duplicates` are pairs of a sensitive and a quasi column that have already been reported.
    """
    published = scene.published
    if published is None or scene.released < MIN_ROWS:
        return []
    columns = {column.name: column for column in scene.encoded.columns}
    source = lru_cache(maxsize=1)(partial(_source, scene))
    generalized: dict[str, _Cells] = {}  # none where nothing is released unchanged

    def count(names: tuple[str, ...], quasi: str) -> RecoverableCount:
        if quasi not in generalized:
            generalized[quasi] = _generalized(scene, published, columns[quasi])
        cells = generalized[quasi]
        # Fewer cells than these are no danger, however few agree by chance.
        return _count(source(names), cells, NOTABLE * len(cells.rows))

    return recoverable_dangers(count, list(columns), scene.encoded.n_rows, scene.recipe, duplicates)


def recoverable_counts(scene: Scene) -> Iterator[RecoverableCount]:
    """Count what each source reveals about each quasi column in a part of a table.

    Rules are learned from the rows of the part alone.
    """
    assert scene.published is not None
    cells = [_generalized(scene, scene.published, column) for column in scene.encoded.columns]
    rows = scene.encoded.table_rows or scene.encoded.n_rows
    for names in sources(len(cells), rows, scene.recipe):
        source = _source(scene, names)
        yield from (_count(source, each, 0.0) for each in cells)


def recoverable_dangers(
    count: Callable[[tuple[str, ...], str], RecoverableCount],
    quasi: Sequence[str],
    rows: int,
    recipe: Recipe,
    duplicates: Collection[tuple[str, str]],
) -> list[Danger]:
    """Report what the sources of a table with so many rows reveal; `count` is asked for what is unknown."""
    found = [({name}, column) for name, column in duplicates]
    dangers = []
    for names, column in product(sources(len(quasi), rows, recipe), quasi):
        if any(column == known and fewer <= set(names) for fewer, known in found):
            continue  # with fewer columns already
        counted = count(names, column)
        if counted.recovered:
            dangers.append(_danger(names, column, counted, recipe))
            found.append((set(names), column))
    return dangers


def sources(n_quasi: int, rows: int, recipe: Recipe) -> list[tuple[str, ...]]:
    """Return the columns released unchanged, then two and three of them where that does not take long."""
    names = recipe.named("keep", "sensitive")
    found: list[tuple[str, ...]] = [(name,) for name in names]
    left = _WORK
    for together in range(2, _MOST_TOGETHER + 1):
        left -= rows * comb(len(names), together) * n_quasi
        if left < 0:
            break
        found += combinations(names, together)
    return found


def _source(scene: Scene, names: tuple[str, ...]) -> _Source:
    """Number the values of one column, or the combinations of several."""
    codes = reduce(_joint, (scene.codes(name) for name in names))
    return _Source(names, codes, _MIN_SUPPORT if len(names) == 1 else _MIN_SUPPORT_OF_SEVERAL)


def _joint(one: Codes, other: Codes) -> Codes:
    width = int(other.max(initial=0)) + 1
    joint = np.where((one < 0) | (other < 0), -1, one * width + other)
    values, codes = np.unique(joint, return_inverse=True)
    below = int(values[0] == -1)  # where one of the two is missing, both are
    return codes.astype(np.int64) - below


def _generalized(scene: Scene, published: Published, column: QuasiColumn) -> _Cells:
    exact = _exact(scene, published, column)
    inside = published.labels >= 0
    hidden = np.flatnonzero(inside)[~exact[published.labels[inside]]]
    return _Cells(column, published.partner[hidden])


def _exact(scene: Scene, published: Published, column: QuasiColumn) -> BoolArray:
    """Mark the classes that publish the exact value of all their rows."""
    low, high = class_extremes(column, published.labels, published.classes.height)
    alike: BoolArray = low == high
    if scene.recipe.output.values == "microaggregate":
        return alike
    parts = [series(published.classes, name) for name in published.names[column.name]]
    if len(parts) == 2:
        alike &= parts[0].eq_missing(parts[1]).to_numpy()
        return alike
    texts = column.texts if isinstance(column, RangeColumn) else column.tree.leaf_labels
    plain = pl.Series([value_text(text) for text in texts], dtype=pl.String)
    cells = parts[0].cast(pl.String)
    alike &= cells.is_in(plain.implode()).fill_null(True).to_numpy()
    return alike


def _count(source: _Source, cells: _Cells, least: float) -> RecoverableCount:
    """Count the cells whose value can be inferred; what chance gives only if they are more than `least`."""
    hidden = len(cells.rows)
    if hidden == 0:
        return RecoverableCount(0)
    found = rules(source.codes, cells.column.codes, source.fewest)
    if not (found.value >= 0).any():
        return RecoverableCount(hidden)
    codes, raw = source.codes[cells.rows], cells.column.codes[cells.rows]
    number = int(follows(found, codes, raw).sum())
    chance = by_chance(found, codes, raw, source.fewest) if number > least else 0.0
    return RecoverableCount(hidden, number, chance)


def _danger(names: tuple[str, ...], quasi: str, count: RecoverableCount, recipe: Recipe) -> Danger:
    number, hidden = count.recovered, count.hidden
    *first, last = (f"`{name}`" for name in names)
    listed = f"{', '.join(first)} and {last}" if first else last
    message = (
        f"From {listed}, released unchanged, an attacker who knows which values go together can infer the "
        f"generalized `{quasi}` of {part(number, hidden, 'rows')}."
    )
    numbers = {"recoverable": shown(number, hidden), "generalized": hidden}
    return Danger(
        "danger.recoverable",
        (*names, quasi),
        message,
        numbers,
        **acceptance(recipe, "recoverable", *names),
        refused_as="danger.recoverable" if is_refused(number, hidden, recipe, *names) else "",
        remedy=f"give {listed if len(names) == 1 else 'one of them'} the role quasi or drop",
    )
