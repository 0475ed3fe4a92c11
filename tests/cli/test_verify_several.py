"""`shoal verify` with several releases, and with files that belong to a release."""

import json
import shutil
from xml.etree import ElementTree

import pytest
from typer.testing import CliRunner

from shoal.cli.main import app

ROLES = ["--quasi", "age,sex", "--sensitive", "ill", "--k", "3"]


def run(*arguments):
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


@pytest.fixture(scope="module")
def made_once(tmp_path_factory):
    """Two releases with manifests, the second one tampered with, and the raw table."""
    tmp_path = tmp_path_factory.mktemp("made")
    rows = [f"{20 + i},{'fm'[i % 2]},{'flu' if i % 3 else 'cold'}" for i in range(12)]
    (tmp_path / "raw.csv").write_text("\n".join(["age,sex,ill", *rows, ""]), encoding="utf-8")
    for name in ("good.csv", "bad.csv"):
        result = run("anonymize", tmp_path / "raw.csv", *ROLES, "-o", tmp_path / name, "--quiet")
        assert result.exit_code == 0, result.stderr
    bad = (tmp_path / "bad.csv").read_text(encoding="utf-8")
    (tmp_path / "bad.csv").write_text(bad.replace("cold", "flu", 1), encoding="utf-8")
    return tmp_path


@pytest.fixture
def folder(made_once, tmp_path, monkeypatch):
    """A copy of these files for each test, which runs in their folder."""
    shutil.copytree(made_once, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_each_release_has_its_verdict_and_one_broken_promise_is_exit_status_1(folder):
    result = run("verify", "good.csv", "bad.csv")
    assert result.exit_code == 1
    starts = [line.partition(":")[0] for line in result.stdout.splitlines() if "The release" in line]
    assert starts == ["good.csv", "bad.csv"]
    assert "good.csv: The release holds: 12 rows" in result.stdout
    assert "bad.csv: The release does not hold: 12 rows" in result.stdout
    assert result.stdout.count("verify.digest") == 1
    assert run("verify", "good.csv", "good.csv").exit_code == 0


def test_json_of_several_releases_names_them(folder):
    found = json.loads(run("verify", "good.csv", "bad.csv", "--json").stdout)
    assert set(found) == {"holds", "releases"}
    assert not found["holds"]
    assert [(one["release"], one["holds"], one["rows"]) for one in found["releases"]] == [
        ("good.csv", True, 12),
        ("bad.csv", False, 12),
    ]


def test_junit_of_several_releases_names_them(folder):
    run("verify", "good.csv", "bad.csv", "--junit", "junit.xml", "--quiet")
    suite = ElementTree.parse(folder / "junit.xml").getroot()
    failed = {case.get("name"): case.find("failure") is not None for case in suite}
    assert failed == {
        "good.csv: k-anonymity": False,
        "good.csv: promises": False,
        "bad.csv: k-anonymity": False,
        "bad.csv: promises": True,
    }


def test_junit_overwrites_none_of_them(folder):
    before = (folder / "bad.csv").read_bytes()
    result = run("verify", "good.csv", "bad.csv", "--junit", "bad.csv")
    assert result.exit_code == 2
    assert "error [output." in result.stderr
    assert (folder / "bad.csv").read_bytes() == before


def test_flags_hold_for_all(folder):
    result = run("verify", "good.csv", "bad.csv", *ROLES[:-1], "100")
    assert result.exit_code == 1
    assert result.stdout.count("asked 100, achieved") == 2


def test_a_manifest_stands_for_its_release(folder):
    alone = run("verify", "good.csv.manifest.json")
    both = run("verify", "good.csv", "good.csv.manifest.json")
    assert alone.stdout == both.stdout == run("verify", "good.csv").stdout
    assert "The release holds" in alone.stdout
    assert run("verify", "bad.csv.manifest.json").exit_code == 1


def test_a_view_stands_for_all_views(folder):
    assert (
        run(
            "anonymize",
            "raw.csv",
            *ROLES,
            "--views",
            "nested",
            "--accept-composition",
            "-o",
            "v.csv",
            "--quiet",
        ).exit_code
        == 0
    )
    assert run("verify", "v.1.csv").stdout == run("verify", "v.csv").stdout
    second = (folder / "v.2.csv").read_text(encoding="utf-8")
    (folder / "v.2.csv").write_text(second.replace("cold", "flu", 1), encoding="utf-8")
    assert run("verify", "v.1.csv").exit_code == 1


def test_a_part_stands_for_its_folder(folder):
    from shoal.table.siblings import release_of

    (folder / "x.csv").mkdir()
    part = folder / "x.csv" / "part-00000.csv"
    assert release_of(part) == part
    (folder / "x.csv.manifest.json").write_text("{}", encoding="utf-8")
    assert release_of(part) == folder / "x.csv"


@pytest.mark.parametrize("command", [["verify"], ["attack", "raw.csv"]])
def test_without_a_manifest_the_error_says_what_is_missing(folder, command):
    result = run(*command, "raw.csv")
    assert result.exit_code == 2
    assert "What raw.csv promises is not known: there is no manifest next to it." in result.stderr
    assert "--recipe" in result.stderr
    result = run(*command, "absent.csv")
    assert result.exit_code == 2
    assert "error [data.unreadable]: absent.csv cannot be read" in result.stderr


def test_a_hierarchy_that_is_not_found_is_named(folder):
    (folder / "trees").mkdir()
    lines = [f"{sex};*" for sex in "fm"]
    (folder / "trees" / "sex.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    flags = [*ROLES, "--hierarchy", "sex=trees/sex.csv", "-o", "t.csv", "--quiet"]
    assert run("anonymize", "raw.csv", *flags).exit_code == 0
    result = run("verify", "t.csv", "--original", "raw.csv")  # a manifest names no folders
    assert result.exit_code == 2
    assert "cannot be read: sex.csv cannot be opened" in result.stderr
    assert "--recipe" in result.stderr
