"""Several views of one table from end to end [bhaladhare2016]: one release, each view safe by itself."""

import importlib
import json
import warnings
from collections import Counter
from dataclasses import replace
from functools import partial
from itertools import combinations, product
from random import Random

import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import shoal
from shoal.cli.flags import read_views
from shoal.errors import DataError, OutputError, PromiseError, RecipeError
from shoal.measure.published import published_costs
from shoal.recipe import Recipe, Shape
from shoal.recode.view_columns import view_recipes
from shoal.table.encode import encode
from shoal.verifier import MeasuredGoal, Problem, Verdict, promised_views, verify_table, worst_goals
from tests.bad_input_cases import MARK, MARKS, TABLE, flags, run, snapshot
from tests.cli.test_cli import KEYS, LOSSES
from tests.profiles import examples, slow, some
from tests.strategies import tables

release_module = importlib.import_module("shoal.release.release")
writing = importlib.import_module("shoal.release.writing")
# What views give away together has tests of its own; these are about the views.
anonymize = partial(shoal.anonymize, accept_composition=True)
ACCEPT = "--accept-composition"
SETS = [["age", "sex"], ["age", "zip"]]
ZIPS = {"10": {"101": ["1010", "1011"], "102": ["1020", "1021"]}}
pytestmark = pytest.mark.filterwarnings("ignore::shoal.errors.SensitiveUnprotectedWarning")


def people(n=60, seed=0):
    random = Random(seed)
    return pl.DataFrame(
        {
            "age": [random.randint(20, 60) for _ in range(n)],
            "sex": random.choices("fm", k=n),
            "zip": random.choices(["1010", "1011", "1020", "1021"], k=n),
            "ill": random.choices(["flu", "cold", "cancer"], k=n),
            "note": [f"note {i}" for i in range(n)],
        }
    )


def recipe_of(
    views="unequal", by=None, method="mondrian", *, options=None, seed=None, output=None, **changes
):
    columns = {
        "age": {"role": "quasi", "kind": "numeric"},
        "sex": {"role": "quasi", "kind": "categorical"},
        "zip": {"role": "quasi", "kind": "categorical", "hierarchy": ZIPS},
        "ill": {"role": "sensitive"},
        "note": {"role": "keep", "accept": ["unique"]},
    }
    output = {"views": views, "views_by": by, **(output or {})}
    asked = {"name": method, "seed": seed, "options": options}
    sections = {"columns": columns, "privacy": {"k": 4}}
    return Recipe.from_dict(sections, changes={"method": asked, "output": output, **changes})


def classes_of(view):
    """The rows of each class, counted."""
    return Counter(view.frame.select(quasi_of(view)).rows())


def quasi_of(view):
    return [name for name in view.frame.columns if name not in ("ill", "note", "label")]


def named(folder):
    return {path.name for path in folder.iterdir()}


# Which columns each view has.


@pytest.mark.parametrize(
    ("views", "columns"),
    [
        ("unequal", [["A"], ["A", "G"], ["A", "Z"]]),  # Example 4, approach 1
        ("equal", [["A"], ["G"], ["Z"]]),  # Example 4, approach 2
        ("nested", [["A"], ["A", "G"], ["A", "G", "Z"]]),
        ([["Z", "A"], ["G"]], [["A", "Z"], ["G"]]),
        ([["A", "G", "Z"]], [["A", "G", "Z"]]),
    ],
)
@pytest.mark.parametrize("by", ["clustering", pytest.param("projection", marks=slow)])
def test_column_sets_of_example_4(views, columns, by):
    table = people().rename({"age": "A", "sex": "G", "zip": "Z", "ill": "D"}).drop("note")
    release = anonymize(
        table, quasi=["A", "G", "Z"], sensitive=["D"], k=3, method="mondrian", views=views, views_by=by
    )
    assert release.shape is Shape.VIEWS
    assert [frame.columns for frame in release.tables] == [[*names, "D"] for names in columns]
    assert all(view.numbers.k >= 3 for view in release.parts)
    assert all(Counter(frame["D"]) == Counter(table["D"]) for frame in release.tables)


def test_a_kept_column_is_in_the_first_view_only_and_it_is_said_why():
    release = anonymize(people(), recipe_of())
    assert [frame.columns for frame in release.tables] == [
        ["age", "ill", "note"], ["age", "sex", "ill"], ["age", "zip", "ill"],
    ]  # fmt: skip
    assert Counter(release.tables[0]["note"]) == Counter(people()["note"])
    assert any("`note`" in remark and "view 1 only" in remark for remark in release.remarks)
    without = anonymize(people(), recipe_of(columns={"note": {"role": "drop"}}))
    assert without.remarks == ()


