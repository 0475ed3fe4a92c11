"""A process that draws: one specification in, one picture out, each as a line of JSON.

The engine that draws takes half a second to start, in which Python can do nothing else. A process of its own
starts while the first one reads the table.
"""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from threading import Lock
from typing import Any


class Engine:
    """The process, as seen by the one that started it."""

    def __init__(self) -> None:
        # -P: nothing in the working folder is taken for a module.
        command = [sys.executable, "-P", "-m", "shoal.report.engine"]
        self._lock = Lock()  # views are drawn by several threads, and each answer follows its question
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
        """Stop the process, whatever it does."""
        self._process.kill()
        with suppress(OSError), self._process:  # closes the pipes, and waits
            pass


_running: list[Engine] = []


@contextmanager
def engine_ahead() -> Iterator[None]:
    """Let another process draw, unless this one has drawn before, or the system does not allow another."""
    engine = None
    if not _has_drawn():
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


def _has_drawn() -> bool:
    """Return whether what draws has been started in this process, so that another one would gain nothing."""
    return "vl_convert" in sys.modules


def draw_svg(spec: Mapping[str, Any]) -> str:
    """Draw one chart, of which everything is in its specification."""
    drawn = _running[-1].draw(spec) if _running else None
    return _draw(spec) if drawn is None else drawn


def draw_png(spec: Mapping[str, Any]) -> bytes:
    """Draw one chart as pixels, two for each point."""
    import vl_convert

    return vl_convert.vegalite_to_png(dict(spec), scale=2, allowed_base_urls=[])


def _draw(spec: Mapping[str, Any]) -> str:
    import vl_convert

    return vl_convert.vegalite_to_svg(dict(spec), allowed_base_urls=[])  # no address may be asked for data


def _main() -> None:
    """Draw what is asked for, until nobody can ask any more."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the process that asks
    _draw({"mark": "point"})
    for line in sys.stdin:
        print(json.dumps(_draw(json.loads(line))), flush=True)


if __name__ == "__main__":
    _main()
