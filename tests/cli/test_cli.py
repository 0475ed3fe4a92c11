"""Whole commands, as a user runs them."""

import csv
import json
import shlex
import subprocess
import sys
import xml.etree.ElementTree as ElementTree

import polars as pl
import pytest
from typer.testing import CliRunner

from shoal.cli.main import app
from tests.profiles import IS_SLOW

KEYS = {
    "method", "seed", "rows", "released", "suppressed", "classes", "seconds", "k", "goals", "loss",
    "loss_tight", "bound", "timings", "output", "manifest", "report",
}  # fmt: skip
LOSSES = {"il", "gcp", "distortion_ratio", "dm", "c_avg", "cm"}


def shoal(*arguments):
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


@pytest.fixture(scope="module")
def adult_release(adult8, tmp_path_factory):
    """Adult at k = 10: the path of the release and what the command printed."""
    path = tmp_path_factory.mktemp("adult") / "X.csv"
    result = shoal("anonymize", adult8, "--method", "k-member", "--k", 10, "-o", path, "--json")
    assert result.exit_code == 0, result.stderr
    return path, json.loads(result.stdout)


def test_adult8_has_the_keys_and_numbers_of_the_contract(adult_release):
    path, numbers = adult_release
    assert set(numbers) >= KEYS
    assert set(numbers["loss"]) == set(numbers["loss_tight"]) == LOSSES
    assert (numbers["k"], numbers["released"], numbers["suppressed"]) == (10, 30162, 0)
    assert 20_000 <= numbers["loss"]["il"] <= 22_500
    assert numbers["loss"]["gcp"] == pytest.approx(numbers["loss"]["il"] / (8 * 30162))
    assert (numbers["bound"], numbers["bound_is_estimate"]) == (12300, False)
    assert numbers["bound_how"] == "row prices, all rows"
    assert numbers["goals"] == [
        {"type": "k-anonymity", "column": None, "asked": 10, "achieved": 10, "holds": True}
    ]
    assert (numbers["output"], numbers["report"]) == (str(path), f"{path}.report.html")
    stages = {"read", "encode", "cluster", "recode", "bounding", "measure", "write", "verify", "report"}
    assert set(numbers["timings"]) == stages


