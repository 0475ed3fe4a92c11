"""What a killed run leaves behind is removed by the next, and nothing else is."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from shoal import interruption
from shoal.recipe import Recipe
from shoal.table.write import temporary
from shoal.verifier import verify

pytestmark = pytest.mark.skipif(os.name != "posix", reason="processes are not asked after elsewhere")

RECIPE = Recipe.from_roles(quasi=["age"], k=2)
# Each script makes something temporary, says where it is, and waits for its end.
FILE = """
import sys, time
from pathlib import Path
from shoal.table.write import temporary

with temporary(Path(sys.argv[1], "out.csv")) as file:
    print(file, flush=True)
    time.sleep(600)
"""
FOLDER = """
import time
from shoal.verifier.reading.session import session

with session() as opened:
    (opened.folder / "original.csv").write_text("raw cells")
    print(opened.folder, flush=True)
    time.sleep(600)
"""


def begin(script: str, folder: Path) -> tuple[subprocess.Popen[str], Path]:
    """Run a script; return its process and what it has made."""
    environment = {**os.environ, "TMPDIR": str(folder)}
    command = [sys.executable, "-c", script, str(folder)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment)
    assert process.stdout is not None
    return process, Path(process.stdout.readline().strip())


def end(process: subprocess.Popen[str]) -> None:
    process.kill()
    process.communicate()


def use(folder: Path) -> None:
    """Make something temporary, as the next run in a folder does."""
    with temporary(folder / "out.csv"):
        pass


def look(folder: Path) -> None:
    """Verify something, as the next run on a machine does."""
    table = folder / "release.csv"
    table.write_text("age\n1\n1\n", encoding="utf-8")
    assert verify(table, RECIPE).holds
    table.unlink()


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that is also the system's temporary one."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


both = pytest.mark.parametrize(("script", "run"), [(FILE, use), (FOLDER, look)], ids=["file", "folder"])


@both
def test_the_next_run_removes_what_a_killed_one_left(script, run, folder):
    process, left = begin(script, folder)
    end(process)
    assert left.exists()
    run(folder)
    assert not left.exists()


@both
def test_what_a_living_process_has_made_stays(script, run, folder):
    process, made = begin(script, folder)
    try:
        run(folder)
        assert made.exists()
    finally:
        end(process)


def renamed(left: Path, at: int, text: str) -> Path:
    """Change one part of a name: machine, process or start, counted from the end."""
    parts = left.name.split("-")
    parts[at] = text
    return left.rename(left.with_name("-".join(parts)))


@both
def test_another_process_with_the_same_number_does_not_keep_it(script, run, folder):
    process, left = begin(script, folder)
    end(process)
    own = renamed(left, -3, str(os.getpid()))  # lives, but has not started when that one did
    run(folder)
    assert not own.exists()


@both
def test_what_was_made_on_another_machine_stays(script, run, folder):
    process, left = begin(script, folder)
    end(process)
    machine = left.name.split("-")[-4]
    foreign = renamed(left, -4, machine[::-1])
    run(folder)
    assert foreign.exists()


@both
def test_what_belongs_to_somebody_else_stays(script, run, folder, monkeypatch):
    process, left = begin(script, folder)
    end(process)
    monkeypatch.setattr(os, "getuid", lambda: left.lstat().st_uid + 1)
    run(folder)
    assert left.exists()


@both
def test_what_only_looks_alike_stays(script, run, folder):
    process, left = begin(script, folder)
    end(process)
    start = left.name.rpartition("-")[0]
    target = folder / "somebody.txt"
    target.write_text("somebody's own", encoding="utf-8")
    link = left.with_name(f"{start}-abcd1234")
    link.symlink_to(target)
    alike = [
        left.with_name(name) for name in (".shoal-abcd1234.csv", "shoal-verify-abcd1234", f"x{left.name}")
    ]
    for path in alike:
        path.write_text("somebody's own", encoding="utf-8")
    # What should be a file is a folder here, and the other way round.
    other = left.with_name(f"{start}-dcba4321")
    if left.is_dir():
        other.write_text("somebody's own", encoding="utf-8")
    else:
        other.mkdir()
    run(folder)
    assert not left.exists()
    assert link.is_symlink()
    assert all(path.exists() for path in [target, other, *alike])


@pytest.mark.parametrize("ignored", [False, True], ids=["terminal-closed", "nohup"])
def test_a_hang_up_ends_a_run_unless_it_was_told_to_go_on(ignored, monkeypatch):
    from shoal.cli import main

    found = {signal.SIGHUP: signal.SIG_IGN if ignored else signal.SIG_DFL}
    monkeypatch.setattr(signal, "getsignal", found.get)
    monkeypatch.setattr(signal, "signal", found.__setitem__)
    monkeypatch.setattr(main, "app", lambda: None)
    main._clean_up_on_termination()
    if ignored:
        assert found[signal.SIGHUP] == signal.SIG_IGN
    else:
        monkeypatch.setattr(interruption, "_signals", [])
        with pytest.raises(KeyboardInterrupt):
            found[signal.SIGHUP](signal.SIGHUP, None)
