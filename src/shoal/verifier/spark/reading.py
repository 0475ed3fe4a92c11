"""Read the parts of a folder with Spark: every cell as text, columns by their place.

The names in the files never become names in Spark: they may contain dots and backticks, or occur twice.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from shoal.errors import DataError
from shoal.failures import guarded, is_unreadable
from shoal.recipe import Recipe
from shoal.verifier.header import released_columns
from shoal.verifier.manifest import digest
from shoal.verifier.reading.apostrophe import plain
from shoal.verifier.reading.load import TEXT_ENDINGS, header_names
from shoal.verifier.reading.parts import common_dialect, common_schema
from shoal.verifier.reading.session import UnreadableError, column
from shoal.verifier.reading.tally import Tally, tally_bytes
from shoal.verifier.reading.text import Dialect
from shoal.verifier.spark.cells import as_text, type_name
from shoal.verifier.verdict import count

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import Column, DataFrame, SparkSession

_BROKEN = "broken"  # the column into which Spark puts a line that has too few or too many cells
_AMBIGUOUS = "The quotes or line ends of the files can be read in several ways."


@dataclass(frozen=True)
class Table:
    """The parts as one table: its rows, its header, and the types that a Parquet file has."""

    rows: DataFrame
    names: tuple[str, ...]
    number: int  # of rows
    marked: bool = False  # texts that a spreadsheet would run have an apostrophe before them
    types: tuple[str, ...] = ()  # as DuckDB names them; none for text files
    is_clear: bool = True  # False where Spark cannot distinguish two columns, and nothing was read

    def column(self, name: str) -> str:
        """Return what a column that the files have once is called in Spark."""
        return column(self.names.index(name))

    def stored(self, name: str) -> str:
        """Return the type that a column had before it became text; empty in a text file."""
        return self.types[self.names.index(name)] if self.types else ""

    def has_once(self, name: str) -> bool:
        """Return whether exactly one column has this name."""
        return self.names.count(name) == 1


class Facts(NamedTuple):
    """What the bytes of a part say, before anybody parses them."""

    name: str
    digest: str
    tally: Tally | None


def read_facts(
    spark: SparkSession, files: Sequence[Path], *, delimiter: str = "", digests: bool = False
) -> list[Facts]:
    """Read the bytes of all parts on the executors: their digests, and what `tally_bytes` counts."""
    from pyspark.errors import PySparkException
    from pyspark.sql import functions as sql

    def look(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa

        for batch in batches:
            for path in map(Path, batch.column(0).to_pylist()):
                tally = tally_bytes(path, delimiter) if delimiter else None
                numbers = None if tally is None else list(vars(tally).values())
                found = [path.name], [digest(path) if digests else ""], [numbers]
                types = pa.string(), pa.string(), pa.list_(pa.int64())
                columns = [pa.array(cells, of) for cells, of in zip(found, types, strict=True)]
                yield pa.RecordBatch.from_arrays(columns, names=["name", "digest", "tally"])

    paths = spark.createDataFrame([(str(file.absolute()),) for file in files], "path string")
    found = paths.repartition(len(files), sql.col("path")).mapInArrow(
        guarded(look), "name string, digest string, tally array<bigint>"
    )
    try:
        rows = found.collect()
    except PySparkException:
        rows = []
    if not rows:
        message = f"Spark could not read {files[0].parent} on its executors."
        hint = "the folder and shoal have to be there on every machine of the cluster"
        raise DataError("data.unreadable", message, hint)
    return [Facts(name, sha, Tally(*tally) if tally else None) for name, sha, tally in rows]


def read_header(files: Sequence[Path], recipe: Recipe) -> Dialect | pa.Schema:
    """Return the header that all parts have: the layout of text files, or a schema."""
    if files and files[0].suffix == ".parquet":
        return common_schema(files)
    wanted = header_names(released_columns(recipe), spreadsheet_safe=recipe.output.spreadsheet_safe)
    return common_dialect(files, wanted, TEXT_ENDINGS[".csv"])


def read_parts(
    spark: SparkSession,
    files: Sequence[Path],
    header: Dialect | pa.Schema,
    facts: Sequence[Facts],
    *,
    spreadsheet_safe: bool,
) -> Table:
    """Read all parts; what cannot be read as it was written is refused."""
    if isinstance(header, Dialect):
        return _read_text(spark, files, header, facts, safe=spreadsheet_safe)
    return _read_parquet(spark, files, header)


def _read_parquet(spark: SparkSession, files: Sequence[Path], schema: pa.Schema) -> Table:
    if len(set(schema.names)) < len(schema.names):
        # Spark cannot distinguish two columns of one name. The header check reports the problem.
        return Table(
            spark.createDataFrame([], "c0 string"), tuple(schema.names), _count(files), is_clear=False
        )
    zones = [getattr(field.type, "tz", None) or "" for field in schema]
    reader = spark.read.option("recursiveFileLookup", True).option("mergeSchema", False)
    read = reader.parquet(*map(_exactly, files))
    if read.columns != schema.names:
        raise UnreadableError("verify.unreadable", "Spark finds other columns than the files have.")
    placed = read.toDF(*(column(at) for at in range(len(schema.names))))
    types = [field.dataType for field in placed.schema.fields]
    rows = placed.select(
        *(as_text(placed[column(at)], of, zones[at]).alias(column(at)) for at, of in enumerate(types))
    )
    number = _number(rows, len(types))
    return Table(rows, tuple(schema.names), number, types=tuple(map(type_name, types)))


def table_of(frame: DataFrame) -> Table:
    """Return a DataFrame as a table: every cell as text, columns by their place."""
    placed = frame.toDF(*(column(at) for at in range(len(frame.columns))))
    types = [field.dataType for field in placed.schema.fields]
    rows = placed.select(*(as_text(placed[column(at)], of).alias(column(at)) for at, of in enumerate(types)))
    return Table(rows, tuple(frame.columns), rows.count(), types=tuple(map(type_name, types)))


def _count(files: Sequence[Path]) -> int:
    """Add up the rows that Parquet files say they have."""
    from pyarrow import parquet

    return sum(parquet.read_metadata(file).num_rows for file in files)


def _read_text(
    spark: SparkSession, files: Sequence[Path], dialect: Dialect, facts: Sequence[Facts], *, safe: bool
) -> Table:
    width = len(dialect.names)
    read = _scan(spark, files, dialect)
    seen = _all_tallies(facts)
    number, characters, quotes, ragged = _sums(read, width)
    if ragged:
        lines = f"{count(ragged, 'line')} {'has' if ragged == 1 else 'have'}"
        message = f"{lines} more or fewer cells than the header, which has {count(width, 'cell')}."
        raise UnreadableError("verify.ragged", message)
    rows = read.select(*(column(at) for at in range(width)))
    blank = 0
    if seen is not None and width == 1:  # Spark passes over empty lines, which here are missing cells
        blank = max(0, seen.records - len(files) - number)
        rows = rows.unionByName(spark.range(blank).selectExpr("CAST(NULL AS STRING) AS c0"))
    if seen != _tally(dialect, len(files), number + blank, characters, quotes):
        raise UnreadableError("verify.unreadable", _AMBIGUOUS)
    names = tuple(plain(name) if safe else name for name in dialect.names)
    return Table(rows, names, number + blank, marked=safe)


def _scan(spark: SparkSession, files: Sequence[Path], dialect: Dialect) -> DataFrame:
    """Read text files; everything is said, so that Spark guesses nothing."""
    from pyspark.sql import functions as sql

    width = len(dialect.names)
    columns = [f"{column(at)} string" for at in range(width)]
    found = spark.read.option("recursiveFileLookup", True).csv(
        [_exactly(file) for file in files],
        schema=", ".join([*columns, f"{_BROKEN} string"]),
        sep=dialect.delimiter,
        header=True,
        quote='"',
        escape='"',
        multiLine=True,
        inferSchema=False,
        enforceSchema=True,
        ignoreLeadingWhiteSpace=False,
        ignoreTrailingWhiteSpace=False,
        nullValue="",
        emptyValue="",
        encoding="UTF-8",
        mode="PERMISSIVE",
        columnNameOfCorruptRecord=_BROKEN,
    )
    cells = [sql.nullif(found[column(at)], sql.lit("")).alias(column(at)) for at in range(width)]
    return found.select(*cells, found[_BROKEN])


def _all_tallies(facts: Sequence[Facts]) -> Tally | None:
    """Sum what was counted in all parts; None when the quotes of one make no sense."""
    tallies = [fact.tally for fact in facts]
    known = [vars(tally).values() for tally in tallies if tally is not None]
    return Tally(*map(sum, zip(*known, strict=True))) if len(known) == len(tallies) else None


def _tally(dialect: Dialect, parts: int, rows: int, characters: int, quotes: int) -> Tally:
    """Count what Spark has read, and the header of each part."""
    header = "".join(dialect.names).encode()
    in_header = header.count(b'"')
    records = rows + parts
    return Tally(
        records,
        records * len(dialect.names),
        characters + parts * (len(header) - in_header),
        quotes + parts * in_header,
    )


def _number(rows: DataFrame, width: int) -> int:
    """Read all cells once, and count the rows."""
    from pyspark.sql import functions as sql

    cells = [sql.count(rows[column(at)]) for at in range(width)]
    return int(_read(rows, [sql.count(sql.lit(1)), *cells])[0])


def _sums(rows: DataFrame, width: int) -> tuple[int, int, int, int]:
    """Read all cells once: the rows, the bytes that are not quotes, the quotes, and the broken lines."""
    from pyspark.sql import functions as sql

    def total(each: list[Column]) -> Column:
        return sum((sql.coalesce(sql.sum(cell), sql.lit(0)) for cell in each), start=sql.lit(0))

    cells = [rows[column(at)] for at in range(width)]
    every = total([sql.octet_length(cell) for cell in cells])
    bare = total([sql.octet_length(sql.replace(cell, sql.lit('"'), sql.lit(""))) for cell in cells])
    broken = sql.count(rows[_BROKEN])
    number, in_all, without_quotes, ragged = _read(rows, [sql.count(sql.lit(1)), every, bare, broken])
    return number, without_quotes, in_all - without_quotes, ragged


def _read(rows: DataFrame, totals: list[Column]) -> tuple[int, ...]:
    """Compute totals of all cells."""
    from pyspark.errors import PySparkException

    try:
        found = rows.agg(*totals).collect()[0]
    except Exception as error:
        if not isinstance(error, PySparkException) and not is_unreadable(error):
            raise
        found = None  # what Spark says may quote a line
    if found is None:
        raise UnreadableError("verify.unreadable", "Some parts cannot be read in the format that they claim.")
    return tuple(found)


def _exactly(file: Path) -> str:
    """Return what Spark takes for this file only: it takes every path for a pattern."""
    escaped = "".join(f"\\{sign}" if sign in "\\*?[]{}" else sign for sign in str(file.absolute()))
    return f"file:{escaped}"
