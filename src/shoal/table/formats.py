"""The file formats, by extension: how each is written, and how those with types are read.

`table/read.py` reads text, whose separator, header and encoding vary. Whether a written file keeps its
promises is checked by other code: `verifier/reading/load.py`.
"""

from __future__ import annotations

import glob
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

import polars as pl

from shoal.errors import DataError
from shoal.recipe import Input
from shoal.table.frames import Choose, from_arrow

Reader = Callable[[Path, Input, Choose | None], pl.DataFrame]


@dataclass(frozen=True)
class Format:
    """How files with one extension are written and read.

    Parameters
    ----------
    write : callable, optional
        Called with a frame and a path. None for formats that are only read.
    read : callable, optional
        Called with a path, how to read it, and a choice of columns. None for text.
    separator : str
        Of the cells in a line of text.
    named : bool
        Whether the file has names of its own for its columns.
    """

    write: Callable[[pl.DataFrame, Path], Any] | None
    read: Reader | None = None
    separator: str = ""
    named: bool = True

    @property
    def is_text(self) -> bool:
        """Whether cells lose their types when they are written."""
        return self.read is None


def _text(separator: str) -> Format:
    write = partial(pl.DataFrame.write_csv, separator=separator)
    return Format(write, separator=separator, named=False)


def read_parquet(path: Path, given: Input, choose: Choose | None) -> pl.DataFrame:
    """Read the chosen columns of a Parquet file."""
    names = list(pl.read_parquet_schema(path))
    places = chosen(names, choose)
    try:
        return pl.read_parquet(path, columns=places)
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException):
        failing = [names[at] for at in places if not _can_be_read(path, at)]
        if len(failing) == len(names):  # the file is at fault, not a column
            raise
    listed = ", ".join(f"`{name}`" for name in failing)
    message = f"The input {path} has columns of an unsupported type: {listed}."
    raise DataError("data.kind", message, "convert them to texts or numbers, or give them the role drop")


def _can_be_read(path: Path, column: int) -> bool:
    try:
        pl.read_parquet(path, columns=[column])
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException):
        return False
    return True


def read_arrow(path: Path, given: Input, choose: Choose | None) -> pl.DataFrame:
    """Read the chosen columns of an Arrow or Feather file."""
    # Polars reads only the IPC file format; pyarrow also reads Feather version 1.
    from pyarrow import feather

    table = feather.read_table(path, memory_map=False)
    table.validate(full=True)  # a damaged file would crash code that trusts its offsets
    check_names(table.column_names)
    used = table.select(chosen(table.column_names, choose))
    return from_arrow(used.replace_schema_metadata(None))


def write_arrow(table: pl.DataFrame, path: Path) -> None:
    """Write an Arrow file that old readers understand."""
    table.write_ipc(path, compression="uncompressed", compat_level=pl.CompatLevel.oldest())


FORMATS = {
    ".csv": _text(","),
    ".tsv": _text("\t"),
    ".parquet": Format(pl.DataFrame.write_parquet, read_parquet),
    ".arrow": Format(write_arrow, read_arrow),
    ".feather": Format(write_arrow, read_arrow),
}


def _late(module: str, function: str) -> Reader:
    """Return a reader whose module is imported when it is first needed."""

    def read(path: Path, given: Input, choose: Choose | None) -> pl.DataFrame:
        found: pl.DataFrame = getattr(import_module(f"shoal.table.{module}"), function)(path, given, choose)
        return found

    return read


_EXCEL = Format(None, _late("excel", "read_excel"), named=False)
_DATABASE = Format(None, _late("databases", "read_database"))
_STATISTICAL = Format(None, _late("statistical", "read_statistical"))
DATABASES = (".sqlite", ".sqlite3", ".db", ".db3", ".duckdb", ".ddb")
READABLE = {  # everything else is read as text
    **FORMATS,
    ".ipc": FORMATS[".arrow"],
    **dict.fromkeys((".xlsx", ".xlsm"), _EXCEL),
    **dict.fromkeys(DATABASES, _DATABASE),
    **dict.fromkeys((".sav", ".zsav", ".dta", ".sas7bdat", ".xpt"), _STATISTICAL),
}


def is_several(path: Path) -> bool:
    """Return whether a path stands for several files: a folder, or a pattern that is not itself a file."""
    return path.is_dir() or (glob.has_magic(str(path)) and not path.exists())


def is_text(path: Path) -> bool:
    """Return whether a file is text, as all files are whose extension says nothing else."""
    extension = path.suffix.lower()
    return not is_several(path) and (extension not in READABLE or READABLE[extension].is_text)


def has_names(path: Path) -> bool:
    """Return whether a file always has names for its columns, not only if its first line holds them."""
    extension = path.suffix.lower()
    return is_several(path) or (extension in READABLE and READABLE[extension].named)


def chosen(names: list[str], choose: Choose | None) -> list[int]:
    """Return the indices of the columns to read: a name could be treated as a regular expression."""
    used = names if choose is None else choose(names)
    return [at for at, name in enumerate(names) if name in used]


def check_names(names: list[str]) -> None:
    """Refuse duplicate names, reported by position: without a header they are somebody's cells."""
    places: dict[str, list[int]] = {}
    for at, name in enumerate(names, 1):
        places.setdefault(name, []).append(at)
    duplicates = [found for found in places.values() if len(found) > 1]
    if duplicates:
        listed = "; ".join(", ".join(map(str, found)) for found in duplicates)
        message = f"Columns at these positions have the same name: {listed}."
        raise DataError("data.duplicate_column", message, "rename the columns; check the header line")
    if "" in places:
        message = f"Column {places[''][0]} has no name."
        raise DataError("data.duplicate_column", message, "give every column a name")
