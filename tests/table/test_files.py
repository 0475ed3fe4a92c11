"""Files that people have: each is read, and loaded by the verifier with code of its own, as written."""

from __future__ import annotations

import datetime as dt
import gzip
import sqlite3
import struct
import tracemalloc
import zipfile
from pathlib import Path

import openpyxl
import pandas as pd
import polars as pl
import pyreadstat
import pytest

import shoal
from shoal.engine.spark.input import _read
from shoal.errors import ShoalError
from shoal.recipe import Input, Recipe
from shoal.table import limits, optional
from shoal.table.read import read
from shoal.verifier.originals.original import FOREIGN, load_original
from shoal.verifier.reading.session import session
from tests.bad_input_cases import run, snapshot
from tests.table import people
from tests.table.people import FILES, NAMES, ROWS, TEXTS, write_catalog, write_sas

every_file = pytest.mark.parametrize(("name", "write"), FILES, ids=[name for name, _ in FILES])


def recipe(**given: object) -> Recipe:
    roles = {"quasi": ["age", "zip"], "keep": ["height"], "sensitive": ["sex"], "drop": ["name", "born"]}
    return Recipe.from_roles(**roles, k=2, changes={"input": given, "method": {"name": "mondrian"}})


def loaded(path: Path, **given: object) -> tuple[list[str], list[tuple[str | None, ...]]]:
    """Return what the verifier loads: names and texts."""
    with session(path) as opened:
        found = load_original(opened, path, recipe(**given))
        return list(found.names), opened.rows(f"SELECT * FROM {found.table}")


def texts(frame: pl.DataFrame) -> list[tuple[str | None, ...]]:
    return frame.cast(pl.String).rows()


def same(cell: str | None) -> object:
    """Compare numbers as numbers: 1.8 and 1.80."""
    try:
        return None if cell is None else float(cell) if not cell.startswith("0") else cell
    except ValueError:
        return cell


def as_set(rows: object) -> list[list[object]]:
    return sorted(([same(cell) for cell in row] for row in rows), key=repr)  # type: ignore[attr-defined]


@every_file
def test_a_file_is_read_and_loaded_by_the_verifier_as_it_was_written(
    name: str, write: people.Writer, tmp_path: Path
) -> None:
    path = tmp_path / name
    write(path)
    before = snapshot(tmp_path)
    frame = read(path, Input())
    names, rows = loaded(path)
    assert snapshot(tmp_path) == before
    assert frame.columns == names == NAMES
    assert as_set(texts(frame)) == as_set(TEXTS)
    assert as_set(rows) == as_set(TEXTS)
    typed = pl.String if ".csv" in name or name.endswith(("zip", "zst")) else pl.Int64
    assert frame["age"].cast(pl.Float64).cast(pl.Int64).to_list() == [row[1] for row in sorted_like(frame)]
    assert (frame["age"].dtype == pl.String) is (typed == pl.String)


def sorted_like(frame: pl.DataFrame) -> list[tuple[object, ...]]:
    by_name = {row[0]: row for row in ROWS}
    return [by_name[name] for name in frame["name"]]


@every_file
def test_only_the_chosen_columns_are_read(name: str, write: people.Writer, tmp_path: Path) -> None:
    write(tmp_path / name)
    frame = read(tmp_path / name, Input(), lambda names: {"sex", "age"})
    assert frame.columns == ["age", "sex"]


def test_every_format_that_is_read_is_loaded_by_the_verifier() -> None:
    from shoal.table.formats import FORMATS, READABLE

    assert set(READABLE) - set(FORMATS) - {".ipc"} == set(FOREIGN)
    assert {Path(name).suffix.lower() for name, _ in FILES} >= {
        ".xlsx",
        ".xlsm",
        ".sav",
        ".zsav",
        ".dta",
        ".xpt",
    }


def anonymized(path: Path, **given: object) -> Path:
    out = path.parent / "release.csv"
    asked = recipe(path=str(path), **given)
    shoal.anonymize(asked).write(out, force=True)
    verdict = shoal.verify(out, asked, original=path)
    assert verdict.holds, verdict.problems
    return out


@pytest.mark.parametrize(
    ("name", "write"), [file for file in FILES if file[0] in ("people.xlsx", "people.sav", "people.sqlite")]
)
def test_a_release_is_verified_against_its_original(name: str, write: people.Writer, tmp_path: Path) -> None:
    write(tmp_path / name)
    out = anonymized(tmp_path / name)
    out.write_text(out.read_text().replace("1.75", "1.57"))
    verdict = shoal.verify(out, recipe(), original=tmp_path / name, manifest=False)
    assert [problem.code for problem in verdict.problems] != []


