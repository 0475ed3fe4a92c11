"""A run in a process of its own: `python -m shoal.web.child` reads what to do and reports lines of JSON.

The server stays responsive, and a run that is cancelled or goes wrong takes nothing with it. When the server
ends, however abruptly, the pipe from it closes and the run stops.
"""

from __future__ import annotations

import json
import os
import re
import signal
import sys
import time
import warnings
from collections.abc import Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from threading import Lock, Thread
from typing import Any, TextIO

from shoal.errors import CacheWarning, PrivacyWarning, ShoalError
from shoal.interruption import is_interruption, listen
from shoal.stages import Progress
from shoal.web.refusals import internal_json, shoal_json

_LOSS = re.compile(r"Total IL ([\d,]+)")
_PAUSE = 0.05  # seconds between two reports of the same stage


class Reports:
    """Lines of JSON to the server."""

    def __init__(self, file: TextIO) -> None:
        self._file, self._lock = file, Lock()
        self._stage, self._last = "", 0.0

    def send(self, **report: Any) -> None:
        """Send a line; a server that is gone does not matter."""
        with self._lock:
            try:
                print(json.dumps(report), file=self._file, flush=True)
            except OSError:
                os.kill(os.getpid(), signal.SIGINT)

    def progress(self, stage: str, share: float, text: str = "", /) -> None:
        """Report how far a stage is; nobody can see more than some reports a second."""
        now = time.monotonic()
        if stage == self._stage and share < 1.0 and now - self._last < _PAUSE:
            return
        self._stage, self._last = stage, now
        self.send(stage=stage, share=share, text=text, loss=loss_in(text))


def loss_in(text: str) -> float | None:
    """Return the loss that a status text contains.

    >>> loss_in("Total IL 14,530"), loss_in("3 of 7")
    (14530.0, None)
    """
    found = _LOSS.search(text)
    return float(found[1].replace(",", "")) if found else None


def run(asked: dict[str, Any], reports: Reports) -> dict[str, Any]:
    """Run a recipe as `shoal anonymize` does; return what it would print as JSON."""
    from shoal.recipe import Recipe
    from shoal.workflow.publish import publish

    folder = Path(asked["folder"])
    recipe = Recipe.load(folder / "recipe.toml")
    output = str(folder / Path(recipe.output.path or "release.csv").name)
    return publish(
        recipe.changed({"output": {"path": output}}),
        also=[Path(path) for path in asked["also"]],
        accept_composition=asked["accept_composition"],
        bound=asked["bound"],
        analyses=asked["analyses"],
        progress=reports.progress,
        compiling=_compiling,
    )


def _compiling(jobs: Sequence[str], progress: Progress | None) -> AbstractContextManager[object]:
    from shoal.workflow.warming import compiled_meanwhile

    def counted(done: int, total: int) -> None:
        if progress is not None:
            progress("compile", done / total, f"{done} of {total}")

    return compiled_meanwhile(jobs, counted)


def _end_with_server() -> None:
    """Stop when the pipe from the server closes."""
    while sys.stdin.readline():
        pass
    os.kill(os.getpid(), signal.SIGINT)
    time.sleep(20)
    os._exit(130)  # a kernel that does not return


def main() -> int:
    """Do what the first line of standard input says, and report; return the exit status."""
    listen(signal.SIGTERM, signal.SIGINT)
    reports = Reports(os.fdopen(os.dup(1), "w", encoding="utf-8"))
    sys.stdout = sys.stderr  # what a library prints is no report
    try:
        asked = json.loads(sys.stdin.readline())
        Thread(target=_end_with_server, daemon=True).start()
        _report_warnings(reports)
        reports.send(done=run(asked, reports))
    except BaseException as error:  # a panic in a native library is not an Exception
        if is_interruption(error):
            return 130
        if isinstance(error, ShoalError):
            reports.send(failed=shoal_json(error)["error"])
            return 0
        reports.send(failed=internal_json(error)["error"])
        return 4
    return 0


def _report_warnings(reports: Reports) -> None:
    """Send what the command line would print as a warning."""

    def warn(message: Warning | str, category: type[Warning], *_: Any, **__: Any) -> None:
        if issubclass(category, (PrivacyWarning, CacheWarning)):
            reports.send(warning=str(message))

    warnings.showwarning = warn
    warnings.simplefilter("always", PrivacyWarning)


if __name__ == "__main__":
    status = main()
    sys.stderr.flush()
    os._exit(status)  # nothing is left to close; threads of libraries may still sleep
