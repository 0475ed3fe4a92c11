"""Goals about the risk of re-identification: enforced by the makers, checked by the verifier."""

import json

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

import shoal
from shoal.cli.main import app
from shoal.cluster import METHODS
from shoal.errors import DataError, InfeasibleError, RecipeError
from shoal.recipe import Recipe
from shoal.verifier import verify, verify_table
from tests.reference import risk as reference

TREE = {"*": {"work": {"nurse": {}, "clerk": {}}, "none": {}}}


def people(rows, seed):
    rng = np.random.default_rng(seed)
    return pl.DataFrame(
        {
            "age": rng.integers(18, 80, rows),
            "sex": rng.choice(["f", "m"], rows),
            "job": rng.choice(["nurse", "clerk", "none"], rows, p=[0.7, 0.2, 0.1]),
            "ill": rng.choice(["flu", "cold", "gout"], rows),
        }
    )


def recipe(*goals, k=2, method="mondrian", **sections):
    columns = {
        "age": {"role": "quasi", "kind": "numeric"},
        "sex": {"role": "quasi", "kind": "categorical"},
        "job": {"role": "quasi", "kind": "categorical", "hierarchy": TREE},
        "ill": {"role": "sensitive"},
    }
    return Recipe.from_dict(
        {"columns": columns, "privacy": {"k": k, "goal": list(goals)}, "method": {"name": method}, **sections}
    )


@pytest.fixture(scope="module")
def population(tmp_path_factory):
    """A population of 300 in a file, and a sample of 60 of them."""
    file = tmp_path_factory.mktemp("population") / "people.csv"
    everybody = people(300, 1)
    everybody.drop("ill").write_csv(file, separator=";")
    return file, everybody[:60]


def average(threshold):
    return {"type": "average-risk", "threshold": threshold}


def k_map(file, k):
    return {"type": "k-map", "k": k, "population": str(file)}


WITH_CLASSES = [name for name, info in METHODS.items() if info.shape.has_classes]


@pytest.mark.parametrize("method", WITH_CLASSES)
def test_every_method_meets_an_average(method):
    release = shoal.anonymize(people(120, 2), recipe(average(0.1), method=method), bound=False)
    goal = release.goals[1]
    assert (goal.type, goal.column, goal.holds) == ("average-risk", None, True)
    assert goal.achieved == release.classes / release.released <= 0.1
    assert release.k >= 2


@pytest.mark.parametrize("method", WITH_CLASSES)
def test_every_method_meets_k_map(method, population):
    file, sample = population
    release = shoal.anonymize(sample, recipe(k_map(file, 25), method=method), bound=False)
    goal = release.goals[1]
    assert (goal.type, goal.holds) == ("k-map", True)
    assert goal.achieved >= 25


def test_an_average_that_holds_anyway_changes_nothing():
    table = people(120, 2)
    plain = shoal.anonymize(table, recipe(k=5), bound=False)
    asked = shoal.anonymize(table, recipe(average(0.2), k=5), bound=False)
    assert asked.table.equals(plain.table)
    assert not any("raised" in remark for remark in asked.remarks)


def test_k_is_raised_no_further_than_needed_to_meet_an_average():
    # With classes of at least 20 the average of 0.05 would hold for certain, but some may be smaller.
    release = shoal.anonymize(people(400, 2), recipe(average(0.05)), bound=False)
    (remark,) = [remark for remark in release.remarks if "k was raised from 2 to" in remark]
    raised = int(remark.split(" to ")[1])
    assert 2 < raised < 20
    assert release.k >= raised
    assert release.goals[0].asked == 2


def test_goals_of_both_kinds_are_listed_in_the_order_of_the_recipe(population):
    file, sample = population
    diverse = {"type": "l-diversity", "column": "ill", "l": 2}
    release = shoal.anonymize(sample, recipe(average(0.2), diverse, k_map(file, 10)), bound=False)
    assert [goal.type for goal in release.goals] == ["k-anonymity", "average-risk", "l-diversity", "k-map"]
    assert all(goal.holds for goal in release.goals)


def test_people_are_counted_where_a_column_identifies_them():
    table = people(80, 3).with_columns(who=pl.Series([f"p{at % 40}" for at in range(80)]))
    asked = recipe(average(0.2)).changed({"columns": {"who": {"role": "subject"}}})
    release = shoal.anonymize(table, asked, bound=False)
    assert release.goals[1].counts == "people"
    assert release.goals[1].achieved <= 0.2