def test_every_command_reads_a_workbook(tmp_path: Path) -> None:
    book = openpyxl.Workbook()
    for at in range(12):
        book.active.append(ROWS[at % 4] if at else NAMES)
    book.create_sheet("Notes")
    book.save(tmp_path / "people.xlsx")
    drafted, out = tmp_path / "draft.toml", tmp_path / "out.csv"
    source, sheet = tmp_path / "people.xlsx", ("--table", "Sheet")
    roles = ("--quasi", "age,zip", "--sensitive", "sex", "--default", "drop", "--k", "2")
    asked = run("inspect", source)
    assert "has 2 sheets: `Sheet`, `Notes`" in asked.stderr
    assert "--table Sheet" in asked.stderr
    assert run("inspect", source, *sheet, "--write", drafted).exit_code == 0
    assert Recipe.load(drafted).input.table == "Sheet"
    for command in (
        ("anonymize", source, *roles, "--method", "mondrian", "-o", out),
        ("verify", out, "--original", source),
        ("attack", source, out),
        ("measure", source, *roles),
        ("risk", source, *roles),
    ):
        more = () if command[0] in ("verify", "attack") else sheet
        found = run(*command, *more)
        assert found.exit_code == 0, found.stderr + found.stdout


@pytest.mark.parametrize(
    ("source", "stem"), [("people.csv.gz", "people"), ("parts/*.parquet", "parts"), ("parts", "parts")]
)
def test_a_draft_names_an_output_that_can_be_written(source: str, stem: str, tmp_path: Path) -> None:
    people.by_gzip(tmp_path / "people.csv.gz")
    people.as_folder(tmp_path / "parts")
    run("inspect", tmp_path / source, "--write", tmp_path / "draft.toml")
    drafted = Recipe.load(tmp_path / "draft.toml")
    assert (drafted.input.path, drafted.output.path) == (source, f"{stem}-anonymous.csv")


# Sheets.


def workbook(path: Path, cells: dict[str, object], title: str = "Sheet") -> Path:
    book = openpyxl.Workbook()
    book.active.title = title
    for place, cell in cells.items():
        book.active[place] = cell
    book.save(path)
    return path


def test_cells_of_several_types_become_texts_and_errors_missing(tmp_path: Path) -> None:
    cells = {
        "A1": 2020, "A2": 1, "A3": "x", "A4": 1.5, "A5": dt.date(2020, 1, 31), "A6": True,
        "B1": "t", "B2": dt.datetime(2020, 1, 31, 12), "B3": dt.datetime(2020, 1, 1), "B6": None,
        "C1": "e", "C2": "#N/A", "C3": 3, "C6": 4,
        "D1": "b", "D2": True, "D3": False,
    }  # fmt: skip
    path = workbook(tmp_path / "a.xlsx", cells)
    frame = read(path, Input())
    assert frame.columns == ["2020", "t", "e", "b"]
    assert frame["2020"].to_list() == ["1", "x", "1.5", "2020-01-31", "TRUE"]
    assert frame["t"].to_list()[:2] == [dt.datetime(2020, 1, 31, 12), dt.datetime(2020, 1, 1)]
    assert frame["e"].to_list() == [None, 3, None, None, 4]
    names, rows = loaded(path)
    assert names == frame.columns
    assert [row[0] for row in rows] == frame["2020"].to_list()
    assert [row[1] for row in rows][:2] == ["2020-01-31 12:00:00", "2020-01-01 00:00:00"]
    assert [row[2] for row in rows] == [None, "3", None, None, "4"]


def test_a_sheet_may_have_no_header(tmp_path: Path) -> None:
    path = workbook(tmp_path / "a.xlsx", {"A1": 1, "B1": "x", "A2": 2, "B2": "y"})
    given = {"header": False, "names": ["number", "letter"]}
    assert read(path, Input(**given)).rows() == [(1, "x"), (2, "y")]
    assert loaded(path, **given) == (["number", "letter"], [("1", "x"), ("2", "y")])


def fault(path: Path, **given: object) -> ShoalError:
    with pytest.raises(ShoalError) as caught:
        read(path, Input(**given))  # type: ignore[arg-type]
    return caught.value


