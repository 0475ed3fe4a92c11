"""Where the bound is told: beside losses in texts, JSON, manifests, reports and Python, rounded down."""

import json
import os
import subprocess
import sys
from contextlib import suppress
from math import ceil
from pathlib import Path

import polars as pl
import pytest
from typer.testing import CliRunner

import shoal
from shoal.bound.result import Bound, total_bound
from shoal.cli.main import app
from shoal.cli.summary import gap_lines
from shoal.errors import IdentityUnprotectedWarning
from shoal.workflow.measure import measure_tables
from tests.bound.limits import set_limit
from tests.profiles import IS_SLOW

AGES = [0.0, 1.0, 2.0, 10.0, 0.0, 1.0, 2.0, 10.07]


def run(*arguments):
    result = CliRunner().invoke(app, [str(argument) for argument in arguments])
    assert result.exit_code == 0, result.stderr
    return result.stdout


@pytest.fixture
def people(tmp_path, monkeypatch):
    """Eight people whose ages lie between 0 and 10.07, and the recipe for them: k = 3."""
    monkeypatch.chdir(tmp_path)
    pl.DataFrame({"age": AGES, "ill": list("abcdabcd")}).write_csv("people.csv")
    recipe = shoal.Recipe.from_dict(
        {
            "input": {"path": "people.csv"},
            "columns": {"age": {"role": "quasi"}, "ill": {"role": "sensitive"}},
            "privacy": {"k": 3},
        }
    )
    (tmp_path / "r.toml").write_text(recipe.to_toml(), encoding="utf-8")
    return recipe


@pytest.fixture
def found(people):
    return shoal.anonymize(shoal.Recipe.load("r.toml")).bound


def test_it_is_told_beside_the_loss(people, found):
    told = json.loads(run("anonymize", "r.toml", "-o", "out.csv", "--json"))
    assert told["bound"] == found.rounded < found.total <= told["loss"]["il"]
    assert told["bound_how"] == "row prices, all rows"
    assert told["bound_is_estimate"] is False
    assert "bounding" in told["timings"]
    text = run("anonymize", "r.toml", "-o", "out.csv")
    times = told["loss"]["il"] / told["bound"]
    assert f"lower bound of Total IL: {told['bound']} (row prices, all rows); " in text
    assert "; this release has " in text
    assert f", {times:.2f} times the bound\n" in text
    above = ceil(100 * times - 100 - 1e-9)
    assert told["bound_gap"] == above / 100
    assert f"  at most {above} % above the least possible loss\n" in text


def test_it_is_rounded_in_what_is_published(people, found):
    run("anonymize", "r.toml", "-o", "out.csv")
    with open("out.csv.manifest.json", encoding="utf-8") as file:
        manifest = json.load(file)
    assert (manifest["bound"], manifest["bound_how"]) == (found.rounded, found.how)
    with open("out.csv.report.html", encoding="utf-8") as file:
        report = file.read()
    assert "No release of boxes that meets k and the goals can lose less" in report
    for text in (json.dumps(manifest), report):
        assert str(found.rounded) in text
        assert f"{found.total:.4f}"[:-1] not in text


def test_an_estimate_is_called_one(people, monkeypatch):
    set_limit(monkeypatch, "_ALL_ROWS", 0)
    set_limit(monkeypatch, "_MAX_PRICED", 0)
    text = run("anonymize", "r.toml", "-o", "out.csv")
    assert "(an estimate: row prices, 4,000 of 8 rows, 99 % confidence)" in text
    with open("out.csv.report.html", encoding="utf-8") as file:
        assert "An estimate of the minimum loss of any release" in file.read()


def test_measure_tells_it(people, found):
    run("anonymize", "r.toml", "-o", "out.csv")
    asked = ("measure", "people.csv", "--recipe", "r.toml", "--released", "out.csv")
    assert json.loads(run(*asked, "--json"))["bound"] == found.rounded
    assert f"lower bound of Total IL: {found.rounded} (" in run(*asked)
    without = json.loads(run(*asked, "--json", "--no-bound"))
    assert without["bound"] is without["bound_how"] is without["bound_is_estimate"] is None
    assert "bound" not in run(*asked, "--no-bound")


