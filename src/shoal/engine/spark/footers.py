"""Compare the columns of the files of a folder: Spark takes those of one file for all.

A column that another file lacks would be read as missing values, and one that only others have would be lost.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import PurePath
from typing import Any
from urllib.parse import unquote

from shoal.errors import DataError

_READERS = 8  # footers read at the same time: in an object store each takes a while to come
_MAX_NAMED = 5  # columns that a message names
_NO_COLUMNS = ("", "struct<>")  # of files without rows, which Hive writes and Spark passes over


def exactly(path: str) -> str:
    """Return what Spark takes for this path only: it takes every path for a pattern, and decodes nothing."""
    return "".join(f"\\{sign}" if sign in "\\*?[]{}" else sign for sign in path)


def refuse_ragged(frame: Any, form: str) -> None:
    """Refuse the Parquet or ORC files of a frame if they do not all have the same columns and types.

    Every footer is read, by the libraries that Spark has for it: they reach wherever Spark does. Spark itself
    is asked for the columns of one file of each kind.
    """
    files = sorted(frame.inputFiles())
    if len(files) < 2:
        return
    alike = _alike(frame.sparkSession, files, form)
    if len(alike) < 2:
        return
    types = {files[0]: _types(frame.sparkSession, files[0], form) for files in alike}
    if any(each != types[alike[0][0]] for each in types.values()):
        raise _ragged([(types[files[0]], files) for files in alike])


def _alike(spark: Any, files: Sequence[str], form: str) -> list[list[str]]:
    """Return the files in groups whose footers describe the columns in the same words."""
    describe = {"parquet": _of_parquet, "orc": _of_orc}[form](spark)
    found = defaultdict(list)
    with ThreadPoolExecutor(_READERS) as readers:
        for file, words in zip(files, readers.map(describe, files), strict=True):
            found[words].append(file)
    return [group for words, group in found.items() if words not in _NO_COLUMNS]


def _of_parquet(spark: Any) -> Callable[[str], str]:
    """Return what reads the columns in the footer of a Parquet file."""
    jvm, conf, path = _java(spark)
    reader = jvm.org.apache.parquet.hadoop.ParquetFileReader
    from_path = jvm.org.apache.parquet.hadoop.util.HadoopInputFile.fromPath
    schema_only = jvm.org.apache.parquet.format.converter.ParquetMetadataConverter.SKIP_ROW_GROUPS
    # Made once: that takes longer than reading a footer.
    options = jvm.org.apache.parquet.HadoopReadOptions.builder(conf).withMetadataFilter(schema_only).build()

    def describe(file: str) -> str:
        source = from_path(path(file), conf)
        if not source.getLength():
            return ""
        opened = reader.open(source, options)
        try:
            return str(opened.getFileMetaData().getSchema().toString())
        finally:
            opened.close()

    return describe


def _of_orc(spark: Any) -> Callable[[str], str]:
    """Return what reads the columns in the footer of an ORC file."""
    jvm, conf, path = _java(spark)
    create, options = jvm.org.apache.orc.OrcFile.createReader, jvm.org.apache.orc.OrcFile.readerOptions

    def describe(file: str) -> str:
        # Options of its own: they keep the footer of the first file, and give it out for the next one.
        opened = create(path(file), options(conf))
        try:
            return str(opened.getSchema().toString())
        finally:
            opened.close()

    return describe


def _java(spark: Any) -> tuple[Any, Any, Callable[[str], Any]]:
    """Return Java's classes, the settings of a session for file systems, and what makes a path of a URI."""
    jvm = spark._jvm
    to_path, to_uri = jvm.org.apache.hadoop.fs.Path, jvm.java.net.URI
    return jvm, spark._jsparkSession.sessionState().newHadoopConf(), lambda file: to_path(to_uri(file))


def _types(spark: Any, file: str, form: str) -> dict[str, str]:
    """Return the columns that Spark finds in a file; it gives no regard to their order."""
    return dict(spark.read.format(form).load(exactly(unquote(file))).dtypes)


def _ragged(kinds: Sequence[tuple[Mapping[str, str], Sequence[str]]]) -> DataError:
    """Say which columns differ, and in how many files; names of folders may hold cells."""
    first, likewise = kinds[0][0], kinds[0][1][0]
    other = sorted(file for types, files in kinds if types != first for file in files)
    number = sum(len(files) for _, files in kinds)
    columns = dict.fromkeys(name for types, _ in kinds for name in types)
    said = [words for name in columns if (words := _said(name, kinds))]
    more = f"; and {len(said) - _MAX_NAMED} more columns" if len(said) > _MAX_NAMED else ""
    message = f"Files with other columns or types than {_name(likewise)}: {len(other):,} of {number:,}, "
    message += f"such as {_name(other[0])}. By number of files: {'; '.join(said[:_MAX_NAMED])}{more}."
    return DataError("data.ragged", message, "give files of one table, all with the same columns")


def _said(name: str, kinds: Sequence[tuple[Mapping[str, str], Sequence[str]]]) -> str:
    """Say in how many files a column has which type; nothing if it is the same in all."""
    counts: Counter[str] = Counter()
    for types, files in kinds:
        counts[types.get(name, "missing")] += len(files)
    if len(counts) < 2:
        return ""
    return f"`{name}` is " + ", ".join(f"{kind} in {count:,}" for kind, count in counts.items())


def _name(file: str) -> str:
    return unquote(PurePath(file).name)
