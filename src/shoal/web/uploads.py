"""Files that are sent to the server: written to a private temporary file, checked, and removed."""

from __future__ import annotations

import os
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from fastapi import Request

from shoal.table.leftovers import prefix, remove_leftovers
from shoal.web.folder import EXTENSIONS
from shoal.web.refusals import Refusal
from shoal.web.settings import Settings

# How files begin that a reader might unpack, whatever their name says. Workbooks are archives by nature;
# their reader limits what they may unpack to, as those of files for statistics do.
_ZIP = b"PK\x03\x04"
_PACKED = (b"\x1f\x8b", _ZIP, b"\x28\xb5\x2f\xfd", b"BZh", b"\xfd7zXZ", b"7z\xbc\xaf", b"Rar!")
_WORKBOOKS, _LISTED = (".xlsx", ".xlsm"), (".parquet", ".arrow", ".ipc", ".feather")


@dataclass(frozen=True)
class Upload:
    """An upload: its temporary file, and the name it should have."""

    file: Path
    name: str


@asynccontextmanager
async def received(request: Request, settings: Settings, folder: Path, name: str) -> AsyncIterator[Upload]:
    """Receive a file into a temporary file in a folder; remove it, unless it was moved."""
    clean = file_name(name)
    remove_leftovers(folder)
    handle, path = tempfile.mkstemp(prefix=prefix(), suffix=Path(clean).suffix, dir=folder)  # mode 0600
    upload = Upload(Path(path), clean)
    try:
        with os.fdopen(handle, "wb") as file:
            async for part in request.stream():
                file.write(part)
        check_contents(upload.file, settings.most_cells)
        yield upload
    finally:
        upload.file.unlink(missing_ok=True)


def file_name(name: str) -> str:
    """Return the name of a file without any folder; refuse one that is no table."""
    clean = name.replace("\\", "/").rpartition("/")[2].strip()
    clean = "".join(char for char in clean if char.isprintable()).lstrip(".")[-120:]
    if Path(clean).suffix.lower() not in EXTENSIONS or not Path(clean).stem:
        message = "The name of the file does not say that it is a table."
        raise Refusal(415, "web.format", message, f"endings: {', '.join(EXTENSIONS)}")
    return clean


def check_contents(file: Path, most_cells: int) -> None:
    """Refuse a file that is packed, or whose few bytes stand for more cells than memory can hold."""
    ending = file.suffix.lower()
    with open(file, "rb") as opened:
        beginning = opened.read(8)
    if beginning.startswith(_PACKED) and not (ending in _WORKBOOKS and beginning.startswith(_ZIP)):
        message = "The file is compressed."
        raise Refusal(415, "web.compressed", message, "unpack it first, and upload the table itself")
    if ending not in _LISTED:
        return
    rows, columns = _shape(file)
    if rows * columns > most_cells:
        message = f"The file holds {rows:,} rows and {columns:,} columns, more than this server accepts."
        raise Refusal(
            413, "web.too_large", message, "copy it into the folder that is served, and open it there"
        )


def _shape(file: Path) -> tuple[int, int]:
    """Return rows and columns as the file itself says, without reading any."""
    import polars as pl

    try:
        scan = pl.scan_parquet(file) if file.suffix.lower() == ".parquet" else pl.scan_ipc(file)
        return int(scan.select(pl.len()).collect().item()), len(scan.collect_schema())
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError):
        return 0, 0  # reading will say what is wrong
