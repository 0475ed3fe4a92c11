"""Files of SPSS, Stata and SAS, through the library pyreadstat, with their value labels."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import polars as pl

from shoal.errors import DataError, RecipeError
from shoal.recipe import Input, did_you_mean
from shoal.table.formats import check_names, chosen
from shoal.table.frames import Choose
from shoal.table.limits import CELLS, CELLS_PER_BYTE, check_cells
from shoal.table.optional import library
from shoal.table.values import column_of, text_of

_READERS = {
    ".sav": "read_sav",
    ".zsav": "read_sav",
    ".dta": "read_dta",
    ".sas7bdat": "read_sas7bdat",
    ".xpt": "read_xport",
}
STATISTICAL = tuple(_READERS)
_SAS = ".sas7bdat"


def read_statistical(path: Path, given: Input, choose: Choose | None) -> pl.DataFrame:
    """Read the chosen columns, with labels in place of codes."""
    pyreadstat = library("pyreadstat", "statistics", "Reading files of SPSS, Stata and SAS")
    read = getattr(pyreadstat, _READERS[path.suffix.lower()])
    how: dict[str, Any] = {"output_format": "dict", "encoding": given.encoding}
    if path.suffix.lower() != ".xpt":
        how["user_missing"] = given.missing_codes == "values"
    try:
        _, about = read(str(path), metadataonly=True, **how)
        names = list(about.column_names)
        check_names(names)
        used = [names[at] for at in chosen(names, choose)]
        _check_labels(names, given)
        if path.suffix.lower() == ".dta":
            how |= _stata_dates(about.original_variable_types.values())
        how["row_limit"] = _row_limit(path, about.number_rows, max(1, len(used)))
        cells, about = read(str(path), usecols=used, **how) if used else read(str(path), **how)
        labels = _labels(pyreadstat, path, given, about)
    except (DataError, RecipeError):
        raise
    except Exception:  # pyreadstat raises many kinds of errors, whose messages may quote cells
        message = f"The input {path} is damaged, or not a {path.suffix} file."
        hint = "open it in the program that wrote it and save it again; check [input] encoding"
        raise DataError("data.unreadable", message, hint) from None
    if len(next(iter(cells.values()), [])) == how["row_limit"]:
        check_cells(path, how["row_limit"], max(1, len(used)))
    return pl.DataFrame({name: _column(name, cells[name], labels.get(name, {})) for name in used})


def _stata_dates(formats: Iterable[str]) -> dict[str, list[str]]:
    """Return which display formats are dates: pyreadstat knows only the most common."""
    shown = {text: text.lstrip("%-") for text in formats}
    return {
        "extra_date_formats": [text for text, form in shown.items() if form.startswith(("td", "d"))],
        "extra_datetime_formats": [text for text, form in shown.items() if form.startswith(("tc", "tC"))],
    }


def _row_limit(path: Path, rows: int | None, columns: int) -> int:
    """Return how many rows are read at most: one more than a file of this size should have."""
    if rows is not None:
        check_cells(path, rows, columns)
    return max(CELLS, CELLS_PER_BYTE * path.stat().st_size) // columns + 1


def _check_labels(names: list[str], given: Input) -> None:
    unknown = [name for name in given.labels if name not in names] if isinstance(given.labels, list) else []
    if unknown:
        message = f"[input] labels names `{unknown[0]}`, which is not a column of the table."
        hint = did_you_mean(unknown[0], names) or "name columns whose codes have labels"
        raise RecipeError("recipe.unknown_column", message, hint)


def _labels(pyreadstat: Any, path: Path, given: Input, about: Any) -> Mapping[str, Mapping[Any, str]]:
    """Return the labels to use, by column and code."""
    if given.labels is False:
        return {}
    found = about.variable_value_labels
    if given.catalog is not None:
        if path.suffix.lower() != _SAS:
            message = f"A catalog of value labels is given, but {path} is not a .sas7bdat file."
            raise RecipeError("recipe.invalid", message, "remove [input] catalog")
        _, catalog = pyreadstat.read_sas7bcat(given.catalog, output_format="dict")
        formats = {name.strip("$").upper(): labels for name, labels in catalog.value_labels.items()}
        used = {name: str(f).strip("$").upper() for name, f in about.original_variable_types.items()}
        found = {name: formats[used[name]] for name in about.column_names if used.get(name) in formats}
    if isinstance(given.labels, list):
        return {name: labels for name, labels in found.items() if name in given.labels}
    return dict(found)


def _column(name: str, cells: list[Any], labels: Mapping[Any, str]) -> pl.Series:
    """Return a column; codes become their labels, and codes without one stay."""
    if not any(cell in labels for cell in set(cells)):
        return column_of(name, cells)
    texts = {cell: labels.get(cell) or text_of(cell) for cell in set(cells) if cell is not None}
    return pl.Series("", [None if cell is None else texts[cell] for cell in cells], dtype=pl.String)
