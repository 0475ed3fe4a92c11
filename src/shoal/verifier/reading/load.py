"""Load a release into DuckDB: one table, every cell as text, columns by position."""

from __future__ import annotations

import glob
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from shoal.errors import DataError
from shoal.verifier.reading.apostrophe import plain
from shoal.verifier.reading.parts import PART_ENDINGS, common_dialect, common_schema, in_part
from shoal.verifier.reading.session import Session, UnreadableError, column, exactly, literal
from shoal.verifier.reading.tally import tally_bytes, tally_table
from shoal.verifier.reading.text import Dialect, fault_of_text, find_dialect, read_text

if TYPE_CHECKING:
    import pyarrow as pa

TEXT_ENDINGS = {".csv": (",", ";", "\t"), ".tsv": ("\t",)}  # the delimiters that each may have


@dataclass(frozen=True)
class Loaded:
    """A file in the database: the name of its table, its header and its number of rows."""

    table: str
    names: tuple[str, ...]
    rows: int
    marked: bool = False  # texts that a spreadsheet would run are prefixed with an apostrophe
    types: tuple[str, ...] = ()  # as DuckDB names them; empty for a text file

    def column(self, name: str) -> str:
        """Return the SQL name of a column that the file has once."""
        return column(self.names.index(name))

    def stored(self, name: str) -> str:
        """Return the type that a column had before it became text; empty in a text file."""
        return self.types[self.names.index(name)] if self.types else ""

    def has_once(self, name: str) -> bool:
        """Return whether exactly one column has this name."""
        return self.names.count(name) == 1


def existing(path: str | Path, *, any_ending: bool = False, folder: bool = False) -> Path:
    """Return the path of a file that can be opened and whose ending is known; or of a `folder` of parts."""
    file = Path(path)
    if any_ending and files_meant(file):
        return file
    reason = "there is no such file"
    if file.is_dir():
        reason = _why_no_folder(file, any_ending=any_ending) if folder else "it is a directory"
        if not reason:
            return file
    elif file.is_file():
        reason = _why_unreadable(file)
    endings = (*TEXT_ENDINGS, *TYPED)
    if not reason and not any_ending and file.suffix.lower() not in endings:
        reason = "its ending is not one that shoal reads"
    if reason:
        hint = f"give a file that ends in {', '.join(endings)}"
        raise DataError("data.unreadable", f"{path} cannot be read: {reason}.", hint)
    return file


def files_meant(path: Path) -> list[Path] | None:
    """List the files of a folder or a pattern by name, without those that Spark would pass over.

    A file, or nothing that exists, gives None.
    """
    if path.is_dir():
        found = list(path.iterdir())
    elif path.exists() or not glob.has_magic(str(path)):
        return None
    else:
        found = [Path(name) for name in glob.glob(str(path), recursive=True)]
    return sorted(file for file in found if not file.name.startswith(("_", ".")))


def _why_no_folder(folder: Path, *, any_ending: bool) -> str:
    if not any_ending and folder.suffix not in PART_ENDINGS:
        return f"it is a directory that does not end in {' or '.join(PART_ENDINGS)}"
    try:
        return "" if any(folder.iterdir()) else "it is an empty directory"
    except OSError as error:
        return error.strerror or "it cannot be opened"


def _why_unreadable(file: Path) -> str:
    try:
        file.open("rb").close()
    except OSError as error:
        return error.strerror or "it cannot be opened"
    return ""


def load(session: Session, path: Path, expected: Collection[str], *, spreadsheet_safe: bool = True) -> Loaded:
    """Load a release. The delimiter is recognised by the columns in `expected`."""
    ending = path.suffix.lower()
    if ending in TYPED:
        return TYPED[ending](session, path, "released")
    wanted = header_names(expected, spreadsheet_safe=spreadsheet_safe)
    if path.stat().st_size == 0:
        raise UnreadableError("verify.empty", "The file is empty.")
    dialect = find_dialect(path, wanted, TEXT_ENDINGS[ending])
    return unmarked(_load_text(session, path, dialect), spreadsheet_safe=spreadsheet_safe)


