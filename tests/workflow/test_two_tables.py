"""Anatomy from end to end: what the contract asks of every method, as far as it has no classes."""
# ruff: noqa: E741 - l is the paper's name, and the world's

import importlib
import json
import warnings
from collections import Counter
from itertools import chain, permutations, product
from math import factorial, prod

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import shoal
from shoal.cluster import METHODS
from shoal.errors import (
    IdentityUnprotectedWarning,
    InfeasibleError,
    KnownSeedWarning,
    OutputError,
    PromiseError,
    RecipeError,
)
from shoal.recipe import Recipe, Shape
from shoal.verifier import Verdict
from shoal.workflow.prepare import prepare
from tests.bad_input_cases import MARK, MARKS, TABLE, flags, run, snapshot
from tests.cli.test_cli import KEYS, LOSSES
from tests.strategies import tables

release_module = importlib.import_module("shoal.release.release")
writing = importlib.import_module("shoal.release.writing")
ANATOMY = ("--method", "anatomy")


def recipe_of(l=2, seed=None, quasi=("age", "sex"), **sections):
    method = {"name": "anatomy", "seed": seed, "options": {"l": l}}
    roles = {name: {"role": "quasi"} for name in quasi} | {"ill": {"role": "sensitive"}}
    return Recipe.from_dict({"columns": roles, "privacy": {"k": 2}}, changes={"method": method, **sections})


def people(n=60, values="abcde", missing=0, seed=0):
    random = np.random.Generator(np.random.PCG64(seed))
    ill = random.choice(list(values), n).tolist()
    for at in random.choice(n, missing, replace=False).tolist():
        ill[at] = None
    ages = random.integers(20, 60, n)
    sexes = random.choice(["f", "m"], n)
    return pl.DataFrame({"age": ages, "sex": sexes, "ill": pl.Series(ill, dtype=pl.String)})


def rows_of(frame, *columns):
    return Counter(frame.select(columns).rows())


def values_of(sensitive):
    """The sensitive values of a release, each as often as it was counted."""
    found = Counter()
    for _, value, count in sensitive.rows():
        found[value] += count
    return found


def assert_diverse(release, l):
    by_group = {}
    for group, value, count in release.tables.sensitive.rows():
        by_group.setdefault(group, {})[value] = count
    assert set(by_group) == set(release.tables.quasi["group"])
    for counts in by_group.values():
        present = [count for value, count in counts.items() if value is not None]
        assert len(present) >= l
        assert l * max(present) <= sum(present)


# What every method promises.


@given(tables(max_rows=40), st.integers(2, 3))
def test_rows_are_conserved_and_groups_are_diverse_or_the_table_is_refused(case, l):
    sections = case.recipe.to_dict()
    sections["method"] |= {"name": "anatomy", "options": {"l": l}}
    recipe = Recipe.from_dict(sections)
    counts = Counter(case.table["label"].drop_nulls())
    if not counts or l * max(counts.values()) > counts.total():
        with pytest.raises(InfeasibleError):
            shoal.anonymize(case.table, recipe)
        return
    release = shoal.anonymize(case.table, recipe)
    assert (release.rows, release.released, release.suppressed) == (len(case.table), len(case.table), 0)
    assert rows_of(release.tables.quasi, *recipe.quasi) == rows_of(case.table, *recipe.quasi)
    assert values_of(release.tables.sensitive) == Counter(case.table["label"])
    assert_diverse(release, l)


@pytest.mark.parametrize("ending", ["csv", "tsv", "parquet", "arrow"])
def test_the_same_seed_gives_the_same_bytes_whatever_the_order_of_the_rows(ending, tmp_path):
    table = people(missing=3)
    shuffled = table.sample(fraction=1, shuffle=True, seed=9)
    for name, rows in {"a": table, "b": shuffled}.items():
        shoal.anonymize(rows, recipe_of(seed=5)).write(tmp_path / f"{name}.{ending}")
    for part in (f".quasi.{ending}", f".sensitive.{ending}", f".{ending}.manifest.json"):
        assert (tmp_path / f"a{part}").read_bytes() == (tmp_path / f"b{part}").read_bytes()


