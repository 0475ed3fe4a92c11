"""What fails in Spark, as one error of ours: Spark's own words are long, and may quote a cell."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from traceback import extract_tb
from typing import Any, NamedTuple

from shoal.errors import DataError, EngineError, ShoalError

_MORE_MEMORY = "lower cell_rows, or raise spark.executor.memoryOverhead"


class _Cause(NamedTuple):
    """A reason why Spark fails, and the words that it has for it."""

    words: str
    code: str
    message: str
    hint: str


# The first one that fits is reported: those that are certain come before those that may have several reasons.
_CAUSES = (
    _Cause(
        "ModuleNotFoundError|PYTHON_VERSION_MISMATCH|Cannot run program",
        "engine.failed",
        "Workers of Spark cannot run shoal: their Python or a package is missing, or of another version.",
        "install the versions of the driver on every machine, and set PYSPARK_PYTHON; see docs/scale.md",
    ),
    _Cause(
        "No space left on device|Disk quota exceeded",
        "engine.failed",
        "A disk that Spark writes to is full.",
        "make room, or set spark.local.dir to a larger disk",
    ),
    _Cause(
        r"java\.lang\.OutOfMemoryError",
        "engine.memory",
        "Java ran out of memory.",
        "raise spark.driver.memory and spark.executor.memory",
    ),
    _Cause(
        r"spark\.driver\.maxResultSize",
        "engine.memory",
        "The driver may not take as much from the workers as this run needs.",
        "raise spark.driver.maxResultSize, and spark.driver.memory with it",
    ),
    _Cause(
        "MemoryError|Cannot allocate memory",
        "engine.memory",
        "A Python worker ran out of memory.",
        _MORE_MEMORY,
    ),
    _Cause(
        "Python worker exited|ExecutorLostFailure|Lost executor|Container killed",
        "engine.failed",
        "A worker of Spark ended before its task was done.",
        f"most often its machine or container is out of memory; {_MORE_MEMORY}",
    ),
    _Cause(
        r"FAILED_READ_FILE|MALFORMED_RECORD|\[PATH_NOT_FOUND|Arrow\w* in scan\.py|OSError in scan\.py",
        "data.unreadable",
        "Spark cannot read a file to its end: it is damaged, has gone or may not be read, or lines of a text "
        "file have more or fewer cells than the header.",
        "check the files; the engine local says which lines of a text file do not fit",
    ),
    _Cause(
        r"SparkContext was shut down|stopped SparkContext|Py4JNetworkError|Connection(Refused|Reset)?Error",
        "engine.failed",
        "Spark ended before the run was done.",
        "if nobody stopped it, it may have been out of memory: raise spark.driver.memory",
    ),
)  # fmt: skip


@contextmanager
def clear_failures() -> Iterator[None]:
    """Replace what Spark raises by one error that says what to do, without any of its words."""
    try:
        yield
    except Exception as error:
        clear = _translated(error)
        if clear is None:
            raise
        raise clear from None


def is_unreadable(error: Exception) -> bool:
    """Return whether Spark failed because of what files hold."""
    clear = _translated(error)
    return clear is not None and clear.code == "data.unreadable"


def _translated(error: Exception) -> ShoalError | None:
    """Return what an error of Spark's means; None for all others."""
    if not isinstance(error, ConnectionError) and not is_of_spark(error):
        return None
    words = f"{type(error).__name__}: {error}"
    for cause in _CAUSES:
        if re.search(cause.words, words):
            kind = DataError if cause.code.startswith("data.") else EngineError
            return kind(cause.code, cause.message, cause.hint)
    return _unknown(error, words)


def is_of_spark(error: Exception) -> bool:
    """Return whether PySpark raised an error, or Java; without importing either."""
    return any(base.__module__.partition(".")[0] in ("pyspark", "py4j") for base in type(error).__mro__)


def _unknown(error: Exception, words: str) -> EngineError:
    """Return the error of a failure that should not have happened: where, but not what was said there."""
    places = re.findall(r"^\S*WorkerError: (\w+ in [\w. ]+, line \d+)$", words, re.MULTILINE)
    what = f"A worker failed: {places[-1]}." if places else f"Spark failed: {WorkerError.of(error)}."
    clear = EngineError("engine.failed", what, "please report this line and your recipe, not your data")
    clear.exit_status = 4
    return clear


class WorkerError(Exception):
    """What a worker raises in place of an error whose text may quote a cell: Spark logs it."""

    @classmethod
    def of(cls, error: BaseException) -> WorkerError:
        """Name the type of an error, and the line of ours that it comes from."""
        frames = [each for each in extract_tb(error.__traceback__) if "shoal" in Path(each.filename).parts]
        file, line = (Path(frames[-1].filename).name, frames[-1].lineno) if frames else ("a library", 0)
        return cls(f"{type(error).__name__} in {file}, line {line}")


def guarded(task: Callable[[Any], Iterable[Any]]) -> Callable[[Any], Iterator[Any]]:
    """Return a task that takes batches and whose errors quote nothing."""

    def run(batches: Any) -> Iterator[Any]:
        try:
            yield from task(batches)
        except GeneratorExit:
            raise
        except BaseException as error:  # a panic in a native library is not an Exception
            raise WorkerError.of(error) from None

    return run


def guarded_group(task: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """Return a task that takes the key and the rows of a group, and whose errors quote nothing."""

    def run(key: Any, table: Any) -> Any:  # a plain function of two parameters, as Spark wants it
        try:
            return task(key, table)
        except BaseException as error:
            raise WorkerError.of(error) from None

    return run