def test_maker_and_verifier_agree_on_what_a_view_has_without_sharing_code():
    recipe = recipe_of(SETS, output={"bounds_as": "columns", "path": "x.csv"})
    for made, promised in zip(view_recipes(recipe), promised_views(recipe), strict=True):
        assert made.columns == promised.columns
        assert made.output == promised.output
        assert made.output.path is None
        assert made.output.bounds_as == "columns"
    assert [part.quasi for part in view_recipes(recipe)] == SETS
    assert [part.named("keep") for part in view_recipes(recipe)] == [["note"], []]


def test_options_that_name_columns_are_those_of_the_view():
    weights = {"age": [1.0, 1.0, 1.0, 1.0, 1.0], "zip": [2.0, 1.0]}
    recipe = recipe_of("equal", method="kaca", options={"weights": weights})
    assert [part.method.options["weights"] for part in view_recipes(recipe)] == [
        {"age": weights["age"]}, {}, {"zip": weights["zip"]},
    ]  # fmt: skip
    assert anonymize(people(), recipe).k >= 4
    unknown = recipe_of("equal", method="kaca", options={"weights": {"zop": [1.0]}})
    with pytest.raises(RecipeError, match="`zop`, which is no quasi column"):
        anonymize(people(), unknown)


# Each view by itself.


@pytest.mark.parametrize(
    ("method", "views"),
    some(
        product(["k-member", "mondrian", "systematic", "incognito"], ["equal", "unequal", "nested", SETS]), 5
    ),
)
def test_a_view_is_what_its_own_recipe_alone_would_release(views, method):
    recipe = recipe_of(views, method=method)
    release = anonymize(people(), recipe)
    for view, asked in zip(release.parts, view_recipes(recipe), strict=True):
        alone = anonymize(people(), asked)
        assert view.frame.equals(alone.frame)
        assert (view.numbers.loss, view.numbers.loss_tight, view.numbers.classes, view.numbers.k) == (
            alone.loss, alone.loss_tight, alone.classes, alone.k,
        )  # fmt: skip
        assert min(classes_of(view).values()) == view.numbers.k >= 4


@given(tables(max_rows=40), st.sampled_from(["equal", "unequal", "nested"]), st.booleans())
def test_every_view_is_k_anonymous_and_keeps_all_rows(case, views, by_projection):
    sections = case.recipe.to_dict()
    sections["output"] = {"views": views, "views_by": "projection" if by_projection else "clustering"}
    release = anonymize(case.table, Recipe.from_dict(sections))
    assert release.released == release.rows == case.table.height
    for view in release.parts:
        assert min(classes_of(view).values()) >= case.recipe.privacy.k
        assert Counter(view.frame["label"]) == Counter(case.table["label"])


def test_rows_are_in_the_order_of_what_is_published_and_have_no_number():
    """Nothing but the published cells decides where a row stands, so places join no views."""
    for view in anonymize(people(), recipe_of(SETS, by="clustering")).parts:
        names = [*quasi_of(view), *(name for name in ("ill", "note") if name in view.frame.columns)]
        assert view.frame.select(names).rows() == sorted(view.frame.select(names).rows())
        assert set(names) == set(view.frame.columns)


@pytest.mark.parametrize(("by", "ending"), some(product(["clustering", "projection"], ["csv", "parquet"]), 3))
def test_the_same_seed_gives_the_same_bytes_whatever_the_order_of_the_rows(by, ending, tmp_path):
    recipe = recipe_of(SETS, by, method="k-member", seed=7)
    shuffled = people().sample(fraction=1, shuffle=True, seed=9)
    for name, table in {"a": people(), "b": shuffled}.items():
        anonymize(table, recipe).write(tmp_path / f"{name}.{ending}", report=True)
    for part in (f"1.{ending}", f"2.{ending}", f"{ending}.manifest.json"):
        assert (tmp_path / f"a.{part}").read_bytes() == (tmp_path / f"b.{part}").read_bytes()


