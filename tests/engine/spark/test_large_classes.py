"""A class that is larger than a file is cut into several, with the rows of one machine in its order."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest

import shoal
from shoal.engine.spark import files
from shoal.recipe import Recipe
from shoal.release import folder
from tests.engine.spark.made import in_spark
from tests.profiles import IS_SLOW

N_ROWS = 400
# Two large classes with others before, between and after them; in the second most rows are equal.
AGES = [*range(40), *[50] * 130, *range(51, 71), *[80] * 170, *range(81, 121)]
SCORES = [None, -0.5, 0.0, float("nan"), 2.5, -1.0, 1e300]
TABLE = pl.DataFrame(
    {
        "age": AGES,
        "ill": [["flu", None, "mumps", "é", "z", "=1"][at * at % 6] for at in range(N_ROWS)],
        "score": [7.0 if age == 80 and at % 9 else SCORES[at % 7] for at, age in enumerate(AGES)],
        "yes": [at % 3 == 0 if age != 80 else None for at, age in enumerate(AGES)],
    }
)


def written(frame: Any, asked: Recipe, place: Path) -> list[str]:
    """The lines of each file, without their header."""
    release = shoal.anonymize(frame, asked, bound=False)
    files = sorted(release.write(place).iterdir())
    release.close()
    return [file.read_text(encoding="utf-8").partition("\n")[2] for file in files]


@pytest.mark.parametrize("others", [["ill", "score", "yes"], []], ids=["other columns", "no other column"])
def test_large_classes_are_cut_in_the_order_of_their_rows(
    spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, others: list[str]
) -> None:
    monkeypatch.setattr(files, "FILE_ROWS", 60)
    monkeypatch.setattr(folder, "_verify_written", lambda *_: None)  # other tests do that
    table = TABLE.select("age", *others)
    asked = Recipe.from_roles(quasi=["age"], sensitive=others, k=10, changes={"method": {"name": "mondrian"}})
    one = shoal.anonymize(table, asked, bound=False).write(tmp_path / "one.csv")

    found = written(in_spark(spark, table, 3), asked, tmp_path / "out.csv")

    assert "".join(found) == one.read_text(encoding="utf-8").partition("\n")[2]
    assert max(text.count("\n") for text in found) <= 120
    assert len(found) >= N_ROWS / 60
    if IS_SLOW:
        assert written(in_spark(spark, table.reverse(), 7), asked, tmp_path / "again.csv") == found
