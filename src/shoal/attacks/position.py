"""Link rows to people by what should not be in a file: its order, and columns that nobody promised."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from shoal.attacks.result import Finding, Result, counted, mean_result, percent
from shoal.attacks.tables import Flags, Ints, Tables, Values, together

_ROWS = 20_000  # rows that are compared with people
_SEARCHED = 2_000  # the same if the person is searched for, because rows were left out
_CLEAR = 0.2  # how much more often than by chance rows must agree
_UNIQUE = 0.9  # share of different values that makes a column a key


# Columns that were not promised.


def by_extra_columns(tables: Tables) -> list[Result]:
    """Link by columns that the recipe does not release: identifiers, row numbers, keys in input order."""
    return [
        _known(tables, name, column) if len(column.raw) else _numbered(tables, name, column)
        for name, column in tables.extra.items()
    ]


def _known(tables: Tables, name: str, column: Values) -> Result:
    """Link by a column that the original has too."""
    in_raw = np.bincount(column.raw, minlength=column.size)
    in_file = np.bincount(column.released, minlength=column.size)
    is_value = np.arange(column.size) != column.missing
    there = is_value & (in_raw > 0) & (in_file > 0)
    # People who share a value share its rows.
    success = float(np.minimum(1, in_raw[there] / in_file[there]).sum()) / tables.n_people
    below = int(in_raw[there & (in_file < tables.k)].sum())
    message = (
        f"The file has the column `{name}`, which the recipe does not release: by it alone, "
        f"{counted(below, 'people')} can be linked to fewer than k = {tables.k} rows."
    )
    return mean_result(
        "extra-columns", "singling out", success, tables.n_people, guess=1 / tables.n_people,
        baseline=int((is_value & (in_raw > 0)).sum()) / tables.n_people, ceiling=1 / tables.k,
        finding="broken" if below else "exposed", message=message, columns=(name,),
        details={"below_k": below},
    )  # fmt: skip


def _numbered(tables: Tables, name: str, column: Values) -> Result:
    """Link by a column that only the file has: a row number, or a key that grows with the input."""
    numbers = np.array([_number(text) for text in column.texts])[column.released]
    is_key = not np.isnan(numbers).any() and len(column.texts) >= _UNIQUE * tables.n_rows
    agree, chance, rows = _best_reading(tables, numbers) if is_key else (0.0, 0.0, tables.n_rows)
    works = agree > chance + _CLEAR
    if works:
        what = f"numbers the rows as in the original: {percent(agree)} fit the person at that position"
    else:
        what = "does not show the order of the original"
    return mean_result(
        "extra-columns", "singling out", agree if works else 1 / tables.n_people, rows, baseline=1.0,
        guess=1 / tables.n_people, ceiling=1 / tables.k, finding="broken" if works else "exposed",
        message=f"The file has the column `{name}`, which the recipe does not release; it {what}.",
        columns=(name,), details={"by_chance": chance},
    )  # fmt: skip


def _best_reading(tables: Tables, numbers: np.ndarray) -> tuple[float, float, int]:
    """Take a key for a row number that begins at 0 or 1, or for a number that grows from row to row."""
    shuffled = _generator().permutation(tables.n_rows)
    person_at = np.full(tables.n_original, -1)
    person_at[tables.position] = np.arange(tables.n_people)
    tried = []
    if (numbers == np.floor(numbers)).all() and numbers.min() >= 0:
        for begin in (0, 1):
            place = numbers.astype(np.int64) - begin
            if place.min() >= 0 and place.max() < tables.n_original:
                person = person_at[place][:_ROWS]
                rows = np.arange(len(person))
                by_chance = _share(tables, shuffled[: len(person)], person)
                tried.append((_share(tables, rows, person), by_chance, len(person)))
    order = np.argsort(numbers, kind="stable")
    tried.append((_aligned(tables, order), _aligned(tables, order[shuffled]), _compared(tables)))
    return max(tried, key=lambda each: each[0] - each[1])


def _number(text: str | None) -> float:
    try:
        return float(text or "nan")
    except ValueError:
        return float("nan")


# The order of the rows.


def by_order(tables: Tables) -> list[Result]:
    """Link by position: the n-th row of the file is the n-th person of the original.

    Only the order of rows that look alike can show anything. If they are sorted by their other cells, it
    shows nothing; otherwise the file is compared with itself after rows that look alike were shuffled.
    """
    columns = _shown(tables)
    if not columns or tables.n_rows > tables.n_people:
        return []
    agree = chance = 0.0
    rows = tables.n_rows
    if _is_sorted(tables, columns):
        message = "Rows that look alike are sorted by their other cells: their order shows nothing."
    else:
        order = np.arange(tables.n_rows)
        agree, chance = _aligned(tables, order), _aligned(tables, _shuffled_in_classes(tables))
        rows = _compared(tables)
        message = "Rows that look alike are not in the order of the original."
    works = agree > chance + _CLEAR
    if works:
        message = (
            f"The rows are in the order of the original: {percent(agree)} fit the person at their position, "
            f"{percent(chance)} if rows that look alike are shuffled."
        )
    finding: Finding = "exposed" if works else "none"
    return [
        mean_result(
            "row-order", "singling out", agree if works else 1 / tables.n_people, rows, baseline=1.0,
            guess=1 / tables.n_people, finding=finding, message=message, details={"by_chance": chance},
        )
    ]  # fmt: skip


def _shown(tables: Tables) -> list[Values]:
    """Return the unchanged columns of the rows."""
    return [column for column in tables.unchanged.values() if len(column.released)]


def _is_sorted(tables: Tables, columns: Sequence[Values]) -> bool:
    """Return whether the rows of every class are sorted by their other cells, as texts or as numbers."""
    by_class = np.argsort(tables.class_of_row, kind="stable")
    for choice in (columns, [_by_number(column) for column in columns]):
        of_class = (tables.class_of_row, len(tables.sizes))
        key = together([of_class, *((c.released, c.size) for c in choice)], tables.n_rows)
        if bool((np.diff(key[by_class]) >= 0).all()):
            return True
    return False


def _by_number(column: Values) -> Values:
    """Return a column whose values are ordered as numbers; texts that are none come last."""
    numbers = np.array([_number(text) for text in column.texts])
    rank = np.argsort(np.argsort(np.nan_to_num(numbers, nan=np.inf), kind="stable"), kind="stable")
    return Values(rank[column.raw], rank[column.released], column.texts)


def _shuffled_in_classes(tables: Tables) -> Ints:
    """Return the rows in their order, except that rows that look alike have changed places."""
    drawn = _generator().permutation(tables.n_rows)
    order = np.empty(tables.n_rows, np.int64)
    places = np.argsort(tables.class_of_row, kind="stable")
    order[places] = drawn[np.argsort(tables.class_of_row[drawn], kind="stable")]
    return order


def _generator() -> np.random.Generator:
    return np.random.Generator(np.random.PCG64(0))


# Rows and people side by side.


def _compared(tables: Tables) -> int:
    return min(tables.n_rows, _ROWS if tables.n_people == tables.n_rows else _SEARCHED)


def _aligned(tables: Tables, order: Ints) -> float:
    """Return the share of rows, in an order, that agree with the people of the original in theirs.

    Where rows were left out, a row is compared with the next people, as many as may have been left out.
    """
    rows = order[: _compared(tables)]
    if tables.n_people == tables.n_rows:
        return _share(tables, rows, np.arange(len(rows)))
    begin, spare, hits = 0, tables.n_people - tables.n_rows, 0
    for row in rows:
        people = np.arange(begin, min(tables.n_people, begin + spare + 1))
        fitting = _agree(tables, np.full(len(people), row), people)
        skipped = int(fitting.argmax()) if fitting.any() else 0
        hits += bool(fitting.any())
        begin, spare = begin + skipped + 1, spare - skipped
    return hits / len(rows)


def _share(tables: Tables, rows: Ints, people: Ints) -> float:
    return float(((people >= 0) & _agree(tables, rows, np.maximum(people, 0))).mean())


def _agree(tables: Tables, row: Ints, person: Ints) -> Flags:
    """Return, for each pair, whether the person is inside the row's box and has its unchanged values."""
    found = np.ones(len(row), np.bool_)
    if tables.has_boxes:
        for axis in tables.quasi.values():
            found &= axis.covers(tables.class_of_row[row], person)
    for column in _shown(tables):
        found &= column.released[row] == column.raw[person]
    return found