def test_rows_are_left_out_view_by_view():
    ages = [None if i < 6 else age for i, age in enumerate(people()["age"])]
    zips = [None if i < 2 else code for i, code in enumerate(people()["zip"])]
    table = people().with_columns(age=pl.Series(ages, dtype=pl.Int64), zip=pl.Series(zips))
    privacy = {"missing": "suppress", "max_suppressed": 0.1}
    release = anonymize(table, recipe_of("equal", privacy=privacy))
    assert [view.numbers.suppressed for view in release.parts] == [6, 0, 2]
    assert (release.rows, release.released, release.suppressed) == (60, 54, 6)
    whole = anonymize(table, recipe_of("equal", "projection", privacy=privacy))
    assert [view.numbers.suppressed for view in whole.parts] == [6, 6, 6]


@pytest.mark.parametrize("by", ["clustering", "projection"])
@pytest.mark.parametrize("method", ["k-member", "mondrian"])
def test_every_view_keeps_the_goals_and_counts_people(by, method, tmp_path):
    # Everybody twice, alike but for the note: a class of 8 rows has 4 people.
    table = pl.concat([people(30), people(30)]).with_columns(
        who=pl.Series([f"p{i % 30}" for i in range(60)]), note=people()["note"]
    )
    goal = {"type": "l-diversity", "column": "ill", "l": 3}
    columns = {"who": {"role": "subject"}}
    recipe = recipe_of(SETS, by, method, columns=columns, privacy={"goal": [goal]})
    release = anonymize(table, recipe)
    whose = dict(zip(table["note"], table["who"], strict=True))
    for view in release.parts:
        assert [(found.type, found.counts, found.holds) for found in view.numbers.goals] == [
            ("k-anonymity", "people", True), ("l-diversity", "people", True),
        ]  # fmt: skip
        for rows in view.frame.partition_by(quasi_of(view)):
            assert rows["ill"].n_unique() >= 3
            if "note" in rows.columns:
                assert len({whose[note] for note in rows["note"]}) >= 4
    assert [found.achieved for found in release.goals] == [
        min(view.numbers.goals[at].achieved for view in release.parts) for at in (0, 1)
    ]
    release.write(tmp_path / "x.csv")
    assert [goal["holds"] for goal in release.to_dict()["goals"]] == [True, True]


def test_all_faults_of_all_views_are_reported_at_once():
    table = people().with_columns(sex=pl.lit("x"), age=pl.lit("y"))
    recipe = recipe_of("nested", columns={"sex": {"kind": "numeric"}})
    with pytest.raises(DataError) as refused:
        anonymize(table, recipe)
    assert [fault.code for fault in refused.value.faults] == ["data.kind", "data.kind"]


# Projection.


@pytest.mark.parametrize(
    ("method", "output"),
    some(
        product(
            ["k-member", "mondrian", "incognito", "kaca", "systematic"],
            [{}, {"bounds_as": "columns"}, {"values": "microaggregate"}],
        ),
        4,
    ),
)
def test_projections_show_the_columns_of_one_release(method, output):
    whole = anonymize(people(), recipe_of("whole", method=method, output=output))
    release = anonymize(people(), recipe_of("nested", "projection", method=method, output=output))
    for view in release.parts:
        columns = view.frame.columns
        assert Counter(view.frame.rows()) == Counter(whole.frame.select(columns).rows())
        # Every class is a union of classes of the one clustering: those that look alike in the view.
        names = quasi_of(view)
        assert set(classes_of(view)) == set(whole.frame.select(names).rows())
        assert view.numbers.classes == len(classes_of(view)) <= whole.classes
    assert classes_of(release.parts[-1]) == classes_of(whole)


@examples(5)
@given(tables(max_rows=40), st.sampled_from(["equal", "unequal", "nested"]))
def test_projections_of_generated_tables(case, views):
    sections = case.recipe.to_dict()
    whole = anonymize(case.table, Recipe.from_dict(sections)).frame
    sections["output"] = {"views": views, "views_by": "projection"}
    for frame in anonymize(case.table, Recipe.from_dict(sections)).tables:
        assert Counter(frame.rows()) == Counter(whole.select(frame.columns).rows())


# Losses.


@pytest.mark.parametrize("by", ["clustering", "projection"])
def test_losses_are_told_for_each_view_and_summed(by):
    recipe = recipe_of(by=by, columns={"zip": {"weight": 3.0}})
    release = anonymize(people(), recipe)
    for name in ("loss", "loss_tight"):
        summed = getattr(release, name)
        assert summed.il == pytest.approx(sum(getattr(view.numbers, name).il for view in release.parts))
        # All that could be lost: 60 rows of 1, then 1 + 1, then 1 + 3.
        assert summed.gcp == pytest.approx(summed.il / (60 * 7))
        assert (summed.dm, summed.c_avg, summed.cm, summed.distortion_ratio) == (None,) * 4
    typical = anonymize(people(), recipe_of(by=by, output={"values": "microaggregate"}))
    assert (typical.loss.il, typical.loss.gcp) == (None, None)
    assert typical.loss_tight.il > 0


