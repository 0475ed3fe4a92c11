"""Two verifiers that do not agree about a release: it is not accepted, whichever of them is right."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from shoal.errors import PromiseError
from shoal.release import folder
from shoal.release.acceptance import agree
from shoal.verifier.verdict import MeasuredGoal, Problem, Verdict

GOAL = MeasuredGoal("t-closeness", "ill", 0.5, 0.1 + 0.2, True, "equal")
FOUND = Verdict(True, 90, 12, 5, (GOAL,), (), k_wildcard=7, remarks=("a remark",))
OTHERS: dict[str, Any] = {
    "holds": False,
    "rows": 91,
    "classes": 11,
    "k": 6,
    "k_wildcard": None,
    "problems": (Problem("verify.k", "a problem"),),
    "goals": (replace(GOAL, achieved=0.31),),
}


@pytest.mark.parametrize("name", OTHERS)
def test_every_number_is_compared(name: str) -> None:
    agree(FOUND, replace(FOUND, goals=(replace(GOAL, achieved=0.3),)))  # the last digit of a float is not
    agree(FOUND, replace(FOUND, remarks=()))  # Spark does not look for all dangers
    with pytest.raises(PromiseError, match=f"`{name}` differ"):
        agree(FOUND, replace(FOUND, **{name: OTHERS[name]}))


def test_a_goal_that_only_one_measures_is_found() -> None:
    for goals in ((), (GOAL, GOAL), (replace(GOAL, counts="people"),)):
        with pytest.raises(PromiseError, match="`goals` differ"):
            agree(FOUND, replace(FOUND, goals=goals))


def test_both_verdicts_about_a_folder_are_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    class Anything:
        def __getattr__(self, name: str) -> Any:
            return None

    recipe: Any = Anything()
    release: Any = Anything()
    release.recipe, release.numbers = recipe, type("Numbers", (), {"released": 90})()
    monkeypatch.setattr(folder, "accept", lambda *_: None)
    monkeypatch.setattr(folder, "verify_folder", lambda *_, **__: FOUND)
    monkeypatch.setattr(folder, "verify", lambda *_, **__: replace(FOUND, k_wildcard=8))
    rows: Any = Anything()
    with pytest.raises(PromiseError, match="k_wildcard"):
        folder._verify_written(release, rows, recipe)
