"""What all commands share: options, output, errors and progress.

Data goes to stdout, everything else to stderr. Slow imports are deferred, so that `shoal --help` is
fast.
"""

from __future__ import annotations

import json
import sys
import traceback
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any, TextIO

import typer

from shoal.errors import CacheWarning, PrivacyWarning, ShoalError, printable
from shoal.interruption import is_interruption
from shoal.stages import Progress as Stages

Json = Annotated[bool, typer.Option("--json", help="Print one JSON object on stdout; the rest on stderr.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print only errors (and JSON with --json).")]

_STAGES = {
    "read": "reading", "encode": "encoding", "cluster": "clustering", "recode": "recoding",
    "measure": "measuring", "write": "writing", "verify": "verifying", "report": "reporting",
    "start": "starting Spark", "count": "counting", "plan": "planning",
    "warm-up": "warming up", "compile": "compiling for this machine",
}  # fmt: skip
INTERRUPTED, INTERNAL = 130, 4


@contextmanager
def reporting(as_json: bool, quiet: bool) -> Iterator[None]:
    """Convert errors to a message and the documented exit status."""
    with warnings.catch_warnings():
        warnings.showwarning = _show_warning(quiet)
        warnings.simplefilter("always", PrivacyWarning)
        try:
            yield
        except (typer.Exit, typer.Abort, BrokenPipeError, SystemExit):
            # A reader such as `head` may close the pipe early; Rich then raises SystemExit.
            raise
        except BaseException as error:  # a panic in a native library is not an Exception
            raise typer.Exit(_reported(error, as_json)) from None


def _reported(error: BaseException, as_json: bool) -> int:
    """Print what happened; return the exit status."""
    if is_interruption(error):
        print("interrupted; no files were left behind", file=sys.stderr)
        return INTERRUPTED
    if isinstance(error, ShoalError):
        _print_error(error, as_json)
        return error.exit_status
    _print_internal_error(error, as_json)
    return INTERNAL


def _show_warning(quiet: bool) -> Callable[..., None]:
    def show(message: Warning | str, category: type[Warning], *_: Any, **__: Any) -> None:
        if issubclass(category, (PrivacyWarning, CacheWarning)) and not quiet:
            say(f"warning: {message}", sys.stderr)

    return show


def _print_error(error: ShoalError, as_json: bool) -> None:
    say(f"error [{error.code}]: {error}", sys.stderr)
    if as_json:
        faults = [vars(fault) for fault in error.faults]
        print_json(
            {"error": {"code": error.code, "message": error.message, "hint": error.hint, "faults": faults}}
        )


def _print_internal_error(error: BaseException, as_json: bool) -> None:
    """Report where an internal error occurred, but not its message, which may quote a cell."""
    frames = [f for f in traceback.extract_tb(error.__traceback__) if "shoal" in Path(f.filename).parts]
    place = f"{Path(frames[-1].filename).name}, line {frames[-1].lineno}" if frames else "an unknown location"
    message = f"internal error: {type(error).__name__} in {place}"
    print(f"{message}\n\nhint: please report this line and your recipe, not your data", file=sys.stderr)
    if as_json:
        print_json({"error": {"code": "internal", "message": message, "hint": "", "faults": []}})


def say(text: object, file: TextIO | None = None) -> None:
    """Print human-readable text, on stdout by default, with control characters escaped."""
    print(printable(str(text), keep="\n"), file=file)


def print_json(data: dict[str, Any] | list[Any]) -> None:
    """Print one JSON value on stdout."""
    print(json.dumps(data, indent=2))


@contextmanager
def progress_bar(quiet: bool, *, stacked: bool = True) -> Iterator[Stages | None]:
    """Show a progress bar for each stage, or only for the current one; yield None without a terminal."""
    if quiet or not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (
        TextColumn("{task.description:>12}"),
        BarColumn(),
        TimeElapsedColumn(),
        TextColumn("{task.fields[text]}"),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as bars:
        tasks: dict[str, Any] = {}

        def show(stage: str, share: float, text: str = "") -> None:
            if stage not in tasks:
                for earlier in () if stacked else tasks.values():
                    bars.update(earlier, visible=False)
                tasks[stage] = bars.add_task(_STAGES.get(stage, stage), total=1.0, text="")
            bars.update(tasks[stage], completed=share, text=text)

        yield show