def load_parts(
    session: Session, files: Sequence[Path], expected: Collection[str], *, spreadsheet_safe: bool = True
) -> Loaded:
    """Load a release in several files, one after the other; they all have the same header."""
    if files and files[0].suffix == ".parquet":
        common_schema(files)
        return append_all(session, files, "released", lambda file: load_parquet(session, file, PART))
    wanted = header_names(expected, spreadsheet_safe=spreadsheet_safe)
    dialect = common_dialect(files, wanted, TEXT_ENDINGS[".csv"])
    loaded = append_all(session, files, "released", lambda file: _load_text(session, file, dialect, PART))
    return unmarked(loaded, spreadsheet_safe=spreadsheet_safe)


PART = "part"  # the table that a part is read into before it is appended to the others


def append_all(
    session: Session, files: Sequence[Path], table: str, load_part: Callable[[Path], Loaded]
) -> Loaded:
    """Load files into the table `PART`, one by one, and put them together in their order."""
    whole: Loaded | None = None
    for file in files:
        loaded = in_part(file, lambda file=file: load_part(file))  # type: ignore[misc]
        verb = f"CREATE OR REPLACE TEMP TABLE {table} AS" if whole is None else f"INSERT INTO {table}"
        session.rows(f"{verb} FROM {PART}")
        if whole is None:
            whole = replace(loaded, table=table)
        else:  # the types of a part without rows are unknown
            types = whole.types if any(whole.types) else loaded.types
            whole = replace(whole, types=types)
    session.rows(f"DROP TABLE IF EXISTS {PART}")
    if whole is None:
        raise UnreadableError("verify.empty", "The folder has no parts.")
    return replace(whole, rows=_count(session, table))


def header_names(expected: Collection[str], *, spreadsheet_safe: bool) -> list[str]:
    """List the names that a header line may show, with or without the apostrophe for spreadsheets."""
    return [*expected, *(f"'{name}" for name in expected if spreadsheet_safe)]


def unmarked(loaded: Loaded, *, spreadsheet_safe: bool) -> Loaded:
    """Remove the apostrophes from the header; those of cells stay."""
    names = tuple(plain(name) if spreadsheet_safe else name for name in loaded.names)
    return replace(loaded, names=names, marked=spreadsheet_safe)


def _load_text(session: Session, path: Path, dialect: Dialect, table: str = "released") -> Loaded:
    seen = tally_bytes(path, dialect.delimiter)
    # Threads start in the middle of the file and may mistake a line inside a quoted cell for a
    # record. Then DuckDB fails or the sums differ; a single thread makes no such mistake.
    for parallel in (True, False):
        readable = read_text(session, path, dialect, table, parallel=parallel)
        if readable and seen is not None and seen == tally_table(session, table, dialect):
            return Loaded(table, dialect.names, seen.records - 1)
    if readable:
        raise fault_of_text(path, dialect, "The quotes or line ends of the file are ambiguous.")
    raise fault_of_text(path, dialect)


def load_parquet(session: Session, path: Path, table: str) -> Loaded:
    """Load a Parquet file with DuckDB's own reader."""
    pattern = exactly(path)
    names: tuple[str, ...] = ()
    # The names come from the schema: DuckDB renames columns that differ only in case.
    if session.succeeds("FROM parquet_schema(?)", [pattern]):
        schema = session.rows("SELECT name, num_children FROM parquet_schema(?)", [pattern])
        names = _top_names(schema)
    source = "read_parquet(?, hive_partitioning = false)"
    if not names or not _copy_as_text(session, source, [pattern], table, len(names), _zones(path)):
        raise UnreadableError("verify.unreadable", "The file is not in Parquet format.")
    types = _types(session, source, [pattern], len(names))
    return Loaded(table, names, _count(session, table), types=types)


def _zones(path: Path) -> dict[int, str]:
    """Return the time zone of each column of a Parquet file that has one; DuckDB drops it."""
    from pyarrow import ArrowException, parquet

    try:
        schema = parquet.read_schema(path)
    except (ArrowException, OSError):
        return {}
    return _zones_of(schema)


