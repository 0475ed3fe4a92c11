"""Hierarchies in files: layouts, faults, round trips, and the real ones of Adult."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from shoal.errors import HierarchyError, OutputError
from shoal.hierarchy import build, files
from shoal.hierarchy.tree import Tree, normal_text

CHECKOUT = Path(__file__).resolve().parents[2]
ADULT = Path(os.environ.get("SHOAL_DATA", CHECKOUT.parent / "shared" / "data")) / "adult"

SMALL = Tree.from_paths([("a", "X", "*"), ("b", "X", "*"), ("c", "*")], "job")


@contextmanager
def refused(code: str, *numbers: int) -> Iterator[None]:
    """Expect an error with this code that names the column and the numbers but no label (all hold zq)."""
    with pytest.raises(HierarchyError) as caught:
        yield
    error = caught.value
    assert error.code == code
    assert "`job`" in error.message
    assert error.hint
    assert "zq" not in str(error)
    assert error.__cause__ is None
    assert error.__context__ is None or error.__suppress_context__
    for number in numbers:
        assert str(number) in error.message


def written(folder: Path, name: str, content: str | bytes) -> Path:
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


# --- ARX tables


@pytest.mark.parametrize(
    "content",
    [
        "a;X;*\nb;X;*\nc;*\n",
        "a;X;*\nb;X;*\nc;*",
        "a,X,*\nb,X,*\nc,*\n",
        "a\tX\t*\nb\tX\t*\nc\t*\n",
        "a;X;*\r\nb;X;*\r\nc;*\r\n",
        "a;X;*\rb;X;*\rc;*\r",
        "\ufeffa;X;*\nb;X;*\nc;*\n",
        "\n  \n a ; X;* \n\nb;X ;*\n;;\nc;*\n\n",
        "a;X;*\nb;X;*\nc;c;*\n",
        "a;X;*\nb;X;*\nc;*;\n",
        "a;X;*;;\nb;X;*;;\nc;*;;;\n",
        '"a";"X";"*"\n"b"; "X";*\nc;*\n',
    ],
)
def test_arx_layouts_read_as_the_same_tree(tmp_path: Path, content: str) -> None:
    assert files.read_arx(written(tmp_path, "h.csv", content), "job") == SMALL


def test_quoted_cells_may_hold_separators_and_quotes(tmp_path: Path) -> None:
    path = written(tmp_path, "h.csv", '"a;1, ""x""",X,*\nb,"X",*\n')

    assert files.read_arx(path, "job").leaf_labels == ('a;1, "x"', "b")


def test_commas_in_labels_do_not_hide_the_semicolon(tmp_path: Path) -> None:
    path = written(tmp_path, "h.csv", "Korea, South, all;Asia;*\nIran;Asia;*\n")

    assert files.read_arx(path, "job").leaf_labels == ("Korea, South, all", "Iran")


def test_quote_inside_a_cell_stands_for_itself(tmp_path: Path) -> None:
    path = written(tmp_path, "h.csv", '5" pipe,X,*\n6" pipe,X,*\n')

    assert files.read_arx(path, "job").leaf_labels == ('5" pipe', '6" pipe')


def test_separator_may_be_given(tmp_path: Path) -> None:
    path = written(tmp_path, "h.csv", "a;b|X|*\nc|*\n")

    assert files.read_arx(path, "job", separator="|").leaf_labels == ("a;b", "c")


def test_empty_first_cell_is_a_leaf(tmp_path: Path) -> None:
    tree = files.read_arx(written(tmp_path, "h.csv", "a;X;*\n;X;*\n"), "job")

    assert tree.leaf_labels == ("a", "")


def test_labels_are_composed_and_trimmed(tmp_path: Path) -> None:
    path = written(tmp_path, "h.csv", "cafe\u0301 ;\u00a0place;*\nth\u00e9; place;*\n")

    tree = files.read_arx(path, "job")

    assert tree.labels == ("*", "place", "caf\u00e9", "th\u00e9")


