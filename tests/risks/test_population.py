"""k-map and delta-presence, by hand and against the twin."""

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import shoal
from shoal.errors import DataError
from shoal.recipe import Recipe
from shoal.risks.population import count_matching
from shoal.table.encode import encode
from tests.reference import risk as reference

TREE = {"*": {"work": {"nurse": {}, "clerk": {}}, "none": {}}}
PEOPLE = pl.DataFrame(
    {
        "age": [30, 31, 33, 35, 35, 60],
        "sex": ["f", "f", "m", "m", "f", "f"],
        "job": ["nurse", "clerk", "nurse", "none", "clerk", "nurse"],
    }
)
COLUMNS = {
    "age": {"role": "quasi", "kind": "numeric"},
    "sex": {"role": "quasi", "kind": "categorical"},
    "job": {"role": "quasi", "kind": "categorical", "hierarchy": TREE},
}
RECIPE = Recipe.from_dict({"columns": COLUMNS, "privacy": {"k": 2}})


def test_boxes_by_hand():
    classes = pl.DataFrame(
        {
            "age": ["[30, 33]", "35", "*", "[36, 59]", "60"],
            "sex": ["f", "{f, m}", "{f, m}", "f", "m"],
            "job": ["work", "*", "nurse", "*", "nurse"],
        }
    )
    # The first matches 30 f nurse and 31 f clerk; the second both people of 35; the third all three nurses;
    # nobody is 36 to 59, and the person of 60 is a woman. All but nobody match some class.
    found, covered = count_matching(encode(PEOPLE, RECIPE), classes)
    assert found.tolist() == [2, 2, 3, 0, 0]
    assert covered == 6


def test_a_release_against_its_population_by_hand():
    # Two of the three people of 30 to 33 were released as one class, and one of the other three as another.
    released = pl.DataFrame({"age": ["[30, 33]"] * 2 + ["[34, 60]"], "sex": ["*"] * 3, "job": ["*"] * 3})
    found = shoal.risk(released, RECIPE, population=PEOPLE, k=2)
    one = found.population
    assert (one.people, one.k, one.classes_below_k, one.rows_below_k) == (6, 3, 0, 0)
    assert (one.delta_low, one.delta_high) == pytest.approx((1 / 3, 2 / 3))
    assert (one.short, one.outside) == (0, 0)
    # Each of the three rows hides among three people.
    assert found.basis == "population"
    assert (found.journalist.highest, found.marketer) == (1 / 3, pytest.approx(1 / 3))
    assert found.prosecutor.highest == 1


def test_a_raw_table_is_compared_value_by_value():
    sample = PEOPLE[[0, 3]]
    one = shoal.risk(sample, RECIPE, population=PEOPLE).population
    assert (one.k, one.outside, one.delta_high) == (1, 4, 1)


def test_people_that_the_population_lacks_are_remarked_on():
    sample = pl.DataFrame({"age": [99, 30], "sex": ["f", "f"], "job": ["nurse", "nurse"]})
    found = shoal.risk(sample, RECIPE, population=PEOPLE)
    assert (found.population.k, found.population.short) == (0, 1)
    assert found.remarks[0].startswith("1 class ")
    assert found.journalist.highest == 1


def test_people_with_several_rows_count_once():
    columns = {"age": COLUMNS["age"], "who": {"role": "subject"}}
    recipe = Recipe.from_dict({"columns": columns, "privacy": {"k": 2}})
    population = pl.DataFrame({"age": [30, 30, 30, 40], "who": ["a", "a", "b", "c"]})
    released = pl.DataFrame({"age": ["30", "30"]})
    one = shoal.risk(released, recipe, population=population).population
    assert (one.people, one.k) == (3, 2)


def test_bounds_in_two_columns_are_a_range():
    released = pl.DataFrame({"age_low": [30, 30], "age_high": [33, 33]})
    recipe = Recipe.from_dict({"columns": {"age": COLUMNS["age"]}, "privacy": {"k": 2}})
    assert shoal.risk(released, recipe, population=PEOPLE.select("age")).population.k == 3


def test_another_kind_is_an_error_without_cells():
    sample = pl.DataFrame({"age": ["young", "old"], "sex": ["f", "m"], "job": ["none", "none"]})
    with pytest.raises(DataError, match="Column `age` is numeric in the population") as caught:
        shoal.risk(sample, RECIPE, population=PEOPLE)
    assert "young" not in str(caught.value)


numbers, letters = st.integers(0, 9), st.sampled_from("abcd")


@given(
    st.lists(st.tuples(numbers, letters), min_size=1, max_size=25),
    st.lists(st.tuples(numbers, numbers, st.sets(letters, min_size=1)), min_size=1, max_size=8),
)
def test_against_the_twin(people, boxes):
    recipe = Recipe.from_dict(
        {
            "columns": {
                "n": {"role": "quasi", "kind": "numeric"},
                "c": {"role": "quasi", "kind": "categorical"},
            },
            "privacy": {"k": 2},
        }
    )
    population = pl.DataFrame({"n": [n for n, _ in people], "c": [c for _, c in people]})
    texts = [
        (f"[{min(a, b)}, {max(a, b)}]" if a != b else str(a), "{" + ", ".join(sorted(c)) + "}")
        for a, b, c in boxes
    ]
    classes = pl.DataFrame({"n": [n for n, _ in texts], "c": [c for _, c in texts]})
    allowed = [(range(min(a, b), max(a, b) + 1), c) for a, b, c in boxes]
    found, covered = count_matching(encode(population, recipe), classes)
    assert found.tolist() == [reference.matching(people, box) for box in allowed]
    assert covered == sum(any(reference.matching([person], box) for box in allowed) for person in people)
