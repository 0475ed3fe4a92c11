"""Excel workbooks, through the library python-calamine.

The library unpacks a sheet into a full rectangle of cells. What the file says about itself is checked
before: a few bytes can claim a cell in the last column of the last row, and terabytes.
"""

from __future__ import annotations

import posixpath
import re
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any
from xml.etree import ElementTree
from xml.parsers import expat

import polars as pl

from shoal.errors import DataError
from shoal.recipe import Input
from shoal.table.formats import check_names, chosen
from shoal.table.frames import Choose
from shoal.table.limits import too_large, unpacked_limit
from shoal.table.optional import library
from shoal.table.picking import pick
from shoal.table.values import column_of, text_of

_PIECE = 1 << 20
_SMALL_PART = 1 << 24  # bytes; the list of sheets is far smaller
_RECTANGLE = 1 << 24  # cells of any sheet
_SPARSE = 20  # cells of a larger rectangle for each cell that is there
_WORKBOOK, _RELATIONS = "xl/workbook.xml", "xl/_rels/workbook.xml.rels"
_REFERENCE = re.compile(r"([A-Z]{1,3})([0-9]{1,7})")


def read_excel(path: Path, given: Input, choose: Choose | None) -> pl.DataFrame:
    """Read the chosen columns of a sheet. The first line that is not empty holds the names."""
    calamine = library("python_calamine", "excel", "Reading Excel files")
    try:
        with zipfile.ZipFile(path) as archive:
            _check_size(path, archive)
            parts, is_computed = _sheet_parts(archive)
            workbook = calamine.load_workbook(str(path))
            sheet = _choose_sheet(calamine, path, workbook, given)
            with archive.open(parts[sheet]) as file:
                _check_sheet(path, sheet, _Scan().read(file), is_computed=is_computed)
        lines = workbook.get_sheet_by_name(sheet).to_python()
    except _failures(calamine):
        message = f"The input {path} is damaged, or not an Excel workbook."
        hint = "open it in a spreadsheet program and save it as .xlsx, without a password"
        raise DataError("data.unreadable", message, hint) from None
    return _table(lines, given, choose)


def _failures(calamine: Any) -> tuple[type[Exception], ...]:
    """Return what may be raised for a damaged file. The messages are not shown."""
    return (
        calamine.CalamineError, zipfile.BadZipFile, zlib.error, expat.ExpatError, ElementTree.ParseError,
        OSError, EOFError, KeyError, NotImplementedError, RuntimeError,
    )  # fmt: skip


def _check_size(path: Path, archive: zipfile.ZipFile) -> None:
    """Unpack every part once, without keeping it: what an archive claims about its size may be false."""
    limit = unpacked_limit(path)
    total = 0
    for info in archive.infolist():
        claimed, info.file_size = info.file_size, 1 << 62
        with archive.open(info) as file:
            while piece := file.read(_PIECE):
                total += len(piece)
                if total > limit:
                    raise too_large(path, f"more than {limit:,} bytes of XML")
        info.file_size = claimed


def _sheet_parts(archive: zipfile.ZipFile) -> tuple[dict[str, str], bool]:
    """Return the part of each sheet by its name, and whether a program has computed the formulas."""
    sheets, is_computed, targets = {}, True, {}
    for element in _small_part(archive, _RELATIONS):
        if element.tag.endswith("}Relationship"):
            targets[element.get("Id")] = posixpath.normpath(
                posixpath.join("/xl", element.get("Target", ""))
            ).removeprefix("/")
    for element in _small_part(archive, _WORKBOOK):
        if element.tag.endswith("}sheet"):
            relation = next((value for key, value in element.items() if key.endswith("}id")), None)
            sheets[element.get("name", "")] = targets.get(relation, "")
        elif element.tag.endswith("}calcPr"):
            is_computed = element.get("fullCalcOnLoad", "0") in ("0", "false")
    return sheets, is_computed


def _small_part(archive: zipfile.ZipFile, name: str) -> Iterator[ElementTree.Element]:
    with archive.open(name) as file:
        return ElementTree.fromstring(file.read(_SMALL_PART)).iter()


def _choose_sheet(calamine: Any, path: Path, workbook: Any, given: Input) -> str:
    sheets = [sheet for sheet in workbook.sheets_metadata if sheet.typ == calamine.SheetTypeEnum.WorkSheet]
    hidden = [sheet.name for sheet in sheets if sheet.visible != calamine.SheetVisibleEnum.Visible]
    return pick(path, [sheet.name for sheet in sheets], given, "sheet", hidden)


