"""A Spark session to verify with, and the settings under which any session reads and counts alike."""

from __future__ import annotations

import os
import shutil
import sys
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from shoal.errors import RecipeError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_HINT = 'pip install "shoal[spark]", and install Java 17 or later'
_PANDAS = "PySpark does not yet fully support pandas"  # which nothing here uses
# By default Java does not compile long methods, and Spark makes long methods of long expressions.
_COMPILE_ALL = "-XX:-DontCompileHugeMethods"
_DEFAULTS = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.execution.arrow.pyspark.enabled": "true",
    "spark.driver.extraJavaOptions": _COMPILE_ALL,
    "spark.executor.extraJavaOptions": _COMPILE_ALL,
}
# Whatever a session is set to: names that differ in case are two, times are in UTC, a number that does not
# fit is an error, and no file or line is passed over.
_STEADY = {
    "spark.sql.caseSensitive": "true",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.ansi.enabled": "true",
    "spark.sql.csv.parser.columnPruning.enabled": "false",
    "spark.sql.files.ignoreCorruptFiles": "false",
    "spark.sql.files.ignoreMissingFiles": "false",
}


def spark_session(master: str | None = None, conf: Mapping[str, str] | None = None) -> SparkSession:
    """Start Spark, or take the session that runs already.

    Parameters
    ----------
    master : str, optional
        Where to run: ``local[4]``, ``spark://host:7077``. Without it what Spark is configured for, and on
        this machine alone if that says nothing.
    conf : mapping of str to str, optional
        Further settings, such as ``{"spark.executor.memory": "8g"}``.

    Raises
    ------
    RecipeError
        When PySpark or Java is not installed, or Spark does not start.
    """
    _check_installed()
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    with without_warnings():
        from pyspark.errors import PySparkException
        from pyspark.sql import SparkSession

        builder = SparkSession.builder.appName("shoal verify")
        if master is not None or "SPARK_REMOTE" not in os.environ:
            builder = builder.master(master or os.environ.get("MASTER", "local[*]"))
        for key, value in {**_DEFAULTS, **(conf or {})}.items():
            builder = builder.config(key, value)
        try:
            session = builder.getOrCreate()
            session.sparkContext.setLogLevel("ERROR")
        except (PySparkException, RuntimeError, OSError) as fault:
            reason = type(fault).__name__
        else:
            return session
    message = f"Spark does not start ({reason})."
    raise RecipeError("recipe.not_available", message, f"check --master and --conf; {_HINT}")


def why_not_installed() -> str:
    """Say what Spark lacks here; nothing where it can be started."""
    from importlib.util import find_spec

    if find_spec("pyspark") is None:
        return "PySpark is not installed"
    home = os.environ.get("JAVA_HOME")
    java = Path(home, "bin", "java").exists() if home else shutil.which("java") is not None
    return "" if java else "Java is not installed"


def _check_installed() -> None:
    reason = why_not_installed()
    if reason:
        message = f"The engine `spark` cannot be used: {reason}."
        raise RecipeError("recipe.not_available", message, _HINT)


@contextmanager
def steady(spark: SparkSession) -> Iterator[None]:
    """Give a session the settings that a verification needs; afterwards it has its own again."""
    before = {key: spark.conf.get(key, None) for key in _STEADY}
    try:
        for key, value in _STEADY.items():
            spark.conf.set(key, value)
        with without_warnings():
            yield
    finally:
        for key, own in before.items():
            if own is None:
                spark.conf.unset(key)
            else:
                spark.conf.set(key, own)


@contextmanager
def without_warnings() -> Iterator[None]:
    """Pass over what PySpark says about the version of pandas."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=_PANDAS)
        yield
