"""What Spark is configured to where nobody says otherwise, as far as it can be known before Java starts.

That is less than Spark itself knows: what `spark-env.sh` sets is found only when Java runs already, as under
spark-submit.
"""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterator, Sequence
from pathlib import Path

_FLAGS = {
    "--master": "spark.master",
    "--driver-java-options": "spark.driver.extraJavaOptions",
}  # of spark-submit, with the settings that they are


def configured() -> dict[str, str]:
    """Return the settings of Spark's own configuration."""
    from pyspark import SparkConf, SparkContext

    if SparkContext._gateway is not None or "PYSPARK_GATEWAY_PORT" in os.environ:
        SparkContext._ensure_initialized()
        return dict(SparkConf().getAll())
    given = list(_arguments(shlex.split(os.environ.get("PYSPARK_SUBMIT_ARGS", ""))))
    named = [value for key, value in given if key == "--properties-file"]
    files = [Path(file) for file in named[-1:]]
    if not files or ("--load-spark-defaults", "") in given:
        files.insert(0, _defaults_file())
    return {**{key: value for file in files for key, value in _properties(file)}, **_settings(given)}


def _arguments(words: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Split the arguments of spark-submit into flags and their values."""
    at = 0
    while at < len(words):
        flag, is_joined, value = words[at].partition("=")
        if flag.startswith("-") and not is_joined and flag != "--load-spark-defaults":
            at += 1
            value = words[at] if at < len(words) else ""
        yield flag, value
        at += 1


def _settings(given: Sequence[tuple[str, str]]) -> dict[str, str]:
    found = {}
    for flag, value in given:
        if flag in ("--conf", "-c"):
            key, _, own = value.partition("=")
            found[key] = own
        elif flag in _FLAGS:
            found[_FLAGS[flag]] = value
    return found


def _defaults_file() -> Path:
    from pyspark.find_spark_home import _find_spark_home

    folder = os.environ.get("SPARK_CONF_DIR")
    return Path(folder or Path(_find_spark_home(), "conf"), "spark-defaults.conf")


def _properties(file: Path) -> Iterator[tuple[str, str]]:
    """Read a file of Java's properties; what cannot be read Spark itself complains about."""
    try:
        text = file.read_text(encoding="utf-8")
    except (OSError, ValueError):
        return
    for line in re.sub(r"\\\r?\n[ \t]*", "", text).splitlines():
        found = re.match(r"\s*(spark\.[^\s=:]+)\s*[\s=:]\s*(.*?)\s*$", line)
        if found:
            yield found[1], found[2]
