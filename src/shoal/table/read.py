"""Read a file into a Polars frame, with trimmed text and missing values marked; never guess silently."""

from __future__ import annotations

import codecs
import csv
import io
from collections import Counter
from collections.abc import Collection
from itertools import count
from pathlib import Path

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.csv as pa_csv

from shoal.errors import DataError, RecipeError, ShoalError
from shoal.recipe import Address, Input, Location, Recipe, column_faults
from shoal.table.compressed import inner_name, is_compressed, unpacked
from shoal.table.contents import refuse_other_than_text
from shoal.table.conventions import as_usual
from shoal.table.formats import FORMATS, READABLE, check_names, chosen, is_several, is_text
from shoal.table.frames import Choose, series
from shoal.table.parts import read_parts
from shoal.table.spreadsheet import unescaped

SEPARATORS = (",", ";", "\t", "|")
_SAMPLE_LINES = 50
# Types that DuckDB, Parquet and Arrow support, and whose values have a text form.
_TEXTS = (pl.String, pl.Categorical, pl.Enum)
_USABLE = (pl.Boolean, pl.Date, pl.Datetime, pl.Time, pl.Null)
_UNUSABLE_NUMBERS = (pl.Int128, pl.UInt128, pl.Float16)


def read(path: Location, given: Input, choose: Choose | None = None) -> pl.DataFrame:
    """Read a file, a folder or pattern of Parquet files, or a database; an unknown extension is read as CSV.

    Only the columns that `choose` selects are returned; the others may have any type.
    """
    if isinstance(path, Address):
        from shoal.table.postgres.reading import read_postgres

        return mark_missing(read_postgres(path, given, choose), given.missing)
    if is_several(path):
        return mark_missing(read_parts(path, choose), given.missing)
    _check_access(path)
    if not is_text(path):
        return mark_missing(_read_typed(path, given, choose), given.missing)
    frame = _read_text(path, given)
    return as_usual(mark_missing(frame[:, chosen(frame.columns, choose)], given.missing), given)


def first_records(path: Path, given: Input) -> list[list[str]]:
    """Return the first records of a text file, the header included if there is one."""
    _check_access(path)
    sample = _sample(path, _utf8_bytes(path, given))
    return _records(sample, _separator(path, given, sample))


def used_columns(recipe: Recipe, also: Collection[str] = ()) -> Choose:
    """Select the columns that a recipe uses and those in `also`; report a mismatch with the table."""

    def choose(present: list[str]) -> set[str]:
        faults = column_faults(recipe, present)
        if faults:
            raise RecipeError.from_faults(faults)
        label = () if recipe.label is None else (recipe.label,)
        return {*recipe.named("quasi", "sensitive", "keep", "subject"), *label, *also}

    return choose


def read_release(path: Path, *, spreadsheet_safe: bool = True) -> pl.DataFrame:
    """Read a release, removing the apostrophes added for spreadsheets from names and texts."""
    written = FORMATS.get(path.suffix.lower())
    separator = (written.separator or None) if written else None
    released = read(path, Input(separator=separator))
    return unescaped(released) if written and written.is_text and spreadsheet_safe else released


def read_any_release(path: Path, expected: Collection[str], *, spreadsheet_safe: bool = True) -> pl.DataFrame:
    """Read a release that another tool may have written, with any separator and possibly row numbers.

    Parameters
    ----------
    path : Path
        CSV, TSV, Parquet or Arrow.
    expected : collection of str
        Column names used to detect the separator: the one that yields most of them, preferring a comma.
    """
    if path.suffix.lower() != ".csv" or not path.is_file():
        return read_release(path, spreadsheet_safe=spreadsheet_safe)
    sample = _sample(path, _utf8_bytes(path, Input()))
    headers = {mark: [cell.strip() for cell in _first_record(sample, mark)] for mark in SEPARATORS}
    separator = max(SEPARATORS, key=lambda mark: len(set(expected).intersection(headers[mark])))
    names = headers[separator]
    if len(names) < 2 or names[0]:
        released = read(path, Input(separator=separator))
    else:  # R and pandas write row numbers first, in an unnamed column
        numbers = next(name for name in map(str, count(1)) if name not in names)
        released = read(path, Input(separator=separator, names=[numbers, *names[1:]])).drop(numbers)
    return unescaped(released) if spreadsheet_safe else released