def errors_on_terminal(*arguments):
    """What a command writes to a terminal as its standard error."""
    import pty

    ours, theirs = pty.openpty()
    command = [sys.executable, "-c", "from shoal.cli.main import main; main()", *arguments]
    environment = {**os.environ, "TERM": "xterm"}
    running = subprocess.Popen(command, stderr=theirs, stdout=subprocess.DEVNULL, env=environment)
    os.close(theirs)
    written = b""
    with os.fdopen(ours, "rb", buffering=0) as terminal, suppress(OSError):  # Linux's end of a terminal
        while part := terminal.read(4096):
            written += part
    assert running.wait() == 0, written
    return written.decode()


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such terminals")
def test_measure_shows_its_progress_on_a_terminal_alone(people):
    run("anonymize", "r.toml", "-o", "out.csv")
    asked = ("measure", "people.csv", "--recipe", "r.toml", "--released", "out.csv")
    shown = errors_on_terminal(*asked)
    assert all(stage in shown for stage in ("reading", "encoding", "bounding", "measuring"))
    if IS_SLOW:
        assert "bounding" not in errors_on_terminal(*asked, "--no-bound")
    assert errors_on_terminal(*asked, "--quiet") == ""
    assert CliRunner().invoke(app, asked).stderr == ""


def test_measure_tells_how_far_the_bound_is(people):
    run("anonymize", "r.toml", "-o", "out.csv")
    told = []
    recipe = shoal.Recipe.load("r.toml")
    measure_tables(recipe, Path("out.csv"), progress=lambda *step: told.append(step))
    stages = ["read", "encode", "utility", "bounding", "measure"]
    assert list(dict.fromkeys(stage for stage, *_ in told)) == stages
    shares = [share for stage, share, _ in told if stage == "bounding"]
    assert (shares[0], shares[-1]) == (0, 1)
    assert any(0 < share < 1 for share in shares)


def test_measure_counts_the_rows_that_a_release_left_out(people):
    # Whoever is at 12 drags others up and counts more than 1, but costs 1 when she is left out.
    pl.DataFrame({"age": [0, 0, 0, 1, 1, 1, 12], "ill": list("abcdabc")}).write_csv("people.csv")
    pl.DataFrame({"age": list("000111"), "ill": list("abcabc")}).write_csv("out.csv")
    told = json.loads(run("measure", "people.csv", "--recipe", "r.toml", "--released", "out.csv", "--json"))
    assert told["loss"]["il"] == told["bound"] == 1
    assert shoal.anonymize(shoal.Recipe.load("r.toml")).bound.total > 1.8


def test_no_bound(people):
    told = json.loads(run("anonymize", "r.toml", "-o", "out.csv", "--json", "--no-bound"))
    assert told["bound"] is told["bound_how"] is told["bound_is_estimate"] is None
    assert "bounding" not in told["timings"]
    assert "lower bound" not in run("anonymize", "r.toml", "-o", "out.csv", "--no-bound")
    with open("out.csv.report.html", encoding="utf-8") as file:
        assert "Not computed." in file.read()


def test_python_can_go_without(people):
    frame = pl.DataFrame({"age": AGES})
    assert shoal.anonymize(frame, quasi=["age"], k=3).bound.total > 0
    assert shoal.anonymize(frame, quasi=["age"], k=3, bound=False).bound is None


def test_anatomy_has_none(people):
    frame = pl.DataFrame({"age": AGES, "ill": list("abcdabcd")})
    with pytest.warns(IdentityUnprotectedWarning):
        release = shoal.anonymize(
            frame, quasi=["age"], sensitive=["ill"], k=2, method="anatomy", options={"l": 2}
        )
    assert release.to_dict()["bound"] is None


@pytest.mark.parametrize("views_by", ["clustering", "projection"])
def test_views_have_one_each_and_one_together(views_by):
    frame = pl.DataFrame({"age": AGES, "sex": list("ffmmffmm"), "ill": ["a"] * 8})
    release = shoal.anonymize(
        frame, quasi=["age", "sex"], sensitive=["ill"], k=2, views="equal", views_by=views_by
    )
    told = release.to_dict()
    for view in release.parts:
        assert 0 <= view.numbers.bound.total <= view.numbers.loss.il
    assert release.bound.total == sum(view.numbers.bound.total for view in release.parts)
    assert told["bound"] == release.bound.rounded
    assert [view["bound"] for view in told["views"]] == [view.numbers.bound.rounded for view in release.parts]
    bare = shoal.anonymize(frame, quasi=["age", "sex"], sensitive=["ill"], k=2, views="equal", bound=False)
    assert bare.bound is bare.to_dict()["bound"] is None


def test_several_bounds_are_an_estimate_if_one_of_them_is():
    exact, guess = Bound(1.0, False, "a"), Bound(2.0, True, "b")
    assert total_bound([exact, guess, exact]) == Bound(4.0, True, "a; b")
    assert total_bound([exact, None]) is None


