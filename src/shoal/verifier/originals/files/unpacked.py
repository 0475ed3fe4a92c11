"""Compressed text, unpacked into the session's own folder."""

from __future__ import annotations

import lzma
import zipfile
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

from shoal.recipe import Input
from shoal.verifier.originals.files.cells import chosen_name
from shoal.verifier.reading.session import UnreadableError

_LITTLE, _TIMES, _BLOCK = 1 << 28, 100, 1 << 20


def allowance(path: Path) -> int:
    """Return the number of bytes that a file may unpack to: some, or in proportion to its size."""
    return max(_LITTLE, _TIMES * path.stat().st_size)


def unpack(path: Path, given: Input, target: Path) -> None:
    """Write what a compressed file holds to another file."""
    left = allowance(path)
    is_damaged = False
    try:
        with _STREAMS[path.suffix.lower()](path, given) as stream, target.open("wb") as out:
            while left >= 0 and (block := stream.read(_BLOCK)):
                left -= out.write(block)
    except UnreadableError:
        raise
    except Exception:  # whatever a damaged file makes a library raise; it may quote the content
        is_damaged = True
    if is_damaged:
        raise UnreadableError("verify.unreadable", "The compressed file is damaged.")
    if left < 0:
        raise UnreadableError("verify.unreadable", "It unpacks to far more than a file of its size should.")


def _arrow(codec: str) -> Callable[[Path, Input], AbstractContextManager[Any]]:
    def stream(path: Path, given: Input) -> Any:
        import pyarrow as pa

        return pa.CompressedInputStream(pa.OSFile(str(path), "rb"), codec)

    return stream


def _archived(path: Path, given: Input) -> Any:
    archive = zipfile.ZipFile(path)
    names = [name for name in archive.namelist() if not name.endswith("/") and name[:9] != "__MACOSX/"]
    return archive.open(chosen_name(names, given.table, "file"))


_STREAMS: dict[str, Callable[[Path, Input], AbstractContextManager[Any]]] = {
    ".gz": _arrow("gzip"),
    ".bz2": _arrow("bz2"),
    ".zst": _arrow("zstd"),
    ".xz": lambda path, given: lzma.LZMAFile(path),  # noqa: SIM115  # the caller closes it
    ".zip": _archived,
}
PACKED = tuple(_STREAMS)
