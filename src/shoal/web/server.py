"""Start the server, say where it is, and open the browser."""

from __future__ import annotations

import json
import logging
import socket
import sys
import webbrowser
from contextlib import suppress
from pathlib import Path
from threading import Thread

import uvicorn

from shoal.errors import OutputError
from shoal.web.app import create_app
from shoal.web.protocol import Protocol
from shoal.web.settings import Settings

LOCAL = "127.0.0.1"
_USUAL_PORT = 7465  # any free one if it is taken
_MOST = 256  # connections that are answered at the same time; more get an error and can try again


def serve(
    folder: Path,
    host: str = LOCAL,
    port: int | None = None,
    *,
    browser: bool = True,
    as_json: bool = False,
    quiet: bool = False,
) -> None:
    """Serve a folder until interrupted; print the address, alone or in a JSON object, when it is ready."""
    opened = _listen(host, port)
    address, number = opened.getsockname()[:2]
    is_everywhere = address in ("0.0.0.0", "::")
    settings = Settings(
        folder=folder,
        port=number,
        hosts=frozenset({LOCAL, "localhost", "::1", host.lower(), socket.gethostname().lower()}),
        any_address=is_everywhere,
    )
    shown = LOCAL if is_everywhere else host
    shown = f"[{shown}]" if ":" in shown else shown
    url = f"http://{shown}:{number}/?token={settings.token}"
    with suppress(KeyboardInterrupt):  # the usual way to end it, and everything has been closed
        said = {"url": url, "port": number, "token": settings.token, "folder": str(folder.resolve())}
        line = json.dumps(said) if as_json else url
        _Server(configured(settings), line, url if browser else None, quiet=quiet).run(sockets=[opened])


def configured(settings: Settings) -> uvicorn.Config:
    """Return how the server runs."""
    # Uvicorn would print errors with their messages, which may quote a cell; `Guard` says what may be said.
    logging.getLogger("uvicorn.error").disabled = True
    return uvicorn.Config(
        create_app(settings),
        http=Protocol,
        ws="none",
        log_config=None,  # requests are not logged: addresses hold the token, and names of columns and files
        access_log=False,
        server_header=False,
        date_header=False,
        timeout_keep_alive=10,
        timeout_graceful_shutdown=3,
        limit_concurrency=_MOST,
    )


class _Server(uvicorn.Server):
    """A server that says when it is ready."""

    def __init__(self, config: uvicorn.Config, line: str, opened: str | None, *, quiet: bool) -> None:
        super().__init__(config)
        self._line, self._opened, self._quiet = line, opened, quiet

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        print(self._line, flush=True)
        if not self._quiet:
            print("Stop with Ctrl-C. Projects stay in the folder.", file=sys.stderr)
        if self._opened:  # some browsers return only when they are closed
            Thread(target=webbrowser.open, args=(self._opened,), daemon=True).start()


def _listen(host: str, port: int | None) -> socket.socket:
    """Open the port; without a wish, the usual one or any that is free."""
    last: OSError | None = None
    for number in (_USUAL_PORT, 0) if port is None else (port,):
        try:
            family = socket.AF_INET6 if ":" in host else socket.AF_INET
            opened = socket.socket(family)
            opened.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            opened.bind((host, number))
            opened.listen(128)
        except OSError as error:
            opened.close()
            last = error
            continue
        return opened
    reason = (last.strerror if last else None) or "unknown reason"
    raise OutputError(
        "web.start", f"The server cannot listen on {host}, port {port}: {reason}.", "choose another --port"
    )
