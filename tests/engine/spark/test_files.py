"""Files of a release: the same bytes however the input lies, all or nothing, and nothing else is touched."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import polars as pl
import pytest

import shoal
from shoal.engine.spark import files
from shoal.engine.spark.run import run
from shoal.errors import OutputError, PromiseError
from shoal.release import folder
from shoal.release.distributed import Distributed, layout_of
from shoal.release.signing import make_keys
from shoal.verifier.spark import verify_folder
from shoal.verifier.spark.session import steady
from tests.engine.spark.made import by_local, in_spark, people, persisted, recipe, texts
from tests.profiles import slow

N_ROWS = 600
ASKED = recipe(method={"name": "mondrian"})
IN_FILES = files.in_files


def made_files(frame: Any, place: Path, progress: Any = None) -> dict[str, bytes]:
    """Write the files of a release, without measuring and verifying it."""
    asked = ASKED.changed({"engine": {"name": "spark"}})
    with steady(frame.sparkSession):
        made = run(frame, asked, {}, progress)
        rows = Distributed(made, layout_of(made), 100, N_ROWS)
        folder._write_rows(SimpleNamespace(recipe=asked), rows, place)
        made.close()
    return {file.name: file.read_bytes() for file in place.iterdir()}


@pytest.fixture(scope="module")
def table() -> pl.DataFrame:
    return people(N_ROWS, 5)


@pytest.fixture(scope="module")
def expected(spark: Any, table: pl.DataFrame, tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """The files of the input in two partitions: one after the other, they are what one machine writes."""
    place = tmp_path_factory.mktemp("made")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(files, "FILE_ROWS", N_ROWS // 3)
        found = made_files(in_spark(spark, table, 2), place / "out.csv")
    assert sorted(found) == [f"part-{at:05}.csv" for at in range(3)]
    whole = shoal.anonymize(table, ASKED, bound=False).write(place / "one.csv").read_bytes()
    header = whole.partition(b"\n")[0] + b"\n"
    assert header + b"".join(found[name].removeprefix(header) for name in sorted(found)) == whole
    return found


@slow
@pytest.mark.parametrize("parts", [7, 64])
def test_files_do_not_depend_on_how_the_input_lies(
    spark: Any, table: pl.DataFrame, expected: dict[str, bytes], tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch, parts: int,
) -> None:  # fmt: skip
    monkeypatch.setattr(files, "FILE_ROWS", N_ROWS // 3)
    shuffled = table.sample(fraction=1.0, shuffle=True, seed=parts)
    assert made_files(in_spark(spark, shuffled, parts), tmp_path / "out.csv") == expected


def executors(spark: Any) -> list[int]:
    """The processes of this session that run tasks."""
    driver = spark.sparkContext._gateway.proc.pid
    found = []
    for status in Path("/proc").glob("[0-9]*/stat"):
        try:
            parent = int(status.read_text().rpartition(")")[2].split()[1])
            line = (status.parent / "cmdline").read_bytes()
        except OSError:  # it has ended meanwhile
            continue
        if parent in (driver, os.getpid()) and b"CoarseGrainedExecutorBackend" in line:
            found.append(int(status.parent.name))
    return found


@slow
@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="finds processes in /proc")
def test_a_worker_that_dies_changes_nothing(
    spark: Any, table: pl.DataFrame, expected: dict[str, bytes], tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.setattr(files, "FILE_ROWS", N_ROWS // 3)
    ended: list[int] = []

    def end_one() -> None:
        victim = executors(spark)[0]
        os.kill(victim, signal.SIGKILL)
        ended.append(victim)

    def progress(stage: str, share: float, text: str = "") -> None:
        if stage == "cluster" and not timers:
            timers.append(threading.Timer(0.3, end_one))
            timers[0].start()

    timers: list[threading.Timer] = []
    found = made_files(in_spark(spark, table, 4), tmp_path / "out.csv", progress)
    timers[0].join()
    assert len(ended) == 1
    assert found == expected


@pytest.fixture(scope="module")
def release(spark: Any, table: pl.DataFrame) -> Iterator[shoal.Release]:
    made = shoal.anonymize(in_spark(spark, table, 3), ASKED)
    yield made
    made.close()
    assert persisted(spark) == 0


def test_a_frame_of_sparks_is_released_as_one(release: shoal.Release, table: pl.DataFrame) -> None:
    rows = release.table
    assert texts(rows.columns, rows.collect()) == by_local(table, ASKED)
    assert release.rows == N_ROWS == release.released + release.suppressed


def listed(place: Path) -> dict[str, bytes]:
    return {str(file.relative_to(place)): file.read_bytes() for file in place.rglob("*") if file.is_file()}


def without_a_class(pieces: Any, *given: Any) -> Any:
    return IN_FILES(pieces.limit(pieces.count() - 1), *given)


def test_a_folder_is_written_whole_or_not_at_all(
    release: shoal.Release, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = tmp_path / "out.parquet"
    monkeypatch.setattr(files, "in_files", without_a_class)
    with pytest.raises(PromiseError):
        release.write(target)
    assert list(tmp_path.iterdir()) == []

    monkeypatch.undo()
    monkeypatch.chdir(tmp_path)  # a path as people type it: workers may run in another folder
    release.write("out.parquet", report=True)
    assert sorted(listed(tmp_path)) == [
        "out.parquet.manifest.json",
        "out.parquet.report.html",
        "out.parquet/part-00000.parquet",
    ]
    assert shoal.verify(target, ASKED).holds


def test_classes_that_share_a_sensitive_value_are_remarked_by_duckdb_alone(
    spark: Any, tmp_path: Path
) -> None:
    table = pl.DataFrame({"age": [at // 6 for at in range(60)], "ill": ["flu", "cold"] * 27 + ["gout"] * 6})
    made = shoal.anonymize(in_spark(spark, table), quasi=["age"], sensitive=["ill"], k=5, bound=False)
    place = made.write(tmp_path / "out.parquet")
    (remark,) = shoal.verify(place, made.recipe).remarks
    assert remark.startswith("In 1 of 10 classes (6 rows) everyone has the same `ill`")
    made.close()


def test_paths_may_have_any_characters(release: shoal.Release, tmp_path: Path) -> None:
    """What a URL would quote, and what Spark would take for a pattern."""
    place = tmp_path / "für [a-c]* {x}? 100%20 #"
    place.mkdir()
    target = place / "out ü%[1].parquet"
    release.write(target)
    assert sorted(listed(place)) == [f"{target.name}.manifest.json", f"{target.name}/part-00000.parquet"]
    assert verify_folder(release.parts[0].frame.spark, target, ASKED).holds  # type: ignore[union-attr]
    assert shoal.verify(target, ASKED).holds


def test_a_late_copy_of_a_task_cannot_write_into_the_release(
    release: shoal.Release, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It may write before, while and after the files are verified and named."""
    tasks: list[Any] = []
    parts: list[Any] = []
    plain, verified = files.WriteFiles, folder._verify_written

    def task(*given: Any) -> Any:
        tasks.append(plain(*given))
        return tasks[-1]

    def in_files(*given: Any) -> Any:
        parts.append(IN_FILES(*given))
        return parts[-1]

    def late() -> list[Any]:
        batches = parts[0].toArrow().to_batches()
        return [row for batch in tasks[0](batches) for row in batch.to_pylist()]

    def verify(*given: Any) -> None:
        late()
        verified(*given)
        late()

    monkeypatch.setattr(files, "WriteFiles", task)
    monkeypatch.setattr(files, "in_files", in_files)
    monkeypatch.setattr(folder, "_verify_written", verify)
    release.write(tmp_path / "out.parquet")
    written = listed(tmp_path)
    assert sorted(written) == ["out.parquet.manifest.json", "out.parquet/part-00000.parquet"]
    assert shoal.verify(tmp_path / "out.parquet", ASKED).holds

    assert all(row["fault"] for row in late())
    assert listed(tmp_path) == written