@pytest.mark.parametrize(
    ("content", "code", "number"),
    [
        ("", "hierarchy.roots", 0),
        ("\n\n", "hierarchy.roots", 0),
        ("zqa;zqX\nzqb;zqY\n", "hierarchy.roots", 2),
        ("zqa|*\nzqb|*\n", "hierarchy.roots", 2),
        ("zqa;zqX;zqa;*\n", "hierarchy.cycle", 2),
        ("zqa;zqX;*\nzqa;zqY;*\n", "hierarchy.duplicate", 1),
        ("zqa;*\nzqa;*\n", "hierarchy.duplicate", 1),
        ("zqcafe\u0301;*\nzqcaf\u00e9;*\n", "hierarchy.duplicate", 1),
        ("zqa;;*\n\n;;\nzqb;zqX;*\n", "hierarchy.unreadable", 2),
        ('zqa;"zqX;*\nzqb;zqX;*\n', "hierarchy.unreadable", 2),
        ('"zqa"zq;zqX;*\n', "hierarchy.unreadable", 1),
        (b"zqa;caf\xe9;*\n", "hierarchy.unreadable", 8),
        ("zqa;zqX;*\n".encode("utf-16"), "hierarchy.unreadable", 8),
    ],
)
def test_broken_tables_are_refused(tmp_path: Path, content: str | bytes, code: str, number: int) -> None:
    with refused(code, number):
        files.read_arx(written(tmp_path, "h.csv", content), "job")


@pytest.mark.parametrize("separator", ["", "ab", '"', "\n"])
def test_impossible_separators_are_refused(tmp_path: Path, separator: str) -> None:
    with refused("hierarchy.unreadable"):
        files.read_arx(written(tmp_path, "h.csv", "zqa;*\n"), "job", separator=separator)


# --- nested tables


def test_nested_toml_and_json_read_as_the_same_tree(tmp_path: Path) -> None:
    toml = written(tmp_path, "h.toml", '["*".X]\na = {}\nb = {}\n["*".c]\n')
    short = written(tmp_path, "s.toml", '["*"]\nX = ["a", "b"]\nc = []\n')
    as_json = written(tmp_path, "h.json", '\ufeff{"*": {"X": ["a ", "b"], "c": {}}}')

    assert files.read_nested(toml, "job") == SMALL
    assert files.read_nested(short, "job") == SMALL
    assert files.read_nested(as_json, "job") == SMALL


def test_nested_mapping_keeps_its_order() -> None:
    tree = files.from_nested({"all": {"heart": {"I21": {}, "I20": {}}, "eye": ["H40"], "other": {}}}, "job")

    assert tree.labels == ("all", "heart", "I21", "I20", "eye", "H40", "other")
    assert tree.height.tolist() == [2, 1, 0, 0, 1, 0, 0]


def test_root_alone_is_a_tree() -> None:
    assert files.from_nested({"all": {}}, "job").labels == ("all",)


def test_only_child_of_the_same_name_is_padding() -> None:
    assert files.from_nested({"*": {"c": {"c": {}}, "d": ["d"]}}, "job").labels == ("*", "c", "d")


@pytest.mark.parametrize(
    ("nested", "code"),
    [
        ({}, "hierarchy.roots"),
        ({"zqa": {}, "zqb": {}}, "hierarchy.roots"),
        ({"*": {"zqX": ["zqa"], "zqY": ["zqa"]}}, "hierarchy.duplicate"),
        ({"*": {"zqX": ["zqa", "zqa"]}}, "hierarchy.duplicate"),
        ({"*": {"zqX": ["zqX", "zqa"]}}, "hierarchy.duplicate"),
        ({"*": {"zqX": ["zqa"], "zqX ": ["zqb"]}}, "hierarchy.duplicate"),
        ({"*": {"zqX": {"zqY": {"zqX": {}}}}}, "hierarchy.cycle"),
        ({"*": "zqa"}, "hierarchy.build"),
        ({"*": 5}, "hierarchy.build"),
        ({"*": None}, "hierarchy.build"),
        ({"*": {"zqX": ["zqa", 5]}}, "hierarchy.build"),
        ({"*": {"zqX": [{"zqa": {}}]}}, "hierarchy.build"),
        ({"*": {5: {}}}, "hierarchy.build"),
        (["zqa"], "hierarchy.build"),
    ],
)
def test_broken_nested_tables_are_refused(nested: Any, code: str) -> None:
    with refused(code):
        files.from_nested(nested, "job")