def test_verify_holds_then_fails_after_one_cell_is_changed(adult_release, adult8, tmp_path):
    path, _ = adult_release
    assert shoal("verify", path, "--recipe", adult8).exit_code == 0
    with open(path, newline="", encoding="utf-8") as file:
        rows = list(csv.reader(file))
    rows[1000][rows[0].index("age")] = "[17, 18]" if rows[1000][1] != "[17, 18]" else "[17, 19]"
    changed = tmp_path / "changed.csv"
    with open(changed, "w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows(rows)
    result = shoal("verify", changed, "--recipe", adult8, "--json")
    assert result.exit_code == 1
    verdict = json.loads(result.stdout)
    assert set(verdict) == {"holds", "rows", "classes", "k", "k_wildcard", "goals", "problems", "remarks"}
    assert not verdict["holds"]
    assert [problem["code"] for problem in verdict["problems"]] == ["verify.k"]


def test_a_change_that_keeps_k_is_caught_by_the_manifest(adult_release, adult8, tmp_path):
    path, _ = adult_release
    frame = pl.read_csv(path, infer_schema=False)
    swapped = frame.with_columns(pl.col("salary-class").reverse())
    changed = tmp_path / "X.csv"
    swapped.write_csv(changed)
    manifest = path.with_name("X.csv.manifest.json")
    (tmp_path / manifest.name).write_bytes(manifest.read_bytes())
    result = shoal("verify", changed, "--recipe", adult8)
    assert result.exit_code == 1
    assert "verify.digest" in result.stdout


def test_verify_compares_with_the_original(adult_release, adult8, tmp_path):
    path, _ = adult_release
    original = adult8.parent / "adult.csv"
    assert shoal("verify", path, "--recipe", adult8, "--original", original).exit_code == 0
    short = tmp_path / "short.csv"
    short.write_text("\n".join(original.read_text(encoding="utf-8").splitlines()[:30000]), encoding="utf-8")
    result = shoal("verify", path, "--recipe", adult8, "--original", short, "--json")
    assert result.exit_code == 1
    assert "verify.original_rows" in [problem["code"] for problem in json.loads(result.stdout)["problems"]]


def test_junit_has_a_case_for_each_goal(adult_release, adult8, tmp_path):
    path, _ = adult_release
    for k, failures in ((10, "0"), (11, "2")):
        report = tmp_path / f"{k}.xml"
        shoal("verify", path, "--recipe", adult8, "--k", k, "--junit", report)
        suite = ElementTree.parse(report).getroot()
        assert suite.get("failures") == failures
        assert [case.get("name") for case in suite] == ["k-anonymity", "promises"]


@pytest.fixture
def people(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = [f"n{i},{20 + i},{'fm'[i % 2]},{'flu' if i % 3 else 'cold'},{i}" for i in range(20)]
    (tmp_path / "people.csv").write_text("name,age,sex,disease,x\n" + "\n".join(rows), encoding="utf-8")
    return tmp_path


def test_flags_alone_make_a_release(people):
    result = shoal(
        "anonymize", "people.csv", "--quasi", "age,sex", "--sensitive", "disease", "--identifier", "name",
        "--drop", "x", "--k", 4, "--seed", 3, "-o", "out.parquet",
    )  # fmt: skip
    assert result.exit_code == 0, result.stderr
    assert "k-anonymity: asked 4, achieved" in result.stdout
    assert pl.read_parquet("out.parquet").columns == ["age", "sex", "disease"]
    flags = ("--quasi", "age,sex", "--sensitive", "disease", "--k", 4)
    assert shoal("verify", "out.parquet", *flags).exit_code == 0


def test_flags_override_the_recipe(people):
    (people / "r.toml").write_text(
        '[input]\npath = "people.csv"\n[columns]\ndefault = "drop"\n[columns.age]\nrole = "quasi"\n'
        '[privacy]\nk = 2\n[output]\npath = "a.csv"\n',
        encoding="utf-8",
    )
    tree = people / "tree.csv"
    tree.write_text("f;*\nm;*\n", encoding="utf-8")
    result = shoal(
        "anonymize", "r.toml", "--k", 12, "-o", "b.csv", "--keep", "disease", "--quasi", "sex",
        "--hierarchy", f"sex={tree}", "--json",
    )  # fmt: skip
    assert result.exit_code == 0, result.stderr
    assert json.loads(result.stdout)["goals"][0]["asked"] == 12
    released = pl.read_csv("b.csv", infer_schema=False)
    assert released.columns == ["age", "sex", "disease"]
    assert "*" in released["sex"].to_list()
    assert not (people / "a.csv").exists()


def test_the_input_is_never_overwritten(people):
    before = (people / "people.csv").read_bytes()
    result = shoal(
        "anonymize", "people.csv", "--quasi", "age", "--default", "drop", "--k", 2, "-o", "people.csv"
    )
    assert result.exit_code == 2
    assert "[output.unwritable]" in result.stderr
    assert (people / "people.csv").read_bytes() == before


def test_quiet_prints_nothing(people):
    result = shoal(
        "anonymize", "people.csv", "--quasi", "age", "--default", "drop", "--k", 2, "-o", "q.csv", "-q"
    )
    assert (result.exit_code, result.stdout, result.stderr) == (0, "", "")


def test_flags_of_later_versions_are_refused(people):
    result = shoal(
        "anonymize", "people.csv", "--quasi", "age", "--default", "drop", "--k", 2, "-o", "q.csv",
        "--record", "r",
    )  # fmt: skip
    assert result.exit_code == 2
    assert "[recipe.not_available]" in result.stderr
    assert "--record" in result.stderr


@pytest.mark.parametrize(("effort", "rounds"), [("quick", 6), ("high", 174)])
def test_effort_is_how_long_the_default_method_searches(people, effort, rounds):
    result = shoal(
        "anonymize", "people.csv", "--quasi", "age", "--default", "drop", "--k", 2, "-o", "q.csv",
        "--effort", effort,
    )  # fmt: skip
    assert result.exit_code == 0
    assert "method local-search (auto: " in result.stdout
    assert f"local search, {rounds} rounds" in result.stdout


def test_demo_tells_where_everything_is(tmp_path):
    result = shoal("demo", "--dir", tmp_path / "d", "--rows", 500 if IS_SLOW else 200)
    assert result.exit_code == 0, result.stderr
    for name in (
        "hospital.csv",
        "hospital.toml",
        "hospital-k5.csv",
        "hospital-k5.csv.manifest.json",
        "hospital-k5.csv.report.html",
    ):
        assert (tmp_path / "d" / name).exists()
        assert name in result.stdout
    # The commands it ends with work as they are printed.
    asked = [shlex.split(line) for line in result.stdout.splitlines() if line.startswith(f"  {sys.argv[0]} ")]
    assert [command[1] for command in asked] == ["verify", "anonymize", "compare"]
    for command in asked:
        done = shoal(*command[1:])
        assert done.exit_code == 0, done.stderr


def test_methods_lists_options_with_their_defaults():
    methods = {method["name"]: method for method in json.loads(shoal("methods", "--json").stdout)}
    assert list(methods) == [
        "local-search", "k-member", "oka", "systematic", "kaca", "cb", "mondrian", "threshold", "c-means",
        "incognito", "nh", "anatomy",
    ]  # fmt: skip
    for method in methods.values():
        assert set(method) == {"name", "paper", "idea", "cost", "guarantees", "options"}
    assert methods["k-member"]["options"]["class_penalty"] == 1.0
    assert "k-member" in shoal("methods").stdout


def test_unknown_flags_and_commands_are_usage_errors():
    assert shoal("anonymize", "--frobnicate").exit_code == 2
    assert shoal("frobnicate").exit_code == 2
    assert shoal("--version").stdout.startswith("shoal 0.")


def test_a_reader_that_stops_early_is_no_fault():
    command = [sys.executable, "-c", "from shoal.cli.main import main; main()", "methods"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        process.stdout.close()
        said = process.stderr.read()
    assert "fault" not in said
