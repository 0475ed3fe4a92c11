"""Sheets of Excel workbooks, with openpyxl, line by line."""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shoal.recipe import Input
from shoal.verifier.originals.files.cells import arrow_table, chosen_name
from shoal.verifier.originals.files.needed import needed
from shoal.verifier.originals.files.unpacked import allowance
from shoal.verifier.reading.session import UnreadableError

if TYPE_CHECKING:
    import pyarrow as pa

_PLACES = 1 << 27  # that a sheet may have, empty ones included


def excel_table(path: Path, given: Input) -> pa.Table:
    """Load the sheet that the recipe names, or the only one."""
    openpyxl = needed("openpyxl", "excel")
    try:
        lines = _lines(openpyxl, path, given)
    except UnreadableError:
        raise
    except Exception:  # openpyxl raises whatever a damaged file leads to
        lines = None
    if lines is None:
        raise UnreadableError("verify.unreadable", "The file is not an Excel workbook.")
    width = max(map(len, lines), default=0)
    used = [at for at in range(width) if any(len(line) > at and line[at] is not None for line in lines)]
    first, last = (used[0], used[-1] + 1) if used else (0, 0)
    lines = [[*line, *[None] * (width - len(line))][first:last] for line in lines]
    names = given.names or [_name(cell) for cell in (lines.pop(0) if lines else [])]
    return arrow_table(names, [[line[at] for line in lines] for at in range(len(names))])


def _lines(openpyxl: Any, path: Path, given: Input) -> list[list[Any]]:
    """Return the lines of a sheet that are not empty; error values such as #N/A are missing."""
    with zipfile.ZipFile(path) as archive:
        if sum(part.file_size for part in archive.infolist()) > allowance(path):
            raise _too_large()
    workbook = openpyxl.load_workbook(path, read_only=True, data_only=True)
    try:
        sheets = {sheet.title: sheet for sheet in workbook.worksheets}
        sheet = sheets[chosen_name(list(sheets), given.table, "sheet")]
        sheet.reset_dimensions()  # what a file says about its extent may be false
        lines, places = [], 0
        for cells in sheet.iter_rows():
            places += 1 + len(cells)
            if places > _PLACES:
                raise _too_large()
            line = [None if cell.data_type == "e" or cell.value == "" else cell.value for cell in cells]
            if any(cell is not None for cell in line):
                lines.append(line)
        return lines
    finally:
        workbook.close()


def _name(cell: Any) -> str:
    from shoal.verifier.originals.files.cells import shown

    return "" if cell is None else shown(cell).strip()


def _too_large() -> UnreadableError:
    return UnreadableError("verify.unreadable", "It unpacks to far more than a file of its size should.")
