"""The distribution of a quasi column before and after, in cells of ten rows or more.

A cell of fewer than `SMALLEST` rows would reveal something about single people. Such a cell is merged
with its neighbours on the line, or with other categories, so that the cells always add up to all released
rows and no small count can be computed as a difference. Suppressed rows are in no cell: a count that
includes them, compared with the release, would reveal theirs. Cut points are round numbers and the outer
cells are open, so that no label reveals the lowest or highest value.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import polars as pl

from shoal.arrays import FloatArray, LongArray
from shoal.hierarchy.periods import number_of
from shoal.hierarchy.tree import Tree
from shoal.report.codes import sort_keys
from shoal.report.scale import ALL, MOST_CELLS, SMALLEST, are_whole, scale_of
from shoal.table.columns import QuasiColumn, RangeColumn, TreeColumn
from shoal.table.forms import (
    LOST,
    Lost,
    Published,
    Range,
    Set,
    Value,
    parse,
    range_text,
    split_ranges,
    split_sets,
)
from shoal.table.frames import series

OTHER, MISSING = "(other)", "(missing)"

_AFTER_ALL = np.iinfo(np.int64).max  # represents missing values, which are shown last


@dataclass(frozen=True, repr=False)  # a repr would show values
class Cell:
    """A group of values of a column, with the number of released rows before and after.

    Parameters
    ----------
    label : str
    before : int
        Released rows whose raw value is in the cell: `SMALLEST` or more.
    after : float
        Released rows by published value, each spread evenly over the values that it covers.
    """

    label: str
    before: int
    after: float


@dataclass(frozen=True, repr=False)
class Grouping:
    """The assignment of the atoms of a column (distinct values, or leaves of its tree) to cells.

    `cell_of` is the cell of each atom and, last, of a missing value. `edges` are the boundaries between
    cells on a line, if the column has one: a value is in the cell after the last edge that is not above
    it.
    """

    labels: list[str]
    cell_of: LongArray
    edges: FloatArray


def released_cells(
    column: QuasiColumn, inside: npt.NDArray[np.bool_], sizes: LongArray, classes: pl.DataFrame
) -> tuple[Cell, ...]:
    """Count the cells of one column before and after."""
    n_atoms = len(column.points) if isinstance(column, RangeColumn) else column.tree.n_leaves
    counts = np.bincount(column.codes[inside], minlength=n_atoms + 1)
    if counts.sum() < SMALLEST:
        return ()
    texts, rows = _published_rows(column, classes, sizes)
    return distribution(column, counts, lambda grouping: spread(column, grouping, texts, rows, counts > 0))


def distribution(
    column: QuasiColumn, counts: LongArray, after: Callable[[Grouping], FloatArray], least: float = 0.0
) -> tuple[Cell, ...]:
    """Group the values of a column into cells that may be shown.

    Parameters
    ----------
    column : RangeColumn or TreeColumn
        Its rows are not looked at, only its values.
    counts : ndarray of int64
        Released rows that have each value and, last, none.
    after : callable
        Returns the released rows of each cell by published value.
    least : float, default 0.0
        The least distance of cuts on a line, where its values are known only to multiples of this.
    """
    if counts.sum() < SMALLEST:
        return ()
    if isinstance(column, RangeColumn):
        grouping = _line_grouping(column, column.numbers.astype(np.float64), counts, least)
    else:
        grouping = _tree_grouping(column, counts)
    before = np.bincount(grouping.cell_of, counts).astype(np.int64)
    cells = zip(grouping.labels, before.tolist(), after(grouping).tolist(), strict=True)
    return tuple(Cell(label, n, mass) for label, n, mass in cells)


def spread(
    column: QuasiColumn,
    grouping: Grouping,
    texts: Sequence[str | None],
    rows: FloatArray,
    occurs: npt.NDArray[np.bool_],
) -> FloatArray:
    """Spread the rows with each published text over the cells that it covers.

    `occurs` marks the leaves of a tree that some row has.
    """
    if isinstance(column, RangeColumn):
        return _range_mass(column, grouping, texts, rows)
    mass = _leaf_mass(column, texts, rows, occurs)
    return np.bincount(grouping.cell_of, mass).astype(np.float64)


def _published_rows(
    column: QuasiColumn, classes: pl.DataFrame, sizes: LongArray
) -> tuple[list[str | None], FloatArray]:
    """Return the distinct published texts of a column, and how many rows have each."""
    if column.name in classes.columns:
        text = series(classes, column.name).cast(pl.String)
    else:
        low, high = (classes[f"{column.name}_{end}"].cast(pl.String).to_list() for end in ("low", "high"))
        text = pl.Series([bounds_text(a, b) for a, b in zip(low, high, strict=True)])
    found = (
        pl.DataFrame({"text": text, "rows": sizes})
        .group_by("text", maintain_order=True)  # a fixed order makes sums of floats reproducible
        .agg(pl.col("rows").sum())
    )
    return found["text"].to_list(), found["rows"].to_numpy().astype(np.float64)


def bounds_text(low: str | None, high: str | None) -> str:
    """Return the text of bounds that are published in two columns; both are null if everything is lost."""
    return LOST if low is None or high is None else range_text(low, high)


# --- Values on a line: numbers, dates, ordered texts ---


def _line_grouping(
    column: QuasiColumn, numbers: FloatArray, counts: LongArray, least: float = 0.0
) -> Grouping:
    """Cut the line at round numbers and merge cells with too few rows.

    `numbers` is the number of each atom; nan if no row has it.
    """
    present = np.flatnonzero(counts)
    present = present[present != column.missing]
    n_missing = int(counts.sum() - counts[present].sum())
    by_size = present[np.argsort(numbers[present], kind="stable")]
    scale = scale_of(column, numbers[by_size], counts[by_size], least)
    bins = np.searchsorted(scale.edges, numbers[by_size], side="right")
    kept = _kept_edges(np.bincount(bins, counts[by_size], minlength=len(scale.edges) + 1).tolist())
    labels = scale.labels(kept)
    edges = scale.edges[kept]
    cell_of = np.zeros(len(counts), np.int64)
    cell_of[present] = np.searchsorted(edges, numbers[present], side="right")
    if len(present) == 0:
        labels = [MISSING]
    elif n_missing >= SMALLEST and counts[present].sum() >= SMALLEST:
        labels.append(MISSING)
    elif n_missing and len(labels) > 1:
        labels[-1] += ", or missing"
    cell_of[column.missing] = len(labels) - 1
    return Grouping(labels, cell_of, edges)


def _kept_edges(in_bin: Sequence[float]) -> list[int]:
    """Choose edges from left to right so that every cell has enough rows."""
    kept: list[int] = []
    rows, left = 0.0, sum(in_bin)
    for edge, more in enumerate(in_bin[:-1]):
        rows, left = rows + more, left - more
        if rows >= SMALLEST and left >= SMALLEST:
            kept.append(edge)
            rows = 0.0
    return kept


def _range_mass(
    column: RangeColumn, grouping: Grouping, texts: Sequence[str | None], rows: FloatArray
) -> FloatArray:
    """Spread the rows of each published value over the cells that its range overlaps."""
    ends = _all_ends(column, texts)
    lost = np.array([text == LOST for text in texts], dtype=bool)
    # `*` covers the missing value too, as one more value.
    for_missing = 1 / (len(column.numbers) + 1)
    missing_rows = np.where(np.isnan(ends[:, 0]), 1.0, np.where(lost, for_missing, 0.0)) * rows
    line_rows = rows - missing_rows
    # Integers, days and positions represent the step around them; edges are between the steps.
    half = 0.5 if are_whole(column, column.numbers) else 0.0
    low, high = ends[:, 0] - half, ends[:, 1] + half
    below = [float(_share_below(edge, low, high) @ line_rows) for edge in grouping.edges]
    on_line = np.diff([0.0, *below, float(line_rows.sum())])
    mass = np.zeros(len(grouping.labels))
    mass[: len(on_line)] = on_line
    mass[grouping.cell_of[column.missing]] += missing_rows.sum()
    return mass


def _all_ends(column: RangeColumn, texts: Sequence[str | None]) -> FloatArray:
    """Return the ends of each published text; each end of plain ranges is read once."""
    lows, highs = split_ranges(pl.Series(texts, dtype=pl.String))
    known = {end: _number(column, end) for end in pl.concat([lows, highs]).drop_nulls().unique().to_list()}
    ends = [
        _ends(column, parse(text)) if low is None or high is None else (known[low], known[high])
        for text, low, high in zip(texts, lows.to_list(), highs.to_list(), strict=True)
    ]
    return np.array(ends, dtype=np.float64).reshape(-1, 2)


def _ends(column: RangeColumn, value: Published) -> tuple[float, float]:
    """Return the ends of a published range as numbers; two nans for a missing value."""
    if isinstance(value, Range):
        return _number(column, value.low), _number(column, value.high)
    if isinstance(value, Value):
        return (number := _number(column, value.text)), number
    if isinstance(value, Lost) and len(column.numbers) and column.ends is not None:
        return float(column.ends[0]), float(column.ends[1])
    return np.nan, np.nan


def _number(column: RangeColumn, text: str) -> float:
    if column.kind == "ordinal":
        return float(column.order.index(text))
    if column.kind == "date":
        number = number_of(text, column.unit)
        return np.nan if number is None else float(number)
    return float(text)


def _share_below(edge: float, low: FloatArray, high: FloatArray) -> FloatArray:
    """Return the share of each range that is below an edge; a range without width is a point."""
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        width = high - low
        shares = np.clip((edge - low) / width, 0.0, 1.0)
    return np.where(np.isnan(low), 0.0, np.where(width > 0, shares, low < edge))


# --- Values in a tree ---


def _tree_grouping(column: TreeColumn, counts: LongArray) -> Grouping:
    """Group numbers and dates on a line, and categories by name or by ancestor."""
    if column.kind in ("numeric", "date"):
        return _line_grouping(column, _leaf_numbers(column, counts), counts)
    groups, group_of = np.unique(_shown_nodes(column, counts), return_inverse=True)
    rows = np.bincount(group_of, counts).astype(np.int64)
    shown = _shown_groups(rows, is_flat=column.is_flat)
    if not shown:
        return Grouping([ALL], np.zeros(len(counts), np.int64), np.zeros(0))
    if column.is_flat:
        named = [group for group in shown if groups[group] != _AFTER_ALL]
        order = sort_keys([column.tree.labels[groups[group]] for group in named])
        if order is not None:
            by_key = sorted(zip(order, named, strict=True))
            shown = [*(group for _, group in by_key), *shown[len(named) :]]
    labels = [MISSING if groups[at] == _AFTER_ALL else column.tree.labels[groups[at]] for at in shown]
    if rows.sum() > rows[shown].sum():
        labels.append(OTHER)
    cell_of_group = np.full(len(groups), len(labels) - 1)
    cell_of_group[shown] = np.arange(len(shown))
    return Grouping(labels, cell_of_group[group_of], np.zeros(0))


def _leaf_numbers(column: TreeColumn, counts: LongArray) -> FloatArray:
    """Return the number of each leaf that occurs; the labels of other leaves need not be numbers."""
    numbers = np.full(len(counts), np.nan)
    present = np.flatnonzero(counts)
    present = present[present != column.missing]
    leaves = column.tree.leaf_labels
    texts = pl.Series([leaves[leaf] for leaf in present.tolist()], dtype=pl.String)
    if column.kind == "date":
        texts = pl.Series([number_of(text, column.unit) for text in texts], dtype=pl.Int64)
    numbers[present] = texts.cast(pl.Float64).to_numpy()
    return numbers


def _shown_nodes(column: TreeColumn, counts: LongArray) -> LongArray:
    """Return the node whose label represents each leaf.

    All nodes are at the same depth, the greatest at which there are not too many and most rows are in
    groups large enough to be shown.
    """
    tree = column.tree
    depth = _depths(tree)
    nodes = np.append(tree.leaf_nodes, 0).astype(np.int64)
    nodes[column.missing] = 0
    for level in range(int(depth.max()), 0, -1):
        deep = depth[nodes] > level
        nodes[deep] = tree.parent[nodes[deep]]
        rows = np.bincount(nodes, counts)[1:]
        large = rows[rows >= SMALLEST]
        if len(large) < MOST_CELLS and large.sum() >= 0.8 * rows.sum():
            break
    nodes[column.missing] = _AFTER_ALL
    return nodes


def _depths(tree: Tree) -> LongArray:
    """Return how far below the root each node is."""
    depth = np.zeros(tree.n_nodes, np.int64)
    for node in np.flatnonzero(tree.height > 0)[1:].tolist():  # preorder: parents first
        depth[node] = depth[tree.parent[node]] + 1
    leaves = tree.leaf_nodes[tree.leaf_nodes > 0]
    depth[leaves] = depth[tree.parent[leaves]] + 1
    return depth


def _shown_groups(rows: LongArray, *, is_flat: bool) -> list[int]:
    """Choose the groups that get a separate cell, so that the rest is empty or large enough.

    The last group, that of missing values, stays last.
    """
    large = np.flatnonzero(rows >= SMALLEST)
    shown = large[np.argsort(-rows[large], kind="stable")][: MOST_CELLS - 1].tolist()
    while shown and 0 < rows.sum() - rows[shown].sum() < SMALLEST:
        shown.pop()  # merged with the smallest, so that only the sum of both is shown
    in_order = shown if is_flat else sorted(shown)
    return sorted(in_order, key=lambda group: group == len(rows) - 1)


def _leaf_mass(
    column: TreeColumn,
    texts: Sequence[str | None],
    rows: FloatArray,
    occurs: npt.NDArray[np.bool_],
) -> FloatArray:
    """Spread the rows of each published value evenly over the leaves that it covers and that occur."""
    before = np.append(0, np.cumsum(occurs))  # how many leaves occur before each leaf
    steps, mass = np.zeros(len(occurs) + 1), np.zeros(len(occurs))
    is_done = np.zeros(len(texts), dtype=bool)
    if column.is_flat:
        is_done = _add_sets(column, pl.Series(texts, dtype=pl.String), rows, mass)
    left = np.flatnonzero(~is_done).tolist()
    code_of = _leaf_of_label(column) if column.is_flat else _node_of_label(column)
    for text, n in zip([texts[at] for at in left], rows[left].tolist(), strict=True):
        value = parse(text)
        if isinstance(value, Set) and column.is_flat:
            members = [code_of[member] for member in value.members]
            mass[members] += n / len(members)
            continue
        first, last = _leaves(column, text, value, code_of)
        share = n / max(1, before[last + 1] - before[first])
        steps[first] += share
        steps[last + 1] -= share
    return mass + np.cumsum(steps)[:-1] * occurs


def _add_sets(
    column: TreeColumn, texts: pl.Series, rows: FloatArray, mass: FloatArray
) -> npt.NDArray[np.bool_]:
    """Spread the rows of the plain sets, which may be very many; return which texts these are.

    Writes `mass`.
    """
    text_of_member, members = split_sets(texts)
    if len(members):
        n_values = column.tree.n_leaves - int(column.has_missing)
        labels = pl.Series(column.tree.leaf_labels[:n_values], dtype=pl.String)
        leaf = members.replace_strict(labels, range(len(labels)), return_dtype=pl.Int64).to_numpy()
        n_members = np.bincount(text_of_member, minlength=len(texts))
        np.add.at(mass, leaf, rows[text_of_member] / n_members[text_of_member])
    is_set = np.zeros(len(texts), dtype=bool)
    is_set[text_of_member] = True
    return is_set


def _leaves(
    column: TreeColumn, text: str | None, value: Published, code_of: Mapping[str, int]
) -> tuple[int, int]:
    """Return the first and last leaf that a published value covers."""
    if value is None:
        return column.missing, column.missing
    if isinstance(value, Lost):
        return 0, column.tree.n_leaves - 1
    # A label may look like a range, as in interval trees.
    code = code_of[value.text if isinstance(value, Value) else str(text)]
    if column.is_flat:
        return code, code
    return int(column.tree.first_leaf[code]), int(column.tree.last_leaf[code])


def _leaf_of_label(column: TreeColumn) -> dict[str, int]:
    return _first_of_each(column.tree.leaf_labels)


def _node_of_label(column: TreeColumn) -> dict[str, int]:
    return _first_of_each(column.tree.labels)


def _first_of_each(labels: Sequence[str]) -> dict[str, int]:
    """Return the first place of each label."""
    return dict(zip(reversed(labels), range(len(labels) - 1, -1, -1), strict=True))
