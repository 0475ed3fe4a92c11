"""The `shoal` command."""

from __future__ import annotations

import atexit
import os
import signal
import sys
from typing import Annotated

import typer

from shoal.cli import anonymize, compare, demo, hierarchy, measure, methods, verify, warm

app = typer.Typer(
    name="shoal",
    help="Publish tables about people safely: every released row hides among at least k that look alike.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,  # a traceback with local variables would show cells
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command("demo")(demo.demo)
app.command("anonymize")(anonymize.anonymize)
app.command("verify")(verify.verify)
app.command("measure")(measure.measure)
app.command("compare")(compare.compare)
app.add_typer(hierarchy.app, name="hierarchy")
app.command("methods")(methods.methods)
app.command("warm")(warm.warm)


def _print_version(wanted: bool) -> None:
    if wanted:
        from shoal import __version__

        print(f"shoal {__version__}")
        raise typer.Exit


@app.callback()
def _shoal(
    version: Annotated[
        bool, typer.Option("--version", help="Print the version.", callback=_print_version, is_eager=True)
    ] = False,
) -> None:
    pass


def _clean_up_when_told_to_end() -> None:
    """Let a job that is told to end, or whose terminal is closed, clean up behind it, as on Ctrl-C."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    # Windows has no such signal, and a job that was started with nohup is meant to go on.
    hang_up = getattr(signal, "SIGHUP", None)
    if hang_up is not None and signal.getsignal(hang_up) is not signal.SIG_IGN:
        signal.signal(hang_up, signal.default_int_handler)


def main() -> None:
    """Run the command line and end the process."""
    _clean_up_when_told_to_end()
    status = _run()
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    except OSError:  # the disk is full, or nobody reads
        status = status or 1
    atexit._run_exitfuncs()
    # Everything is closed and cleaned up. Python would take another fifth of a second to take itself apart.
    os._exit(status)


def _run() -> int:
    """Run the command line and return the exit status."""
    try:
        app()
    except KeyboardInterrupt:
        return 130
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else int(end.code is not None)
    return 0
