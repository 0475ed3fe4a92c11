"""`shoal attack` and its JUnit file."""

import json
import shutil
from xml.etree import ElementTree

import pytest
from typer.testing import CliRunner

from shoal.attacks import ATTACKS
from shoal.cli.main import app
from tests.attacks.tables import frame

KEYS = {
    "attack", "group", "columns", "success", "baseline", "guess", "ceiling", "low", "high", "interval",
    "rows", "finding", "message", "details",
}  # fmt: skip


def run(*arguments):
    return CliRunner().invoke(app, [str(argument) for argument in arguments], env={"COLUMNS": "120"})


@pytest.fixture(scope="module")
def made_once(tmp_path_factory):
    """A raw table, a release of it with its manifest, and one in which a class is one short."""
    tmp_path = tmp_path_factory.mktemp("made")
    rows = [f"p{n}|{20 + n}|{'fm'[n % 2]}|{('flu', 'cold', 'gout')[n % 3]}" for n in range(40)]
    frame("name|age|sex|ill", *rows).write_csv(tmp_path / "raw.csv")
    made = run(
        "anonymize", tmp_path / "raw.csv", "--quasi", "age,sex", "--sensitive", "ill", "--identifier", "name",
        "--k", 4, "--goal", "l-diversity column=ill l=2", "-o", tmp_path / "out.csv", "--json",
    )  # fmt: skip
    assert made.exit_code == 0, made.stderr
    lines = (tmp_path / "out.csv").read_text().splitlines(keepends=True)
    (tmp_path / "short.csv").write_text("".join(lines[:1] + lines[2:]))
    return tmp_path


@pytest.fixture
def folder(made_once, tmp_path):
    """A copy of these files for each test."""
    shutil.copytree(made_once, tmp_path, dirs_exist_ok=True)
    return tmp_path


FLAGS = ("--quasi", "age,sex", "--sensitive", "ill", "--identifier", "name", "--k", 4)


def test_the_manifest_next_to_the_release_is_enough(folder):
    result = run("attack", folder / "raw.csv", folder / "out.csv", "--json")
    assert result.exit_code == 0
    found = json.loads(result.stdout)
    assert all(set(each) == KEYS for each in found)
    assert {each["attack"] for each in found} <= set(ATTACKS)
    by_name = {each["attack"]: each for each in found}
    assert by_name["classes"]["ceiling"] == 1 / 4
    assert by_name["homogeneity"]["ceiling"] == 0  # the goal in the manifest
    same = run("attack", folder / "raw.csv", folder / "out.csv", *FLAGS, "--json")
    assert json.loads(same.stdout)[0] == found[0]


def test_a_table_and_a_verdict_are_printed(folder):
    result = run("attack", folder / "raw.csv", folder / "out.csv")
    assert result.exit_code == 0
    lines = result.stdout.splitlines()
    assert lines[1].split() == [
        "attack", "success", "95", "%", "interval", "raw", "table", "without", "promised", "finding"
    ]  # fmt: skip
    assert [line.strip() for line in lines if line.strip() in ("singling out", "linkability", "inference")]
    assert "No promise was broken" in result.stdout
    quiet = run("attack", folder / "raw.csv", folder / "out.csv", "--quiet")
    assert (quiet.exit_code, quiet.stdout) == (0, "")


@pytest.mark.parametrize(
    ("width", "heading"),
    [(60, "attack success promised finding"), (80, "attack success raw table without promised finding")],
)
def test_a_narrow_table_has_fewer_columns_and_whole_names(folder, width, heading):
    arguments = ["attack", str(folder / "raw.csv"), str(folder / "out.csv")]
    lines = CliRunner().invoke(app, arguments, env={"COLUMNS": str(width)}).stdout.splitlines()
    assert lines[1].split() == heading.split()
    (row,) = [line.split() for line in lines if "containment-worst" in line]
    assert row[:3] == ["containment-worst", "25.0", "%"]
    assert row[-3:] == ["25.0", "%", "-"]  # 1 / k is promised


def test_a_broken_promise_is_exit_status_1_and_a_failed_case(folder):
    junit = folder / "junit.xml"
    arguments = ["attack", folder / "raw.csv", folder / "short.csv", *FLAGS, "--k", 5, "--junit", junit]
    result = run(*arguments, "--json")
    assert result.exit_code == 1
    broken = [each for each in json.loads(result.stdout) if each["finding"] == "broken"]
    suite = ElementTree.parse(junit).getroot()
    failed = [case.get("name") for case in suite if case.find("failure") is not None]
    assert "classes-worst" in failed
    assert suite.get("failures") == str(len(failed)) == str(len(broken))
    assert suite.get("tests") == str(len(suite))
    assert suite.find("testcase/failure").get("message") == broken[0]["message"]
    assert "broke a promise." in run(*arguments).stdout


def test_the_junit_file_of_a_good_release_has_no_failure(folder):
    run("attack", folder / "raw.csv", folder / "out.csv", "--junit", folder / "junit.xml", "--quiet")
    suite = ElementTree.parse(folder / "junit.xml").getroot()
    assert suite.get("failures") == "0"
    assert {case.get("classname") for case in suite} == {"shoal.attacks"}


def test_what_is_read_is_not_overwritten(folder):
    before = (folder / "raw.csv").read_bytes()
    for path in (folder / "raw.csv", folder / "out.csv", folder / "short.csv"):
        files = [folder / "raw.csv", folder / "out.csv", "--earlier", folder / "short.csv"]
        result = run("attack", *files, "--junit", path)
        assert result.exit_code == 2
        assert "error [output." in result.stderr
    assert (folder / "raw.csv").read_bytes() == before


def test_earlier_releases_are_intersected(folder):
    arguments = ["attack", folder / "raw.csv", folder / "out.csv", "--json"]
    result = run(*arguments, "--earlier", folder / "out.csv", "--earlier", folder / "out.csv")
    assert result.exit_code == 0
    (both,) = [each for each in json.loads(result.stdout) if each["attack"] == "intersection"]
    assert both["details"]["below_k"] == 0  # the same release again shows nothing new


def test_several_views(folder):
    out = folder / "views.csv"
    views = ["--views", "equal", "--accept-composition"]
    made = run("anonymize", folder / "raw.csv", *FLAGS, *views, "-o", out, "--json")
    assert made.exit_code == 0, made.stderr
    found = json.loads(run("attack", folder / "raw.csv", out, "--json").stdout)
    assert {each["details"]["view"] for each in found if each["attack"] == "classes"} == {1, 2}
    assert "intersection" in {each["attack"] for each in found}


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["raw.csv", "nothing.csv", *FLAGS], "data.unreadable"),
        (["nothing.csv", "out.csv", *FLAGS], "data.unreadable"),
        (["raw.csv", "raw.csv", "--quasi", "age,size", "--k", 4], "data.unreadable"),
        (["raw.csv", "short.csv"], "recipe.invalid"),
        (["raw.csv", "out.csv", "--recipe", "nothing.toml"], "recipe.unreadable"),
        (["raw.csv", "out.csv", *FLAGS, "--earlier", "nothing.csv"], "data.unreadable"),
        (["out.csv", "out.csv", *FLAGS], "data.labels"),
    ],
)
def test_bad_usage_is_one_error(folder, arguments, code, monkeypatch):
    monkeypatch.chdir(folder)
    result = run("attack", *arguments, "--json")
    assert result.exit_code == 2
    assert json.loads(result.stdout)["error"]["code"] == code
    assert result.stderr.startswith(f"error [{code}]: ")
    assert "hint: " in result.stderr
