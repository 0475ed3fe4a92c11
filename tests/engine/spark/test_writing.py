"""The file that one task writes, without Spark: its rows are sorted, whatever pieces its classes come in."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa

from shoal.engine.spark.files import Layout, WriteFiles

LAYOUT = Layout(("p0", "p1"), ("o0", "o1"), (("o0", "ill"), ("p0", "^age$"), ("p1", "town"), ("o1", "note")))
PIECES: list[dict[str, Any]] = [
    {"p0": 7, "p1": "b", "file": 3, "rows": [("flu", "=1"), (None, "x")]},
    {"p0": None, "p1": "a", "file": 3, "rows": [("flu", None)]},
    {"p0": 7, "p1": "b", "file": 3, "rows": [("cold", "x"), ("flu", "")]},
    {"p0": 7, "p1": None, "file": 3, "rows": [("flu", "a")]},
    {"p0": 10, "p1": "a", "file": 3, "rows": [("flu", "b"), ("flu", "a")]},
    {"p0": 7, "p1": "é", "file": 3, "rows": [("flu", "a")]},
]
OF_ROWS = pa.list_(pa.struct([("o0", pa.string()), ("o1", pa.string()), ("label", pa.string())]))
SCHEMA = pa.schema([("p0", pa.int64()), ("p1", pa.string()), ("file", pa.int32()), ("rows", OF_ROWS)])


def batches(pieces: list[dict[str, Any]]) -> list[pa.RecordBatch]:
    made = [
        {**piece, "rows": [{"o0": ill, "o1": note, "label": "?"} for ill, note in piece["rows"]]}
        for piece in pieces
    ]
    return pa.Table.from_pylist(made, SCHEMA).to_batches(max_chunksize=2)


def in_order() -> list[tuple[Any, ...]]:
    """The rows of all pieces, sorted by published values and then by the others; what is missing is last."""
    rows = [(piece["p0"], piece["p1"], *row) for piece in PIECES for row in piece["rows"]]
    ordered = sorted(rows, key=lambda row: [(cell is None, cell) for cell in row])
    return [(ill, age, town, note) for age, town, ill, note in ordered]


def written(place: Path, ending: str, pieces: list[dict[str, Any]]) -> dict[int, Path]:
    """The files that one attempt says it has written; there are no others."""
    place.mkdir(exist_ok=True)
    before = set(place.iterdir())
    task = WriteFiles(LAYOUT, str(place), ending, spreadsheet_safe=True)
    found = [batch.to_pylist()[0] for batch in task(batches(pieces))]
    assert not any(row["fault"] for row in found)
    made = {row["file"]: place / row["name"] for row in found}
    assert set(place.iterdir()) - before == set(made.values())
    return made


def test_rows_are_sorted_within_and_across_classes(tmp_path: Path) -> None:
    one, other = (written(tmp_path, ".parquet", pieces)[3] for pieces in (PIECES, PIECES[::-1]))
    assert pl.read_parquet(one).rows() == in_order()
    assert one != other
    assert one.read_bytes() == other.read_bytes()


def test_text_files_are_as_one_machine_writes_them(tmp_path: Path) -> None:
    lines = written(tmp_path, ".csv", PIECES)[3].read_text(encoding="utf-8").splitlines()
    assert lines[0] == "ill,^age$,town,note"
    assert lines[1:4] == ["cold,7,b,x", 'flu,7,b,""', "flu,7,b,'=1"]


def test_a_task_may_have_several_files_or_none(tmp_path: Path) -> None:
    apart = [{**piece, "file": at % 2} for at, piece in enumerate(PIECES)]
    assert list(written(tmp_path, ".csv", apart)) == [0, 1]
    assert written(tmp_path, ".csv", []) == {}


def test_a_folder_that_a_worker_lacks_is_a_fault_without_a_stack(tmp_path: Path) -> None:
    task = WriteFiles(LAYOUT, str(tmp_path / ".hidden" / "rows"), ".parquet", spreadsheet_safe=True)
    ((row,),) = (batch.to_pylist() for batch in task(batches(PIECES)))
    assert row["file"] == 3
    assert row["fault"] == f"A worker does not find the output's folder {tmp_path}."