PAPER = pl.DataFrame(
    {
        "age": [20, 22, 24, 32, 34, 38],
        "sex": ["Male", "Male", "Male", "Male", "Female", "Female"],
        "zip": ["443350", "443351", "443352", "443350", "443350", "443350"],
        "ill": ["Diabetes", "Cancer", "Flu", "Hepatitis", "Hepatitis", "Hepatitis"],
    }
)


def paper_recipe(views, by="projection"):
    trees = {
        "sex": {"Person": ["Male", "Female"]},
        "zip": {"44335*": ["443350", "443351", "443352"]},
    }
    columns = {"age": {"role": "quasi", "kind": "numeric"}, "ill": {"role": "sensitive"}}
    columns |= {name: {"role": "quasi", "hierarchy": tree} for name, tree in trees.items()}
    order = ("age", "sex", "zip", "ill")
    return Recipe.from_dict(
        {
            "columns": {name: columns[name] for name in order},
            "privacy": {"k": 3},
            "method": {"name": "systematic"},
            "output": {"views": views, "views_by": by},
        }
    )


@pytest.mark.parametrize(
    ("views", "printed", "tight"),
    [
        # As the paper counts, raw ages with printed roots: 3 (4/18) + 3 (6/18) = 1.667; a root adds 6.
        # Tight, the first class is all male and the second has one zip code: a root adds 3.
        ("unequal", [1.667, 7.667, 7.667], [1.667, 4.667, 4.667]),  # Example 2
        ("equal", [1.667, 6, 6], [1.667, 3, 3]),  # Example 3
    ],
)
def test_examples_1_to_3_of_the_paper(views, printed, tight):
    release = anonymize(PAPER, paper_recipe(views))
    found = []
    for view in release.parts:
        ages = sorted(set(view.frame["age"])) if "age" in view.frame.columns else [None, None]
        assert ages in (["[20, 24]", "[32, 38]"], [None, None])
        texts = {name: ["*", "*"] if name != "age" else ages for name in view.recipe.quasi}
        costs = published_costs(encode(PAPER, view.recipe), pl.DataFrame(texts))
        found.append(float(3 * costs.sum()))
    assert found == pytest.approx(printed, abs=5e-4)
    # Example 1, the whole table: 13.667. Unequal views together lose more, equal ones exactly as much.
    assert sum(found) == pytest.approx({"unequal": 17.0, "equal": 13.667}[views], abs=5e-4)
    assert [view.numbers.loss_tight.il for view in release.parts] == pytest.approx(tight, abs=5e-4)
    assert release.loss_tight.il == pytest.approx(sum(tight), abs=2e-3)
    assert release.loss_tight == release.loss


def test_equal_views_may_lose_less_when_each_is_clustered_by_itself():
    """What the paper's printed tables do not use: a view has fewer columns to agree in."""
    release = anonymize(PAPER, paper_recipe("equal", by="clustering"))
    tight = [view.numbers.loss_tight.il for view in release.parts]
    # By sex alone: {m, m, m}, {m, f, f} costs 3; zip: {0, 0, 0}, {0, 1, 2} costs 3.
    assert tight == pytest.approx([1.667, 3, 3], abs=5e-4)


# What is written.


def test_files_and_manifest(tmp_path):
    release = anonymize(people(), recipe_of(output={"path": str(tmp_path / "X.csv")}))
    assert release.write(report=True) == tmp_path / "X.csv"
    views = ["X.1.csv", "X.2.csv", "X.3.csv"]
    assert named(tmp_path) == {*views, "X.csv.manifest.json", *(f"{name}.report.html" for name in views)}
    manifest = json.loads((tmp_path / "X.csv.manifest.json").read_text(encoding="utf-8"))
    assert list(manifest["release"]["files"]) == ["view 1", "view 2", "view 3"]
    assert manifest["release"]["rows"] == 60
    assert manifest["release"]["classes"] == sum(view.numbers.classes for view in release.parts)
    assert manifest["recipe"]["output"] == {"views": "unequal"}
    for view, told in zip(release.parts, manifest["views"], strict=True):
        assert told["columns"] == view.frame.columns
        assert (told["rows"], told["classes"], told["suppressed"]) == (60, view.numbers.classes, 0)
        assert told["loss"]["il"] == float(f"{view.numbers.loss.il:.3g}")
        assert told["goals"][0]["achieved"] == view.numbers.k
    assert [told["sha256"] for told in manifest["views"]] == [*manifest["release"]["files"].values()]
    assert manifest["loss"]["il"] == float(f"{release.loss.il:.3g}")
    assert manifest["goals"][0]["achieved"] == release.k == min(view.numbers.k for view in release.parts)
    for name, view in zip(views, release.parts, strict=True):
        written = pl.read_csv(tmp_path / name, infer_schema=False)
        assert written.rows() == view.frame.rows()