def test_another_seed_gives_other_groups():
    one, other = (shoal.anonymize(people(), recipe_of(seed=seed)).tables.quasi for seed in (1, 2))
    assert not one.equals(other)


@pytest.mark.parametrize("l", [2, 3, 5])
def test_as_many_rows_as_l_make_one_group(l):
    table = people(n=l, values="a").with_columns(pl.Series("ill", list("abcde")[:l]))
    release = shoal.anonymize(table, recipe_of(l))
    assert (release.classes, release.goals[0].achieved) == (1, l)


def test_with_all_values_different_groups_are_of_l():
    table = people(n=61).with_columns(pl.Series("ill", [f"i{at:02}" for at in range(61)]))
    release = shoal.anonymize(table, recipe_of(3), accept={"ill": ["unique"]})
    assert release.classes == 20
    assert Counter(Counter(release.tables.quasi["group"]).values()) == {3: 19, 4: 1}


@pytest.mark.parametrize("ill", [["a"] * 4, [None] * 4, ["a", "a", "b", None]], ids=["one", "none", "share"])
def test_what_no_grouping_can_give_is_refused(ill, tmp_path):
    table = people(n=4).with_columns(pl.Series("ill", ill, dtype=pl.String))
    with pytest.raises(InfeasibleError) as refused:
        shoal.anonymize(table, recipe_of())
    assert refused.value.code == "infeasible.goal"
    table.write_csv(tmp_path / "t.csv")
    result = run(
        "anonymize", tmp_path / "t.csv", "--quasi", "age,sex", "--sensitive", "ill", "--k", 2, *ANATOMY,
        "-o", tmp_path / "x.csv",
    )  # fmt: skip
    assert (result.exit_code, list(tmp_path.iterdir())) == (3, [tmp_path / "t.csv"])


@pytest.mark.parametrize("empty", [None, ""], ids=["missing", "empty"])
def test_a_missing_value_is_in_a_group_but_is_no_value_of_it(empty, tmp_path):
    table = people(missing=20).with_columns(pl.col("ill").fill_null(empty) if empty == "" else pl.col("ill"))
    recipe = recipe_of(3, input={"missing": ["NA"]})
    release = shoal.anonymize(table, recipe)
    assert values_of(release.tables.sensitive)[None] == 20
    assert_diverse(release, 3)
    release.write(tmp_path / "x.csv")
    assert shoal.verify(tmp_path / "x.csv", recipe).holds


def test_rows_without_a_quasi_value_are_left_out_when_asked_for():
    table = people().with_columns(pl.when(pl.col("age") > 25).then("age").alias("age"))
    missing = table["age"].null_count()
    privacy = {"missing": "suppress", "max_suppressed": 0.5}
    release = shoal.anonymize(table, recipe_of(privacy=privacy))
    assert (release.released, release.suppressed) == (60 - missing, missing)
    with pytest.raises(InfeasibleError):
        shoal.anonymize(table, recipe_of(privacy={"missing": "suppress"}))
    assert shoal.anonymize(table, recipe_of()).tables.quasi["age"].null_count() == missing


def test_k_is_not_promised_so_a_table_smaller_than_k_is_no_fault():
    table = people(n=3).with_columns(pl.Series("ill", list("abc")))
    assert shoal.anonymize(table, recipe_of(3, privacy={"k": 50})).k is None


# What is published.


def test_numbers_of_groups_follow_from_what_is_published():
    """Number the groups anew from their contents alone: the same numbers come out."""
    release = shoal.anonymize(people(n=80, missing=5), recipe_of(seed=4))
    quasi, sensitive = release.tables
    contents = {group: ([], []) for group in quasi["group"]}
    for age, sex, group in quasi.rows():
        contents[group][0].append((age, sex))
    for group, value, count in sensitive.rows():
        contents[group][1].extend([value or ""] * count)
    ordered = sorted(contents, key=lambda group: tuple(map(sorted, contents[group])))
    assert ordered == list(range(1, len(ordered) + 1))
    assert quasi.rows() == sorted(quasi.rows())
    assert sensitive["group"].is_sorted()