def test_hidden_sheets_are_named_and_may_be_chosen(tmp_path: Path) -> None:
    book = openpyxl.Workbook()
    book.active.append(["a"])
    hidden = book.create_sheet("Key")
    hidden.sheet_state = "hidden"
    hidden.append(["b"])
    hidden.append([1])
    book.save(tmp_path / "a.xlsx")
    error = fault(tmp_path / "a.xlsx")
    assert (error.code, "`Sheet`, `Key` (hidden)" in error.message) == ("data.table", True)
    assert read(tmp_path / "a.xlsx", Input(table="Key")).rows() == [(1,)]
    assert "did you mean `Key`?" in fault(tmp_path / "a.xlsx", table="key").hint


def test_saved_results_of_formulas_are_read(tmp_path: Path) -> None:
    path = workbook(tmp_path / "a.xlsx", {"A1": "a", "A2": "=1+1", "A3": "=2+2"})
    assert "saved result in the sheet `Sheet`: 2." in fault(path).message

    def computed(name: str, content: str) -> str:
        return content.replace('fullCalcOnLoad="1"', "").replace("<f>1+1</f><v />", "<f>1+1</f><v>2</v>")

    rewrite(path, computed)
    assert "saved result in the sheet `Sheet`: 1." in fault(path).message
    rewrite(path, lambda name, content: content.replace("<f>2+2</f><v />", "<f>2+2</f><v>4</v>"))
    assert read(path, Input())["a"].to_list() == [2, 4]
    assert loaded(path)[1] == [("2",), ("4",)]


def rewrite(path: Path, change: object) -> None:
    """Change the XML in a workbook."""
    with zipfile.ZipFile(path) as archive:
        parts = {name: archive.read(name).decode() for name in archive.namelist()}
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in parts.items():
            archive.writestr(name, change(name, content))  # type: ignore[operator]


# Codes and labels.


def test_labels_replace_codes_and_codes_without_one_stay(tmp_path: Path) -> None:
    path = tmp_path / "a.sav"
    frame = pd.DataFrame(
        {"sex": [1.0, 2.0, 7.0, 9.0], "size": [1.0, 2.0, 3.0, -1.0], "t": ["a", "b", "", "c"]}
    )
    labels = {"sex": {1.0: "male", 9.0: "refused"}, "size": {1.0: "small"}, "t": {"a": "Alpha"}}
    missing = {"sex": [9.0], "size": [{"lo": -9.0, "hi": -1.0}], "t": ["c"]}
    pyreadstat.write_sav(frame, str(path), variable_value_labels=labels, missing_ranges=missing)
    expected = [
        (
            {},
            {
                "sex": ["male", "2", "7", None],
                "size": ["small", "2", "3", None],
                "t": ["Alpha", "b", None, None],
            },
        ),
        ({"labels": False}, {"sex": ["1", "2", "7", None], "size": ["1", "2", "3", None]}),
        ({"labels": ["sex"]}, {"sex": ["male", "2", "7", None], "size": ["1", "2", "3", None]}),
        (
            {"missing_codes": "values"},
            {
                "sex": ["male", "2", "7", "refused"],
                "size": ["small", "2", "3", "-1"],
                "t": ["Alpha", "b", None, "c"],
            },
        ),
    ]
    for given, columns in expected:
        found = read(path, Input(**given))  # type: ignore[arg-type]
        names, rows = loaded(path, **given)  # type: ignore[arg-type]
        for name, cells in columns.items():
            assert found[name].cast(pl.String).to_list() == cells
            assert [row[names.index(name)] for row in rows] == cells
    assert read(path, Input(labels=False))["sex"].dtype == pl.Int64
    assert fault(path, labels=["sexx"]).code == "recipe.unknown_column"


def test_letters_for_missing_values_of_stata_are_missing_or_values(tmp_path: Path) -> None:
    path = tmp_path / "a.dta"
    frame = pd.DataFrame({"sex": [1, "a", 2, "b"], "age": [1.5, 2.0, 3.0, 4.0]})
    pyreadstat.write_dta(
        frame,
        str(path),
        variable_value_labels={"sex": {1: "male", "a": "refused"}},
        missing_user_values={"sex": ["a", "b"]},
    )
    for how, cells in {"missing": ["male", None, "2", None], "values": ["male", "refused", "2", "b"]}.items():
        assert read(path, Input(missing_codes=how))["sex"].to_list() == cells
        assert [row[0] for row in loaded(path, missing_codes=how)[1]] == cells


