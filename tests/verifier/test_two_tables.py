"""The verdict about a release in two tables, from its files alone."""
# ruff: noqa: E741 - l is the paper's name, and the world's

import csv
import json

import polars as pl
import pytest
from typer.testing import CliRunner

import shoal
from shoal.cli.main import app
from shoal.errors import DataError, RecipeError
from shoal.recipe import Recipe
from shoal.verifier import verify, verify_part_tables, verify_table

MARK = "ZXMARKERXZ"
QUASI = [
    ["age", "sex", "note", "group"],
    ["30", "f", "x", "1"],
    ["31", "m", "y", "2"],
    ["32", "f", "", "1"],
    ["33", "m", "x", "2"],
    ["34", MARK, "x", "2"],
]
SENSITIVE = [
    ["group", "ill", "count"],
    ["1", "cold", "1"],
    ["1", "flu", "1"],
    ["2", "cold", "1"],
    ["2", MARK, "1"],
    ["2", "", "1"],
]
ORIGINAL = [
    ["age", "sex", "note", "ill"],
    ["30.0", "f", "x", "flu"],
    ["31", " m", "y", "cold"],
    ["32", "f", "", "cold"],
    ["33", "m", "x", ""],
    ["34", MARK, "x", MARK],
]


def recipe_of(l=2, **more):
    roles = {"age": "quasi", "sex": "quasi", "note": "keep", "ill": "sensitive"}
    columns = {name: {"role": role} for name, role in roles.items()}
    method = {"name": "anatomy", "options": {"l": l}}
    return Recipe.from_dict({"columns": columns, "privacy": {"k": 2}, "method": method, **more})


def save(rows, path):
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file, lineterminator="\n").writerows(rows)
    return path


def checked(folder, quasi=QUASI, sensitive=SENSITIVE, recipe=None, **how):
    save(quasi, folder / "x.quasi.csv")
    save(sensitive, folder / "x.sensitive.csv")
    verdict = verify(folder / "x.csv", recipe or recipe_of(), **how)
    assert MARK not in str(verdict) + repr(verdict) + json.dumps(verdict.to_dict())
    return verdict


def codes(verdict):
    return [problem.code for problem in verdict.problems]


def changed(rows, at, **cells):
    """The table with other cells in one row."""
    row = [cells.get(name, cell) for name, cell in zip(rows[0], rows[at], strict=True)]
    return [*rows[:at], row, *rows[at + 1 :]]


def test_a_sound_release_holds(tmp_path):
    verdict = checked(tmp_path)
    assert (verdict.holds, verdict.rows, verdict.classes, verdict.k) == (True, 5, 2, None)
    (goal,) = verdict.goals
    assert (goal.type, goal.column, goal.asked, goal.achieved, goal.holds) == (
        "l-diversity",
        "ill",
        2,
        2,
        True,
    )
    assert str(verdict).startswith("The release holds: 5 rows in 2 groups.\n")


def test_more_than_the_files_have_does_not_hold(tmp_path):
    verdict = checked(tmp_path, recipe=recipe_of(3))
    assert codes(verdict) == ["verify.l"]
    assert "2 groups with fewer than 3 values" in verdict.problems[0].message


@pytest.mark.parametrize(
    ("sensitive", "achieved"),
    [
        ([SENSITIVE[0], ["1", "flu", "2"], *SENSITIVE[3:]], 1),
        (changed(SENSITIVE, 1, ill="flu"), 1),
        (changed(SENSITIVE, 1, ill=""), 1),
        ([SENSITIVE[0], ["1", "", "2"], *SENSITIVE[3:]], 0),
    ],
    ids=["one-value", "one-value-twice", "missing-is-no-value", "no-value"],
)
def test_a_group_with_one_value_is_found(sensitive, achieved, tmp_path):
    verdict = checked(tmp_path, sensitive=sensitive)
    assert (verdict.holds, codes(verdict), verdict.goals[0].achieved) == (False, ["verify.l"], achieved)


def test_a_value_with_too_large_a_share_is_found(tmp_path):
    quasi = [*QUASI, ["35", "f", "x", "1"], ["36", "f", "x", "1"]]
    verdict = checked(tmp_path, quasi, changed(SENSITIVE, 1, count="3"))
    assert (codes(verdict), verdict.goals[0].achieved) == (["verify.l"], 1)


