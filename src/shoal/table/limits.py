"""Limits for files that unpack to far more than their size, whether by accident or on purpose.

A compressed file of some kilobytes can unpack to terabytes. What unpacks to little is always read; beyond
that, the size of the file decides.
"""

from __future__ import annotations

from pathlib import Path

from shoal.errors import DataError

UNPACKED = 1 << 28  # bytes of text or XML that any file may unpack to
RATIO = 100  # and bytes for each byte of a larger file; tables rarely exceed 30
CELLS = 1 << 24  # that any file may hold
CELLS_PER_BYTE = 100  # of a larger file; formats for statistics rarely exceed 8


def unpacked_limit(path: Path) -> int:
    """Return how many bytes a compressed file may unpack to."""
    return max(UNPACKED, RATIO * path.stat().st_size)


def check_cells(path: Path, rows: int, columns: int, size: int | None = None) -> None:
    """Refuse a file that claims more cells than a file of its size should hold."""
    size = path.stat().st_size if size is None else size
    if rows * columns > max(CELLS, CELLS_PER_BYTE * size):
        raise too_large(path, f"{rows:,} rows of {columns:,} columns in {size:,} bytes")


_CONVERT = "if you trust the file, convert it to CSV or Parquet with the program that wrote it"


def too_large(path: Path, what: str, hint: str = _CONVERT) -> DataError:
    """Build the error for a file that unpacks to too much."""
    message = f"The input {path} has {what}: far more than a file of its size should have."
    return DataError("data.too_large", message, hint)
