"""What Spark does for a run is watched: it shows progress, and what interrupts the run ends it."""

from __future__ import annotations

import threading
from types import SimpleNamespace
from typing import Any

import pytest

from shoal.workflow import distributed


def test_the_bound_is_watched_and_interrupted_like_all_else(
    spark: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It runs in this thread, whose jobs are cancelled together, with as many partitions as it needs."""
    made: Any = SimpleNamespace(
        classes=SimpleNamespace(sparkSession=spark), rows=400, encoded=None, missing=0
    )
    asked: Any = SimpleNamespace()
    seen: list[Any] = []
    shares: list[Any] = []
    timings: dict[str, float] = {}

    def lower_bound(*_: Any) -> None:
        group = spark.sparkContext.getLocalProperty("spark.jobGroup.id")
        seen.append((threading.current_thread(), group, spark.conf.get("spark.sql.shuffle.partitions")))

    monkeypatch.setattr(distributed, "lower_bound", lower_bound)
    found: Any = distributed._bounding(made, asked, timings, lambda *given: shares.append(given[:2]))
    assert found.result() is None
    ((thread, group, partitions),) = seen
    assert thread is threading.current_thread()
    assert group.startswith("shoal-")
    assert int(partitions) < 200
    assert list(timings) == ["bounding"]
    assert shares == [("bounding", 0.0), ("bounding", 1.0)]

    def interrupted(*_: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(distributed, "lower_bound", interrupted)
    with pytest.raises(KeyboardInterrupt):
        distributed._bounding(made, asked, {}, None)
