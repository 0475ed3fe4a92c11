"""What a release would lose, within a second: a quick search on a small part of the table, for a page.

Nothing is written, and nothing leaves the table but numbers.

How it is estimated. Some rows are drawn from the table, and each brings its neighbourhood: a cell of the
table with all its rows, so that they lie as densely as in the table (`engine.cells.neighbourhoods`). Each
cell is clustered by itself with the recipe's k and goals, by a quick search. The losses of the cells, each
divided by how many draws were to be expected there, add up to an estimate for the whole table. Goals that
compare a class with the release are compared with the counts of the whole table.

How good it is. The borders of cells cost a little, and a quick search loses about 4 % more than one at
normal effort, so most estimates are somewhat too high. `docs/web.md` has figures, `benchmarks.web` makes
them. If goals can be met in large cells only, these are thinned, and the estimate is rough. A table of up to
`preview_search.WHOLE` rows is searched whole.

The floor is the mean distance of some rows to their (k - 1)-th nearest row of the whole table: no release
loses less, whatever the method and the goals, except that the mean of the rows drawn is an estimate of the
mean of all rows. It is one term of the bound that a release reports (`bound.lower_bound`), and lower.
"""

from __future__ import annotations

import json
from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import dataclass, replace
from math import ceil
from threading import Lock
from typing import Any, TypeVar

import numpy as np
import polars as pl

from shoal.arrays import IntArray
from shoal.bound.nearest_rows import nearest_distances
from shoal.cluster.clusterer import check_feasible
from shoal.cluster.registry import METHODS, MethodInfo, choose
from shoal.dangers import Danger, Values, unique_raw
from shoal.engine.clustering import rows_with_values
from shoal.errors import Fault, ShoalError
from shoal.privacy.feasible import Counted, faults_of_counts
from shoal.privacy.goalset import people_by_value
from shoal.recipe import Recipe, Shape
from shoal.recipe.goals import AverageRisk, Goal
from shoal.report.numbers import rounded
from shoal.table.columns import Encoded, QuasiColumn
from shoal.table.encode import encoded_column, encoded_columns, label_codes
from shoal.table.frames import series
from shoal.table.induced import with_induced
from shoal.table.orders import with_orders
from shoal.table.sensitive import person_codes, sensitive_columns
from shoal.workflow.prepare import supposed_rules
from shoal.workflow.preview_search import Place, Search, placed

_FEWEST_DISTANCES = 512  # of a row, in order: one scan of the table for most k
_KEPT = 6  # encodings
_RULE_ROWS = 20_000  # rows in which rules between columns are counted
_ROUGH = "The goals need classes from all over the table. This estimate is rough, and may be far too high."
_T = TypeVar("_T")


@dataclass(frozen=True)
class PreviewResult:
    """What a release would lose.

    Parameters
    ----------
    k : int
        The smallest class size that was asked for.
    gcp : float or None
        The estimated loss, as a share of all that can be lost; None if nothing can be released.
    floor : float or None
        What no release loses less than, estimated, as the same share.
    problems : tuple of Fault
        Why the settings cannot be met, or the table not be encoded. They name columns and numbers.
    rows, sample_rows : int
        Of the table, and those that were searched.
    method : str
        The method that was tried.
    notes : tuple of str
        What the estimate does not consider.
    """

    k: int
    gcp: float | None
    floor: float | None
    problems: tuple[Fault, ...]
    rows: int
    sample_rows: int
    method: str
    notes: tuple[str, ...] = ()

    @property
    def feasible(self) -> bool:
        """Whether no reason is known why nothing can be released."""
        return not self.problems

    @property
    def is_whole(self) -> bool:
        """Whether all rows were searched."""
        return self.sample_rows == self.rows

    def to_dict(self) -> dict[str, Any]:
        """Return the result as in JSON; losses with three digits, as all would be a digest of the table."""
        return {
            "k": self.k,
            "gcp": None if self.gcp is None else rounded(self.gcp),
            "floor": None if self.floor is None else rounded(self.floor),
            "feasible": self.feasible,
            "problems": [{"code": p.code, "message": p.message, "hint": p.hint} for p in self.problems],
            "rows": self.rows,
            "sample_rows": self.sample_rows,
            "method": self.method,
            "notes": list(self.notes),
        }


