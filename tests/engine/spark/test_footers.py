"""Footers of Parquet files: the order of encodings is the same, everything else stays."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from shoal.engine.spark.footers import sort_encodings


def made(place: Path) -> Path:
    """A file with several row groups, maps, lists, numbers and statistics in its footer."""
    columns = {
        "text": pa.array(["a", "b", None, "a"] * 50),
        "number": pa.array([1.5, 2.5, -0.0, None] * 50),
        "list": pa.array([[1, 2], [], None, [3]] * 50),
    }
    table = pa.table(columns).replace_schema_metadata({"some": "words", "more": "x" * 300})
    pq.write_table(table, place / "x.parquet", row_group_size=40, store_schema=False)
    return place / "x.parquet"


def encodings(file: Path) -> list[tuple[str, ...]]:
    """The encodings of each column in each group, in the order of the footer."""
    metadata = pq.read_metadata(file)
    groups = range(metadata.num_row_groups)
    return [metadata.row_group(g).column(c).encodings for g in groups for c in range(metadata.num_columns)]


@pytest.mark.parametrize("turn", [0, 1])
def test_any_order_becomes_the_same(tmp_path, turn):
    file = made(tmp_path)
    before, table = file.read_bytes(), pq.read_table(file)
    # A list of three whole numbers: PLAIN is 0, RLE 3, RLE_DICTIONARY 8. Numbers that may be negative are
    # stored doubled.
    listed = bytes([0x19, 0x35, 0, 6, 16])
    assert before.count(listed) == 15  # three columns in five groups
    turned = bytes([0x19, 0x35, *((16, 0, 6), (6, 16, 0))[turn]])
    file.write_bytes(before.replace(listed, turned))
    assert encodings(file)[0] != ("PLAIN", "RLE", "RLE_DICTIONARY")

    sort_encodings(file)

    assert file.read_bytes() == before
    assert pq.read_table(file).equals(table)


def test_a_sorted_file_stays_as_it_is(tmp_path):
    file = made(tmp_path)
    before = file.read_bytes()
    sort_encodings(file)
    assert file.read_bytes() == before
