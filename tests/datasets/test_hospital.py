"""The demo data: the same for the same seed, and nothing in it that a doctor would laugh at."""

from __future__ import annotations

import csv
import os
import subprocess
import sys
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

from shoal.datasets import DIAGNOSIS_TREE, PROFESSION_TREE, hospital, write_hospital
from shoal.datasets import _hospital_tables as tables
from shoal.datasets.hospital import _draw_days_lived, _postcodes
from shoal.datasets.making import Tree
from tests.profiles import few

TREES = pytest.mark.parametrize("tree", [DIAGNOSIS_TREE, PROFESSION_TREE], ids=["diagnosis", "profession"])


def completed_years() -> pl.Expr:
    """Count the birthdays before admission by the calendar, not by days."""
    # ISO dates without the year compare as text.
    not_yet = pl.col("admission_date").dt.strftime("%m-%d") < pl.col("birth_date").dt.strftime("%m-%d")
    return pl.col("admission_date").dt.year() - pl.col("birth_date").dt.year() - not_yet.cast(pl.Int32)


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


@pytest.fixture(scope="module")
def stays() -> pl.DataFrame:
    """Twenty thousand stays with the age of the patient."""
    return hospital(20_000, seed=1).with_columns(age=completed_years())


def mean_cost(stays: pl.DataFrame, code: str) -> float:
    """Average the cost of all stays for one diagnosis."""
    return float(stays.filter(pl.col("diagnosis") == code).select(pl.col("cost").mean()).item())


# The same table again


def test_same_seed_gives_the_same_table() -> None:
    assert_frame_equal(hospital(3_000, seed=5), hospital(3_000, seed=5))


def test_another_seed_changes_every_column() -> None:
    one, other = hospital(3_000, seed=5), hospital(3_000, seed=6)
    assert [name for name in one.columns if one[name].equals(other[name], null_equal=True)] == []


def test_number_of_threads_does_not_change_the_table() -> None:
    code = (
        "import sys; from shoal.datasets import hospital; sys.stdout.write(hospital(50_000, 2).write_csv())"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "PYTHONUTF8": "1"}
    texts = {
        subprocess.run(
            [sys.executable, "-c", code],
            env={**environment, "POLARS_MAX_THREADS": threads},
            capture_output=True,
            check=True,
        ).stdout
        for threads in ("1", "3")
    }
    assert texts == {hospital(50_000, seed=2).write_csv().encode()}


@few()
@given(rows=st.integers(1, 400), seed=st.integers(0, 2**64))
def test_any_size_and_seed_give_a_whole_table(rows: int, seed: int) -> None:
    stays = hospital(rows, seed)
    assert stays.height == rows
    assert stays["patient"].n_unique() == rows
    gaps = stays.drop("profession", "postcode").null_count().sum_horizontal().item()
    assert gaps == 0


@pytest.mark.parametrize("rows", [0, -3])
def test_no_rows_are_refused(rows: int) -> None:
    with pytest.raises(ValueError, match=str(rows)):
        hospital(rows)


# The shape of the columns


def test_columns_come_in_the_promised_order() -> None:
    assert hospital().shape == (10_000, 9)
    assert hospital(1).schema == pl.Schema(
        {
            "name": pl.String,
            "patient": pl.String,
            "birth_date": pl.Date,
            "sex": pl.String,
            "postcode": pl.String,
            "profession": pl.String,
            "admission_date": pl.Date,
            "diagnosis": pl.String,
            "cost": pl.Int64,
        }
    )


def test_patient_numbers_are_unique_and_of_one_form(stays: pl.DataFrame) -> None:
    assert stays["patient"].n_unique() == stays.height
    assert stays["patient"].str.contains(r"^P\d{7}$").all()


def test_patient_numbers_do_not_follow_the_rows(stays: pl.DataFrame) -> None:
    steps = stays["patient"].str.slice(1).cast(pl.Int64).diff().drop_nulls()
    assert steps.n_unique() > 0.9 * stays.height


def test_names_have_two_parts_and_much_variety(stays: pl.DataFrame) -> None:
    assert stays["name"].str.contains(r"^\S+ \S+$").all()
    assert stays["name"].n_unique() > stays.height / 4


