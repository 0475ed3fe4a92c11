"""The cells of quasi columns: in a published form, of their kind, nodes of their hierarchy, on their grid."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import date
from decimal import Decimal
from fractions import Fraction
from math import ceil
from typing import Any

from shoal.recipe import Column, Recipe
from shoal.verifier.cells.covers import decimal, found_kind
from shoal.verifier.cells.foreign import Foreign, Kind, Lost, read_foreign
from shoal.verifier.cells.form import Check, ends, form_of, number, positions
from shoal.verifier.cells.nodes import UNIT_LABELS, given_paths
from shoal.verifier.reading.apostrophe import plain
from shoal.verifier.reading.load import Loaded
from shoal.verifier.reading.session import Session
from shoal.verifier.verdict import Problem, count, listed

_EPOCH = date(1970, 1, 1).toordinal()
_KINDS = ("numeric", "date", "categorical")
_LINES: dict[str, Kind] = {"numeric": "numeric", "date": "date"}

Cells = Sequence[tuple[tuple[str | None, ...], int]]  # distinct cells, and how many rows have each


@dataclass
class CellFindings:
    """What was found in the cells of all quasi columns."""

    problems: list[Problem] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)

    def refuse(self, name: str, code: str, wrong: Sequence[int], what: str) -> None:
        """Record a problem if there are wrong cells, given the number of rows of each."""
        if wrong:
            values = count(len(wrong), "different value")
            message = f"Column `{name}` has {values} {what}, in {count(sum(wrong), 'row')}."
            self.problems.append(Problem(code, message))


def check_cells(session: Session, loaded: Loaded, recipe: Recipe) -> CellFindings:
    """Check every distinct cell of every quasi column; call `build_classes` first."""
    findings = CellFindings(remarks=_not_compared(recipe))
    for name in recipe.quasi:
        if recipe.columns[name].lacking:
            continue
        bounds = [f"{name}_low", f"{name}_high"]
        if loaded.has_once(name):
            _check_texts(findings, name, recipe, _cells(session, loaded, [name]))
        elif all(map(loaded.has_once, bounds)):
            _check_bounds(findings, name, recipe.columns[name], recipe, _cells(session, loaded, bounds))
    return findings


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


def _check_texts(findings: CellFindings, name: str, recipe: Recipe, cells: Cells) -> None:
    """Check a column whose cells are texts of any form."""
    column = recipe.columns[name]
    texts = [(text, rows) for (text,), rows in cells if text is not None]
    if column.hierarchy is not None and recipe.output.values == "generalize":
        _check_nodes(findings, name, recipe, texts)
        return
    kind = column.kind or _likely_kind([text for text, _ in texts])
    fits = form_of(kind, column.order or ())
    if recipe.output.values == "microaggregate":
        single = _single(fits)
        wrong = [rows for text, rows in texts if not single(text)]
        findings.refuse(name, "verify.form", wrong, "that are not single values of its kind")
        return
    styles, wrong = _read(texts, fits, kind)
    findings.refuse(name, "verify.form", wrong, "in no published form")
    findings.remarks += _style_remarks(name, styles)
    if recipe.output.bounds == "snapped" and column.grid is not None:
        off = [rows for text, rows in texts if fits(text) and not _is_snapped(text, kind, column)]
        findings.refuse(name, "verify.grid", off, f"with ends off its grid of {column.grid:g}")


def _read(texts: Sequence[tuple[str, int]], fits: Check, kind: str) -> tuple[Counter[str], list[int]]:
    """Count the rows in the styles of other tools, and list those of cells in no known style."""
    styles: Counter[str] = Counter()
    wrong = []
    for text, rows in texts:
        if not fits(text):
            found = _foreign(text, kind)
            if found is None:
                wrong.append(rows)
            else:
                styles[found.style] += rows
    return styles, wrong


def _foreign(text: str, kind: str) -> Foreign | None:
    """Read a cell as another tool may have written it; without an order, only lost values are recognised."""
    if kind in _LINES:
        return read_foreign(text, _LINES[kind])
    found = read_foreign(text, "text")
    return found if isinstance(found, Lost) else None


def _style_remarks(name: str, styles: Counter[str]) -> list[str]:
    return [
        f"Column `{name}`: {count(rows, 'cell')} read as the style `{style}` of another tool."
        for style, rows in sorted(styles.items())
    ]


def _likely_kind(texts: Sequence[str]) -> str:
    """Find the kind that a recipe leaves open: the one that the fewest cells contradict."""

    def against(kind: str) -> int:
        fits = form_of(kind)
        return sum(not fits(text) and _foreign(text, kind) is None for text in texts)

    return min(_KINDS, key=against)


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
    """Check numbers, which are aligned at 0, or days, which are aligned at 1970-01-01."""
    if kind == "numeric":
        step = Fraction(repr(grid))
        # A decimal is written as the float nearest to its grid point.
        return all(float(round(Fraction(end) / step) * step) == float(end) for end in found)
    edges = (date.min.toordinal(), date.max.toordinal())  # a wide grid may extend past the calendar
    return all(end in edges or (int(end) - _EPOCH) % ceil(grid) == 0 for end in found)


def _check_bounds(findings: CellFindings, name: str, column: Column, recipe: Recipe, cells: Cells) -> None:
    """Check a range in two columns: both ends or none, in order, of the column's kind, on its grid."""
    present = [(low, high, rows) for (low, high), rows in cells if not low is high is None]
    joined = [
        (f"[{low}, {high}]", rows) for low, high, rows in present if low is not None and high is not None
    ]
    kind = column.kind or _likely_kind([text for text, _ in joined])
    fits = form_of(kind, column.order or ())
    if kind == "ordinal":  # a text may contain the delimiters of a range
        fits = _ordinal_bounds(present, column)
    wrong = [rows for low, high, rows in present if low is None or high is None]
    wrong += [rows for text, rows in joined if not fits(text)]
    findings.refuse(name, "verify.form", wrong, "in no published form")
    if recipe.output.bounds == "snapped" and column.grid is not None:
        off = [rows for text, rows in joined if fits(text) and not _is_snapped(text, kind, column)]
        findings.refuse(name, "verify.grid", off, f"with ends off its grid of {column.grid:g}")


