"""Releases by other tools: how their labels are read, what they cost, and what is refused."""

import json
from pathlib import Path

import polars as pl
import pytest

from shoal.errors import DataError
from shoal.recipe import Recipe
from shoal.workflow.measure import measure_tables
from tests.bad_input_cases import run

AGES = [10, 20, 30, 40, 50]  # a range of 40
CODES = ["11", "12", "21", "22", "31"]
TREE = {"any": {"1*": ["11", "12"], "2*": ["21", "22"], "3*": ["31"]}}


def measured(folder, raw, cells, *, separator=",", missing=(), k=2, **column):
    """Measure one quasi column `q` with these raw values and these released cells."""
    pl.DataFrame({"q": raw}).write_csv(folder / "raw.csv")
    lines = ["q", *(f'"{cell}"' for cell in cells)]
    (folder / "out.csv").write_text("\n".join(lines) + "\n")
    recipe = Recipe.from_dict(
        {
            "input": {"path": str(folder / "raw.csv"), "missing": ["", *missing]},
            "columns": {"q": {"role": "quasi", **column}},
            "privacy": {"k": k},
        }
    )
    return measure_tables(recipe, folder / "out.csv", bound=False)


def gcp(*arguments, **options):
    return measured(*arguments, **options)["loss"]["gcp"]


def refused(*arguments, **options):
    """The message of the only fault, which must be `data.labels`."""
    with pytest.raises(DataError) as caught:
        measured(*arguments, **options)
    assert [fault.code for fault in caught.value.faults] == ["data.labels"]
    return caught.value.message


@pytest.mark.parametrize(
    ("label", "cost"),
    [
        ("[10, 31[", 20 / 40),  # whole numbers: 10 to 30
        ("[10, 31)", 20 / 40),
        ("[10,31)", 20 / 40),
        ("]9, 30]", 20 / 40),
        ("(9,30]", 20 / 40),
        ("(9, 31)", 20 / 40),
        ("[10,30]", 20 / 40),
        ("(9.5,30.5]", 20 / 40),  # R cuts between whole numbers
        ("[1e+01,3e+01]", 20 / 40),
        ("10-30", 20 / 40),
        ("10 - 30", 20 / 40),
        (">=30", 20 / 40),  # up to the highest age
        (">29", 20 / 40),
        ("<31", 20 / 40),  # from the lowest age
        ("<=30", 20 / 40),
        ("{10, 30}", 20 / 40),
        ("[50, 51[", 0.0),
        ("3*", 9 / 40),  # 30 to 39
        ("**", 1.0),
        ("NA", 1.0),
        ("", 1.0),  # no age is missing in the raw table
        ("[0, 100[", 1.0),  # beyond the table's range, but never more than all
        ("[0, 20[", 19 / 40),  # 0 to 19; what lies outside counts, as it does for bounds on a grid
        ("30.0", 0.0),
    ],
)
def test_a_label_of_another_tool_costs_its_width(tmp_path, label, cost):
    assert gcp(tmp_path, AGES, [label] * 5) == pytest.approx(cost)


def test_a_half_open_interval_over_decimals_reaches_to_its_end(tmp_path):
    raw = ["10", "20.5", "50"]
    assert gcp(tmp_path, raw, ["[10, 30["] * 3) == pytest.approx(20 / 40)
    assert gcp(tmp_path, raw, ["<20.5"] * 3) == pytest.approx(10.5 / 40)


@pytest.mark.parametrize(
    ("label", "days"),
    [
        ("[2024-01-01, 2024-01-31[", 29),
        ("(2023-12-31,2024-01-30]", 29),
        ("2024-01", 30),
        ("01/2024", 30),
        ("2024", 365),
        ("[2020, 2030[", 365),
        (">=2024-12-01", 30),
        ("<2024-01-11", 9),
    ],
)
def test_intervals_and_calendar_periods_of_dates(tmp_path, label, days):
    raw = ["2024-01-01", "2024-01-30", "2024-12-31"]  # a range of 365 days
    assert gcp(tmp_path, raw, [label] * 3) == pytest.approx(days / 365)


