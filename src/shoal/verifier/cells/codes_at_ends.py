"""Top and bottom codes: no value of a file lies beyond them, and originals are compared as coded.

A code stands for itself and everything beyond it, so raw values beyond it are read as the code.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from decimal import Decimal
from typing import Any

from shoal.recipe import Column, Recipe, code_kind
from shoal.verifier.cells.covers import OTHER, Key, reading
from shoal.verifier.cells.dates import PRECISIONS, Precision, raw_number
from shoal.verifier.cells.form import ends, number, positions
from shoal.verifier.reading.load import Loaded
from shoal.verifier.reading.session import Session
from shoal.verifier.reading.value import trimmed
from shoal.verifier.verdict import Problem, count

_KIND_OF: dict[Precision, str] = {"day": "date", "month": "month", "year": "year"}
Ends = tuple[Any, Any] | None  # None for what has no ends: missing, lost, or in no known form


def code_problems(session: Session, loaded: Loaded, recipe: Recipe) -> list[Problem]:
    """Find columns with values beyond their codes. Means of typical values are rounded, so not checked."""
    problems = []
    for name in recipe.coded:
        column = recipe.columns[name]
        is_quasi = column.role == "quasi"
        shown = [name] if loaded.has_once(name) else [f"{name}_low", f"{name}_high"]
        if not all(map(loaded.has_once, shown)) or "order" in column.lacking:
            continue
        if is_quasi and recipe.output.values == "microaggregate":
            continue
        limits, read = _limits(column), _reader(column, is_quasi=is_quasi)
        rows = sum(
            times for text, times in _cells(session, loaded, shown, recipe) if _is_beyond(read(text), limits)
        )
        if rows:
            message = f"Column `{name}` has values beyond its top or bottom code, in {count(rows, 'row')}."
            problems.append(Problem("verify.code", message))
    return problems


def _cells(
    session: Session, loaded: Loaded, names: Sequence[str], recipe: Recipe
) -> Iterator[tuple[str, int]]:
    """Yield the different cells that are not missing, and how many rows have each."""
    for name in names:
        cell = loaded.column(name)
        query = f"SELECT {cell}, count(*) FROM {loaded.table} WHERE {cell} IS NOT NULL GROUP BY ALL"
        for text, times in session.rows(query):
            bare = trimmed(text, marked=loaded.marked)
            if bare and bare not in recipe.input.missing:
                yield bare, int(times)


def _is_beyond(found: Ends, limits: tuple[Any, Any]) -> bool:
    low, high = limits
    return found is not None and (
        (low is not None and found[0] < low) or (high is not None and found[1] > high)
    )


def _precision(column: Column) -> Precision:
    """Return the precision of the dates of a column, which is that of its codes."""
    code = str(column.top if column.top is not None else column.bottom)
    return PRECISIONS[2 - code.count("-")]


def _place(column: Column, text: str) -> Any:
    """Return where a value is on the line of its column; None if it is nowhere."""
    kind = code_kind(column)
    if kind == "numeric":
        return number(text)
    if kind == "ordinal":
        order = list(column.order or ())
        return order.index(text) if text in order else None
    return raw_number(text, _precision(column))


def _limits(column: Column) -> tuple[Any, Any]:
    low, high = (
        None if code is None else _place(column, _text(code)) for code in (column.bottom, column.top)
    )
    return low, high


def _text(code: float | str) -> str:
    return code if isinstance(code, str) else str(Decimal(repr(code)))


def _reader(column: Column, *, is_quasi: bool) -> Callable[[str], Ends]:
    """Return a function that reads the ends of a published cell."""
    kind = code_kind(column)

    def value(text: str) -> Ends:
        place = _place(column, text)
        return None if place is None else (place, place)

    def label(text: str) -> Ends:
        if kind == "ordinal":
            return positions(text, column.order or ())
        return ends(text, kind if kind == "numeric" else _KIND_OF[_precision(column)])

    return label if is_quasi else value


def code_original(session: Session, original: Loaded, recipe: Recipe) -> None:
    """Replace the raw values beyond the codes of each column by the codes."""
    for name in filter(original.has_once, recipe.coded):
        column = recipe.columns[name]
        if "order" in column.lacking:
            continue
        cell = original.column(name)
        texts = [text for (text,) in session.rows(f"SELECT DISTINCT {cell} FROM {original.table}")]
        known = recipe.model_copy(
            update={"columns": {name: column.model_copy(update={"kind": code_kind(column)})}}
        )
        key = reading(known, name, texts, original.stored(name)).key
        codes = {text: code for text in texts if (code := _code_of(key, text, column)) is not None}
        session.database.execute("CREATE OR REPLACE TEMP TABLE coded (cell VARCHAR, code VARCHAR)")
        if codes:
            session.database.executemany("INSERT INTO coded VALUES (?, ?)", list(codes.items()))
        session.rows(f"UPDATE {original.table} SET {cell} = coded.code FROM coded WHERE {cell} = coded.cell")
        session.rows("DROP TABLE coded")


def _code_of(key: Callable[[str | None], Key], text: str | None, column: Column) -> str | None:
    """Return the code that replaces a raw cell; None if the cell stays."""
    place = key(text)
    if place is None or place is OTHER:
        return None
    if column.top is not None and place > key(_text(column.top)):
        return _text(column.top)
    return _text(column.bottom) if column.bottom is not None and place < key(_text(column.bottom)) else None