@pytest.mark.parametrize(
    ("quasi", "sensitive", "expected"),
    [
        (QUASI[:-1], SENSITIVE, ["verify.groups"]),
        ([*QUASI, QUASI[-1]], SENSITIVE, ["verify.groups"]),
        (QUASI, SENSITIVE[:-1], ["verify.groups"]),
        (QUASI, changed(SENSITIVE, 2, count="2"), ["verify.groups", "verify.l"]),
        (QUASI, [*SENSITIVE, ["3", "a", "1"], ["3", "b", "1"]], ["verify.groups"]),
        (changed(QUASI, 1, group="3"), SENSITIVE, ["verify.groups", "verify.groups", "verify.l"]),
        (changed(QUASI, 1, group=""), SENSITIVE, ["verify.form", "verify.l"]),
        (changed(QUASI, 1, group="01"), SENSITIVE, ["verify.form", "verify.l"]),
        (changed(QUASI, 1, group=MARK), SENSITIVE, ["verify.form", "verify.l"]),
        (QUASI, changed(SENSITIVE, 1, count="1.0"), ["verify.form"]),
        (QUASI, changed(SENSITIVE, 1, count="0"), ["verify.form", "verify.l"]),
        (QUASI, changed(SENSITIVE, 1, count="-1"), ["verify.form", "verify.l"]),
        (QUASI, changed(SENSITIVE, 1, count=MARK), ["verify.form", "verify.l"]),
        (QUASI[:1], SENSITIVE, ["verify.empty", "verify.groups"]),
        (QUASI, SENSITIVE[:1], ["verify.empty", "verify.groups", "verify.l"]),
    ],
    ids=[
        "row-removed", "row-added", "value-removed", "count-off", "group-in-one-file", "row-moved",
        "group-missing", "group-spelled-otherwise", "group-a-text", "count-a-float", "count-0",
        "count-negative", "count-a-text", "no-quasi-rows", "no-values",
    ],
)  # fmt: skip
def test_files_that_do_not_fit_each_other(quasi, sensitive, expected, tmp_path):
    verdict = checked(tmp_path, quasi, sensitive)
    assert (verdict.holds, codes(verdict)) == (False, expected)


def with_column(rows, name, cell):
    return [[*row, name if at == 0 else cell] for at, row in enumerate(rows)]


def without(rows, name):
    at = rows[0].index(name)
    return [row[:at] + row[at + 1 :] for row in rows]


@pytest.mark.parametrize(
    ("quasi", "sensitive", "expected"),
    [
        (with_column(QUASI, "ill", "flu"), SENSITIVE, ["verify.forbidden_column"]),
        (with_column(QUASI, "count", "1"), SENSITIVE, ["verify.forbidden_column"]),
        (QUASI, with_column(SENSITIVE, "note", "x"), ["verify.forbidden_column"]),
        (QUASI, with_column(SENSITIVE, "row", "1"), ["verify.forbidden_column"]),
        (QUASI, with_column(SENSITIVE, "group", "1"), ["verify.duplicate_column"]),
        (without(QUASI, "group"), SENSITIVE, ["verify.missing_column"]),
        (without(QUASI, "sex"), SENSITIVE, ["verify.missing_column"]),
        (QUASI, without(SENSITIVE, "count"), ["verify.missing_column"]),
        (QUASI, SENSITIVE[1:], [f"verify.{what}_column" for what in ("missing", "forbidden", "duplicate")]),
        ([*QUASI, ["1"]], SENSITIVE, ["verify.ragged"]),
    ],
)
def test_columns_are_those_that_were_promised(quasi, sensitive, expected, tmp_path):
    verdict = checked(tmp_path, quasi, sensitive)
    assert (verdict.holds, codes(verdict)) == (False, expected)
    assert all(problem.message.startswith("In the ") for problem in verdict.problems)


def test_files_that_cannot_be_read(tmp_path):
    checked(tmp_path)
    (tmp_path / "x.quasi.csv").write_bytes(b"\xff\xfe\x00")
    (tmp_path / "x.sensitive.csv").write_bytes(b"")
    assert codes(verify(tmp_path / "x.csv", recipe_of())) == ["verify.unreadable", "verify.empty"]
    (tmp_path / "x.sensitive.csv").unlink()
    with pytest.raises(DataError, match=r"x\.sensitive\.csv cannot be read"):
        verify(tmp_path / "x.csv", recipe_of())


