"""A release with an induced hierarchy: readers of its file find the tree next to it."""

import polars as pl
import pytest

import shoal

TOWNS = ["Bern", "Basel", "Genf", "Lugano", "Chur", "Sion"]


@pytest.fixture(scope="module")
def table() -> pl.DataFrame:
    """Half of the towns have old people, half young ones."""
    towns = [TOWNS[at % 6] for at in range(240)]
    ages = [30 + at % 7 if at % 6 < 3 else 70 + at % 7 for at in range(240)]
    return pl.DataFrame({"town": towns, "age": ages, "ill": [at % 5 for at in range(240)]})


@pytest.fixture(scope="module")
def written(table, tmp_path_factory):
    asked = shoal.Recipe.from_roles(
        quasi=["town", "age"], sensitive=["ill"], k=7, changes={"columns": {"town": {"hierarchy": "induce"}}}
    )
    place = tmp_path_factory.mktemp("made") / "out.csv"
    return shoal.anonymize(table, asked, bound=False).write(place), asked


def test_the_verifier_and_the_attackers_find_the_tree(table, written):
    path, asked = written
    assert path.with_name("out.csv.town.hierarchy.toml").is_file()
    assert shoal.verify(path, asked, original=table.to_arrow()).holds
    found = shoal.attack(table, path, asked)
    assert found.holds
    assert {result.attack for result in found.results} >= {"classes-worst", "containment"}


def test_nodes_become_weights_of_their_leaves(table, written):
    path, _ = written
    weights = shoal.values(path).select(pl.selectors.starts_with("town="))
    assert sorted(weights.columns) == [f"town={town}" for town in sorted(TOWNS)]
    assert weights.sum_horizontal().to_list() == pytest.approx([1.0] * table.height)
