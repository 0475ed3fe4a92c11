"""Columns that are released unchanged and from which generalized quasi values can be inferred."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from itertools import combinations
from typing import NamedTuple

import numpy as np
import polars as pl

from shoal.arrays import BoolArray
from shoal.dangers.danger import MIN_ROWS, NOTABLE, SMALLEST, Danger, is_accepted, part, shown
from shoal.dangers.rules import by_chance, follows, rules
from shoal.dangers.scene import Codes, Scene
from shoal.recode.publish import Published
from shoal.table.columns import QuasiColumn, RangeColumn, class_extremes
from shoal.table.forms import value_text
from shoal.table.frames import series

_MIN_SUPPORT, _MIN_SUPPORT_OF_PAIRS = (
    2,
    5,
)  # rows that a rule is learned from; pairs agree by chance more often
_PAIR_WORK = 5_000_000  # rows x pairs of columns x quasi columns up to which pairs are tried


class _Source(NamedTuple):
    """One column, or two together, that may reveal quasi values."""

    names: tuple[str, ...]
    codes: Codes
    fewest: int


class _Cells(NamedTuple):
    """The generalized cells of a quasi column."""

    column: QuasiColumn
    rows: Codes  # the encoded rows whose other values are published with these cells


def recoverable(scene: Scene, duplicates: Collection[tuple[str, str]]) -> list[Danger]:
    """Find them: an attacker is assumed to know which values of two columns go together.

    `duplicates` are pairs of a sensitive and a quasi column that have already been reported.
    """
    if scene.published is None or scene.released < MIN_ROWS:
        return []
    generalized = [_generalized(scene, scene.published, column) for column in scene.encoded.columns]
    found: dict[tuple[str, str], None] = dict.fromkeys(duplicates)
    dangers = []
    for source in _sources(scene):
        for cells in generalized:
            quasi = cells.column.name
            if any((name, quasi) in found for name in source.names):
                continue
            number = _recovered(source, cells)
            if number:
                dangers.append(_danger(scene, source.names, cells, number))
                found[source.names[0], quasi] = None
    return dangers


def _sources(scene: Scene) -> Iterator[_Source]:
    """Yield the columns first, then pairs of them, where that does not take long."""
    singles = [_Source((name,), scene.codes(name), _MIN_SUPPORT) for name in scene.shown]
    yield from singles
    pairs = list(combinations(singles, 2))
    if scene.encoded.n_rows * len(pairs) * len(scene.encoded.columns) > _PAIR_WORK:
        return
    for one, other in pairs:
        width = int(other.codes.max(initial=0)) + 1
        joint = np.where((one.codes < 0) | (other.codes < 0), -1, one.codes * width + other.codes)
        values, codes = np.unique(joint, return_inverse=True)
        below = int(values[0] == -1)  # where one of the two is missing, both are
        yield _Source((*one.names, *other.names), codes.astype(np.int64) - below, _MIN_SUPPORT_OF_PAIRS)


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


def _recovered(source: _Source, cells: _Cells) -> int:
    """Count the cells whose value can be inferred; 0 where they are few, or no more than by chance."""
    if len(cells.rows) == 0:
        return 0
    found = rules(source.codes, cells.column.codes, source.fewest)
    if not (found.value >= 0).any():
        return 0
    codes, raw = source.codes[cells.rows], cells.column.codes[cells.rows]
    number = int(follows(found, codes, raw).sum())
    if number < SMALLEST or number <= NOTABLE * len(cells.rows):
        return 0
    surplus = number - by_chance(found, codes, raw, source.fewest)
    return number if surplus > NOTABLE * len(cells.rows) else 0


def _danger(scene: Scene, names: tuple[str, ...], cells: _Cells, number: int) -> Danger:
    quasi, hidden = cells.column.name, len(cells.rows)
    listed = " and ".join(f"`{name}`" for name in names)
    message = (
        f"From {listed}, released unchanged, an attacker who knows which values go together can infer the "
        f"generalized `{quasi}` of {part(number, hidden, 'rows')}."
    )
    numbers = {"recoverable": shown(number, hidden), "generalized": hidden}
    accepted = is_accepted(scene.recipe, "recoverable", *names)
    return Danger("danger.recoverable", (*names, quasi), message, numbers, accepted=accepted)
