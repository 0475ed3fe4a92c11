"""Kernels that run side by side on threads of Python: they release its lock."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from shoal.kernels import n_threads


def share_out(run: Callable[[int, int], None], n: int, step: int) -> None:
    """Call `run` with the begin and the end of each stretch of `step` things, on all threads allowed."""
    stretches = [(begin, min(n, begin + step)) for begin in range(0, n, step)]
    threads = min(n_threads(), len(stretches))
    if threads < 2:  # a pool would cost more than it saves
        for begin, end in stretches:
            run(begin, end)
        return
    pool = ThreadPoolExecutor(threads)
    try:
        for _ in pool.map(lambda stretch: run(*stretch), stretches):
            pass
    finally:
        pool.shutdown(cancel_futures=True)  # after an interruption nothing new is begun
