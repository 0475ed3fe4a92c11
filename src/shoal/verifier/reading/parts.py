"""A release in several files: a folder X.parquet with part-00000.parquet, part-00001.parquet and so on.

All parts in the order of their numbers are one table. The folder may contain nothing else: somebody
would publish it with the rest.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from shoal.verifier.reading.session import UnreadableError
from shoal.verifier.reading.text import Dialect, find_dialect
from shoal.verifier.verdict import Problem, count, listed

if TYPE_CHECKING:
    import pyarrow as pa

PART_ENDINGS = (".csv", ".parquet")
_CODE = "verify.parts"
_NUMBERED = re.compile(r"part-([0-9]{5,})")
_SHOWN = 3  # names in one message
_Read = TypeVar("_Read")


@dataclass(frozen=True)
class Parts:
    """The parts of a folder by their number, and what is wrong with the folder itself."""

    files: tuple[Path, ...]
    problems: tuple[Problem, ...]


def list_parts(folder: Path) -> Parts:
    """List the parts of a release; its ending is that of each part."""
    found: dict[int, Path] = {}
    foreign = []
    for file in sorted(folder.iterdir()):
        number = _number(file, folder.suffix)
        if number is None:
            foreign.append(file.name)
        else:
            found[number] = file
    expected = range(max(found, default=-1) + 1)
    missing = [f"part-{at:05d}{folder.suffix}" for at in expected if at not in found]
    problems = []
    if missing:
        message = f"{count(len(missing), 'part')} missing from the folder: {some(missing)}."
        problems.append(Problem(_CODE, message))
    if foreign:
        message = f"The folder has {count(len(foreign), 'file')} besides the parts: {some(foreign)}."
        problems.append(Problem(_CODE, message))
    return Parts(tuple(found[at] for at in sorted(found)), tuple(problems))


def _number(file: Path, ending: str) -> int | None:
    """Return the number of a part; None for any other file. A number has one spelling only."""
    name = _NUMBERED.fullmatch(file.name.removesuffix(ending))
    if name is None or not file.name.endswith(ending) or not file.is_file():
        return None
    number = int(name[1])
    return number if name[1] == f"{number:05d}" else None


def some(names: Sequence[str]) -> str:
    """Write names of files for a message: the first few, and how many more there are."""
    more = len(names) - _SHOWN
    return listed(names[:_SHOWN]) + (f" and {more} more" if more > 0 else "")


def common_dialect(files: Sequence[Path], expected: Collection[str], delimiters: Sequence[str]) -> Dialect:
    """Return the layout that all text files of a folder have."""

    def dialect(file: Path) -> Dialect:
        if file.stat().st_size == 0:
            raise UnreadableError("verify.empty", "The file is empty.")
        return find_dialect(file, expected, delimiters)

    return _common(files, dialect, lambda found: (found.delimiter, found.names))


def common_schema(files: Sequence[Path]) -> pa.Schema:
    """Return the columns that all Parquet files of a folder have, with their types."""
    return _common(files, _schema, lambda schema: [(field.name, str(field.type)) for field in schema])


def _schema(file: Path) -> pa.Schema:
    from pyarrow import ArrowException, parquet

    try:
        return parquet.read_schema(file)
    except (ArrowException, OSError):
        pass  # what pyarrow says is not passed on
    raise UnreadableError("verify.unreadable", "The file is not in Parquet format.")


def _common(files: Sequence[Path], read: Callable[[Path], _Read], header: Callable[[_Read], object]) -> _Read:
    """Read the header of each file; all must be the same."""
    if not files:
        raise UnreadableError("verify.empty", "The folder has no parts.")
    found = [in_part(file, lambda file=file: read(file)) for file in files]  # type: ignore[misc]
    first = header(found[0])
    others = [file.name for file, other in zip(files[1:], found[1:], strict=True) if header(other) != first]
    if others:
        message = f"{count(len(others), 'part')} with other columns than {files[0].name} has: {some(others)}."
        raise UnreadableError(_CODE, message)
    return found[0]


def in_part(file: Path, read: Callable[[], _Read]) -> _Read:
    """Read one of several files; say which one it is that cannot be read."""
    try:
        return read()
    except UnreadableError as fault:
        code, message = fault.code, fault.message
    raise UnreadableError(code, f"{file.name}: {message}")
