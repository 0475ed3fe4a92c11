"""The numbers of a manifest compared with those of the file."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from shoal.recipe import Recipe
from shoal.verifier import Verdict, verify

# Two classes of 2 rows and one of 3; in each the most frequent value once or twice. Nobody is left out.
RELEASED = 'age,ill\n"[0, 1]",a\n"[0, 1]",b\n4,a\n4,a\n"[8, 10]",a\n"[8, 10]",b\n"[8, 10]",b\n'
RAW = "age,ill\n0,a\n1,b\n4,a\n4,a\n8,a\n9,b\n10,b\n"
MANIFEST: dict[str, Any] = {
    "release": {"rows": 7, "classes": 3},
    "suppressed": 0,
    "goals": [{"type": "k-anonymity", "column": None, "asked": 2, "achieved": 2, "holds": True}],
    # Widths 0.1 and 0.2 of the range: Total IL 2 x 0.1 + 3 x 0.2. 5 of 7 rows have the most frequent value.
    "loss": {"il": 0.8, "gcp": 0.114, "distortion_ratio": None, "dm": 17, "c_avg": 1.17, "cm": 0.286},
}


def judged(folder: Path, change: Callable[[dict[str, Any]], Any], *, original: bool) -> Verdict:
    manifest = json.loads(json.dumps(MANIFEST))
    change(manifest)
    (folder / "out.csv").write_text(RELEASED, encoding="utf-8")
    (folder / "raw.csv").write_text(RAW, encoding="utf-8")
    (folder / "out.csv.manifest.json").write_text(json.dumps(manifest), encoding="utf-8")
    asked = Recipe.from_roles(quasi=["age"], sensitive=["ill"], k=2)
    return verify(folder / "out.csv", asked, original=folder / "raw.csv" if original else None)


def messages(verdict: Verdict) -> list[str]:
    assert {problem.code for problem in verdict.problems} <= {"verify.manifest"}
    return [problem.message for problem in verdict.problems]


@pytest.mark.parametrize("original", [False, True])
def test_numbers_worked_by_hand_are_those_of_the_file(tmp_path: Path, original: bool) -> None:
    assert messages(judged(tmp_path, lambda manifest: None, original=original)) == []


@pytest.mark.parametrize(
    ("section", "name", "number", "without_original"),
    [
        ("release", "rows", 8, True),
        ("release", "classes", 2, True),
        ("release", "rows", "7", True),
        ("", "suppressed", 1, False),
        ("loss", "dm", 16, True),
        ("loss", "c_avg", 1.16, True),
        ("loss", "cm", 0.285, True),
        ("loss", "cm", None, True),
        ("loss", "il", 0.799, False),
        ("loss", "gcp", 0.113, False),
        ("loss", "distortion_ratio", 0.1, False),
    ],
)
def test_every_forged_number_is_found(
    tmp_path: Path, section: str, name: str, number: Any, without_original: bool
) -> None:
    def forge(manifest: dict[str, Any]) -> None:
        (manifest[section] if section else manifest)[name] = number

    shown = f"loss {name}" if section == "loss" else name
    found = messages(judged(tmp_path, forge, original=True))
    assert found == [f"Numbers in the manifest that differ from the file: `{shown}`."]
    found = messages(judged(tmp_path, forge, original=False))
    if name == "suppressed":  # the other numbers do not go with it
        assert found == [
            "Numbers in the manifest that differ from the file: `loss dm`, `loss c_avg`, `loss cm`."
        ]
    else:
        assert bool(found) is without_original


def test_a_forged_k_is_found(tmp_path: Path) -> None:
    def forge(manifest: dict[str, Any]) -> None:
        manifest["goals"][0]["achieved"] = 3

    found = messages(judged(tmp_path, forge, original=False))
    assert found == ["Numbers in the manifest that differ from the file: `k-anonymity`."]


def test_a_release_may_be_verified_for_other_goals_than_it_was_made_for(tmp_path: Path) -> None:
    judged(tmp_path, lambda manifest: None, original=False)
    goal = {"type": "l-diversity", "column": "ill", "l": 1}
    changes = {"privacy": {"goal": [goal]}}
    asked = Recipe.from_roles(quasi=["age"], sensitive=["ill"], k=2, changes=changes)
    assert verify(tmp_path / "out.csv", asked).holds


def test_people_that_the_file_cannot_tell_apart_are_not_compared(tmp_path: Path) -> None:
    def count_people(manifest: dict[str, Any]) -> None:
        manifest["goals"][0] |= {"achieved": 1, "counts": "people"}

    assert messages(judged(tmp_path, count_people, original=False)) == []
