"""`shoal hierarchy`: build, show and convert, as a user runs them."""

import datetime
import json
import os
import re
import tempfile
import tomllib
from pathlib import Path

import polars as pl
import pytest
import typer
from hypothesis import example, given
from hypothesis import strategies as st
from typer.testing import CliRunner

from shoal.cli import hierarchy
from shoal.datasets import write_hospital
from shoal.hierarchy import build, files
from shoal.hierarchy.picture import outline
from shoal.hierarchy.suggest import suggest
from shoal.hierarchy.tree import Tree
from shoal.recipe import Recipe
from shoal.table.encode import encode
from shoal.table.read import read
from tests.strategies import parents

MARKER = "zqMARKER"
KEYS = ["leaves", "nodes", "height", "even", "levels", "output"]
ENDINGS = (".csv", ".toml", ".json")

app = typer.Typer()
app.add_typer(hierarchy.app, name="hierarchy")


def shoal(*arguments):
    return CliRunner().invoke(app, ["hierarchy", *(str(argument) for argument in arguments)])


def done(*arguments):
    result = shoal(*arguments)
    assert result.exit_code == 0, result.output
    return result


def refused(code, *arguments):
    """The error's text of a command that must be refused with this code."""
    result = shoal(*arguments)
    assert result.exit_code == 2, result.output
    assert result.stderr.startswith(f"error [{code}]: ")
    assert result.stdout == ""
    return result.stderr


def lines_of(text):
    """The lines of a picture without the guides before the labels."""
    return [line.lstrip("│├└─ \N{NO-BREAK SPACE}") for line in text.splitlines()]


def left_in(folder):
    return sorted(path.name for path in folder.iterdir())


@pytest.fixture
def people(tmp_path, monkeypatch):
    """400 rows: each value of a column stands in 10 rows or more, but for one row with rare values."""
    monkeypatch.chdir(tmp_path)
    rows = [
        {
            "age": str(20 + i % 20),
            "zip": f"{10 + i % 3}0{i % 2}5",
            "day": f"2024-{1 + i % 4:02}-{1 + i % 2:02}",
            "job": ["cook", "nurse", "software developer"][i % 3],
            "share": f"{i % 4 / 2}",
        }
        for i in range(400)
    ]
    rows.append({"age": "83", "zip": "9999", "day": "1931-07-07", "job": MARKER, "share": ""})
    pl.DataFrame(rows).write_csv("people.csv")
    return tmp_path


def values_of(people, column):
    return (
        pl.read_csv(people / "people.csv", infer_schema=False)[column].drop_nulls().unique().sort().to_list()
    )


# --- build


@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize(
    ("column", "flags", "expected"),
    [
        ("age", ["--intervals", "5,10,40"], lambda v: build.intervals([int(x) for x in v], [5, 10, 40], "")),
        ("share", ["--intervals", "0.5,2.5"], lambda v: build.intervals([0, 0.5, 1, 1.5], [0.5, 2.5], "")),
        ("zip", ["--prefix", "1"], lambda v: build.prefix(v, 1, "")),
        ("age", ["--prefix", "2"], lambda v: build.prefix(v, 2, "")),
        (
            "day",
            ["--dates", "week"],
            lambda v: build.dates(map(datetime.date.fromisoformat, v), ["week"], ""),
        ),
        (
            "day",
            ["--dates", "month, quarter,decade"],
            lambda v: build.dates(map(datetime.date.fromisoformat, v), ["month", "quarter", "decade"], ""),
        ),
        ("age", ["--default"], lambda v: build.default_intervals([int(x) for x in v], "")),
        ("job", ["--default"], lambda v: build.flat(v, "")),
    ],
    ids=lambda value: "-".join(value) if isinstance(value, list) else None,
)
def test_build_writes_the_tree_of_each_builder(people, column, flags, expected, ending):
    out = people / f"tree{ending}"
    numbers = json.loads(done("build", "people.csv", "--column", column, *flags, "-o", out, "--json").stdout)
    tree = files.load(out, column)
    assert tree == expected(values_of(people, column))
    assert list(numbers) == KEYS
    assert (numbers["leaves"], numbers["nodes"], numbers["height"]) == (
        tree.n_leaves, tree.n_nodes, tree.total_height,
    )  # fmt: skip
    assert numbers["output"] == str(out)
    assert sum(numbers["levels"]) == tree.n_nodes
    assert left_in(people) == ["people.csv", f"tree{ending}"]


