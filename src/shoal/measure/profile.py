"""What a report may show of the rows: distributions before and after, in cells of ten rows or more.

A cell of fewer than `SMALLEST` rows would say something about single people. Such a cell is merged
with its neighbours on the line, or with other categories, so that the cells shown always make up all
released rows: nothing is left out that could be found as a difference. Suppressed rows are in no
cell: a count with them, beside the release without them, would be a count of them alone. Cut points
are round numbers and the outer cells are open, so that no label tells the lowest or highest value.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from math import ceil, floor, isfinite, log10

import numpy as np
import numpy.typing as npt
import polars as pl

from shoal.recipe import Recipe
from shoal.table.columns import Encoded, IntArray, QuasiColumn, RangeColumn, TreeColumn
from shoal.table.forms import Lost, Range, Set, Value, parse
from shoal.table.frames import series

SMALLEST = 10
MOST_CELLS = 20
ALL, OTHER, MISSING = "all values", "(other)", "(missing)"

_EPOCH = date(1970, 1, 1)
_MONTHS = (1, 3, 12, 24, 60, 120, 240, 600, 1200, 2400, 6000, 12000)  # a month to a thousand years

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


@dataclass(frozen=True, repr=False)  # a repr would show values
class Cell:
    """Some values of a column: how many released rows have them, and how many seem to.

    Parameters
    ----------
    label : str
    before : int
        Released rows whose raw value is in the cell: `SMALLEST` or more.
    after : float
        The same rows by their published values, each spread evenly over the values that it covers.
    """

    label: str
    before: int
    after: float


@dataclass(frozen=True, repr=False)
class ColumnProfile:
    """A quasi column: what it lost, and its distribution.

    Parameters
    ----------
    name, kind : str
    weight : float
    share_lost : float
        Information lost in this column, 0 to 1; a suppressed row has lost everything.
    cells : tuple of Cell
        All released rows; none where the table has fewer than `SMALLEST`.
    """

    name: str
    kind: str
    weight: float
    share_lost: float
    cells: tuple[Cell, ...]


@dataclass(frozen=True, repr=False)
class SensitiveProfile:
    """A sensitive column, which is released as it is.

    Parameters
    ----------
    distinct : int
        Different values among the released rows.
    missing : int or None
        Released rows without a value; None for 1 to `SMALLEST` - 1.
    alike : int
        Classes whose rows all have one value.
    """

    name: str
    distinct: int
    missing: int | None
    alike: int


@dataclass(frozen=True, repr=False)
class Profile:
    """What the report draws.

    Parameters
    ----------
    class_sizes : tuple of pairs of int
        How many classes have each size, by size.
    """

    columns: tuple[ColumnProfile, ...]
    sensitive: tuple[SensitiveProfile, ...]
    class_sizes: tuple[tuple[int, int], ...]


def profile(
    table: pl.DataFrame,
    encoded: Encoded,
    labels: IntArray,
    texts: pl.DataFrame,
    costs: Floats,
    recipe: Recipe,
) -> Profile:
    """Describe a release beside the raw table, without a word about fewer than ten rows.

    Parameters
    ----------
    table : polars.DataFrame
        The raw table, rows in the order of the input.
    encoded : Encoded
        Its quasi columns.
    labels : ndarray of shape (n_rows,), int32
        Published class of each encoded row, -1 for a suppressed one.
    texts : polars.DataFrame
        Published values: a row for each class, a text column for each quasi column.
    costs : ndarray of shape (n_classes, n_columns), float64
        What each class loses in each column, as `published_costs` gives it.
    """
    inside = labels >= 0
    sizes = np.bincount(labels[inside], minlength=texts.height)
    lost = (sizes @ costs + (encoded.n_rows - sizes.sum())) / max(1, encoded.n_rows)
    columns = tuple(
        ColumnProfile(
            column.name, column.kind, column.weight, float(share), _cells(column, inside, sizes, texts)
        )
        for column, share in zip(encoded.columns, lost, strict=True)
    )
    released = encoded.order[inside]
    sensitive = tuple(
        _sensitive(name, series(table, name).gather(released), labels[inside])
        for name in recipe.named("sensitive")
    )
    counts = np.unique(sizes[sizes > 0], return_counts=True)
    class_sizes = tuple((int(size), int(count)) for size, count in zip(*counts, strict=True))
    return Profile(columns, sensitive, class_sizes)


def _sensitive(name: str, values: pl.Series, labels: IntArray) -> SensitiveProfile:
    pairs = pl.DataFrame({"class": labels, "value": values})
    kinds = pairs.group_by("class").agg(pl.col("value").n_unique())["value"]
    missing = values.null_count()
    return SensitiveProfile(
        name=name,
        distinct=values.drop_nulls().n_unique(),
        missing=missing if missing == 0 or missing >= SMALLEST else None,
        alike=int((kinds == 1).sum()),
    )


@dataclass(frozen=True)
class _Grouping:
    """How the atoms of a column (its distinct values, or the leaves of its tree) fall into cells.

    `cell_of` gives the cell of each atom and, last, of a missing value. `edges` are the ends of the
    cells on the line, for columns that have one: a value is in the cell after the last edge that is
    not above it.
    """

    labels: list[str]
    cell_of: Ints
    edges: Floats


def _cells(
    column: QuasiColumn, inside: npt.NDArray[np.bool_], sizes: Ints, texts: pl.DataFrame
) -> tuple[Cell, ...]:
    """Count the cells of one column before and after."""
    counts = np.bincount(column.codes[inside], minlength=_n_atoms(column) + 1)
    if counts.sum() < SMALLEST:
        return ()
    published = (
        pl.DataFrame({"text": series(texts, column.name), "rows": sizes})
        .group_by("text", maintain_order=True)  # in a fixed order, sums of floats are the same each time
        .agg(pl.col("rows").sum())
    )
    rows = published["rows"].to_numpy().astype(np.float64)
    if isinstance(column, RangeColumn):
        grouping = _line_grouping(column, _numbers(column), counts)
        after = _range_mass(column, grouping, published["text"].to_list(), rows)
    else:
        grouping = _tree_grouping(column, counts)
        mass = _leaf_mass(column, published["text"].to_list(), rows, counts > 0)
        after = np.bincount(grouping.cell_of, mass, minlength=len(grouping.labels))
    before = np.bincount(grouping.cell_of, counts, minlength=len(grouping.labels)).astype(int)
    cells = zip(grouping.labels, before.tolist(), after.tolist(), strict=True)
    return tuple(Cell(label, n, mass) for label, n, mass in cells)


def _n_atoms(column: QuasiColumn) -> int:
    return len(column.points) if isinstance(column, RangeColumn) else column.tree.n_leaves


# --- Values on a line: numbers, dates, ordered texts ---


def _numbers(column: RangeColumn) -> Floats:
    """Return each distinct value as a number: a day's number, a position in the order."""
    if column.kind == "ordinal":
        position = {text: place for place, text in enumerate(column.order)}
        return np.array([position[text] for text in column.texts], dtype=np.float64)
    return _parsed(pl.Series(column.texts, dtype=pl.String), column.kind)