def test_the_number_of_rows_that_were_told(tmp_path):
    assert checked(tmp_path, rows=5).holds
    assert codes(checked(tmp_path, rows=6)) == ["verify.rows"]


def test_one_table_alone_is_no_release(tmp_path):
    table = pl.DataFrame({"age": [1, 1]}).to_arrow()
    with pytest.raises(RecipeError, match="two tables"):
        verify_table(table, recipe_of())


# Beside the original.


@pytest.mark.parametrize(
    ("quasi", "sensitive", "expected"),
    [
        (QUASI, SENSITIVE, []),
        (changed(QUASI, 1, age="29"), SENSITIVE, ["verify.original_values"]),
        (changed(QUASI, 1, note="z"), SENSITIVE, ["verify.original_values"]),
        (QUASI, changed(SENSITIVE, 1, ill="gout"), ["verify.original_values"]),
        ([*QUASI, QUASI[1]], [*SENSITIVE, ["1", "gout", "1"]],
         ["verify.original_rows", "verify.original_values", "verify.original_values"]),
        (QUASI[:-1], SENSITIVE[:-1], ["verify.original_rows"]),
    ],
    ids=["sound", "quasi", "kept", "sensitive", "invented", "left-out"],
)  # fmt: skip
def test_the_original_is_compared_with_both_files(quasi, sensitive, expected, tmp_path):
    original = save(ORIGINAL, tmp_path / "raw.csv")
    verdict = checked(tmp_path, quasi, sensitive, original=original)
    assert codes(verdict) == expected


def test_a_share_of_rows_may_be_left_out(tmp_path):
    original = save(ORIGINAL, tmp_path / "raw.csv")
    recipe = recipe_of(privacy={"k": 2, "max_suppressed": 0.2})
    without = [row for row in QUASI if row[0] != "33"]  # whose value is missing
    assert checked(tmp_path, without, SENSITIVE[:-1], recipe, original=original).holds


def test_groups_swapped_between_people_are_found(tmp_path):
    """Both files hold as they are, and every value occurs as often as in the original."""
    original = save(ORIGINAL, tmp_path / "raw.csv")
    swapped = changed(changed(QUASI, 1, group="2"), 2, group="1")
    assert checked(tmp_path, swapped).holds
    verdict = checked(tmp_path, swapped, original=original)
    assert [(problem.code, problem.message) for problem in verdict.problems] == [
        (
            "verify.original_match",
            "2 rows are in a group that does not have the `ill` of the original rows with these values.",
        )
    ]


def test_values_swapped_between_groups_are_found(tmp_path):
    original = save(ORIGINAL, tmp_path / "raw.csv")
    swapped = changed(changed(SENSITIVE, 2, ill=MARK), 4, ill="flu")
    assert checked(tmp_path, sensitive=swapped).holds
    assert codes(checked(tmp_path, sensitive=swapped, original=original)) == ["verify.original_match"]


def test_people_who_look_alike_may_have_each_others_groups(tmp_path):
    """The original has both values for this age and sex: who is in which group is not known."""
    alike = [["age", "sex", "note", "ill"]] + [["30", "f", "x", ill] for ill in ("a", "b", "c", "d")]
    original = save(alike, tmp_path / "raw.csv")
    quasi = [QUASI[0]] + [["30", "f", "x", group] for group in "1122"]
    pairs = ("1", "a"), ("1", "c"), ("2", "b"), ("2", "d")
    sensitive = [SENSITIVE[0]] + [[group, ill, "1"] for group, ill in pairs]
    assert checked(tmp_path, quasi, sensitive, original=original).holds
    # Three people of group 1, but only two raw rows with one of its values.
    alike[2][0] = "31"
    save(alike, original)
    quasi = [QUASI[0], *([["30", "f", "x", "1"]] * 2), ["31", "f", "x", "1"], ["30", "f", "x", "2"]]
    sensitive = [SENSITIVE[0], ["1", "a", "2"], ["1", "c", "1"], ["2", "b", "1"]]
    assert "verify.original_values" in codes(checked(tmp_path, quasi, sensitive, original=original))


def test_enormous_counts_are_not_spelled_out(tmp_path):
    original = save(ORIGINAL, tmp_path / "raw.csv")
    verdict = checked(tmp_path, sensitive=changed(SENSITIVE, 1, count="9" * 18), original=original)
    assert codes(verdict) == ["verify.groups", "verify.l"]