@pytest.mark.parametrize("ending", ["tsv", "parquet", "arrow", "feather"])
def test_other_formats(ending, tmp_path):
    recipe = recipe_of(SETS)
    anonymize(people(), recipe).write(tmp_path / f"x.{ending}")
    assert named(tmp_path) == {f"x.1.{ending}", f"x.2.{ending}", f"x.{ending}.manifest.json"}
    verdict = shoal.verify(tmp_path / f"x.{ending}", recipe)
    assert (verdict.holds, verdict.rows) == (True, 120)


def test_the_recipe_of_a_view_verifies_its_file_alone(tmp_path):
    """As the view's report tells its reader to."""
    release = anonymize(people(), recipe_of(SETS))
    release.write(tmp_path / "x.csv", report=True)
    for number, view in enumerate(release.parts, 1):
        (tmp_path / "view.toml").write_text(view.recipe.to_toml(), encoding="utf-8")
        result = run("verify", tmp_path / f"x.{number}.csv", "--recipe", tmp_path / "view.toml")
        assert result.exit_code == 0, result.output
        page = (tmp_path / f"x.{number}.csv.report.html").read_text(encoding="utf-8")
        assert f"shoal verify x.{number}.csv" in page


def test_views_of_an_earlier_release_that_had_more_are_removed(tmp_path):
    anonymize(people(), recipe_of("unequal")).write(tmp_path / "x.csv", report=True)
    (tmp_path / "x.2020.csv").write_text("somebody's own\n")
    anonymize(people(), recipe_of(SETS)).write(tmp_path / "x.csv", force=True)
    assert named(tmp_path) >= {"x.1.csv", "x.2.csv", "x.csv.manifest.json", "x.2020.csv"}
    assert not {"x.3.csv", "x.3.csv.report.html"} & named(tmp_path)
    assert shoal.verify(tmp_path / "x.csv", recipe_of(SETS)).holds


def test_a_file_that_no_manifest_tells_of_is_not_taken_for_a_stale_view(tmp_path):
    release = anonymize(people(), recipe_of(SETS))
    (tmp_path / "x.3.csv").write_text("somebody's own\n")
    before = snapshot(tmp_path)
    with pytest.raises(OutputError, match=r"x\.3\.csv already exists"):
        release.write(tmp_path / "x.csv")
    assert snapshot(tmp_path) == before
    anonymize(people(), recipe_of("unequal")).write(tmp_path / "y.csv")
    (tmp_path / "y.3.csv").write_text("written over since\n")
    with pytest.raises(OutputError, match=r"y\.3\.csv already exists"):
        release.write(tmp_path / "y.csv")


@pytest.mark.parametrize(("first", "second"), [
    *combinations([(), ("--views", "equal"), ("--method", "anatomy")], 2),
    *((b, a) for a, b in combinations([(), ("--views", "equal"), ("--method", "anatomy")], 2)
      if (b, a) != (("--method", "anatomy"), ())),
], ids=str)  # fmt: skip
def test_a_release_of_another_shape_is_not_robbed_of_its_manifest(first, second, tmp_path):
    arguments = flags(TABLE, ACCEPT)(tmp_path)
    assert run("anonymize", *arguments, *first).exit_code == 0
    before = snapshot(tmp_path)
    result = run("anonymize", *arguments, *second)
    assert (result.exit_code, "[output.unwritable]" in result.stderr) == (2, True)
    assert snapshot(tmp_path) == before


def test_the_input_is_never_overwritten(tmp_path):
    people().write_csv(tmp_path / "x.2.csv")
    before = snapshot(tmp_path)
    result = run(
        "anonymize", tmp_path / "x.2.csv", "--quasi", "age,sex", "--sensitive", "ill", "--drop", "zip,note",
        "--k", 2, "--views", "equal", "-o", tmp_path / "x.csv",
    )  # fmt: skip
    assert (result.exit_code, "would overwrite the input" in result.stderr) == (2, True)
    assert snapshot(tmp_path) == before


