"""Protected columns in a whole release: same bytes, secrets, the manifest, the verifier."""

import json
from collections import Counter

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import shoal
from shoal.errors import KnownSeedWarning
from shoal.protect.protecting import protect
from tests.reference import protection as reference

SECRET = 912345678901234567
COLUMNS = {
    "age": {"role": "quasi", "kind": "numeric", "top": 90, "bottom": 20},
    "sex": {"role": "quasi"},
    "income": {"role": "keep", "noise": {"sd": 0.3, "correlated": True}, "accept": ["unique"]},
    "rent": {"role": "keep", "noise": {"sd": 0.3, "correlated": True}, "accept": ["unique"]},
    "visits": {"role": "keep", "swap": 10, "accept": ["unique"]},
    "job": {"role": "keep", "pram": 0.3},
    "town": {"role": "keep", "pram": {"change": 0.3, "invariant": True}},
    "weight": {"role": "keep", "noise": 0.2, "bottom": 60, "accept": ["unique"]},
    "ill": {"role": "sensitive"},
}


def table(n_rows=120, seed=1):
    random = np.random.default_rng(seed)
    income = random.normal(3000, 800, n_rows).round()
    return pl.DataFrame(
        {
            "age": random.integers(5, 104, n_rows),
            "sex": random.choice(["f", "m"], n_rows),
            "income": income,
            "rent": (income / 3 + random.normal(0, 50, n_rows)).round(),
            "visits": random.integers(0, 30, n_rows),
            "job": random.choice(["cook", "nurse", "smith"], n_rows),
            "town": random.choice(["north", "south"], n_rows),
            "weight": random.normal(70, 10, n_rows).round(1),
            "ill": (["flu", "cold", "gout", "none"] * n_rows)[:n_rows],
        }
    ).with_columns(pl.when(pl.col("visits") == 7).then(None).otherwise(pl.col("visits")).alias("visits"))


def recipe(**changes):
    sections = {
        "columns": COLUMNS,
        "privacy": {"k": 4},
        "method": {"name": "systematic"},
        "secrets": {"seed": SECRET},
    }
    return shoal.Recipe.from_dict(sections | changes)


pytestmark = pytest.mark.filterwarnings("ignore::shoal.errors.SensitiveUnprotectedWarning")


def test_the_same_seed_gives_the_same_bytes_for_any_order_of_the_input(tmp_path):
    raw = table()
    for name, rows in (("a.csv", raw), ("b.csv", raw.sample(fraction=1, shuffle=True, seed=3))):
        shoal.anonymize(rows, recipe(), bound=False).write(tmp_path / name)
    for ending in ("", ".manifest.json"):
        assert (tmp_path / f"a.csv{ending}").read_bytes() == (tmp_path / f"b.csv{ending}").read_bytes()


def test_without_a_seed_every_release_is_perturbed_differently():
    raw = table()
    first, second = (shoal.anonymize(raw, recipe(secrets={}), bound=False).table for _ in range(2))
    for name in ("income", "rent", "weight"):
        assert Counter(first[name]) != Counter(second[name])
    assert Counter(first["visits"]) == Counter(second["visits"])


@pytest.mark.parametrize("name", ["job", "town"])
def test_without_a_seed_categories_are_perturbed_differently(name):
    # Two releases may well have the same counts of two towns, so rows are compared one by one.
    columns = {"number": {"role": "keep", "accept": ["unique"]}, "age": COLUMNS["age"], name: COLUMNS[name]}
    raw = table().select("age", name).with_row_index("number")
    first, second = (protect(raw, recipe(secrets={}, columns=columns)).table for _ in range(2))
    assert first["number"].equals(second["number"])
    assert not first[name].equals(second[name])


def test_the_seed_of_the_method_has_no_part_in_it():
    raw = table()
    found = [
        shoal.anonymize(raw, recipe(method={"name": "systematic", "seed": seed}), bound=False).table
        for seed in (1, 2)
    ]
    for name in ("income", "visits", "job", "weight"):
        assert Counter(found[0][name]) == Counter(found[1][name])


def test_a_seed_that_can_be_guessed_is_warned_of():
    with pytest.warns(KnownSeedWarning, match="small enough to be found by trying"):
        shoal.anonymize(table(), recipe(secrets={"seed": 7}), bound=False)


def test_no_secret_is_written(tmp_path):
    release = shoal.anonymize(table(40), recipe(), bound=False)
    release.write(tmp_path / "out.csv", report=True)
    for file in tmp_path.iterdir():
        text = file.read_text()
        assert str(SECRET) not in text
        assert "secrets" not in text or (file.suffix == ".html" and "[secrets]" not in text)
    assert "secrets" not in json.loads((tmp_path / "out.csv.manifest.json").read_text())["recipe"]