class Preview:
    """Previews of one table. What is encoded once is used again while k and the goals change.

    Parameters
    ----------
    table : polars.DataFrame
        As `table_of` returns it, with every column that a recipe will use. Its order does not matter.

    Examples
    --------
    >>> import shoal
    >>> from shoal.datasets import hospital
    >>> preview = Preview(hospital(2000))
    >>> recipe = shoal.inspect(hospital(2000)).to_recipe()
    >>> found = preview.preview(recipe)
    >>> found.feasible, found.floor < found.gcp < 1, found.sample_rows
    (True, True, 2000)
    """

    def __init__(self, table: pl.DataFrame) -> None:
        self.table = table
        self._values = Values(table)
        self._lock = Lock()
        self._columns: dict[Hashable, QuasiColumn] = {}
        self._counted: dict[Hashable, Counted] = {}
        self._recipes: OrderedDict[Hashable, Recipe] = OrderedDict()
        self._places: OrderedDict[Hashable, Place] = OrderedDict()
        self._people: dict[str, IntArray | None] = {}

    def preview(self, recipe: Recipe) -> PreviewResult:
        """Estimate what a recipe would lose on this table, and say what makes it infeasible."""
        with self._lock:
            try:
                return self._preview(recipe)
            except ShoalError as error:
                return self._result(recipe, problems=error.faults)

    def dangers(self, recipe: Recipe) -> list[Danger]:
        """Return what a release would reveal although every promise holds, as far as it is known now.

        Unique values are counted in the whole table, rules between columns in a part of a large one.
        """
        with self._lock:
            found = self._completed(recipe)
            lost = recipe.privacy.may_suppress(self.table.height)
            unique = unique_raw(self._values, found, lost=lost)
            step = ceil(self.table.height / _RULE_ROWS)
            if step == 1:
                return [*unique, *supposed_rules(self._values, found)]
            part = Values(self.table.gather_every(step))
            return [*unique, *(_in_part(danger, part) for danger in supposed_rules(part, found))]

    def _preview(self, recipe: Recipe) -> PreviewResult:
        check_feasible(self.table.height, recipe.privacy.k)
        found = self._completed(recipe)
        place = self._place(found)
        person = self._person(found)
        counted = [self._count(found, goal, person) for goal in found.privacy.column_goals]
        people = self.table.height if person is None else int(person.max(initial=-1)) + 1
        faults = faults_of_counts(
            counted,
            found.privacy.column_goals,
            found.privacy.k,
            people,
            found.privacy.may_suppress(self.table.height),
            shared=person is not None,
        )
        floor = self._floor(place, found)
        if faults:
            return self._result(recipe, problems=tuple(faults), floor=floor)
        method, asked, notes = _tried(found)
        whole = self._encoded(place, found, counted, person)
        search = Search(whole, place, asked, method)
        gcp, rows = search.estimate()
        notes += (_ROUGH,) if search.is_rough else ()
        n_missing = self.table.height - whole.n_rows  # rows that are left out lose everything
        share = n_missing / self.table.height
        return self._result(
            recipe, gcp=share + (1 - share) * gcp, floor=floor, rows=rows + n_missing, method=method.name,
            notes=notes,
        )  # fmt: skip

    def _result(
        self,
        recipe: Recipe,
        *,
        gcp: float | None = None,
        floor: float | None = None,
        problems: tuple[Fault, ...] = (),
        rows: int = 0,
        method: str = "",
        notes: tuple[str, ...] = (),
    ) -> PreviewResult:
        return PreviewResult(
            recipe.privacy.k, gcp, floor, tuple(problems), self.table.height, rows, method, notes
        )

    def _completed(self, recipe: Recipe) -> Recipe:
        """Return the recipe with the orders and induced trees of the table; these depend on columns alone."""
        key = _key({name: column.model_dump() for name, column in recipe.columns.items()})
        known = _kept(self._recipes, key, lambda: with_induced(with_orders(recipe, self.table), self.table))
        completed = recipe.model_copy(update={"columns": known.columns})
        completed._base = recipe.resolve("")
        return completed

    def _place(self, recipe: Recipe) -> Place:
        """Return the encoded quasi columns, and what is drawn from them."""
        columns = encoded_columns(self.table, recipe, self._column)
        everything = Encoded(tuple(columns), np.arange(self.table.height))
        allowed = recipe.privacy.may_suppress(self.table.height)
        inside = np.flatnonzero(rows_with_values(everything, recipe, allowed))
        check_feasible(len(inside), recipe.privacy.k)
        key = (*(_column_key(recipe, name) for name in recipe.quasi), len(inside))
        return _kept(self._places, key, lambda: placed(everything, inside))

    def _column(self, name: str, values: pl.Series, recipe: Recipe) -> QuasiColumn:
        key = _column_key(recipe, name)
        if key not in self._columns:
            self._columns[key] = encoded_column(name, values, recipe)
        return self._columns[key]

    def _person(self, recipe: Recipe) -> IntArray | None:
        if recipe.subject is None:
            return None
        if recipe.subject not in self._people:
            self._people[recipe.subject] = person_codes(self.table, recipe)
        return self._people[recipe.subject]

    def _count(self, recipe: Recipe, goal: Goal, person: IntArray | None) -> Counted:
        """Number the values that a goal counts, and count the people who have each."""
        form = getattr(goal, "distance", "equal")
        key = (goal.columns, form, *(_column_key(recipe, name) for name in goal.columns), recipe.subject)
        if key not in self._counted:
            alone = recipe.privacy.model_copy(update={"goal": [goal]})
            (column,) = sensitive_columns(self.table, recipe.model_copy(update={"privacy": alone}))
            of_row = np.arange(self.table.height, dtype=np.int32) if person is None else person
            has_value = column.codes >= 0
            people = people_by_value(column, of_row, has_value)
            self._counted[key] = Counted(column, people, len(np.unique(of_row[has_value])))
        return self._counted[key]

    def _encoded(
        self, place: Place, recipe: Recipe, counted: list[Counted], person: IntArray | None
    ) -> Encoded:
        """Return the rows that can be released with all that a clusterer needs, in the order of the input."""
        sensitive = tuple(replace(one.column, whole=one.people) for one in counted)
        label, missing = None, -1
        if recipe.label is not None and recipe.method.name not in ("auto", "local-search"):
            label, missing = label_codes(series(self.table, recipe.label))
        rows = Encoded(place.encoded.columns, place.encoded.order, label, missing, sensitive, person)
        return rows if len(place.inside) == self.table.height else rows.take(place.inside)

    def _floor(self, place: Place, recipe: Recipe) -> float:
        """Return the estimated mean distance to the (k - 1)-th nearest row, as a share of all."""
        n, k = len(place.inside), recipe.privacy.k
        most = min(n, max(_FEWEST_DISTANCES, 1 << (k - 1).bit_length()))
        if most not in place.distances:
            part = place.encoded if n == self.table.height else place.encoded.take(place.inside)
            place.distances[most] = nearest_distances(part, place.nearest, most)
        distance = place.distances[most][:, k - 1] / place.unit
        share = float(np.mean(distance / (place.draws.chance[place.nearest] * n)))
        left_out = (self.table.height - n) / self.table.height
        # Rows that may be left out lose all, and are those that would lose most.
        return left_out + (1 - left_out) * max(0.0, share)