def test_dates_of_stata_in_any_display_format_are_dates_and_months_stay_numbers(tmp_path: Path) -> None:
    path = tmp_path / "a.dta"
    frame = pd.DataFrame({"d": [0.0, 31.0], "m": [0.0, 1.0], "t": [0.0, 3_600_000.0]})
    formats = {"d": "%tdDD/NN/CCYY", "m": "%tm", "t": "%tcDD-Mon-CCYY_HH:MM"}
    pyreadstat.write_dta(frame, str(path), variable_format=formats)
    found = read(path, Input())
    assert found["d"].to_list() == [dt.date(1960, 1, 1), dt.date(1960, 2, 1)]
    assert found["t"].to_list() == [dt.datetime(1960, 1, 1), dt.datetime(1960, 1, 1, 1)]
    assert found["m"].to_list() == [0, 1]
    assert loaded(path)[1] == [
        ("1960-01-01", "0", "1960-01-01 00:00:00"),
        ("1960-02-01", "1", "1960-01-01 01:00:00"),
    ]


def test_dates_and_long_texts_of_spss_are_read_alike(tmp_path: Path) -> None:
    path = tmp_path / "a.sav"
    moment = dt.datetime(2020, 1, 31, 12, 30)
    long = "".join(f"{at:04d}" for at in range(200)) + "ü"
    frame = pd.DataFrame(
        {"a_name_of_many_letters": [moment, None], "t": [dt.time(1, 2, 3)] * 2, "s": [long, "x"]}
    )
    pyreadstat.write_sav(frame, str(path), variable_value_labels={"s": {"x": "label"}})
    found = read(path, Input())
    assert found.rows() == [(moment, dt.time(1, 2, 3), long), (None, dt.time(1, 2, 3), "label")]
    names, rows = loaded(path)
    assert names == found.columns
    assert rows == [("2020-01-31 12:30:00", "01:02:03", long), (None, "01:02:03", "label")]


def test_a_catalog_labels_the_codes_of_a_sas_file_and_is_not_verified(tmp_path: Path) -> None:
    path, catalog = tmp_path / "a.sas7bdat", tmp_path / "formats.sas7bcat"
    write_sas(path, [("sex", 0), ("age", 0)], [(1.0, 31.0), (2.0, 32.0)], {"sex": "SEXF"})
    write_catalog(catalog, "SEXF", {1.0: "male", 2.0: "female"})
    assert read(path, Input())["sex"].to_list() == [1, 2]
    assert read(path, Input(catalog=str(catalog)))["sex"].to_list() == ["male", "female"]
    with pytest.raises(ShoalError, match="No second library reads a catalog"):
        loaded(path, catalog=str(catalog))
    assert loaded(path)[1] == [("1", "31"), ("2", "32")]


# Databases.


def test_values_of_several_types_in_a_column_of_sqlite(tmp_path: Path) -> None:
    path = tmp_path / "a.sqlite"
    with sqlite3.connect(path) as database:
        database.execute('CREATE TABLE "a ""b" (x, y, z)')
        database.execute("CREATE VIEW v AS SELECT 1")
        database.executemany('INSERT INTO "a ""b" VALUES (?, ?, ?)', [(1, 1.5, b"\0"), ("it's", 2, None)])
    database.close()
    found = read(path, Input(), lambda names: {"x", "y"})
    assert found.rows() == [("1", 1.5), ("it's", 2.0)]
    assert [row[:2] for row in loaded(path)[1]] == [("1", "1.5"), ("it's", "2.0")]
    assert fault(path).code == "data.kind"


