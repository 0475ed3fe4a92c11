"""The loss of a release, computed from the file and, where raw ranges and trees are needed, the original."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction

from shoal.recipe import Recipe
from shoal.verifier.cells.covers import Span, decimal, found_kind, leaf_key, reading
from shoal.verifier.cells.form import ends
from shoal.verifier.cells.places import chains_of, heights
from shoal.verifier.goals.classes import Source
from shoal.verifier.originals.pairing import published_as
from shoal.verifier.reading.apostrophe import plain
from shoal.verifier.reading.load import Loaded

Cell = tuple[str | None, ...]
Cost = Callable[[Cell], float | None]  # None for a cell that is not in a published form


def class_losses(source: Source, quasi: Sequence[str], suppressed: int) -> dict[str, float | None]:
    """Compute the losses that depend on class sizes and labels: DM, C_avg and CM.

    A suppressed row adds n to DM, and counts as a row outside the majority in CM.
    """
    k = source.recipe.privacy.k
    rows, squares, classes = source.session.row(
        "SELECT sum(n_rows), sum(n_rows * n_rows), count(*) FROM classes"
    )
    n = int(rows) + suppressed
    losses: dict[str, float | None] = {"dm": int(squares) + n * suppressed, "c_avg": n / int(classes) / k}
    label = source.recipe.label
    if label in source.recipe.named("sensitive", "keep") and source.loaded.has_once(label):
        columns = ", ".join(map(source.loaded.column, quasi))
        value = source.loaded.column(label)
        each = f"SELECT {columns}, {value}, count(*) AS n FROM {source.loaded.table} GROUP BY ALL"
        (most,) = source.session.row(
            f"SELECT sum(n) FROM (SELECT max(n) AS n FROM ({each}) GROUP BY {columns})"
        )
        losses["cm"] = 1 - int(most) / n
    return losses


def box_losses(source: Source, original: Loaded, suppressed: int) -> dict[str, float | None]:
    """Compute the loss of the published cells: Total IL, GCP, and the distortion ratio of trees.

    Nothing is returned when a cell cannot be read, which is reported as a separate problem.
    """
    recipe = source.recipe
    il, heights_lost, with_levels, all_trees = 0.0, 0.0, 0, True
    for name in recipe.quasi:
        columns = published_as(source.loaded, name)
        if not columns or not original.has_once(name):
            return {}
        cost, levels = _cost(source, original, name)
        lost = _lost(source, columns, cost)
        if lost is None:
            return {}
        il += recipe.columns[name].weight * (lost + suppressed)
        all_trees = all_trees and levels is not None
        with_levels += bool(levels)
        heights_lost += lost + (suppressed if levels else 0)
    n = source.loaded.rows + suppressed
    weights = sum(recipe.columns[name].weight for name in recipe.quasi)
    ratio = heights_lost / (n * with_levels) if with_levels else 0.0
    return {"il": il, "gcp": il / (n * weights), "distortion_ratio": ratio if all_trees else None}


def _lost(source: Source, columns: Sequence[str], cost: Cost) -> float | None:
    """Sum the losses of the rows in one column."""
    names = ", ".join(map(source.loaded.column, columns))
    found = source.session.rows(f"SELECT {names}, sum(n_rows) FROM classes GROUP BY {names}")
    bare: Callable[[str], str] = plain if source.loaded.marked else str
    total = 0.0
    for *texts, rows in found:
        each = cost(tuple(text if text is None else bare(text) for text in texts))
        if each is None:
            return None
        total += each * int(rows)
    return total


def _cost(source: Source, original: Loaded, name: str) -> tuple[Cost, int | None]:
    """Return the cost of a column's cells, and the height of its tree; None for a column without one."""
    column = source.recipe.columns[name]
    raw = original.column(name)
    cells = {cell for (cell,) in source.session.rows(f"SELECT DISTINCT {raw} FROM {original.table}")}
    read = reading(source.recipe, name, cells, original.stored(name))
    texts = {cell for cell in cells if cell is not None and read.key(cell) is not None}
    kind = column.kind or found_kind(texts, column, original.stored(name))
    if column.hierarchy is not None:
        missing = len(texts) < len(cells)
        return _of_tree(source.recipe, name, kind, texts, original.stored(name), has_missing=missing)
    if kind == "categorical":
        levels = int(len({read.key(cell) for cell in cells}) > 1)
        return _flat_cost(read.cover), levels
    keys = [read.key(text) for text in texts]
    low, high = (min(keys), max(keys)) if keys else (0, 0)
    return _line_cost(read.cover, low, high), None


def _flat_cost(cover: Callable[[Cell], object]) -> Cost:
    """Return the cost under a single root, where any two values are at the maximum distance."""

    def cost(cell: Cell) -> float | None:
        covered = cover(cell)
        if covered is None:
            return 1.0
        return float(isinstance(covered, frozenset | set) and len(covered) > 1)

    return cost


def _line_cost(cover: Callable[[Cell], object], low: float, high: float) -> Cost:
    """Return the width of a range as a share of the original's, at most 1."""

    def cost(cell: Cell) -> float | None:
        covered = cover(cell)
        if covered is None:
            return 1.0
        if not isinstance(covered, Span):
            return 0.0 if cell == (None,) else None
        return min(1.0, (covered.high - covered.low) / (high - low)) if high > low else 0.0

    return cost


def _of_tree(
    recipe: Recipe, name: str, kind: str, texts: set[str], stored: str, *, has_missing: bool
) -> tuple[Cost, int]:
    """Return the height of a node as a share of its tree's."""
    chains = chains_of(recipe, name, kind, texts, stored)[1]
    of_node = heights(chains.values())
    total = max(of_node.values(), default=0) or int(has_missing)
    key = leaf_key(kind, texts, stored)
    widths = recipe.columns[name].tree
    steps = widths.get("intervals", []) if isinstance(widths, dict) and kind == "numeric" else []

    def cost(cell: Cell) -> float | None:
        (text,) = cell
        if text is None:
            return 0.0
        if text == "*":
            return 1.0 if total else 0.0
        bare = text.removeprefix("\\")
        node = _interval(text, steps) if steps else bare
        if node in of_node:
            return of_node[node] / total if total else 0.0
        return 0.0 if key(bare) in chains else None

    return cost, total


def _interval(text: str, widths: Sequence[float]) -> object:
    """Return the node of an interval: which multiple of its width it begins at, and that width."""
    found = ends(text, "numeric")
    if found is None or not text.startswith("["):
        return text
    low, high = map(Fraction, found)
    for width in map(decimal, widths):
        if high - low in (width, width - 1) and low % width == 0:
            return (low // width, width)
    return text
