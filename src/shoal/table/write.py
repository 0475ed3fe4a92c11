"""Write a release to a temporary file, which is verified and then moved into place.

Temporary names start with a dot, so that files left by an interruption do not look like a release. Files
left by a killed run are removed by the next run in that folder.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import polars as pl

from shoal.errors import OutputError
from shoal.table.compressed import is_compressed
from shoal.table.formats import FORMATS, READABLE
from shoal.table.leftovers import prefix, remove_leftovers
from shoal.table.spreadsheet import escaped


def check_target(path: Path) -> None:
    """Refuse a path that cannot be written, before any work is done."""
    if path.suffix.lower() not in FORMATS:
        is_read = path.suffix.lower() in READABLE or is_compressed(path)
        what = "reads but does not write" if is_read else "does not support"
        message = f"The output {path} has an extension that shoal {what}."
        raise OutputError("output.unwritable", message, f"extensions: {', '.join(FORMATS)}")
    check_place(path)


def check_place(path: Path) -> None:
    """Refuse a name or a folder to which the files of a release cannot be written."""
    try:
        _check_place(path)
    except OutputError:  # which is a ValueError
        raise
    except (OSError, ValueError) as error:  # a name that is too long or contains a null byte
        raise unwritable(path, error) from None


def _check_place(path: Path) -> None:
    for file in (path, manifest_path(path), report_path(path)):
        if file.is_dir():
            raise OutputError("output.unwritable", f"The output {file} is a folder.", "name a file")
        with suppress(FileNotFoundError, NotADirectoryError):
            os.lstat(file)  # raises if the system does not allow the name
    if not path.parent.is_dir():
        message = f"The output folder {path.parent} does not exist."
        raise OutputError("output.unwritable", message, "create the folder, or write elsewhere")
    if not os.access(path.parent, os.W_OK):
        message = f"The output folder {path.parent} is not writable."
        raise OutputError("output.unwritable", message, "choose a folder that you can write to")


def manifest_path(path: Path) -> Path:
    """Return the path of a release's manifest."""
    return path.with_name(path.name + ".manifest.json")


def report_path(path: Path) -> Path:
    """Return the path of a release's report."""
    return path.with_name(path.name + ".report.html")


@contextmanager
def temporary(path: Path) -> Iterator[Path]:
    """Yield a temporary file next to `path` with the same extension; remove it unless it was moved."""
    remove_leftovers(path.parent)
    try:
        handle, name = tempfile.mkstemp(prefix=prefix(), suffix=path.suffix, dir=path.parent)
    except OSError as error:
        raise unwritable(path, error) from None
    os.close(handle)
    try:
        yield Path(name)
    finally:
        Path(name).unlink(missing_ok=True)


@contextmanager
def all_or_nothing(*paths: Path) -> Iterator[None]:
    """Restore all files if any of them cannot be replaced."""
    with ExitStack() as stack:
        kept = {path: stack.enter_context(temporary(path)) for path in paths if path.exists()}
        for path, copy in kept.items():
            shutil.copy2(path, copy)
        try:
            yield
        except BaseException:
            for path in paths:
                if path in kept:
                    os.replace(kept[path], path)
                else:
                    path.unlink(missing_ok=True)
            raise


def move_into_place(temporary_file: Path, path: Path) -> None:
    """Replace `path` by the temporary file atomically."""
    try:
        with open(temporary_file, "rb+") as file:
            os.fsync(file.fileno())
        mask = os.umask(0)
        os.umask(mask)
        temporary_file.chmod(0o666 & ~mask)  # temporary files are accessible to their owner only
        os.replace(temporary_file, path)
    except OSError as error:
        raise unwritable(path, error) from None


def write_table(table: pl.DataFrame, path: Path, *, spreadsheet_safe: bool = True) -> None:
    """Write a frame in the format of the file extension, without foreign metadata."""
    written = FORMATS[path.suffix.lower()]
    try:
        assert written.write is not None
        written.write(escaped(table) if written.is_text and spreadsheet_safe else table, path)
        if path.stat().st_size == 0:
            raise OSError("nothing was written")
    except (OSError, pl.exceptions.PolarsError) as error:
        raise unwritable(path, error) from None


def write_text(text: str, path: Path) -> None:
    """Write a small text file."""
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise unwritable(path, error) from None


def write_bytes(content: bytes, path: Path) -> None:
    """Write a small file as it is."""
    try:
        path.write_bytes(content)
    except OSError as error:
        raise unwritable(path, error) from None


def unwritable(path: Path, error: Exception) -> OutputError:
    """Build the error for a failed write, with only the system's reason."""
    reason = getattr(error, "strerror", None) or "the disk may be full"
    message = f"Cannot write to the folder {path.parent}: {reason}."
    return OutputError(
        "output.unwritable", message, "check free space and permissions; no files were left behind"
    )


def sha256(path: Path) -> str:
    """Return the digest of a file's bytes."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
