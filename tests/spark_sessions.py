"""The Spark session of all tests: a process can have only one, and it takes long to start."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import shoal
from shoal.verifier.spark.installed import why_not_installed
from shoal.verifier.spark.session import spark_session
from tests.profiles import IS_SLOW

# Two workers that are processes of their own, as on a cluster; they take long to start.
MASTER = "local-cluster[2,1,2048]" if IS_SLOW else "local[2]"
SETTINGS = {
    "spark.sql.shuffle.partitions": "4",
    "spark.default.parallelism": "2",
    "spark.sql.adaptive.enabled": "false",  # on tables of a few rows it only adds stages
    # Compiling a query takes longer than to run it on a few rows.
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    # Starts sooner, and does not compile the long methods of tables of a few rows.
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -XX:+DontCompileHugeMethods",
    "spark.driver.memory": "1g",
    "spark.shuffle.compress": "false",
    "spark.locality.wait": "0",
    "spark.log.level": "ERROR",  # whoever looks for a fault sees what Spark says
    "spark.speculation": "true",  # a task may run twice, and must do the same each time
    "spark.executor.memory": "1g",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    # Workers take the code that is tested, wherever the package is installed.
    "spark.executorEnv.PYTHONPATH": str(Path(shoal.__file__).parents[1]),
}


def one_session() -> Iterator[Any]:
    """Yield the session; skip where Spark cannot be started, or fail if every test has to run."""
    lacking = why_not_installed()
    if lacking:
        if os.environ.get("SHOAL_TEST_ALL"):
            pytest.fail(lacking)
        pytest.skip(lacking)
    session = spark_session(MASTER, SETTINGS)
    yield session
    session.stop()