def test_the_errors_of_several_estimates_add_up():
    exact, guess = Bound(1.0, False, "a"), Bound(2.0, True, "b")
    assert (exact.confidence, guess.confidence) == (1.0, 0.99)
    assert total_bound([exact, guess, guess, guess]).confidence == 0.97
    assert total_bound([total_bound([guess, guess]), guess]).confidence == 0.97
    assert total_bound([exact, exact]).confidence == 1.0


@pytest.mark.parametrize(("views", "sure"), [([], 99), ([True, True, False], 98), ([True] * 3, 97)])
def test_how_sure_a_gap_is(views, sure):
    told = {
        "bound_gap": 0.12,
        "bound_is_estimate": True,
        "views": [{"bound_is_estimate": at} for at in views],
    }
    assert gap_lines(told) == [f"at most 12 % above the least possible loss, with {sure} % confidence"]
    assert gap_lines({**told, "bound_is_estimate": False}) == ["at most 12 % above the least possible loss"]


def test_a_bound_of_nothing_has_no_ratio(people):
    pl.DataFrame({"age": [1] * 8, "ill": list("abcdabcd")}).write_csv("people.csv")
    text = run("anonymize", "r.toml", "-o", "out.csv")
    assert "lower bound of Total IL: 0 (row prices, all rows)\n" in text


def test_typical_values_are_measured_by_their_classes(people):
    file = shoal.Recipe.load("r.toml", changes={"output": {"values": "microaggregate"}})
    with open("m.toml", "w", encoding="utf-8") as out:
        out.write(file.to_toml())
    assert "times the bound" in run("anonymize", "m.toml", "-o", "out.csv")


def test_a_release_that_misses_the_goals_is_compared_without_them(people):
    # Somebody else's release, k = 4: the two youngest and the two oldest have one illness each.
    table = pl.DataFrame({"age": [0.0, 1.0, 2.0, 3.0], "ill": list("aaab")})
    table.write_csv("four.csv")
    pl.DataFrame({"age": ["[0, 1]", "[0, 1]", "[2, 3]", "[2, 3]"], "ill": list("aaab")}).write_csv("two.csv")
    pl.DataFrame({"age": ["[0, 3]"] * 4, "ill": list("aaab")}).write_csv("one.csv")
    goal = {"type": "l-diversity", "column": "ill", "l": 2}
    recipe = shoal.Recipe.from_dict(
        {**people.model_dump(exclude_defaults=True)}, changes={"privacy": {"k": 2, "goal": [goal]}}
    )
    Path("two.toml").write_text(recipe.to_toml(), encoding="utf-8")
    flags = ["four.csv", "--recipe", "two.toml", "--json"]
    missed = json.loads(run("measure", *flags, "--released", "two.csv"))
    assert (missed["bound_how"], missed["bound_gap"]) == ("row prices, all rows", pytest.approx(0.01))
    assert missed["bound"] <= missed["loss"]["il"] == pytest.approx(4 / 3)
    met = json.loads(run("measure", *flags, "--released", "one.csv"))
    assert met["bound_how"] == "row prices with l-diversity, all rows"
    assert missed["loss"]["il"] < met["bound"] <= met["loss"]["il"] == 4


@pytest.mark.parametrize("also", ["a population that is not there", "a view"])
def test_goals_count_whatever_else_the_recipe_asks_for(people, also):
    pl.DataFrame({"age": [0, 1, 2, 3], "sex": ["f"] * 4, "ill": list("aaab")}).write_csv("four.csv")
    pl.DataFrame({"age": ["[0, 3]"] * 4, "sex": ["f"] * 4, "ill": list("aaab")}).write_csv("one.csv")
    goals = [{"type": "l-diversity", "column": "ill", "l": 2}]
    asked = {"columns": {**people.model_dump(exclude_defaults=True)["columns"], "sex": {"role": "quasi"}}}
    if also == "a view":
        asked["output"] = {"views": [["age", "sex"], ["age"]], "views_by": "projection"}
    else:
        goals.append({"type": "k-map", "k": 2, "population": "nowhere.csv"})
    recipe = shoal.Recipe.from_dict({**asked, "privacy": {"k": 2, "goal": goals}})
    Path("two.toml").write_text(recipe.to_toml(), encoding="utf-8")
    told = json.loads(run("measure", "four.csv", "--recipe", "two.toml", "--released", "one.csv", "--json"))
    assert told["bound_how"] == "row prices with l-diversity, all rows"
