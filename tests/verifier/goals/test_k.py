"""Classes, their sizes, and what is said about them."""

from __future__ import annotations

import csv
import tempfile
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.errors import RecipeError
from shoal.recipe import Recipe
from shoal.recipe.goals import LDiversity
from shoal.verifier import MeasuredGoal, Problem, Verdict, verify
from shoal.verifier.goals.registry import MEASURES
from shoal.verifier.verdict import conclude

AGE_SEX = Recipe.from_roles(quasi=["age", "sex"], sensitive=["disease"], k=3)
HELD = [("[20, 30]", "f", "flu")] * 3 + [("[31, 40]", "*", "cold")] * 4


def write(path: Path, header: tuple[str, ...], rows: list[tuple[str, ...]]) -> Path:
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(header)
        writer.writerows(rows)
    return path


def judge(folder: Path, cells: list[tuple[str, ...]], *, told: int | None = None) -> Verdict:
    return verify(write(folder / "out.csv", ("age", "sex", "disease"), cells), AGE_SEX, rows=told)


def test_a_release_with_classes_of_exactly_k_holds(tmp_path: Path) -> None:
    verdict = judge(tmp_path, HELD)

    assert verdict == Verdict(
        True, 7, 2, 3, (MeasuredGoal("k-anonymity", None, 3, 3, True),), (), k_wildcard=3
    )


def test_one_row_fewer_than_k_does_not_hold(tmp_path: Path) -> None:
    verdict = judge(tmp_path, HELD[1:])

    assert not verdict.holds
    assert verdict.goals == (MeasuredGoal("k-anonymity", None, 3, 2, False),)
    message = "2 rows are in 1 class smaller than k = 3; the smallest class has 2 rows."
    assert [(p.code, p.message) for p in verdict.problems] == [("verify.k", message)]


def test_a_changed_cell_is_a_class_of_its_own(tmp_path: Path) -> None:
    rows = [*HELD[:6], ("[31, 40]", "f", "cold"), *HELD]

    verdict = judge(tmp_path, rows)

    assert (verdict.classes, verdict.k) == (3, 1)
    assert verdict.problems[0].message == (
        "1 row is in 1 class smaller than k = 3; the smallest class has 1 row."
    )


def test_rows_of_all_small_classes_are_counted(tmp_path: Path) -> None:
    rows = HELD + [("1", "f", "flu")] * 2 + [("2", "f", "flu")] * 1 + [("3", "f", "flu")] * 1

    message = "4 rows are in 3 classes smaller than k = 3; the smallest class has 1 row."
    assert judge(tmp_path, rows).problems[0].message == message


def test_sensitive_values_do_not_split_classes(tmp_path: Path) -> None:
    assert judge(tmp_path, [("1", "f", "a"), ("1", "f", "b"), ("1", "f", "c")]).k == 3


@pytest.mark.parametrize("alone", [("", "f"), ("1", ""), ("", "")])
def test_missing_cells_are_a_class_of_their_own(tmp_path: Path, alone: tuple[str, str]) -> None:
    """Grouping that drops missing cells would find k = 3 here."""
    verdict = judge(tmp_path, [("1", "f", "flu")] * 3 + [(*alone, "flu")])

    assert (verdict.rows, verdict.classes, verdict.k) == (4, 2, 1)


def test_missing_cells_are_equal_to_each_other_quoted_or_not(tmp_path: Path) -> None:
    path = tmp_path / "out.csv"
    path.write_text('age,sex,disease\n,f,x\n"",f,y\n,f,z\n', encoding="utf-8")

    verdict = verify(path, AGE_SEX)

    assert (verdict.holds, verdict.classes, verdict.k) == (True, 1, 3)


@pytest.mark.parametrize("cells", [("1", "1.0"), ("a", "a "), ("a", "A"), ("\u00e9", "e\u0301"), ("0", "-0")])
def test_cells_that_read_differently_are_different(tmp_path: Path, cells: tuple[str, str]) -> None:
    assert judge(tmp_path, [(cell, "f", "flu") for cell in cells]).classes == 2


def test_a_table_of_headers_only_never_holds(tmp_path: Path) -> None:
    verdict = judge(tmp_path, [])

    assert (verdict.holds, verdict.rows, verdict.classes, verdict.k) == (False, 0, 0, 0)
    assert [p.code for p in verdict.problems] == ["verify.empty"]
    assert verdict.goals == (MeasuredGoal("k-anonymity", None, 3, 0, False),)


