"""Published values as numbers: worked out by hand, and always possible according to the verifier."""

import datetime
import json

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given

import shoal
from shoal.recipe import Recipe
from shoal.verifier import verify_table
from tests.strategies import _date, _flat, _numeric, _ordinal, _tree, tables

TREE = {"any": {"work": ["clerk", "nurse"], "none": ["pupil", "retired", "out of work"]}}
COLUMNS = {
    "age": {"role": "quasi", "kind": "numeric"},
    "bmi": {"role": "quasi", "kind": "numeric"},
    "born": {"role": "quasi", "kind": "date"},
    "size": {"role": "quasi", "kind": "ordinal", "order": ["small", "medium", "large"]},
    "sex": {"role": "quasi", "kind": "categorical"},
    "job": {"role": "quasi", "kind": "categorical", "hierarchy": TREE},
    "ill": {"role": "sensitive"},
}
RECIPE = Recipe.from_dict({"columns": COLUMNS, "privacy": {"k": 2}})


def released(**columns):
    rows = len(next(iter(columns.values())))
    filled = {"age": ["1"] * rows, "ill": ["flu"] * rows, **columns}
    return pl.DataFrame(filled)


def values(how="midpoint", recipe=RECIPE, **columns):
    return shoal.values(released(**columns), recipe, how=how)


def column(name, cells, **more):
    return shoal.values(released(**{name: cells}), RECIPE, **more)[name].to_list()


def test_a_range_is_its_middle():
    assert column("age", ["[20, 23]", "31", "[-4, 4]"]) == [21.5, 31.0, 0.0]


def test_a_date_is_the_middle_day():
    cells = ["[2024-02-28, 2024-03-01]", "2024-05-06"]
    assert column("born", cells) == [datetime.date(2024, 2, 29), datetime.date(2024, 5, 6)]


def test_an_ordinal_value_is_a_position():
    assert column("size", ["[small, large]", "medium", "[medium, large]"]) == [1.0, 1.0, 1.5]


def test_a_set_is_split_evenly():
    found = values(sex=["f", "{f, m}", "{d, f, m}", "f"])
    assert found["sex=f"].to_list() == [1, 1 / 2, 1 / 3, 1]
    assert found["sex=m"].to_list() == [0, 1 / 2, 1 / 3, 0]
    assert found["sex=d"].to_list() == [0, 0, 1 / 3, 0]


def test_a_node_is_split_evenly_among_its_leaves():
    found = values(job=["clerk", "work", "none"])
    assert found["job=clerk"].to_list() == [1, 1 / 2, 0]
    assert found["job=pupil"].to_list() == [0, 0, 1 / 3]
    assert [name for name in found.columns if name.startswith("job")] == [
        "job=clerk", "job=nurse", "job=pupil", "job=retired", "job=out of work",
    ]  # fmt: skip


def test_a_missing_cell_stays_missing():
    found = values(age=["1", None, "3"], sex=["f", "m", None], job=[None, "clerk", "none"])
    assert found["age"].to_list() == [1.0, None, 3.0]
    assert found["sex=f"].to_list() == [1, 0, None]
    assert found["job=clerk"].to_list() == [None, 1, 0]


def test_a_lost_cell_is_like_the_other_rows():
    found = values(age=["10", "[20, 40]", "*", None], sex=["f", "f", "{f, m}", "*"])
    assert found["age"].to_list() == [10, 30, 20, None]  # the mean of 10 and 30
    assert found["sex=f"].to_list() == [1, 1, 0.5, 2.5 / 3]


def test_the_root_says_as_little_as_a_star():
    found = values(job=["clerk", "clerk", "nurse", "any", "*"])
    assert found["job=clerk"].to_list() == [1, 1, 0, 2 / 3, 2 / 3]
    assert found["job=pupil"].to_list() == [0, 0, 0, 0, 0]


def test_a_column_in_which_all_is_lost_is_missing():
    found = values(age=["*", "*"], sex=["*", "*"])
    assert found["age"].to_list() == [None, None]
    assert [name for name in found.columns if name.startswith("sex=")] == []


def test_variances_inside_ranges():
    # 20, 21, 22 and 23 around 21.5: (2.25 + 0.25) / 2; decimals: the squared width over 12.
    found = shoal.values(released(age=["[20, 23]", "5"], bmi=["[1.5, 4.5]", "2"]), RECIPE, variance=True)
    assert found["age_variance"].to_list() == [1.25, 0.0]
    assert found["bmi_variance"].to_list() == [0.75, 0.0]  # 3 ** 2 / 12