@pytest.mark.parametrize(("at", "second"), some(product(range(1, 6), [False, True]), 3))
def test_all_files_are_replaced_or_none(at, second, tmp_path, monkeypatch):
    release = anonymize(people(), recipe_of(SETS))
    if second:
        anonymize(people(seed=1), recipe_of("unequal")).write(tmp_path / "x.csv", report=True)
    before = snapshot(tmp_path)
    true_move, moves = writing.move_into_place, []

    def move(source, path):
        moves.append(path)
        if len(moves) == at:
            raise KeyboardInterrupt
        true_move(source, path)

    monkeypatch.setattr(writing, "move_into_place", move)
    with pytest.raises(KeyboardInterrupt):
        release.write(tmp_path / "x.csv", report=True, force=True)
    assert snapshot(tmp_path) == before


@pytest.mark.parametrize("bad", some([0, 1, 2], 3, 1))
def test_nothing_is_left_when_one_view_does_not_verify(bad, tmp_path, monkeypatch):
    arguments = flags(TABLE, ACCEPT, "--views", "equal", "--force")(tmp_path)
    assert run("anonymize", *arguments, "--seed", 5).exit_code == 0
    before = snapshot(tmp_path)
    true_verify, seen = release_module.verify, []

    def judge(path, *given, **how):
        seen.append(path)
        verdict = true_verify(path, *given, **how)
        problem = Problem("verify.k", "One row too few.")
        return Verdict(False, 8, 4, 2, verdict.goals, (problem,)) if len(seen) == bad + 1 else verdict

    monkeypatch.setattr(release_module, "verify", judge)
    result = run("anonymize", *arguments)
    assert (result.exit_code, result.stderr.count("[promise.broken]")) == (1, 1)
    assert f"View {bad + 1}: " in result.stderr
    assert snapshot(tmp_path) == before


def test_a_view_that_does_not_verify_in_memory_is_not_returned(monkeypatch):
    def miscount(*given, **how):
        verdict = verify_table(*given, **how)
        return replace(verdict, classes=verdict.classes + 1)

    monkeypatch.setattr(release_module, "verify_table", miscount)
    with pytest.raises(PromiseError, match="View 1: "):
        anonymize(people(), recipe_of())


# The verifier.


def written(tmp_path, recipe):
    people().write_csv(tmp_path / "people.csv")
    anonymize(people(), recipe).write(tmp_path / "x.csv")
    (tmp_path / "recipe.toml").write_text(recipe.to_toml(), encoding="utf-8")
    return tmp_path / "x.csv"


def verify_command(tmp_path, *more):
    arguments = ("verify", tmp_path / "x.csv", "--recipe", tmp_path / "recipe.toml", "--json", *more)
    result = run(*arguments)
    return result.exit_code, json.loads(result.stdout)


def test_one_verdict_about_all_views(tmp_path):
    recipe = recipe_of()
    release = anonymize(people(), recipe)
    written(tmp_path, recipe)
    status, verdict = verify_command(tmp_path, "--original", tmp_path / "people.csv")
    assert (status, verdict["holds"], verdict["problems"]) == (0, True, [])
    assert (verdict["rows"], verdict["classes"], verdict["k"]) == (180, release.classes, release.k)
    assert [goal["achieved"] for goal in verdict["goals"]] == [release.k]


def test_a_changed_second_view_is_found_with_and_without_the_manifest(tmp_path):
    path = written(tmp_path, recipe_of())
    second = tmp_path / "x.2.csv"
    frame = pl.read_csv(second, infer_schema=False)
    frame.with_columns(age=pl.Series(["99", *frame["age"][1:]])).write_csv(second)
    status, verdict = verify_command(tmp_path)
    assert (status, verdict["holds"], verdict["k"]) == (1, False, 1)
    codes = {problem["code"] for problem in verdict["problems"]}
    assert codes == {"verify.digest", "verify.k", "verify.manifest"}
    of_all = [p for p in verdict["problems"] if "view 2" not in p["message"].lower()]
    assert [problem["code"] for problem in of_all] == ["verify.manifest"]  # classes and k of all views
    assert [goal["achieved"] for goal in verdict["goals"]] == [1]
    path.with_name("x.csv.manifest.json").unlink()
    assert [p["code"] for p in verify_command(tmp_path)[1]["problems"]] == ["verify.k"]


