"""What somebody at a terminal sees of a run with Spark, and that Ctrl-C ends all of it."""

from __future__ import annotations

import io
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from shoal.cli.anonymize import publish
from shoal.recipe import Recipe
from tests.engine.spark.made import persisted
from tests.profiles import slow

PATIENCE = 180.0


class Terminal(io.StringIO):
    """What is shown on a screen."""

    def isatty(self) -> bool:
        return True


def test_the_plan_and_all_stages_are_shown(
    spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = tmp_path / "in.csv"
    pl.DataFrame({"age": [at % 40 for at in range(120)]}).write_csv(table)
    changes = {
        "input": {"path": str(table)},
        "output": {"path": str(tmp_path / "out.csv")},
        "engine": {"name": "spark", "cell_rows": 60},
        "method": {"name": "mondrian"},
    }
    screen = Terminal()
    monkeypatch.setattr(sys, "stderr", screen)

    told = publish(Recipe.from_roles(quasi=["age"], k=5, changes=changes), False, bound=False)

    shown = " ".join(re.sub(r"\x1b\[[^A-Za-z]*[A-Za-z]", " ", screen.getvalue()).split())
    assert told["rows"] == 120
    plan = shown[shown.find("plan: ") :][:90]
    assert re.match(
        r"plan: 120 rows in \d cells of up to 60 rows; the largest has \d\d and needs about", plan
    )
    for stage in (
        "starting Spark", "counting", "reading", "encoding", "planning", "clustering", "measuring", "writing",
        "verifying",
    ):  # fmt: skip
        assert stage in shown, stage
    assert persisted(spark) == 0


# The command as a user runs it; it says when tasks of the clustering have begun.
CLUSTERING = """
import importlib, signal, sys
from contextlib import contextmanager
from pathlib import Path
from shoal.cli.main import main

said = Path(sys.argv.pop(1))
signal.signal(signal.SIGINT, signal.default_int_handler)  # a job in the background inherits "ignore"
command = importlib.import_module("shoal.cli.anonymize")

@contextmanager
def progress_bar(quiet):
    yield lambda stage, share, text="": said.touch() if stage == "cluster" and text else None

command.progress_bar = progress_bar
main()
"""


@slow
@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="looks for processes as Linux lists them")
@pytest.mark.parametrize("whole", [False, True], ids=["the process", "its group"])
def test_an_interruption_leaves_no_file_and_no_java(tmp_path: Path, spark: Any, whole: bool) -> None:
    """A terminal interrupts the whole group: Java and its workers must not end before we have cancelled."""
    work = tmp_path / "work"
    work.mkdir()
    random = np.random.default_rng(0)
    table = pl.DataFrame({name: random.integers(0, 10**6, 150_000) for name in "abc"})
    table.write_csv(work / "in.csv")  # k-member takes minutes for it
    said = tmp_path / "said"
    command = [
        sys.executable, "-c", CLUSTERING, str(said), "anonymize", "in.csv", "--quasi", "a,b,c", "--k", "5",
        "--method", "k-member", "--engine", "spark", "--master", "local[2]", "-o", "out.parquet",
    ]  # fmt: skip
    with subprocess.Popen(
        command, cwd=work, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    ) as process:
        try:
            wait_until(lambda: said.exists() or process.poll() is not None)
            assert process.poll() is None, process.communicate()
            assert "java" in started_by(process)
            (os.killpg if whole else os.kill)(process.pid, signal.SIGINT)
            stdout, stderr = process.communicate(timeout=PATIENCE)
        finally:
            process.kill()
    assert (process.returncode, stdout) == (130, "")
    lines = [line for line in stderr.splitlines() if not line.startswith("plan: ")]
    assert lines == ["interrupted; no files were left behind"]
    assert [file.name for file in work.iterdir()] == ["in.csv"]
    wait_until(lambda: not started_by(process))


def wait_until(true: Any) -> None:
    deadline = time.monotonic() + PATIENCE
    while not true():
        assert time.monotonic() < deadline
        time.sleep(0.1)


def started_by(process: subprocess.Popen[str]) -> set[str]:
    """Return the names of the programs that run in the session of a process, without its own."""
    names = set()
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            name, _, rest = stat.read_text(errors="replace").partition("(")[2].rpartition(")")
        except OSError:  # it has ended
            continue
        state, session = rest.split()[0], int(rest.split()[3])
        if session == process.pid and stat.parent.name != str(process.pid) and state != "Z":
            names.add(name)
    return names
