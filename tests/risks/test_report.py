"""Everything about one table: what is counted, in rows or people, and what only the owner gets."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import shoal
from shoal.datasets import hospital
from shoal.errors import DataError, RecipeError
from shoal.recipe import Recipe
from shoal.workflow.measure import measure_tables

PEOPLE = pl.DataFrame(
    {
        "name": ["Ann", "Bob", "Cy", "Di", "Ed"],
        "age": [31, 31, 31, 58, 60],
        "sex": ["f", "f", "f", "m", "f"],
        "weight": [2.0, 3.0, 4.0, 5.0, 4.0],
        "home": [1, 1, 2, 2, 3],
    }
)


def test_other_columns_need_no_role():
    found = shoal.risk(PEOPLE, quasi=["age", "sex"])
    assert (found.rows, found.classes, found.k, found.people) == (5, 3, 1, None)
    # Three rows of risk 1/3, two of risk 1.
    assert (found.prosecutor.unique, found.prosecutor.average) == (2, 3 / 5)
    assert found.journalist == found.prosecutor
    assert (found.basis, found.marketer) == ("table", 3 / 5)


def test_sampling_weights_by_hand():
    found = shoal.risk(PEOPLE, quasi=["age", "sex"], sampling_weight="weight")
    # Di stands for 5 and Ed for 4: p is 1/5 and 1/4. Ann, Bob and Cy stand for 9: p is 1/3, and with
    # p/q = 1/2 the mean of 1/F for three rows is 1/2 * 1/2 - (1/2)^2 + (1/2)^3 log(3).
    di, ed, three = np.log(5) / 4, np.log(4) / 3, np.log(3) / 8
    assert found.basis == "weights"
    assert found.journalist.highest == pytest.approx(ed)
    assert found.marketer == pytest.approx((di + ed + 3 * three) / 5)
    assert found.uniqueness.fraction == pytest.approx(5 / 18)


def test_a_sampling_fraction_is_a_weight_for_all():
    by_fraction = shoal.risk(PEOPLE, quasi=["age"], sampling_fraction=0.25)
    by_weight = shoal.risk(PEOPLE.with_columns(weight=4.0), quasi=["age"], sampling_weight="weight")
    assert by_fraction.journalist == by_weight.journalist
    assert by_fraction.uniqueness == by_weight.uniqueness
    assert by_fraction.basis == "sampling fraction"


def test_households_by_hand():
    # As rows: Ann, Bob and Cy 1/3 each, Di and Ed 1. At home 1, Ann and Bob: 1 - (2/3)^2 = 5/9. At home 2, Di
    # is found for certain, and so is Ed at home 3.
    found = shoal.risk(PEOPLE, quasi=["age", "sex"], household="home", identifiers=["name"])
    assert found.households.households == 3
    assert found.households.highest == 1
    assert found.households.expected == pytest.approx(5 / 9 + 2)
    by_name = dict(zip(found.per_person["name"], found.per_person["household_risk"], strict=True))
    assert by_name == pytest.approx({"Ann": 5 / 9, "Bob": 5 / 9, "Cy": 1, "Di": 1, "Ed": 1})


def test_the_owner_gets_one_line_per_row_highest_first():
    found = shoal.risk(PEOPLE, quasi=["age", "sex"], identifiers=["name"]).per_person
    assert found.columns == ["name", "people_alike", "prosecutor_risk", "journalist_risk"]
    assert found["name"].to_list() == ["Di", "Ed", "Ann", "Bob", "Cy"]
    assert found["people_alike"].to_list() == [1, 1, 3, 3, 3]
    assert shoal.risk(PEOPLE, quasi=["age"]).per_person["row"].to_list() == [4, 5, 1, 2, 3]


def test_the_owner_gets_one_line_per_person_with_its_highest_risk():
    visits = pl.DataFrame({"who": ["a", "a", "b", "c"], "age": [30, 40, 30, 30]})
    found = shoal.risk(visits, quasi=["age"], subject="who")
    # At 30 there are three people; at 40 a is alone.
    assert (found.people, found.k, found.prosecutor.unique) == (3, 1, 1)
    assert found.prosecutor.average == 2 / 4
    assert found.per_person.rows() == [("a", 1, 1.0, 1.0), ("b", 3, 1 / 3, 1 / 3), ("c", 3, 1 / 3, 1 / 3)]


def test_a_person_shares_its_weight_among_its_rows():
    visits = pl.DataFrame({"who": ["a", "a", "b"], "age": [30, 30, 30], "w": [6.0, 6.0, 4.0]})
    found = shoal.risk(visits, quasi=["age"], subject="who", sampling_weight="w")
    # Two people who stand for ten: p = 1/5, p/q = 1/4.
    assert found.marketer == pytest.approx(1 / 4 - np.log(5) / 16)
    assert found.uniqueness.fraction == pytest.approx(2 / 10)


def test_the_same_kind_of_frame_comes_back():
    found = shoal.risk(PEOPLE.to_pandas(), quasi=["age"]).per_person
    assert isinstance(found, pd.DataFrame)
    assert len(found) == 5


def test_numbers_written_differently_are_one_value():
    table = pl.DataFrame({"n": ["1", "1.0", "01"], "m": [None, None, "x"]})
    assert shoal.risk(table, quasi=["n"]).k == 1  # 01 is a code
    assert shoal.risk(table, quasi=["n"]).classes == 2
    assert shoal.risk(table, quasi=["m"]).classes == 2  # missing values are alike


def test_rows_that_lost_everything_are_suppressed_if_they_are_fewer_than_k():
    table = pl.DataFrame({"a": ["*", "x", "x", "y", "y"], "b": ["*", "*", "*", "z", "z"]})
    found = shoal.risk(table, quasi=["a", "b"], k=2, identifiers=[])
    assert (found.suppressed, found.rows, found.k) == (1, 4, 2)
    assert found.per_person["row"].to_list() == [2, 3, 4, 5]
    more = pl.concat([table, table.head(1)])
    assert shoal.risk(more, quasi=["a", "b"], k=2).suppressed == 0


def test_a_release_has_a_risk_of_at_most_one_in_k():
    release = shoal.anonymize(PEOPLE, quasi=["age", "sex"], drop=["name", "weight", "home"], k=2)
    assert release.risk.k == release.k
    assert release.risk.classes == release.classes
    assert release.risk.prosecutor.highest == 1 / release.k
    assert release.risk.prosecutor.average == release.classes / release.released


def test_a_release_that_counts_people_has_their_risk():
    stays = pl.DataFrame({"who": list("aabbccdd"), "age": [30, 31, 32, 33, 60, 61, 62, 63]})
    release = shoal.anonymize(stays, quasi=["age"], subject="who", k=2)
    assert release.risk.k == release.k
    assert release.risk.people == 4


def test_a_release_in_several_tables_has_no_single_risk():
    release = shoal.anonymize(
        PEOPLE,
        quasi=["age", "sex"],
        drop=["name", "weight", "home"],
        k=2,
        views="equal",
        accept_composition=True,
    )
    with pytest.raises(AttributeError, match="several views"):
        _ = release.risk


def test_raw_numbers_are_those_of_measure(tmp_path):
    hospital(500, seed=1).write_csv(tmp_path / "stays.csv")
    columns = {name: {"role": "quasi"} for name in ("birth_date", "sex", "postcode", "profession")}
    sections = {"input": {"path": str(tmp_path / "stays.csv")}, "columns": {**columns, "default": "drop"}}
    recipe = Recipe.from_dict({**sections, "privacy": {"k": 3}})
    for names in (["sex"], ["sex", "profession"], ["birth_date", "postcode"]):
        roles = {name: {"role": "quasi" if name in names else "drop"} for name in columns}
        chosen = recipe.changed({"columns": roles})
        raw, found = measure_tables(chosen, None)["raw"], shoal.risk(chosen)
        assert raw["risk"] == found.prosecutor.brief()
        assert (raw["k"], raw["classes"]) == (found.k, found.classes)


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=1, max_size=30), st.randoms())
def test_the_order_of_the_rows_does_not_matter(rows, random):
    shuffled = random.sample(rows, len(rows))
    frames = [pl.DataFrame(each, schema=["a", "b"], orient="row") for each in (rows, shuffled)]
    first, second = (shoal.risk(frame, quasi=["a", "b"]).to_dict() for frame in frames)
    assert first == second


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"sampling_fraction": 0}, "above 0 and at most 1"),
        ({"sampling_fraction": 1.5}, "above 0 and at most 1"),
        ({"sampling_fraction": 0.5, "sampling_weight": "weight"}, "A sampling fraction and a column"),
        ({"subset_size": 0}, "at least 1 column"),
        ({"household": "nowhere"}, "no column `nowhere`"),
        ({"quasi": ["nothing", "age"]}, "no column `nothing`"),
    ],
)
def test_settings_that_make_no_sense(settings, message):
    with pytest.raises(RecipeError, match=message):
        shoal.risk(PEOPLE, **{"quasi": ["age"], **settings})


@pytest.mark.parametrize("weights", [[1, 1, 1, 1, 0.5], [1, 1, 1, 1, None], ["a", "1", "1", "1", "1"]])
def test_weights_are_numbers_of_at_least_one(weights):
    table = PEOPLE.with_columns(weight=pl.Series(weights, strict=False))
    with pytest.raises(DataError, match="`weight` has 1 cells that are not numbers of at least 1"):
        shoal.risk(table, quasi=["age"], sampling_weight="weight")


def test_a_missing_household_is_an_error():
    table = PEOPLE.with_columns(home=pl.Series([1, None, 2, 2, 3]))
    with pytest.raises(DataError, match="household column `home` has 1 missing value"):
        shoal.risk(table, quasi=["age"], household="home")


def test_many_columns_are_said_to_be_too_many():
    table = pl.DataFrame({f"c{at}": [at % 3, 1] for at in range(50)})
    found = shoal.risk(table, quasi=table.columns)
    assert found.subset_size == 2
    assert "up to 2 columns" in found.remarks[0]


def test_no_cell_is_in_the_repr():
    found = shoal.risk(PEOPLE, quasi=["age"], identifiers=["name"])
    assert "Ann" not in repr(found) + str(found)