def test_a_kept_column_goes_with_the_quasi_values_only():
    table = people().with_columns(note=pl.int_range(60))
    release = shoal.anonymize(table, recipe_of(columns={"note": {"role": "keep", "accept": ["unique"]}}))
    assert release.tables.quasi.columns == ["age", "sex", "note", "group"]
    assert release.tables.sensitive.columns == ["group", "ill", "count"]
    assert rows_of(release.tables.quasi, "age", "sex", "note") == rows_of(table, "age", "sex", "note")


def test_quasi_values_are_published_in_one_form_however_they_were_spelled():
    table = pl.DataFrame({"age": ["1", "1.0", "02e0", "2"], "ill": list("abcd")})
    recipe = recipe_of(quasi=["age"], columns={"age": {"kind": "numeric"}})
    assert shoal.anonymize(table, recipe).tables.quasi["age"].to_list() == [1, 1, 2, 2]


@pytest.mark.parametrize("name", ["*", "^a.*$", "a b", "value", "made", "0", "row"])
def test_names_that_mean_something_elsewhere(name):
    table = people().rename({"age": name})
    release = shoal.anonymize(table, recipe_of(quasi=[name, "sex"]))
    assert release.tables.quasi.columns == [name, "sex", "group"]
    assert_diverse(release, 2)


def test_tables_are_of_the_kind_that_was_given():
    given_kinds = {pd.DataFrame: people().to_pandas(), pa.Table: people().to_arrow(), pl.DataFrame: people()}
    for kind, table in given_kinds.items():
        release = shoal.anonymize(table, recipe_of())
        assert release.shape is Shape.TWO_TABLES
        assert [type(part) for part in release.tables] == [kind, kind]


# The draw is secret.


def test_without_a_seed_the_groups_are_drawn_anew_each_time():
    drawn = [shoal.anonymize(people(), recipe_of()).tables.quasi["group"].to_list() for _ in range(4)]
    assert len(set(map(tuple, drawn))) > 1
    table, roles = people(), {"quasi": ["age", "sex"], "sensitive": ["ill"], "k": 2, "method": "anatomy"}
    assert shoal.anonymize(table, **roles).seed is None
    assert shoal.anonymize(table, **roles, seed=0).seed == 0


def published(table, seed):
    quasi, sensitive = prepare(table, recipe_of(quasi=["age"], seed=seed)).tables
    return quasi.rows(), sensitive.rows()


def test_a_known_seed_would_tell_whose_value_is_whose():
    """Why the seed is secret: of all tables that fit a release, the seed leaves a few over."""
    table = pl.DataFrame({"age": range(8), "ill": list("aaabbccd")})
    release = published(table, seed=3)
    groups = {}
    for age, group in release[0]:
        groups.setdefault(group, []).append(age)
    values = {}
    for group, value, count in release[1]:
        values.setdefault(group, []).extend([value] * count)
    fitting = left = 0
    for dealt in product(*(set(permutations(values[group])) for group in groups)):
        guess = dict(zip(chain(*groups.values()), chain(*dealt), strict=True))
        other = pl.DataFrame({"age": range(8), "ill": [guess[age] for age in range(8)]})
        fitting += 1
        left += published(other, seed=3) == release
    assert fitting == prod(factorial(len(members)) for members in groups.values())
    assert 1 <= left <= fitting / 4


@pytest.mark.parametrize("seed", [None, 77_123])
def test_the_seed_stands_in_no_manifest_and_is_warned_of(seed, tmp_path):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        release = shoal.anonymize(people(), recipe_of(seed=seed))
    kinds = [warning.category for warning in caught]
    assert kinds == [IdentityUnprotectedWarning, *([] if seed is None else [KnownSeedWarning])]
    assert {warning.filename for warning in caught} == {__file__}
    release.write(tmp_path / "x.csv")
    manifest = (tmp_path / "x.csv.manifest.json").read_text(encoding="utf-8")
    assert "77123" not in manifest
    assert json.loads(manifest)["method"] == {"name": "anatomy", "seed": None}
    digests = [json.loads(manifest)["recipe"]["sha256"]]
    shoal.anonymize(people(), recipe_of(seed=1)).write(tmp_path / "y.csv")
    digests.append(json.loads((tmp_path / "y.csv.manifest.json").read_text())["recipe"]["sha256"])
    assert digests[0] == digests[1]  # a digest of a small seed would give it away


