"""`shoal measure --analysis`: what is printed, and what is refused."""

import json

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

from shoal.cli.main import app

ROLES = ["--quasi", "age,sex", "--sensitive", "dead", "--drop", "name", "--k", "5"]


def run(*arguments):
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("measured")
    random = np.random.default_rng(0)
    age = random.integers(20, 90, 200)
    people = pl.DataFrame(
        {
            "name": [f"p{at}" for at in range(200)],
            "age": age,
            "sex": random.choice(["f", "m"], 200),
            "dead": np.where(random.random(200) < (age - 10) / 100, "yes", "no"),
        }
    )
    people.write_csv(folder / "people.csv")
    done = run(
        "anonymize",
        folder / "people.csv",
        *ROLES,
        "-o",
        folder / "out.csv",
        "--no-bound",
        "--method",
        "mondrian",
    )
    assert done.exit_code == 0, done.output
    return folder


def measured(folder, *more):
    released = ["--released", folder / "out.csv", "--no-bound"]
    return run("measure", folder / "people.csv", *ROLES, *released, *more)


def test_json(folder):
    done = measured(folder, "--analysis", "dead ~ age + sex", "--analysis", "age ~ sex", "--json")
    assert done.exit_code == 0, done.output
    found = json.loads(done.stdout)["utility"]
    assert {tuple(pair["columns"]) for pair in found["dependence"]["pairs"]} == {
        ("age", "sex"), ("age", "dead"), ("sex", "dead"),
    }  # fmt: skip
    assert [errors["selectivity"] for errors in found["queries"]] == [0.01, 0.05, 0.2]
    logistic, linear = found["analyses"]
    assert (logistic["model"], logistic["outcome"], linear["model"]) == (
        "logistic regression", "yes", "linear regression",
    )  # fmt: skip
    assert [one["name"] for one in linear["coefficients"]] == ["(intercept)", "sex=f"]
    assert logistic["raw_score"] > 0.6
    again = measured(folder, "--analysis", "dead ~ age + sex", "--analysis", "age ~ sex", "--json")
    assert again.stdout == done.stdout


def test_table(folder):
    done = measured(folder, "--analysis", "dead ~ age + sex")
    for words in ("age and dead", "relative error of random counts", "odds of yes", "AUC", "overlap"):
        assert words in done.stdout
    assert "AUC" not in measured(folder).stdout


@pytest.mark.parametrize(
    ("more", "words"),
    [
        (["--analysis", "dead"], "analysis.formula"),
        (["--analysis", "dead ~ agee"], "did you mean `age`?"),
        (["--analysis", "dead ~ name"], "`name`, which is not a released column"),
        (["--analysis", "dead ~ age * sex"], "products, functions and powers are not supported"),
    ],
)
def test_bad_formulas(folder, more, words):
    refused = measured(folder, *more, "--json")
    assert refused.exit_code == 2
    assert words in refused.stderr
    assert "error" in json.loads(refused.stdout)


def test_an_analysis_needs_a_release(folder):
    refused = run("measure", folder / "people.csv", *ROLES, "--analysis", "dead ~ age")
    assert refused.exit_code == 2
    assert "--released" in refused.stderr
