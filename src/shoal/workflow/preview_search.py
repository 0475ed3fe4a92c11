"""The search behind a preview: some neighbourhoods of a table, each clustered by itself (see `preview`)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from shoal.arrays import IntArray, LongArray
from shoal.cluster.registry import MethodInfo
from shoal.engine.cells.clustering import cell_view, line_of, recipe_of_cells
from shoal.engine.cells.counts import CellCount, Feasible
from shoal.engine.cells.neighbourhoods import Draws, Neighbourhood, Neighbourhoods, evenly
from shoal.engine.clustering import cluster
from shoal.engine.risk_goals import cluster_within_risk
from shoal.errors import InfeasibleError
from shoal.measure.loss import loss
from shoal.measure.readings import tight_costs
from shoal.privacy.goalset import people_by_value
from shoal.recipe import Recipe
from shoal.table.columns import Encoded, RangeColumn
from shoal.table.fixed import fixed_columns

WHOLE = 8_000  # rows of a table that is searched whole
ROWS, ROWS_WITH_GOALS = 10_000, 5_000  # that are searched of a larger table, about
_DRAWS = 40
_FEWEST_DRAWS = 10  # for large k, whose cells are large
_CLASSES = 24  # that a cell has room for
_MOST_ROWS = 2_000  # of a cell; a larger one is thinned, and k with it
_FEWEST_ROWS = 200
_NEAREST_ROWS = 400  # rows drawn for the floor
_LOOKED_UP = 200_000_000  # distances for the floor, above which fewer rows are drawn
_LEAST_NEAREST = 100
_ROUGH_SHARE = 0.25  # of the rows of a cell; few rows meet a goal less often than many like them


@dataclass(frozen=True, repr=False)
class Place:
    """The quasi columns of all rows that can be released, and what is drawn from them."""

    encoded: Encoded  # in the order of the input
    lines: dict[str, Any]
    inside: LongArray  # the rows of the table
    draws: Draws
    around: Neighbourhoods  # of some rows drawn
    unit: float  # what a row can lose, in fixed point
    nearest: LongArray
    distances: dict[int, IntArray]  # of these rows, by how many there are for each


def placed(everything: Encoded, inside: LongArray) -> Place:
    """Draw from the rows that can be released."""
    part = everything if len(inside) == everything.n_rows else everything.take(inside)
    fixed = fixed_columns(part, np.arange(part.n_rows))
    draws = Draws(fixed)
    number = max(_LEAST_NEAREST, min(_NEAREST_ROWS, _LOOKED_UP // part.n_rows))
    return Place(
        encoded=everything,
        lines={column.name: line_of(column) for column in part.columns if isinstance(column, RangeColumn)},
        inside=inside,
        draws=draws,
        around=Neighbourhoods(fixed, draws, _DRAWS),
        unit=float(part.weights.sum() * fixed.unit),
        nearest=draws.rows(min(number, part.n_rows)),
        distances={},
    )


class Search:
    """Searches of some neighbourhoods of a table."""

    def __init__(self, whole: Encoded, place: Place, recipe: Recipe, method: MethodInfo) -> None:
        self.whole, self.place, self.method = whole, place, method
        self.recipe = recipe_of_cells(recipe, len(place.encoded.order), place.encoded.n_rows - whole.n_rows)
        self.feasible = Feasible(whole.sensitive, self.recipe)
        self._parts: dict[int, bool] = {}
        self.is_rough = False

    def estimate(self) -> tuple[float, int]:
        """Return the estimated loss as a share, and how many rows were searched."""
        if self.whole.n_rows <= WHOLE:
            return self._lost(self.place.draws.order, self.recipe.privacy.k), self.whole.n_rows
        room = self._room()
        rows = ROWS_WITH_GOALS if self.recipe.privacy.goal else ROWS
        n_draws = max(_FEWEST_DRAWS, min(_DRAWS, rows // min(_MOST_ROWS, 3 * room // 2)))
        used = np.round((np.arange(n_draws) + 0.5) * _DRAWS / n_draws - 0.5).astype(np.int64)
        cells = self._cells(room, used)
        thinned = [self._thinned(cell.rows) for cell in cells]
        lost = self._all_lost(thinned)
        hits = [int(np.isin(cell.drawn, used).sum()) / (cell.expected * n_draws) for cell in cells]
        total = sum(hit * len(cell.rows) * share for hit, cell, share in zip(hits, cells, lost, strict=True))
        return min(1.0, total / self.whole.n_rows), sum(len(rows) for rows, _ in thinned)

    def _all_lost(self, parts: list[tuple[LongArray, int]]) -> list[float]:
        """Cluster several cells side by side: one cell keeps only one processor busy."""
        from shoal.kernels import n_threads
        from shoal.kernels.threads import thread_pool

        with thread_pool(n_threads()) as pool:
            return list(pool.map(lambda part: self._lost(*part), parts))

    def _room(self) -> int:
        """Return how many rows a cell should have: a power of two, so that other k share the cells."""
        return 1 << (max(_FEWEST_ROWS, _CLASSES * self.recipe.privacy.k) - 1).bit_length()

    def _cells(self, room: int, used: LongArray) -> list[Neighbourhood]:
        """Return the smallest cells around the draws used that can meet the goals.

        A cell is parted only where both sides can, so that the cells of all rows would part the table.
        """
        found: dict[int, Neighbourhood] = {}
        for chain in self.place.around.chains(room):
            if np.isin(chain[-1].drawn, used).any():
                cell = next(cell for cell in chain if not self._can_part(cell))
                found[id(cell)] = cell
        return list(found.values())

    def _can_part(self, cell: Neighbourhood) -> bool:
        if id(cell) not in self._parts:
            fits = [self.feasible(self._count(rows)) for rows in cell.sides]
            self._parts[id(cell)] = bool(fits) and all(fits)
        return self._parts[id(cell)]

    def _count(self, rows: LongArray) -> CellCount:
        columns = [replace(column, codes=column.codes[rows]) for column in self.whole.sensitive]
        if self.whole.person is None:  # every row is another person
            values = tuple(
                np.bincount(one.codes[one.codes >= 0], minlength=one.n_values).astype(np.int64)
                for one in columns
            )
            return CellCount(len(rows), len(rows), values, tuple(int(one.sum()) for one in values))
        person, everyone = self.whole.person[rows], np.ones(len(rows), dtype=bool)
        return CellCount(
            rows=len(rows),
            people=len(np.unique(person)),
            values=tuple(people_by_value(column, person, everyone) for column in columns),
            holders=tuple(len(np.unique(person[column.codes >= 0])) for column in columns),
        )

    def _thinned(self, rows: LongArray) -> tuple[LongArray, int]:
        """Return some of the rows of a large cell, and a k for which they are as dense.

        k rows in a line have k - 1 gaps. Where only every m-th row is left, so do (k - 1) / m + 1 rows.
        """
        k = self.recipe.privacy.k
        if len(rows) <= _MOST_ROWS:
            return rows, k
        share = _MOST_ROWS / len(rows)
        self.is_rough |= bool(self.whole.sensitive) and share < _ROUGH_SHARE
        return evenly(self._sorted(rows), _MOST_ROWS), max(2, 1 + round(share * (k - 1)))

    def _sorted(self, rows: LongArray) -> LongArray:
        """Sort rows so that those that are still equal can be exchanged."""
        others = [column.codes[rows] for column in self.whole.sensitive]
        others += [codes[rows] for codes in (self.whole.person, self.whole.label) if codes is not None]
        return rows[np.lexsort([*others, *(column.codes[rows] for column in self.whole.columns[::-1])])]

    def _lost(self, rows: LongArray, k: int) -> float:
        """Cluster some rows as a cell of their own and return their loss as a share."""
        cell = cell_view(self.whole, self._sorted(rows), self.whole.sensitive, self.place.lines)
        privacy = self.recipe.privacy.model_copy(update={"k": k})
        recipe = self.recipe.model_copy(update={"privacy": privacy})
        run = cluster_within_risk if recipe.privacy.risk_goals else cluster
        try:
            found = run(cell, recipe, self.method)
        except InfeasibleError:
            return 1.0
        return loss(cell, found.labels, tight_costs(cell, found.labels), k).gcp or 0.0
