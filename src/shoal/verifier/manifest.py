"""The manifest of a release: compare the bytes and the numbers that it claims with those of the file."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import floor, isclose, log10
from pathlib import Path
from typing import Any

from shoal.verifier.reading.parts import some
from shoal.verifier.verdict import MeasuredGoal, Problem, count, listed

_SLACK = 1 + 1e-6  # of the last digit of a rounded loss


@dataclass(frozen=True)
class Claims:
    """What a manifest claims; nothing without a manifest, or without numbers."""

    problem: str = ""  # what is wrong with the manifest itself
    sections: Mapping[str, Any] = field(default_factory=dict)

    @property
    def release(self) -> Mapping[str, Any]:
        """The section about the files."""
        return _table(self.sections.get("release"))

    def of_view(self, at: int) -> Claims:
        """Return the claims about one of several views."""
        views = self.sections.get("views")
        view = _table(views[at]) if isinstance(views, list) and at < len(views) else {}
        numbers = {key: value for key, value in view.items() if key != "sha256"}  # compared with all files
        return Claims(sections={**numbers, "release": numbers})


@dataclass(frozen=True)
class Counted:
    """The same numbers as counted; None where they cannot be counted."""

    rows: int
    classes: int
    goals: Sequence[MeasuredGoal] | None
    suppressed: int | None = None
    losses: Mapping[str, float | None] = field(default_factory=dict)
    at_least: bool = False  # goals may be met better than the maker claims


def read_manifest(path: Path) -> Claims:
    """Read the manifest of a release, given the name of the release."""
    manifest = path.with_name(path.name + ".manifest.json")
    if not manifest.exists():
        return Claims()
    try:
        found = json.loads(manifest.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        return Claims(problem="The manifest of the file cannot be read.")
    return Claims(sections=found)


def digest_problems(claims: Claims, path: Path) -> list[Problem]:
    """Compare the file's bytes with the manifest; nothing to say where there is none."""
    if claims.problem:
        return [Problem("verify.digest", claims.problem)]
    if "sha256" not in claims.release or str(claims.release["sha256"]).lower() == digest(path):
        return []
    return [Problem("verify.digest", "The file is not the one that its manifest describes.")]


def rows_digest_problems(claims: Claims, digest: str) -> list[Problem]:
    """Compare the digest of a table's rows with the manifest; nothing to say where there is none."""
    if claims.problem:
        return [Problem("verify.digest", claims.problem)]
    if not claims.sections or str(claims.release.get("rows_sha256")).lower() == digest:
        return []
    return [Problem("verify.digest", "The table is not the one that its manifest describes.")]


def parts_digest_problems(claims: Claims, files: Mapping[str, Path]) -> list[Problem]:
    """Compare several files with the manifest that they share."""
    if claims.problem:
        return [Problem("verify.digest", claims.problem)]
    if not claims.sections:
        return []
    digests = _table(claims.release.get("files"))
    changed = [title for title, file in files.items() if str(digests.get(title)).lower() != digest(file)]
    return [
        Problem("verify.digest", f"The {title} file is not the one that its manifest describes.")
        for title in changed
    ]


def has_digests(claims: Claims) -> bool:
    """Return whether a manifest describes the files of a folder."""
    return "files" in claims.release


def folder_digest_problems(claims: Claims, digests: Mapping[str, str]) -> list[Problem]:
    """Compare the digests of the parts in a folder, by their names, with the manifest."""
    if claims.problem:
        return [Problem("verify.digest", claims.problem)]
    if not has_digests(claims):
        one = "sha256" in claims.release
        return [Problem("verify.digest", "The manifest describes one file, not a folder.")] if one else []
    described = _table(claims.release["files"])
    both = [name for name in digests if name in described]
    found = {
        "other than the manifest describes": [n for n in both if str(described[n]).lower() != digests[n]],
        "that the manifest does not describe": [name for name in digests if name not in described],
        "of the manifest missing from the folder": [name for name in described if name not in digests],
    }
    return [
        Problem("verify.digest", f"{count(len(names), 'file')} {what}: {some(names)}.")
        for what, names in found.items()
        if names
    ]


def number_problems(claims: Claims, counted: Counted) -> list[Problem]:
    """Compare the numbers of the manifest with those of the file."""
    wrong = [name for name in ("rows", "classes") if _differs(claims.release, name, getattr(counted, name))]
    if counted.suppressed is not None and _differs(claims.sections, "suppressed", counted.suppressed):
        wrong.append("suppressed")
    wrong += _wrong_goals(claims.sections.get("goals"), counted)
    losses = _table(claims.sections.get("loss"))
    wrong += [f"loss {name}" for name, lost in counted.losses.items() if not _is_rounded(losses, name, lost)]
    if not wrong:
        return []
    return [
        Problem("verify.manifest", f"Numbers in the manifest that differ from the file: {listed(wrong)}.")
    ]


def claimed_suppressed(claims: Claims) -> int:
    """Return how many rows the manifest says were left out; 0 if it does not say."""
    found = claims.sections.get("suppressed")
    return found if type(found) is int and found >= 0 else 0


def _differs(claims: Mapping[str, Any], name: str, counted: int) -> bool:
    return name in claims and claims[name] != counted


def _wrong_goals(claims: Any, counted: Counted) -> list[str]:
    """Name the goals whose numbers differ; a release may be verified for goals it was not made for."""
    if not isinstance(claims, list) or counted.goals is None:
        return []
    known = {_key(goal.to_dict()): goal for goal in counted.goals}
    pairs = ((each, known.get(_key(each))) for each in map(_table, claims))
    return [
        goal.type
        for each, goal in pairs
        if goal is not None and not _is_same_goal(each, goal, at_least=counted.at_least)
    ]


def _key(goal: Mapping[str, Any]) -> str:
    """Return what distinguishes goals: one may be asked for twice, with different numbers."""
    return json.dumps([goal.get(name) for name in ("type", "column", "variant", "asked")], default=str)


def _is_same_goal(claims: Mapping[str, Any], goal: MeasuredGoal, *, at_least: bool) -> bool:
    """Compare what was achieved; people cannot be counted from the file alone."""
    if claims.get("counts", "rows") != goal.counts:
        return True
    achieved = claims.get("achieved")
    if achieved is None or goal.achieved is None:
        return achieved is goal.achieved
    if not isinstance(achieved, int | float):
        return False
    return isclose(achieved, goal.achieved, rel_tol=1e-9) or (at_least and achieved < goal.achieved)


def _is_rounded(claims: Mapping[str, Any], name: str, counted: float | None) -> bool:
    """Return whether a loss is the one counted, rounded to three digits; a loss that is absent agrees."""
    found = claims.get(name, counted)
    if found is None or counted is None:
        return found is counted
    if not isinstance(found, int | float):
        return False
    if not counted:
        return found == counted
    last_digit = 10.0 ** (floor(log10(abs(counted))) - 2)
    return abs(found - counted) <= last_digit / 2 * _SLACK


def digest(path: Path) -> str:
    """Return the digest of a file as a manifest has it."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _table(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}
