"""What a server is started with."""

from __future__ import annotations

import secrets
from dataclasses import dataclass, field
from pathlib import Path


@dataclass(frozen=True)
class Settings:
    """What a server is started with.

    Parameters
    ----------
    folder : Path
        Everything that is read or written is below this folder.
    port : int
        Where the server listens.
    hosts : frozenset of str
        The names under which it answers; with others, a foreign page could reach it through its own name.
    any_address : bool
        Whether it also answers to any IP address: set when it listens on all of them.
    token : str
        Opens the page, and is the bearer token of programs.
    session : str
        What the cookie holds after the first visit.
    max_upload, max_body : int
        The largest upload, and the largest body of any other request, in bytes.
    most_cells : int
        The largest number of rows times columns of an uploaded Parquet or Arrow file.
    patience : float
        Seconds to wait for the next part of a request.
    demo_rows : int
        Rows of the demo's table.
    """

    folder: Path
    port: int = 0
    hosts: frozenset[str] = frozenset({"127.0.0.1", "localhost"})
    any_address: bool = False
    token: str = field(default_factory=lambda: secrets.token_urlsafe(24), repr=False)
    session: str = field(default_factory=lambda: secrets.token_urlsafe(32), repr=False)
    max_upload: int = 2 << 30
    max_body: int = 16 << 20
    most_cells: int = 1_000_000_000
    patience: float = 20.0
    demo_rows: int = 10_000

    @property
    def cookie(self) -> str:
        """Name of the cookie: browsers share cookies between the ports of a machine."""
        return f"shoal-{self.port}"
