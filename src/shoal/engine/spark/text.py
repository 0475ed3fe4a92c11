"""Read CSV files with Spark: the rows that the engine `local` reads, or an error.

Spark takes the header of one file for those of all, replaces bytes that are no text, and passes over lines
without a visible character. One pass over the lines finds all of that before Spark reads the cells.
"""

from __future__ import annotations

import codecs
import csv
import re
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any
from urllib.parse import unquote

from shoal.errors import DataError
from shoal.recipe import Input
from shoal.table.formats import check_names
from shoal.table.read import find_separator

SEPARATORS = {".csv": None, ".tsv": "\t"}
_SAMPLE_LINES = 50
# Encodings that Spark can decode line by line, and what it calls them. It knows UTF-16 and UTF-32 too, but
# splits the lines of a file before it decodes them.
_ENCODINGS = {"utf-8": "UTF-8", "utf-8-sig": "UTF-8", "ascii": "US-ASCII", "iso8859-1": "ISO-8859-1"}
_MARKS = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_CONVERT = "convert the files to UTF-8, or use the engine local"
# What Spark asks of a line to read it: Java counts all these as white space, tabs among them.
_VISIBLE = r"[^\x00-\x20]"


@dataclass(frozen=True)
class _Block:
    """What was counted in one block of a file, in which the lines have consecutive numbers.

    Parameters
    ----------
    path, start
        The file, and where in it the block begins.
    begin, visible
        The numbers of its first line, and of its first line that Spark reads; None if there is none.
    is_same
        Whether the latter is the header.
    wrong, open
        Lines that are no text, and that end inside quotes.
    rows, ragged
        Lines that Spark passes over though they are rows, and though they have another number of cells.
    """

    path: str
    start: int
    begin: int
    visible: int | None
    is_same: bool | None
    wrong: int
    open: int
    rows: int
    ragged: int


def read_text(spark: Any, place: str, given: Input, extension: str) -> Any:
    """Read text files that are one table; the place is as Spark takes it."""
    encoding = _encoding(given)
    lines = _lines(spark, place)
    sample = [_decoded(bytes(line), encoding, given) for (line,) in _first(lines)]
    if not sample:
        raise DataError("data.empty", "The input is empty.", "use files with a header line and rows")
    separator = given.separator or SEPARATORS.get(extension) or find_separator("\n".join(sample))
    header = _cells(sample[0], separator)
    names = given.names or header
    check_names(names)
    blocks = _looked_through(lines, encoding, separator, len(names), sample[0])
    _refuse_lines(blocks, given, len(names))
    if given.header:
        _refuse_headers(lines, blocks, encoding, separator, header)
    return _with_empty_rows(spark, _read(spark, place, given, separator, names), blocks, len(names))


def _read(spark: Any, place: str, given: Input, separator: str, names: list[str]) -> Any:
    """Read the cells; columns that names of folders hold come after those of the files."""
    options = {
        "sep": separator,
        "header": given.header,
        "quote": '"',
        "escape": '"',
        "nullValue": "",
        "emptyValue": "",
        "mode": "FAILFAST",  # a line that cannot be read is an error, never a row of missing values
        "ignoreLeadingWhiteSpace": True,
        "ignoreTrailingWhiteSpace": True,
        "encoding": _encoding(given),
    }
    plain = [f"c{at}" for at in range(len(names))]
    frame = spark.read.options(**options).csv(place, schema=", ".join(f"{name} string" for name in plain))
    return frame.toDF(*names, *frame.columns[len(names) :])


def _encoding(given: Input) -> str:
    """Return what Spark calls the encoding of the files."""
    try:
        name = codecs.lookup(given.encoding or "utf-8").name
    except LookupError:
        raise DataError(
            "data.encoding", "The encoding given in [input] is unknown.", 'for example encoding = "latin-1"'
        ) from None
    if name not in _ENCODINGS:
        message = "The engine spark reads text files in UTF-8, ASCII and Latin-1 only."
        raise DataError("data.encoding", message, _CONVERT)
    return _ENCODINGS[name]


def _lines(spark: Any, place: str) -> Any:
    """Return the lines as bytes, and where each is; Spark decodes nothing here."""
    from pyspark.sql import functions as f

    return spark.read.text(place).select(
        "value",
        f.col("value").cast("binary").alias("line"),
        f.col("_metadata.file_path").alias("path"),
        f.col("_metadata.file_block_start").alias("start"),
        f.monotonically_increasing_id().alias("at"),
        f.col("value").rlike(_VISIBLE).alias("is_visible"),
    )


def _first(lines: Any) -> list[Any]:
    """Return the first lines of a file that Spark reads."""
    found: list[Any] = lines.where("start = 0 AND is_visible").select("line").limit(_SAMPLE_LINES).collect()
    return found


def _decoded(line: bytes, encoding: str, given: Input) -> str:
    try:
        return line.decode(encoding)
    except UnicodeDecodeError:
        raise _wrong_encoding(given, encoding, line.startswith(_MARKS)) from None


def _wrong_encoding(given: Input, encoding: str, is_marked: bool = False) -> DataError:
    if is_marked and encoding == "UTF-8":
        message = f"The input {given.path} is in UTF-16, which the engine spark does not read."
        return DataError("data.encoding", message, _CONVERT)
    hint = 'set its encoding, for example [input] encoding = "latin-1"'
    return DataError("data.encoding", f"The input {given.path} is not valid {encoding}.", hint)