def test_default_intervals_of_dates_end_in_dates(people):
    done("build", "people.csv", "--column", "day", "--default", "-o", "day.csv")
    tree = files.load("day.csv", "day")
    assert tree.leaf_labels == tuple(values_of(people, "day"))
    assert tree.labels[1].startswith("[1931-07-07, 19")


def test_default_intervals_may_reach_the_end_of_the_calendar(tmp_path):
    (tmp_path / "t.csv").write_text("d\n9999-12-30\n9999-12-31\n9990-01-01\n", encoding="utf-8")
    done("build", tmp_path / "t.csv", "--column", "d", "--default", "-o", tmp_path / "d.csv")
    assert files.load(tmp_path / "d.csv", "d").n_leaves == 3


@pytest.mark.parametrize(
    ("column", "chosen"),
    [
        ("age", "numeric, 21 distinct values, 0 of 401 rows missing\nhierarchy: intervals of 1/16"),
        ("share", "numeric, 4 distinct values, 1 of 401 rows missing\nhierarchy: intervals of 1/16"),
        ("day", "date, 5 distinct values, 0 of 401 rows missing\nhierarchy: dates by month, year"),
        ("job", "categorical, 4 distinct values, 0 of 401 rows missing\nhierarchy: flat"),
    ],
)
def test_build_says_what_it_chose(people, column, chosen):
    text = done("build", "people.csv", "--column", column).stdout
    assert f"column `{column}`: {chosen}" in text
    assert "(chosen: " in text
    assert left_in(people) == ["people.csv"]


@pytest.mark.parametrize(
    ("values", "builder"),
    [
        (["I20", "J45"], "prefix"),
        (["01234", "99999"], "prefix"),
        (["K1A 0B1", "M5V 3L9"], "prefix"),
        (["1-a", "2/b"], "prefix"),
        (["DE", "FR"], "flat"),
        (["I20", "J4"], "flat"),
        (["I20"], "flat"),
        (["1", "x"], "flat"),
        (["I20", "I2*"], "flat"),
        (["I20 ", "I21 "], "flat"),
        (["year 2", "school"], "flat"),
    ],
)
def test_only_codes_of_one_length_get_prefixes(values, builder):
    assert suggest("categorical", values).builder == builder


def test_codes_are_recognized_in_a_file(tmp_path):
    (tmp_path / "t.csv").write_text("zip\n" + "01234\n" * 10 + "01299\n" * 10, encoding="utf-8")
    text = done("build", tmp_path / "t.csv", "--column", "zip").stdout
    assert "look like codes" in text
    assert "01234" in lines_of(text)


@pytest.mark.parametrize("column", ["age", "zip", "day", "job", "share"])
def test_a_recipe_takes_the_file_as_build_says(people, column):
    """What is printed under `in a recipe` is TOML, and the file covers the column."""
    text = done("build", "people.csv", "--column", column, "-o", "tree.csv").stdout
    section = tomllib.loads(text.partition("in a recipe:\n")[2])
    section["columns"]["default"] = "drop"
    recipe = Recipe.from_dict({"input": {"path": "people.csv"}, **section, "privacy": {"k": 2}})
    encoded = encode(read(Path("people.csv"), recipe.input), recipe)
    n_distinct = pl.read_csv("people.csv")[column].n_unique()  # a missing value is a leaf too
    assert encoded.columns[0].tree.n_leaves == n_distinct


