"""The ledger of several releases: check its chain, and that all manifests and releases are unchanged.

This does not trust `release/ledger.py`, which wrote the ledger: each line is parsed and written again here.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from shoal.errors import DataError
from shoal.verifier.manifest import digest
from shoal.verifier.signature import read_public_key, signature_file, signature_problems
from shoal.verifier.verdict import Problem, count

_SUFFIX = ".manifest.json"
_SURE = {"entry": int, "release": str, "manifest": str, "recipe": dict, "sha256": str}
_MAYBE = {"before": str, "date": str, "extends": str}
_LAST_ENTRY = (
    "That no entry is missing at the end can be seen only from the manifest of a later release, or from the "
    "digest of the last entry if you have noted it."
)


@dataclass(frozen=True)
class LedgerVerdict:
    """What was found in a ledger.

    Parameters
    ----------
    holds : bool
        True when there is no problem.
    entries : int
        How many entries it has.
    head : str or None
        The digest of the last entry: anyone who notes it can check later that none was removed.
    problems : tuple of Problem
        What is wrong, entry by entry.
    remarks : tuple of str
        What a reader should know although nothing is wrong.
    """

    holds: bool
    entries: int
    head: str | None
    problems: tuple[Problem, ...]
    remarks: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return the verdict as in the JSON of ``shoal verify --ledger``."""
        return {
            "holds": self.holds,
            "entries": self.entries,
            "head": self.head,
            "problems": [{"code": p.code, "message": p.message} for p in self.problems],
            "remarks": list(self.remarks),
        }

    def __str__(self) -> str:
        holds = "holds" if self.holds else "does not hold"
        lines = [f"The ledger {holds}: {count(self.entries, 'entry', 'entries')}, the last {self.head}."]
        lines += [f"  {problem.code}: {problem.message}" for problem in self.problems]
        lines += [f"  {remark}" for remark in self.remarks]
        return "\n".join(lines)


def verify_ledger(
    path: str | Path, *, releases: Sequence[str | Path] = (), public_key: str | Path | None = None
) -> LedgerVerdict:
    """Check the chain of a ledger and the digests of all manifests and releases that it names.

    Parameters
    ----------
    path : str or Path
        The ledger.
    releases : sequence of str or Path
        Releases that must be in it.
    public_key : str or Path, optional
        The key with which all manifests must be signed.

    Raises
    ------
    DataError
        When there is no ledger, or the key cannot be used.
    """
    path = Path(path)
    key = None if public_key is None else read_public_key(public_key)
    try:
        content = path.read_bytes()
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or "there is no such file"
        raise DataError("data.unreadable", f"{path} cannot be read: {why}.", "check the path") from None
    entries, problems = _chain(content)
    for at, entry in enumerate(entries, 1):
        problems += [_problem(at, why) for why in _release_faults(path.parent, entry, entries)]
        if key is not None:
            problems += signature_problems(_manifest(path.parent, entry), key)
    if not content:
        problems.append(Problem("verify.ledger", "The ledger has no entries."))
    problems += _later_entries(path.parent, entries)
    listed = {_manifest(path.parent, entry).resolve() for entry in entries}
    for release in map(Path, releases):
        if release.with_name(release.name + _SUFFIX).resolve() not in listed:
            problems.append(Problem("verify.ledger", f"{release} is not in the ledger."))
    remarks = [_LAST_ENTRY]
    if key is None and any(signature_file(_manifest(path.parent, entry)).exists() for entry in entries):
        remarks.append("Signatures of manifests were not checked: that needs the public key.")
    head = entries[-1]["sha256"] if entries else None
    return LedgerVerdict(not problems, len(entries), head, tuple(problems), tuple(remarks))


def _chain(content: bytes) -> tuple[list[dict[str, Any]], list[Problem]]:
    """Return the entries up to the first that is wrong, and what is wrong with it."""
    lines = content.split(b"\n")
    entries: list[dict[str, Any]] = []
    for at, line in enumerate(lines[:-1], 1):
        entry = _entry(line)
        if entry is None:
            return entries, [_problem(at, "it is not as shoal wrote it; what follows was not checked")]
        before = entries[-1]["sha256"] if entries else None
        if entry["entry"] != at or entry["before"] != before:
            return entries, [_problem(at, "it does not follow the one before; what follows was not checked")]
        entries.append(entry)
    if lines[-1]:
        return entries, [_problem(len(lines), "it is incomplete: a run was killed while it wrote it")]
    return entries, []


