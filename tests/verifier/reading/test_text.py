"""Delimited text: what is read, and what is refused rather than misread."""

from __future__ import annotations

import csv
import io
import random
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from shoal.errors import DataError
from shoal.recipe import Recipe
from shoal.verifier import Verdict, verify
from shoal.verifier.reading.load import load
from shoal.verifier.reading.session import Session, UnreadableError, session

AB = Recipe.from_roles(quasi=["a", "b"], k=2)


def judge(folder: Path, content: str | bytes, name: str = "out.csv") -> Verdict:
    path = folder / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return verify(path, AB)


def codes(verdict: Verdict) -> list[str]:
    return [problem.code for problem in verdict.problems]


@pytest.mark.parametrize(
    ("content", "name"),
    [
        ("a,b\n1,2\n1,2\n", "out.csv"),
        ("a,b\n1,2\n1,2", "out.csv"),
        ("a,b\r\n1,2\r\n1,2\r\n", "out.csv"),
        ("\ufeffa,b\n1,2\n1,2\n", "out.csv"),
        ("a;b\n1;2\n1;2\n", "out.csv"),
        ("a\tb\n1\t2\n1\t2\n", "out.csv"),
        ("a\tb\n1\t2\n1\t2\n", "out.tsv"),
        ('"a","b"\n"1","2"\n1,2\n', "OUT.CSV"),
    ],
)
def test_layouts_that_are_read(tmp_path: Path, content: str, name: str) -> None:
    verdict = judge(tmp_path, content, name)

    assert (verdict.holds, verdict.rows, verdict.classes, verdict.k) == (True, 2, 1, 2)


def test_a_comma_stays_the_delimiter_where_it_makes_sense(tmp_path: Path) -> None:
    assert judge(tmp_path, "a,b\n1;x,2\n1;x,2\n").holds


def test_a_tsv_file_is_not_split_at_commas(tmp_path: Path) -> None:
    assert codes(judge(tmp_path, "a,b\n1,2\n1,2\n", "out.tsv")) == [
        "verify.missing_column",
        "verify.forbidden_column",
    ]


def test_delimiters_quotes_and_line_ends_inside_cells(tmp_path: Path) -> None:
    cell = '"x, ""y""\nz\r\n"'
    verdict = judge(tmp_path, f"a,b\n{cell},1\n{cell},1\n{cell},2\n")

    assert (verdict.rows, verdict.classes, verdict.k) == (3, 2, 1)
    assert codes(verdict) == ["verify.k"]


@pytest.mark.parametrize(
    "content",
    [
        "a,b\n1,2\n1\n1,2\n",
        "a,b\n1,2\n1,2\n1\n",
        "a,b\n1,2\n1,2\n1",
        "a,b\n1\n",
        "a,b\n1",
        "a,b\n1,2\n1,2,3\n",
        "a,b\n1,2\n1,2,\n",
        "a,b\n1,,\n1,\n",
        "a,b\n1,2\n\n1,2\n",
        "a,b\n1,2\n1,2\n\n",
        "a,b\n \n1,2\n1,2\n",
    ],
)
def test_ragged_lines_are_found_wherever_they_are(tmp_path: Path, content: str) -> None:
    verdict = judge(tmp_path, content)

    assert (verdict.holds, verdict.rows, verdict.k) == (False, 0, 0)
    assert codes(verdict) == ["verify.ragged"]
    message = "1 line has more or fewer cells than the header, which has 2 cells."
    assert verdict.problems[0].message == message


def test_all_ragged_lines_are_counted(tmp_path: Path) -> None:
    verdict = judge(tmp_path, "a,b\n1\n1,2\n1,2,3\n")

    assert verdict.problems[0].message.startswith("2 lines have more or fewer cells")


@pytest.mark.parametrize(
    ("content", "code"),
    [
        (b"", "verify.empty"),
        (b"a,b\n", "verify.empty"),
        (b"a,b", "verify.empty"),
        (b"\n", "verify.unreadable"),
        (b"\na,b\n1,2\n1,2\n", "verify.unreadable"),
        (bytes(range(256)) * 20, "verify.unreadable"),
        (b"PAR1\x15\x04\x15\xff\xfe", "verify.unreadable"),
        ("a,b\n1,2\n1,2\n".encode("utf-16"), "verify.unreadable"),
        (b"a,b\n1,2\n1,\xff\n", "verify.unreadable"),
        (b'a,b\n1,"2"x\n1,2\n', "verify.unreadable"),
        (b'a,b\n1, "2"\n1,2\n', "verify.unreadable"),
        (b'a,b\n1,"2" \n1,2\n', "verify.unreadable"),
        (b'a,b\n1,2" pipe\n1,2\n', "verify.unreadable"),
        (b"a,b\n1,2\r1,2\n", "verify.unreadable"),
        (b"a,b\n1,2\r\n1,2\n", "verify.unreadable"),
    ],
)
def test_files_that_are_refused(tmp_path: Path, content: bytes, code: str) -> None:
    verdict = judge(tmp_path, content)

    assert not verdict.holds
    assert codes(verdict) == [code]
    assert [goal.holds for goal in verdict.goals] == [False]


