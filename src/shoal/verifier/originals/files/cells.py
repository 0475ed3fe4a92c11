"""An Arrow table from cells of any Python types, in the forms in which a release shows them."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, datetime, time
from typing import TYPE_CHECKING, Any

from shoal.verifier.reading.session import UnreadableError

if TYPE_CHECKING:
    import pyarrow as pa

_LARGEST = 2**53  # whole numbers up to here are exact as floats


def arrow_table(names: Sequence[str], columns: Sequence[Sequence[Any]]) -> pa.Table:
    """Return a table with one type for each column; columns that have none become texts."""
    import pyarrow as pa

    arrays = [_array(list(cells)) for cells in columns]
    return pa.Table.from_arrays(arrays, names=list(names))


def _array(cells: list[Any]) -> pa.Array:
    import pyarrow as pa

    present = [cell for cell in cells if cell is not None and cell == cell]  # NaN is missing  # noqa: PLR0124
    cells = [cell if cell is not None and cell == cell else None for cell in cells]  # noqa: PLR0124
    if all(isinstance(cell, bool) for cell in present) and present:
        return pa.array(cells, pa.bool_())
    if all(_is_number(cell) for cell in present) and present:
        if all(_is_whole(cell) for cell in present):
            return pa.array([None if cell is None else int(cell) for cell in cells], pa.int64())
        return pa.array([None if cell is None else float(cell) for cell in cells], pa.float64())
    if all(isinstance(cell, date) for cell in present) and present:
        if all(_is_day(cell) for cell in present):
            return pa.array([None if cell is None else _day(cell) for cell in cells], pa.date32())
        return pa.array([None if cell is None else _moment(cell) for cell in cells], pa.timestamp("us"))
    if all(isinstance(cell, time) for cell in present) and present:
        return pa.array(cells, pa.time64("us"))
    return pa.array([None if cell is None else shown(cell) for cell in cells], pa.string())


def _is_number(cell: Any) -> bool:
    return isinstance(cell, (int, float)) and not isinstance(cell, bool)


def _is_whole(cell: int | float) -> bool:
    if isinstance(cell, int):
        return -(2**63) <= cell < 2**63
    return cell.is_integer() and abs(cell) < _LARGEST


def _is_day(cell: date) -> bool:
    return not isinstance(cell, datetime) or cell.time() == time()


def _day(cell: date) -> date:
    return cell.date() if isinstance(cell, datetime) else cell


def _moment(cell: date) -> datetime:
    return cell if isinstance(cell, datetime) else datetime(cell.year, cell.month, cell.day)


def shown(cell: Any) -> str:
    """Write a cell of a column whose cells have several types."""
    if isinstance(cell, str):
        return cell
    if isinstance(cell, bool):
        return "TRUE" if cell else "FALSE"
    if isinstance(cell, float) and _is_whole(cell):
        return f"{cell:.0f}"
    if isinstance(cell, datetime):
        return f"{cell:%Y-%m-%d}" if _is_day(cell) else str(cell)
    if isinstance(cell, bytes):  # only in columns that are not released
        return cell.hex()
    return str(cell)


def chosen_name(names: Sequence[str], wanted: str | None, what: str) -> str:
    """Return the table that the recipe names, or the only one."""
    if wanted in names:
        return str(wanted)
    if wanted is None and len(names) == 1:
        return names[0]
    why = f"no {what} `{wanted}`" if wanted is not None else f"{len(names)} {what}s, and none is chosen"
    raise UnreadableError("verify.unreadable", f"It has {why}.")
