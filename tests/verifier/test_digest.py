"""The manifest next to a release."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest

from shoal.recipe import Recipe
from shoal.verifier import verify

RECIPE = Recipe.from_roles(quasi=["a"], k=2)
CONTENT = b"a\n1\n1\n"
DIGEST = hashlib.sha256(CONTENT).hexdigest()


def codes(folder: Path, content: str | bytes, *, compared: bool = True) -> list[str]:
    path = folder / "out.csv"
    path.write_bytes(CONTENT)
    beside = folder / "out.csv.manifest.json"
    beside.write_bytes(content.encode() if isinstance(content, str) else content)
    verdict = verify(path, RECIPE, manifest=compared)
    assert verdict.holds is not bool(verdict.problems)
    return [problem.code for problem in verdict.problems]


@pytest.mark.parametrize("digest", [DIGEST, DIGEST.upper()])
def test_the_right_digest_is_fine(tmp_path: Path, digest: str) -> None:
    assert codes(tmp_path, json.dumps({"release": {"sha256": digest}})) == []


@pytest.mark.parametrize("digest", [hashlib.sha256(b"a\n1\n2\n").hexdigest(), "", None, 5, DIGEST[:-1]])
def test_another_digest_is_a_problem(tmp_path: Path, digest: object) -> None:
    manifest = json.dumps({"release": {"sha256": digest}})

    assert codes(tmp_path, manifest) == ["verify.digest"]
    assert codes(tmp_path, manifest, compared=False) == []


@pytest.mark.parametrize("manifest", ["", "{", "[]", "null", b"\xff\xfe", "[" * 100_000])
def test_a_manifest_that_cannot_be_read_is_a_problem(tmp_path: Path, manifest: str | bytes) -> None:
    assert codes(tmp_path, manifest) == ["verify.digest"]
    assert codes(tmp_path, manifest, compared=False) == []


@pytest.mark.parametrize("manifest", ["{}", '{"release": {}}', '{"release": "x"}'])
def test_a_manifest_without_a_digest_says_nothing(tmp_path: Path, manifest: str) -> None:
    assert codes(tmp_path, manifest) == []


def test_a_digest_is_compared_even_when_the_file_cannot_be_read(tmp_path: Path) -> None:
    (tmp_path / "out.csv").write_bytes(b"a\n1,2\n")
    (tmp_path / "out.csv.manifest.json").write_text(json.dumps({"release": {"sha256": DIGEST}}))

    verdict = verify(tmp_path / "out.csv", RECIPE)

    assert [problem.code for problem in verdict.problems] == ["verify.digest", "verify.ragged"]