def test_build_reads_parquet_and_odd_column_names(people):
    name = '^a "b".*$'
    pl.DataFrame({name: [1.5, 2.0, None]}).write_parquet("t.parquet")
    text = done("build", "t.parquet", "--column", name, "-o", "tree.toml").stdout
    assert files.load("tree.toml", name).leaf_labels == ("1.5", "2")
    assert tomllib.loads(text.partition("in a recipe:\n")[2])["columns"][name]["kind"] == "numeric"


def test_separator_and_missing_are_as_in_a_recipe(tmp_path):
    (tmp_path / "t.csv").write_text("x|y\na,b|1\nNA|2\n?|3\n|4\n", encoding="utf-8")
    path = tmp_path / "tree.csv"
    done(
        "build",
        tmp_path / "t.csv",
        "--column",
        "x",
        "--separator",
        "|",
        "--missing-values",
        "NA,?",
        "-o",
        path,
    )
    assert files.load(path, "x").leaf_labels == ("a,b",)
    (tmp_path / "t.txt").write_text("x\ty\na,b\t1\n", encoding="utf-8")
    done("build", tmp_path / "t.txt", "--column", "x", "--separator", "\\t", "-o", path)
    assert files.load(path, "x").leaf_labels == ("a,b",)


# --- what build does not show


@pytest.mark.parametrize(
    "flags", [[], ["--default"], ["--prefix", "1"], ["--prefix", "3"], ["--json"], ["-q"]]
)
@pytest.mark.parametrize("times", [1, 9])
def test_build_never_prints_a_rare_value(tmp_path, flags, times):
    cells = ["common"] * 50 + [MARKER] * times + [f"{MARKER}{i}" for i in range(8 - times)]
    (tmp_path / "t.csv").write_text("x\n" + "\n".join(cells), encoding="utf-8")
    for target in ([], ["-o", tmp_path / "tree.csv"], ["-o", tmp_path / "no" / "tree.csv"]):
        result = shoal("build", tmp_path / "t.csv", "--column", "x", *flags, *target)
        # Not even masked: `zqMARKE*` says nearly all.
        assert "zq" not in result.output
        if not {"--json", "-q"} & set(flags) and len(target) == 0:
            assert "common" in lines_of(result.stdout)
            assert "rarer value" in result.stdout
    assert MARKER in (tmp_path / "tree.csv").read_text(encoding="utf-8")


def test_a_value_of_ten_rows_is_shown_and_of_nine_is_counted(tmp_path):
    cells = ["ten"] * 10 + ["nine"] * 9 + ["eight"] * 8
    (tmp_path / "t.csv").write_text("x\n" + "\n".join(cells), encoding="utf-8")
    lines = lines_of(done("build", tmp_path / "t.csv", "--column", "x").stdout)
    assert "ten" in lines
    assert "nine" not in lines
    assert "… 2 rarer values" in lines


@pytest.mark.parametrize("flags", [["--intervals", "1,10"], ["--intervals", "1"], ["--default"], []])
def test_no_interval_gives_a_rare_number_away(tmp_path, flags):
    """[41, 41] is the value itself, and the default intervals are counted from the smallest value."""
    cells = ["8041"] + [str(9000 + i % 30) for i in range(600)]
    (tmp_path / "t.csv").write_text("x\n" + "\n".join(cells), encoding="utf-8")
    result = done("build", tmp_path / "t.csv", "--column", "x", *flags)
    assert "8041" not in result.output
    # Nor what lies beside it: the width is known, so the next interval's end would tell as much.
    shown = [line for line in lines_of(result.stdout) if line.startswith("[8")]
    assert shown == []
    assert "9000" in result.stdout