def mark_missing(frame: pl.DataFrame, missing: list[str]) -> pl.DataFrame:
    """Check a frame, trim its texts, convert them to Unicode NFC, and set missing marks and NaN to null."""
    if frame.width == 0 or frame.height == 0:
        raise DataError("data.empty", "The table has no rows.", "use a table with at least k rows")
    return cleaned(frame, missing)


def cleaned(frame: pl.DataFrame, missing: list[str]) -> pl.DataFrame:
    """Trim texts, convert them to Unicode NFC, and set missing marks and NaN to null."""
    return pl.DataFrame({name: _cleaned(series(frame, name), missing) for name in frame.columns})


def _cleaned(column: pl.Series, missing: list[str]) -> pl.Series:
    dtype = column.dtype
    if isinstance(dtype, pl.Enum):
        texts = _cleaned_texts(column.cast(pl.String), missing)
        order = _cleaned_texts(dtype.categories, missing).drop_nulls().unique(maintain_order=True)
        return texts.cast(pl.Enum(order))
    if dtype in _TEXTS:
        return _cleaned_texts(column.cast(pl.String), missing)
    if not _is_usable(dtype):
        message = f"Column `{column.name}` has type {dtype}, which cannot be released."
        raise DataError("data.kind", message, "convert it to texts or numbers, or give it the role drop")
    return column.fill_nan(None) if dtype.is_float() else column


def _is_usable(dtype: pl.DataType) -> bool:
    return dtype in _USABLE or (dtype.is_numeric() and dtype not in _UNUSABLE_NUMBERS)


def _cleaned_texts(texts: pl.Series, missing: list[str]) -> pl.Series:
    text = pl.col("text")
    frame = texts.to_frame("text").select(text.str.strip_chars())
    if frame.select((text.str.len_bytes() != text.str.len_chars()).any()).item():  # ASCII is already in NFC
        frame = frame.select(text.str.normalize("NFC"))
    return frame.select(pl.when(~text.is_in(missing)).then(text).alias(texts.name)).to_series()


def _unreadable(path: Path, why: str) -> DataError:
    return DataError(
        "data.unreadable", f"The input {path} cannot be read: {why}.", "check the path and format"
    )


def _read_typed(path: Path, given: Input, choose: Choose | None) -> pl.DataFrame:
    reader = READABLE[path.suffix.lower()].read
    assert reader is not None  # text has no types
    try:
        frame = reader(path, given, choose)
    except ShoalError:
        raise
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, pa.ArrowException, OSError, ValueError):
        raise _unreadable(path, f"it is not a valid {path.suffix} file") from None
    return frame


def _read_text(path: Path, given: Input) -> pl.DataFrame:
    source = _utf8_bytes(path, given)
    sample = _sample(path, source)
    if not sample.strip():
        raise DataError("data.empty", "The input is empty.", "use a file with a header line and rows")
    separator = _separator(path, given, sample)
    names = given.names or [cell.strip() for cell in _first_record(sample, separator)]
    check_names(names)
    _check_quotes(path, source, separator)
    # In a file with one column an empty line is a row; otherwise it is ignored.
    n_records = len(_records(sample, separator)) if len(names) > 1 else sample.lstrip("\r\n").count("\n")
    if n_records <= int(given.header) and "\n" not in sample.strip():
        raise DataError("data.empty", "The table has no rows.", "use a table with at least k rows")
    blank_lines = sample[: len(sample) - len(sample.lstrip("\r\n"))].count("\n")
    table = _parse_csv(path, source, separator, names, (blank_lines, int(given.header)))
    return pl.from_arrow(table)  # type: ignore[return-value]


def _check_access(path: Path) -> None:
    try:
        with open(path, "rb"):
            pass
    except (OSError, ValueError) as error:  # a path with a null byte raises ValueError
        raise _unreadable(path, getattr(error, "strerror", None) or "it cannot be opened") from None


def _separator(path: Path, given: Input, sample: str) -> str:
    # A file called .csv may have any separator.
    return given.separator or ("\t" if inner_name(path).suffix.lower() == ".tsv" else find_separator(sample))


def _utf8_bytes(path: Path, given: Input) -> bytes | None:
    """Return the text as UTF-8 if it must be unpacked or transcoded; None if it can be read directly."""
    content = unpacked(path, given) if is_compressed(path) else None
    head = _head(path) if content is None else content[:64]
    refuse_other_than_text(path, head, is_packed=content is not None)
    encoding = given.encoding
    if encoding is None and head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        encoding = "utf-16"
    if encoding is None:
        return content
    try:
        return (path.read_bytes() if content is None else content).decode(encoding).encode()
    except (LookupError, ValueError) as error:
        if isinstance(error, UnicodeError):
            raise _wrong_encoding(path, encoding) from None
        raise DataError(
            "data.encoding", "The encoding given in [input] is unknown.", 'for example encoding = "latin-1"'
        ) from None


