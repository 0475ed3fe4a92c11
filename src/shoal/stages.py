"""The stages of a run: timing and progress."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from queue import SimpleQueue
from threading import Thread
from typing import Generic, Protocol, TypeVar

T = TypeVar("T")


class Tick(Protocol):
    """Called repeatedly with the completed share of a stage, and a status text."""

    def __call__(self, share: float, text: str = "", /) -> None:
        """Report progress."""


class Progress(Protocol):
    """Called repeatedly with the name of a stage, its completed share, and a status text."""

    def __call__(self, stage: str, share: float, text: str = "", /) -> None:
        """Report progress."""


class BackgroundStage(Generic[T]):
    """A stage that runs in a thread while others continue, until its result is needed.

    Parameters
    ----------
    timings : dict of str to float
        Receives the seconds spent waiting for the result.
    name : str
        Name of the stage.
    compute : callable or None
        Called with a function that reports the completed share.
    """

    def __init__(self, timings: dict[str, float], name: str, compute: Callable[[Tick], T] | None) -> None:
        self._timings, self._name = timings, name
        self._done: SimpleQueue[tuple[float, str] | None] = SimpleQueue()
        self._future: Future[T] = Future()
        if compute is not None:
            Thread(target=self._run, args=(compute,), name=name).start()

    @classmethod
    def done(cls, timings: dict[str, float], name: str, result: T) -> BackgroundStage[T]:
        """Return a stage that had no need of a thread: it has ended, and was timed elsewhere."""
        ended: BackgroundStage[T] = cls(timings, name, None)
        ended._done.put(None)
        ended._future.set_result(result)
        return ended

    def result(self, progress: Progress | None = None) -> T:
        """Wait for the result, reporting progress while waiting."""
        if self._name not in self._timings:
            with stage(self._timings, self._name, progress) as tick:
                while (done := self._done.get()) is not None:
                    tick(*done)
        return self._future.result()

    def _run(self, compute: Callable[[Tick], T]) -> None:
        try:
            self._future.set_result(compute(lambda share, text="": self._done.put((share, text))))
        except BaseException as error:  # raised again in result()
            self._future.set_exception(error)
        self._done.put(None)


@contextmanager
def stage(timings: dict[str, float], name: str, progress: Progress | None) -> Iterator[Tick]:
    """Time one stage and report its progress; yield a function that reports the completed share."""

    def tick(share: float, text: str = "") -> None:
        if progress is not None:
            progress(name, share, text)

    tick(0.0)
    begin = time.perf_counter()
    yield tick
    timings[name] = time.perf_counter() - begin
    tick(1.0)