@pytest.mark.parametrize(
    ("first", "last", "values", "hidden"),
    [
        (10, 10, ["1", "90"], False),
        (9, 10, ["1", "90"], True),
        (10, 9, ["1", "90"], False),  # an end of whole intervals is no value
        (10, 10, ["1.5", "90"], False),
        (9, 10, ["1.5", "90"], True),
        (10, 9, ["1.5", "90"], True),
    ],
)
def test_ends_are_hidden_where_they_are_rare_values(tmp_path, first, last, values, hidden):
    cells = [values[0]] * first + ["30"] * 20 + [values[1]] * last
    (tmp_path / "t.csv").write_text("x\n" + "\n".join(cells), encoding="utf-8")
    result = done("build", tmp_path / "t.csv", "--column", "x")
    assert ("[…, …] (2 leaves)" in lines_of(result.stdout)) == hidden
    assert ("use --intervals for round ends" in result.stderr) == hidden
    assert (f"[{values[0]}, " in result.stdout) != hidden


def test_a_file_is_announced_as_private(people):
    for flags in ([], ["--json"]):
        result = done("build", "people.csv", "--column", "job", "-o", "tree.csv", *flags)
        assert "note: the file lists every value of the column" in result.stderr
        assert "note" not in result.stdout
    assert done("build", "people.csv", "--column", "job").stderr == ""
    assert done("build", "people.csv", "--column", "job", "-o", "tree.csv", "-q").output == ""


# --- build: refusals


def test_an_unknown_column_is_guessed_but_the_header_not_listed(people):
    text = refused("recipe.unknown_column", "build", "people.csv", "--column", "jop")
    assert "did you mean `job`?" in text
    text = refused("recipe.unknown_column", "build", "people.csv", "--column", "qqqqqq")
    assert "share" not in text


@pytest.mark.parametrize(
    ("flags", "named"),
    [
        (["--intervals", "5", "--prefix", "1"], "--intervals and --prefix"),
        (["--dates", "month", "--default"], "--dates and --default"),
        (["--prefix", "1", "--intervals", "", "--default"], "--intervals, --prefix and --default"),
    ],
)
def test_two_builders_are_refused(people, flags, named):
    assert named in refused("recipe.invalid", "build", "people.csv", "--column", "age", *flags)


@pytest.mark.parametrize(
    ("code", "column", "flags"),
    [
        ("recipe.invalid", "age", ["--intervals", "5,x"]),
        ("hierarchy.build", "age", ["--intervals", ""]),
        ("hierarchy.build", "age", ["--intervals", "10,5"]),
        ("hierarchy.build", "age", ["--intervals", "nan"]),
        ("hierarchy.build", "age", ["--intervals", "1e999"]),
        ("hierarchy.build", "day", ["--dates", "year,month"]),
        ("hierarchy.build", "day", ["--dates", "fortnight"]),
        ("hierarchy.build", "day", ["--dates", ""]),
        ("data.kind", "job", ["--intervals", "5"]),
        ("data.kind", "age", ["--dates", "year"]),
        ("recipe.invalid", "age", ["--separator", "ab"]),
        ("recipe.invalid", "age", ["--separator", '"']),
        ("output.unwritable", "age", ["-o", "tree.parquet"]),
        ("output.unwritable", "age", ["-o", "tree"]),
        ("output.unwritable", "age", ["-o", "no/tree.csv"]),
        ("output.unwritable", "age", ["-o", "people.csv"]),
        ("output.unwritable", "age", ["-o", "./people.csv"]),
    ],
)
def test_bad_flags_are_refused_and_nothing_is_left(people, code, column, flags):
    before = (people / "people.csv").read_bytes()
    assert MARKER not in refused(code, "build", "people.csv", "--column", column, *flags)
    assert left_in(people) == ["people.csv"]
    assert (people / "people.csv").read_bytes() == before


