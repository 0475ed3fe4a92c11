"""What is watched of Spark's jobs, and what is left of that."""

from __future__ import annotations

from typing import Any

import pytest

from shoal.engine.spark.progress import watched

KEYS = ("spark.jobGroup.id", "spark.job.description", "spark.job.interruptOnCancel")


def group(context: Any) -> list[str | None]:
    return [context.getLocalProperty(key) for key in KEYS]


@pytest.mark.parametrize("mine", [("mine", "my words", "true"), (None, None, None)], ids=["mine", "none"])
def test_the_job_group_of_a_notebook_is_left_as_it_was(spark: Any, mine: tuple[str | None, ...]) -> None:
    context = spark.sparkContext
    before = group(context)
    try:
        for key, value in zip(KEYS, mine, strict=True):
            context.setLocalProperty(key, value)
        with watched(spark, lambda *_: None):
            assert str(context.getLocalProperty(KEYS[0])).startswith("shoal-")
        assert group(context) == [*mine]
        with pytest.raises(KeyboardInterrupt), watched(spark, lambda *_: None):
            raise KeyboardInterrupt
        assert group(context) == [*mine]
    finally:
        for key, value in zip(KEYS, before, strict=True):
            context.setLocalProperty(key, value)