def _parsed(texts: pl.Series, kind: str) -> Floats:
    if kind == "date":
        texts = texts.str.to_date("%Y-%m-%d").cast(pl.Int32)
    return texts.cast(pl.Float64).to_numpy()


def _line_grouping(column: QuasiColumn, numbers: Floats, counts: Ints) -> _Grouping:
    """Cut the line at round numbers and merge what is left with too few rows.

    `numbers` has the number of each atom; nan for one that no row has.
    """
    present = np.flatnonzero(counts[:-1])
    if isinstance(column, TreeColumn) and column.has_missing:
        present = present[present != column.missing]
    n_missing = int(counts.sum() - counts[present].sum())
    by_size = present[np.argsort(numbers[present], kind="stable")]
    scale = _scale(column, numbers[by_size], counts[by_size])
    in_bin = np.bincount(np.searchsorted(scale.edges, numbers[by_size], side="right"), counts[by_size])
    kept = _merged_edges(in_bin, len(scale.edges))
    labels = scale.labels(kept)
    edges = scale.edges[kept]
    cell_of = np.zeros(len(counts), np.int64)
    cell_of[present] = np.searchsorted(edges, numbers[present], side="right")
    missing_cell = len(labels) - 1
    if n_missing >= SMALLEST and len(present) and counts[present].sum() >= SMALLEST:
        labels.append(MISSING)
        missing_cell += 1
    elif n_missing and len(labels) > 1:
        labels[-1] += ", or missing"
    cell_of[column.missing] = missing_cell
    return _Grouping(labels, cell_of, edges)


