"""Whatever is changed in a release, verification beside the original finds it."""

from __future__ import annotations

from pathlib import Path

import pytest

import shoal
from tests.profiles import IS_SLOW, some
from tests.verifier.tampering import CASES, KINDS, PAGE, Tampering, release_all, run, table, tamper, verdicts


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> dict[int, list[bool]]:
    """All cases; in `make test` every fourth, of nearly every kind."""
    return run(tmp_path_factory.mktemp("tampered"), some(range(len(CASES)), 4))


def test_there_are_many_tampered_releases() -> None:
    assert len(CASES) >= 40
    assert {case.kind.title for case in CASES} == {kind.title for kind in KINDS}


def test_sound_releases_hold_in_every_way(tmp_path: Path) -> None:
    kinds = some(KINDS, 3)
    sound = release_all(tmp_path, kinds)
    for place, kind in enumerate(kinds):
        case = Tampering(kind, "nothing")
        tamper(case, sound[kind.title], tmp_path / f"copy{place}")
        only_beside_the_original = kind.title.startswith("NH")
        expected = [not only_beside_the_original] * 4 + [True]
        assert list(verdicts(case, tmp_path / f"copy{place}")) == expected, kind.title
        out = sound[kind.title] / f"out.{kind.ending}"
        verdict = shoal.verify(out, kind.recipe(sound[kind.title]), original=sound[kind.title] / "raw.csv")
        assert verdict.holds, verdict  # with manifest and original, every number agrees


def test_everything_is_found_beside_the_original(found: dict[int, list[bool]]) -> None:
    missed = [
        (case.kind.title, case.title)
        for place, case in enumerate(CASES)
        if place in found and found[place][-1]
    ]
    assert missed == []


def test_the_manifest_finds_every_change_of_the_files(found: dict[int, list[bool]]) -> None:
    changed = [place for place in found if CASES[place].rows is not None]
    assert changed
    assert [CASES[place].title for place in changed if found[place][2]] == []


def test_the_page_says_what_is_found(found: dict[int, list[bool]]) -> None:
    page, made = PAGE.read_text(encoding="utf-8"), table(found)
    assert set(made.splitlines()) <= set(page.splitlines()), "run python -m tests.verifier.tampering"
    if IS_SLOW:  # with all cases
        assert page.endswith("\n\n" + made)
