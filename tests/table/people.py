"""One table about people, written by the programs and libraries that people use."""

from __future__ import annotations

import bz2
import ctypes
import datetime as dt
import gzip
import io
import lzma
import sqlite3
import zipfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import duckdb
import openpyxl
import pandas as pd
import polars as pl
import pyreadstat
import xlsxwriter
import zstandard

NAMES = ["name", "age", "height", "born", "zip", "sex"]
ROWS: list[tuple[Any, ...]] = [
    ("Ann", 31, 1.62, dt.date(1980, 1, 2), "01067", "f"),
    ("Bjørn", 33, 1.75, dt.date(1979, 12, 31), "10115", "m"),
    ("Cy", None, 1.8, dt.date(2000, 2, 29), "80331", None),
    ("Łukasz", 60, None, None, "01067", "m"),
]
CODES = {"f": 1.0, "m": 2.0}
LABELS = {1.0: "f", 2.0: "m", 9.0: "refused"}
FRAME = pl.DataFrame(ROWS, schema=NAMES, orient="row")
TEXTS = [tuple(None if cell is None else str(cell) for cell in row) for row in ROWS]
CSV = FRAME.write_csv().encode()


def by_openpyxl(path: Path) -> None:
    book = openpyxl.Workbook()
    for row in (NAMES, *ROWS):
        book.active.append(row)
    book.save(path)


def by_xlsxwriter(path: Path) -> None:
    with xlsxwriter.Workbook(path, {"default_date_format": "dd.mm.yyyy"}) as book:
        sheet = book.add_worksheet("Menschen")
        for at, row in enumerate((NAMES, *ROWS)):
            sheet.write_row(at + 2, 1, row)  # two empty lines and a column before the table


def by_pandas_to_excel(path: Path) -> None:
    FRAME.to_pandas().to_excel(path, index=False)


def coded() -> pd.DataFrame:
    """Return the table with the codes of the sexes."""
    frame = FRAME.with_columns(sex=pl.col("sex").replace_strict(CODES, return_dtype=pl.Float64)).to_pandas()
    frame["born"] = [row[3] for row in ROWS]
    return frame


def by_pyreadstat(path: Path, **how: Any) -> None:
    write = {".sav": pyreadstat.write_sav, ".dta": pyreadstat.write_dta}[path.suffix]
    write(coded(), str(path), variable_value_labels={"sex": LABELS}, **how)


def by_pyreadstat_packed(path: Path) -> None:
    pyreadstat.write_sav(coded(), str(path), variable_value_labels={"sex": LABELS}, compress=True)


def by_pyreadstat_row_packed(path: Path) -> None:
    by_pyreadstat(path, row_compress=True)


def by_pandas_to_stata(path: Path) -> None:
    frame = FRAME.to_pandas()
    frame["born"] = pd.to_datetime(frame["born"])
    frame["sex"] = frame["sex"].astype("category")
    frame.to_stata(path, write_index=False, version=118, convert_dates={"born": "td"})


def by_pyreadstat_transport(path: Path) -> None:
    frame = FRAME.to_pandas()
    frame["born"] = [row[3] for row in ROWS]
    pyreadstat.write_xport(frame, str(path), file_format_version=5, variable_format={"born": "DATE9"})


def by_readstat(path: Path) -> None:
    """Write a SAS file with the C library that R's haven and pyreadstat are made of."""
    days = [None if row[3] is None else (row[3] - dt.date(1960, 1, 1)).days for row in ROWS]
    columns = [(name, 24 if name in ("name", "zip", "sex") else 0) for name in NAMES]
    rows = [(*row[:3], day, *row[4:]) for row, day in zip(ROWS, days, strict=True)]
    write_sas(path, columns, rows, {"born": "DATE9"})


def write_sas(
    path: Path, columns: Sequence[tuple[str, int]], rows: Sequence[Sequence[Any]], formats: dict[str, str]
) -> None:
    """Write a .sas7bdat file: columns with the width of their texts, 0 for numbers."""
    library, writer, content = _writer()
    add = library.readstat_add_variable
    add.restype, add.argtypes = (
        ctypes.c_void_p,
        [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_int, ctypes.c_size_t],
    )
    variables = [add(writer, name.encode(), 0 if width else 5, width) for name, width in columns]
    for (name, _), variable in zip(columns, variables, strict=True):
        if name in formats:
            library.readstat_variable_set_format(ctypes.c_void_p(variable), formats[name].encode())
    _check(library.readstat_begin_writing_sas7bdat(writer, None, ctypes.c_long(len(rows))))
    for row in rows:
        _check(library.readstat_begin_row(writer))
        for (_, width), variable, cell in zip(columns, variables, row, strict=True):
            place = ctypes.c_void_p(variable)
            if cell is None:
                _check(library.readstat_insert_missing_value(writer, place))
            elif width:
                _check(library.readstat_insert_string_value(writer, place, cell.encode()))
            else:
                _check(library.readstat_insert_double_value(writer, place, ctypes.c_double(cell)))
        _check(library.readstat_end_row(writer))
    _check(library.readstat_end_writing(writer))
    path.write_bytes(content.getvalue())