@pytest.mark.parametrize(
    "arguments",
    [
        ["build", "people.csv"],
        ["build", "--column", "age"],
        ["build", "people.csv", "--column", "age", "--prefix", "0"],
        ["build", "people.csv", "--column", "age", "--prefix", "x"],
        ["build", "people.csv", "--column", "age", "--frobnicate"],
        ["show"],
        ["show", "people.csv", "--depth", "0"],
        ["convert", "people.csv"],
        ["frobnicate"],
    ],
)
def test_wrong_usage(people, arguments):
    result = shoal(*arguments)
    assert (result.exit_code, result.stdout) == (2, "")
    assert "Usage: " in result.stderr


def test_errors_are_json_too(people):
    result = shoal("build", "people.csv", "--column", "jop", "--json")
    assert result.exit_code == 2
    assert json.loads(result.stdout)["error"]["code"] == "recipe.unknown_column"


def test_a_table_that_cannot_be_read(people):
    refused("data.unreadable", "build", "nothing.csv", "--column", "x")
    (people / "bad.parquet").write_bytes(b"no")
    refused("data.unreadable", "build", "bad.parquet", "--column", "x")
    (people / "empty.csv").write_text("x,y\n,1\n,2\n", encoding="utf-8")
    assert "all of its values are missing" in refused(
        "hierarchy.build", "build", "empty.csv", "--column", "x"
    )


def test_a_value_like_the_root_cannot_be_written(tmp_path):
    (tmp_path / "t.csv").write_text("x\n*\na\n", encoding="utf-8")
    for ending in ENDINGS:
        target = tmp_path / f"tree{ending}"
        refused("hierarchy.duplicate", "build", tmp_path / "t.csv", "--column", "x", "-o", target)
    assert left_in(tmp_path) == ["t.csv"]
    done("build", tmp_path / "t.csv", "--column", "x", "--missing-values", "*", "-o", tmp_path / "tree.csv")


# --- show

COUNTRIES = "France;Europe;*\nPoland;Europe;*\nChile;America;*\nother;*\n"


@pytest.fixture
def countries(tmp_path):
    path = tmp_path / "countries.csv"
    path.write_text(COUNTRIES, encoding="utf-8")
    return path


def test_show_draws_the_whole_tree(countries):
    assert done("show", countries).stdout == (
        "* (4 leaves)\n"
        "├── Europe (2 leaves)\n"
        "│   ├── France\n"
        "│   └── Poland\n"
        "├── America (1 leaf)\n"
        "│   └── Chile\n"
        "└── other\n"
        "\n"
        "4 leaves, 7 nodes, height 2, uneven: leaves at depths from 1 to 2\n"
        "nodes at each depth: 1, 3, 3\n"
    )


@pytest.mark.parametrize("ending", [".toml", ".json"])
def test_show_reads_every_layout(countries, ending):
    converted = countries.with_suffix(ending)
    done("convert", countries, converted)
    assert done("show", converted).stdout == done("show", countries).stdout


def test_show_as_json(countries):
    assert json.loads(done("show", countries, "--json").stdout) == {
        "leaves": 4, "nodes": 7, "height": 2, "even": False, "levels": [1, 3, 3], "output": None,
    }  # fmt: skip
    assert done("show", countries, "--quiet").output == ""


def test_depth_ends_the_picture(countries):
    lines = lines_of(done("show", countries, "--depth", 1, "--column", "country").stdout)
    assert lines[:5] == [
        "hierarchy of column `country`", "* (4 leaves)", "Europe (2 leaves)", "America (1 leaf)", "other",
    ]  # fmt: skip
    assert "France" not in lines
    assert "Chile" in lines_of(done("show", countries, "--depth", 2).stdout)


def test_long_lists_are_shortened(tmp_path):
    path = tmp_path / "h.csv"
    for n_leaves, more in ((9, None), (10, "… 2 more"), (1208, "… 1,200 more")):
        path.write_text("".join(f"v{i};*\n" for i in range(n_leaves)), encoding="utf-8")
        lines = lines_of(done("show", path).stdout)
        assert [line for line in lines if "more" in line] == ([more] if more else [])
        assert ("v8" in lines) == (more is None)


