"""What is said about protected columns: nothing that only the raw table shows."""

import polars as pl
import pytest

import shoal
from shoal.protect.entries import with_released_names
from shoal.protect.protecting import protect

JOBS = ["cook", "cook", "cook", "king", "cook", "smith", "smith", "cook"]


def recipe(seed, **job):
    columns = {"age": {"role": "quasi"}, "job": {"role": "keep", **job}}
    return shoal.Recipe.from_dict({"columns": columns, "privacy": {"k": 2}, "secrets": {"seed": seed}})


def test_a_category_that_vanished_is_not_named():
    raw = pl.DataFrame({"age": range(8), "job": JOBS})
    for seed in range(2**40, 2**40 + 100):
        found = protect(raw, recipe(seed, pram=0.4))
        (entry,) = found.entries
        assert entry["categories"] == 3
        if "king" not in found.table["job"]:
            break
    else:
        pytest.fail("every seed kept the category")
    assert entry["names"] == ["cook", None, "smith"]


def test_large_matrices_are_left_out():
    raw = pl.DataFrame({"age": range(60), "job": [f"job {at}" for at in range(60)]})
    (entry,) = protect(raw, recipe(2**40, pram=0.4)).entries
    assert "matrix" not in entry
    assert (entry["change"], entry["categories"]) == (0.4, 60)


def test_columns_that_cannot_be_perturbed_are_refused():
    raw = pl.DataFrame({"age": range(8), "job": JOBS})
    for key, value, message in (("swap", 5, "`swap` is for"), ("noise", 0.1, "`noise` is for numbers")):
        with pytest.raises(shoal.ShoalError, match=message) as caught:
            protect(raw, recipe(2**40, **{key: value}))
        assert caught.value.code == "data.perturb"
    with pytest.raises(shoal.ShoalError, match="1 categories"):
        protect(raw.with_columns(job=pl.lit("cook")), recipe(2**40, pram=0.4))


def test_a_category_of_suppressed_rows_is_not_named():
    raw = pl.DataFrame({"age": range(8), "job": JOBS})
    entries = protect(raw, recipe(2**40, pram=0.001)).entries
    assert entries[0]["names"] == ["cook", "king", "smith"]
    released = raw.filter(pl.col("job") != "king")
    assert with_released_names(entries, released)[0]["names"] == ["cook", None, "smith"]


def test_noise_may_lead_out_of_a_small_type():
    raw = pl.DataFrame({"age": range(40), "job": pl.Series(range(40), dtype=pl.UInt8)})
    found = protect(raw, recipe(2**40, noise=2.0)).table["job"]
    assert found.min() < 0
    assert found.null_count() == 0


def test_a_column_keeps_its_type_and_precision():
    raw = pl.DataFrame({"age": range(40), "job": [round(at / 8, 2) for at in range(40)]})
    for dtype in (pl.Float32, pl.Float64, pl.String, pl.Decimal(10, 2)):
        given = raw.with_columns(pl.col("job").cast(dtype))
        found = protect(given, recipe(2**40, noise=0.5)).table["job"]
        assert found.dtype == dtype
        decimals = [text.partition(".")[2] for text in found.cast(pl.Float64).round(6).cast(pl.String)]
        assert max(map(len, decimals)) == 2
        assert found.to_list() != given["job"].to_list()
    whole = raw.with_columns(pl.Series("job", range(40)).cast(pl.String))
    assert protect(whole, recipe(2**40, noise=0.5)).table["job"].str.contains(r"^-?[0-9]+$").all()
