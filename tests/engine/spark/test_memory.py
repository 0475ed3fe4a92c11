"""Whether a cell fits into the memory of a worker, without Spark: its settings are all that is asked."""

from types import SimpleNamespace

import pytest

from shoal.engine.cells.counts import CellCount
from shoal.engine.cells.planning import Plan
from shoal.engine.cells.tree import Partition
from shoal.engine.spark.memory import refuse_large, refuse_small_workers, worker_bytes
from shoal.errors import DataError
from shoal.recipe import Recipe
from shoal.table.codebook import Codebook

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
    ],
)
def test_the_memory_of_a_task_follows_from_the_settings(conf, expected):
    assert worker_bytes(session(master="yarn", **conf)) == expected


def test_workers_that_cannot_load_their_libraries_are_refused():
    with pytest.raises(DataError) as caught:
        refuse_small_workers(session(master="yarn", executor__pyspark__memory="8g", executor__cores="4"))
    assert caught.value.code == "engine.memory"
    assert caught.value.message == (
        "A Python worker may map 2.0 GiB, but needs 3.0 GiB before it has any row."
    )
    refuse_small_workers(session(master="yarn", executor__pyspark__memory="3g"))
    refuse_small_workers(session(master="yarn", executor__memoryOverhead="400"))


def test_a_cell_that_does_not_fit_is_refused_after_the_plan_was_shown():
    shown = []
    spark = session(master="yarn", executor__memoryOverhead="1g")
    with pytest.raises(DataError) as caught:
        refuse_large(ONE_CELL, 3_000_000, book(), spark, 3_000_000, shown.append)
    assert caught.value.code == "engine.memory"
    assert "3,000,000 rows" in caught.value.message
    assert "cell_rows" in caught.value.hint
    assert shown == [
        "plan: 3,000,000 rows in 1 cell of up to 3,000,000 rows; the largest has 3,000,000 and needs about "
        "2.2 GiB of 1.0 GiB of a task's memory"
    ]


def test_a_cell_that_fits_is_not_refused():
    spark = session(master="yarn", executor__pyspark__memory="5g")
    refuse_large(ONE_CELL, 3_000_000, book(), spark, 3_000_000, None)
