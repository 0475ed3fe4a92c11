"""Sensitive and kept columns of every type that has texts, with people: written, read and compared alike."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

import shoal
from shoal.errors import PromiseError
from shoal.release import folder
from shoal.verifier import spark as verifier
from tests.profiles import some

START = datetime(2024, 1, 2, 3, 4, 5)
TYPES = {
    "at": "timestamp",
    "local": "timestamp_ntz",
    "day": "date",
    "yes": "boolean",
    "score": "double",
    "part": "float",
    "price": "decimal(9,2)",
    "code": "string",
}


def rows() -> list[tuple[Any, ...]]:
    found = []
    for at in range(40):
        stamp = START + timedelta(seconds=at % 3 * 3600, microseconds=at % 2 * 1500)
        score = (0.5, float("inf"), 1e20, -1e-7)[at % 4]
        codes = ("007", "1.0", "2024-01-02 03:04", "NaN")
        of_row = (
            stamp.replace(tzinfo=UTC),
            stamp,
            date(2024, 1, 1 + at % 2),
            at % 2 == 0,
            score,
            0.1,
            at % 2 / 4,
        )
        found.append((at % 5, f"p{at // 2}", *of_row, codes[at % 4]))
    return found


@pytest.fixture(scope="module")
def release(spark: Any) -> Any:
    names = [f"{name} {'double' if of.startswith('decimal') else of}" for name, of in TYPES.items()]
    frame = spark.createDataFrame(rows(), ", ".join(["age int", "who string", *names]))
    frame = frame.withColumn("price", frame["price"].cast(TYPES["price"]))
    recipe = shoal.Recipe.from_roles(
        quasi=["age"], keep=list(TYPES), k=2, changes={"columns": {"who": {"role": "subject"}}}
    )
    made = shoal.anonymize(frame, recipe, bound=False)
    yield made
    made.close()


@pytest.mark.parametrize("ending", some([".csv", ".parquet"], 2))
def test_every_type_is_written_and_verified(release: Any, tmp_path: Path, ending: str) -> None:
    target = release.write(tmp_path / f"out{ending}")
    assert verifier.verify_folder(release.parts[0].frame.spark, target, release.recipe).rows == 40


def test_another_time_is_found(release: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A microsecond is enough, in either column."""
    plain = folder.verify_folder

    def tampered(spark: Any, place: Path, *given: Any, **known: Any) -> Any:
        file = place / "part-00000.csv"
        text = file.read_text(encoding="utf-8")
        assert "03:04:05.0015" in text
        file.write_text(text.replace("03:04:05.0015", "03:04:05.0016", 1), encoding="utf-8")
        return plain(spark, place, *given, **known)

    monkeypatch.setattr(folder, "verify_folder", tampered)
    with pytest.raises(PromiseError, match="differ in 1 class"):
        release.write(tmp_path / "out.csv")
