"""A real server for tests, with its own folder and limits, in a thread of this process."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from threading import Thread
from typing import Any

import httpx
import uvicorn

from shoal.web.server import configured
from shoal.web.settings import Settings

ROLES = {"name": "identifier", "age": "quasi", "sex": "quasi", "city": "quasi", "ill": "sensitive"}


@dataclass(frozen=True)
class Served:
    """A server: its settings, and clients for it."""

    settings: Settings
    clients: list[httpx.Client] = field(default_factory=list)

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.settings.port}"

    @property
    def folder(self) -> Path:
        return self.settings.folder

    def client(self) -> httpx.Client:
        """Return a program with the bearer token."""
        return self.visitor(Authorization=f"Bearer {self.settings.token}")

    def visitor(self, **headers: str) -> httpx.Client:
        """Return somebody without the token."""
        # Loading certificates, which nothing here needs, would take longer than most tests.
        self.clients.append(httpx.Client(base_url=self.address, headers=headers, timeout=60, verify=False))
        return self.clients[-1]

    def connect(self) -> socket.socket:
        """Return a bare connection."""
        return socket.create_connection(("127.0.0.1", self.settings.port), timeout=20)


@contextmanager
def serving(folder: Path, **settings: Any) -> Iterator[Served]:
    """Serve a folder until the end of the block."""
    opened = socket.socket()
    opened.bind(("127.0.0.1", 0))
    opened.listen(128)
    served = Served(Settings(folder=folder, port=opened.getsockname()[1], **settings))
    server = uvicorn.Server(configured(served.settings))
    thread = Thread(target=server.run, kwargs={"sockets": [opened]})
    thread.start()
    while not server.started and thread.is_alive():
        thread.join(0.01)
    try:
        yield served
    finally:
        for client in served.clients:
            client.close()
        server.should_exit = True
        thread.join(60)
        opened.close()


def people(rows: int = 120) -> str:
    """Spell a small table about people as CSV."""
    cities, ills = ("Bonn", "Ulm", "Jena"), ("flu", "cold")
    lines = [
        f"p{at},{20 + (at * 7) % 60},{'mf'[at % 2]},{cities[at % 3]},{ills[at % 5 % 2]}" for at in range(rows)
    ]
    return "\n".join(["name,age,sex,city,ill", *lines]) + "\n"


def recipe(table: str = "people.csv", k: int = 4, method: str = "mondrian") -> str:
    """Spell a recipe for that table."""
    columns = "".join(f'[columns.{name}]\nrole = "{role}"\n' for name, role in ROLES.items())
    return (
        f'[input]\npath = "{table}"\n{columns}[privacy]\nk = {k}\n'
        f'[method]\nname = "{method}"\n[output]\npath = "out.csv"\n'
    )


def make_project(folder: Path, name: str = "people", text: str | None = None, rows: int = 120) -> Path:
    """Write a project into a served folder."""
    project = folder / name
    project.mkdir()
    (project / "people.csv").write_text(people(rows))
    (project / "recipe.toml").write_text(text or recipe())
    return project