def _merged_edges(in_bin: npt.NDArray[np.float64], n_edges: int) -> list[int]:
    """Choose the edges between which, from left to right, each bin has rows enough."""
    in_bin = np.append(in_bin, np.zeros(n_edges + 1 - len(in_bin)))
    kept, rows = [], 0.0
    for edge in range(n_edges):
        rows += in_bin[edge]
        if rows >= SMALLEST and in_bin[edge + 1 :].sum() >= SMALLEST:
            kept.append(edge)
            rows = 0.0
    return kept


class _Scale:
    """Edges on a line, and how the cells between them are called.

    Every edge lies between the lowest and the highest value, and no label is one of these two.
    """

    def __init__(self, edges: Sequence[float]) -> None:
        self.edges = np.array(edges, dtype=np.float64)

    def labels(self, kept: Sequence[int]) -> list[str]:
        """Name the cells between the edges that are kept."""
        if not kept:
            return [ALL]
        between = [self.between(low, high) for low, high in zip(kept[:-1], kept[1:], strict=True)]
        return [self.below(kept[0], kept), *between, self.above(kept[-1], kept)]

    def below(self, edge: int, kept: Sequence[int]) -> str:
        raise NotImplementedError

    def between(self, low: int, high: int) -> str:
        raise NotImplementedError

    def above(self, edge: int, kept: Sequence[int]) -> str:
        raise NotImplementedError


class _Numbers(_Scale):
    """Fractions: an edge is a round number."""

    def __init__(self, texts: Sequence[str]) -> None:
        super().__init__([float(text) for text in texts])
        self.texts = texts

    def below(self, edge: int, kept: Sequence[int]) -> str:
        return f"below {self.texts[edge]}"

    def between(self, low: int, high: int) -> str:
        return f"{self.texts[low]} to {self.texts[high]}"

    def above(self, edge: int, kept: Sequence[int]) -> str:
        return f"{self.texts[edge]} and more"


class _Wholes(_Scale):
    """Whole numbers: an edge is half a step below a round number."""

    def below(self, edge: int, kept: Sequence[int]) -> str:
        return f"below {self._outer(edge, kept, 0.5)}"

    def between(self, low: int, high: int) -> str:
        first, last = _grouped(self.edges[low] + 0.5), _grouped(self.edges[high] - 0.5)
        return first if first == last else f"{first} – {last}"

    def above(self, edge: int, kept: Sequence[int]) -> str:
        return f"above {self._outer(edge, kept, -0.5)}"

    def _outer(self, edge: int, kept: Sequence[int], step: float) -> str:
        # With one edge alone, the whole number beside it could be the lowest or highest value.
        return _grouped(self.edges[edge] + step) if len(kept) > 1 else f"{self.edges[edge]:,.1f}"


class _Months(_Scale):
    """Dates: an edge is the first day of a month, given as months since the year 0."""

    def __init__(self, months: Sequence[int]) -> None:
        super().__init__([_first_day(month) - 0.5 for month in months])
        self.months = months

    def below(self, edge: int, kept: Sequence[int]) -> str:
        return f"before {self._text(self.months[edge])}"

    def between(self, low: int, high: int) -> str:
        first, last = self.months[low], self.months[high]
        unit = 1 if first % 12 or last % 12 else 12
        begin, end = self._text(first, unit), self._text(last - unit, unit)
        return begin if begin == end else f"{begin} – {end}"

    def above(self, edge: int, kept: Sequence[int]) -> str:
        return f"{self._text(self.months[edge])} and later"

    def _text(self, month: int, unit: int = 0) -> str:
        year = f"{month // 12:04}"
        whole_year = month % 12 == 0 if unit == 0 else unit == 12
        return year if whole_year else f"{year}-{month % 12 + 1:02}"


class _Days(_Scale):
    """Dates close together: an edge is half a day before a day."""

    def below(self, edge: int, kept: Sequence[int]) -> str:
        return f"before {_day(self.edges[edge] + 0.5)}"

    def between(self, low: int, high: int) -> str:
        first, last = _day(self.edges[low] + 0.5), _day(self.edges[high] - 0.5)
        return first if first == last else f"{first} – {last}"

    def above(self, edge: int, kept: Sequence[int]) -> str:
        return f"after {_day(self.edges[edge] - 0.5)}"

    def labels(self, kept: Sequence[int]) -> list[str]:
        # With one edge alone, the day beside it could be the first or the last.
        return super().labels(kept if len(kept) > 1 else [])