@pytest.mark.parametrize("ending", ["csv", "parquet", "arrow"])
def test_what_is_written_fits_its_original_however_that_was_spelled(ending, tmp_path):
    raw = pl.DataFrame(
        {
            "number": ["1", "1.50", "-0", "1e300", "9007199254740993", "", "+7", "007.5"],
            "code": ["007", "01", "=1+1", "-x", "e\u0301", "", "@a", "'=b"],
            "day": ["2020-01-31T10:00", "2020-02-01", "", *["2021-01-01 00:00:00"] * 5],
            "truth": ["true", "false"] * 4,
            "ill": ["=a", "-1", "+", "e\u0301", "1.0", "2020-01-31T10:00", "", "z"],
        }
    )
    raw.write_csv(tmp_path / "raw.csv")
    kinds = {"number": "numeric", "code": "categorical", "day": "date", "truth": None}
    columns = {name: {"role": "quasi"} | ({"kind": kind} if kind else {}) for name, kind in kinds.items()}
    recipe = Recipe.from_dict(
        {
            "input": {"path": str(tmp_path / "raw.csv")},
            "columns": {**columns, "ill": {"role": "sensitive"}},
            "privacy": {"k": 2},
            "method": {"name": "anatomy"},
        }
    )
    out = shoal.anonymize(recipe).write(tmp_path / f"x.{ending}")
    verdict = verify(out, recipe, original=tmp_path / "raw.csv")
    assert verdict.holds, verdict


# The manifest, tables in memory, the command.


def written(folder):
    table = pl.DataFrame(
        {"age": range(6), "sex": list("fmfmfm"), "note": ["x"] * 6, "ill": ["a", "b", "c"] * 2}
    )
    release = shoal.anonymize(table, recipe_of())
    return release, release.write(folder / "x.csv")


@pytest.mark.parametrize("part", ["quasi", "sensitive"])
def test_a_change_that_keeps_every_promise_is_caught_by_the_manifest(part, tmp_path):
    _, path = written(tmp_path)
    assert verify(path, recipe_of()).holds
    file = tmp_path / f"x.{part}.csv"
    header, *lines = file.read_text(encoding="utf-8").splitlines()
    file.write_text("\n".join([header, *reversed(lines)]) + "\n", encoding="utf-8")
    assert codes(verify(path, recipe_of())) == ["verify.digest"]
    assert verify(path, recipe_of(), manifest=False).holds


@pytest.mark.parametrize("text", ["{", "[]", '{"release": {"sha256": "0"}}', '{"release": {"files": []}}'])
def test_a_manifest_of_something_else_is_found(text, tmp_path):
    _, path = written(tmp_path)
    (tmp_path / "x.csv.manifest.json").write_text(text, encoding="utf-8")
    assert set(codes(verify(path, recipe_of()))) == {"verify.digest"}


def test_tables_in_memory_are_verified_alike(tmp_path):
    release, _ = written(tmp_path)
    quasi, sensitive = (part.to_arrow() for part in release.tables)
    assert verify_part_tables(quasi, sensitive, recipe_of(), rows=6).holds
    swapped = verify_part_tables(sensitive, quasi, recipe_of())
    assert "verify.missing_column" in codes(swapped)
    assert "verify.groups" in codes(verify_part_tables(quasi.slice(1), sensitive, recipe_of()))


def test_the_command_takes_the_name_that_both_files_share(tmp_path):
    _, path = written(tmp_path)
    (tmp_path / "r.toml").write_text(recipe_of().to_toml(), encoding="utf-8")
    arguments = ["verify", str(path), "--recipe", str(tmp_path / "r.toml")]
    result = CliRunner().invoke(app, [*arguments, "--json", "--junit", str(tmp_path / "j.xml")])
    assert result.exit_code == 0
    keys = {"holds", "rows", "classes", "k", "k_wildcard", "goals", "problems", "remarks"}
    assert set(json.loads(result.stdout)) == keys
    assert 'name="l-diversity of ill"' in (tmp_path / "j.xml").read_text(encoding="utf-8")
    (tmp_path / "x.quasi.csv").write_text("age,sex,note,group\n1,f,x,1\n", encoding="utf-8")
    assert CliRunner().invoke(app, arguments).exit_code == 1