def test_women_and_men_bear_different_given_names(stays: pl.DataFrame) -> None:
    given = stays.select("sex", first=pl.col("name").str.split(" ").list.first())
    women, men = (set(given.filter(pl.col("sex") == sex)["first"]) for sex in ("female", "male"))
    assert len(women) > 50
    assert len(men) > 50
    assert women & men == set()


def test_postcodes_have_five_digits_and_some_a_leading_zero(stays: pl.DataFrame) -> None:
    known = stays["postcode"].drop_nulls()
    assert known.str.contains(r"^\d{5}$").all()
    assert 0.02 < known.str.starts_with("0").mean() < 0.2


def test_cities_differ_much_in_size_and_split_by_each_digit(stays: pl.DataFrame) -> None:
    known = stays.drop_nulls("postcode")["postcode"]
    sizes = known.str.slice(0, 2).value_counts()["count"]
    assert sizes.max() > 50 * sizes.min()
    n_areas = [known.str.slice(0, digits).n_unique() for digits in range(1, 6)]
    assert n_areas[0] == 10
    assert all(more > 2 * fewer for fewer, more in pairwise(n_areas))


def test_no_postcode_belongs_to_two_places() -> None:
    prefixes = sorted([*tables.CITIES, *tables.COUNTRYSIDE])
    assert [longer for shorter, longer in pairwise(prefixes) if longer.startswith(shorter)] == []


@pytest.mark.parametrize(("prefix", "thousands"), [("10", 1900), ("10", 9999), ("205", 77), ("3525", 400)])
def test_a_place_shares_out_its_inhabitants_among_different_postcodes(prefix: str, thousands: int) -> None:
    codes, inhabitants = _postcodes(prefix, thousands, thousands_per_code=10)
    assert len(set(codes)) == len(codes) == min(round(thousands / 10), 10 ** (5 - len(prefix)))
    assert {(len(code), code[: len(prefix)]) for code in codes} == {(5, prefix)}
    assert inhabitants.sum() == pytest.approx(thousands)


@pytest.mark.parametrize(("column", "share"), [("profession", 0.02), ("postcode", 0.005)])
def test_few_values_are_missing(stays: pl.DataFrame, column: str, share: float) -> None:
    assert stays[column].null_count() / stays.height == pytest.approx(share, rel=0.4)


# The trees


@TREES
def test_tree_has_one_root_and_no_name_twice(tree: Tree) -> None:
    names = [path[0] for path in paths(tree)]
    assert list(tree) == ["all"]
    assert len(names) == len(set(names))


@pytest.mark.parametrize(("column", "tree"), [("diagnosis", DIAGNOSIS_TREE), ("profession", PROFESSION_TREE)])
def test_tree_has_exactly_the_values_of_its_column_as_leaves(
    stays: pl.DataFrame, column: str, tree: Tree
) -> None:
    # Twenty thousand rows meet even the rarest value, so a leaf that never occurs is a slip of the pen.
    assert set(stays[column].drop_nulls()) == leaves(tree)


def test_infarct_stands_where_icd_10_has_it() -> None:
    assert ("I21", "I20-I25", "circulatory", "all") in set(paths(DIAGNOSIS_TREE))


def test_every_code_lies_within_its_block() -> None:
    for path in paths(DIAGNOSIS_TREE):
        if len(path) == 4:
            first, last = path[1].split("-")
            assert first <= path[0] <= last


def test_blocks_do_not_overlap() -> None:
    blocks = sorted(path[0].split("-") for path in paths(DIAGNOSIS_TREE) if len(path) == 3)
    assert all(last < following for (_, last), (following, _) in pairwise(blocks))


# What belongs together


def test_age_drawn_is_the_age_that_the_calendar_counts() -> None:
    ages = np.repeat(np.arange(tables.OLDEST + 1), 2_000)
    rng = np.random.default_rng(0)
    admission = np.datetime64("2022-01-01") + rng.integers(3 * 365, size=len(ages))
    days = _draw_days_lived(np.zeros_like(ages), ages, rng)  # code 0 is not one of the newborn
    frame = pl.DataFrame({"admission_date": admission, "birth_date": admission - days, "age": ages})
    assert frame.filter(completed_years() != pl.col("age")).height == 0


