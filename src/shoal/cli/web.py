"""`shoal web`: the local page."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from shoal.cli.console import Json, Quiet, reporting
from shoal.errors import OutputError

_LOCAL = ("127.0.0.1", "localhost", "::1")


def web(
    port: Annotated[
        int | None, typer.Option("--port", min=0, max=65535, help="Port; default: 7465, or any free one.")
    ] = None,
    folder: Annotated[
        Path,
        typer.Option("--folder", help="Folder of tables and projects; nothing outside of it is touched."),
    ] = Path(),
    browser: Annotated[
        bool, typer.Option("--browser/--no-browser", help="Open the page in the browser.")
    ] = True,
    host: Annotated[
        str,
        typer.Option("--host", help="Address to listen on; others than this machine's need --allow-remote."),
    ] = _LOCAL[0],
    allow_remote: Annotated[
        bool, typer.Option("--allow-remote", help="Let other machines connect. They need the token.")
    ] = False,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Open a local page that leads from a table to a verified release.

    It prints its address, which contains a token, and opens the browser. Every change goes to the recipe of
    the project at once, so closing the browser loses nothing. Needs the extra `web`: pip install
    'shoal[web]'.

    Example:  shoal web --folder tables
    """
    with reporting(as_json, quiet):
        _check(folder, host, allow_remote)
        try:
            from shoal.web.server import serve
        except ModuleNotFoundError as error:
            if error.name is None or error.name.split(".")[0] == "shoal":
                raise
            message = f"The page needs the package {error.name}, which is not installed."
            raise OutputError("web.start", message, "pip install 'shoal[web]'") from None
        serve(folder, host, port, browser=browser, as_json=as_json, quiet=quiet)


def _check(folder: Path, host: str, allow_remote: bool) -> None:
    if host not in _LOCAL and not allow_remote:
        message = f"Listening on {host} would let other machines connect."
        raise OutputError("web.start", message, "add --allow-remote if they should, or leave --host out")
    if not folder.is_dir():
        raise OutputError("web.start", f"The folder {folder} does not exist.", "create it, or choose another")
