"""Dangers of Spark tables: counted where the rows are, reported as on one machine."""

from itertools import product

import polars as pl
import pytest

from shoal.engine.spark.revealed import duplicates_of, recoverable_of
from shoal.errors import RecipeError
from shoal.recipe import Recipe
from shoal.workflow import distributed
from tests.engine.spark.made import persisted
from tests.engine.spark.pairs import ROLES, in_cells, people, recipe_of, released, to_spark, whole
from tests.profiles import slow

pytestmark = slow


def by_columns(release):
    return {(danger.code, danger.columns): danger for danger in release.dangers}


def test_one_cell_shows_what_the_table_shows(spark):
    made = whole(spark)
    local, other = by_columns(made.local), by_columns(made.spark)
    assert ("danger.duplicate", ("again", "blood")) in local
    assert ("danger.recoverable", ("zip", "town")) in local
    assert ("danger.repeated", ("card",)) in local
    assert list(other) == list(local)
    for key, danger in other.items():
        assert danger.to_dict() == local[key].to_dict()
        assert danger.numbers.items() <= local[key].numbers.items()


def test_counts_of_cells_add_up(spark):
    made = in_cells(spark)
    reports = made.spark.parts[0].frame.run.reports
    assert len(reports) > 2
    local, other = by_columns(made.local), by_columns(made.spark)
    assert list(other) == list(local)
    key = "danger.recoverable", ("zip", "town")
    assert other[key].numbers["generalized"] == local[key].numbers["generalized"]
    counted = dict(
        zip(product(["again", "ill", "zip"], ROLES["quasi"]), recoverable_of(reports), strict=False)
    )
    # A rule needs two rows of one cell; in the whole table zip gives every town away.
    of_all = counted["zip", "town"]
    assert 0.9 * of_all.hidden < of_all.follow <= of_all.hidden == other[key].numbers["generalized"]
    copies = dict(zip(product(["again", "ill"], ROLES["quasi"]), duplicates_of(reports), strict=True))
    assert copies["again", "blood"].rows == made.table.height - made.table["age"].null_count()


def test_a_kept_column_that_is_unique_is_refused_before_any_work(spark, monkeypatch):
    monkeypatch.setattr(distributed, "run", None)
    table = pl.DataFrame(
        {
            "age": list(range(40)),
            "code": [f"no {at}" for at in range(40)],
            "half": [f"{at}.0" if at % 2 else str(at // 2) for at in range(40)],  # 1 and 1.0 are one value
        }
    )
    columns = {"age": {"role": "quasi"}, "code": {"role": "keep"}, "half": {"role": "keep"}}
    recipe = Recipe.from_dict({"columns": columns, "privacy": {"k": 2}})
    with pytest.raises(RecipeError) as error:
        released(to_spark(spark, table), recipe)
    with pytest.raises(RecipeError) as local:
        released(table, recipe)
    assert error.value.code == "danger.unique_kept"
    assert [fault.message for fault in error.value.faults] == [f.message for f in local.value.faults]


@pytest.mark.parametrize("cell_rows", [None, 250])
def test_what_nobody_accepts_is_refused_alike_and_leaves_nothing_in_memory(spark, cell_rows):
    table, recipe = people(600, seed=1), recipe_of(cell_rows, accepts=False)
    with pytest.raises(RecipeError) as local:
        released(table, recipe, bound=False)
    whole(spark), in_cells(spark)  # these stay in Spark's memory
    before = persisted(spark)
    with pytest.raises(RecipeError) as error:
        released(to_spark(spark, table), recipe, bound=False)
    assert [fault.code for fault in error.value.faults] == ["danger.duplicate", "danger.recoverable"]
    assert [fault.hint for fault in error.value.faults] == [fault.hint for fault in local.value.faults]
    if cell_rows is None:
        assert str(error.value) == str(local.value)
    assert persisted(spark) == before


def test_what_one_person_has_in_several_rows_is_their_own(spark, monkeypatch):
    monkeypatch.setattr(distributed, "run", None)
    table = pl.DataFrame(
        {"age": list(range(40)), "who": [at // 4 for at in range(40)], "mark": [at // 2 for at in range(40)]}
    )
    columns = {"age": {"role": "quasi"}, "who": {"role": "subject"}, "mark": {"role": "keep"}}
    recipe = Recipe.from_dict({"columns": columns, "privacy": {"k": 2}})
    with pytest.raises(RecipeError, match="no other person has in all 40 rows"):
        released(to_spark(spark, table), recipe)


def test_labels_are_for_tables_in_memory(spark):
    with pytest.raises(AttributeError, match="Spark holds this release"):
        _ = whole(spark).spark.labels