def test_intervals_of_ordered_values(tmp_path):
    order = {"kind": "ordinal", "order": ["low", "mid", "high", "top", "peak"]}
    raw = ["low", "mid", "high", "top", "peak"]
    for label in ("[low,high]", "[low, top[", "<=high", "{low, high}"):
        assert gcp(tmp_path, raw, [label] * 5, **order) == pytest.approx(2 / 4)


def test_a_masked_ending_is_a_node_where_the_tree_has_it_and_a_set_where_there_is_none(tmp_path):
    zips = ["14801", "14802", "14901", "25000"]
    assert gcp(tmp_path, zips, ["148**"] * 4, hierarchy={"prefix": 1}) == pytest.approx(2 / 5)
    assert gcp(tmp_path, zips, ["148**"] * 4, kind="categorical") == 1.0
    assert gcp(tmp_path, zips, ["25***"] * 4, kind="categorical") == 0.0  # one value only
    assert gcp(tmp_path, zips, ["148**"] * 4, kind="numeric") == pytest.approx(99 / (25000 - 14801))
    assert "4 cells" in refused(tmp_path, zips, ["147**"] * 4, kind="categorical")
    assert "4 cells" in refused(tmp_path, zips, ["147**"] * 4, hierarchy={"prefix": 1})


def test_digits_are_not_masked_where_numbers_differ_in_length(tmp_path):
    assert "3 cells with 1 label" in refused(tmp_path, [5, 30, 120], ["3*"] * 3)


def test_an_interval_is_the_node_that_says_the_same(tmp_path):
    # Without 25 to 29, [20, 24] and [20, 29] hold the same ages; the labels tell them apart.
    raw = [20, 21, 24, 41]
    tree = {"hierarchy": {"intervals": [5, 10, 20]}}  # four levels up to the root
    assert gcp(tmp_path, raw, ["[20, 25["] * 4, **tree) == pytest.approx(1 / 4)
    assert gcp(tmp_path, raw, ["(19,29]"] * 4, **tree) == pytest.approx(2 / 4)
    assert gcp(tmp_path, raw, ["20-39"] * 4, **tree) == pytest.approx(3 / 4)
    assert gcp(tmp_path, raw, ["20.0"] * 4, **tree) == 0.0
    assert "4 cells with 1 label" in refused(tmp_path, raw, ["[20, 26["] * 4, **tree)


def test_the_root_of_a_hierarchy_costs_everything_by_its_own_name(tmp_path):
    assert gcp(tmp_path, CODES, ["any"] * 5, hierarchy=TREE) == 1.0
    assert gcp(tmp_path, CODES, ["1*"] * 5, hierarchy=TREE) == pytest.approx(1 / 2)


def test_raw_values_and_nodes_win_over_another_style(tmp_path):
    bands = ["10-20", "20-30", "NA", "[x]", "4*"]
    found = measured(tmp_path, bands, bands, k=1 + 1, kind="categorical")
    assert found["loss"]["gcp"] == 0.0
    assert found["read_as"] == {}
    tree = {"hierarchy": {"*": {"<30": ["10-20", "20-30"], ">=30": ["NA", "4*", "[x]"]}}}
    found = measured(tmp_path, bands, [">=30", "<30", "NA", "4*", "10-20"], **tree)
    assert found["loss"]["gcp"] == pytest.approx((1 / 2 + 1 / 2) / 5)
    assert found["read_as"] == {}


def test_empty_cells_beyond_the_missing_ones_are_suppressed(tmp_path):
    raw = [10, 20, 30, 50, None]
    found = measured(tmp_path, raw, ["10", "20", "NA", "NA", "NA"])
    assert found["loss"]["gcp"] == pytest.approx(2 / 5)  # one of the three was missing before
    assert found["read_as"] == {
        "q": [{"style": "suppressed cell", "cells": 2}, {"style": "missing mark", "cells": 1}]
    }
    own = measured(tmp_path, raw, ["[10, 20]", "[10, 20]", "[30, 50]", "[30, 50]", ""])
    assert own["read_as"] == {}
    assert own["loss"]["gcp"] == pytest.approx((10 + 10 + 20 + 20) / 40 / 5)


