"""One Spark session for all tests here."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import pytest

from shoal.verifier.spark.session import spark_session, why_not_installed

SETTINGS = {
    "spark.sql.shuffle.partitions": "4",
    "spark.default.parallelism": "2",
    "spark.sql.adaptive.enabled": "false",  # on tables of a few rows it only adds stages
    # Compiling a query takes longer than to run it on a few rows.
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",  # starts sooner
    "spark.driver.memory": "1g",
    "spark.shuffle.compress": "false",
    "spark.locality.wait": "0",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
}


@pytest.fixture(scope="session")
def spark() -> Iterator[Any]:
    lacking = why_not_installed()
    if lacking:
        if os.environ.get("SHOAL_TEST_ALL"):
            pytest.fail(lacking)
        pytest.skip(lacking)
    session = spark_session("local[2]", SETTINGS)
    yield session
    session.stop()
