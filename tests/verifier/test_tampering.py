"""Whatever is changed in a release, verification beside the original finds it."""

from __future__ import annotations

from pathlib import Path

import pytest

import shoal
from tests.verifier.tampering import CASES, KINDS, PAGE, Tampering, release_all, run, table, tamper, verdicts


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> dict[int, list[bool]]:
    return run(tmp_path_factory.mktemp("tampered"))


def test_there_are_many_tampered_releases() -> None:
    assert len(CASES) >= 40
    assert {case.kind.title for case in CASES} == {kind.title for kind in KINDS}


def test_sound_releases_hold_in_every_way(tmp_path: Path) -> None:
    sound = release_all(tmp_path)
    for place, kind in enumerate(KINDS):
        case = Tampering(kind, "nothing")
        tamper(case, sound[kind.title], tmp_path / f"copy{place}")
        only_beside_the_original = kind.title.startswith("NH")
        expected = [not only_beside_the_original] * 4 + [True]
        assert list(verdicts(case, tmp_path / f"copy{place}")) == expected, kind.title
        out = sound[kind.title] / f"out.{kind.ending}"
        verdict = shoal.verify(out, kind.recipe(sound[kind.title]), original=sound[kind.title] / "raw.csv")
        assert verdict.holds, verdict  # with manifest and original, every number agrees


def test_everything_is_found_beside_the_original(found: dict[int, list[bool]]) -> None:
    missed = [(case.kind.title, case.title) for place, case in enumerate(CASES) if found[place][-1]]
    assert missed == []


def test_the_manifest_finds_every_change_of_the_files(found: dict[int, list[bool]]) -> None:
    changed = [place for place, case in enumerate(CASES) if case.rows is not None]
    assert [CASES[place].title for place in changed if found[place][2]] == []


def test_the_page_says_what_is_found(found: dict[int, list[bool]]) -> None:
    assert PAGE.read_text(encoding="utf-8").endswith("\n\n" + table(found)), (
        "run python -m tests.verifier.tampering"
    )