@pytest.mark.parametrize(
    ("name", "content", "code"),
    [
        ("h.toml", "zq = = {}", "hierarchy.unreadable"),
        ("h.toml", "[zqa]\n[zqa]\n", "hierarchy.unreadable"),
        ("h.toml", b"zq = '\xe9'", "hierarchy.unreadable"),
        ("h.toml", 'a = "zq"', "hierarchy.build"),
        ("h.json", '{"zq": {}', "hierarchy.unreadable"),
        ("h.json", "", "hierarchy.unreadable"),
        ("h.json", b'{"zq\xe9": {}}', "hierarchy.unreadable"),
        ("h.json", '{"a": ' * 100_000, "hierarchy.unreadable"),
        ("h.json", '{"a": ' + "1" * 5000 + "}", "hierarchy.unreadable"),
        ("h.json", '{"*": {"zqa": {}, "zqa": {"zqb": {}}}}', "hierarchy.duplicate"),
        ("h.json", "null", "hierarchy.build"),
    ],
)
def test_broken_nested_files_are_refused(tmp_path: Path, name: str, content: str | bytes, code: str) -> None:
    with refused(code):
        files.load(written(tmp_path, name, content), "job")


def test_fault_in_json_is_placed(tmp_path: Path) -> None:
    with refused("hierarchy.unreadable", 3):
        files.load(written(tmp_path, "h.json", '{"zqa":\n{"zqb": {}},\n,}'), "job")


def test_nested_chains_do_not_overflow() -> None:
    nested: dict[str, Any] = {}
    for node in range(5000):
        nested = {f"n{node}": nested}

    tree = files.from_nested(nested, "job")
    again: Any = files.to_nested(tree)

    assert tree.total_height == 4999
    for node in reversed(range(5000)):
        again = again[f"n{node}"]
    assert again == {}


# --- the right reader


@pytest.mark.parametrize("name", ["h.csv", "h.CSV", "h.tsv", "h.txt"])
def test_load_reads_tables(tmp_path: Path, name: str) -> None:
    assert files.load(written(tmp_path, name, "a;X;*\nb;X;*\nc;*\n"), "job") == SMALL


@pytest.mark.parametrize("name", ["h.json", "h.JSON"])
def test_load_reads_nested_tables(tmp_path: Path, name: str) -> None:
    assert files.load(written(tmp_path, name, json.dumps(files.to_nested(SMALL))), "job") == SMALL


@pytest.mark.parametrize("name", ["h.xlsx", "h", "h.csv.gz"])
def test_unknown_endings_are_refused_with_the_known_ones(tmp_path: Path, name: str) -> None:
    with refused("hierarchy.unreadable"):
        files.load(written(tmp_path, name, "a;*\n"), "job")
    with pytest.raises(HierarchyError, match=r"\.csv, \.tsv, \.txt, \.toml, \.json"):
        files.load(tmp_path / name, "job")


@pytest.mark.parametrize("name", ["none.csv", "none.toml", "none.json", "no\0ne.csv"])
def test_missing_files_are_refused(tmp_path: Path, name: str) -> None:
    with refused("hierarchy.unreadable"):
        files.load(tmp_path / name, "job")


@pytest.mark.parametrize("name", ["folder.csv", "folder.toml"])
def test_folders_are_refused(tmp_path: Path, name: str) -> None:
    (tmp_path / name).mkdir()
    with refused("hierarchy.unreadable"):
        files.load(tmp_path / name, "job")


# --- writing


def test_uneven_tree_is_written_with_lines_of_equal_length(tmp_path: Path) -> None:
    tree = Tree.from_paths([("a", "B", "A", "*"), ("c", "A", "*"), ("d", "*"), ("e", "E", "*")], "job")
    files.write_arx(tree, tmp_path / "h.csv")

    assert (tmp_path / "h.csv").read_bytes() == b"a;B;A;*\nc;c;A;*\nd;d;d;*\ne;E;E;*\n"


def test_missing_leaf_is_written_and_read(tmp_path: Path) -> None:
    files.write_arx(SMALL.with_missing(), tmp_path / "h.csv")

    assert files.read_arx(tmp_path / "h.csv", "job") == SMALL.with_missing()