def test_swapped_sensitive_values_are_found_by_the_manifest_and_beside_the_original(tmp_path):
    written(tmp_path, recipe_of())
    third = tmp_path / "x.3.csv"
    frame = pl.read_csv(third, infer_schema=False)
    frame.with_columns(pl.col("ill").reverse()).write_csv(third)
    status, verdict = verify_command(tmp_path, "--original", tmp_path / "people.csv")
    assert status == 1
    found = {(problem["code"], "iew 3" in problem["message"]) for problem in verdict["problems"]}
    assert found == {("verify.digest", True), ("verify.manifest", True), ("verify.original_match", True)}


def test_values_that_the_original_does_not_have_are_found_in_their_view(tmp_path):
    written(tmp_path, recipe_of()).with_name("x.csv.manifest.json").unlink()
    frame = pl.read_csv(tmp_path / "x.2.csv", infer_schema=False)
    frame.with_columns(ill=pl.lit("flu")).write_csv(tmp_path / "x.2.csv")
    status, verdict = verify_command(tmp_path, "--original", tmp_path / "people.csv")
    (problem,) = verdict["problems"]
    assert (status, problem["code"]) == (1, "verify.original_values")
    assert problem["message"].startswith("View 2: ")


@pytest.mark.parametrize("column", ["note", "zip"])
def test_a_column_that_does_not_belong_into_a_view_is_found(column, tmp_path):
    written(tmp_path, recipe_of()).with_name("x.csv.manifest.json").unlink()
    frame = pl.read_csv(tmp_path / "x.2.csv", infer_schema=False)
    frame.with_columns(people()[column].cast(pl.String)).write_csv(tmp_path / "x.2.csv")
    _, verdict = verify_command(tmp_path)
    assert [p["code"] for p in verdict["problems"]] == ["verify.forbidden_column"]
    assert verdict["problems"][0]["message"].startswith("View 2: ")


def test_a_view_that_is_not_there_is_bad_usage(tmp_path):
    written(tmp_path, recipe_of())
    (tmp_path / "x.3.csv").unlink()
    status, told = verify_command(tmp_path)
    assert (status, told["error"]["code"]) == (2, "data.unreadable")
    assert "view 3 of 3" in told["error"]["message"]


def test_tables_in_memory_are_verified_one_by_one():
    release = anonymize(people(), recipe_of())
    with pytest.raises(RecipeError, match="several tables"):
        verify_table(release.parts[0].frame.to_arrow(), release.recipe)


def goals(type_, *achieved, holds=True):
    return [[MeasuredGoal(type_, None, 3, number, holds)] for number in achieved]


def test_the_worst_goal_is_the_one_with_least_to_spare():
    assert worst_goals(goals("k-anonymity", 5, 3, 4))[0].achieved == 3
    assert worst_goals(goals("l-diversity", 5, None, 4))[0].achieved == 4
    assert worst_goals(goals("t-closeness", 0.1, 0.3, 0.2))[0].achieved == 0.3
    assert worst_goals(goals("l-diversity", None, None))[0].achieved is None
    missed = goals("t-closeness", 0.4, None, holds=False)
    assert worst_goals([*goals("t-closeness", 0.1), *missed])[0] == missed[1][0]
    assert worst_goals([*goals("k-anonymity", 3), *goals("k-anonymity", 2, 1, holds=False)])[0].achieved == 1
    assert worst_goals([*goals("k-anonymity", 3), *goals("k-anonymity", 2, holds=False)])[0].holds is False


# The command and the library.


def test_the_command_has_all_keys(tmp_path):
    arguments = flags(TABLE, ACCEPT, "--views", "age,city;age,born")(tmp_path)
    told = run("anonymize", *arguments, "--json")
    assert told.exit_code == 0, told.stderr
    numbers = json.loads(told.stdout)
    out = tmp_path / "out"
    assert set(numbers) >= KEYS | {"views", "composition", "files"}
    assert set(numbers["loss"]) == set(numbers["loss_tight"]) == LOSSES
    assert numbers["output"] == str(out / "out.csv")
    assert (numbers["composition"]["views"], numbers["composition"]["accepted"]) == (2, True)
    assert numbers["files"] == [str(out / "out.1.csv"), str(out / "out.2.csv")]
    assert numbers["report"] == [f"{file}.report.html" for file in numbers["files"]]
    assert numbers["loss"]["il"] == pytest.approx(sum(view["loss"]["il"] for view in numbers["views"]))
    assert numbers["classes"] == sum(view["classes"] for view in numbers["views"])
    for view, file in zip(numbers["views"], numbers["files"], strict=True):
        assert set(view) >= {
            "columns", "released", "suppressed", "classes", "k", "goals", "loss", "loss_tight", "output",
        }  # fmt: skip
        assert view["output"] == file
    assert [view["columns"] for view in numbers["views"]] == [
        ["age", "city", "ill", "note"], ["age", "born", "ill"],
    ]  # fmt: skip
    assert all((out / f"out.{number}.csv.report.html").is_file() for number in (1, 2))