def test_the_variance_of_a_lost_cell_is_that_of_the_other_rows():
    found = shoal.values(released(age=["[1, 3]", "4", "*", None]), RECIPE, variance=True)
    # Rows 1, 2, 3 (a third each) and 4: mean 3, variance (1 + 2 / 3 + 1) / 2.
    assert found["age_variance"].to_list() == pytest.approx([2 / 3, 0, 4 / 3, None], nan_ok=True)


@pytest.mark.parametrize(
    ("cell", "middle"),
    [
        ("2024-02", "2024-02-15"),
        ("2024-Q1", "2024-02-15"),
        ("2024", "2024-07-01"),
        ("2020s", "2024-12-31"),
        ("2024-W01", "2024-01-04"),
    ],
)
def test_periods_of_a_tree_of_dates(cell, middle):
    recipe = RECIPE.changed({"columns": {"born": {"hierarchy": {"dates": ["month", "quarter"]}}}})
    assert str(values(recipe=recipe, born=[cell])["born"].item()) == middle


def test_masked_codes_are_split_among_the_codes_of_the_release():
    recipe = Recipe.from_dict(
        {"columns": {"zip": {"role": "quasi", "hierarchy": {"prefix": 1}}}, "privacy": {"k": 2}}
    )
    found = shoal.values(pl.DataFrame({"zip": ["10115", "10117", "1011*", "803**"]}), recipe)
    assert found.columns == ["zip=10115", "zip=10117", "zip=803**"]
    assert found.row(2) == (0.5, 0.5, 0)
    assert found.row(3) == (0, 0, 1)


def test_bounds_in_two_columns():
    frame = pl.DataFrame({"age_low": [20, None, 5], "age_high": [30, None, 5], "ill": ["a", "b", "c"]})
    found = shoal.values(frame, RECIPE, variance=True)
    assert found.columns == ["age", "age_variance", "ill"]
    assert found["age"].to_list() == [25, None, 5]


def test_kinds_are_found_from_labels():
    recipe = Recipe.from_roles(quasi=["a", "b", "c", "d"], k=2)
    frame = pl.DataFrame(
        {"a": ["[1, 2]", "*"], "b": ["2024-01-01", None], "c": ["01", "02"], "d": ["x", "{x, y}"]}
    )
    found = shoal.values(frame, recipe)
    assert found.columns == ["a", "b", "c=01", "c=02", "d=x", "d=y"]


def test_other_columns_stay_and_texts_that_are_numbers_become_numbers():
    recipe = Recipe.from_roles(quasi=["age"], sensitive=["ill"], keep=["cost", "code"], k=2)
    frame = pl.DataFrame({"ill": ["flu", None], "cost": ["1.5", "2"], "age": ["1", "2"], "code": ["01", "2"]})
    found = shoal.values(frame, recipe)
    assert found.columns == ["ill", "cost", "age", "code"]
    assert found["cost"].to_list() == [1.5, 2.0]
    assert found["code"].to_list() == ["01", "2"]


PEOPLE = pl.DataFrame({"age": [31, 33, 58, 60], "sex": ["f", "f", "m", "f"], "ill": ["a", "b", "a", "c"]})


@pytest.fixture
def release():
    return shoal.anonymize(PEOPLE, quasi=["age", "sex"], sensitive=["ill"], k=2)


def test_a_release_its_file_and_its_table_have_the_same_values(release, tmp_path):
    expected = shoal.values(release)
    assert expected.columns == ["age", "sex=f", "sex=m", "ill"]
    for name in ("out.csv", "out.parquet"):
        path = release.write(tmp_path / name)
        assert shoal.values(path).equals(expected)
        manifest = f"{path}.manifest.json"
        assert shoal.values(release.table, manifest).equals(expected)
    assert shoal.values(release.table, release.recipe).equals(expected)


def test_frames_come_back_as_what_they_were(release):
    pandas, arrow = release.table.to_pandas(), release.table.to_arrow()
    assert isinstance(shoal.values(pandas, release.recipe), pd.DataFrame)
    assert isinstance(shoal.values(arrow, release.recipe), pa.Table)


def test_a_sample_is_the_same_for_the_same_seed(release):
    first, again, other = (shoal.values(release, how="sample", seed=seed) for seed in (1, 1, 2))
    assert first.equals(again)
    assert not first.equals(other)
    assert first.columns == ["age", "sex", "ill"]
    assert first.dtypes == [pl.Int64, pl.String, pl.String]


