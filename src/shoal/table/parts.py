"""Tables in several Parquet files: a folder, or a pattern such as `2026-*/part-*.parquet`."""

from __future__ import annotations

import glob
from pathlib import Path

import polars as pl

from shoal.errors import DataError
from shoal.table.formats import chosen
from shoal.table.frames import Choose
from shoal.table.limits import check_cells


def files_of(path: Path) -> list[Path]:
    """List the files that a folder or a pattern stands for, in the order of their names.

    Names that begin with `_` or `.` are left out: other programs put notes there.
    """
    found = path.iterdir() if path.is_dir() else map(Path, glob.glob(str(path), recursive=True))
    return sorted(file for file in found if not file.name.startswith(("_", ".")))


def read_parts(path: Path, choose: Choose | None) -> pl.DataFrame:
    """Read the chosen columns of all files, one below the other."""
    files = files_of(path)
    _check_files(path, files)
    try:
        schemas = [pl.read_parquet_schema(file) for file in files]
        size = sum(file.stat().st_size for file in files)
        rows = sum(pl.scan_parquet(file, glob=False).select(pl.len()).collect().item() for file in files)
        names = list(schemas[0])
        _check_schemas(files, schemas)
        used = [names[at] for at in chosen(names, choose)]
        check_cells(path, rows, max(1, len(used)), size)
        return pl.concat([pl.read_parquet(file, columns=used, hive_partitioning=False) for file in files])
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError):
        pass
    broken = [file for file in files if not _is_parquet(file)]
    named = broken[0] if broken else path
    message = f"Files that cannot be read as Parquet: {max(1, len(broken))} of {len(files)}, such as {named}."
    raise DataError("data.unreadable", message, "remove these files, or write them again")


def _check_files(path: Path, files: list[Path]) -> None:
    folders = [file for file in files if file.is_dir()]
    partitions = [file for file in files if any("=" in part for part in file.relative_to(_root(path)).parts)]
    others = [file for file in files if file.suffix.lower() != ".parquet"]
    if not files:
        message = f"The input {path} matches no files."
        hint = "give a folder of Parquet files, or a pattern such as parts/*.parquet"
    elif partitions:
        message = (
            f"The input {path} has folders such as `{partitions[0].relative_to(_root(path)).parts[0]}`, "
        )
        message += "whose names contain values of a column."
        hint = "write the column into the files, or use the engine spark, which reads such folders"
    elif folders or others:
        message = f"{'Folders' if folders else 'Files'} in {path} that are not Parquet files: "
        message += f"{len(folders or others)}, for example {(folders or others)[0].name}."
        hint = "give a pattern that matches Parquet files only, such as folder/*.parquet"
    else:
        return
    raise DataError("data.unreadable", message, hint)


def _root(path: Path) -> Path:
    """Return the folder that a pattern starts from."""
    while glob.has_magic(str(path)) and not path.exists():
        path = path.parent
    return path


def _check_schemas(files: list[Path], schemas: list[dict[str, pl.DataType]]) -> None:
    other = [file.name for file, schema in zip(files, schemas, strict=True) if schema != schemas[0]]
    if other:
        message = f"Files with other columns or types than {files[0].name}: {len(other)} of {len(files)}, "
        message += f"such as {other[0]}."
        raise DataError("data.ragged", message, "give files of one table, all with the same columns")


def _is_parquet(file: Path) -> bool:
    try:
        pl.read_parquet_schema(file)
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError):
        return False
    return True
