"""The private record of a table that is published again and again: which values each person's group has.

It names people and values, so it is raw data: readable by its owner only, and never published.
"""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from shoal.errors import DataError, OutputError
from shoal.release.ledger import lock
from shoal.table.write import temporary, unwritable

_VERSION = 1


@dataclass(frozen=True, repr=False)  # a repr would show cells
class Record:
    """What has to stay the same in the next release.

    Parameters
    ----------
    path : Path
    subject, column : str
        The columns of people and of their sensitive value.
    m : int
    people : dict of str to list of str
        The values of the group of everybody who was ever published.
    manifests : list of str
        Digests of the manifests of all releases, which together reveal no more than one.
    found : str
        The text of the file when it was read, empty if there was none.
    """

    path: Path
    subject: str
    column: str
    m: int
    people: dict[str, list[str]] = field(default_factory=dict)
    manifests: list[str] = field(default_factory=list)
    found: str = ""

    @classmethod
    def read(cls, path: Path, subject: str, column: str, m: int | None, smallest: int) -> Record:
        """Read a record; a file that does not exist is an empty one. Refuse another table's."""
        if not path.exists():
            if not path.parent.is_dir() or not os.access(path.parent, os.W_OK):
                message = f"The folder {path.parent} of the record does not exist or cannot be written to."
                raise OutputError("output.unwritable", message, "choose a folder that you can write to")
            return cls(path, subject, column, smallest if m is None else m)
        found = _parsed(path)
        if (found["subject"], found["column"]) != (subject, column):
            raise _unusable(path, "it is about other columns")
        if m is not None and m != found["m"]:
            raise _unusable(path, f"it was made with m = {found['m']}, not {m}", "leave out m, or start anew")
        text = path.read_text(encoding="utf-8")
        return cls(path, subject, column, found["m"], found["people"], found["manifests"], text)

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Keep others from publishing with this record; refuse if one has since it was read."""
        with lock(self.path):
            text = self.path.read_text(encoding="utf-8") if self.path.exists() else ""
            if text != self.found:
                message = f"The record {self.path} was changed while this release was made."
                raise OutputError("record.unusable", message, "run it again, with the record as it is now")
            yield

    def write(self) -> None:
        """Replace the file in one step."""
        fields = ("subject", "column", "m", "people", "manifests")
        text = json.dumps({"version": _VERSION, **{name: getattr(self, name) for name in fields}})
        with temporary(self.path) as file:
            try:
                file.write_text(text + "\n", encoding="utf-8")
                os.replace(file, self.path)  # temporary files are readable by their owner only
            except OSError as error:
                raise unwritable(self.path, error) from None

    def with_people(self, people: Mapping[str, list[str]]) -> Record:
        """Return the record with more people."""
        return replace(self, people={**self.people, **people})

    def with_release(self, manifest: str) -> Record:
        """Return the record with one more release, given the digest of its manifest."""
        return replace(self, manifests=[*self.manifests, manifest])


def _parsed(path: Path) -> dict[str, Any]:
    try:
        mode, text = path.stat().st_mode, path.read_text(encoding="utf-8")
    except OSError as error:
        raise _unusable(path, error.strerror or "it cannot be opened") from None
    except ValueError:
        raise _unusable(path, "it is not a record that shoal wrote") from None
    if os.name == "posix" and mode & (stat.S_IRWXG | stat.S_IRWXO):
        raise _unusable(path, "other users can read or change it", f"chmod 600 {path}")
    found: Any = None
    with suppress(ValueError, RecursionError):  # their messages quote the file
        found = json.loads(text)
    kinds = {"version": int, "subject": str, "column": str, "m": int, "people": dict, "manifests": list}
    if not isinstance(found, dict) or any(type(found.get(key)) is not kind for key, kind in kinds.items()):
        raise _unusable(path, "it is not a record that shoal wrote")
    values = [value for signature in found["people"].values() for value in _listed(signature)]
    if found["version"] != _VERSION or not all(isinstance(value, str) for value in values):
        raise _unusable(path, "this version of shoal cannot read it")
    return found


def _listed(signature: object) -> list[Any]:
    return signature if isinstance(signature, list) else [None]


def _unusable(
    path: Path, why: str, hint: str = "give the record that the last release was made with"
) -> DataError:
    return DataError("record.unusable", f"The record {path} cannot be used: {why}.", hint)
