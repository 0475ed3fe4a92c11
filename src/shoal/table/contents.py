"""What a file contains, by its first bytes: for hints that fit when it is not what its extension says."""

from __future__ import annotations

from pathlib import Path

from shoal.errors import DataError

_RENAME = "rename it so that it ends in {}"
_CONVERT = "export it as CSV, Parquet or .xlsx"
# The first bytes, the offset at which they are, what the file is, and what to do.
_KINDS: tuple[tuple[bytes, int, str, str], ...] = (
    (b"$FL2", 0, "an SPSS file", _RENAME.format(".sav")),
    (b"$FL3", 0, "a compressed SPSS file", _RENAME.format(".zsav")),
    (b"<stata_dta>", 0, "a Stata file", _RENAME.format(".dta")),
    (b"\xc2\xea\x81\x60\xb3\x14\x11\xcf", 12, "a SAS file", _RENAME.format(".sas7bdat")),
    (b"HEADER RECORD*******LIB", 0, "a SAS transport file", _RENAME.format(".xpt")),
    (b"ASCII SPSS PORT FILE", 40, "an SPSS portable file", "save it as .sav in SPSS or PSPP"),
    (b"SQLite format 3\0", 0, "an SQLite database", _RENAME.format(".sqlite")),
    (b"DUCK", 8, "a DuckDB database", _RENAME.format(".duckdb")),
    (b"PAR1", 0, "a Parquet file", _RENAME.format(".parquet")),
    (b"ARROW1", 0, "an Arrow file", _RENAME.format(".arrow")),
    (b"FEA1", 0, "a Feather file", _RENAME.format(".feather")),
    (b"\x1f\x8b", 0, "compressed with gzip", _RENAME.format(".csv.gz") + ", if it holds CSV"),
    (b"BZh", 0, "compressed with bzip2", _RENAME.format(".csv.bz2") + ", if it holds CSV"),
    (b"\xfd7zXZ\0", 0, "compressed with xz", _RENAME.format(".csv.xz") + ", if it holds CSV"),
    (b"\x28\xb5\x2f\xfd", 0, "compressed with Zstandard", _RENAME.format(".csv.zst") + ", if it holds CSV"),
    (b"7z\xbc\xaf\x27\x1c", 0, "a 7-Zip archive", "unpack it first"),
    (b"Rar!", 0, "a RAR archive", "unpack it first"),
    (
        b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1",
        0,
        "an old or encrypted Office file",
        "save it as .xlsx without a password",
    ),
    (b"PK\x03\x04", 0, "an Office file or a zip archive", _RENAME.format(".xlsx or .csv.zip")),
    (b"\x89HDF", 0, "an HDF5 file", _CONVERT),
    (b"ORC", 0, "an ORC file", _CONVERT),
    (b"Obj\x01", 0, "an Avro file", _CONVERT),
    (b"%PDF-", 0, "a PDF document", _CONVERT),
    (b"\0\x01\0\0Standard ", 0, "an Access database", _CONVERT),
)
# Extensions of files that are not tables of text, and that shoal does not read.
_UNREAD = {
    ".xls": "save it as .xlsx",
    ".xlsb": "save it as .xlsx",
    ".ods": "save it as .xlsx",
    ".numbers": "export it as .xlsx or CSV",
    ".por": "save it as .sav in SPSS or PSPP",
    ".sas7bcat": "it holds value labels; name the .sas7bdat file as the input and this one as its catalog",
    ".rds": "in R, write it with arrow::write_parquet or haven::write_sav",
    ".rdata": "in R, write it with arrow::write_parquet or haven::write_sav",
    ".rda": "in R, write it with arrow::write_parquet or haven::write_sav",
    **dict.fromkeys((".mdb", ".accdb", ".h5", ".hdf5", ".orc", ".avro", ".pdf", ".pkl"), _CONVERT),
    **dict.fromkeys((".json", ".jsonl", ".ndjson", ".xml"), "convert it to CSV or Parquet"),
    **dict.fromkeys((".7z", ".rar", ".tar", ".tgz"), "unpack it first"),
}


def starts_like(path: Path, mark: bytes, offset: int = 0) -> bool:
    """Return whether a file has these bytes near its start."""
    with open(path, "rb") as file:
        file.seek(offset)
        return file.read(len(mark)) == mark


def refuse_other_than_text(path: Path, head: bytes, *, is_packed: bool) -> None:
    """Refuse a file that would be read as text but is something else.

    Parameters
    ----------
    path : Path
        The file.
    head : bytes
        Its first bytes, unpacked if it is compressed.
    is_packed : bool
        Whether it is.
    """
    extension = path.suffix.lower()
    for mark, offset, what, advice in _KINDS:
        if head[offset : offset + len(mark)] == mark:
            hint = "unpack it first" if is_packed else _UNREAD.get(extension, advice)
            inside = " inside" if is_packed else ""
            raise DataError("data.unreadable", f"The input {path} is not text{inside}: it is {what}.", hint)
    if extension in _UNREAD:
        message = f"shoal does not read files that end in {extension}: {path}."
        raise DataError("data.unreadable", message, _UNREAD[extension])