# Recipes.


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"columns": {"ill": {"role": "drop"}}}, "exactly one sensitive column, not 0"),
        ({"columns": {"sex": {"role": "sensitive"}}}, "exactly one sensitive column, not 2"),
        ({"columns": {"group": {"role": "keep"}}}, "`group` would be written twice"),
        ({"columns": {"ill": {"role": "drop"}, "count": {"role": "sensitive"}}}, "`count` would be written"),
        ({"output": {"values": "microaggregate"}}, "`output.values` has no effect"),
        ({"output": {"bounds_as": "columns"}}, "`output.bounds_as` has no effect"),
        ({"output": {"max_set": 5}}, "`output.max_set` has no effect"),
    ],
)
def test_what_two_tables_cannot_have_is_refused(changes, message):
    with pytest.raises(RecipeError) as refused:
        recipe_of(**changes)
    assert [fault.code for fault in refused.value.faults] == ["recipe.invalid"]
    assert message in refused.value.message


@pytest.mark.parametrize("options", [{"l": 1}, {"l": "x"}, {"label": "ill"}])
def test_bad_options(options):
    with pytest.raises(RecipeError) as refused:
        recipe_of(method={"options": options} if "l" in options else {"options": {"l": 2, **options}})
    assert refused.value.code == "recipe.option"


def test_there_is_nothing_to_compare(tmp_path):
    recipe = recipe_of()
    with pytest.raises(RecipeError, match="no loss to compare") as refused:
        shoal.compare(people(), recipe, methods=["mondrian", "anatomy"])
    assert refused.value.code == "recipe.invalid"
    compared = shoal.compare(people(), recipe, methods="all")
    assert {trial.method for trial in compared.trials} == set(METHODS) - {"anatomy"}


# The command.


def test_the_command_has_all_keys_and_says_what_is_not_promised(tmp_path):
    arguments = flags(TABLE, *ANATOMY)(tmp_path)
    out = tmp_path / "out"
    told = run("anonymize", *arguments, "--json")
    assert told.exit_code == 0, told.stderr
    numbers = json.loads(told.stdout)
    assert set(numbers) >= KEYS
    assert set(numbers["loss"]) == LOSSES
    assert (numbers["k"], numbers["seed"]) == (None, None)
    assert numbers["report"] == str(out / "out.csv.report.html")
    assert numbers["goals"] == [
        {"type": "l-diversity", "column": "ill", "asked": 2, "achieved": 2, "holds": True}
    ]
    assert numbers["files"] == [str(out / "out.quasi.csv"), str(out / "out.sensitive.csv")]
    assert {path.name for path in out.iterdir()} == {
        "out.quasi.csv", "out.sensitive.csv", "out.csv.manifest.json", "out.csv.report.html",
    }  # fmt: skip
    assert "k = 2 is not promised" in told.stderr
    summary = run("anonymize", *arguments).stdout
    assert "k-anonymity: not promised" in summary
    assert str(out / "out.sensitive.csv") in summary
    assert not any(mark in told.stdout + told.stderr + summary for mark in MARKS)


def test_an_earlier_release_in_one_table_is_not_robbed_of_its_manifest(tmp_path):
    arguments = flags(TABLE)(tmp_path)
    assert run("anonymize", *arguments).exit_code == 0
    before = snapshot(tmp_path)
    result = run("anonymize", *arguments, *ANATOMY)
    assert (result.exit_code, "[output.unwritable]" in result.stderr) == (2, True)
    assert snapshot(tmp_path) == before


