"""Parameters of `shoal.anonymize` with a recipe, and methods given as objects."""

import polars as pl
import pytest

import shoal
from shoal.errors import RecipeError

PEOPLE = pl.DataFrame(
    {
        "age": [at * 7 % 31 for at in range(24)],
        "sex": ["fm"[at % 2] for at in range(24)],
        "ill": ["abc"[at * 5 % 3] for at in range(24)],
    }
)
RECIPE = shoal.Recipe.from_roles(
    quasi=["age", "sex"], sensitive=["ill"], k=2, changes={"method": {"name": "k-member", "seed": 4}}
)


def test_parameters_override_a_recipe():
    release = shoal.anonymize(PEOPLE, RECIPE, k=6, method="mondrian", goals=["l-diversity column=ill l=3"])
    assert release.k >= 6
    assert release.method == "mondrian"
    assert [goal.type for goal in release.goals] == ["k-anonymity", "l-diversity"]
    assert release.seed == 4  # nobody gave another one
    assert RECIPE.privacy.k == 2


def test_what_no_parameter_names_is_as_the_recipe_says():
    assert shoal.anonymize(PEOPLE, RECIPE).table.equals(shoal.anonymize(PEOPLE, RECIPE, goals=None).table)
    release = shoal.anonymize(PEOPLE, RECIPE, drop=["sex"])
    assert release.table.columns == ["age", "ill"]


def test_parameters_override_a_recipe_that_names_its_file(tmp_path):
    PEOPLE.write_csv(tmp_path / "people.csv")
    (tmp_path / "recipe.toml").write_text('[input]\npath = "people.csv"\n' + RECIPE.to_toml())
    release = shoal.anonymize(shoal.Recipe.load(tmp_path / "recipe.toml"), k=5)
    assert release.k >= 5
    assert set(release.reads) == {"the recipe", "the input"}  # so that nothing is written to them


def test_a_method_may_be_an_object():
    method = shoal.cluster.KMember(k=4, seed=7)
    roles = {"quasi": ["age", "sex"], "sensitive": ["ill"]}
    release = shoal.anonymize(PEOPLE, **roles, method=method)
    named = shoal.anonymize(PEOPLE, **roles, k=4, seed=7, method="k-member")
    assert release.table.equals(named.table)
    assert (release.method, release.seed, release.recipe.privacy.k) == ("k-member", 7, 4)


def test_an_object_brings_its_options():
    options = shoal.cluster.METHODS["mondrian"].options(mode="relaxed")
    method = shoal.cluster.Mondrian(k=3, options=options)
    release = shoal.anonymize(PEOPLE, RECIPE, method=method)
    assert release.recipe.method.options == {"mode": "relaxed"}
    with pytest.raises(RecipeError, match="given twice"):
        shoal.anonymize(PEOPLE, RECIPE, method=method, seed=3)


def test_the_owner_gets_the_classes_in_the_order_of_the_rows():
    release = shoal.anonymize(PEOPLE, RECIPE)
    classes = PEOPLE.with_columns(label=pl.Series(release.labels)).partition_by("label")
    assert len(classes) == release.classes
    published = {tuple(sorted(rows["ill"])) for rows in release.table.partition_by("age", "sex")}
    assert {tuple(sorted(rows["ill"])) for rows in classes} == published
    for rows in classes:
        low, high = rows["age"].min(), rows["age"].max()
        assert (f"[{low}, {high}]" if low < high else str(low)) in release.table["age"].to_list()
    views = shoal.anonymize(PEOPLE, RECIPE, views="equal", accept_composition=True)
    with pytest.raises(AttributeError, match="several views"):
        _ = views.labels