def test_the_texts_for_missing_of_the_recipe_are_no_labels(tmp_path):
    found = measured(tmp_path, ["10", "20", "?", "50"], ["10", "20", "?", "50"], missing=["?"])
    assert found["loss"]["gcp"] == 0.0
    assert found["read_as"] == {"q": [{"style": "missing mark", "cells": 1}]}


def test_how_labels_were_read_is_counted(tmp_path):
    cells = ["[10, 21[", "[10, 21[", ">=30", "40", "*"]
    assert measured(tmp_path, AGES, cells)["read_as"] == {
        "q": [{"style": "half-open interval", "cells": 2}, {"style": "threshold", "cells": 1}]
    }
    assert measured(tmp_path, AGES, ["[10, 20]", "[10, 20]", "[30, 50]", "[30, 50]"])["read_as"] == {}


@pytest.mark.parametrize(
    "label",
    [
        "nonsense", "[30, 10]", "[30, 10[", "[30, 30[", "30-10", "[10; 30]", "[10, 30", "{10, x}", "nan",
        "inf", "1_0", ">=", "35", "[31, 39]", "[31, 40[", "[60, 90]", ">=51", "<10", "[x, 30]", "\\10x",
    ],
)  # fmt: skip
def test_an_unreadable_number_is_refused(tmp_path, label):
    message = refused(tmp_path, AGES, ["10", "20", label, label, "[40, 50]"])
    assert "`q`" in message
    assert "2 cells with 1 label" in message
    assert label not in message


@pytest.mark.parametrize("label", ["2024-13-01", "20240101", "2025-01-01", "01/2025", "2023", "[2020, 2024["])
def test_an_unreadable_date_is_refused(tmp_path, label):
    raw = ["2024-01-01", "2024-01-30", "2024-12-31"]
    assert "1 cell with 1 label" in refused(tmp_path, raw, [raw[0], raw[1], label])


def test_an_unreadable_category_is_refused(tmp_path):
    flat = {"kind": "categorical"}
    raw = ["a", "b", "c", "d"]
    assert gcp(tmp_path, raw, ["{b, a}", "{b, a}", "c", "d"], **flat) == pytest.approx(2 / 4)
    assert "2 cells with 2 labels" in refused(tmp_path, raw, ["a", "b", "x", "{a, x}"], **flat)
    order = {"kind": "ordinal", "order": raw}
    assert "3 cells with 3 labels" in refused(tmp_path, raw, ["a", "x", "[c, a]", "[a, x]"], **order)
    tree = {"hierarchy": TREE}
    assert "2 cells with 2 labels" in refused(tmp_path, CODES, ["11", "1*", "9*", "{11, 12}"], **tree)


def test_unreadable_bounds_of_two_columns_are_refused(tmp_path):
    pl.DataFrame({"q": AGES}).write_csv(tmp_path / "raw.csv")
    recipe = Recipe.from_dict(
        {
            "input": {"path": str(tmp_path / "raw.csv")},
            "columns": {"q": {"role": "quasi"}},
            "privacy": {"k": 2},
            "output": {"bounds_as": "columns"},
        }
    )
    out = tmp_path / "out.csv"
    out.write_text("q_low,q_high\n10,30\n10,30\n,\n30,30\n")
    found = measure_tables(recipe, out, bound=False)
    assert found["loss"]["gcp"] == pytest.approx((20 / 40 + 20 / 40 + 1 + 0 + 1) / 5)
    out.write_text("q_low,q_high\n30,10\n10,x\n10,\n10,20\n")
    with pytest.raises(DataError) as caught:
        measure_tables(recipe, out, bound=False)
    assert "3 cells with 3 labels" in caught.value.message