def _head(path: Path) -> bytes:
    with open(path, "rb") as file:
        return file.read(64)


def _wrong_encoding(path: Path, encoding: str) -> DataError:
    hint = 'set its encoding, for example [input] encoding = "latin-1"'
    return DataError("data.encoding", f"The input {path} is not valid {encoding}.", hint)


def _sample(path: Path, source: bytes | None) -> str:
    """Return the first lines, for detecting the separator and the header."""
    if source is None:
        with open(path, "rb") as file:
            raw = file.read(1 << 20)
    else:
        raw = source[: 1 << 20]
    try:
        return codecs.getincrementaldecoder("utf-8-sig")().decode(raw)
    except UnicodeDecodeError:
        raise _wrong_encoding(path, "UTF-8") from None


def _records(sample: str, separator: str) -> list[list[str]]:
    lines = io.StringIO(sample, newline="")
    records = []
    try:
        for record in csv.reader(lines, delimiter=separator):
            if record:
                records.append(record)
            if len(records) == _SAMPLE_LINES:
                break
    except csv.Error:
        pass  # the records parsed so far are enough for detection
    return records


def _first_record(sample: str, separator: str) -> list[str]:
    records = _records(sample, separator)
    return records[0] if records else [""]


def find_separator(sample: str) -> str:
    """Return the separator that gives the first lines the most consistent, then the largest, cell count."""

    def score(separator: str) -> tuple[float, int]:
        widths = [len(record) for record in _records(sample, separator)]
        width, times = Counter(widths).most_common(1)[0] if widths else (0, 0)
        return (times / max(1, len(widths)) if width > 1 else 0.0, width)

    return max(SEPARATORS, key=score) if _records(sample, ",") else ","


def _check_quotes(path: Path, source: bytes | None, separator: str) -> None:
    """Refuse a file with an unclosed quote: the parser would swallow the rows after it."""
    from shoal.kernels import quoting

    data = np.fromfile(path, np.uint8) if source is None else np.frombuffer(source, np.uint8)
    wrong = quoting.misplaced_quotes(data, ord(separator))
    if wrong:
        message = f"{path} has {wrong} quoted cells whose closing quote is not at the end of the cell."
        raise DataError("data.ragged", message, "double every quote inside a quoted cell")


def _parse_csv(
    path: Path, source: bytes | None, separator: str, names: list[str], skip: tuple[int, int]
) -> pa.Table:
    """Parse strictly: a line with more or fewer cells than the header is an error.

    `skip` is the number of blank lines before the header and of records in the header.
    """
    file = pa.BufferReader(source) if source is not None else str(path)
    try:
        return pa_csv.read_csv(
            file,
            read_options=pa_csv.ReadOptions(
                column_names=names, skip_rows=skip[0], skip_rows_after_names=skip[1]
            ),
            parse_options=pa_csv.ParseOptions(
                delimiter=separator,
                newlines_in_values=True,
                # In a file with one column an empty line is a missing value.
                ignore_empty_lines=len(names) > 1,
            ),
            convert_options=pa_csv.ConvertOptions(
                column_types={name: pa.large_string() for name in names},
                strings_can_be_null=False,
                quoted_strings_can_be_null=False,
            ),
        )
    except pa.ArrowInvalid as error:
        # Arrow's message quotes the line, so it is only inspected, not shown.
        what = str(error)
    if "utf8" in what.lower():
        raise _wrong_encoding(path, "UTF-8")
    ragged = _count_ragged(path, source, separator, len(names))
    if ragged:
        message = f"{path} has {ragged} lines that do not have {len(names)} cells."
        raise DataError("data.ragged", message, "check the separator and quotes, or correct these lines")
    raise _unreadable(path, "it is not a well-formed CSV file")


def _count_ragged(path: Path, source: bytes | None, separator: str, width: int) -> int:
    """Count the lines of a different width; slow, but only run after the fast parser has failed."""
    raw = path.open("rb") if source is None else io.BytesIO(source)
    with io.TextIOWrapper(raw, encoding="utf-8", errors="replace", newline="") as lines:
        try:
            return sum(len(record) not in (0, width) for record in csv.reader(lines, delimiter=separator))
        except csv.Error:
            return 0
