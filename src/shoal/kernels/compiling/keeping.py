"""Where compiled kernels are kept, and how several processes share that place.

A process that finds a kernel missing compiles it while it holds a lock on a file of its own for that kernel;
another one that needs the same kernel waits and then loads it. The operating system releases the lock of a
process that has died. A folder that cannot be written to only costs time: a warning says so.
"""

from __future__ import annotations

import errno
import hashlib
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import IO, Any

from numba.core.caching import CompileResultCacheImpl, FunctionCache, NullCache, _CacheLocator
from numba.core.runtime.nrt import rtsys

from shoal.errors import CacheWarning
from shoal.kernels.compiling.parts import is_tested
from shoal.kernels.compiling.place import cache_folder, is_current


class _Locator(_CacheLocator):
    """The folder of this state of all kernels. The stamp is for functions from elsewhere, as in tests."""

    def __init__(self, line: int, file: str) -> None:
        self._line, self._py_file = line, file

    def get_cache_path(self) -> str:
        return str(cache_folder())

    def get_source_stamp(self) -> str:
        return hashlib.sha256(Path(self._py_file).read_bytes()).hexdigest()

    def get_disambiguator(self) -> str:
        return str(self._line)

    @classmethod
    def from_function(cls, py_func: Any, py_file: str) -> _Locator:
        return cls(py_func.__code__.co_firstlineno, py_file)


class _Files(CompileResultCacheImpl):
    _locator_classes = [_Locator]  # noqa: RUF012  # Numba's


class _KernelCache(FunctionCache):
    """Numba's cache, for which a file that cannot be read or written is not there."""

    _impl_class = _Files

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Load a compiled form; None if there is none, or if its file is damaged."""
        try:
            if not is_tested():
                return super().load_overload(sig, target_context)
            # Numba would first import all it needs to compile, which takes longer than the rest of a short
            # run. Loading needs only its runtime.
            rtsys.initialize(target_context)
            with self._guard_against_spurious_io_errors():
                return self._load_overload(sig, target_context)
        except Exception:  # what a damaged file does to pickle is anybody's guess
            with suppress(OSError):
                self.flush()
            return None

    def save_overload(self, sig: Any, data: Any) -> None:
        """Keep a compiled form, if that is possible, and if it is compiled from the sources as they are."""
        if not is_current():
            return
        try:
            super().save_overload(sig, data)
        except OSError as error:
            _warn(error.strerror or "no reason given")


def cache_for(function: Callable[..., Any]) -> Any:
    """Return the cache for the compiled forms of a kernel."""
    try:
        cache_folder().mkdir(parents=True, exist_ok=True)
    except OSError as error:
        _warn(error.strerror or "no reason given")
        return NullCache()
    return _KernelCache(function)


@cache  # once in a process
def _warn(reason: str) -> None:
    warnings.warn(
        f"Compiled kernels cannot be kept in {cache_folder()} ({reason}), so every run compiles them again.",
        CacheWarning,
        stacklevel=2,
    )


@contextmanager
def alone(function: Callable[..., Any]) -> Iterator[None]:
    """Let no other process compile this kernel meanwhile; where there is nothing to lock, go on without."""
    try:
        file = (cache_folder() / f"{full_name(function)}.lock").open("a+b")
    except OSError:
        yield
        return
    with file:
        _lock(file)
        yield  # closing the file releases the lock


if sys.platform == "win32":
    import msvcrt

    def _lock(file: IO[bytes]) -> None:
        """Wait for the lock. Windows gives up after ten seconds, and compiling may take longer."""
        while True:
            try:
                file.seek(0)
                msvcrt.locking(file.fileno(), msvcrt.LK_LOCK, 1)
            except OSError as error:
                if error.errno == errno.EDEADLK:  # the ten seconds are over
                    continue
            return

else:
    import fcntl

    def _lock(file: IO[bytes]) -> None:
        """Wait for the lock; where the file system has none, go on without."""
        with suppress(OSError):
            fcntl.flock(file, fcntl.LOCK_EX)


def full_name(function: Callable[..., Any]) -> str:
    """Return the name of a kernel with that of its module."""
    return f"{function.__module__.rpartition('.')[2]}.{function.__name__}"
