"""A release in a folder of parts, as DuckDB reads it."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow import parquet
from typer.testing import CliRunner

from shoal.cli.main import app
from shoal.errors import DataError
from shoal.recipe import Recipe
from shoal.verifier import Verdict, verify

RECIPE = Recipe.from_roles(quasi=["a"], sensitive=["s"], k=2)


def folder_of(place: Path, **parts: str) -> Path:
    """Write text files; the names are those of the parts without their ending."""
    place.mkdir()
    for name, content in parts.items():
        (place / f"{name.replace('_', '-')}.csv").write_text(content, encoding="utf-8")
    return place


def problems(verdict: Verdict) -> list[tuple[str, str]]:
    return [(problem.code, problem.message) for problem in verdict.problems]


def test_parts_are_one_table_in_the_order_of_their_numbers(tmp_path: Path) -> None:
    parts = {f"part_{at:05d}": f"a,s\n{at % 2},x\n{at % 2},{at}\n" for at in range(12)}
    folder = folder_of(tmp_path / "out.csv", **parts)
    people = pa.array([person for at in range(12) for person in (f"p{at % 2}", f"p{at % 2}")])

    assert verify(folder, RECIPE).holds
    verdict = verify(folder, RECIPE, subjects=people)

    assert (verdict.rows, verdict.classes, verdict.k) == (24, 2, 1)  # all rows of a class are one person's


def test_a_missing_part_and_a_foreign_file_are_problems(tmp_path: Path) -> None:
    text = "a,s\n1,x\n1,y\n"
    folder = folder_of(tmp_path / "out.csv", part_00000=text, part_00003=text, part_3=text, notes="x\n")

    verdict = verify(folder, RECIPE)

    assert verdict.rows == 4
    assert problems(verdict) == [
        ("verify.parts", "2 parts missing from the folder: `part-00001.csv`, `part-00002.csv`."),
        ("verify.parts", "The folder has 2 files besides the parts: `notes.csv`, `part-3.csv`."),
    ]


@pytest.mark.parametrize("other", ["s,a\nx,1\n", "a,s,t\n1,x,2\n", "a;s\n1;x\n", "Xq7Secret,Xq8\n1,x\n"])
def test_parts_with_other_headers_are_a_problem(tmp_path: Path, other: str) -> None:
    folder = folder_of(tmp_path / "out.csv", part_00000="a,s\n1,x\n1,y\n", part_00001=other)

    message = "1 part with other columns than part-00000.csv has: `part-00001.csv`."
    verdict = verify(folder, RECIPE)
    assert problems(verdict) == [("verify.parts", message)]
    assert "Xq" not in f"{verdict} {verdict!r} {verdict.to_dict()}"


def test_parts_of_other_types_are_a_problem(tmp_path: Path) -> None:
    folder = tmp_path / "out.parquet"
    folder.mkdir()
    parquet.write_table(pa.table({"a": [1, 1], "s": ["x", "y"]}), folder / "part-00000.parquet")
    parquet.write_table(pa.table({"a": ["1", "1"], "s": ["x", "y"]}), folder / "part-00001.parquet")

    assert [code for code, _ in problems(verify(folder, RECIPE))] == ["verify.parts"]


def test_a_part_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    folder = folder_of(tmp_path / "out.csv", part_00000="a,s\n1,x\n1,y\n", part_00001="a,s\n1\n")
    message = "part-00001.csv: 1 line has more or fewer cells than the header, which has 2 cells."

    assert problems(verify(folder, RECIPE)) == [("verify.ragged", message)]
    (folder / "part-00001.csv").write_text("", encoding="utf-8")
    assert problems(verify(folder, RECIPE)) == [("verify.empty", "part-00001.csv: The file is empty.")]


def test_a_folder_without_parts(tmp_path: Path) -> None:
    folder = folder_of(tmp_path / "out.csv")
    with pytest.raises(DataError, match="empty directory"):
        verify(folder, RECIPE)
    (folder / "other.csv").write_text("a,s\n", encoding="utf-8")
    assert [code for code, _ in problems(verify(folder, RECIPE))] == ["verify.parts", "verify.empty"]
    with pytest.raises(DataError, match="does not end in"):
        verify(tmp_path, RECIPE)


def test_files_are_compared_with_the_manifest(tmp_path: Path) -> None:
    text = "a,s\n1,x\n1,y\n"
    folder = folder_of(tmp_path / "out.csv", part_00000=text, part_00001=text)
    manifest = tmp_path / "out.csv.manifest.json"
    manifest.write_text(json.dumps({"release": {"files": {"part-00000.csv": "0", "part-00002.csv": "0"}}}))

    assert problems(verify(folder, RECIPE)) == [
        ("verify.digest", "1 file other than the manifest describes: `part-00000.csv`."),
        ("verify.digest", "1 file that the manifest does not describe: `part-00001.csv`."),
        ("verify.digest", "1 file of the manifest missing from the folder: `part-00002.csv`."),
    ]
    manifest.write_text(json.dumps({"release": {"sha256": "0"}}))
    assert problems(verify(folder, RECIPE)) == [
        ("verify.digest", "The manifest describes one file, not a folder.")
    ]
    manifest.write_text("{")
    assert [code for code, _ in problems(verify(folder, RECIPE))] == ["verify.digest"]


@pytest.mark.parametrize("as_parquet", [False, True])
def test_an_original_may_be_a_folder(tmp_path: Path, as_parquet: bool) -> None:
    released = folder_of(tmp_path / "out.csv", part_00000='a,s\n"[1, 2]",x\n', part_00001='a,s\n"[1, 2]",y\n')
    raw = folder_of(tmp_path / "raw", _SUCCESS="", part_1="a,s\n1,x\n", part_2="a,s\n2,y\n")
    (raw / "-SUCCESS.csv").rename(raw / "_SUCCESS")
    if as_parquet:
        for at, file in enumerate(sorted(raw.glob("*.csv")), 1):
            parquet.write_table(pa.table({"a": [at], "s": ["xy"[at - 1]]}), file.with_suffix(".parquet"))
            file.unlink()

    assert verify(released, RECIPE, original=raw).holds
    result = CliRunner().invoke(
        app, ["verify", str(released), "--quasi=a", "--sensitive=s", "--k=2", "--original", str(raw)]
    )
    assert result.exit_code == 0, result.output
    sorted(raw.iterdir())[1].unlink()
    found = [code for code, _ in problems(verify(released, RECIPE, original=raw))]
    assert found == ["verify.original_rows", "verify.original_values"]


def test_an_original_of_several_formats_is_refused(tmp_path: Path) -> None:
    released = folder_of(tmp_path / "out.csv", part_00000="a,s\n1,x\n1,y\n")
    raw = folder_of(tmp_path / "raw", one="a,s\n1,x\n", two="a,t\n1,x\n")

    with pytest.raises(DataError, match="other columns"):
        verify(released, RECIPE, original=raw)
    (raw / "two.csv").rename(raw / "two.parquet")
    with pytest.raises(DataError, match="several formats"):
        verify(released, RECIPE, original=raw)