@pytest.mark.parametrize(("told", "codes"), [(7, []), (8, ["verify.rows"]), (0, ["verify.rows"])])
def test_the_number_of_rows_is_compared_with_the_makers(tmp_path: Path, told: int, codes: list[str]) -> None:
    verdict = judge(tmp_path, HELD, told=told)

    assert [p.code for p in verdict.problems] == codes
    assert verdict.holds is not bool(codes)


def test_the_json_has_exactly_the_keys_of_the_contract(tmp_path: Path) -> None:
    found = judge(tmp_path, HELD[1:]).to_dict()

    assert found == {
        "holds": False,
        "rows": 6,
        "classes": 2,
        "k": 2,
        "k_wildcard": 2,
        "goals": [
            {
                "type": "k-anonymity",
                "column": None,
                "asked": 3,
                "achieved": 2,
                "holds": False,
            }
        ],
        "problems": [
            {
                "code": "verify.k",
                "message": "2 rows are in 1 class smaller than k = 3; the smallest class has 2 rows.",
            }
        ],
        "remarks": [],
    }
    assert list(found) == ["holds", "rows", "classes", "k", "k_wildcard", "goals", "problems", "remarks"]


def test_the_text_of_a_verdict_says_what_holds(tmp_path: Path) -> None:
    good, bad = judge(tmp_path, HELD), judge(tmp_path, HELD[1:])

    assert str(good).splitlines()[0] == "The release holds: 7 rows in 2 classes, the smallest of 3."
    assert str(bad).splitlines()[0].startswith("The release does not hold: 6 rows")
    assert "verify.k" in repr(bad)
    assert "k=3" in repr(good)


def test_a_goal_that_cannot_be_measured_is_not_passed_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    goal = LDiversity(type="l-diversity", column="disease", l=1)
    recipe = AGE_SEX.model_copy(update={"privacy": AGE_SEX.privacy.model_copy(update={"goal": [goal]})})
    path = write(tmp_path / "out.csv", ("age", "sex", "disease"), HELD)
    assert verify(path, recipe).holds

    monkeypatch.delitem(MEASURES, "l-diversity")
    with pytest.raises(RecipeError) as caught:
        verify(path, recipe)

    assert caught.value.code == "recipe.not_available"


@pytest.mark.parametrize(("met", "problems"), [(False, ()), (True, (Problem("verify.rows", "x"),))])
def test_one_thing_wrong_is_enough(met: bool, problems: tuple[Problem, ...]) -> None:
    goal = MeasuredGoal("k-anonymity", None, 3, 3, met)

    assert not conclude(3, 1, 3, [goal], problems).holds
    assert conclude(3, 1, 3, [replace(goal, holds=True)], ()).holds


# Few letters, so that rows coincide; the rest is what breaks readers of CSV. A bare carriage
# return is left out: the csv module of Python 3.11 writes it unquoted, and no reader can know.
# So is an interval without ends, which shoal would have masked.
CELL = st.text(alphabet='ab,;"\n\t \\*[]{}é\u2028😀', max_size=3).filter(
    lambda text: not (text.startswith("[") and text.endswith("]"))
)
TABLE = st.integers(1, 3).flatmap(lambda width: st.lists(st.tuples(*[CELL] * width), min_size=1, max_size=12))


@given(TABLE, st.integers(2, 4), st.sampled_from([csv.QUOTE_MINIMAL, csv.QUOTE_ALL]))
def test_classes_agree_with_a_count_by_hand(rows: list[tuple[str, ...]], k: int, quoting: int) -> None:
    names = [f"q{i}" for i in range(len(rows[0]))]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "out.csv")
        with path.open("w", encoding="utf-8", newline="") as file:
            writer = csv.writer(file, lineterminator="\n", quoting=quoting)  # type: ignore[arg-type]
            writer.writerows([names, *rows])

        verdict = verify(path, Recipe.from_roles(quasi=names, k=k))

    sizes = Counter(rows).values()
    assert (verdict.rows, verdict.classes, verdict.k) == (len(rows), len(sizes), min(sizes))
    assert verdict.holds is (min(sizes) >= k)
