"""What Spark raises becomes one error of ours, in our own words; Spark itself is not needed for that."""

import pytest

from shoal.errors import DataError, EngineError
from shoal.failures import WorkerError, clear_failures, guarded, guarded_group, is_unreadable

SECRET = "mark3r"


class OfJava(Exception):
    """An error as the gateway to Java raises it."""

    __module__ = "py4j.protocol"


WORDS = {
    "ModuleNotFoundError: No module named 'shoal'": ("engine.failed", "cannot run shoal"),
    "[PYTHON_VERSION_MISMATCH] Python in worker has different version": ("engine.failed", "cannot run shoal"),
    "results (1025.0 MiB) is bigger than spark.driver.maxResultSize": ("engine.memory", "The driver may not"),
    "java.io.IOException: No space left on device": ("engine.failed", "disk"),
    "Caused by: java.lang.OutOfMemoryError: Java heap space": ("engine.memory", "Java ran out of memory"),
    "WorkerError: ArrayMemoryError in run.py, line 3": ("engine.memory", "A Python worker ran out of memory"),
    "SparkException: Python worker exited unexpectedly.": (
        "engine.failed",
        "ended before its task",
    ),
    "ExecutorLostFailure (executor 1 exited caused by ...)": ("engine.failed", "ended before its task"),
    "[FAILED_READ_FILE.NO_HINT] Encountered error while reading": ("data.unreadable", "damaged"),
    "WorkerError: OSError in scan.py, line 3": ("data.unreadable", "damaged"),
    "Job 3 cancelled because SparkContext was shut down": ("engine.failed", "Spark ended"),
}


@pytest.mark.parametrize("words", WORDS)
def test_every_failure_has_a_message_and_advice(words):
    code, message = WORDS[words]
    with pytest.raises((DataError, EngineError)) as caught, clear_failures():
        raise OfJava(f"An error occurred while calling o1.collect.\n{words}\n{SECRET}\n\tat org.apache.X")
    assert (caught.value.code, caught.value.exit_status) == (code, 2)
    assert message in caught.value.message
    assert caught.value.hint
    assert SECRET not in str(caught.value)
    assert caught.value.__suppress_context__


def test_java_that_has_ended_is_told():
    with pytest.raises(EngineError, match="Spark ended before the run was done"), clear_failures():
        raise ConnectionRefusedError(111, "Connection refused")


def test_what_nobody_foresaw_is_an_internal_error_with_its_place():
    with pytest.raises(EngineError) as caught, clear_failures():
        raise OfJava(f"An error.\nshoal.failures.WorkerError: KeyError in tasks.py, line 7\n{SECRET}")
    assert caught.value.message == "A worker failed: KeyError in tasks.py, line 7."
    assert caught.value.exit_status == 4
    place = r"^Spark failed: OfJava in failures\.py, line \d+\."
    with pytest.raises(EngineError, match=place) as caught, clear_failures():
        raise OfJava(SECRET)
    assert SECRET not in str(caught.value)


def test_errors_that_are_not_of_spark_pass():
    for error in (KeyError("x"), DataError("data.empty", "The table has no rows.")):
        with pytest.raises(type(error)) as caught, clear_failures():
            raise error
        assert caught.value is error
    assert not is_unreadable(OSError("x"))
    assert is_unreadable(OfJava("[FAILED_READ_FILE.NO_HINT]"))


def test_a_task_that_fails_quotes_nothing():
    def fails(batches):
        yield 1
        raise ValueError(f"cannot convert {SECRET}")

    def fails_on_a_group(key, table):
        raise MemoryError(SECRET)

    batches = guarded(fails)([])
    assert next(batches) == 1
    with pytest.raises(WorkerError, match=r"^ValueError in failures\.py, line \d+$") as caught:
        next(batches)
    assert caught.value.__suppress_context__
    with pytest.raises(WorkerError, match="MemoryError in"):
        guarded_group(fails_on_a_group)((1,), None)
    assert list(guarded(lambda batches: batches)([1, 2])) == [1, 2]