@given(st.integers(0, 2**32))
def test_swapped_columns_keep_exactly_their_values(seed):
    raw = table(60, seed)
    released = protect(raw, recipe()).table
    assert Counter(released["visits"]) == Counter(raw["visits"])
    assert released["visits"].to_list() != raw["visits"].to_list()


@pytest.mark.parametrize("method", ["systematic", "incognito"])  # incognito publishes whole intervals
def test_no_value_is_beyond_a_code_and_all_others_are_covered(method, tmp_path):
    raw = table()
    raw.write_csv(tmp_path / "raw.csv")
    asked = recipe(method={"name": method})
    shoal.anonymize(raw, asked, bound=False).write(tmp_path / "out.csv")
    released = pl.read_csv(tmp_path / "out.csv", infer_schema=False)
    ends = [float(end) for text in released["age"] for end in text.strip("[]").split(", ")]
    assert (min(ends), max(ends)) == (20, 90)
    assert released["weight"].cast(pl.Float64).min() == 60
    verdict = shoal.verify(tmp_path / "out.csv", asked, original=tmp_path / "raw.csv")
    assert verdict.holds
    assert not verdict.problems


def test_entries_say_what_was_done():
    raw = table()
    release = shoal.anonymize(raw, recipe(), bound=False)
    found = {(entry["column"], entry["method"]): entry for entry in release.to_dict()["protection"]}
    assert found == {
        (entry["column"], entry["method"]): entry for entry in release.manifest("x")["protection"]
    }
    age = found["age", "coding"]
    coded = [reference.coded(value, 20, 90) for value in raw["age"]]
    assert age["top_coded"] == pytest.approx(sum(v > 90 for v in raw["age"]) / 120, rel=0.005)
    assert age["sd_ratio"] == pytest.approx(np.std(coded) / np.std(raw["age"].to_numpy()), rel=0.005)
    job = found["job", "pram"]
    assert job["names"] == ["cook", "nurse", "smith"]
    assert job["matrix"] == [[0.7, 0.15, 0.15], [0.15, 0.7, 0.15], [0.15, 0.15, 0.7]]
    assert "matrix" not in found["town", "pram"]  # it has the true distribution in it
    visits = found["visits", "rank swapping"]
    assert (visits["mean_shift"], visits["sd_ratio"]) == (0, 1)
    assert visits["linked"] < visits["linked_before"]
    rent = found["rent", "noise"]["correlations"]
    assert rent["with"] in COLUMNS


def test_few_coded_cells_are_not_counted():
    raw = (
        table()
        .with_columns(pl.col("age").clip(21, 89))
        .with_columns(pl.when(pl.int_range(pl.len()) < 9).then(95).otherwise(pl.col("age")).alias("age"))
    )
    (entry,) = [e for e in shoal.anonymize(raw, recipe(), bound=False).protection if e["column"] == "age"]
    assert entry == {
        "column": "age",
        "method": "coding",
        "bottom": 20,
        "top": 90,
        "bottom_coded": 0.0,
        "top_coded": None,
    }


@pytest.mark.parametrize("method", ["nh", "anatomy"])
def test_other_shapes_are_verified_against_the_original(method, tmp_path):
    raw = table()
    raw.write_csv(tmp_path / "raw.csv")
    asked = recipe(method={"name": method})
    shoal.anonymize(raw, asked, bound=False).write(tmp_path / "out.csv")
    assert shoal.verify(tmp_path / "out.csv", asked, original=tmp_path / "raw.csv").holds


def test_views_show_perturbed_columns_once():
    release = shoal.anonymize(
        table(), recipe(output={"views": "equal"}), bound=False, accept_composition=True
    )
    first, second = release.tables
    assert "visits" in first.columns
    assert "visits" not in second.columns


def test_attacks_read_coded_and_perturbed_releases():
    raw = table()
    release = shoal.anonymize(raw, recipe(), bound=False)
    found = shoal.attack(raw, release.table, recipe())
    singled_out = [one for one in found.to_list() if one["ceiling"] == 1 / 4]
    assert singled_out
    assert all(one["success"] <= 1 / 4 for one in singled_out)
    assert not any("kept" in one["attack"] for one in found.to_list())  # no kept column is as it was


def test_a_perturbed_release_cannot_be_extended():
    release = shoal.anonymize(table(), recipe(), bound=False)
    with pytest.raises(shoal.ShoalError, match="perturbed columns"):
        shoal.extend(release, table(8, 2), recipe())
