"""The cells of quasi columns: in a published form, of their kind, nodes of their hierarchy, on their grid."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from decimal import Decimal
from fractions import Fraction
from functools import partial
from math import ceil
from typing import Any, Protocol

from shoal.recipe import Column, Recipe
from shoal.verifier.cells.codes import CODE_PATHS, is_code_node
from shoal.verifier.cells.covers import decimal, found_kind
from shoal.verifier.cells.dates import period_of
from shoal.verifier.cells.foreign import Foreign, Kind, Lost, read_foreign
from shoal.verifier.cells.form import PRECISION_OF, Check, ends, form_of, number, positions
from shoal.verifier.cells.nodes import UNIT_LABELS, given_paths
from shoal.verifier.reading.apostrophe import plain
from shoal.verifier.reading.load import Loaded
from shoal.verifier.reading.session import Session
from shoal.verifier.verdict import Problem, count, listed

_EPOCH = date(1970, 1, 1).toordinal()
# The kinds that the cells of a column may have, by that of the recipe: dates are days, months or years.
_KINDS = {None: ("numeric", "date", "month", "categorical"), "date": ("date", "month", "year")}
_LINES: dict[str, Kind] = {"numeric": "numeric", "date": "date", "month": "month", "year": "year"}

Cell = tuple[str | None, ...]  # one text, or the low and the high end of a range
Cells = Iterable[tuple[Cell, int]]  # different cells, and how many rows have each
Outcomes = Callable[[Cell], Sequence[tuple[str, str]]]
# By kind and outcome, how many different cells there are and how many rows have them. The tallies of
# pieces of a column can be summed, wherever each was made.
Tally = Mapping[tuple[str, str], tuple[int, int]]

_AGAINST, _WRONG, _OFF, _STYLE = "against", "wrong", "off", "style "
_NONE = (0, 0)
_NODE = "node"  # in place of the kind of a column with a hierarchy


@dataclass
class CellFindings:
    """What was found in the cells of all quasi columns."""

    problems: list[Problem] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)

    def refuse(self, name: str, code: str, wrong: tuple[int, int], what: str) -> None:
        """Note a problem where there are wrong cells, given by their number and that of their rows."""
        if wrong[0]:
            values = count(wrong[0], "different value")
            message = f"Column `{name}` has {values} {what}, in {count(wrong[1], 'row')}."
            self.problems.append(Problem(code, message))


def check_cells(session: Session, loaded: Loaded, recipe: Recipe) -> CellFindings:
    """Look at every different cell of every quasi column; `build_classes` comes first."""
    columns = looked_at(loaded, recipe)
    cells = {name: _cells(session, loaded, published) for name, published in columns.items()}
    tallies = {name: _tally_all(recipe, name, found) for name, found in cells.items()}
    return report_cells(recipe, columns, tallies)


class Named(Protocol):
    """A file of which the header is known."""

    def has_once(self, name: str) -> bool:
        """Return whether exactly one column has this name."""
        ...


def looked_at(loaded: Named, recipe: Recipe) -> dict[str, list[str]]:
    """Return the quasi columns that are findings at, each with the columns of the file that publish it."""
    columns = {}
    for name in recipe.quasi:
        bounds = [f"{name}_low", f"{name}_high"]
        if recipe.columns[name].lacking:
            continue
        if loaded.has_once(name):
            columns[name] = [name]
        elif all(map(loaded.has_once, bounds)):
            columns[name] = bounds
    return columns


def _tally_all(recipe: Recipe, name: str, cells: Cells) -> Tally:
    """Count what is found in all different cells of a column.

    If nothing is found under the first kind that it may have, it has this kind: the others are not tried.
    """
    return tally_cells(recipe, name, cells, most_kinds=1) and tally_cells(recipe, name, cells)


def tally_cells(recipe: Recipe, name: str, cells: Cells, most_kinds: int | None = None) -> Tally:
    """Count what is found in the different cells of a column, or of a piece of it."""
    found: dict[tuple[str, str], tuple[int, int]] = {}
    outcomes = _outcomes(recipe, name, most_kinds)
    for cell, rows in cells:
        for outcome in outcomes(cell):
            values, total = found.get(outcome, _NONE)
            found[outcome] = (values + 1, total + rows)
    return found


def report_cells(
    recipe: Recipe, columns: Mapping[str, Sequence[str]], tallies: Mapping[str, Tally]
) -> CellFindings:
    """Say what is wrong with each column of `looked_at`, given the tally of all its cells."""
    findings = CellFindings(remarks=_not_compared(recipe))
    for name, published in columns.items():
        if len(published) == 1 and _is_tree(recipe, name):
            _report_nodes(findings, recipe, name, tallies[name])
        else:
            _report_forms(findings, recipe, name, tallies[name], as_bounds=len(published) == 2)
    return findings


def _report_nodes(findings: CellFindings, recipe: Recipe, name: str, tally: Tally) -> None:
    kinds = _node_kinds(recipe, name)
    if _node_check(recipe, name) is None:
        findings.remarks.append(
            f"The hierarchy of column `{name}` was not found: its nodes were not checked."
        )
    what = "that are not nodes of its hierarchy"
    kind = _likely_kind(tally, kinds)
    findings.refuse(name, "verify.node", tally.get((kind, _WRONG), _NONE), what)
    findings.remarks += _style_remarks(name, tally, kind)


def _report_forms(
    findings: CellFindings, recipe: Recipe, name: str, tally: Tally, *, as_bounds: bool
) -> None:
    column = recipe.columns[name]
    kind = _likely_kind(tally, _kinds(column))
    single = recipe.output.values == "microaggregate" and not as_bounds
    what = "that are no single values of its kind" if single else "in no published form"
    findings.refuse(name, "verify.form", tally.get((kind, _WRONG), _NONE), what)
    findings.remarks += _style_remarks(name, tally, kind)
    off = tally.get((kind, _OFF), _NONE)
    findings.refuse(name, "verify.grid", off, f"with ends off its grid of {column.grid or 0:g}")


def _kinds(column: Column) -> tuple[str, ...]:
    """Return the kinds that the cells of a column without a hierarchy may have."""
    return _KINDS.get(column.kind) or (str(column.kind),)


def _node_kinds(recipe: Recipe, name: str) -> tuple[str, ...]:
    """Return what the leaves of a hierarchy may be: those of dates have one of three precisions."""
    column = recipe.columns[name]
    kind = column.kind or found_kind((), column, "")
    return tuple(f"{_NODE} {each}" for each in _KINDS["date"]) if kind == "date" else (_NODE,)


def _likely_kind(tally: Tally, kinds: Sequence[str]) -> str:
    """Find the kind that a recipe leaves open: the one that the fewest different cells contradict.

    Of several, the one in which the fewest cells are in the style of another tool.
    """

    def objections(kind: str) -> tuple[int, int, int]:
        cells = {outcome: n for (of_kind, outcome), (n, _) in tally.items() if of_kind == kind}
        styles = sum(n for outcome, n in cells.items() if outcome.startswith(_STYLE))
        return cells.get(_AGAINST, 0), styles, cells.get(_WRONG, 0)

    return min(kinds, key=objections)


def _not_compared(recipe: Recipe) -> list[str]:
    """Name the columns whose cells cannot be checked because a manifest omits their order or hierarchy."""
    remarks = []
    for what in ("order", "hierarchy"):
        names = [name for name in recipe.quasi if what in recipe.columns[name].lacking]
        if names:
            article = "an order" if what == "order" else "a hierarchy"
            remarks.append(
                f"Values were not compared with {article}, which the recipe leaves out: {listed(names)}."
            )
    return remarks


def _cells(session: Session, loaded: Loaded, names: Sequence[str]) -> Cells:
    columns = ", ".join(map(loaded.column, names))
    found = session.rows(f"SELECT {columns}, sum(n_rows) FROM classes GROUP BY {columns}")
    bare: Callable[[str], str] = plain if loaded.marked else str
    return [(tuple(t if t is None else bare(t) for t in texts), int(rows)) for *texts, rows in found]


def _is_tree(recipe: Recipe, name: str) -> bool:
    return recipe.columns[name].hierarchy is not None and recipe.output.values == "generalize"


def _outcomes(recipe: Recipe, name: str, most_kinds: int | None) -> Outcomes:
    """Return what says all about a cell: under each kind that its column may have, what is wrong with it."""
    column = recipe.columns[name]
    kinds = _kinds(column)[:most_kinds]
    as_bounds = {kind: _of_bounds(recipe, column, kind) for kind in kinds}
    as_text: dict[str, Callable[[str], Iterable[str]]] = {
        kind: _of_texts(recipe, column, kind) for kind in kinds
    }
    if _is_tree(recipe, name):
        as_text = {kind: _of_nodes(recipe, name, kind) for kind in _node_kinds(recipe, name)[:most_kinds]}

    # Lists, not generators: there may be very many cells, and hardly any has an outcome.
    def outcomes(cell: Cell) -> Sequence[tuple[str, str]]:
        if len(cell) == 2:
            return [(kind, outcome) for kind, look in as_bounds.items() for outcome in look(*cell)]
        text = cell[0]
        if text is None:
            return []
        return [(kind, outcome) for kind, look in as_text.items() for outcome in look(text)]

    return outcomes


def _of_texts(recipe: Recipe, column: Column, kind: str) -> Callable[[str], Sequence[str]]:
    """Look at a column whose cells are texts of all forms."""
    fits = form_of(kind, column.order or ())
    has_grid = recipe.output.bounds == "snapped" and column.grid is not None
    single = _single(fits) if recipe.output.values == "microaggregate" else None

    def outcomes(text: str) -> Sequence[str]:
        found = []
        if not fits(text):
            style = _style(text, kind)
            if style == _WRONG:
                found.append(_AGAINST)
            if single is None:
                found.append(style)
        elif single is None and has_grid and not _is_snapped(text, kind, column):
            found.append(_OFF)
        if single is not None and not single(text):
            found.append(_WRONG)
        return found

    return outcomes


def _style(text: str, kind: str) -> str:
    """Name the style of another tool that a cell is in; wrong where it is in none."""
    found = _foreign(text, kind)
    return _WRONG if found is None else _STYLE + found.style


def _foreign(text: str, kind: str) -> Foreign | None:
    """Read a cell as another tool may have written it; without an order, only lost values are recognised."""
    if kind in _LINES:
        return read_foreign(text, _LINES[kind])
    found = read_foreign(text, "text")
    return found if isinstance(found, Lost) else None


def _style_remarks(name: str, tally: Tally, kind: str) -> list[str]:
    styles = {
        outcome.removeprefix(_STYLE): rows
        for (of_kind, outcome), (_, rows) in tally.items()
        if of_kind == kind and outcome.startswith(_STYLE)
    }
    return [
        f"Column `{name}`: {count(rows, 'cell')} read as the style `{style}` of another tool."
        for style, rows in sorted(styles.items())
    ]


def _single(fits: Check) -> Check:
    """Require a single value: typical values are published instead of ranges and sets."""

    def check(text: str) -> bool:
        is_range = text.startswith("[") and text.endswith("]")
        is_set = text.startswith("{") and text.endswith("}")
        return fits(text) and text != "*" and not is_range and not is_set

    return check


def _is_snapped(text: str, kind: str, column: Column) -> bool:
    """Return whether both ends are grid points; a single value would be a person's own."""
    if text == "*":
        return True
    if kind == "ordinal":
        places = positions(text, column.order or ())
        return places is not None and text.startswith("[") and _are_steps(places, column)
    found = ends(text, kind)
    return found is not None and text.startswith("[") and _are_points(found, kind, column.grid or 1)


