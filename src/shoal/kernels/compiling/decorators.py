"""How kernels are compiled: a few *entries*, which Python calls, and the many *parts* they are made of.

An entry is compiled with all the parts it calls, once, and kept in the cache. A part is compiled only inside
entries; calling one from Python is an error. An entry takes named tuples as they are and hands them to the
compiled code as pointers (see `held`), so a kernel reads `block.size[c]` whatever the number of fields.

Neither makes arrays: Numba would count references to every array passed from one function to another, with
atomic operations, and both compiling and running would take longer. Room for results and scratch comes from
the caller. Arrays are C-contiguous, and each parameter always has the same type, so there is one compiled
form of each entry; where goals may be None there are two, and the one without has no code for goals.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import update_wrapper
from typing import Any

from numba import config, njit
from numba.core.registry import CPUDispatcher

from shoal.kernels.compiling.held import held
from shoal.kernels.compiling.keeping import alone, cache_for, full_name
from shoal.kernels.compiling.parts import entry_options, part_options, quick_typing

_OPTIONS = {"nopython": True, "nogil": True, "boundscheck": None, "_nrt": False, "no_cfunc_wrapper": True}
_settings: Any = config  # its stubs do not know what Numba reads from the environment
_listeners: list[Callable[[str], None]] = []


class _Compiled(CPUDispatcher):
    """The compiled forms of an entry, kept in the cache."""

    def __init__(self, function: Callable[..., Any], options: dict[str, Any]) -> None:
        super().__init__(py_func=function, targetoptions=options, **entry_options())
        self._cache = cache_for(function)

    def compile(self, sig: Any) -> Any:
        """Load one form from the cache or compile it, while no other process does the same."""
        with alone(self.py_func), quick_typing(), _no_garbage_collection():
            found = super().compile(sig)
        for ready in _listeners:
            ready(full_name(self.py_func))
        return found


class _Part(CPUDispatcher):
    """A function that has no compiled form of its own."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Refuse: there is nothing that could be called."""
        raise TypeError(
            f"{self.py_func.__name__} is a part of other kernels and cannot be called from Python; "
            "call an entry that contains it"
        )


class Entry:
    """A kernel that Python calls."""

    def __init__(self, function: Callable[..., Any]) -> None:
        update_wrapper(self, function)
        self.py_func = function
        self.compiled = _Compiled(function, _OPTIONS)

    def __call__(self, *args: Any) -> Any:
        """Run the kernel; tuples are held for the time of the call."""
        return self.compiled(*[held(value) if isinstance(value, tuple) else value for value in args])


def entry(function: Callable[..., Any]) -> Any:
    """Make a kernel that Python calls."""
    return function if _settings.DISABLE_JIT else Entry(function)


def inner(function: Callable[..., Any]) -> Any:
    """Make a part of kernels."""
    if _settings.DISABLE_JIT:
        return function
    options = {**_OPTIONS, "no_cpython_wrapper": True}
    return _Part(py_func=function, targetoptions=options, **part_options())


def parallel(function: Callable[..., Any]) -> Any:
    """Make a function that entries call and that runs on all threads of Numba."""
    return function if _settings.DISABLE_JIT else njit(parallel=True, nogil=True)(function)


@contextmanager
def listening(ready: Callable[[str], None]) -> Iterator[None]:
    """Call `ready` with the name of each entry of which a form has been loaded or compiled."""
    _listeners.append(ready)
    try:
        yield
    finally:
        _listeners.remove(ready)


@contextmanager
def _no_garbage_collection() -> Iterator[None]:
    """Compiling makes many small objects that stay; looking through them again and again takes long."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()
