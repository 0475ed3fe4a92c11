"""From a table to a release: frames, formats, manifests, missing values."""

import json
from datetime import date
from importlib import import_module
from pathlib import Path

import numba
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import shoal
from shoal.cluster import kmember
from shoal.errors import InfeasibleError, SensitiveUnprotectedWarning
from shoal.recipe import Recipe
from shoal.verifier import verify_table
from shoal.workflow.prepare import prepare
from tests.profiles import IS_SLOW, slow

PEOPLE = pl.DataFrame(
    {
        "name": ["Ann", "Bob", "Cy", "Di", "Ed", "Flo"],
        "age": [31, 33, 35, 58, 60, 61],
        "zip": ["10115", "10117", "10119", "80331", "80333", "80335"],
        "disease": ["flu", "flu", "cold", "cold", "flu", "cold"],
    }
)
ROLES = {"quasi": ["age", "zip"], "sensitive": ["disease"], "identifiers": ["name"]}


def test_threads_do_not_change_the_bytes(tmp_path, monkeypatch, adult8):
    recipe = Recipe.load(adult8)
    written = []
    for threads, parallel_from in ((1, 32), (2, 1)):
        monkeypatch.setattr(kmember, "_PARALLEL_FROM", parallel_from)
        monkeypatch.setattr(kmember, "_BLOCK", 4096)
        numba.set_num_threads(threads)
        table = pl.read_csv(adult8.parent / "adult.csv", separator=";", n_rows=5000 if IS_SLOW else 1000)
        prepare(table, recipe).write(tmp_path / "out.csv")
        written.append((tmp_path / "out.csv").read_bytes())
    numba.set_num_threads(1)
    assert written[0] == written[1]


def test_the_release_is_sorted_and_carries_nothing_else(tmp_path):
    release = shoal.anonymize(PEOPLE, **ROLES, k=3)
    assert release.table.columns == ["age", "zip", "disease"]
    assert release.table.rows() == sorted(release.table.rows())
    release.write(tmp_path / "out.csv")
    text = (tmp_path / "out.csv").read_text(encoding="utf-8")
    assert text.splitlines()[0] == "age,zip,disease"
    assert not any(name in text for name in PEOPLE["name"])


@pytest.mark.parametrize(
    ("convert", "kind"),
    [
        (lambda f: f, pl.DataFrame),
        (lambda f: f.to_pandas(), pd.DataFrame),
        (lambda f: f.to_arrow(), pa.Table),
    ],
    ids=["polars", "pandas", "arrow"],
)
def test_the_same_kind_of_frame_comes_back(convert, kind):
    expected = shoal.anonymize(PEOPLE, **ROLES, k=3).table
    table = shoal.anonymize(convert(PEOPLE), **ROLES, k=3).table
    assert type(table) is kind
    assert pl.DataFrame(table).rows() == expected.rows()


def test_a_pandas_index_is_not_released():
    frame = PEOPLE.to_pandas().set_index(pd.Index([f"secret{i}" for i in range(6)], name="person"))
    table = shoal.anonymize(frame, **ROLES, k=3).table
    assert list(table.columns) == ["age", "zip", "disease"]
    assert list(table.index) == list(range(6))


@pytest.mark.parametrize("ending", ["csv", "tsv", "parquet", "arrow", "feather"])
def test_every_format_is_written_verified_and_read_back(tmp_path, ending):
    path = tmp_path / f"out.{ending}"
    release = shoal.anonymize(PEOPLE, **ROLES, k=3)
    release.write(path)
    recipe = Recipe.from_roles(**ROLES, k=3)
    assert shoal.verify(path, recipe).holds
    # Read again as input: the release is a table like any other.
    everything_kept = Recipe.from_dict(
        {
            "input": {"path": str(path)},
            "columns": {"age": {"role": "quasi", "kind": "categorical"}, "default": "drop"},
            "privacy": {"k": 3},
        }
    )
    assert prepare(None, everything_kept).frame["age"].n_unique() == release.frame["age"].n_unique()


def test_parquet_carries_no_foreign_metadata(tmp_path):
    import pyarrow.parquet as pq

    frame = PEOPLE.to_pandas()
    shoal.anonymize(frame, **ROLES, k=3).write(tmp_path / "out.parquet")
    metadata = pq.read_metadata(tmp_path / "out.parquet").metadata or {}
    assert b"pandas" not in metadata
    assert not any(b"secret" in value or b"Ann" in value for value in metadata.values())


def test_sensitive_and_kept_columns_keep_their_types_in_parquet(tmp_path):
    table = PEOPLE.with_columns(cost=pl.Series([1.5, 2, 3, 4, 5, 6]), day=pl.lit(date(2026, 1, 1)))
    shoal.anonymize(table, **ROLES, keep=["cost", "day"], k=3).write(tmp_path / "out.parquet")
    schema = pl.read_parquet_schema(tmp_path / "out.parquet")
    assert (schema["cost"], schema["day"]) == (pl.Float64, pl.Date)


