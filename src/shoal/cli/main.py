"""The `shoal` command."""

from __future__ import annotations

import atexit
import os
import signal
import sys
from typing import Annotated

import typer

from shoal.cli import (
    anonymize,
    attack,
    compare,
    demo,
    extend,
    hierarchy,
    inspect,
    keys,
    measure,
    methods,
    republish,
    risk,
    verify,
    warm,
    web,
)
from shoal.cli.console import INTERRUPTED
from shoal.interruption import is_interruption, listen

app = typer.Typer(
    name="shoal",
    help="Publish tables about people safely: every released row hides among at least k that look alike.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,  # a traceback with local variables could show cells
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command("demo")(demo.demo)
app.command("inspect")(inspect.inspect)
app.command("anonymize")(anonymize.anonymize)
app.command("extend")(extend.extend)
app.command("republish")(republish.republish)
app.command("verify")(verify.verify)
app.command("attack")(attack.attack)
app.command("measure")(measure.measure)
app.command("risk")(risk.risk)
app.command("compare")(compare.compare)
app.add_typer(hierarchy.app, name="hierarchy")
app.command("web")(web.web)
app.command("keys")(keys.keys)
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


def _clean_up_on_termination() -> None:
    """Clean up on SIGTERM, or when the terminal is closed, as on Ctrl-C."""
    listen(signal.SIGTERM)
    # Windows has no SIGHUP. A process started with nohup, or in the background, ignores signals on purpose.
    for name in ("SIGINT", "SIGHUP"):
        other = getattr(signal, name, None)
        if other is not None and signal.getsignal(other) is not signal.SIG_IGN:
            listen(other)


def main() -> None:
    """Run the command line and exit."""
    _clean_up_on_termination()
    status = _run()
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    except OSError:  # the disk is full, or the pipe is closed
        status = status or 1
    atexit._run_exitfuncs()
    # Everything is closed and cleaned up. A regular shutdown of Python would take another 0.2 s.
    os._exit(status)


def _run() -> int:
    """Run the command line and return the exit status."""
    try:
        app()
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else int(end.code is not None)
    except BaseException as error:
        if is_interruption(error):
            return INTERRUPTED
        raise
    return 0
