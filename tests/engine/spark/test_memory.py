"""Whether a cell fits into the memory of a worker, without Spark: its settings are all that is asked."""

import os
from types import SimpleNamespace

import pytest

import shoal
from shoal.engine.cells.counts import CellCount
from shoal.engine.cells.planning import Plan
from shoal.engine.cells.tree import Partition
from shoal.engine.spark import machine
from shoal.engine.spark.memory import refuse_large, refuse_small_workers, worker_bytes
from shoal.errors import DataError
from shoal.recipe import Recipe
from shoal.table.codebook import Codebook
from shoal.workflow.prepare import prepare

MIB = 1 << 20
ONE_CELL = Plan(Partition(), [CellCount(3_000_000, 3_000_000)])


def session(**conf):
    settings = {"spark." + key.replace("__", "."): value for key, value in conf.items()}
    return SimpleNamespace(conf=SimpleNamespace(get=settings.get))


def book():
    recipe = Recipe.from_roles(quasi=["age", "zip"], sensitive=["ill"], k=5)
    return Codebook(recipe, (None, None), (), 3_000_000)


@pytest.mark.parametrize(
    ("conf", "expected"),
    [
        ({"executor__pyspark__memory": "4g"}, (1024 + 350) * MIB),  # 3 GiB are mapped before any row
        ({"executor__pyspark__memory": "16g", "executor__cores": "4"}, (1024 + 350) * MIB),
        ({"executor__memoryOverhead": "600"}, 600 * MIB),
        ({"executor__memory": "8g"}, 8192 * MIB // 10),
        ({"executor__memory": "1g"}, 384 * MIB),
        ({"executor__memory": "1g", "executor__minMemoryOverhead": "500m"}, 500 * MIB),
        ({"executor__memory": "8g", "executor__memoryOverheadFactor": "0.25"}, 2048 * MIB),
        ({"executor__memory": "8g", "kubernetes__memoryOverheadFactor": "0.25"}, 8192 * MIB // 10),
    ],
)
def test_the_memory_of_a_task_follows_from_the_settings(conf, expected):
    assert worker_bytes(session(master="yarn", **conf)) == expected


@pytest.mark.parametrize(
    ("conf", "share"),
    [
        ({}, 0.1),
        ({"submit__deployMode": "cluster"}, 0.4),
        ({"submit__deployMode": "cluster", "kubernetes__memoryOverheadFactor": "0.2"}, 0.2),
        ({"executor__memoryOverheadFactor": "0.3", "kubernetes__memoryOverheadFactor": "0.2"}, 0.3),
    ],
)
def test_kubernetes_gives_python_a_share_of_its_own(conf, share):
    spark = session(master="k8s://https://host", executor__memory="10g", **conf)
    assert worker_bytes(spark) == int(10240 * MIB * share)


@pytest.mark.parametrize("master", ["spark://host:7077", "local-cluster[2,1,2048]"])
def test_a_standalone_cluster_limits_nothing_unless_it_is_told_to(master):
    assert worker_bytes(session(master=master, executor__memory="1g")) is None
    told = session(master=master, executor__memoryOverhead="1g", executor__cores="2")
    assert worker_bytes(told) == 512 * MIB


def test_an_executor_that_takes_all_cores_of_its_worker_runs_nobody_knows_how_many_tasks():
    """A standalone cluster does so by default; a limit of all tasks together is not that of one."""
    overhead = {"executor__memoryOverhead": "1g"}
    assert worker_bytes(session(master="spark://host:7077", **overhead)) is None
    assert worker_bytes(session(master="local-cluster[2,4,2048]", **overhead)) == 256 * MIB
    limited = session(master="spark://host:7077", executor__pyspark__memory="4g")
    assert worker_bytes(limited) is None
    refuse_small_workers(limited)
    with pytest.raises(DataError, match=r"may map 2\.0 GiB"):
        refuse_small_workers(session(master="spark://host:7077", executor__pyspark__memory="2g"))


def test_the_limit_of_a_container_is_that_of_the_machine(monkeypatch, tmp_path):
    own, groups = tmp_path / "own", tmp_path / "groups"
    (groups / "a" / "b").mkdir(parents=True)
    (groups / "memory").mkdir()
    monkeypatch.setattr(machine, "_OWN", own)
    monkeypatch.setattr(machine, "_GROUPS", groups)
    whole = machine.machine_bytes()
    (groups / "a" / "memory.max").write_text("2097152\n")
    (groups / "a" / "b" / "memory.max").write_text("max\n")
    (groups / "memory" / "memory.limit_in_bytes").write_text("1048576\n")
    assert machine.machine_bytes() == whole  # it is in none of them
    own.write_text("0::/a/b\n")
    assert machine.machine_bytes() == 2 * MIB
    assert worker_bytes(session(master="local[2]")) == 2 * MIB // (os.cpu_count() or 1)
    own.write_text("9:name=systemd:/\n4:cpu,memory:/of/the/host\n0::/\n")
    assert machine.machine_bytes() == MIB


def test_sizes_below_a_gibibyte_are_told_in_mebibytes():
    small = Plan(Partition(), [CellCount(60_000, 60_000)])
    with pytest.raises(DataError) as caught:
        refuse_large(small, 60_000, book(), session(master="yarn", executor__memory="1g"), 60_000, None)
    assert caught.value.message == "A cell of 60,000 rows needs about 387 MiB, but a task has 384 MiB."


def test_workers_that_cannot_load_their_libraries_are_refused():
    with pytest.raises(DataError) as caught:
        refuse_small_workers(session(master="yarn", executor__pyspark__memory="8g", executor__cores="4"))
    assert caught.value.code == "engine.memory"
    assert caught.value.message == (
        "A Python worker may map 2.0 GiB, but needs 3.0 GiB before it has any row."
    )
    refuse_small_workers(session(master="yarn", executor__pyspark__memory="3g"))
    refuse_small_workers(session(master="yarn", executor__memoryOverhead="400"))


class Frame:
    """A Spark DataFrame of which nothing but its session may be asked."""

    __module__ = "pyspark.sql.dataframe"
    sparkSession = session(master="yarn", executor__pyspark__memory="1g")


def in_spark(recipe):
    return recipe.changed({"engine": {"name": "spark"}})


@pytest.mark.parametrize("route", ["a frame", "a file"])
def test_small_workers_are_refused_before_any_of_them_starts(route, monkeypatch):
    monkeypatch.setattr("shoal.verifier.spark.session.spark_session", lambda *_: Frame.sparkSession)
    recipe = Recipe.from_roles(quasi=["age"], keep=["note"], k=2, changes={"input": {"path": "none.csv"}})
    with pytest.raises(DataError, match="A Python worker may map") as caught:
        shoal.anonymize(Frame(), recipe) if route == "a frame" else prepare(None, in_spark(recipe))
    assert caught.value.code == "engine.memory"


def test_a_cell_that_does_not_fit_is_refused_after_the_plan_was_shown():
    shown = []
    spark = session(master="yarn", executor__memoryOverhead="1g")
    with pytest.raises(DataError) as caught:
        refuse_large(ONE_CELL, 3_000_000, book(), spark, 3_000_000, shown.append)
    assert caught.value.code == "engine.memory"
    assert "3,000,000 rows" in caught.value.message
    assert caught.value.hint == (
        "lower cell_rows to 1,000,000, or give each task more memory: raise spark.executor.memoryOverhead"
    )
    assert shown == [
        "plan: 3,000,000 rows in 1 cell of up to 3,000,000 rows; the largest has 3,000,000 and needs about "
        "2.2 GiB of memory; a task has 1.0 GiB"
    ]


@pytest.mark.parametrize(
    ("conf", "cell_rows", "hint"),
    [
        ({"executor__pyspark__memory": "4g"}, 3_000_000, "lower cell_rows to 1,600,000, or "),
        ({"executor__pyspark__memory": "3g"}, 3_000_000, ""),  # not even a cell without rows fits
        ({"executor__pyspark__memory": "4g"}, 2_000_000, "no cut of this cell meets the goals: "),
    ],
)
def test_the_advice_names_the_setting_that_limits_a_task(conf, cell_rows, hint):
    with pytest.raises(DataError) as caught:
        refuse_large(ONE_CELL, 3_000_000, book(), session(master="local[2]", **conf), cell_rows, None)
    found = caught.value.hint.removesuffix("; or relax the goals")
    assert found == f"{hint}give each task more memory: raise spark.executor.pyspark.memory"


def test_on_one_machine_the_advice_is_another_machine(monkeypatch):
    monkeypatch.setattr("shoal.engine.spark.memory.machine_bytes", lambda: 1 << 30)
    with pytest.raises(DataError, match="use a machine that has more"):
        refuse_large(ONE_CELL, 3_000_000, book(), session(master="local[*]"), 3_000_000, None)


def test_a_cell_that_fits_is_not_refused():
    spark = session(master="yarn", executor__pyspark__memory="5g")
    refuse_large(ONE_CELL, 3_000_000, book(), spark, 3_000_000, None)