def _are_steps(places: tuple[int, int], column: Column) -> bool:
    """Check positions in an order: whole steps from its first value, or its last value."""
    step, last = ceil(column.grid or 1), len(column.order or ()) - 1
    return places[0] % step == 0 and (places[1] % step == 0 or places[1] == last)


def _are_points(found: tuple[Decimal | int, Decimal | int], kind: str, grid: float) -> bool:
    """Check numbers, months and years, which are aligned at 0, or days, which are aligned at 1970-01-01."""
    if kind == "numeric":
        step = Fraction(repr(grid))
        # A decimal is written as the float nearest to its grid point.
        return all(float(round(Fraction(end) / step) * step) == float(end) for end in found)
    # A wide grid may extend past the calendar.
    edges = [period_of(end, PRECISION_OF[kind]) for end in (date.min, date.max)]
    origin = _EPOCH if kind == "date" else 0
    return all(end in edges or (int(end) - origin) % ceil(grid) == 0 for end in found)


def _of_bounds(
    recipe: Recipe, column: Column, kind: str
) -> Callable[[str | None, str | None], Iterator[str]]:
    """Look at a range in two columns: both ends or none, in order, of the column's kind, on its grid."""
    form = form_of(kind, column.order or ())
    place = {value: at for at, value in enumerate(column.order or ())}
    has_grid = recipe.output.bounds == "snapped" and column.grid is not None

    def fits(low: str, high: str) -> bool:
        if kind != "ordinal":
            return form(f"[{low}, {high}]")
        # A text may have the signs of a range in it.
        return place.get(low, len(place)) <= place.get(high, -1)

    def outcomes(low: str | None, high: str | None) -> Iterator[str]:
        if low is None or high is None:
            if low is not high:
                yield _WRONG
        elif not fits(low, high):
            if _style(f"[{low}, {high}]", kind) == _WRONG:
                yield _AGAINST
            yield _WRONG
        elif has_grid and not _is_snapped(f"[{low}, {high}]", kind, column):
            yield _OFF

    return outcomes