class _Order(_Scale):
    """Ordered texts: an edge is half a step below a position. The recipe lists them, so ends may be named."""

    def __init__(self, edges: Sequence[float], order: Sequence[str]) -> None:
        super().__init__(edges)
        self.order = order

    def below(self, edge: int, kept: Sequence[int]) -> str:
        last = int(self.edges[edge] - 0.5)
        return self.order[0] if last == 0 else f"up to {self.order[last]}"

    def between(self, low: int, high: int) -> str:
        first, last = int(self.edges[low] + 0.5), int(self.edges[high] - 0.5)
        return self.order[first] if first == last else f"{self.order[first]} – {self.order[last]}"

    def above(self, edge: int, kept: Sequence[int]) -> str:
        first = int(self.edges[edge] + 0.5)
        is_last = first == len(self.order) - 1
        return self.order[first] if is_last else f"{self.order[first]} and above"


def _scale(column: QuasiColumn, numbers: Floats, counts: Ints) -> _Scale:
    """Choose the edges for ascending numbers."""
    if len(numbers) < 2 or not isfinite(numbers[-1] - numbers[0]):
        return _Scale([])
    if isinstance(column, RangeColumn) and column.kind == "ordinal":
        step = ceil(len(column.order) / MOST_CELLS)
        inner = [at - 0.5 for at in range(step, len(column.order), step)]
        return _Order(_strictly_inside(inner, numbers), column.order)
    low, high = _bulk(numbers, counts)
    if column.kind == "date":
        return _date_scale(low, high, numbers)
    step = _round_step((high - low) / (MOST_CELLS - 4))
    if (numbers == np.floor(numbers)).all() and abs(numbers[[0, -1]]).max() < 2**53:
        step = max(1.0, step)
        return _Wholes(_strictly_inside([at - 0.5 for at in _multiples(step, low, high)], numbers))
    texts = dict.fromkeys(_cut_text(at, step) for at in _multiples(step, low, high))
    # Compared as the label reads: 0.30000000000000004 lies above 0.3 but is written alike.
    return _Numbers([text for text in texts if numbers[0] < float(text) < numbers[-1]])


def _strictly_inside(edges: Sequence[float], numbers: Floats) -> list[float]:
    return [edge for edge in edges if numbers[0] < edge < numbers[-1]]


def _bulk(numbers: Floats, counts: Ints) -> tuple[float, float]:
    """Return two numbers with most rows between them, so that a few far out do not set the steps."""
    rows = np.cumsum(counts)
    low, high = np.searchsorted(rows, [0.02 * rows[-1], 0.98 * rows[-1]])
    if numbers[low] < numbers[high]:
        return float(numbers[low]), float(numbers[high])
    return float(numbers[0]), float(numbers[-1])


def _round_step(least: float) -> float:
    """Return the smallest of 1, 2, 5, 10, ... at or above `least`, at whatever power of ten."""
    power = floor(log10(least)) if least > 1e-300 else -300
    return next(
        float(f"{digit}e{power}") for digit in (1, 2, 5, 10, 20) if float(f"{digit}e{power}") >= least
    )


def _multiples(step: float, low: float, high: float) -> list[float]:
    """List the multiples of `step` from above `low` to `high`; none where floats are too coarse for it."""
    first, last = floor(low / step) + 1, floor(high / step)
    return [at * step for at in range(first, last + 1)] if last - first < 2 * MOST_CELLS else []


def _cut_text(number: float, step: float) -> str:
    digits = -floor(log10(step))
    if abs(number) >= 1e12 or digits > 6:
        return f"{number:.6g}"
    return f"{number:.{max(0, digits)}f}"


def _grouped(number: float) -> str:
    """Write a whole number; years and the like stay as they are."""
    return f"{number:,.0f}" if abs(number) >= 10_000 else f"{number:.0f}"