def test_tree_that_cannot_be_written_is_an_output_error(tmp_path: Path) -> None:
    with pytest.raises(OutputError) as caught:
        files.write_arx(SMALL, tmp_path / "none" / "h.csv")
    assert caught.value.code == "output.unwritable"


LABELS = st.text(
    st.sampled_from(";,\t\"'\n\r *[]{}|\\#") | st.characters(exclude_categories=["Cs"]),
    min_size=1,
    max_size=5,
).map(normal_text)


@st.composite
def trees(draw: st.DrawFn) -> Tree:
    """Draw a tree, mostly uneven, with labels that try the quoting."""
    labels = draw(st.lists(LABELS.filter(bool), min_size=1, max_size=16, unique=True))
    parent: dict[str, str | None] = {labels[0]: None}
    for place, label in enumerate(labels[1:], 1):
        parent[label] = labels[draw(st.integers(0, place - 1))]
    return Tree.from_parents(parent, "job")


@given(trees())
@example(Tree.from_paths([("a,b",)], "job"))
@example(Tree.from_paths([("a\rb", "*")], "job"))
@example(Tree.from_paths([("a\tb", "*"), ("c", "*")], "job"))
@example(Tree.from_paths([('"', "x\ny", "*"), ("c", "*")], "job"))
def test_written_tables_read_back_as_the_same_tree(tree: Tree) -> None:
    with tempfile.TemporaryDirectory() as folder:
        files.write_arx(tree, Path(folder) / "h.csv")
        assert files.read_arx(Path(folder) / "h.csv", "job") == tree


@given(trees())
def test_nested_tables_read_back_as_the_same_tree(tree: Tree) -> None:
    nested = files.to_nested(tree)

    assert files.from_nested(nested, "job") == tree
    assert files.from_nested(json.loads(json.dumps(nested)), "job") == tree


@pytest.mark.parametrize(
    "tree",
    [
        build.intervals([1, 5, 22, 38], [5, 20], "job"),
        build.default_intervals([0.5, 1.25, 7.75], "job"),
        build.prefix(["123", "12", "19"], 1, "job"),
        build.flat(["a", "b"], "job"),
    ],
)
def test_built_trees_read_back(tmp_path: Path, tree: Tree) -> None:
    files.write_arx(tree, tmp_path / "h.csv")

    assert files.load(tmp_path / "h.csv", "job") == tree


# --- the hierarchies of Adult

ADULT_SHAPES = {
    "age": (100, 136, 4),
    "education": (16, 25, 3),
    "marital-status": (7, 10, 2),
    "native-country": (41, 47, 2),
    "occupation": (14, 18, 2),
    "race": (5, 6, 1),
    "salary-class": (2, 3, 1),
    "sex": (2, 3, 1),
    "workclass": (8, 12, 2),
}

needs_adult = pytest.mark.skipif(
    not ADULT.is_dir() and not os.environ.get("SHOAL_TEST_ALL"),
    reason=f"the Adult data set is not in {ADULT}; set SHOAL_DATA to the folder that has it",
)


@needs_adult
@pytest.mark.parametrize("column", ADULT_SHAPES)
def test_adult_hierarchies_have_their_shape(column: str) -> None:
    tree = files.load(ADULT / f"adult_hierarchy_{column}.csv", column)

    assert (tree.n_leaves, tree.n_nodes, tree.total_height) == ADULT_SHAPES[column]
    assert tree.labels[0] == "*"


@needs_adult
@pytest.mark.parametrize("column", ADULT_SHAPES)
def test_adult_hierarchies_survive_a_round_trip(column: str, tmp_path: Path) -> None:
    tree = files.load(ADULT / f"adult_hierarchy_{column}.csv", column)
    files.write_arx(tree, tmp_path / "h.csv")

    assert files.read_arx(tmp_path / "h.csv", column) == tree


@needs_adult
def test_adult_education_has_the_heights_of_its_file() -> None:
    tree = files.load(ADULT / "adult_hierarchy_education.csv", "education")
    codes = tree.codes(["Bachelors", "Some-college", "Masters", "Preschool"], "education")
    nodes = tree.lca(codes[[0, 0, 0]], codes[[1, 2, 3]])

    assert [tree.labels[node] for node in nodes] == ["Undergraduate", "Higher education", "*"]
    assert tree.height[nodes].tolist() == [1, 2, 3]
