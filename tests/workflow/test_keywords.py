"""Parameters of `shoal.anonymize` with a recipe, and methods given as objects."""

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import shoal
from shoal.errors import HierarchyError, RecipeError

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


ZIP = pl.DataFrame({"zip": ["1234", "1299", "1299", "9911", "9999", "9911"], "ill": list("abcabc")})
TREE = {"all": {"12": ["1234", "1299"], "99": ["9911", "9999"]}}
AS_FRAME = pd.DataFrame(
    {
        "leaf": ["1234", "1299", "9911", "9999"],
        "parent": ["12", "12", "99", "99"],
        "root": ["all"] * 4,
    }
)


def zip_release(tree):
    return shoal.anonymize(
        ZIP, quasi=["zip"], sensitive=["ill"], k=2, method="kaca", hierarchies={"zip": tree}
    )


@pytest.mark.parametrize(
    "tree",
    [
        AS_FRAME,
        pl.from_pandas(AS_FRAME),
        pa.table(AS_FRAME),
        lambda code: [code[:2], "all"],
        lambda code: (code[:2], "all", "all"),
    ],
    ids=["pandas", "polars", "arrow", "function", "padded function"],
)
def test_a_hierarchy_may_be_a_frame_or_a_function(tree):
    release = zip_release(tree)
    assert release.table["zip"].to_list() == ["12", "12", "12", "99", "99", "99"]
    assert release.table.equals(zip_release(TREE).table)
    assert release.recipe.columns["zip"].hierarchy == zip_release(AS_FRAME).recipe.columns["zip"].hierarchy


def test_a_frame_may_have_short_rows():
    frame = pl.DataFrame(
        {"a": ["1234", "1299", "9911", "9999"], "b": ["12", "12", "*", "*"], "c": ["*", "*", None, ""]}
    )
    assert zip_release(frame).recipe.columns["zip"].hierarchy == {
        "*": {"12": {"1234": {}, "1299": {}}, "9911": {}, "9999": {}}
    }


def test_a_function_gets_the_values_of_the_table_and_a_root_if_it_needs_one():
    ages = pl.DataFrame({"age": [21, 23, None, 35, 38, None]})
    release = shoal.anonymize(
        ages, quasi=["age"], k=2, method="kaca", hierarchies={"age": lambda age: f"{age // 10}0s"}
    )
    tree = {"*": {"20s": {"21": {}, "23": {}}, "30s": {"35": {}, "38": {}}}}
    assert release.recipe.columns["age"].hierarchy == tree
    assert release.table["age"].to_list() == ["20s", "20s", "30s", "30s", None, None]


def test_a_function_takes_the_place_of_a_recipe_s_hierarchy():
    recipe = shoal.Recipe.from_roles(
        quasi=["zip"], sensitive=["ill"], k=2, changes={"columns": {"zip": {"hierarchy": {"prefix": 1}}}}
    )
    release = shoal.anonymize(ZIP, recipe, hierarchies={"zip": lambda code: [code[:2], "all"]}, method="kaca")
    assert release.recipe.columns["zip"].hierarchy == zip_release(AS_FRAME).recipe.columns["zip"].hierarchy


def test_hierarchies_in_python_are_encoded_too():
    by_file = shoal.encode(ZIP, quasi=["zip"], hierarchies={"zip": TREE})
    by_function = shoal.encode(ZIP, quasi=["zip"], hierarchies={"zip": lambda code: [code[:2], "all"]})
    assert by_function.columns[0].tree.labels == by_file.columns[0].tree.labels


@pytest.mark.parametrize("wrong", [lambda _: 3, lambda _: [], lambda _: ["a", None]])
def test_a_function_that_returns_no_texts_is_refused(wrong):
    with pytest.raises(HierarchyError, match="hierarchy of column `zip` did not return strings") as caught:
        zip_release(wrong)
    assert "1234" not in str(caught.value)


def test_a_frame_with_gaps_is_refused():
    frame = pl.DataFrame({"a": ["1234", "1299"], "b": [None, "12"], "c": ["*", "*"]})
    with pytest.raises(HierarchyError, match="missing cells between others in 1 rows"):
        zip_release(frame)


def test_a_function_for_a_column_without_a_role_is_refused():
    with pytest.raises(RecipeError, match="zipp"):
        shoal.anonymize(ZIP, quasi=["zip"], sensitive=["ill"], k=2, hierarchies={"zipp": str.strip})
