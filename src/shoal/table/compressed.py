"""Compressed text: gzip, bzip2, xz, Zstandard, and zip archives."""

from __future__ import annotations

import bz2
import gzip
import lzma
import zipfile
import zlib
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import IO, Any

from shoal.errors import DataError
from shoal.recipe import Input
from shoal.table.limits import too_large, unpacked_limit
from shoal.table.picking import pick

_PIECE = 1 << 20
_FAILURES = (OSError, EOFError, ValueError, zlib.error, lzma.LZMAError, zipfile.BadZipFile, RuntimeError)


def is_compressed(path: Path) -> bool:
    """Return whether a file's extension says that it is compressed."""
    return path.suffix.lower() in _OPENERS


def inner_name(path: Path) -> Path:
    """Return the name without the extension of the compression: `a.tsv.gz` is `a.tsv`."""
    return path.with_suffix("") if is_compressed(path) else path


def unpacked(path: Path, given: Input) -> bytes:
    """Return the bytes of a compressed file; refuse one that unpacks to too much."""
    limit = unpacked_limit(path)
    content = bytearray()
    try:
        with _OPENERS[path.suffix.lower()](path, given) as file:
            while piece := file.read(_PIECE):
                content += piece
                if len(content) > limit:
                    break
            else:
                return bytes(content)
    except DataError:
        raise
    except _FAILURES:
        message = f"The input {path} is damaged, or not a {path.suffix} file."
        raise DataError("data.unreadable", message, "get the file again, or unpack it first") from None
    raise too_large(path, f"more than {limit:,} bytes of text")


def _zstandard(path: Path, given: Input) -> AbstractContextManager[IO[bytes]]:
    import pyarrow as pa

    stream: Any = pa.CompressedInputStream(pa.OSFile(str(path), "rb"), "zstd")
    return stream  # type: ignore[no-any-return]


def _member(path: Path, given: Input) -> AbstractContextManager[IO[bytes]]:
    """Open the only file in an archive, or the one that the recipe chooses."""
    archive = zipfile.ZipFile(path)
    names = [info.filename for info in archive.infolist() if not _is_extra(info)]
    chosen = archive.getinfo(pick(path, names, given, "file"))
    chosen.file_size = 1 << 62  # what the archive claims may be false; the bytes are counted as they come
    return archive.open(chosen)


def _is_extra(info: zipfile.ZipInfo) -> bool:
    """Return whether a member is a folder or what a Mac adds."""
    return info.is_dir() or info.filename.startswith("__MACOSX/")


_OPENERS: dict[str, Callable[[Path, Input], AbstractContextManager[Any]]] = {
    ".gz": lambda path, given: gzip.GzipFile(path),
    ".bz2": lambda path, given: bz2.BZ2File(path),
    ".xz": lambda path, given: lzma.LZMAFile(path),  # noqa: SIM115  # the caller closes it
    ".zst": _zstandard,
    ".zip": _member,
}
COMPRESSIONS = tuple(_OPENERS)
