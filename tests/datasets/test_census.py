"""The made-up census: the domains of table 3, as lopsided and as entangled as a census is."""

from __future__ import annotations

import csv
import tomllib
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

import shoal
from shoal.datasets import CENSUS_TREES, census, census_recipe, write_census
from shoal.datasets import _census_tables as tables
from shoal.datasets.census import TableName, _share_out
from shoal.datasets.making import Tree
from shoal.errors import RecipeError
from tests.profiles import few, some

# Table 3 of He et al. (2012), written down from the paper. Of income it gives the range only.
TABLE_3: dict[TableName, dict[str, int]] = {
    "SAL": {
        "age": 78, "gender": 2, "education": 17, "marital": 6, "race": 9, "work_class": 10, "country": 83,
        "occupation": 50,
    },
    "INCOME": {
        "age": 78, "occupation": 711, "birthplace": 983, "gender": 2, "education": 17, "race": 9,
        "work_class": 9, "marital": 6,
    },
}  # fmt: skip
BOTH = pytest.mark.parametrize("table", ["SAL", "INCOME"])
TREES = pytest.mark.parametrize(
    ("table", "column"), [(table, column) for table, trees in CENSUS_TREES.items() for column in trees]
)
HALF_A_MILLION = 500_000


@pytest.fixture(scope="module")
def whole() -> dict[TableName, pl.DataFrame]:
    """Both tables in the size of the paper's SAL, the smaller of its two."""
    return {table: census(HALF_A_MILLION, seed=1, table=table) for table in CENSUS_TREES}


@pytest.fixture(scope="module")
def sal(whole: dict[TableName, pl.DataFrame]) -> pl.DataFrame:
    return whole["SAL"]


@pytest.fixture(scope="module")
def income(whole: dict[TableName, pl.DataFrame]) -> pl.DataFrame:
    """INCOME with the country and the occupation without their numbers."""
    without = pl.col("birthplace", "occupation").str.replace(r" \d+$", "")
    return whole["INCOME"].with_columns(without.name.suffix("_group"))