def _ordinal_bounds(present: Sequence[tuple[str | None, str | None, int]], column: Column) -> Check:
    place = {value: at for at, value in enumerate(column.order or ())}
    last = len(place)
    good = {
        f"[{low}, {high}]"
        for low, high, _ in present
        if place.get(str(low), last) <= place.get(str(high), -1)
    }
    return good.__contains__


def _check_nodes(findings: CellFindings, name: str, recipe: Recipe, texts: Sequence[tuple[str, int]]) -> None:
    """Check a column with a hierarchy."""
    check = _node_check(recipe, name)
    if check is None:
        findings.remarks.append(
            f"The hierarchy of column `{name}` was not found: its nodes were not checked."
        )
        return
    styles, wrong = _read(texts, lambda text: text == "*" or check(text), "node")
    findings.refuse(name, "verify.node", wrong, "that are not nodes of its hierarchy")
    findings.remarks += _style_remarks(name, styles)


def _node_check(recipe: Recipe, name: str) -> Check | None:
    """Return the test for the nodes of a hierarchy; None if its file does not exist."""
    column = recipe.columns[name]
    given: Any = column.hierarchy
    kind = column.kind or found_kind((), column, "")  # a tree of texts may have a root called `intervals`
    if isinstance(given, dict) and isinstance(given.get("prefix"), int):
        return lambda text: True  # the leaves may be any texts, and the file does not show which
    if isinstance(given, dict) and isinstance(given.get("intervals"), list) and kind == "numeric":
        return _interval_check([decimal(width) for width in given["intervals"]])
    if isinstance(given, dict) and isinstance(given.get("dates"), list) and kind == "date":
        units = [UNIT_LABELS[unit] for unit in given["dates"] if unit in UNIT_LABELS]
        return lambda text: ends(text, "date") is not None or any(unit.fullmatch(text) for unit in units)
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
