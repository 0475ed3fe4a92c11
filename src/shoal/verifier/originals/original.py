"""A release against the table that it was made from: no rows invented, none changed."""

from __future__ import annotations

import codecs
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from shoal.errors import DataError
from shoal.recipe import Address, Input, Recipe, located
from shoal.verifier.cells.codes_at_ends import code_original
from shoal.verifier.originals.conventions import read_conventions
from shoal.verifier.originals.files.databases import database_table
from shoal.verifier.originals.files.excel import excel_table
from shoal.verifier.originals.files.postgres import postgres_table
from shoal.verifier.originals.files.spss import spss_table
from shoal.verifier.originals.files.stata_sas import sas_table, stata_table
from shoal.verifier.originals.files.unpacked import PACKED, unpack
from shoal.verifier.originals.pairing import pairing_problems
from shoal.verifier.reading.load import (
    PART,
    TEXT_ENDINGS,
    TYPED,
    Loaded,
    append_all,
    existing,
    files_meant,
    load_arrow,
    load_arrow_file,
)
from shoal.verifier.reading.parts import common_schema
from shoal.verifier.reading.session import Session, UnreadableError
from shoal.verifier.reading.text import Dialect, fault_of_text, find_dialect, first_record, read_text
from shoal.verifier.verdict import Problem, count

if TYPE_CHECKING:
    import pyarrow as pa

_TYPED = {**TYPED, ".ipc": load_arrow_file}  # raw tables may have this ending too
# What loads the formats of other programs as an Arrow table, by ending.
FOREIGN: dict[str, Callable[[Path, Input], pa.Table]] = {
    **dict.fromkeys((".xlsx", ".xlsm"), excel_table),
    **dict.fromkeys((".sqlite", ".sqlite3", ".db", ".db3", ".duckdb", ".ddb"), database_table),
    **dict.fromkeys((".sav", ".zsav"), spss_table),
    ".dta": stata_table,
    **dict.fromkeys((".sas7bdat", ".xpt"), sas_table),
}
_UTF16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


def original_problems(session: Session, loaded: Loaded, original: Loaded, recipe: Recipe) -> list[Problem]:
    """Compare with the original."""
    problems = row_problems(loaded.rows, original.rows, recipe.privacy.max_suppressed)
    return problems + pairing_problems(session, loaded, original, recipe)


def existing_original(original: str | Path | pa.Table | None, given: Input) -> Path | pa.Table | None:
    """Return the original: a file must be there, a table of a database is fetched."""
    if not isinstance(original, (str, Path)):
        return original
    place = located(original)
    if isinstance(place, Address):
        return postgres_table(place, given)
    return existing(place, any_ending=True, folder=True)


def load_original(
    session: Session, raw: Path | pa.Table, recipe: Recipe, *, table: str = "original"
) -> Loaded:
    """Load the original, a file or a table; an unreadable one is a usage error, not a verdict.

    Another raw table, such as a population, is loaded under another name. Values beyond top and bottom codes
    are read as the codes.
    """
    try:
        loaded = _load_any(session, raw, recipe, table)
        code_original(session, loaded, recipe)
        return loaded
    except UnreadableError as error:
        code = error.code.replace("verify.", "data.")
        fault = "data.unreadable" if error.code == "verify.parts" else code, error.message
    code, reason = fault
    which = f"The {table} {raw}" if isinstance(raw, Path) else f"The {table}"
    raise DataError(code, f"{which} cannot be read. {reason}", "check the path and [input]")


def _load_any(session: Session, raw: Path | pa.Table, recipe: Recipe, table: str) -> Loaded:
    if not isinstance(raw, Path):
        return load_arrow(session, raw, table)
    files = files_meant(raw)
    return _load(session, raw, recipe, table) if files is None else _load_all(session, files, recipe, table)


def row_problems(released: int, rows: int, max_suppressed: float) -> list[Problem]:
    """Check that no rows were added and not too many left out."""
    message = ""
    if released > rows:
        message = f"The file has {count(released, 'row')}, the original only {rows}."
    elif rows - released > max_suppressed * rows + 1e-6:  # a share such as 0.1 is not an exact float
        left_out = f"{count(rows - released, 'row')} of {rows}"
        message = f"The file leaves out {left_out}; max_suppressed = {max_suppressed} does not allow that."
    return [Problem("verify.original_rows", message)] if message else []


def _load_all(session: Session, files: Sequence[Path], recipe: Recipe, table: str) -> Loaded:
    """Load the files of a folder or a pattern, one after the other."""
    if len({file.suffix.lower() for file in files}) > 1 or not all(file.is_file() for file in files):
        raise UnreadableError("verify.unreadable", "Its files are of several formats, or are folders.")
    if files and files[0].suffix.lower() == ".parquet":
        common_schema(files)
    headers = set()

    def load_part(file: Path) -> Loaded:
        loaded = _load(session, file, recipe, PART)
        headers.add(loaded.names)
        if len(headers) > 1:
            raise UnreadableError("verify.unreadable", "The file has other columns than those before it.")
        return loaded

    return append_all(session, files, table, load_part)


def _load(session: Session, path: Path, recipe: Recipe, table: str) -> Loaded:
    """Load a raw table. What has no other known ending is text."""
    ending = path.suffix.lower()
    if ending in _TYPED:
        return _TYPED[ending](session, path, table)
    if ending in FOREIGN:
        return load_arrow(session, FOREIGN[ending](path, recipe.input), table)
    if ending in PACKED:
        copy = session.folder / "unpacked"
        unpack(path, recipe.input, copy)
        path, ending = copy, path.with_suffix("").suffix.lower()
    text = _as_utf8(session, path, recipe.input.encoding)
    dialect = _dialect(text, recipe, TEXT_ENDINGS.get(ending, (",", ";", "\t", "|")))
    # Blank lines are common in raw files, so the sums of `tally` do not fit; one thread reads them.
    if not read_text(session, text, dialect, table, parallel=False):
        raise fault_of_text(text, dialect)
    read_conventions(session, table, len(dialect.names), recipe.input)
    names = tuple(name.strip() for name in dialect.names)
    return Loaded(table, names, int(session.row(f"SELECT count(*) FROM {table}")[0]))


def _dialect(path: Path, recipe: Recipe, delimiters: tuple[str, ...]) -> Dialect:
    """Find the layout of the raw text from its first line, or from the recipe."""
    given = recipe.input
    if given.separator:
        delimiters = (given.separator,)
    if given.header:
        return find_dialect(path, recipe.columns, delimiters)
    names = tuple(given.names or ())
    fitting = [d for d in delimiters if len(first_record(path, d)) == len(names)]
    return Dialect((fitting or delimiters)[0], names, header=False)


def _as_utf8(session: Session, path: Path, encoding: str | None) -> Path:
    """Return the file, or a copy in UTF-8 in the session's own folder, which is private."""
    with path.open("rb") as file:
        marked = file.read(2) in _UTF16
    encoding = encoding or ("utf-16" if marked else "utf-8")
    copy = session.folder / "original.csv"
    try:
        if codecs.lookup(encoding).name in ("utf-8", "utf-8-sig"):
            return path
        with path.open("r", encoding=encoding, newline="") as file, copy.open("wb") as out:
            while piece := file.read(1 << 20):
                out.write(piece.encode("utf-8"))
        return copy
    except (LookupError, UnicodeError):
        pass  # the error contains the bytes, so it is not chained
    raise UnreadableError("verify.unreadable", "It is not in the encoding that the recipe gives.")
