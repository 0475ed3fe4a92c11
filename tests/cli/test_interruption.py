"""Whatever stops a run, no half release stays under its name, and an earlier one is left alone."""

from __future__ import annotations

import importlib
import signal
import subprocess
import sys
import time
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from shoal.verifier import Verdict
from shoal.verifier.verdict import Problem
from tests.bad_input_cases import EARLIER, TABLE, flags, run, snapshot
from tests.profiles import slow, some

needs_signals = pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such signals")
release_module = importlib.import_module("shoal.release.release")
writing = importlib.import_module("shoal.release.writing")
PATIENCE = 180.0

# Each script changes one stage so that it says when it has begun, then runs the command as a user does.
BEGIN = """
import importlib, signal, sys, time
from pathlib import Path
from shoal.cli.main import main

said = Path(sys.argv.pop(1))
signal.signal(signal.SIGINT, signal.default_int_handler)  # a job in the background inherits "ignore"
if hasattr(signal, "SIGHUP"):
    signal.signal(signal.SIGHUP, signal.SIG_DFL)  # as does one that is started with nohup

def say_and_wait():
    said.touch()
    time.sleep(600)

release = importlib.import_module("shoal.release.release")
writing = importlib.import_module("shoal.release.writing")
"""
CLUSTERING = (
    BEGIN
    + """
local = importlib.import_module("shoal.engine.local")
true_run = local.run

def run(encoded, recipe, method, progress):
    # The kernel goes on after it has been said: it must see the interruption itself.
    return true_run(encoded, recipe, method, lambda *told: (said.touch(), progress(*told)))

local.run = run
main()
"""
)
WRITING = (
    BEGIN
    + """
true_write = writing.write_table
writing.write_table = lambda *given, **how: (true_write(*given, **how), say_and_wait())
main()
"""
)
HALF_WRITTEN = (
    BEGIN
    + """
true_write = writing.write_table

def write_half(table, path, **how):
    true_write(table, path, **how)
    content = path.read_bytes()
    path.write_bytes(content[: len(content) // 2])
    say_and_wait()

writing.write_table = write_half
main()
"""
)
VERIFYING = (
    BEGIN
    + """
release.verify = lambda *_, **__: say_and_wait()
main()
"""
)
TURNED = (
    BEGIN
    + """
from shoal.errors import DataError

def turn(*_, **__):
    try:
        say_and_wait()
    except KeyboardInterrupt:
        raise {error} from None

release.verify = turn
main()
"""
)
MANIFEST = (
    BEGIN
    + """
writing.write_text = lambda text, path: (path.write_text(text[:20]), say_and_wait())
main()
"""
)


def with_earlier(folder: Path, name: str = "out.csv") -> None:
    """Put an earlier release where the next one goes."""
    for file in (name, f"{name}.manifest.json"):
        (folder / "out" / file).write_bytes(EARLIER)


def stop(script: str, arguments: list[str], folder: Path, sent: signal.Signals) -> tuple[int, str, str]:
    """Run a script until it says that the stage has begun, send it a signal, and wait for its end."""
    said = folder / "said"
    command = [sys.executable, "-c", script, str(said), "anonymize", *arguments]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            wait_for(said, process)
            process.send_signal(sent)
            stdout, stderr = process.communicate(timeout=PATIENCE)
        finally:
            process.kill()
    said.unlink()
    return process.returncode, stdout, stderr


def wait_for(said: Path, process: subprocess.Popen[str]) -> None:
    """Wait until a file is there, while the process lives."""
    deadline = time.monotonic() + PATIENCE
    while not said.exists() and process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.02)
    assert process.poll() is None, process.communicate()
    assert said.exists()


def large_table() -> str:
    """Return a table that takes k-member far longer than a signal takes to arrive."""
    random = np.random.default_rng(0)
    return pl.DataFrame({name: random.integers(0, 10**6, 80_000) for name in "abc"}).write_csv()


@needs_signals
@pytest.mark.parametrize("sent", ["SIGINT", "SIGTERM", pytest.param("SIGHUP", marks=slow)])
@pytest.mark.parametrize(
    ("script", "earlier"),
    [
        pytest.param(WRITING, False, id="writing-the-first", marks=slow),
        pytest.param(WRITING, True, id="writing", marks=slow),
        pytest.param(VERIFYING, True, id="verifying", marks=slow),
        pytest.param(MANIFEST, True, id="writing-the-manifest"),  # the release, too, is written and verified
    ],
)
def test_an_interrupted_run_leaves_nothing(script: str, earlier: bool, sent: str, tmp_path: Path) -> None:
    arguments = flags(TABLE, "--force")(tmp_path)
    if earlier:
        with_earlier(tmp_path)
    before = snapshot(tmp_path)
    status, stdout, stderr = stop(script, arguments, tmp_path, signal.Signals[sent])
    assert (status, stdout) == (130, "")
    assert stderr == "interrupted; no files were left behind\n"
    assert snapshot(tmp_path) == before