def test_a_database_that_is_being_written_is_read_as_committed(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    people.by_sqlite3_with_log(path)
    writer = sqlite3.connect(path)
    writer.execute("INSERT INTO people (name, age) VALUES ('Di', 44)")
    writer.commit()
    assert read(path, Input()).height == loaded(path)[1].__len__() == 5
    writer.close()


def test_texts_that_a_database_computes_are_limited(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "UNPACKED", 1 << 20)
    path = tmp_path / "a.sqlite"
    with sqlite3.connect(path) as database:
        database.execute("CREATE TABLE t (a, b TEXT AS (hex(zeroblob(1000000))) VIRTUAL)")
        database.executemany("INSERT INTO t VALUES (?)", [(at,) for at in range(20)])
    database.close()
    assert fault(path).code == "data.too_large"


# What unpacks to too much.


def zeros(path: Path, megabytes: int) -> None:
    path.write_bytes(gzip.compress(b"0" * (1 << 20)) * megabytes)


def test_a_compressed_bomb_is_refused_in_little_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "bomb.csv.gz"
    zeros(path, 200)
    monkeypatch.setattr(limits, "UNPACKED", 1 << 22)
    monkeypatch.setattr(limits, "RATIO", 10)
    tracemalloc.start()
    try:
        error = fault(path)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert error.code == "data.too_large"
    assert peak < 1 << 25


@pytest.mark.parametrize("name", ["bomb.csv.zip", "bomb.xlsx"])
def test_an_archive_that_lies_about_its_size_is_refused(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / name
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("people.csv", b"0" * (1 << 23))
    content = path.read_bytes()
    true, false = struct.pack("<I", 1 << 23), struct.pack("<I", 10)
    path.write_bytes(content.replace(true, false))
    monkeypatch.setattr(limits, "UNPACKED", 1 << 20)
    monkeypatch.setattr(limits, "RATIO", 10)
    assert fault(path).code == "data.too_large"


def test_a_sheet_with_one_cell_far_away_is_refused(tmp_path: Path) -> None:
    path = workbook(tmp_path / "a.xlsx", {"A1": "a", "XFD1048576": 1})
    assert fault(path).code == "data.too_large"
    # Cells without a place of their own come one after the other.
    rewrite(path, lambda name, content: content.replace('r="XFD1048576"', "").replace('r="1048576"', ""))
    assert read(path, Input()).rows() == [(1,)]


def test_more_cells_than_bytes_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "CELLS", 1000)
    monkeypatch.setattr(limits, "CELLS_PER_BYTE", 1)
    folder = tmp_path / "parts"
    folder.mkdir()
    pl.DataFrame({"a": [1] * 20_000}).write_parquet(folder / "a.parquet")
    assert fault(folder).code == "data.too_large"
    pyreadstat.write_sav(pd.DataFrame({"a": [1.0] * 20_000}), str(tmp_path / "a.zsav"), compress=True)
    assert fault(tmp_path / "a.zsav").code == "data.too_large"


# Several files.


def test_a_pattern_stands_for_the_files_that_match(tmp_path: Path) -> None:
    people.as_folder(tmp_path / "2025")
    people.as_folder(tmp_path / "2026")
    pattern = tmp_path / "20*" / "part-*.parquet"
    assert read(pattern, Input()).height == len(loaded(pattern)[1]) == 8
    assert read(tmp_path / "2025" / "part-[1]*", Input()).height == 2
    verdict = shoal.verify(anonymized(tmp_path / "2026"), recipe(), original=pattern, manifest=False)
    assert [problem.code for problem in verdict.problems] == ["verify.original_rows"]


@pytest.mark.parametrize("source", ["parts", "parts/part-*.parquet"])
def test_no_part_is_overwritten(source: str, tmp_path: Path) -> None:
    people.as_folder(tmp_path / "parts")
    before = snapshot(tmp_path)
    out = tmp_path / "parts" / "part-0.parquet"
    roles = ("--quasi", "age,zip", "--default", "drop", "--k", "2")
    found = run("anonymize", tmp_path / source, *roles, "--force", "-o", out)
    assert "error [output.unwritable]: " in found.stderr
    assert snapshot(tmp_path) == before


# Libraries.


@pytest.mark.parametrize(("name", "extra"), [("people.xlsx", "excel"), ("people.sav", "statistics")])
def test_a_missing_library_is_named_with_the_command_that_installs_it(
    name: str, extra: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def missing(library: str) -> None:
        raise ImportError(library)

    monkeypatch.setattr(optional, "import_module", missing)
    (tmp_path / name).write_bytes(b"")
    error = fault(tmp_path / name)
    assert (error.code, error.hint) == ("recipe.not_available", f'pip install "shoal[{extra}]"')


def test_spark_refuses_what_it_would_take_for_text() -> None:
    with pytest.raises(ShoalError, match="The engine spark does not read"):
        _read(None, Recipe.from_roles(quasi=["age"], k=2), "file:///people.xlsx")


def test_an_output_in_a_format_that_is_only_read_is_refused(tmp_path: Path) -> None:
    (tmp_path / "people.csv").write_bytes(people.CSV)
    for name in ("out.xlsx", "out.csv.gz", "out.sav"):
        roles = ("--quasi", "age,zip", "--default", "drop", "--k", "2")
        found = run("anonymize", tmp_path / "people.csv", *roles, "-o", tmp_path / name)
        assert "reads but does not write" in found.stderr
