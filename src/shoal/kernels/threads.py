"""Kernels that run side by side on threads of Python: they release its lock."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

from shoal.kernels import n_threads


@contextmanager
def thread_pool(threads: int) -> Iterator[ThreadPoolExecutor]:
    """Make a pool of threads; what has not begun when it is left, as after an interruption, never does."""
    pool = ThreadPoolExecutor(threads)
    try:
        yield pool
    finally:
        pool.shutdown(cancel_futures=True)


def share_out(
    run: Callable[[int, int], None], n: int, step: int, tick: Callable[[float], None] | None = None
) -> None:
    """Call `run` with the begin and the end of each stretch of `step` things, on all threads allowed.

    `tick` is called with the share of the stretches that are done.
    """
    begins = range(0, n, step)

    def run_stretch(begin: int) -> None:
        run(begin, min(n, begin + step))

    threads = min(n_threads(), len(begins))
    if threads < 2:  # a pool would cost more than it saves
        _count(map(run_stretch, begins), len(begins), tick)
        return
    with thread_pool(threads) as pool:
        _count(pool.map(run_stretch, begins), len(begins), tick)


def _count(finished: Iterator[None], n: int, tick: Callable[[float], None] | None) -> None:
    for done, _ in enumerate(finished, 1):
        if tick is not None:
            tick(done / n)