@needs_signals
@pytest.mark.parametrize("error", ["BaseException('a panic')", "DataError('data.empty', 'a damaged file')"])
def test_an_interruption_stays_one_if_a_library_makes_another_error_of_it(error: str, tmp_path: Path) -> None:
    arguments = flags(TABLE, "--force")(tmp_path)
    before = snapshot(tmp_path)
    status, stdout, stderr = stop(TURNED.format(error=error), arguments, tmp_path, signal.SIGINT)
    assert (status, stdout, stderr) == (130, "", "interrupted; no files were left behind\n")
    assert snapshot(tmp_path) == before


@needs_signals
def test_an_interrupted_clustering_leaves_nothing(tmp_path: Path) -> None:
    arguments = flags(large_table(), "--force", roles=dict.fromkeys("abc", "quasi"), k="5")(tmp_path)
    with_earlier(tmp_path)
    before = snapshot(tmp_path)
    status, stdout, stderr = stop(CLUSTERING, arguments, tmp_path, signal.SIGINT)
    assert (status, stdout) == (130, "")
    assert stderr == "interrupted; no files were left behind\n"
    assert snapshot(tmp_path) == before


@needs_signals
@pytest.mark.parametrize(
    ("script", "ending"),
    [
        pytest.param(HALF_WRITTEN, "csv", id="release-csv"),
        pytest.param(HALF_WRITTEN, "parquet", id="release-parquet", marks=slow),
        pytest.param(MANIFEST, "csv", id="manifest-csv", marks=slow),
        pytest.param(MANIFEST, "parquet", id="manifest-parquet", marks=slow),  # interrupted, above
    ],
)
def test_a_killed_run_leaves_nothing_that_looks_like_a_release(
    script: str, ending: str, tmp_path: Path
) -> None:
    arguments = flags(TABLE, "--force", out=f"out.{ending}")(tmp_path)
    with_earlier(tmp_path, f"out.{ending}")
    before = snapshot(tmp_path)
    status, _, _ = stop(script, arguments, tmp_path, signal.SIGKILL)
    after = snapshot(tmp_path)
    left = after.keys() - before.keys()
    assert status == -signal.SIGKILL
    assert left
    assert all(Path(name).name.startswith(".") for name in left)
    assert {name: content for name, content in after.items() if name not in left} == before


@needs_signals
def test_a_killed_run_is_not_in_the_way_of_the_next_which_tidies_up(tmp_path: Path) -> None:
    arguments = flags()(tmp_path)
    stop(HALF_WRITTEN, arguments, tmp_path, signal.SIGKILL)
    assert run("anonymize", *arguments).exit_code == 0
    made = sorted(path.name for path in (tmp_path / "out").iterdir())
    assert made == ["out.csv", "out.csv.manifest.json", "out.csv.report.html"]
    assert run("verify", arguments[-1], *arguments[1:-2]).exit_code == 0


def broken_verdict(*_: Any, **__: Any) -> Verdict:
    return Verdict(False, 8, 4, 1, (), (Problem("verify.k", "2 rows are in 1 class smaller than k = 2."),))


def other_counts(*_: Any, **__: Any) -> Verdict:
    return Verdict(True, 8, 1, 8, (), ())


def never_held(*_: Any, **__: Any) -> Verdict:
    return Verdict(False, 8, 4, 2, (), ())


@pytest.mark.parametrize(
    ("earlier", "verify"), some(product([False, True], [broken_verdict, other_counts, never_held]), 2)
)
def test_a_release_that_does_not_verify_is_deleted(
    verify: Any, earlier: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    arguments = flags(TABLE, "--force")(tmp_path)
    if earlier:
        with_earlier(tmp_path)
    before = snapshot(tmp_path)
    monkeypatch.setattr(release_module, "verify", verify)
    result = run("anonymize", *arguments)
    assert result.stderr.startswith("error [promise.broken]: ")
    assert (result.exit_code, result.stdout) == (1, "")
    assert snapshot(tmp_path) == before


@pytest.mark.parametrize(
    ("earlier", "at", "fault", "status"),
    some(
        [
            (earlier, at, *stopped)
            for earlier in (False, True)
            for at in (1, 2)
            for stopped in ((KeyboardInterrupt, 130), (RuntimeError, 4))
        ],
        every=3,
    ),
)
def test_release_and_manifest_are_replaced_both_or_not_at_all(
    fault: type[BaseException], status: int, at: int, earlier: bool, tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    arguments = flags(TABLE, "--force")(tmp_path)
    if earlier:
        with_earlier(tmp_path)
    before = snapshot(tmp_path)
    true_move = writing.move_into_place
    moves: list[Path] = []

    def move(source: Path, path: Path) -> None:
        moves.append(path)
        if len(moves) == at:
            raise fault
        true_move(source, path)

    monkeypatch.setattr(writing, "move_into_place", move)
    assert run("anonymize", *arguments).exit_code == status
    assert snapshot(tmp_path) == before