def test_missing_values_can_be_suppressed_within_the_limit():
    table = pl.DataFrame({"age": [31, 33, 35, None, 60, 61], "s": list("aabbcc")})
    data = {
        "columns": {"age": {"role": "quasi"}, "s": {"role": "keep"}},
        "privacy": {"k": 2, "missing": "suppress", "max_suppressed": 0.2},
    }
    release = shoal.anonymize(table, Recipe.from_dict(data))
    assert (release.rows, release.released, release.suppressed) == (6, 5, 1)
    assert None not in release.table["age"].to_list()
    # The suppressed row costs the sum of the weights.
    assert release.loss.il == pytest.approx(release.loss_tight.il)
    data["privacy"]["max_suppressed"] = 0.1
    with pytest.raises(InfeasibleError, match="1 of 6 rows lack a quasi value"):
        shoal.anonymize(table, Recipe.from_dict(data))


def test_a_share_is_the_decimal_that_it_is_written_as():
    # 0.29 * 100 is 28.999999999999996 in floats; 29 rows of 100 are allowed all the same, 30 are not.
    data = {
        "columns": {"age": {"role": "quasi"}},
        "privacy": {"k": 2, "missing": "suppress", "max_suppressed": 0.29},
    }
    ages = [None] * 29 + list(range(71))
    assert shoal.anonymize(pl.DataFrame({"age": ages}), Recipe.from_dict(data)).suppressed == 29
    with pytest.raises(InfeasibleError, match="30 of 100 rows"):
        shoal.anonymize(pl.DataFrame({"age": [None, *ages[:-1]]}), Recipe.from_dict(data))


def test_missing_values_count_as_a_category_by_default():
    table = pl.DataFrame({"age": [None, None, 30, 31]})
    release = shoal.anonymize(table, quasi=["age"], k=2)
    assert release.table["age"].to_list() == ["[30, 31]", "[30, 31]", None, None]
    assert release.suppressed == 0


def test_classes_that_share_a_sensitive_value_are_warned_about():
    table = pl.DataFrame({"age": [30, 31, 60, 61], "ill": ["flu", "flu", "flu", "cold"]})
    with pytest.warns(SensitiveUnprotectedWarning, match="1 of 2 classes share one value of `ill`"):
        shoal.anonymize(table, quasi=["age"], sensitive=["ill"], k=2)


def test_the_manifest_describes_the_release_and_nobody_in_it(tmp_path):
    release = shoal.anonymize(PEOPLE, **ROLES, k=3)
    path = release.write(tmp_path / "out.csv")
    text = Path(f"{path}.manifest.json").read_text(encoding="utf-8")
    manifest = json.loads(text)
    assert manifest["release"]["rows"] == 6
    assert manifest["goals"][0] == {
        "type": "k-anonymity", "column": None, "asked": 3, "achieved": 3, "holds": True,
    }  # fmt: skip
    assert manifest["method"] == {"name": "local-search", "seed": 0}
    assert set(manifest["versions"]) >= {"shoal", "polars", "numba", "duckdb", "python"}
    assert manifest["loss"]["gcp"] == float(f"{release.loss.gcp:.3g}")
    assert not any(str(cell) in text for column in ("name", "zip", "disease") for cell in PEOPLE[column])
    assert str(tmp_path) not in text


def test_the_same_recipe_data_and_seed_give_the_same_files(tmp_path):
    paths = [shoal.anonymize(PEOPLE, **ROLES, k=3).write(tmp_path / f"{n}.csv") for n in "ab"]
    assert paths[0].read_bytes() == paths[1].read_bytes()
    manifests = [Path(f"{path}.manifest.json").read_bytes() for path in paths]
    assert manifests[0] == manifests[1]


def test_an_earlier_release_is_replaced_after_verification(tmp_path):
    path = tmp_path / "out.csv"
    shoal.anonymize(PEOPLE, **ROLES, k=6).write(path)
    before = path.read_bytes()
    shoal.anonymize(PEOPLE, **ROLES, k=2).write(path, force=True)
    assert path.read_bytes() != before
    assert shoal.verify(path, Recipe.from_roles(**ROLES, k=2)).holds
    assert sorted(p.name for p in tmp_path.iterdir()) == ["out.csv", "out.csv.manifest.json"]


def test_a_release_is_verified_by_another_engine_before_it_is_returned(monkeypatch):
    asked = []

    def spy(table, recipe, **more):
        asked.append(table.num_rows)
        return verify_table(table, recipe, **more)

    monkeypatch.setattr(import_module("shoal.release.release"), "verify_table", spy)
    shoal.anonymize(PEOPLE, **ROLES, k=3)
    assert asked == [6]


def test_repr_shows_guarantees_and_no_cells():
    text = repr(shoal.anonymize(PEOPLE, **ROLES, k=3))
    assert "k-anonymity 3 (asked 3)" in text
    assert not any(
        str(cell) in text for column in PEOPLE.columns for cell in PEOPLE[column] if column != "age"
    )


@slow
def test_adult8_reaches_the_known_loss_of_k_member(adult8):
    release = shoal.anonymize(Recipe.load(adult8, changes={"method": {"name": "k-member"}}))
    assert (release.released, release.k) == (30162, 10)
    assert 20_000 < release.loss.il < 22_500
