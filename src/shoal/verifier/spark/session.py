"""A Spark session to verify with, and the settings under which any session reads and counts alike."""

from __future__ import annotations

import os
import re
import sys
import tempfile
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import IO, TYPE_CHECKING, Any

from shoal.errors import RecipeError
from shoal.verifier.spark.configured import configured
from shoal.verifier.spark.installed import LEAST_JAVA, why_not_installed

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_LEVEL = "spark.log.level"
_HINT = f'pip install "shoal[spark]", and install Java {LEAST_JAVA} or later'
_PANDAS = "PySpark does not yet fully support pandas"  # which nothing here uses
# By default Java does not compile long methods, and Spark makes long methods of long expressions.
_COMPILE_ALL = "-XX:-DontCompileHugeMethods"
_DEFAULTS = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.execution.arrow.pyspark.enabled": "true",
    "spark.app.name": "shoal",
    "spark.api.mode": "classic",  # what some installations start instead is a session of Connect
}
_JAVA_OPTIONS = ("spark.driver.extraJavaOptions", "spark.executor.extraJavaOptions")
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
        Further settings, such as ``{"spark.executor.memory": "8g"}``. A session that is started here says
        nothing on the terminal, unless ``spark.log.level`` is among them.

    Raises
    ------
    RecipeError
        When PySpark or Java is not installed, or Spark does not start.
    """
    _check_installed()
    _refuse_connect(master, conf or {})
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    with without_warnings(), tempfile.TemporaryFile() as said:
        try:
            settings = _settings(master, conf or {}, configured())
            return _started(settings, None if _LEVEL in settings else said)
        except Exception as fault:  # of PySpark, of its gateway, or of Java
            reason = _reason(fault, said)
    message = f"Spark does not start: {reason}"
    raise RecipeError("recipe.not_available", message, f"check --master and --conf; {_HINT}")


def _settings(master: str | None, conf: Mapping[str, str], others: Mapping[str, str]) -> dict[str, str]:
    """Return what is set beyond what Spark is configured to, which Spark finds itself.

    That includes the master: where nothing says one, Spark runs on this machine.
    """
    settings = {key: value for key, value in _DEFAULTS.items() if key not in others} | dict(conf)
    if master is not None:
        settings["spark.master"] = master
    for key in _JAVA_OPTIONS:
        own = settings.get(key, others.get(key, ""))
        if not re.search(r"-XX:[+-]DontCompileHugeMethods", own):
            settings[key] = f"{_COMPILE_ALL} {own}".strip()
    return settings


def _started(settings: Mapping[str, str], said: IO[bytes] | None) -> SparkSession:
    """Start Spark, or take the session that runs already; what a new one says goes into a file, if given."""
    from pyspark import SparkConf, SparkContext, java_gateway
    from pyspark.sql import SparkSession

    is_new = SparkContext._gateway is None
    if is_new and said is not None:
        # Java's messages would disturb the progress that is shown, and those about failed tasks are long.
        launch: Any = java_gateway.launch_gateway  # which has no types
        conf = SparkConf(loadDefaults=False).setAll(list(settings.items()))
        with _ended_if_interrupted(java_gateway):
            gateway = launch(conf, {"stderr": said})
        SparkContext._ensure_initialized(gateway=gateway)
    builder = SparkSession.builder
    for key, value in settings.items():
        builder = builder.config(key, value)
    session = builder.getOrCreate()
    if is_new and said is not None:
        session.sparkContext.setLogLevel("OFF")
        server: Any = getattr(session.sparkContext, "_accumulatorServer", None)
        if server is not None:  # if Java ends, it would print a traceback before we can say that
            server.handle_error = lambda *_: None
    return session


@contextmanager
def _ended_if_interrupted(java_gateway: Any) -> Iterator[None]:
    """End Java if somebody interrupts its start: PySpark leaves it behind, waiting forever."""
    made = []
    plain = java_gateway.Popen

    def start(*given: Any, **how: Any) -> Any:
        made.append(plain(*given, **how))
        return made[-1]

    java_gateway.Popen = start
    try:
        yield
    except BaseException:
        for process in made:
            process.kill()
        raise
    finally:
        java_gateway.Popen = plain


def _reason(fault: Exception, said: IO[bytes]) -> str:
    """Return why Spark does not start, in its own words: it has not seen any table yet."""
    said.seek(0)
    words = f"{fault}\n{said.read().decode(errors='replace')}"
    for form in (r"has been killed\. Reason: (\S.*)", r"(?:Exception|Error): (?:\[[\w.]+\] )?(\S.*)"):
        if found := re.search(form, words):
            return found[1]
    return f"{type(fault).__name__}."


def _check_installed() -> None:
    reason = why_not_installed()
    if reason:
        message = f"The engine `spark` cannot be used: {reason}."
        raise RecipeError("recipe.not_available", message, _HINT)


def _refuse_connect(master: str | None, conf: Mapping[str, str]) -> None:
    """Refuse to start a session of Spark Connect, which the engine cannot use."""
    if {"SPARK_REMOTE", "SPARK_CONNECT_MODE_ENABLED"} & set(os.environ) or (
        "spark.remote" in conf or (master or "").startswith("sc://")
    ):
        message = "The engine `spark` does not run on Spark Connect."
        hint = "name a classic master, such as spark://host:7077 or local[4], and unset SPARK_REMOTE"
        raise RecipeError("recipe.not_available", message, hint)


@contextmanager
def steady(spark: SparkSession) -> Iterator[None]:
    """Give a session the settings that a verification needs; afterwards it has its own again."""
    with with_settings(spark, _STEADY), without_warnings():
        yield


@contextmanager
def with_settings(spark: SparkSession, settings: Mapping[str, str]) -> Iterator[None]:
    """Give a session other settings for a while."""
    before = {key: spark.conf.get(key, None) for key in settings}
    try:
        for key, value in settings.items():
            spark.conf.set(key, value)
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