@slow
@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="finds processes in /proc")
@pytest.mark.parametrize("stage", ["write", "verify"])
def test_a_worker_that_dies_while_files_are_written_or_verified_changes_nothing(
    spark: Any, release: shoal.Release, tmp_path: Path, stage: str
) -> None:
    release.write(tmp_path / "whole.csv")
    ended: list[int] = []

    def progress(now: str, share: float, text: str = "") -> None:
        if now == stage and not ended:
            ended.append(executors(spark)[0])
            os.kill(ended[0], signal.SIGKILL)

    target = release.write(tmp_path / "out.csv", progress=progress)
    assert len(ended) == 1
    assert listed(target) == listed(tmp_path / "whole.csv")
    assert not [file for file in tmp_path.iterdir() if file.name.startswith(".")]


@slow
def test_a_folder_is_kept_until_another_is_verified(
    release: shoal.Release, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = tmp_path / "out.parquet"
    release.write(target, report=True)
    first = listed(tmp_path)
    monkeypatch.setattr(files, "in_files", without_a_class)
    with pytest.raises(PromiseError):
        release.write(target, report=True)
    assert listed(tmp_path) == first

    monkeypatch.undo()
    release.write(target)
    again = listed(tmp_path)
    assert again["out.parquet/part-00000.parquet"] == first["out.parquet/part-00000.parquet"]


@slow
def test_the_manifest_of_a_folder_is_signed(release: shoal.Release, tmp_path: Path) -> None:
    target, key = tmp_path / "out.csv", make_keys(tmp_path / "key.pem")[1]
    release.write(target, sign=tmp_path / "key.pem")
    assert shoal.verify(target, ASKED, public_key=key).holds
    release.write(target)
    assert not (tmp_path / "out.csv.manifest.json.sig").exists()
    verdict = shoal.verify(target, ASKED, public_key=key)
    assert [problem.code for problem in verdict.problems] == ["verify.signature"]


@slow
def test_what_is_no_release_of_this_recipe_is_replaced_by_force_only(
    release: shoal.Release, tmp_path: Path
) -> None:
    target = tmp_path / "out.csv"
    target.mkdir()
    (target / "mine.csv").write_text("precious", encoding="utf-8")
    with pytest.raises(OutputError):
        release.write(target)
    assert listed(tmp_path) == {"out.csv/mine.csv": b"precious"}
    release.write(target, force=True)
    assert sorted(listed(tmp_path)) == ["out.csv.manifest.json", "out.csv/part-00000.csv"]


@pytest.mark.parametrize("name", ["out.xlsx", "out", "none/out.csv"])
def test_places_where_no_folder_can_be_written_are_refused(
    release: shoal.Release, tmp_path: Path, name: str
) -> None:
    with pytest.raises(OutputError):
        release.write(tmp_path / name)
    assert list(tmp_path.iterdir()) == []
