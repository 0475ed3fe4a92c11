"""A subprocess that draws charts: it reads specifications and writes pictures, as lines of JSON.

The drawing engine takes half a second to start, which would block Python. The subprocess starts while the
main process reads the table.
"""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from threading import Lock
from typing import Any

from shoal.table.optional import library


class Engine:
    """The drawing subprocess, as seen by its parent."""

    def __init__(self) -> None:
        # -P: do not import modules from the working folder.
        command = [sys.executable, "-P", "-m", "shoal.report.engine"]
        self._lock = Lock()  # several threads draw views; keep each response with its request
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            encoding="utf-8",
        )

    def draw(self, spec: Mapping[str, Any]) -> str | None:
        """Draw a chart as SVG; None if the process has failed."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        try:
            with self._lock:
                self._process.stdin.write(json.dumps(spec) + "\n")
                self._process.stdin.flush()
                answer = self._process.stdout.readline()
        except OSError:
            return None
        drawn: str | None = json.loads(answer) if answer.endswith("\n") else None
        return drawn

    def end(self) -> None:
        """Kill the process."""
        self._process.kill()
        with suppress(OSError), self._process:  # closes the pipes and waits
            pass


_running: list[Engine] = []


@contextmanager
def prestarted_engine() -> Iterator[None]:
    """Start a drawing subprocess, unless this process has already drawn or none can be started."""
    engine = None
    if can_draw() and not _has_drawn():
        with suppress(OSError):
            engine = Engine()
    if engine is None:
        yield
        return
    _running.append(engine)
    try:
        yield
    finally:
        _running.remove(engine)
        engine.end()


def can_draw() -> bool:
    """Return whether the drawing engine is installed; it is large, so it comes with an extra."""
    return _has_drawn() or find_spec("vl_convert") is not None


def require_engine() -> None:
    """Say how to install the drawing engine if it is missing, before any work is done."""
    if not can_draw():
        _vl_convert()


def _has_drawn() -> bool:
    """Return whether the engine is already running in this process, so that a subprocess saves no time."""
    return "vl_convert" in sys.modules


def draw_svg(spec: Mapping[str, Any]) -> str:
    """Draw a self-contained chart as SVG."""
    drawn = _running[-1].draw(spec) if _running else None
    return _draw(spec) if drawn is None else drawn


def draw_png(spec: Mapping[str, Any]) -> bytes:
    """Draw a chart as PNG, with two pixels per point."""
    drawn: bytes = _vl_convert().vegalite_to_png(dict(spec), scale=2, allowed_base_urls=[])
    return drawn


def _draw(spec: Mapping[str, Any]) -> str:
    drawn: str = _vl_convert().vegalite_to_svg(dict(spec), allowed_base_urls=[])  # no network access
    return drawn


def _vl_convert() -> Any:
    return library("vl_convert", "charts", "Drawing a chart")


def _main() -> None:
    """Draw charts until stdin is closed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is handled by the parent
    _draw({"mark": "point"})
    for line in sys.stdin:
        print(json.dumps(_draw(json.loads(line))), flush=True)


if __name__ == "__main__":
    _main()
