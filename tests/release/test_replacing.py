"""A folder gets the name of an earlier one: a process killed at any moment loses neither of them."""

from __future__ import annotations

import hashlib
import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from shoal.recipe import Recipe
from shoal.release import replacing
from shoal.table.leftovers import remove_leftovers
from shoal.verifier import verify

RECIPE = Recipe.from_roles(quasi=["age"], k=2)
# Replaces the folder and its manifest, and is killed before the n-th change of a name.
SCRIPT = """
import os, signal, sys
from pathlib import Path
from shoal.release import folder, replacing

def counted(change):
    def run(*given):
        global left
        if left == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        left -= 1
        return change(*given)
    return run

left, place = int(sys.argv[1]), Path(sys.argv[2])
Path.rename, os.replace = counted(Path.rename), counted(os.replace)
replacing.exchange = counted(replacing.exchange) if sys.argv[3] == "exchange" else lambda *_: False
target = place / "out.csv"
with folder._hidden_folder(target) as hidden:
    made = hidden / "rows.csv"
    os.rename(place / "new.csv", made)
    with replacing.replaced(target, made):
        os.replace(place / "new.json", place / "out.csv.manifest.json")
"""


def folder_of(place: Path, ages: str) -> None:
    place.mkdir()
    (place / "part-00000.csv").write_text("age\n" + "".join(f"{age}\n" for age in ages), encoding="utf-8")


def manifest_of(folder: Path, place: Path) -> None:
    digest = hashlib.sha256((folder / "part-00000.csv").read_bytes()).hexdigest()
    release = {"files": {"part-00000.csv": digest}}
    place.write_text(json.dumps({"release": release}), encoding="utf-8")


@pytest.mark.skipif(sys.platform == "win32", reason="nothing can be killed like that")
@pytest.mark.parametrize(
    ("way", "moments"), [pytest.param("exchange", 2, id="exchange"), pytest.param("aside", 3, id="aside")]
)
def test_a_killed_process_leaves_one_of_both_or_is_found_out(tmp_path: Path, way: str, moments: int) -> None:
    outcomes = []
    for moment in range(moments + 1):
        place = tmp_path / str(moment)
        place.mkdir()
        target, manifest = place / "out.csv", place / "out.csv.manifest.json"
        folder_of(target, "1122")
        manifest_of(target, manifest)
        folder_of(place / "new.csv", "3344")
        manifest_of(place / "new.csv", place / "new.json")
        command = [sys.executable, "-c", SCRIPT, str(moment), str(place), way]
        ended = subprocess.run(command, check=False)
        assert (ended.returncode == 0) is (moment == moments)

        remove_leftovers(place)  # as the next run does, which then looks for an earlier release
        replacing.give_back(target)

        rows = (target / "part-00000.csv").read_text(encoding="utf-8").split()[1]
        outcomes.append((rows, [problem.code for problem in verify(target, RECIPE).problems]))
        names = {file.name for file in place.iterdir()} - {"new.csv", "new.json"}
        assert names == {"out.csv", "out.csv.manifest.json"}
    before, between, after = ("1", []), ("3", ["verify.digest"]), ("3", [])
    assert outcomes == [*[before] * (moments - 1), between, after]


@pytest.mark.parametrize("can_exchange", [True, False])
@pytest.mark.parametrize("is_first", [True, False])
def test_what_fails_is_undone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, can_exchange: bool, is_first: bool
) -> None:
    if not can_exchange:
        monkeypatch.setattr(replacing, "exchange", lambda *_: False)
    target, made = tmp_path / "out.csv", tmp_path / "made.csv"
    folder_of(made, "33")
    if not is_first:
        folder_of(target, "11")
    with pytest.raises(KeyboardInterrupt), replacing.replaced(target, made):
        _interrupt("3" in (target / "part-00000.csv").read_text(encoding="utf-8"))
    assert "3" in (made / "part-00000.csv").read_text(encoding="utf-8")
    assert target.exists() is not is_first
    assert is_first or "1" in (target / "part-00000.csv").read_text(encoding="utf-8")
    assert {file.name for file in tmp_path.iterdir()} <= {"out.csv", "made.csv"}
    with replacing.replaced(target, made):
        shutil.rmtree(made, ignore_errors=True)
    assert [file.name for file in tmp_path.iterdir()] == ["out.csv"]


def _interrupt(is_new: bool) -> None:
    assert is_new
    raise KeyboardInterrupt
