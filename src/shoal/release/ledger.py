"""The ledger: an append-only list of all releases about the same people, each entry chained to the last.

An entry is one line of JSON in canonical form. It has its own digest (`sha256`, of the line without it) and
that of the entry before (`before`). The manifest of a release repeats the digest of the entry before its own
and of the first one, so a later manifest gives away that entries were changed or cut off.

`verifier/ledger.py` checks the same without this code.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from shoal.errors import DataError, OutputError
from shoal.table.write import manifest_path, sha256, unwritable

_KEYS = {"entry", "before", "release", "manifest", "recipe", "sha256"}
_OPTIONAL = {"date", "extends"}
_LONGEST = 10_000_000  # bytes of a line: more is no entry


@dataclass(frozen=True)
class Ledger:
    """A ledger as it was when it was read.

    Parameters
    ----------
    path : Path
        Absolute. The file is created with the first entry.
    entries : tuple of mappings
        The entries whose releases are in place.
    unfinished : str
        The last line, if a run was killed after it had written that line and before its files got
        their names; the same run, started again, finishes it.
    """

    path: Path
    entries: tuple[Mapping[str, Any], ...] = ()
    unfinished: str = field(default="", repr=False)

    @classmethod
    def read(cls, path: str | Path, target: str | Path | None = None) -> Ledger:
        """Read a ledger and check its chain, and that all manifests are those that it names.

        Parameters
        ----------
        path : str or Path
        target : str or Path, optional
            Where the next release goes: if that is the release that the last entry names, a killed run is
            started again.

        Raises
        ------
        DataError
            `ledger.broken` when anything is not as shoal wrote it.
        """
        ledger = cls(Path(path).absolute())
        lines = _lines(ledger.path)
        entries = [_parsed(line, at, ledger.path) for at, line in enumerate(lines, 1)]
        for at, entry in enumerate(entries, 1):
            before = entries[at - 2]["sha256"] if at > 1 else None
            if (entry["entry"], entry["before"]) != (at, before):
                raise _broken(ledger.path, f"entry {at} does not follow the one before it")
        found = cls(ledger.path, tuple(entries))
        for at, manifest in enumerate(found.manifests, 1):
            if _digest(manifest) == entries[at - 1]["manifest"]:
                continue
            if at == len(entries) and target is not None and manifest == _manifest_of(target):
                return cls(ledger.path, tuple(entries[:-1]), lines[-1])
            why = f"the manifest of entry {at}, {manifest}, is missing or another one"
            raise _broken(ledger.path, why, "put it back; if a run was killed, start the same run again")
        return found

    @property
    def manifests(self) -> list[Path]:
        """The manifests of all releases, in order."""
        return [_manifest_of(self.path.parent / entry["release"]) for entry in self.entries]

    @property
    def place(self) -> dict[str, Any]:
        """What the manifest of the next release says about its place in the ledger."""
        first = self.entries[0]["sha256"] if self.entries else None
        return {"entry": len(self.entries) + 1, "before": self._head, "first": first}

    @property
    def _head(self) -> str | None:
        return self.entries[-1]["sha256"] if self.entries else None

    def outside(self, extended: Path) -> list[Path]:
        """List the manifests, except those of a release and of what that release extends.

        People who are new are in none of these.
        """
        left_out: set[Path] = set()
        last: Path | None = _manifest_of(extended)
        while last in self.manifests and last not in left_out:
            left_out.add(last)
            entry = self.entries[self.manifests.index(last)]
            last = _manifest_of(self.path.parent / entry["extends"]) if "extends" in entry else None
        return [manifest for manifest in self.manifests if manifest not in left_out]

    def refuse_replacing(self, target: str | Path) -> None:
        """Refuse to overwrite a release of this ledger: later ones are checked against it."""
        place = _manifest_of(target)
        if place in self.manifests:
            number = self.manifests.index(place) + 1
            message = f"{target} is release {number} of the ledger {self.path}."
            raise OutputError("output.exists", message, "choose another name: a release in a ledger stays")

    @contextmanager
    def locked(self, target: str | Path) -> Iterator[None]:
        """Keep others from adding entries; refuse if one was added since this ledger was read."""
        with lock(self.path):
            if Ledger.read(self.path, target) != self:
                message = f"Another release was entered into the ledger {self.path} while this one was made."
                raise OutputError(
                    "ledger.changed", message, "run it again, so that both are checked together"
                )
            yield

    def line(
        self, target: Path, manifest: str, recipe: Mapping[str, Any], extends: Path | None = None
    ) -> str:
        """Return the entry of a release, given the text of its manifest and the recipe that it shares."""
        date = recipe.get("about", {}).get("date")
        entry = {
            **{key: self.place[key] for key in ("entry", "before")},
            "release": self._relative(target),
            "manifest": hashlib.sha256(manifest.encode()).hexdigest(),
            "recipe": recipe,
            **({"date": date} if date else {}),
            **({"extends": self._relative(extends)} if extends is not None else {}),
        }
        line = canonical({**entry, "sha256": hashlib.sha256(canonical(entry).encode()).hexdigest()})
        if self.unfinished and self.unfinished != line:
            why = "its last entry is that of a run that was killed, and this run makes another release"
            hint = "start the run that was killed again, unchanged; or delete the last line, if you cannot"
            raise _broken(self.path, why, hint)
        return line

    def append(self, line: str) -> None:
        """Add an entry; the caller holds the lock."""
        if self.unfinished:
            return
        try:
            with open(self.path, "ab") as file:
                file.write(line.encode() + b"\n")
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:
            raise unwritable(self.path, error) from None

    def _relative(self, target: Path) -> str:
        """Return a path as the ledger has it: relative to its folder."""
        return Path(os.path.relpath(target.absolute(), self.path.parent)).as_posix()


def check_ledger(path: Path) -> None:
    """Refuse a place where no ledger can be, before any work is done."""
    if path.is_dir():
        raise OutputError("output.unwritable", f"The ledger {path} is a folder.", "name a file")
    if not path.parent.is_dir() or not os.access(path.parent, os.W_OK):
        message = f"The folder {path.parent} of the ledger does not exist or cannot be written to."
        raise OutputError("output.unwritable", message, "choose a folder that you can write to")


def canonical(entry: Mapping[str, Any]) -> str:
    """Return the only form in which an entry may be written."""
    return json.dumps(entry, sort_keys=True, separators=(",", ":"))


def _lines(path: Path) -> list[str]:
    """Return the lines of a ledger; the last one must be complete."""
    if not path.exists():
        return []
    try:
        content = path.read_bytes()
    except OSError as error:
        raise _broken(path, error.strerror or "it cannot be opened", "check the path") from None
    if content and not content.endswith(b"\n"):
        half = len(content) - (content.rfind(b"\n") + 1)
        why = f"its last line is incomplete ({half} bytes): a run was killed while it wrote that line"
        raise _broken(path, why, "that run made no release: check the ledger with `shoal verify --ledger`, "
                      "and delete the last line")  # fmt: skip
    try:
        return content.decode("ascii").split("\n")[:-1]
    except UnicodeDecodeError:
        raise _broken(path, "it is not a text that shoal wrote") from None


def _parsed(line: str, at: int, path: Path) -> dict[str, Any]:
    """Return an entry; its line must be exactly what shoal would write."""
    entry: Any = None
    if len(line) < _LONGEST:
        with suppress(ValueError, RecursionError):  # their messages quote the line
            entry = json.loads(line)
    if not isinstance(entry, dict) or not _is_entry(entry, line):
        raise _broken(path, f"entry {at} is not as shoal wrote it")
    return entry


def _is_entry(entry: dict[str, Any], line: str) -> bool:
    if not _KEYS <= set(entry) <= _KEYS | _OPTIONAL or line != canonical(entry):
        return False
    body = {key: value for key, value in entry.items() if key != "sha256"}
    are_paths = isinstance(entry["release"], str) and isinstance(entry.get("extends", ""), str)
    return are_paths and bool(entry["sha256"] == hashlib.sha256(canonical(body).encode()).hexdigest())


def _manifest_of(target: str | Path) -> Path:
    return Path(os.path.normpath(manifest_path(Path(target).absolute())))


def _digest(path: Path) -> str | None:
    try:
        return sha256(path)
    except (OSError, ValueError):
        return None


@contextmanager
def lock(path: Path) -> Iterator[None]:
    """Hold a lock of the operating system, which ends with the process, however that ends."""
    beside = path.with_name(f".{path.name}.lock")
    try:
        file = open(beside, "ab")  # noqa: SIM115  # closed below, which also unlocks it
    except OSError as error:
        raise unwritable(path, error) from None
    with file:
        if sys.platform == "win32":
            import msvcrt

            msvcrt.locking(file.fileno(), msvcrt.LK_LOCK, 1)
        else:
            import fcntl

            fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _broken(path: Path, why: str, hint: str = "") -> DataError:
    hint = hint or "check it with `shoal verify --ledger`, and restore it from a copy"
    return DataError("ledger.broken", f"The ledger {path} cannot be used: {why}.", hint)