def _date_scale(low: float, high: float, numbers: Floats) -> _Scale:
    """Choose days, weeks, months or years."""
    for days in (1, 7):
        if (high - low) / days <= MOST_CELLS - 2:
            # Day -3 was a Monday.
            first = int(low) + 1 if days == 1 else int(low) + 7 - (int(low) + 3) % 7
            edges = [day - 0.5 for day in range(first, int(high) + 1, days)]
            return _Days(_strictly_inside(edges, numbers))
    begin, end = _month(low), _month(high)
    step = next((s for s in _MONTHS if (end - begin) / s <= MOST_CELLS - 2), _MONTHS[-1])
    months = [month for month in range((begin // step + 1) * step, end + 1, step) if month >= 12]
    return _Months([month for month in months if numbers[0] < _first_day(month) - 0.5 < numbers[-1]])


def _month(day: float) -> int:
    when = date.fromordinal(int(day) + _EPOCH.toordinal())
    return when.year * 12 + when.month - 1


def _first_day(month: int) -> int:
    return (date(month // 12, month % 12 + 1, 1) - _EPOCH).days


def _day(number: float) -> str:
    return str(date.fromordinal(int(number) + _EPOCH.toordinal()))


def _range_mass(
    column: RangeColumn, grouping: _Grouping, texts: Sequence[str | None], rows: Floats
) -> Floats:
    """Spread the rows of each published value over the cells that its range overlaps."""
    ends = np.array([_ends(column, text) for text in texts], dtype=np.float64).reshape(-1, 2)
    is_missing = np.isnan(ends[:, 0])
    lost = np.array([isinstance(parse(text), Lost) for text in texts], dtype=bool)
    # Missing is one value more among those that `*` may stand for.
    to_missing = np.where(is_missing, 1.0, np.where(lost, 1 / (len(column.points) + 1), 0.0)) @ rows
    line_rows = np.where(is_missing, 0.0, np.where(lost, 1 - 1 / (len(column.points) + 1), 1.0)) * rows
    # Whole numbers, days and positions stand for the step around them; edges lie between the steps.
    half = 0.5 if column.kind != "numeric" or _all_whole(column) else 0.0
    low, high = ends[:, 0] - half, ends[:, 1] + half
    below = [_share_below(edge, low, high) @ line_rows for edge in grouping.edges]
    on_line = np.diff(np.array([0.0, *below, line_rows.sum()]))
    mass = np.zeros(len(grouping.labels))
    mass[: len(on_line)] += on_line
    mass[grouping.cell_of[column.missing]] += to_missing
    return mass


def _ends(column: RangeColumn, text: str | None) -> tuple[float, float]:
    """Return the ends of a published range as numbers; two nans for a missing value."""
    value = parse(text)
    if isinstance(value, Range):
        return _number(column, value.low), _number(column, value.high)
    if isinstance(value, Value):
        return (number := _number(column, value.text)), number
    return column.ends if isinstance(value, Lost) else (np.nan, np.nan)


def _number(column: RangeColumn, text: str) -> float:
    if column.kind == "ordinal":
        return float(column.order.index(text))
    if column.kind == "date":
        return float((date.fromisoformat(text) - _EPOCH).days)
    return float(text)


def _all_whole(column: RangeColumn) -> bool:
    numbers = _numbers(column)
    return bool((numbers == np.floor(numbers)).all())


def _share_below(edge: float, low: Floats, high: Floats) -> Floats:
    """Return which share of each range lies below an edge; a range without a width is a point."""
    width = high - low
    with np.errstate(divide="ignore", invalid="ignore"):
        shares = np.clip((edge - low) / width, 0.0, 1.0)
    return np.where(np.isnan(low), 0.0, np.where(width > 0, shares, low < edge))


# --- Values in a tree ---


def _tree_grouping(column: TreeColumn, counts: Ints) -> _Grouping:
    """Show numbers and dates on a line, and categories or the groups above them by name."""
    if column.kind in ("numeric", "date"):
        numbers = np.full(len(counts), np.nan)
        present = np.flatnonzero(counts)
        present = present[present != column.missing]
        leaves = column.tree.leaf_labels
        numbers[present] = _parsed(
            pl.Series([leaves[leaf] for leaf in present], dtype=pl.String), column.kind
        )
        return _line_grouping(column, numbers, counts)
    nodes = _shown_nodes(column, counts)
    groups, group_of = np.unique(nodes, return_inverse=True)
    rows = np.bincount(group_of, counts).astype(np.int64)
    names = [MISSING if node < 0 else column.tree.labels[node] for node in groups]
    shown = _shown_groups(rows, is_flat=column.is_flat, last=int(groups[0] == -1) - 1)
    if not shown:
        return _Grouping([ALL], np.zeros(len(counts), np.int64), np.zeros(0))
    cell_of_group = np.full(len(groups), len(shown))
    cell_of_group[shown] = np.arange(len(shown))
    has_rest = rows.sum() > rows[shown].sum()
    labels = [names[group] for group in shown] + ([OTHER] if has_rest else [])
    return _Grouping(labels, np.minimum(cell_of_group[group_of], len(labels) - 1), np.zeros(0))


def _shown_nodes(column: TreeColumn, counts: Ints) -> Ints:
    """Return the node under whose name each leaf is shown; -1 for missing values.

    All nodes are at one depth, the greatest at which there are not too many and most rows are in
    groups that may be shown.
    """
    tree = column.tree
    depth = np.zeros(tree.n_nodes, np.int64)
    for node in range(1, tree.n_nodes):  # preorder: parents first
        depth[node] = depth[tree.parent[node]] + 1
    nodes = np.append(tree.leaf_nodes, -1).astype(np.int64)
    nodes[column.missing] = -1
    present = (counts > 0) & (nodes >= 0)
    for level in range(int(depth.max()), 0, -1):
        deep = (nodes >= 0) & (depth[nodes] > level)
        nodes[deep] = tree.parent[nodes[deep]]
        rows = np.bincount(nodes[present], counts[present])
        large = rows[rows >= SMALLEST]
        if len(large) < MOST_CELLS and large.sum() >= 0.8 * counts[present].sum():
            break
    return nodes


def _shown_groups(rows: Ints, *, is_flat: bool, last: int) -> list[int]:
    """Choose the groups that get a cell of their own, so that the rest is empty or large enough.

    `last` is 0 when group 0 stands for missing values, which come after the others; else -1.
    """
    by_size = sorted(range(len(rows)), key=lambda group: (-rows[group], group))
    shown = [group for group in by_size if rows[group] >= SMALLEST][: MOST_CELLS - 1]
    while shown and 0 < rows.sum() - rows[shown].sum() < SMALLEST:
        shown.pop()  # the smallest hides the rest: their sum is all that is told
    in_order = shown if is_flat else sorted(shown)
    return [g for g in in_order if g != last] + [g for g in in_order if g == last]


def _leaf_mass(
    column: TreeColumn, texts: Sequence[str | None], rows: Floats, occurs: npt.NDArray[np.bool_]
) -> Floats:
    """Spread the rows of each published value evenly over the leaves that it covers and that occur."""
    n_leaves = column.tree.n_leaves
    before = np.append(0, np.cumsum(occurs[:n_leaves]))  # leaves that occur before each leaf
    steps = np.zeros(n_leaves + 1)
    mass = np.zeros(n_leaves + 1)
    leaf_of = {label: code for code, label in reversed(list(enumerate(column.tree.leaf_labels)))}
    node_of = {} if column.is_flat else _node_of_label(column)
    for text, n in zip(texts, rows.tolist(), strict=True):
        value = parse(text)
        if isinstance(value, Set) and column.is_flat:
            members = [leaf_of[member] for member in value.members]
            mass[members] += n / len(members)
            continue
        first, last = _leaves(column, text, leaf_of, node_of)
        share = n / max(1, before[last + 1] - before[first])
        steps[first] += share
        steps[last + 1] -= share
    return mass + np.cumsum(steps) * occurs[: n_leaves + 1]


def _leaves(
    column: TreeColumn, text: str | None, leaf_of: dict[str, int], node_of: dict[str, int]
) -> tuple[int, int]:
    """Return the first and last leaf that a published value covers."""
    value = parse(text)
    if value is None:
        return column.missing, column.missing
    if isinstance(value, Lost):
        return 0, column.tree.n_leaves - 1
    # A node's label may itself look like a range, as those of interval trees do.
    label = value.text if isinstance(value, Value) else str(text)
    if column.is_flat:
        return leaf_of[label], leaf_of[label]
    node = node_of[label]
    return int(column.tree.first_leaf[node]), int(column.tree.last_leaf[node])


def _node_of_label(column: TreeColumn) -> dict[str, int]:
    labels = column.tree.labels
    return {labels[node]: node for node in range(len(labels) - 1, -1, -1)}