def test_nobody_is_too_young_or_too_old_for_a_diagnosis_or_profession(stays: pl.DataFrame) -> None:
    diagnoses = {
        e.code: e for blocks in tables.DIAGNOSES.values() for block in blocks.values() for e in block
    }
    professions = {e.name: e for sector in tables.PROFESSIONS.values() for e in sector}
    for code, profession, age in stays.select("diagnosis", "profession", "age").iter_rows():
        assert diagnoses[code].low <= age <= diagnoses[code].high
        assert profession is None or professions[profession].low <= age <= professions[profession].high


def test_pregnancy_befalls_women_of_child_bearing_age_only(stays: pl.DataFrame) -> None:
    pregnant = stays.filter(pl.col("diagnosis").str.starts_with("O"))
    assert pregnant.height > 500
    assert set(pregnant["sex"]) == {"female"}
    assert pregnant["age"].is_between(15, 50).all()


@pytest.mark.parametrize(
    ("codes", "sex"), [(["C61", "C62", "N40"], "male"), (["C56", "D25", "N80"], "female")]
)
def test_illnesses_of_one_sex_stay_with_it(stays: pl.DataFrame, codes: list[str], sex: str) -> None:
    rows = stays.filter(pl.col("diagnosis").is_in(codes))
    assert set(rows["diagnosis"]) == set(codes)
    assert set(rows["sex"]) == {sex}


def test_newborn_diagnoses_come_with_a_birth_days_before(stays: pl.DataFrame) -> None:
    newborn = stays.filter(pl.col("diagnosis").str.starts_with("P") | (pl.col("diagnosis") == "Z38"))
    days = (newborn["admission_date"] - newborn["birth_date"]).dt.total_days()
    assert newborn.height > 300
    assert days.is_between(0, 7).all()


def test_nobody_is_admitted_before_birth_or_past_104(stays: pl.DataFrame) -> None:
    assert stays["age"].is_between(0, 104).all()


def test_children_have_no_adult_profession(stays: pl.DataFrame) -> None:
    small = stays.filter(pl.col("age") < 6).drop_nulls("profession")
    school = stays.filter(pl.col("age").is_between(6, 15)).drop_nulls("profession")
    assert set(small["profession"]) == {"preschool child"}
    assert set(school["profession"]) == {"pupil"}


def test_adults_are_no_pupils_and_the_old_are_retired(stays: pl.DataFrame) -> None:
    at_school = stays.filter(pl.col("profession").is_in(["pupil", "preschool child"]))
    old = stays.filter(pl.col("age") > 75).drop_nulls("profession")
    young = stays.filter(pl.col("age") < 55)
    assert at_school["age"].max() < 20
    assert (old["profession"] == "retired").mean() > 0.85
    assert "retired" not in young["profession"]


def test_training_comes_before_the_profession(stays: pl.DataFrame) -> None:
    physicians = stays.filter(pl.col("profession") == "physician")
    assert physicians["age"].is_between(25, 71).all()


def test_some_professions_lean_to_one_sex(stays: pl.DataFrame) -> None:
    women = stays.group_by("profession").agg(share=(pl.col("sex") == "female").mean())
    share = dict(women.iter_rows())
    assert share["nurse"] > 0.7 > share["physician"] > 0.3 > share["electrician"]


def test_farmers_live_in_the_countryside(stays: pl.DataFrame) -> None:
    cities = pl.col("postcode").str.slice(0, 2).is_in(["10", "12", "20", "80"])
    everybody = stays.select(cities.mean()).item()
    farmers = stays.filter(pl.col("profession") == "farmer").select(cities.mean()).item()
    assert farmers < everybody / 2


@pytest.mark.parametrize(
    ("dear", "cheap"), [("I21", "J35"), ("P07", "Z38"), ("S72", "S06"), ("I35", "I10"), ("O82", "O80")]
)
def test_grave_illness_costs_more(stays: pl.DataFrame, dear: str, cheap: str) -> None:
    assert mean_cost(stays, dear) > 1.3 * mean_cost(stays, cheap)


def test_the_same_illness_costs_more_in_old_age(stays: pl.DataFrame) -> None:
    head = stays.filter(pl.col("diagnosis") == "S06")
    young, old = (head.filter(side)["cost"].mean() for side in (pl.col("age") < 40, pl.col("age") > 60))
    assert old > 1.1 * young