def test_a_large_tree_is_short_but_reaches_a_leaf(tmp_path):
    path = tmp_path / "h.csv"
    files.write_arx(build.prefix([f"{i:05}" for i in range(20000)], 1, "zip"), path)
    text = done("show", path).stdout
    assert len(text.splitlines()) < 80
    assert "00000" in lines_of(text)
    assert "use --depth to expand more" in text
    assert "--depth" not in done("show", path, "--depth", 2).stdout


@given(parents(max_nodes=60), st.integers(1, 6))
def test_an_outline_accounts_for_every_node(parent, depth):
    """Every child of an opened node is shown or counted, and a given depth opens all above it."""
    tree = Tree.from_parents(parent, "x")
    for root in (outline(tree), outline(tree, depth)):
        stack = [(root, 0)]
        while stack:
            branch, at = stack.pop()
            below = [label for label, above in parent.items() if above == branch.label]
            assert branch.n_leaves >= len(branch.children)
            assert branch.is_leaf == (not below)
            if branch.children:
                assert len(branch.children) + branch.n_more == len(below)
                assert [child.label for child in branch.children] == below[: len(branch.children)]
            else:
                assert branch.is_closed == bool(below)
            stack += [(child, at + 1) for child in branch.children]


@given(parents(max_nodes=30), st.data())
def test_an_outline_with_rows_shows_no_rare_node(parent, data):
    tree = Tree.from_parents(parent, "x")
    cell = st.integers(1, 25)
    rows = data.draw(st.lists(cell, min_size=tree.n_leaves, max_size=tree.n_leaves))
    of_leaf = dict(zip(tree.leaf_labels, rows, strict=True))

    def n_rows(node):
        below = [label for label, above in parent.items() if above == node]
        return sum(map(n_rows, below)) if below else of_leaf[node]

    def n_leaves(node):
        below = [label for label, above in parent.items() if above == node]
        return sum(map(n_leaves, below)) if below else 1

    stack = [outline(tree, 30, rows)]
    while stack:
        branch = stack.pop()
        assert branch.label == "n0" or n_rows(branch.label) >= 10
        below = [label for label, above in parent.items() if above == branch.label]
        assert branch.n_rarer == sum(n_leaves(label) for label in below if n_rows(label) < 10)
        stack += branch.children


def test_labels_cannot_command_the_terminal(tmp_path):
    path = tmp_path / "h.json"
    labels = ["\x1b[31mred", "[bold]x[/bold]", "\u202eabc", "z" * 300, "日本" * 60, ""]
    path.write_text(json.dumps({"*": {label: {} for label in labels} | {"\ud800": {}}}), encoding="utf-8")
    lines = lines_of(done("show", path).stdout)
    assert lines[1:4] == [r"\x1b[31mred", "[bold]x[/bold]", r"\u202eabc"]
    assert lines[4].startswith("zzz")
    assert lines[4].endswith("…")
    assert lines[6:8] == ['""', r"\ud800"]
    assert max(map(len, lines)) <= 110


@pytest.mark.parametrize(
    ("name", "content", "code"),
    [
        ("h.csv", f"{MARKER};b;*\nb;{MARKER};*\n", "hierarchy.cycle"),
        ("h.csv", f"{MARKER};x\nb;y\n", "hierarchy.roots"),
        ("h.csv", f"{MARKER};x;*\n{MARKER};y;*\n", "hierarchy.duplicate"),
        ("h.csv", f'"{MARKER};x\n', "hierarchy.unreadable"),
        ("h.json", f'{{"{MARKER}": ', "hierarchy.unreadable"),
        ("h.json", f'{{"*": ["{MARKER}", "{MARKER}"]}}', "hierarchy.duplicate"),
        ("h.toml", f'"*" = ["{MARKER}", 3]', "hierarchy.build"),
        ("h.toml", MARKER, "hierarchy.unreadable"),
        ("h.xml", MARKER, "hierarchy.unreadable"),
    ],
)
def test_broken_hierarchies_are_refused(tmp_path, name, content, code):
    path = tmp_path / name
    path.write_text(content, encoding="utf-8")
    text = refused(code, "show", path)
    assert "`h." in text
    assert "`job`" in refused(code, "show", path, "--column", "job")
    for ending in ENDINGS:
        refused(code, "convert", path, tmp_path / f"out{ending}")
    assert MARKER not in text
    assert left_in(tmp_path) == [name]


