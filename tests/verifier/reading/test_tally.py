"""The sums that DuckDB's reading of a text file is held against."""

from __future__ import annotations

import csv
import tempfile
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from shoal.verifier.reading import tally
from shoal.verifier.reading.tally import Tally, tally_bytes

CELL = st.text(alphabet='ab,"\n\ré ', max_size=5)
TABLE = st.integers(1, 3).flatmap(lambda width: st.lists(st.tuples(*[CELL] * width), min_size=1, max_size=6))


def counted(content: bytes, chunk: int = 1 << 20) -> Tally | None:
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr(tally, "_CHUNK", chunk)
        path = Path(folder, "out.csv")
        path.write_bytes(content)
        return tally_bytes(path, ",")


@given(TABLE, st.sampled_from(["\n", "\r\n"]), st.integers(1, 8))
@example([('"', '"')], "\n", 1)
@example([("\n", '\n""')], "\r\n", 3)
def test_sums_agree_with_the_cells_that_were_written(
    rows: list[tuple[str, ...]], end: str, chunk: int
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "out.csv")
        with path.open("w", encoding="utf-8", newline="") as file:
            csv.writer(file, lineterminator=end, quoting=csv.QUOTE_ALL).writerows(rows)
        content = path.read_bytes()
    text = "".join(cell for row in rows for cell in row).encode()
    quotes = text.count(b'"')
    expected = Tally(len(rows), len(rows) * len(rows[0]), len(text) - quotes, quotes)

    assert counted(content, chunk) == expected
    assert counted(content.removesuffix(end.encode()), chunk) == expected
    assert counted(b"\xef\xbb\xbf" + content, chunk) == expected


@pytest.mark.parametrize(
    "content", [b'a,"b\n', b"a\r\nb\n", b"a\nb\r\n", b"a\rb\n", b"a\n\rb", b"a\r\rb\n\n"]
)
def test_marks_that_make_no_sense_have_no_sums(content: bytes) -> None:
    assert counted(content) is None