def write_catalog(path: Path, name: str, labels: dict[float, str]) -> None:
    """Write a .sas7bcat file with one set of value labels."""
    library, writer, content = _writer()
    add = library.readstat_add_label_set
    add.restype, add.argtypes = ctypes.c_void_p, [ctypes.c_void_p, ctypes.c_int, ctypes.c_char_p]
    found = ctypes.c_void_p(add(writer, 5, name.encode()))
    for code, label in labels.items():
        library.readstat_label_double_value(found, ctypes.c_double(code), label.encode())
    _check(library.readstat_begin_writing_sas7bcat(writer, None))
    _check(library.readstat_end_writing(writer))
    path.write_bytes(content.getvalue())


def _writer() -> tuple[ctypes.CDLL, ctypes.c_void_p, io.BytesIO]:
    (place,) = Path(pyreadstat.__file__).parent.glob("_readstat_writer*.so")
    library = ctypes.CDLL(str(place))
    library.readstat_writer_init.restype = ctypes.c_void_p
    writer = ctypes.c_void_p(library.readstat_writer_init())
    content = io.BytesIO()

    @ctypes.CFUNCTYPE(ctypes.c_ssize_t, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_void_p)
    def take(data: int, size: int, context: int) -> int:
        return content.write(ctypes.string_at(data, size))

    library.readstat_set_data_writer(writer, take)
    content.keep = take  # type: ignore[attr-defined]  # the library calls it until the end
    return library, writer, content


def _check(error: int) -> None:
    assert error == 0, f"readstat error {error}"


def by_sqlite3(path: Path) -> None:
    with sqlite3.connect(path) as database:
        database.execute(
            "CREATE TABLE people (name TEXT, age INT, height REAL, born DATE, zip TEXT, sex TEXT)"
        )
        database.executemany("INSERT INTO people VALUES (?, ?, ?, ?, ?, ?)", _dates_as_texts())
    database.close()


def by_sqlite3_with_log(path: Path) -> None:
    by_sqlite3(path)
    with sqlite3.connect(path) as database:
        database.execute("PRAGMA journal_mode = WAL")
    database.close()


def _dates_as_texts() -> list[list[Any]]:
    return [[str(cell) if isinstance(cell, dt.date) else cell for cell in row] for row in ROWS]


def by_duckdb(path: Path) -> None:
    with duckdb.connect(str(path)) as database:
        database.execute(
            "CREATE TABLE people (name VARCHAR, age INTEGER, height DOUBLE, born DATE, zip VARCHAR, "
            "sex ENUM ('f', 'm'))"
        )
        database.executemany("INSERT INTO people VALUES (?, ?, ?, ?, ?, ?)", ROWS)


def by_gzip(path: Path) -> None:
    path.write_bytes(gzip.compress(CSV[:50]) + gzip.compress(CSV[50:]))  # as `cat a.gz b.gz` does


def by_bzip2(path: Path) -> None:
    path.write_bytes(bz2.compress(CSV))


def by_xz(path: Path) -> None:
    path.write_bytes(lzma.compress(CSV))


def by_zstandard(path: Path) -> None:
    path.write_bytes(zstandard.compress(CSV.replace(b",", b"\t")))


def by_pandas_to_zip(path: Path) -> None:
    FRAME.to_pandas().to_csv(path, index=False, sep=";")


def by_mac_zip(path: Path) -> None:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("folder/", "")
        archive.writestr("folder/people.csv", CSV.decode().encode("utf-16"))
        archive.writestr("__MACOSX/folder/._people.csv", b"\0")


def as_folder(path: Path) -> None:
    path.mkdir()
    FRAME[2:].write_parquet(path / "part-1.parquet")
    FRAME[:2].write_parquet(path / "part-0.parquet")
    (path / "_SUCCESS").touch()
    (path / ".part-0.parquet.crc").touch()


Writer = Callable[[Path], None]
# Name of the file, the writer, and whether dates come back as texts, as in CSV.
FILES: list[tuple[str, Writer]] = [
    ("people.xlsx", by_openpyxl),
    ("people.xlsm", by_xlsxwriter),
    ("people.XLSX", by_pandas_to_excel),
    ("people.sav", by_pyreadstat),
    ("packed.sav", by_pyreadstat_row_packed),
    ("people.zsav", by_pyreadstat_packed),
    ("people.dta", by_pyreadstat),
    ("pandas.dta", by_pandas_to_stata),
    ("people.xpt", by_pyreadstat_transport),
    ("people.sas7bdat", by_readstat),
    ("people.sqlite", by_sqlite3),
    ("log.db", by_sqlite3_with_log),
    ("people.duckdb", by_duckdb),
    ("duck.db", by_duckdb),
    ("people.csv.gz", by_gzip),
    ("people.csv.bz2", by_bzip2),
    ("people.csv.xz", by_xz),
    ("people.tsv.zst", by_zstandard),
    ("people.csv.zip", by_pandas_to_zip),
    ("people.zip", by_mac_zip),
    ("people", as_folder),
]