class _Scan:
    """What the XML of a sheet says: its extent, and formulas with and without a saved result."""

    def __init__(self) -> None:
        self.row = self.column = self.cells = self.formulas = self.unsaved = self.merged = 0
        self.first, self.last = (1 << 30, 1 << 30), (0, 0)
        self._numbers: dict[str, int] = {}  # of columns, by their letters
        self._type: str | None = None  # of the last cell
        self._awaits_result = False
        self._parser = expat.ParserCreate()
        self._parser.StartElementHandler = self._start

    def read(self, file: IO[bytes]) -> _Scan:
        """Read the XML piece by piece."""
        while piece := file.read(_PIECE):
            self._parser.Parse(piece)
        self._parser.Parse(b"", True)
        return self

    def _start(self, tag: str, attributes: dict[str, str]) -> None:
        name = tag.rpartition(":")[2]
        if name == "c":
            self._place(attributes.get("r"))
            self._type, self._awaits_result = attributes.get("t"), False
        elif name == "row":
            self.row, self.column = int(attributes.get("r", self.row + 1)), 0
        elif name == "f":
            self.formulas += 1
            self._awaits_result = self._type != "str"  # a formula may have no text as its result
            self.unsaved += self._awaits_result
        elif name == "mergeCell":
            self.merged += 1
        # Texts are of no interest, and many; only what follows a formula is looked at.
        is_result = name == "v" and self._awaits_result
        self._parser.CharacterDataHandler = self._result if is_result else None

    def _result(self, text: str) -> None:
        if self._awaits_result:
            self._awaits_result = False
            self.unsaved -= 1

    def _place(self, reference: str | None) -> None:
        found = _REFERENCE.fullmatch(reference or "")
        if found:
            letters, digits = found.groups()
            row, self.column = int(digits), self._number(letters)
        else:
            row, self.column = self.row, self.column + 1
        self.cells += 1
        self.first = (min(self.first[0], row), min(self.first[1], self.column))
        self.last = (max(self.last[0], row), max(self.last[1], self.column))

    def _number(self, letters: str) -> int:
        if letters not in self._numbers:
            digits = [ord(letter) - 64 for letter in reversed(letters)]
            self._numbers[letters] = sum(digit * 26**place for place, digit in enumerate(digits))
        return self._numbers[letters]

    @property
    def rectangle(self) -> int:
        """The number of cells from the first to the last row and column."""
        if not self.cells:
            return 0
        return (self.last[0] - self.first[0] + 1) * (self.last[1] - self.first[1] + 1)


def _check_sheet(path: Path, sheet: str, scan: _Scan, *, is_computed: bool) -> None:
    """Refuse a sheet that would be unpacked to too much, or whose cells are not what its author sees."""
    if scan.rectangle > max(_RECTANGLE, _SPARSE * scan.cells):
        what = f"{scan.cells:,} cells that span {scan.rectangle:,} places of the sheet `{sheet}`"
        raise too_large(path, what, "delete the cells far away from the table")
    unsaved = scan.unsaved if is_computed else scan.formulas
    if unsaved:
        message = f"Formulas without a saved result in the sheet `{sheet}`: {unsaved}."
        hint = "open the workbook in a spreadsheet program and save it, or replace the formulas by values"
        raise DataError("data.unreadable", message, hint)
    if scan.merged:
        message = f"Areas of merged cells in the sheet `{sheet}`: {scan.merged}. Each has only one value."
        raise DataError("data.unreadable", message, "unmerge them and fill in the value of each cell")


def _table(lines: list[list[Any]], given: Input, choose: Choose | None) -> pl.DataFrame:
    """Make columns of lines; empty lines are left out."""
    filled = [line for line in lines if any(cell != "" for cell in line)]
    if not filled:
        return pl.DataFrame()
    names = given.names or [text_of(cell).strip() for cell in filled.pop(0)]
    if filled and len(filled[0]) != len(names):
        message = f"The sheet has {len(filled[0])} columns, but {len(names)} names are given."
        raise DataError("data.ragged", message, "name every column")
    check_names(names)
    columns = list(zip(*filled, strict=True)) or [()] * len(names)
    return pl.DataFrame(
        {
            names[at]: column_of(names[at], [None if cell == "" else cell for cell in columns[at]])
            for at in chosen(names, choose)
        }
    )
