"""The header of a release against the recipe."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from shoal.cli.main import app
from shoal.recipe import Recipe
from shoal.verifier import Verdict, verify

RECIPE = Recipe.from_roles(
    quasi=["age", "zip"], sensitive=["disease"], keep=["note"], identifiers=["name"], drop=["x"], k=2
)
ROW = {"age": "1", "zip": "2", "disease": "flu", "note": "n"}


def judge(folder: Path, header: list[str], **options: Any) -> Verdict:
    path = folder / "out.csv"
    line = ",".join(ROW.get(name, "v") for name in header)
    path.write_text("\n".join([",".join(header), line, line, ""]), encoding="utf-8")
    return verify(path, RECIPE, **options)


def test_columns_in_any_order_are_fine(tmp_path: Path) -> None:
    assert judge(tmp_path, ["note", "zip", "disease", "age"]).holds


@pytest.mark.parametrize("gone", ["age", "zip", "disease", "note"])
def test_a_column_that_was_promised_is_missed(tmp_path: Path, gone: str) -> None:
    verdict = judge(tmp_path, [name for name in ROW if name != gone])

    assert not verdict.holds
    assert [p.code for p in verdict.problems] == ["verify.missing_column"]
    assert f"`{gone}`" in verdict.problems[0].message
    # Without a quasi column the classes are not known; without another they are.
    assert verdict.k == (0 if gone in RECIPE.quasi else 2)
    assert verdict.goals[0].holds is (gone not in RECIPE.quasi)
    assert verdict.rows == 2


@pytest.mark.parametrize("extra", ["name", "x", "ssn"])
def test_columns_that_were_not_promised_are_never_allowed(tmp_path: Path, extra: str) -> None:
    """An identifier, a dropped column, and one that the recipe does not know."""
    verdict = judge(tmp_path, [*ROW, extra])

    assert not verdict.holds
    assert [p.code for p in verdict.problems] == ["verify.forbidden_column"]
    assert f"`{extra}`" in verdict.problems[0].message


def test_with_flags_a_column_that_no_flag_names_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "out.csv"
    path.write_text("age,disease,ssn\n" + "".join(f"31,flu,{row}\n" for row in range(4)), encoding="utf-8")
    flags = ["verify", str(path), "--quasi", "age", "--sensitive", "disease", "--k", "2"]

    refused = CliRunner().invoke(app, flags)

    assert refused.exit_code == 1
    assert "verify.forbidden_column" in refused.output
    assert "`ssn`" in refused.output


@pytest.mark.parametrize("twice", ["age", "disease"])
def test_a_name_that_stands_twice_is_a_problem(tmp_path: Path, twice: str) -> None:
    verdict = judge(tmp_path, [*ROW, twice])

    assert not verdict.holds
    assert [p.code for p in verdict.problems] == ["verify.duplicate_column"]
    assert verdict.k == (0 if twice in RECIPE.quasi else 2)


def test_names_that_differ_in_case_only_are_two_columns(tmp_path: Path) -> None:
    path = tmp_path / "out.csv"
    path.write_text("a,A\n1,2\n1,3\n", encoding="utf-8")

    verdict = verify(path, Recipe.from_roles(quasi=["A"], keep=["a"], k=2))

    assert (verdict.classes, verdict.k) == (2, 1)


@pytest.mark.parametrize(
    "name",
    ['say "hi"', "it's", "a b", "a,b", "a\nb", "SELECT", "c0", "", "é", "a`b", '"; DROP TABLE released; --'],
)
def test_names_may_hold_anything(tmp_path: Path, name: str) -> None:
    path = tmp_path / "out.csv"
    quoted = '"' + name.replace('"', '""') + '"'
    path.write_text(f"other,{quoted}\n1,x\n2,x\n3,y\n", encoding="utf-8")

    verdict = verify(path, Recipe.from_roles(quasi=[name], keep=["other"], k=2))

    assert (verdict.rows, verdict.classes, verdict.k) == (3, 2, 1)
    assert [p.code for p in verdict.problems] == ["verify.k"]


def test_a_first_row_that_stands_for_the_header_is_not_quoted(tmp_path: Path) -> None:
    path = tmp_path / "out.csv"
    path.write_text("34,Miller,Miller,flu\n35,Smith,x,cold\n", encoding="utf-8")

    verdict = verify(path, RECIPE)

    codes = ["verify.missing_column", "verify.forbidden_column", "verify.duplicate_column"]
    assert [p.code for p in verdict.problems] == codes
    assert "column 1, column 2, column 3, column 4" in verdict.problems[1].message
    assert not any(cell in str(verdict) for cell in ("Miller", "34", "flu"))
