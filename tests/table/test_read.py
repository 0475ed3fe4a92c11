"""Files: only the columns that are used are read, with the orders and zones of their types."""

from datetime import datetime
from decimal import Decimal

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import feather

import shoal
from shoal.errors import DataError
from shoal.recipe import Recipe
from tests.profiles import slow

WIDE = pa.array([Decimal(10**45)] * 4, pa.decimal256(50))  # which Polars does not read


def recipe_for(path, **columns):
    return Recipe.from_dict({"input": {"path": str(path)}, "columns": columns, "privacy": {"k": 2}})


def write(table, path):
    if path.suffix == ".parquet":
        pq.write_table(table, path)
    else:
        feather.write_feather(table, path, compression="uncompressed")
    return path


each_format = pytest.mark.parametrize("name", ["t.parquet", "t.arrow"])


@each_format
@pytest.mark.parametrize("role", ["drop", pytest.param("identifier", marks=slow)])
@pytest.mark.parametrize(
    "unused",
    [WIDE, pa.array([[1]] * 4), pa.array([{"a": "x"}] * 4), pa.array([b"x"] * 4)],
    ids=["wide", "lists", "structs", "bytes"],
)
def test_a_column_that_is_left_out_is_not_read(tmp_path, name, role, unused):
    path = write(pa.table({"age": [1, 2, 3, 4], "x": unused}), tmp_path / name)
    release = shoal.anonymize(recipe_for(path, age={"role": "quasi"}, x={"role": role}))
    assert release.table["age"].to_list() == ["[1, 2]", "[1, 2]", "[3, 4]", "[3, 4]"]


@each_format
def test_a_column_that_is_used_and_cannot_be_read_is_an_error(tmp_path, name):
    path = write(pa.table({"age": [1, 2, 3, 4], "x": WIDE}), tmp_path / name)
    with pytest.raises(DataError) as caught:
        shoal.anonymize(recipe_for(path, age={"role": "quasi"}, x={"role": "keep"}))
    assert caught.value.code in ("data.unreadable", "data.kind")


@each_format
def test_a_column_whose_name_looks_like_a_pattern_is_read_alone(tmp_path, name):
    table = pa.table({"ab": [[1]] * 4, "^a.*$": [1, 2, 3, 4]})
    path = write(table, tmp_path / name)
    recipe = recipe_for(path, **{"^a.*$": {"role": "quasi"}, "ab": {"role": "drop"}})
    assert shoal.anonymize(recipe).table.columns == ["^a.*$"]


@each_format
def test_a_time_zone_in_a_file_decides_the_day(tmp_path, name):
    utc = [datetime(2024, 2, 29, 23, 30), datetime(2024, 3, 1, 22, 30)]  # both on March 1 in Berlin
    table = pa.table({"seen": pa.array(utc, pa.timestamp("us", "Europe/Berlin"))})
    path = write(table, tmp_path / name)
    release = shoal.anonymize(recipe_for(path, seen={"role": "quasi"}))
    assert release.table["seen"].to_list() == ["2024-03-01"] * 2


@pytest.mark.parametrize("name", ["t.parquet", "t.arrow"])
def test_a_polars_enum_keeps_its_order_in_a_file(tmp_path, name):
    sizes = pl.Series("size", ["large", "small", "small", "large"], dtype=pl.Enum(["small", "large"]))
    path = tmp_path / name
    frame = pl.DataFrame([sizes])
    frame.write_parquet(path) if path.suffix == ".parquet" else frame.write_ipc(path)
    release = shoal.anonymize(recipe_for(path, size={"role": "quasi"}))
    assert release.kinds == {"size": {"kind": "ordinal", "found": True}}


def test_a_column_of_an_earlier_release_is_still_read_when_it_is_dropped_now(tmp_path):
    table = pa.table({"age": list(range(8)), "city": list("aabbccdd"), "ill": list("xyxyxyxy")})
    path = write(table, tmp_path / "t.parquet")
    roles = {"age": {"role": "drop"}, "city": {"role": "quasi"}, "ill": {"role": "sensitive"}}
    shoal.anonymize(recipe_for(path, **roles)).write(tmp_path / "first.csv")
    now = {"age": {"role": "quasi"}, "city": {"role": "drop"}, "ill": {"role": "sensitive"}}
    release = shoal.anonymize(
        recipe_for(path, **now), also=[tmp_path / "first.csv.manifest.json"], accept_composition=True
    )
    assert release.composition["ignored"] == [[], []]
