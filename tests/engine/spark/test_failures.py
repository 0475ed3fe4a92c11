"""Workers that fail or are ended, and damaged files: each is one clear error, which quotes nothing."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pytest

import shoal
from shoal.engine.spark import repeats
from shoal.errors import DataError, EngineError, ShoalError
from shoal.recipe import Recipe
from shoal.verifier import verify
from shoal.verifier.spark import verify_folder
from shoal.workflow.prepare import prepare
from tests.engine.spark.made import in_spark, persisted
from tests.profiles import slow
from tests.verifier.spark import tampered

SECRET = "mark3r"
TABLE = pl.DataFrame(
    {"age": [at % 40 for at in range(200)], "note": [f"{SECRET} {at % 2}" for at in range(200)]}
)
ASKED = Recipe.from_roles(quasi=["age"], keep=["note"], k=4)


def refused(spark: Any, make: Callable[[], object]) -> ShoalError:
    """Run something that must fail; return the error."""
    with pytest.raises(ShoalError) as caught:
        make()
    for word in (SECRET, "Exception", "\tat ", "Traceback"):
        assert word not in str(caught.value)
    assert caught.value.hint
    assert persisted(spark) == 0
    return caught.value


def failing(kind: str) -> Callable[[Any], Any]:
    """Return a task of a worker, which fails; it is sent as it is, because workers do not have the tests."""

    def fails(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            cells = str(batch.to_pylist())
            match kind:
                case "is ended":
                    os.kill(os.getpid(), signal.SIGKILL)
                case "has no memory":
                    raise MemoryError(cells)
                case "lacks a package":
                    raise ModuleNotFoundError(cells)
            raise KeyError(cells)
        yield from ()

    return fails


WORKERS = {
    "is ended": ("engine.failed", "A worker of Spark ended before its task was done."),
    "has no memory": ("engine.memory", "A Python worker ran out of memory."),
    "lacks a package": ("engine.failed", "Workers of Spark cannot run shoal"),
    "is wrong": ("engine.failed", "A worker failed: KeyError in failures.py, line"),
}


@pytest.mark.parametrize(
    "kind", [pytest.param(kind, marks=[] if kind == "is ended" else slow) for kind in WORKERS]
)
def test_workers_that_fail(spark: Any, monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    code, message = WORKERS[kind]
    monkeypatch.setattr(repeats, "HashedValues", lambda *_: failing(kind))
    error = refused(spark, lambda: shoal.anonymize(in_spark(spark, TABLE), ASKED))
    assert isinstance(error, EngineError)
    assert error.code == code
    assert error.message.startswith(message)


def read(file: Path) -> Callable[[], object]:
    changes = {"input": {"path": str(file)}, "engine": {"name": "spark"}}
    return lambda: prepare(None, ASKED.changed(changes))


def test_a_line_with_too_many_cells(spark: Any, tmp_path: Path) -> None:
    file = tmp_path / "in.csv"
    TABLE.write_csv(file)
    with file.open("a", encoding="utf-8") as lines:
        lines.write(f"7,{SECRET},{SECRET}\n")
    error = refused(spark, read(file))
    assert (type(error), error.code) == (DataError, "data.unreadable")


def damage(file: Path) -> None:
    """Change the pages of a Parquet file, not what it says about itself."""
    content = bytearray(file.read_bytes())
    content[4:80] = b"\xff" * 76
    file.write_bytes(content)


@slow
@pytest.mark.parametrize("groups", [50, 200], ids=["read by workers", "read by Spark"])
def test_a_damaged_file(spark: Any, tmp_path: Path, groups: int) -> None:
    file = tmp_path / "in.parquet"
    TABLE.write_parquet(file, row_group_size=groups)
    damage(file)
    error = refused(spark, read(file))
    assert (type(error), error.code) == (DataError, "data.unreadable")


def test_a_damaged_part_is_found_by_both_verifiers(spark: Any, tmp_path: Path) -> None:
    folder = tampered.release(tmp_path / "out.parquet")
    damage(tampered.part(folder, 2))
    for verdict in (
        verify(folder, tampered.RECIPE, manifest=False),
        verify_folder(spark, str(folder), tampered.RECIPE, manifest=False),
    ):
        assert [problem.code for problem in verdict.problems] == ["verify.unreadable"]