def paths(tree: Tree, above: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """Walk through all nodes, each with its ancestors up to the root."""
    for name, children in tree.items():
        yield (name, *above)
        yield from paths(children, (name, *above))


def leaves(tree: Tree) -> set[str]:
    """Collect the names that are nobody's parent."""
    every = list(paths(tree))
    parents = {path[1] for path in every if len(path) > 1}
    return {path[0] for path in every} - parents


def shares(values: pl.Series) -> list[float]:
    """Return the share of each value, the most common first."""
    return (values.value_counts(sort=True)["count"] / len(values)).to_list()


def dependence(one: pl.Series, other: pl.Series) -> float:
    """Return Cramér's V: 0 for columns that know nothing of each other, 1 for those that tell all."""
    codes = [values.cast(pl.String).rank("dense").to_numpy().astype(np.int64) - 1 for values in (one, other)]
    sizes = [int(code.max()) + 1 for code in codes]
    counts = np.bincount(codes[0] * sizes[1] + codes[1], minlength=sizes[0] * sizes[1]).reshape(sizes)
    expected = np.outer(counts.sum(axis=1), counts.sum(axis=0)) / len(one)
    return float(np.sqrt(((counts - expected) ** 2 / expected).sum() / len(one) / (min(sizes) - 1)))


def mean_level(sal: pl.DataFrame, condition: pl.Expr) -> float:
    """Average the schooling of some people."""
    return float(sal.filter(condition).select(pl.col("education").mean()).item())


# The same table again


@BOTH
def test_same_seed_gives_the_same_table(table: TableName) -> None:
    assert_frame_equal(census(3_000, seed=5, table=table), census(3_000, seed=5, table=table))


@BOTH
def test_another_seed_changes_every_column(table: TableName) -> None:
    one, other = census(3_000, seed=5, table=table), census(3_000, seed=6, table=table)
    assert [name for name in one.columns if one[name].equals(other[name])] == []


@few()
@given(rows=st.integers(1, 400), seed=st.integers(0, 2**64), table=st.sampled_from(["SAL", "INCOME"]))
def test_any_size_and_seed_give_a_whole_table(rows: int, seed: int, table: TableName) -> None:
    people = census(rows, seed, table=table)
    assert people.height == rows
    assert people.null_count().sum_horizontal().item() == 0
    for column, tree in CENSUS_TREES[table].items():
        assert set(people[column].cast(pl.String)) <= leaves(tree)


@pytest.mark.parametrize("rows", [0, -3])
def test_no_rows_are_refused(rows: int) -> None:
    with pytest.raises(ValueError, match=str(rows)):
        census(rows)


def test_unknown_table_is_refused() -> None:
    with pytest.raises(ValueError, match="SAL, INCOME, but is ADULT"):
        census(10, table="ADULT")  # type: ignore[arg-type]


# Table 3


def test_columns_come_in_the_order_of_table_3() -> None:
    assert census().shape == (10_000, 8)
    assert census(1).columns == list(TABLE_3["SAL"])
    assert census(1, table="INCOME").columns == [*TABLE_3["INCOME"], "income"]


@BOTH
def test_numbers_are_numbers_and_the_rest_is_text(table: TableName) -> None:
    numbers = {"age", "education", "income"}
    schema = census(1, table=table).schema
    assert schema == {name: pl.Int64 if name in numbers else pl.String for name in schema}


@BOTH
def test_every_domain_has_the_size_that_table_3_gives(
    whole: dict[TableName, pl.DataFrame], table: TableName
) -> None:
    sizes = {name: whole[table][name].n_unique() for name in TABLE_3[table]}
    assert sizes == TABLE_3[table]


@BOTH
def test_every_value_is_common_enough_to_occur_with_any_seed(
    whole: dict[TableName, pl.DataFrame], table: TableName
) -> None:
    # A value that is expected ten times is missed by one seed in twenty thousand.
    rarest = {name: whole[table][name].value_counts()["count"].min() for name in TABLE_3[table]}
    assert {name: count for name, count in rarest.items() if count < 10} == {}


def test_ages_are_those_of_grown_up_people(sal: pl.DataFrame) -> None:
    assert (sal["age"].min(), sal["age"].max()) == (17, 94)


def test_education_is_a_level_from_1_to_17(sal: pl.DataFrame) -> None:
    assert set(sal["education"]) == set(range(1, 18))


def test_incomes_lie_between_one_and_ten_thousand(income: pl.DataFrame) -> None:
    assert (income["income"].min(), income["income"].max()) == (1_000, 10_000)
    assert 1_000 < income["income"].n_unique() < 10_000


# The trees


@TREES
def test_tree_has_one_root_and_no_name_twice(table: TableName, column: str) -> None:
    tree = CENSUS_TREES[table][column]
    names = [path[0] for path in paths(tree)]
    assert list(tree) == ["all"]
    assert len(names) == len(set(names))


@TREES
def test_tree_has_exactly_the_values_of_its_column_as_leaves(
    whole: dict[TableName, pl.DataFrame], table: TableName, column: str
) -> None:
    values = set(whole[table][column].unique().cast(pl.String))
    assert values == leaves(CENSUS_TREES[table][column])


@BOTH
def test_every_text_has_a_tree(table: TableName) -> None:
    texts = {name for name, kind in census(1, table=table).schema.items() if kind == pl.String}
    assert texts <= set(CENSUS_TREES[table])


@pytest.mark.parametrize(
    ("table", "column", "path"),
    [
        ("SAL", "country", ("Italy", "Southern Europe", "Europe", "all")),
        ("SAL", "occupation", ("nurse", "health and care", "all")),
        ("SAL", "work_class", ("own account", "self-employed", "all")),
        ("SAL", "marital", ("widowed", "no longer married", "all")),
        ("SAL", "marital", ("never married", "all")),
        ("SAL", "race", ("race 1", "all")),
        ("SAL", "gender", ("female", "all")),
        ("INCOME", "birthplace", ("Italy 002", "Italy", "Southern Europe", "Europe", "all")),
        ("INCOME", "occupation", ("nurse 002", "nurse", "health and care", "all")),
        ("INCOME", "education", ("14", "first degree", "beyond school", "all")),
    ],
)
def test_values_stand_where_they_belong(table: TableName, column: str, path: tuple[str, ...]) -> None:
    assert path in set(paths(CENSUS_TREES[table][column]))


def test_stages_of_schooling_follow_each_other() -> None:
    levels = [int(path[0]) for path in paths(CENSUS_TREES["INCOME"]["education"]) if len(path) == 4]
    assert levels == list(range(1, 18))


@given(
    weights=st.lists(st.floats(0.01, 1_000), min_size=1, max_size=30),
    more=st.integers(min_value=0, max_value=900),
)
def test_shares_add_up_and_follow_the_weights(weights: list[float], more: int) -> None:
    total = len(weights) + more
    parts = _share_out(total, weights)
    assert sum(parts) == total
    assert min(parts) >= 1
    ordered = [part for _, part in sorted(zip(weights, parts, strict=True))]
    assert all(larger >= smaller - 1 for smaller, larger in pairwise(ordered))


# As lopsided as a census


def test_one_country_dominates_and_the_rest_trails_off(sal: pl.DataFrame) -> None:
    country = shares(sal["country"])
    assert sal["country"].mode().to_list() == [tables.HOME]
    assert 0.75 < country[0] < 0.9
    assert country[0] > 10 * country[1]
    assert sum(share < 0.001 for share in country) > 30


def test_few_races_dominate(sal: pl.DataFrame) -> None:
    race = shares(sal["race"])
    assert race[0] > 0.6
    assert sum(race[:3]) > 0.85
    assert race[-1] < 0.01


def test_most_work_for_companies(sal: pl.DataFrame) -> None:
    work = shares(sal["work_class"])
    assert sal["work_class"].mode().to_list() == ["private company"]
    assert work[0] > 0.5
    assert work[-1] < 0.01


def test_one_level_of_schooling_is_the_ordinary_one(sal: pl.DataFrame) -> None:
    levels = shares(sal["education"])
    assert sal["education"].mode().to_list() == [tables.ORDINARY_LEVEL]
    assert levels[0] > 2 * levels[1]
    assert levels[-1] < 0.01


@pytest.mark.parametrize(("column", "tenth"), [("occupation", 71), ("birthplace", 98)])
def test_a_tenth_of_the_values_covers_far_more_of_the_people(
    income: pl.DataFrame, column: str, tenth: int
) -> None:
    assert sum(shares(income[column])[:tenth]) > 0.3


def test_the_old_are_few(sal: pl.DataFrame) -> None:
    counts = sal["age"].value_counts().sort("age")["count"]
    assert counts[-1] < 0.03 * counts.max()


def test_incomes_are_skewed_to_the_right_and_cut_off(income: pl.DataFrame) -> None:
    column = income["income"]
    assert column.mean() > 1.1 * column.median()
    assert 0.005 < (column == 10_000).mean() < 0.05
    assert 0.02 < (column == 1_000).mean() < 0.15


# As entangled as a census


@pytest.mark.parametrize(
    ("one", "other", "at_least"),
    [
        ("age", "education", 0.08),
        ("age", "marital", 0.25),
        ("gender", "marital", 0.1),
        ("gender", "occupation", 0.4),
        ("education", "occupation", 0.25),
        ("education", "work_class", 0.06),
        ("age", "work_class", 0.05),
        ("occupation", "work_class", 0.4),
        ("race", "country", 0.3),
        ("education", "country", 0.05),
        ("age", "occupation", 0.05),
    ],
)
def test_columns_depend_on_each_other(sal: pl.DataFrame, one: str, other: str, at_least: float) -> None:
    people = sal.head(100_000)
    found = dependence(people[one], people[other])
    by_chance = dependence(people[one], people[other].shuffle(seed=0))
    assert found > at_least
    assert found > 1.5 * by_chance


def test_nobody_has_a_degree_before_the_age_for_it(sal: pl.DataFrame) -> None:
    youngest = dict(sal.group_by("education").agg(pl.col("age").min()).iter_rows())
    allowed = {level: age for stage in tables.SCHOOLING.values() for level, (_, age) in stage.items()}
    assert youngest == allowed
    assert youngest[17] == 26 > youngest[14] == 21 > youngest[9] == 18


def test_the_old_went_to_school_for_shorter(sal: pl.DataFrame) -> None:
    young, old = mean_level(sal, pl.col("age").is_between(30, 45)), mean_level(sal, pl.col("age") > 75)
    assert old < young - 1


def test_people_from_some_regions_went_to_school_for_longer(sal: pl.DataFrame) -> None:
    levels = [mean_level(sal, pl.col("country") == name) for name in ("Mexico", tables.HOME, "India")]
    assert levels[0] + 1 < levels[1] < levels[2] - 0.5


def test_work_asks_for_schooling(sal: pl.DataFrame) -> None:
    names = ("farm worker", "cleaner", "lorry driver", "secretary", "nurse", "physician")
    levels = [mean_level(sal, pl.col("occupation") == name) for name in names]
    assert all(more > less + 0.5 for less, more in pairwise(levels))


def test_public_service_is_better_schooled_than_family_work(sal: pl.DataFrame) -> None:
    public, family = (
        mean_level(sal, pl.col("work_class") == name) for name in ("local government", "family work")
    )
    assert public > family + 3


def test_the_young_are_single_and_old_women_widowed(sal: pl.DataFrame) -> None:
    young = sal.filter(pl.col("age") < 20)
    old = sal.filter(pl.col("age") > 80).group_by("gender").agg((pl.col("marital") == "widowed").mean())
    widowed = dict(old.iter_rows())
    assert (young["marital"] == "never married").mean() > 0.7
    assert widowed["female"] > 0.55 > 0.4 > widowed["male"]


def test_race_follows_the_region_of_birth(sal: pl.DataFrame) -> None:
    common = dict(sal.group_by("country").agg(pl.col("race").mode().first()).iter_rows())
    assert common["Germany"] == common["Poland"] != common["Nigeria"] == common["Kenya"]
    assert len({common[name] for name in ("Germany", "Nigeria", "China", "India", "Vietnam", "Tonga")}) == 6


def test_fewer_of_working_age_were_born_at_home(sal: pl.DataFrame) -> None:
    home = pl.col("country") == tables.HOME
    middle, old = (
        sal.filter(side).select(home.mean()).item()
        for side in (pl.col("age").is_between(30, 45), pl.col("age").is_between(60, 80))
    )
    assert middle < old - 0.04


def test_some_occupations_lean_to_one_gender(sal: pl.DataFrame) -> None:
    women = dict(sal.group_by("occupation").agg((pl.col("gender") == "female").mean()).iter_rows())
    assert women["nurse"] > 0.8 > women["accountant"] > 0.3 > women["electrician"]


def test_women_live_longer(sal: pl.DataFrame) -> None:
    young, old = (
        sal.filter(side).select((pl.col("gender") == "female").mean()).item()
        for side in (pl.col("age") < 40, pl.col("age") > 85)
    )
    assert young < 0.52 < 0.6 < old


def test_only_soldiers_are_in_the_forces_and_only_the_idle_never_worked(sal: pl.DataFrame) -> None:
    forces = pl.col("work_class") == "armed forces"
    never = pl.col("work_class") == "never worked"
    idle = pl.col("occupation") == "no occupation"
    assert sal.filter(forces != (pl.col("occupation") == "soldier")).height == 0
    assert sal.filter(never & idle.not_()).height == 0
    assert set(sal.filter(idle)["work_class"]) == {"never worked", "family work"}


def test_people_set_up_on_their_own_with_age(sal: pl.DataFrame) -> None:
    own = pl.col("work_class").is_in(["own company", "own account"])
    young, old = (
        sal.filter(side).select(own.mean()).item() for side in (pl.col("age") < 25, pl.col("age") > 50)
    )
    assert old > 2 * young


def test_everybody_of_income_works(income: pl.DataFrame) -> None:
    assert "never worked" not in income["work_class"]
    assert "no occupation" not in income["occupation_group"]


def test_birthplaces_lie_in_the_countries_of_sal(sal: pl.DataFrame, income: pl.DataFrame) -> None:
    assert set(income["birthplace_group"]) == set(sal["country"])
    places = dict(income.group_by("birthplace_group").agg(pl.col("birthplace").n_unique()).iter_rows())
    assert places[tables.HOME] > 500 > 20 * places["Tonga"]


def test_pay_rises_with_schooling_and_age_and_by_occupation(income: pl.DataFrame) -> None:
    pay = dict(income.group_by("occupation_group").agg(pl.col("income").median()).iter_rows())
    assert pay["cashier"] < pay["lorry driver"] < pay["nurse"] < pay["lawyer"] < pay["physician"]
    clerks = income.filter(pl.col("occupation_group") == "office clerk")
    high, low, young, prime = (
        clerks.filter(side)["income"].median()
        for side in (
            pl.col("education") > 12,
            pl.col("education") < 8,
            pl.col("age") < 25,
            pl.col("age").is_between(45, 60),
        )
    )
    assert high > 1.15 * low
    assert prime > 1.3 * young


# The recipe


@pytest.mark.parametrize(("table", "most"), [("SAL", 7), ("INCOME", 8)])
def test_first_columns_are_quasi_and_the_last_is_sensitive(table: TableName, most: int) -> None:
    columns = census(1, table=table).columns
    for quasi in range(1, most + 1):
        recipe = census_recipe(table, quasi=quasi, k=50)
        assert list(recipe.columns) == columns
        assert recipe.quasi == columns[:quasi]
        assert recipe.named("drop") == columns[quasi:-1]
        assert recipe.named("sensitive") == columns[-1:]
        assert recipe.privacy.k == 50


@pytest.mark.parametrize(("table", "quasi"), [("SAL", 0), ("SAL", 8), ("INCOME", 9), ("INCOME", -1)])
def test_too_few_or_too_many_quasi_columns_are_refused(table: TableName, quasi: int) -> None:
    with pytest.raises(ValueError, match=f"for {table}, but is {quasi}"):
        census_recipe(table, quasi=quasi)


def test_kinds_are_those_of_the_paper_where_values_are_numbers() -> None:
    sal, income = census_recipe("SAL").columns, census_recipe("INCOME").columns
    assert [name for name, column in sal.items() if column.kind == "numeric"] == ["age", "education"]
    assert [name for name, column in income.items() if column.kind == "numeric"] == ["age"]
    assert {column.kind for name, column in income.items() if column.hierarchy} == {"categorical"}


@BOTH
def test_recipe_in_memory_says_the_same_as_the_one_written(tmp_path: Path, table: TableName) -> None:
    path = write_census(tmp_path, rows=10, table=table, quasi=5, k=4, method="mondrian")
    written = tomllib.loads(path.read_text(encoding="utf-8"))
    made = census_recipe(table, quasi=5, k=4, method="mondrian").to_dict()

    assert path == tmp_path / f"{table.lower()}.toml"
    assert written.pop("input") == {"path": f"{table.lower()}.csv"}
    assert written.pop("output") == {"path": f"{table.lower()}-k4.csv"}
    for name, column in made["columns"].items():
        if "hierarchy" in column:
            assert column["hierarchy"] == CENSUS_TREES[table][name]
            column["hierarchy"] = f"{table.lower()}_{name}.csv"
    assert written == made


# The files


@BOTH
@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_written_table_reads_back_equal(tmp_path: Path, table: TableName, ending: str) -> None:
    folder = tmp_path / "new" / "folder"
    write_census(folder, rows=2_000, seed=3, table=table, ending=ending)  # type: ignore[arg-type]
    expected = census(2_000, seed=3, table=table)
    file = folder / f"{table.lower()}.{ending}"
    read = pl.read_csv(file, schema=expected.schema) if ending == "csv" else pl.read_parquet(file)
    assert_frame_equal(read, expected)


@BOTH
def test_written_trees_read_back_equal(tmp_path: Path, table: TableName) -> None:
    write_census(tmp_path, rows=10, table=table)
    for column, tree in CENSUS_TREES[table].items():
        read: Tree = {}
        with (tmp_path / f"{table.lower()}_{column}.csv").open(encoding="utf-8", newline="") as lines:
            for path in csv.reader(lines, delimiter=";"):
                node = read
                for name in reversed(path):
                    node = node.setdefault(name, {})
        assert read == tree


@pytest.mark.parametrize(
    ("wrong", "error"),
    [
        ({"table": "ADULT"}, ValueError),
        ({"quasi": 9}, ValueError),
        ({"rows": 0}, ValueError),
        ({"ending": "xlsx"}, ValueError),
        ({"k": 1}, RecipeError),
        ({"method": "guesswork"}, RecipeError),
    ],
)
def test_nothing_is_written_when_something_is_wrong(
    tmp_path: Path, wrong: dict[str, object], error: type[Exception]
) -> None:
    with pytest.raises(error):
        write_census(tmp_path / "folder", **{"rows": 10, **wrong})  # type: ignore[arg-type]
    assert not (tmp_path / "folder").exists()


# The way through shoal


@pytest.mark.parametrize(
    ("table", "quasi", "ending"),
    some([("SAL", 7, "csv"), ("INCOME", 8, "csv"), ("INCOME", 7, "parquet")], 3, 2),
)
def test_written_recipe_gives_a_release_that_verifies(
    tmp_path: Path, table: TableName, quasi: int, ending: str
) -> None:
    path = write_census(
        tmp_path,
        rows=2_000,
        seed=4,
        table=table,
        quasi=quasi,
        k=10,
        method="mondrian",
        ending=ending,  # type: ignore[arg-type]
    )
    recipe = shoal.Recipe.load(path)
    release = shoal.anonymize(recipe)
    target = release.write(tmp_path / str(recipe.output.path))
    verdict = shoal.verify(target, recipe, original=tmp_path / str(recipe.input.path))

    assert release.method == "mondrian"
    assert verdict.holds
    assert (verdict.rows, verdict.k >= 10) == (2_000, True)
    assert verdict.classes > 50
    columns = census(1, table=table).columns
    assert release.frame.columns == [*columns[:quasi], columns[-1]]


@BOTH
def test_table_and_recipe_in_memory_give_the_same_release_as_the_files(
    tmp_path: Path, table: TableName
) -> None:
    path = write_census(tmp_path, rows=500, seed=4, table=table, quasi=6, k=5, method="mondrian")
    filed = shoal.anonymize(shoal.Recipe.load(path))
    recipe = census_recipe(table, quasi=6, k=5, method="mondrian")
    made = shoal.anonymize(census(500, seed=4, table=table), recipe)
    # The release in memory sorts incomes as numbers, the one from the file as texts.
    frames = [release.frame.cast(pl.String).sort(pl.all()) for release in (made, filed)]
    assert_frame_equal(frames[0], frames[1])
    assert made.loss == filed.loss
