"""Parquet, Arrow, Feather and tables in memory, where cells have types."""

from __future__ import annotations

import datetime
from pathlib import Path

import polars as pl
import pyarrow as pa
import pytest
from pyarrow import feather, ipc, parquet

from shoal.recipe import Recipe
from shoal.verifier import Verdict, verify, verify_table

RECIPE = Recipe.from_dict(
    {
        "columns": {
            "age": {"role": "quasi", "kind": "numeric"},
            "born": {"role": "quasi", "kind": "date"},
            "job": {"role": "quasi", "kind": "categorical"},
            "disease": {"role": "sensitive"},
        },
        "privacy": {"k": 2},
    }
)
DAY = datetime.date(2020, 1, 31)
TABLE = pa.table(
    {
        "age": pa.array([1, 1, 2, 2, None, None], pa.int64()),
        "born": pa.array([DAY] * 6, pa.date32()),
        "job": pa.array(["x", "x", "{x, y}", "{x, y}", "", None]).dictionary_encode(),
        "disease": pa.array(["a", "b", "c", "d", "e", "f"]),
    }
)
ENDINGS = [".parquet", ".arrow", ".stream.arrow", ".feather"]


def write(path: Path, table: pa.Table) -> Path:
    if path.name.endswith(".stream.arrow"):
        with ipc.new_stream(path, table.schema) as writer:
            writer.write_table(table)
    elif path.suffix == ".arrow":
        with ipc.new_file(path, table.schema) as writer:
            writer.write_table(table)
    elif path.suffix == ".feather":
        feather.write_feather(table, str(path))
    else:
        parquet.write_table(table, path)
    return path


def both(folder: Path, table: pa.Table, ending: str, recipe: Recipe = RECIPE) -> Verdict:
    """Judge the file; the table in memory must come out the same."""
    verdict = verify(write(folder / f"out{ending}", table), recipe)
    assert verdict == verify_table(table, recipe)
    return verdict


@pytest.mark.parametrize("ending", ENDINGS)
def test_typed_cells_are_judged_by_their_text(tmp_path: Path, ending: str) -> None:
    verdict = both(tmp_path, TABLE, ending)

    # The last two rows are one class: missing and empty are the same.
    assert (verdict.holds, verdict.rows, verdict.classes, verdict.k) == (True, 6, 3, 2)


@pytest.mark.parametrize("ending", ENDINGS)
def test_a_class_too_small_is_found(tmp_path: Path, ending: str) -> None:
    verdict = both(tmp_path, TABLE.slice(0, 5), ending)

    assert (verdict.k, [p.code for p in verdict.problems]) == (1, ["verify.k"])


@pytest.mark.parametrize("ending", ENDINGS)
def test_columns_are_told_apart_by_case_and_found_when_they_stand_twice(tmp_path: Path, ending: str) -> None:
    table = pa.table([[1, 1], [1, 2], [1, 1]], names=["A", "a", "b"])
    recipe = Recipe.from_roles(quasi=["a"], keep=["A", "b"], k=2)

    assert both(tmp_path, table, ending, recipe).classes == 2
    twice = both(tmp_path, table.rename_columns(["a", "a", "A"]), ending, recipe)
    assert [p.code for p in twice.problems] == ["verify.missing_column", "verify.duplicate_column"]


@pytest.mark.parametrize("ending", ENDINGS)
def test_an_index_column_is_forbidden(tmp_path: Path, ending: str) -> None:
    table = TABLE.append_column("__index_level_0__", pa.array(range(6)))

    assert [p.code for p in both(tmp_path, table, ending).problems] == ["verify.forbidden_column"]


@pytest.mark.parametrize("number", [float("nan"), float("inf")])
def test_numbers_that_are_none_are_no_published_form(tmp_path: Path, number: float) -> None:
    table = TABLE.set_column(0, "age", pa.array([number] * 6))

    assert "verify.form" in [p.code for p in both(tmp_path, table, ".parquet").problems]


def test_nested_columns_do_not_shift_the_names(tmp_path: Path) -> None:
    nested = pa.array([{"age": 1, "more": [{"job": 2}]}] * 6)
    sections = RECIPE.to_dict()
    sections["columns"]["n"] = {"role": "keep"}

    verdict = both(tmp_path, TABLE.add_column(0, "n", nested), ".parquet", Recipe.from_dict(sections))

    assert (verdict.holds, verdict.classes) == (True, 3)


@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize("name", ["age=5", "c0=5"])
def test_folders_named_like_columns_change_no_cells(tmp_path: Path, name: str, ending: str) -> None:
    (tmp_path / name).mkdir()

    assert both(tmp_path / name, TABLE, ending).classes == 3


@pytest.mark.parametrize("ending", ENDINGS)
def test_a_table_without_rows_never_holds(tmp_path: Path, ending: str) -> None:
    verdict = both(tmp_path, TABLE.slice(0, 0), ending)

    assert (verdict.holds, verdict.k, [p.code for p in verdict.problems]) == (False, 0, ["verify.empty"])


def test_a_table_without_columns_is_no_release() -> None:
    assert [p.code for p in verify_table(pa.table({}), RECIPE).problems] == ["verify.unreadable"]


@pytest.mark.parametrize("ending", [".parquet", ".arrow", ".feather"])
@pytest.mark.parametrize("damage", ["nothing", "text", "cut", "flipped"])
def test_damaged_files_are_refused(tmp_path: Path, ending: str, damage: str) -> None:
    path = write(tmp_path / f"out{ending}", TABLE)
    content = path.read_bytes()
    middle = len(content) // 2
    path.write_bytes(
        {
            "nothing": b"",
            "text": b"age,born\n1,2\n",
            "cut": content[:middle],
            "flipped": content[: middle - 200] + b"\xff" * (len(content) - middle + 200),
        }[damage]
    )

    verdict = verify(path, RECIPE)

    assert (verdict.holds, verdict.rows, verdict.k) == (False, 0, 0)
    assert [p.code for p in verdict.problems] == ["verify.unreadable"]


@pytest.mark.parametrize("ending", [".arrow", ".feather"])
def test_text_that_is_not_utf8_is_refused(tmp_path: Path, ending: str) -> None:
    offsets = pa.array([0, 1, 2, 3, 4, 5, 6], pa.int32()).buffers()[1]
    broken = pa.StringArray.from_buffers(6, offsets, pa.py_buffer(b"\xff" * 6))

    verdict = both(tmp_path, TABLE.set_column(2, "job", broken), ending)

    assert [p.code for p in verdict.problems] == ["verify.unreadable"]


@pytest.mark.parametrize(("told", "codes"), [(6, []), (5, ["verify.rows"])])
def test_the_makers_row_count_holds_for_tables_too(told: int, codes: list[str]) -> None:
    assert [p.code for p in verify_table(TABLE, RECIPE, rows=told).problems] == codes


@pytest.mark.parametrize("ending", [".csv", ".parquet", ".feather"])
def test_files_that_polars_writes_are_read(tmp_path: Path, ending: str) -> None:
    frame = pl.DataFrame(
        {
            "age": ["[1, 2]"] * 3 + [None] * 3,
            "born": [DAY] * 6,
            "job": ['{say "hi"\\, you, x}'] * 6,
            "disease": ["two\nlines", "a,b", '"', "", None, "a\rb"],
        }
    )
    path = tmp_path / f"out{ending}"
    {".csv": frame.write_csv, ".parquet": frame.write_parquet, ".feather": frame.write_ipc}[ending](path)

    verdict = verify(path, RECIPE)

    assert (verdict.holds, verdict.rows, verdict.classes, verdict.k) == (True, 6, 2, 3)