def test_a_population_matches_as_the_twin_counts(population):
    file, sample = population
    release = shoal.anonymize(sample, recipe(k_map(file, 25)), bound=False)
    nodes = {"work": {"nurse", "clerk"}, "*": {"nurse", "clerk", "none", "f", "m"}}
    boxes = []
    for age, sex, job in release.table.select("age", "sex", "job").unique().rows():
        low, high = json.loads(age) if age.startswith("[") else (int(age), int(age))
        values = set(sex.strip("{}").split(", ")) if sex.startswith("{") else nodes.get(sex, {sex})
        boxes.append((range(low, high + 1), values, nodes.get(job, {job})))
    everybody = pl.read_csv(file, separator=";").rows()
    counts = [reference.matching(everybody, box) for box in boxes]
    assert min(counts) == release.goals[1].achieved


def test_an_average_below_one_class_of_all_is_infeasible():
    with pytest.raises(InfeasibleError, match=r"at most 0.01, but one class of all has 1/50"):
        shoal.anonymize(people(50, 1), recipe(average(0.01)))


def test_more_people_than_the_population_has_are_infeasible(population):
    file, sample = population
    with pytest.raises(InfeasibleError, match="k-map asks for 301 matching people"):
        shoal.anonymize(sample, recipe(k_map(file, 301)))


def test_incognito_cannot_map_more_people_than_there_are(population):
    file, sample = population
    with pytest.raises(InfeasibleError, match="k-map asks for 301"):
        shoal.anonymize(sample, recipe(k_map(file, 301), method="incognito"))


@pytest.mark.parametrize(
    ("sections", "message"),
    [
        ({"output": {"views": "equal"}}, "goals about risk with several views"),
        ({"engine": {"cell_rows": 50}}, "cell by cell or with Spark"),
        ({"engine": {"name": "spark"}}, "cell by cell or with Spark"),
        ({"method": "nh"}, "cannot be combined with privacy goals"),
        ({"output": {"values": "microaggregate"}}, "not around typical values"),
    ],
)
def test_what_does_not_go_together_is_refused(sections, message):
    with pytest.raises(RecipeError, match=message):
        recipe(k_map("people.csv", 5), **sections)


@pytest.mark.parametrize(
    "goal",
    [
        {"type": "average-risk"},
        {"type": "average-risk", "threshold": 0},
        {"type": "average-risk", "threshold": 0.1, "column": "ill"},
        {"type": "k-map", "k": 5},
        {"type": "k-map", "k": 1, "population": "x.csv"},
    ],
)
def test_goals_that_are_not_complete_are_faults(goal):
    with pytest.raises(RecipeError, match="privacy goal 1"):
        recipe(goal)


def test_the_verifier_finds_an_average_that_is_too_high():
    released = pl.DataFrame({"age": ["30", "30", "40", "40"], "sex": ["f"] * 4, "job": ["none"] * 4})
    table = released.with_columns(ill=pl.Series(["flu", "cold"] * 2)).to_arrow()
    good, bad = (verify_table(table, recipe(average(limit))) for limit in (0.5, 0.49))
    assert good.holds
    assert good.goals[1].achieved == 0.5
    assert [problem.code for problem in bad.problems] == ["verify.average_risk"]
    assert "2 classes of 4 rows is 0.5, above 0.49" in bad.problems[0].message


def test_the_verifier_finds_a_class_that_matches_too_few(tmp_path):
    everybody = pl.DataFrame({"age": [30, 31, 32, 40], "sex": ["f", "f", "m", "f"], "job": ["none"] * 4})
    everybody.write_csv(tmp_path / "people.csv")
    released = pl.DataFrame(
        {"age": ["[30, 32]"] * 2 + ["40"] * 2, "sex": ["f"] * 4, "job": ["*"] * 4, "ill": ["a", "b"] * 2}
    )
    # Two women are 30 to 32, one is 40.
    verdict = verify_table(released.to_arrow(), recipe(k_map(tmp_path / "people.csv", 2)))
    assert (verdict.goals[1].achieved, verdict.holds) == (1, False)
    assert [problem.code for problem in verdict.problems] == ["verify.k_map"]
    assert "1 class with 2 rows matches fewer than 2 people" in verdict.problems[0].message


