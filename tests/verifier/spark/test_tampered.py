"""Folders that somebody tampered with: what each engine finds, with the manifest and without it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from shoal.verifier import verify
from shoal.verifier.spark import verify_folder
from tests.profiles import slow, some
from tests.verifier.spark import tampered
from tests.verifier.spark.folders import both, codes
from tests.verifier.spark.tampered import BY_MANIFEST, CASES, RECIPE

CHANGES = pytest.mark.parametrize("change", CASES, ids=lambda change: change.__name__)


@slow
@pytest.mark.parametrize("ending", [".csv", ".parquet"])
def test_the_release_itself_holds(spark: Any, tmp_path: Path, ending: str) -> None:
    one, other = both(spark, tampered.release(tmp_path / f"out{ending}"), RECIPE, rows=13)

    assert one == other
    assert (one.holds, one.rows, one.classes, one.k) == (True, 13, 4, 3)


@CHANGES
@pytest.mark.parametrize("ending", [".csv", ".parquet"])
def test_duckdb_finds_it(tmp_path: Path, change: Callable[[Path], None], ending: str) -> None:
    folder = tampered.release(tmp_path / f"out{ending}")
    change(folder)
    expected = tampered.found_without_manifest(change, ending)

    found = set(codes(verify(folder, RECIPE)))

    assert found - BY_MANIFEST == set(codes(verify(folder, RECIPE, manifest=False))) == expected
    assert bool(found & BY_MANIFEST) is (change is not tampered.add_a_foreign_file)


@pytest.mark.parametrize("change", some(CASES, 6, 3), ids=lambda change: change.__name__)
def test_spark_finds_it(spark: Any, tmp_path: Path, change: Callable[[Path], None]) -> None:
    ending = (".csv", ".parquet")[list(CASES).index(change) % 2]
    folder = tampered.release(tmp_path / f"out{ending}")
    change(folder)

    one, other = both(spark, folder, RECIPE)

    assert one == other
    assert not other.holds
    assert set(codes(other)) - BY_MANIFEST == tampered.found_without_manifest(change, ending)


@CHANGES
def test_another_number_of_rows_is_found_without_the_manifest(
    tmp_path: Path, change: Callable[[Path], None]
) -> None:
    """The maker knows how many rows it wrote: whatever adds or drops some is found by that alone."""
    folder = tampered.release(tmp_path / "out.parquet")
    change(folder)
    more_or_fewer = (
        tampered.drop_a_file,
        tampered.drop_the_last_file,
        tampered.duplicate_a_file,
        tampered.remove_a_row,
        tampered.duplicate_a_row,
    )

    found = "verify.rows" in codes(verify(folder, RECIPE, manifest=False, rows=13))

    assert found is (change in more_or_fewer)


def test_forged_numbers_are_found(spark: Any, tmp_path: Path) -> None:
    folder = tampered.release(tmp_path / "out.parquet")
    goals = [{**tampered.GOALS[0], "achieved": 4}, tampered.GOALS[1]]
    tampered.write_manifest(folder, 14, 5, goals=goals, loss={"dm": 40, "c_avg": 1.0})

    one, other = both(spark, folder, RECIPE)

    assert one == other
    (problem,) = other.problems
    wrong = "`rows`, `classes`, `k-anonymity`, `loss dm`, `loss c_avg`"
    assert problem.message == f"Numbers in the manifest that differ from the file: {wrong}."


@slow
def test_nothing_is_compared_without_a_manifest(spark: Any, tmp_path: Path) -> None:
    folder = tampered.release(tmp_path / "out.csv")
    tampered.change_a_sensitive_value(folder)

    assert verify_folder(spark, str(folder), RECIPE, manifest=False).holds