def _entry(line: bytes) -> dict[str, Any] | None:
    """Parse a line; None unless it is in canonical form and has its own digest."""
    try:
        entry = json.loads(line)
        if not isinstance(entry, dict) or not _is_typed(entry) or line != _written(entry):
            return None
        body = dict(entry)
        own = body.pop("sha256")
        return entry if own == hashlib.sha256(_written(body)).hexdigest() else None
    except (ValueError, RecursionError):
        return None


def _is_typed(entry: Mapping[str, Any]) -> bool:
    known = {**_SURE, **_MAYBE}
    sure = all(type(entry.get(key)) is kind for key, kind in _SURE.items())
    maybe = all(isinstance(value, known[key] | None) for key, value in entry.items() if key in known)
    return sure and maybe and "before" in entry and set(entry) <= set(known)


def _written(entry: Mapping[str, Any]) -> bytes:
    return json.dumps(entry, sort_keys=True, separators=(",", ":")).encode("ascii")


def _release_faults(
    folder: Path, entry: Mapping[str, Any], entries: Sequence[Mapping[str, Any]]
) -> list[str]:
    """Compare an entry with its manifest, and the manifest with the released files."""
    path = _manifest(folder, entry)
    try:
        text = path.read_bytes()
    except (OSError, ValueError):
        return [f"its manifest {path} cannot be read"]
    if hashlib.sha256(text).hexdigest() != entry["manifest"]:
        return [f"{path} is another manifest than the one that was entered"]
    try:
        manifest = json.loads(text)
    except (ValueError, RecursionError):
        manifest = None
    if not isinstance(manifest, dict):
        return [f"{path} is not a manifest"]
    recipe = dict(_table(manifest.get("recipe")))
    recipe.pop("sha256", None)
    first = entries[0]["sha256"] if entry["entry"] > 1 else None
    place = {"entry": entry["entry"], "before": entry["before"], "first": first}
    faults = []
    if _table(manifest.get("ledger")) != place:
        faults.append(f"{path} gives another place in the ledger")
    if recipe != entry["recipe"] or _table(recipe.get("about")).get("date") != entry.get("date"):
        faults.append(f"{path} has another recipe or date")
    return faults + [f"{file} is missing or another file" for file in _changed_files(path, manifest)]


def _changed_files(path: Path, manifest: Mapping[str, Any]) -> list[Path]:
    """List the released files that are not those that a manifest describes."""
    whole = path.with_name(path.name.removesuffix(_SUFFIX))
    release = _table(manifest.get("release"))
    described = {whole: release["sha256"]} if "sha256" in release else {}
    for title, its_digest in _table(release.get("files")).items():
        ending = title.removeprefix("view ")
        described[whole.with_name(f"{whole.stem}.{ending}{whole.suffix}")] = its_digest
    changed = [file for file, expected in described.items() if _digest(file) != expected]
    return changed if described else [whole]


def _later_entries(folder: Path, entries: Sequence[Mapping[str, Any]]) -> list[Problem]:
    """Look for manifests of later releases of this ledger where its releases are: entries were cut off."""
    if not entries:
        return []
    later = []
    for place in sorted({_manifest(folder, entry).parent for entry in entries}):
        for path in sorted(place.glob(f"*{_SUFFIX}")):
            found = _ledger_section(path)
            if found.get("first") == entries[0]["sha256"] and not _is_listed(path, folder, entries):
                later.append(path.name)
    message = f"Releases of this ledger that it does not list: {', '.join(later)}. Entries were removed."
    return [Problem("verify.ledger", message)] if later else []


def _is_listed(path: Path, folder: Path, entries: Sequence[Mapping[str, Any]]) -> bool:
    return any(_manifest(folder, entry).resolve() == path.resolve() for entry in entries)


def _ledger_section(path: Path) -> Mapping[str, Any]:
    try:
        return _table(_table(json.loads(path.read_bytes())).get("ledger"))
    except (OSError, ValueError, RecursionError):
        return {}  # not one of ours


def _manifest(folder: Path, entry: Mapping[str, Any]) -> Path:
    return folder / f"{entry['release']}{_SUFFIX}"


def _digest(path: Path) -> str | None:
    try:
        return digest(path)
    except (OSError, ValueError):
        return None


def _problem(at: int, why: str) -> Problem:
    return Problem("verify.ledger", f"Entry {at}: {why}.")


def _table(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}