def _in_part(danger: Danger, part: Values) -> Danger:
    message = f"In {part.table.height:,} rows of the table: {danger.message[0].lower()}{danger.message[1:]}"
    return replace(danger, message=message)


def _tried(recipe: Recipe) -> tuple[MethodInfo, Recipe, tuple[str, ...]]:
    """Return the method to try, the recipe for it, and what it does not consider."""
    notes = []
    method, _ = choose(recipe.method.name, 0)
    if recipe.shape is not Shape.CLASSES or method.options.not_in_cells:
        notes.append(f"Tried with local search: a preview of {_what(recipe)} is not possible.")
        method = METHODS["local-search"]
    goals = [goal for goal in recipe.privacy.goal if isinstance(goal, (Goal, AverageRisk))]
    if len(goals) < len(recipe.privacy.goal):
        notes.append("The goal k-map is not considered.")
    options = dict(recipe.method.options) if method.name == recipe.method.name else {}
    if method.name == "local-search":
        options = {key: value for key, value in options.items() if key != "seconds"} | {"effort": "quick"}
    asked = recipe.method.model_copy(update={"name": method.name, "options": options})
    privacy = recipe.privacy.model_copy(update={"goal": goals})
    return method, recipe.model_copy(update={"method": asked, "privacy": privacy}), tuple(notes)


def _what(recipe: Recipe) -> str:
    return "several views" if recipe.shape is Shape.VIEWS else f"the method {recipe.method.name}"


def _kept(known: OrderedDict[Hashable, _T], key: Hashable, make: Callable[[], _T]) -> _T:
    """Return what is known under a key, or make it; the oldest is dropped."""
    if key not in known:
        known[key] = make()
        while len(known) > _KEPT:
            known.popitem(last=False)
    known.move_to_end(key)
    return known[key]


def _key(what: Any) -> str:
    return json.dumps(what, default=str, sort_keys=True)


def _column_key(recipe: Recipe, name: str) -> Hashable:
    """Return all that the encoding of a column depends on, besides its cells."""
    column = recipe.columns[name]
    described = column.model_dump(include={"kind", "weight", "order", "hierarchy", "grid"})
    file = recipe.files.get(f"the hierarchy of column `{name}`")
    try:
        changed = None if file is None else (file.stat().st_mtime_ns, file.stat().st_size)
    except OSError:  # reading it will say what is wrong
        changed = None
    return name, _key(described), changed