def test_the_verifier_needs_the_population_s_columns(tmp_path):
    pl.DataFrame({"age": [30, 31]}).write_csv(tmp_path / "people.csv")
    released = pl.DataFrame({"age": ["30"] * 2, "sex": ["f"] * 2, "job": ["*"] * 2, "ill": ["a", "b"]})
    verdict = verify_table(released.to_arrow(), recipe(k_map(tmp_path / "people.csv", 2)))
    assert [problem.code for problem in verdict.problems] == ["verify.k_map"]
    assert "`sex`" in verdict.problems[0].message


def test_a_population_that_is_not_there_is_an_error(tmp_path):
    released = pl.DataFrame({"age": ["30"] * 2, "sex": ["f"] * 2, "job": ["*"] * 2, "ill": ["a", "b"]})
    asked = recipe(k_map(tmp_path / "nowhere.csv", 2))
    with pytest.raises(DataError, match="cannot be read"):
        shoal.anonymize(people(20, 1), asked)
    with pytest.raises(DataError, match="cannot be read"):
        verify_table(released.to_arrow(), asked)


def test_problems_show_no_cells(tmp_path):
    mark = "ZXMARKERXZ"
    everybody = pl.DataFrame({"age": [30, 31], "sex": [mark, mark], "job": ["none"] * 2})
    everybody.write_csv(tmp_path / "people.csv")
    released = pl.DataFrame(
        {"age": ["[30, 31]"] * 2, "sex": [mark] * 2, "job": ["*"] * 2, "ill": [mark, "b"]}
    )
    verdict = verify_table(released.to_arrow(), recipe(k_map(tmp_path / "people.csv", 3), average(0.1)))
    assert {problem.code for problem in verdict.problems} == {"verify.k_map", "verify.average_risk"}
    assert mark not in str(verdict) + repr(verdict) + json.dumps(verdict.to_dict())


def test_a_release_is_made_and_verified_by_commands(population, tmp_path, monkeypatch):
    file, sample = population
    monkeypatch.chdir(tmp_path)
    sample.write_csv("sample.csv")
    (tmp_path / "people.csv").write_bytes(file.read_bytes())
    goals = ["--goal", "average-risk threshold=0.2", "--goal", "k-map k=12 population=people.csv"]
    flags = ["--quasi", "age,sex,job", "--sensitive", "ill", "--k", "2", *goals]

    def run(*arguments):
        return CliRunner().invoke(app, list(arguments))

    out = ["-o", "out.csv", "--no-bound", "--json", "--save-recipe", "r.toml"]
    made = run("anonymize", "sample.csv", *flags, *out)
    assert made.exit_code == 0, made.stderr
    types = [goal["type"] for goal in json.loads(made.stdout)["goals"]]
    assert types == ["k-anonymity", "average-risk", "k-map"]
    assert run("verify", "out.csv", *flags).exit_code == 0
    assert run("verify", "out.csv", "--recipe", "r.toml").exit_code == 0
    manifest = json.loads((tmp_path / "out.csv.manifest.json").read_text())
    assert manifest["recipe"]["privacy"]["goal"][1]["population"] == "people.csv"
    assert run("verify", "out.csv").exit_code == 0  # the population is next to the manifest
    refused = run("anonymize", "sample.csv", *flags, "-o", "people.csv", "--force")
    assert "would overwrite the population of goal 2" in refused.stderr
    assert Recipe.load("r.toml").moved_to(tmp_path / "x").privacy.goal[1].population == "../people.csv"


@given(st.integers(0, 10_000), st.sampled_from([0.05, 0.1, 0.25, 0.3]), st.integers(2, 40))
def test_what_is_made_is_verified_or_infeasible(tmp_path_factory, seed, threshold, k):
    everybody = people(60, seed)
    file = tmp_path_factory.mktemp("p") / "people.parquet"
    everybody.write_parquet(file)
    asked = recipe(average(threshold), k_map(file, k))
    release = shoal.anonymize(everybody[:30], asked, bound=False)  # verified before it is returned
    assert all(goal.holds for goal in release.goals)


def test_written_releases_are_verified(population, tmp_path):
    file, sample = population
    asked = recipe(k_map(file, 20), average(0.1))
    release = shoal.anonymize(sample, asked, bound=False)
    release.write(tmp_path / "out.parquet")
    verdict = verify(tmp_path / "out.parquet", asked)
    assert verdict.holds
    assert [goal.achieved for goal in verdict.goals] == [goal.achieved for goal in release.goals]