@pytest.mark.parametrize(
    ("by", "together"), [("clustering", "ACCEPTED although"), ("projection", "show the same clustering")]
)
def test_the_summary_tells_of_every_view_and_shows_no_cell(by, together, tmp_path):
    result = run("anonymize", *flags(TABLE, ACCEPT, "--views", "equal", "--views-by", by)(tmp_path))
    assert result.exit_code == 0, result.stderr
    for number, names in enumerate(["age, ill, note", "city, ill", "born, ill"], 1):
        assert f"view {number}: {names}" in result.stdout
    assert together in result.stdout
    assert "`note` is in view 1 only" in result.stdout
    assert not any(mark in result.stdout + result.stderr for mark in MARKS)


def test_flags_lie_over_the_recipe(tmp_path):
    recipe = recipe_of("equal", "projection", input={"path": "people.csv"})
    people().write_csv(tmp_path / "people.csv")
    (tmp_path / "recipe.toml").write_text(recipe.to_toml(), encoding="utf-8")
    command = ("anonymize", tmp_path / "recipe.toml", ACCEPT, "--json", "-o")
    kept = json.loads(run(*command, tmp_path / "a.csv").stdout)
    assert (len(kept["views"]), kept["views_by"]) == (3, "projection")
    listed = json.loads(run(*command, tmp_path / "b.csv", "--views", "age, sex ; zip").stdout)
    assert [view["columns"] for view in listed["views"]] == [["age", "sex", "ill", "note"], ["zip", "ill"]]
    whole = json.loads(run(*command, tmp_path / "c.csv", "--views", "whole").stdout)
    assert "views" not in whole
    assert (tmp_path / "c.csv").is_file()
    clustered = json.loads(run(*command, tmp_path / "d.csv", "--views-by", "clustering").stdout)
    assert clustered["views_by"] == "clustering"
    check = ("verify", tmp_path / "b.csv", "--recipe", tmp_path / "recipe.toml", "--views", "age,sex;zip")
    assert run(*check).exit_code == 0


def test_the_flag_of_views():
    assert read_views(None) == {"views": None, "views_by": None}
    assert read_views("a, b;c")["views"] == [["a", "b"], ["c"]]
    assert read_views("a,b;")["views"] == [["a", "b"], []]
    with pytest.raises(RecipeError, match="--views takes"):
        read_views("nestd")


def test_warnings_name_the_view():
    table = people().with_columns(ill=pl.lit("flu"))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        anonymize(table, recipe_of(SETS))
    assert [str(warning.message).split(":")[0] for warning in caught] == ["View 1", "View 2"]
    assert all(" in such a class knows" in str(warning.message) for warning in caught)


def test_tables_are_of_the_kind_that_was_given():
    release = anonymize(people().to_pandas(), recipe_of(SETS))
    assert [type(table) for table in release.tables] == [pd.DataFrame, pd.DataFrame]


def test_progress_goes_from_none_to_all_through_the_views():
    seen = {}
    anonymize(
        people(), recipe_of(), progress=lambda name, share, told: seen.setdefault(name, []).append(share)
    )
    for name in ("cluster", "recode", "measure"):
        assert seen[name] == sorted(seen[name])
        assert (seen[name][0], seen[name][-1]) == (0, pytest.approx(1))


def test_no_cell_is_in_what_is_said(tmp_path):
    table = people(12).with_columns(sex=pl.lit(MARK), ill=pl.lit(MARK))
    release = anonymize(table, recipe_of(SETS))
    release.write(tmp_path / "x.csv")
    manifest = (tmp_path / "x.csv.manifest.json").read_text(encoding="utf-8")
    for text in (repr(release), release._repr_html_(), manifest, json.dumps(release.to_dict())):
        assert MARK not in text
    assert MARK in (tmp_path / "x.1.csv").read_text(encoding="utf-8")
    assert repr(release).startswith("Release(2 views: 12 rows in ")
