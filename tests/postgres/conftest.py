"""A server for all tests of this folder, and a database for each."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.postgres_server import Database, empty_database, one_server


@pytest.fixture(scope="session")
def server() -> Iterator[Path]:
    yield from one_server()


@pytest.fixture
def database(server: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Database:
    """An empty database; files go to an empty working directory."""
    monkeypatch.chdir(tmp_path)
    for name in ("PGPASSWORD", "PGUSER", "PGHOST", "PGSERVICE", "PGDATABASE", "PGPASSFILE", "PGSERVICEFILE"):
        monkeypatch.delenv(name, raising=False)
    return empty_database(server)