def _cells(line: str, separator: str) -> list[str]:
    return [cell.strip() for cell in next(csv.reader([line], delimiter=separator), [""])]


def _looked_through(
    lines: Any, encoding: str, separator: str, width: int, header: str
) -> dict[str, list[_Block]]:
    """Look at every line once; return the blocks of each file in their order.

    Nothing but numbers is added up: Spark would sort the lines to find the first text of each file.
    """
    from pyspark.sql import functions as f

    value, visible, at = f.col("value"), f.col("is_visible"), f.col("at")
    cells = f.length(value) - f.length(f.replace(value, f.lit(separator), f.lit(""))) + 1
    empty = ~visible & (cells == width)
    wrong = {"UTF-8": ~f.is_valid_utf8(value), "US-ASCII": value.rlike(r"[^\x00-\x7f]")}
    is_open = value.contains('"') & value.rlike(_open_quotes(separator))
    found = lines.groupBy("path", "start").agg(
        f.min(at),
        f.min(f.when(visible, at)),
        f.min_by(f.col("line") == f.lit(header.encode(encoding)), f.when(visible, at)),
        *(f.count_if(each) for each in (wrong.get(encoding, f.lit(False)), is_open, empty)),
        f.count_if(~visible & ~empty & (f.length(value) > 0)),
    )
    files = defaultdict(list)
    for block in sorted((_Block(*row) for row in found.collect()), key=lambda block: block.start):
        files[block.path].append(block)
    return dict(files)


def _refuse_lines(files: dict[str, list[_Block]], given: Input, width: int) -> None:
    """Refuse lines that Spark would read as something else than they are."""
    blocks = [block for file in files.values() for block in file]
    if any(block.wrong for block in blocks):
        raise _wrong_encoding(given, _encoding(given))
    unclosed = sum(block.open for block in blocks)
    if unclosed:  # Spark would make two rows of such a cell and the next line
        lines = "1 line that ends" if unclosed == 1 else f"{unclosed:,} lines that end"
        message = f"{given.path} has {lines} inside quotes."
        hint = "with line breaks in cells, use the engine local, or convert the table to Parquet"
        raise DataError("data.unreadable", message, hint)
    ragged = sum(block.ragged for block in blocks)
    if ragged:
        message = f"{given.path} has {ragged:,} lines of white space that do not have {width} cells."
        raise DataError("data.ragged", message, "remove these lines; check the separator")


def _refuse_headers(
    lines: Any, files: dict[str, list[_Block]], encoding: str, separator: str, header: list[str]
) -> None:
    """Refuse files with other columns, or in another order."""
    first = [_first_visible(blocks) for blocks in files.values()]
    read = sorted((block for block in first if block is not None), key=lambda block: block.path)
    if all(block.is_same and block.start == 0 for block in read):  # it skips one in the first block only
        return
    texts = _headers(lines, encoding)  # the same cells may be written in several ways
    other = [block.path for block in read if _cells(texts.get(block.path, ""), separator) != header]
    if other:
        like = next(block.path for block in read if block.path not in other)
        message = f"Files with other columns than {_name(like)}, or in another order: {len(other)} of "
        message += f"{len(read)}, such as {_name(other[0])}."
        raise DataError("data.ragged", message, "give files of one table, all with the same header")


def _headers(lines: Any, encoding: str) -> dict[str, str]:
    from pyspark.sql import functions as f

    found = lines.where("start = 0 AND is_visible").groupBy("path").agg(f.min_by("line", "at"))
    return {path: bytes(line).decode(encoding, "replace") for path, line in found.collect()}


def _name(path: str) -> str:
    return unquote(PurePath(path).name)


def _first_visible(blocks: Iterable[_Block]) -> _Block | None:
    return next((block for block in blocks if block.visible is not None), None)


def _with_empty_rows(spark: Any, frame: Any, files: dict[str, list[_Block]], width: int) -> Any:
    """Add the rows whose cells are all missing and that Spark passes over: with one column, empty lines."""
    number = sum(_empty_rows(blocks, width) for blocks in files.values())
    if not number:
        return frame
    from pyspark.sql import functions as f

    nothing = (f.lit(None).cast(field.dataType) for field in frame.schema)
    return frame.union(spark.range(number).select(*nothing))


def _empty_rows(blocks: list[_Block], width: int) -> int:
    """Count such rows of a file; empty lines before the first other line are none."""
    number = sum(block.rows for block in blocks)
    first = _first_visible(blocks)
    if width > 1:
        return number
    if first is None or first.visible is None:
        return 0
    before = sum(block.rows for block in blocks if block.start < first.start)
    return number - before - (first.visible - first.begin)


def _open_quotes(separator: str) -> str:
    """Return the regular expression, as Java takes it, of a line whose last cell has no closing quote."""
    end, quoted = re.escape(separator), '"(?:[^"]++|"")*+'
    cell = f'(?: *+{quoted}"[^{end}]*+|(?! *+")[^{end}]*+)'
    return f"^(?:{cell}{end})*+ *+{quoted}$"