def test_draws_are_even():
    cells = ["[1, 4]"] * 4000
    drawn = shoal.values(released(age=cells, sex=["{f, m}"] * 4000), RECIPE, how="sample")
    assert drawn["age"].value_counts().sort("age")["count"].to_list() == pytest.approx([1000] * 4, abs=100)
    assert drawn["sex"].value_counts()["count"].to_list() == pytest.approx([2000] * 2, abs=150)


def test_lost_cells_are_drawn_from_the_other_rows():
    cells = ["7"] * 3 + ["9"] + ["*"] * 4000
    drawn = shoal.values(released(age=cells), RECIPE, how="sample")["age"][4:]
    assert set(drawn) == {7, 9}
    assert drawn.mean() == pytest.approx(7.5, abs=0.1)


@given(tables(max_rows=25, method="systematic", kinds=(_numeric, _ordinal, _date, _flat, _tree)))
def test_drawn_values_could_be_the_raw_table(case):
    """Another engine matches every released row with a drawn one inside its box."""
    release = shoal.anonymize(case.table, case.recipe, bound=False)
    drawn = shoal.values(release, how="sample", seed=3)
    assert drawn.height == release.released
    verdict = verify_table(release.frame.to_arrow(), release.recipe, original=drawn.to_arrow())
    assert verdict.holds, verdict.problems


@given(tables(max_rows=25, method="systematic", kinds=(_numeric, _ordinal, _date, _flat, _tree)))
def test_weights_of_a_cell_sum_to_one(case):
    release = shoal.anonymize(case.table, case.recipe, bound=False)
    found = shoal.values(release)
    for name in release.recipe.quasi:
        weights = found.select(column for column in found.columns if column.startswith(f"{name}="))
        if weights.width:
            total = weights.select(pl.sum_horizontal(pl.all(), ignore_nulls=False)).to_series()
            assert (total.drop_nulls() - 1).abs().max() in (None, pytest.approx(0, abs=1e-12))
            assert (total.is_null() | release.frame[name].is_not_null()).all()


def refused(*given, **more):
    with pytest.raises(shoal.ShoalError) as caught:
        shoal.values(*given, **more)
    return caught.value


def test_what_cannot_be_read_is_refused_without_cells():
    error = refused(released(age=["[1, 2]", "ZXMARKXZ", "ZXMARKXZ"]), RECIPE)
    assert error.code == "data.labels"
    assert "`age`" in error.message
    assert "2 cells" in error.message
    assert "ZXMARKXZ" not in str(error)
    assert refused(released(job=["ZXMARKXZ"]), RECIPE).code == "data.labels"


def test_bad_requests(release, tmp_path):
    assert refused(release, how="mode").code == "recipe.invalid"
    assert refused(release, how="sample", variance=True).code == "recipe.invalid"
    assert refused(release.table).code == "recipe.invalid"
    assert refused(pl.DataFrame({"x": [1]}), release.recipe).code == "recipe.unknown_column"
    lonely = tmp_path / "lonely.csv"
    lonely.write_text("age\n1\n")
    assert refused(lonely).code == "recipe.unreadable"
    views = shoal.anonymize(PEOPLE, release.recipe, views="equal", accept_composition=True)
    assert refused(views).code == "recipe.not_available"
    assert shoal.values(views.tables[0], views.recipe).columns == ["age", "ill"]


def test_typical_values_have_no_variance():
    recipe = Recipe.from_roles(quasi=["age"], k=2, changes={"output": {"values": "microaggregate"}})
    release = shoal.anonymize(PEOPLE.select("age"), recipe)
    assert shoal.values(release)["age"].to_list() == [32, 32, 59, 59]
    assert refused(release, variance=True).code == "recipe.invalid"


def test_a_manifest_that_omits_an_order_is_not_enough(tmp_path):
    table = pl.DataFrame({"size": ["small", "small", "large", "medium"]})
    recipe = Recipe.from_dict({"columns": {"size": COLUMNS["size"]}, "privacy": {"k": 2}})
    path = shoal.anonymize(table, recipe).write(tmp_path / "out.csv")
    assert json.loads((tmp_path / "out.csv.manifest.json").read_text())["recipe"]["columns"]["size"][
        "omitted"
    ]
    assert refused(path).code == "recipe.omitted"
    assert shoal.values(path, recipe)["size"].to_list() == [1.5, 1.5, 0, 0]


def test_too_many_categories_are_refused():
    error = refused(released(sex=[f"s{at}" for at in range(1001)]), RECIPE)
    assert error.code == "analysis.data"
    assert "1,001" in error.message