@pytest.fixture
def two_columns(tmp_path):
    """A raw table and its recipe, with marks that may not be shown."""
    table = {"age": AGES, "town": ["x", "x", "y", "y", "z"], "ill": list("abcde")}
    pl.DataFrame(table).write_csv(tmp_path / "raw.csv")
    recipe = Recipe.from_roles(quasi=["age", "town"], sensitive=["ill"], k=2)
    (tmp_path / "recipe.toml").write_text(recipe.to_toml())
    return tmp_path


def measure_command(folder: Path, *flags: str):
    files = (folder / "raw.csv", "--recipe", folder / "recipe.toml", "--released", folder / "out.csv")
    return run("measure", *files, "--no-bound", *flags)


def test_unreadable_labels_of_all_columns_are_reported_at_once(two_columns):
    (two_columns / "out.csv").write_text("age,town,ill\nMARK1,x,a\nMARK1,MARK2,b\n30,MARK3,c\n")
    result = measure_command(two_columns, "--json")
    assert result.exit_code == 2
    faults = json.loads(result.stdout)["error"]["faults"]
    assert [fault["code"] for fault in faults] == ["data.labels", "data.labels"]
    assert "`age`" in faults[0]["message"]
    assert "2 cells with 1 label" in faults[0]["message"]
    assert "`town`" in faults[1]["message"]
    assert "2 cells with 2 labels" in faults[1]["message"]
    assert "MARK" not in result.stdout + result.stderr


def test_the_terminal_says_how_labels_were_read(two_columns):
    (two_columns / "out.csv").write_text('age,town,ill\n"[10, 21[",x,a\n"[10, 21[",x,b\n>=30,*,c\n')
    result = measure_command(two_columns)
    assert result.exit_code == 0, result.stderr
    lines = [line for line in result.stdout.splitlines() if "read as" in line]
    assert lines == ["age: read as half-open interval (2 cells), threshold (1 cell)"]


def test_rows_that_lost_everything_in_a_file_of_another_tool_are_suppressed(two_columns):
    # ARX keeps suppressed rows as stars; shoal leaves them out.
    kept = 'age,town,ill\n"[10, 21[",x,a\n"[10, 21[",x,b\n"[30, 41[",y,c\n"[30, 41[",y,d\n'
    (two_columns / "out.csv").write_text(kept)
    without = json.loads(measure_command(two_columns, "--json").stdout)
    (two_columns / "out.csv").write_text(kept + "*,*,e\n")
    with_stars = json.loads(measure_command(two_columns, "--json").stdout)
    assert with_stars == without
    assert without["suppressed"] == 1
    assert without["k"] == 2
    assert without["loss"]["dm"] == 2 * 2 + 2 * 2 + 5


def test_a_class_of_shoal_that_lost_everything_is_a_class(two_columns):
    rows = '"[10, 20]",x,a\n"[10, 20]",x,b\n*,*,c\n*,*,d\n*,*,e\n'
    (two_columns / "out.csv").write_text("age,town,ill\n" + rows)
    found = json.loads(measure_command(two_columns, "--json").stdout)
    assert (found["classes"], found["suppressed"]) == (2, 0)


def test_files_with_semicolons_or_row_numbers_are_read(two_columns):
    (two_columns / "out.csv").write_text("age;town;ill\n[10, 21[;x;a\n[10, 21[;x;b\n>=30;y;c\n>=30;y;d\n")
    semicolons = json.loads(measure_command(two_columns, "--json").stdout)
    lines = ['"","age","town","ill"', '"1","[10,21)","x","a"', '"2","[10,21)","x","b"']
    lines += ['"3",">=30","y","c"', '"4",">=30","y","d"']
    (two_columns / "out.csv").write_text("\n".join(lines) + "\n")
    row_numbers = json.loads(measure_command(two_columns, "--json").stdout)
    assert semicolons == row_numbers
    assert semicolons["loss"]["il"] == pytest.approx(2 * (10 / 40) + 2 * (20 / 40) + 2)