def _of_nodes(recipe: Recipe, name: str, kind: str) -> Callable[[str], Iterator[str]]:
    """Look at a column with a hierarchy."""
    check = _node_check(recipe, name, kind.removeprefix(f"{_NODE} "))

    def outcomes(text: str) -> Iterator[str]:
        if check is not None and text != "*" and not check(text):
            style = _style(text, _NODE)
            if style == _WRONG:
                yield _AGAINST
            yield style

    return outcomes


def _node_check(recipe: Recipe, name: str, leaves: str = "date") -> Check | None:
    """Return the test for the nodes of a hierarchy; None if its file does not exist.

    `leaves` is the kind of the leaves of a tree that is built from dates.
    """
    column = recipe.columns[name]
    given: Any = column.tree
    kind = column.kind or found_kind((), column, "")  # a tree of texts may have a root called `intervals`
    if isinstance(given, dict) and isinstance(given.get("prefix"), int):
        return lambda text: True  # the leaves may be any texts, and the file does not show which
    if isinstance(given, dict) and isinstance(given.get("intervals"), list) and kind == "numeric":
        return _interval_check([decimal(width) for width in given["intervals"]])
    if isinstance(given, dict) and isinstance(given.get("dates"), list) and kind == "date":
        units = [UNIT_LABELS[unit] for unit in given["dates"] if unit in UNIT_LABELS]
        return lambda text: ends(text, leaves) is not None or any(unit.fullmatch(text) for unit in units)
    if isinstance(given, str) and given in CODE_PATHS:
        return partial(is_code_node, given)
    if isinstance(given, str) and not recipe.resolve(given).exists():
        return None
    labels = {label for _, path in given_paths(recipe, name, str) for label in path}
    numbers = {found for label in labels if (found := number(label)) is not None}

    def check(text: str) -> bool:
        bare = text.removeprefix("\\")
        return bare in labels or text in labels or (number(text) in numbers and bool(numbers))

    return check


def _interval_check(widths: Sequence[int | Fraction]) -> Check:
    """Require a number, or an interval of one of the widths that begins at a multiple of it.

    On whole numbers the next interval begins after the end, otherwise at it.
    """

    def check(text: str) -> bool:
        found = ends(text, "numeric")
        if found is None or not text.startswith("["):
            return found is not None
        low, high = map(Fraction, found)
        return any(low % width == 0 and high - low in (width, width - 1) for width in widths)

    return check