def test_a_hierarchy_that_is_not_there(tmp_path):
    assert "check the path" in refused("hierarchy.unreadable", "show", tmp_path / "no.csv")
    refused("hierarchy.unreadable", "show", tmp_path)
    refused("hierarchy.unreadable", "convert", tmp_path / "no.csv", tmp_path / "out.csv")
    assert left_in(tmp_path) == []


# --- convert


def there_and_back(tree, endings):
    """Convert from ending to ending; return the tree of each file."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "start.csv"
        files.write_arx(tree, path)
        trees = []
        for at, ending in enumerate(endings):
            target = Path(folder) / f"{at}{ending}"
            done("convert", path, target, "-q")
            trees.append(files.load(target, "x"))
            path = target
        return trees


@given(parents(max_nodes=14), st.permutations(ENDINGS))
def test_conversions_keep_the_tree(parent, endings):
    tree = Tree.from_parents(parent, "x")
    # Round to the first ending again, so that each is read as well as written.
    assert there_and_back(tree, [*endings, endings[0], ".csv"]) == [tree] * 5


LABEL = st.text(st.characters(exclude_categories=["Cs"]), max_size=5).map(files.normal_text)


@given(st.lists(LABEL, unique=True, min_size=1, max_size=8), st.sampled_from(ENDINGS[1:]))
@example(['"', "\\", "\x7f", "a.b", "=", "#", "[x]", "\x00", "a\x85a", "a\nb", "'''"], ".toml")
@example(["", "*x", "a;b", "a,b", "{}", "a\u2028b"], ".toml")
@example(["a" * 60, "b" * 60], ".toml")
def test_any_label_survives(labels, ending):
    group = [[label, "group", "*"] for label in labels if label not in ("group", "*")]
    tree = Tree.from_paths([*group, ["single", "*"]] if "single" not in labels else [["a", "*"]], "x")
    assert there_and_back(tree, [ending, ".csv"]) == [tree, tree]


def test_nested_files_are_made_to_be_read(countries):
    done("convert", countries, countries.with_suffix(".toml"))
    assert countries.with_suffix(".toml").read_text(encoding="utf-8") == (
        '"*"."Europe" = ["France", "Poland"]\n"*"."America" = ["Chile"]\n"*"."other" = {}\n'
    )
    done("convert", countries, countries.with_suffix(".json"))
    assert json.loads(countries.with_suffix(".json").read_text(encoding="utf-8")) == {
        "*": {"Europe": ["France", "Poland"], "America": ["Chile"], "other": {}}
    }


def test_convert_tells_the_numbers(countries):
    out = countries.with_suffix(".JSON")
    numbers = {"leaves": 4, "nodes": 7, "height": 2, "output": str(out)}
    assert json.loads(done("convert", countries, out, "--json").stdout) == numbers
    assert f"written: {out}" in done("convert", countries, out).stdout


def test_an_existing_file_is_replaced_and_a_failure_leaves_it(countries):
    out = countries.with_name("out.csv")
    out.write_text("old", encoding="utf-8")
    done("convert", countries, out)
    assert out.read_text(encoding="utf-8").startswith("France;Europe;*\n")
    assert files.load(out, "x") == files.load(countries, "x")


def test_a_failed_write_leaves_the_old_file(countries, monkeypatch):
    out = countries.with_name("out.toml")
    out.write_text("old", encoding="utf-8")

    def fail(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", fail)
    assert "No space left on device" in refused("output.unwritable", "convert", countries, out)
    assert out.read_text(encoding="utf-8") == "old"
    assert left_in(countries.parent) == ["countries.csv", "out.toml"]


@pytest.mark.parametrize(
    "target",
    ["no/out.csv", "folder.csv", "out.xml", "out", "countries.csv/out.csv", "o" * 300 + ".csv"],
)
def test_unwritable_targets(countries, target):
    (countries.parent / "folder.csv").mkdir()
    refused("output.unwritable", "convert", countries, countries.parent / target)
    assert left_in(countries.parent) == ["countries.csv", "folder.csv"]
    assert countries.read_text(encoding="utf-8") == COUNTRIES


def test_what_a_file_cannot_hold_is_refused(tmp_path):
    """A tree that would not be the same when read back is not written at all."""
    deep = tmp_path / "deep.csv"
    deep.write_text(";".join(f"c{i}" for i in range(3000)) + "\n", encoding="utf-8")
    refused("output.unwritable", "convert", deep, tmp_path / "out.json")
    half = tmp_path / "half.json"
    half.write_text('{"*": ["\\ud800x", "b"]}', encoding="utf-8")
    for ending in ENDINGS:
        text = refused("output.unwritable", "convert", half, tmp_path / f"out{ending}")
        assert "cannot be represented in a " in text
    assert left_in(tmp_path) == ["deep.csv", "half.json"]
    done("convert", deep, tmp_path / "out.csv")


def test_values_that_a_file_would_trim_are_refused(tmp_path):
    """Python takes more signs for spaces than the reader of tables does."""
    (tmp_path / "t.csv").write_text("x\n\x1fa\nb\n", encoding="utf-8")
    for ending in ENDINGS:
        target = tmp_path / f"tree{ending}"
        refused("output.unwritable", "build", tmp_path / "t.csv", "--column", "x", "-o", target)
    assert left_in(tmp_path) == ["t.csv"]


def test_the_real_hierarchies_of_adult_survive(data_folder, tmp_path):
    paths = sorted((data_folder / "adult").glob("*hierarchy*.csv"))
    assert paths
    for path in paths:
        done("show", path)
        done("convert", path, tmp_path / "h.toml")
        done("convert", tmp_path / "h.toml", tmp_path / "h.csv")
        assert files.load(tmp_path / "h.csv", "x") == files.load(path, "x")


# --- the guide


def test_the_guide_shows_what_the_commands_print(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_hospital(tmp_path, 10_000, 0)  # as `shoal demo` does
    page = (Path(__file__).parents[2] / "docs" / "hierarchies.md").read_text(encoding="utf-8")
    runs = re.findall(r"```\n\$ shoal hierarchy (.*)\n([^`]*(?:`[^`]+`[^`]*)*)```\n", page)
    assert [command.split()[0] for command, _ in runs] == ["build", "build", "show", "convert"]
    for command, shown in runs:
        result = done(*command.split())
        assert result.stdout + result.stderr == shown
    (block,) = re.findall(r"```toml\n(.*?)```", page, flags=re.DOTALL)
    assert (tmp_path / "profession.toml").read_text(encoding="utf-8").startswith(block)


def test_the_guide_shows_recipes_that_are_valid():
    page = (Path(__file__).parents[2] / "docs" / "hierarchies.md").read_text(encoding="utf-8")
    forms = re.findall(r"^\| `(hierarchy = .*?)` \|", page, flags=re.MULTILINE)
    assert len(forms) == 7
    for form in forms:
        column = {"role": "quasi", **tomllib.loads(form)}
        Recipe.from_dict({"columns": {"x": column}, "privacy": {"k": 2}})
    (nested,) = [tomllib.loads(form)["hierarchy"] for form in forms if "heart" in form]
    assert files.from_nested(nested, "x").leaf_labels == ("I20", "I21", "other")