def test_the_input_is_never_overwritten(tmp_path):
    people().write_csv(tmp_path / "x.quasi.csv")
    before = snapshot(tmp_path)
    result = run(
        "anonymize", tmp_path / "x.quasi.csv", "--quasi", "age,sex", "--sensitive", "ill", "--k", 2, *ANATOMY,
        "-o", tmp_path / "x.csv",
    )  # fmt: skip
    assert (result.exit_code, "would overwrite the input" in result.stderr) == (2, True)
    assert snapshot(tmp_path) == before


def test_a_folder_in_the_way_is_found_before_any_work(tmp_path):
    (tmp_path / "x.sensitive.csv").mkdir()
    with pytest.raises(OutputError, match="is a folder"):
        shoal.anonymize(people(), recipe_of()).write(tmp_path / "x.csv")


# Nothing half-written, nothing untrue, nothing told.


def earlier(folder):
    for name in ("out.quasi.csv", "out.sensitive.csv", "out.csv.manifest.json"):
        (folder / "out" / name).write_bytes(b"an earlier release\n")


@pytest.mark.parametrize("second", [False, True], ids=["first", "second"])
@pytest.mark.parametrize("at", [1, 2, 3], ids=["quasi", "sensitive", "manifest"])
@pytest.mark.parametrize(("fault", "status"), [(KeyboardInterrupt, 130), (RuntimeError, 4)])
def test_all_files_are_replaced_or_none(fault, status, at, second, tmp_path, monkeypatch):
    arguments = flags(TABLE, *ANATOMY, "--force")(tmp_path)
    if second:
        earlier(tmp_path)
    before = snapshot(tmp_path)
    true_move, moves = writing.move_into_place, []

    def move(source, path):
        moves.append(path)
        if len(moves) == at:
            raise fault
        true_move(source, path)

    monkeypatch.setattr(writing, "move_into_place", move)
    assert run("anonymize", *arguments).exit_code == status
    assert snapshot(tmp_path) == before


@pytest.mark.parametrize("stage", ["write_table", "verify_part_files", "write_text"])
def test_an_interrupted_run_leaves_nothing(stage, tmp_path, monkeypatch):
    arguments = flags(TABLE, *ANATOMY, "--force")(tmp_path)
    earlier(tmp_path)
    before = snapshot(tmp_path)

    def interrupt(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(release_module if stage == "verify_part_files" else writing, stage, interrupt)
    result = run("anonymize", *arguments)
    assert result.exit_code == 130
    assert snapshot(tmp_path) == before


@pytest.mark.parametrize(
    "verdict",
    [
        Verdict(False, 8, 4, None, (), ()),
        Verdict(True, 8, 3, None, (), ()),
        Verdict(True, 8, 4, None, (), ()),
    ],
    ids=["does-not-hold", "other-groups", "other-goals"],
)
def test_a_release_that_does_not_verify_is_deleted(verdict, tmp_path, monkeypatch):
    arguments = flags(TABLE, *ANATOMY, "--force")(tmp_path)
    before = snapshot(tmp_path)
    monkeypatch.setattr(release_module, "verify_part_files", lambda *_, **__: verdict)
    result = run("anonymize", *arguments)
    assert (result.exit_code, result.stderr.count("[promise.broken]")) == (1, 1)
    assert snapshot(tmp_path) == before
    monkeypatch.setattr(release_module, "verify_part_tables", lambda *_, **__: verdict)
    with pytest.raises(PromiseError):
        shoal.anonymize(people(), recipe_of())


def test_no_cell_is_in_what_is_said(tmp_path):
    cells = [MARK] * 3 + ["b", "c"]
    table = people(n=5).with_columns(ill=pl.Series(cells), sex=pl.Series([MARK] * 5))
    with pytest.raises(InfeasibleError) as refused:
        shoal.anonymize(table, recipe_of())
    assert MARK not in str(refused.value)
    release = shoal.anonymize(table.with_columns(ill=pl.Series([MARK, *"bcde"])), recipe_of())
    release.write(tmp_path / "x.csv")
    manifest = (tmp_path / "x.csv.manifest.json").read_text(encoding="utf-8")
    for text in (repr(release), release._repr_html_(), repr(release.parts), manifest):
        assert MARK not in text
    assert MARK in (tmp_path / "x.sensitive.csv").read_text(encoding="utf-8")