def test_a_header_that_never_ends_is_refused(tmp_path: Path) -> None:
    assert codes(judge(tmp_path, b"a,b," + b"x," * 600_000)) == ["verify.unreadable"]


def test_an_empty_line_is_a_missing_cell_where_there_is_one_column(tmp_path: Path) -> None:
    path = tmp_path / "out.csv"
    path.write_text("a\nx\nx\n\n\n", encoding="utf-8")

    verdict = verify(path, Recipe.from_roles(quasi=["a"], k=2))

    assert (verdict.holds, verdict.rows, verdict.classes) == (True, 4, 2)


@pytest.mark.parametrize("name", ["a[1].csv", "a*.csv", "a?.csv", "it's.csv", 'a"b.csv', "a b;--.csv"])
def test_only_the_file_that_was_named_is_read(tmp_path: Path, name: str) -> None:
    """DuckDB takes a path for a pattern: `a[1].csv` would be `a1.csv`."""
    (tmp_path / "a1.csv").write_text("a,b\n1,2\n", encoding="utf-8")

    verdict = judge(tmp_path, "a,b\n1,2\n1,2\n", name)

    assert (verdict.holds, verdict.rows) == (True, 2)


@pytest.mark.parametrize("name", ["a=5", "c0=5", "c=5"])
def test_folders_named_like_columns_change_no_cells(tmp_path: Path, name: str) -> None:
    """DuckDB takes such a folder for a partition, and its name for the value of a column."""
    folder = tmp_path / name
    folder.mkdir()

    verdict = judge(folder, "a,b\n1,2\n1,2\n2,2\n2,2\n")

    assert (verdict.holds, verdict.classes) == (True, 2)


@pytest.mark.parametrize("name", ["nothing.csv", "folder.csv", "out.xlsx", "out"])
def test_what_is_no_release_at_all_is_an_error(tmp_path: Path, name: str) -> None:
    (tmp_path / "folder.csv").mkdir()
    for other in ("out.xlsx", "out"):
        (tmp_path / other).write_text("a,b\n1,2\n1,2\n", encoding="utf-8")

    with pytest.raises(DataError) as caught:
        verify(tmp_path / name, AB)

    assert caught.value.code == "data.unreadable"


def test_records_inside_cells_do_not_lead_threads_astray(tmp_path: Path) -> None:
    """Large enough for DuckDB to start threads in the middle of quoted cells."""
    chance = random.Random(0)
    path = tmp_path / "out.csv"
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["a", "b", "c"])
        for row in range(150_000):
            writer.writerow([row // 3, "x", "\n1,2,3\n4,5,6\n" * chance.randrange(20)])

    verdict = verify(path, Recipe.from_roles(quasi=["a", "b"], keep=["c"], k=3))

    assert (verdict.holds, verdict.rows, verdict.classes) == (True, 150_000, 50_000)


@pytest.fixture(scope="module")
def opened() -> Iterator[Session]:
    with session() as open_session:
        yield open_session


HOSTILE = st.text(alphabet='ab1,,""\n\n\r \t;\\é\x00#', max_size=16)


@given(st.integers(1, 3), HOSTILE)
@example(1, '"\t" ","\n')
@example(2, "\r;,")
@example(2, "1,2,")
@example(1, '"" ",a"\n""\n')
def test_any_text_is_refused_or_read_as_the_csv_module_reads_it(
    opened: Session, width: int, body: str
) -> None:
    text = ",".join("xyz"[:width]) + "\n" + body
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "out.csv")
        path.write_bytes(text.encode())
        try:
            load(opened, path, ["x", "y", "z"])
        except UnreadableError:
            return
        found = opened.rows("FROM released")

    expected = list(csv.reader(io.StringIO(text, newline="")))[1:]
    missing_line = [""] if width == 1 else []
    rows = Counter(tuple(cells or missing_line) for cells in expected)
    assert Counter(tuple(cell or "" for cell in row) for row in found) == rows