def _zones_of(schema: pa.Schema) -> dict[int, str]:
    zones = ((at, getattr(field.type, "tz", None)) for at, field in enumerate(schema))
    return {at: zone for at, zone in zones if zone}


def _top_names(schema: Sequence[tuple[str, int | None]]) -> tuple[str, ...]:
    """Pick the top-level columns from a Parquet schema, which lists a tree depth first."""
    names = []
    below = 0  # elements that still belong to the current column
    for name, children in schema[1:]:
        if below == 0:
            names.append(name)
        else:
            below -= 1
        below += children or 0
    return tuple(names)


def load_arrow_file(session: Session, path: Path, table: str) -> Loaded:
    """Load an Arrow file."""
    return load_arrow(session, _read_arrow(path), table)


def _read_arrow(path: Path) -> pa.Table:
    """Read an Arrow file or stream with pyarrow: DuckDB reads neither."""
    import pyarrow as pa

    for open_as in (pa.ipc.open_file, pa.ipc.open_stream):
        try:
            with pa.OSFile(str(path), "rb") as file, open_as(file) as reader:
                return reader.read_all()
        except (pa.ArrowException, OSError, ValueError):
            continue  # pyarrow's message may quote cells
    raise UnreadableError("verify.unreadable", "The file is not in Arrow format.")


def load_arrow(session: Session, given: pa.Table, table: str) -> Loaded:
    """Load a pyarrow table."""
    names = tuple(given.column_names)
    types = _copy_arrow(session, given, table) if names else None
    if types is None:
        raise UnreadableError(
            "verify.unreadable", "The table has no columns, or columns that cannot be read as text."
        )
    return Loaded(table, names, _count(session, table), types=types)


def _copy_arrow(session: Session, given: pa.Table, table: str) -> tuple[str, ...] | None:
    """Copy a pyarrow table and return its types; None if it is invalid or DuckDB does not know them."""
    import duckdb
    import pyarrow as pa

    width = given.num_columns
    try:
        given.validate(full=True)  # texts that are not UTF-8, offsets that point elsewhere
        session.database.register("given", given.rename_columns([column(i) for i in range(width)]))
    except (duckdb.Error, pa.ArrowException):
        return None
    copied = _copy_as_text(session, "given", [], table, width, _zones_of(given.schema))
    types = _types(session, "given", [], width) if copied else None
    session.database.unregister("given")
    return types


def _copy_as_text(
    session: Session,
    source: str,
    parameters: Sequence[str],
    table: str,
    width: int,
    zones: Mapping[int, str],
) -> bool:
    """Copy a source into a table of text columns; return whether that succeeded.

    Empty cells become missing: a CSV file does not distinguish them, so a reader of the release cannot
    either. A time is written in the zone of its column, whatever zone this machine is in.
    """
    names = ", ".join(column(i) for i in range(width))
    values = [
        f"timezone({literal(zones[i])}, {column(i)})" if i in zones else column(i) for i in range(width)
    ]
    cells = ", ".join(
        f"nullif(CAST({value} AS VARCHAR), '') AS {column(i)}" for i, value in enumerate(values)
    )
    sql = f"CREATE OR REPLACE TEMP TABLE {table} AS SELECT {cells} FROM {source} AS source({names})"
    return session.succeeds(sql, parameters)


def _types(session: Session, source: str, parameters: Sequence[str], width: int) -> tuple[str, ...]:
    """Return the types of a source's columns; none if it has no rows."""
    names = ", ".join(column(i) for i in range(width))
    types = ", ".join(f"typeof({column(i)})" for i in range(width))
    found = session.rows(f"SELECT {types} FROM {source} AS source({names}) LIMIT 1", parameters)
    return tuple(found[0]) if found else ("",) * width


def _count(session: Session, table: str) -> int:
    return int(session.row(f"SELECT count(*) FROM {table}")[0])


# What loads a file with types into a table, by ending.
TYPED = {".parquet": load_parquet, ".arrow": load_arrow_file, ".feather": load_arrow_file}
