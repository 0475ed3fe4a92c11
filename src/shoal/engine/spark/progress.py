"""Report how far Spark's jobs are, and cancel them when the run is interrupted."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from threading import Event, Thread
from typing import Any
from uuid import uuid4

from shoal.stages import Tick

_SECONDS = 0.5
# What Spark keeps of a thread's job group; it may be the user's.
_GROUP = ("spark.jobGroup.id", "spark.job.description", "spark.job.interruptOnCancel")


@contextmanager
def watched(spark: Any, tick: Tick, expected: int = 0) -> Iterator[None]:
    """Call `tick` with the share of tasks that are done, as Spark's status tracker counts them.

    Spark knows the tasks of a stage only when it begins. If `expected` says how many there will be at least,
    a short first stage does not look like the whole.
    """
    context = spark.sparkContext
    group, ended = f"shoal-{uuid4().hex}", Event()
    before = {key: context.getLocalProperty(key) for key in _GROUP}
    context.setJobGroup(group, "shoal", interruptOnCancel=True)
    thread = Thread(target=_watch, args=(context.statusTracker(), group, tick, ended, expected), daemon=True)
    thread.start()
    try:
        yield
    except BaseException:
        with suppress(Exception):  # the reason why it ended matters more
            context.cancelJobGroup(group)
        raise
    finally:
        ended.set()
        thread.join()
        with suppress(Exception):  # Spark may have ended
            for key, own in before.items():
                context.setLocalProperty(key, own)


def _watch(tracker: Any, group: str, tick: Tick, ended: Event, expected: int) -> None:
    while not ended.wait(_SECONDS):
        with suppress(Exception):  # a job may end while it is asked about
            done, total = _tasks(tracker, group)
            total = max(total, expected)
            tick(0.99 * done / total if total else 0.0, f"{done:,} of {total:,} tasks")


def _tasks(tracker: Any, group: str) -> tuple[int, int]:
    """Count the tasks of all stages that Spark still knows: those that are done, and all."""
    done = total = 0
    for job in tracker.getJobIdsForGroup(group):
        info = tracker.getJobInfo(job)
        for number in [] if info is None else info.stageIds:
            found = tracker.getStageInfo(number)
            if found is not None:
                done += found.numCompletedTasks
                total += found.numTasks
    return done, total