def test_costs_are_positive_and_skewed_to_the_right(stays: pl.DataFrame) -> None:
    assert stays["cost"].min() > 0
    infarcts = stays.filter(pl.col("diagnosis") == "I21")["cost"]
    assert infarcts.mean() > 1.05 * infarcts.median()


def test_illnesses_come_at_their_age(stays: pl.DataFrame) -> None:
    ages = dict(stays.group_by("diagnosis").agg(pl.col("age").median()).iter_rows())
    assert ages["J21"] < 3 < ages["J35"] < 15 < ages["O80"] < 40 < ages["I21"] < 75 < ages["S72"]


def test_diagnoses_are_skewed(stays: pl.DataFrame) -> None:
    counts = stays["diagnosis"].value_counts(sort=True)["count"]
    assert counts[:20].sum() > 0.35 * stays.height
    assert counts[0] > 20 * counts[-1]


def test_infections_of_the_lung_come_in_winter_and_stones_in_summer(stays: pl.DataFrame) -> None:
    month = pl.col("admission_date").dt.month()
    winter = dict(stays.group_by("diagnosis").agg(month.is_in([12, 1, 2]).mean()).iter_rows())
    assert winter["J18"] > 0.29
    assert winter["N20"] < 0.22


def test_planned_stays_begin_on_working_days(stays: pl.DataFrame) -> None:
    weekend = pl.col("admission_date").dt.weekday() > 5
    share = dict(stays.group_by("diagnosis").agg(weekend.mean()).iter_rows())
    assert share["M17"] < 0.1
    assert share["F10"] > 0.17


def test_admissions_fill_three_years(stays: pl.DataFrame) -> None:
    per_year = stays["admission_date"].dt.year().value_counts().sort("admission_date")
    assert per_year["admission_date"].to_list() == [2022, 2023, 2024]
    assert per_year["count"].min() > 0.3 * stays.height


# The files


def test_written_table_reads_back_equal(tmp_path: Path) -> None:
    write_hospital(tmp_path / "new" / "folder", rows=2_000, seed=3)
    expected = hospital(2_000, seed=3)
    read = pl.read_csv(tmp_path / "new" / "folder" / "hospital.csv", schema=expected.schema)
    assert_frame_equal(read, expected)


@pytest.mark.parametrize(
    ("file", "tree"),
    [("hospital_diagnosis.csv", DIAGNOSIS_TREE), ("hospital_profession.csv", PROFESSION_TREE)],
)
def test_written_tree_reads_back_equal(tmp_path: Path, file: str, tree: Tree) -> None:
    write_hospital(tmp_path, rows=10, seed=0)
    read: Tree = {}
    with (tmp_path / file).open(encoding="utf-8", newline="") as lines:
        for path in csv.reader(lines, delimiter=";"):
            node = read
            for name in reversed(path):
                node = node.setdefault(name, {})
    assert read == tree


def test_recipe_gives_every_column_its_role(tmp_path: Path) -> None:
    path = write_hospital(tmp_path, rows=10, seed=0)
    recipe = tomllib.loads(path.read_text(encoding="utf-8"))

    assert path == tmp_path / "hospital.toml"
    assert list(recipe["columns"]) == hospital(1).columns
    assert {name: column["role"] for name, column in recipe["columns"].items()} == {
        "name": "identifier",
        "patient": "identifier",
        "birth_date": "quasi",
        "sex": "quasi",
        "postcode": "quasi",
        "profession": "quasi",
        "admission_date": "drop",
        "diagnosis": "sensitive",
        "cost": "sensitive",
    }
    assert recipe["privacy"] == {"k": 5}
    assert recipe["method"] == {"name": "auto", "seed": 0}
    assert recipe["output"] == {"path": "hospital-k5.csv"}


def test_files_that_the_recipe_names_are_there(tmp_path: Path) -> None:
    recipe = tomllib.loads(write_hospital(tmp_path, rows=10, seed=0).read_text(encoding="utf-8"))
    assert recipe["columns"]["postcode"]["hierarchy"] == {"prefix": 1}
    assert (tmp_path / recipe["input"]["path"]).is_file()
    assert (tmp_path / recipe["columns"]["profession"]["hierarchy"]).is_file()
