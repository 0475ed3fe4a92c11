"""What a recipe says about a release: purpose, author, recipient and date."""

import json
import tomllib

import polars as pl
import pytest
from typer.testing import CliRunner

import shoal
from shoal.cli.main import app
from shoal.recipe import Recipe, shareable, shared_digest

ABOUT = {
    "purpose": "Study of <b>costs</b>",
    "author": "A. Author",
    "recipient": "City",
    "date": "spring 2026",
}
PEOPLE = pl.DataFrame({"age": [31, 33, 58, 60]})


def recipe(**about):
    return Recipe.from_dict({"about": about, "columns": {"age": {"role": "quasi"}}, "privacy": {"k": 2}})


def test_texts_survive_the_way_through_toml():
    assert Recipe.from_dict(tomllib.loads(recipe(**ABOUT).to_toml())).about.model_dump() == ABOUT


def test_a_date_may_be_written_without_quotes(tmp_path):
    path = tmp_path / "r.toml"
    path.write_text('[about]\ndate = 2026-03-31\n[columns.age]\nrole = "quasi"\n[privacy]\nk = 2\n')
    assert Recipe.load(path).about.date == "2026-03-31"


def test_without_texts_there_is_no_section():
    assert "about" not in recipe().to_dict()
    assert "about" not in shareable(recipe())


@pytest.mark.parametrize(
    ("about", "words"),
    [
        ({"purpos": "x"}, "did you mean `purpose`"),
        ({"purpose": 5}, "`about.purpose` in the recipe should be a valid string"),
        ({"author": ""}, "`about.author` in the recipe should be a text of 1 to 2,000 characters"),
        ({"recipient": "x" * 2001}, "a text of 1 to 2,000 characters"),
    ],
)
def test_faults(about, words):
    with pytest.raises(shoal.ShoalError) as caught:
        recipe(**about)
    assert caught.value.code == "recipe.invalid"
    assert words in str(caught.value)


def test_manifest_and_report_repeat_the_texts(tmp_path):
    release = shoal.anonymize(PEOPLE, recipe(date="1999"), about=ABOUT)
    path = release.write(tmp_path / "out.csv", report=True)
    manifest = json.loads((tmp_path / "out.csv.manifest.json").read_text())
    assert manifest["recipe"]["about"] == ABOUT
    report = (tmp_path / "out.csv.report.html").read_text()
    assert "<dt>Recipient</dt><dd>City</dd>" in report
    assert "<dd>Study of &lt;b&gt;costs&lt;/b&gt;</dd>" in report
    assert shoal.verify(path, Recipe.load(tmp_path / "out.csv.manifest.json")).holds


def test_a_report_without_texts_has_no_list(tmp_path):
    shoal.anonymize(PEOPLE, recipe()).report(tmp_path / "report.html")
    assert 'class="about"' not in (tmp_path / "report.html").read_text()


def test_a_release_with_other_texts_replaces_the_earlier_one(tmp_path):
    assert shared_digest(shareable(recipe(**ABOUT))) == shared_digest(shareable(recipe()))
    shoal.anonymize(PEOPLE, recipe(date="2025")).write(tmp_path / "out.csv")
    shoal.anonymize(PEOPLE, recipe(date="2026")).write(tmp_path / "out.csv")
    assert '"2026"' in (tmp_path / "out.csv.manifest.json").read_text()


def test_flags(tmp_path):
    source, out = tmp_path / "people.csv", tmp_path / "out.csv"
    PEOPLE.write_csv(source)

    def run(*about):
        arguments = ["anonymize", source, "--quasi", "age", "--k", "2", "-o", out]
        return CliRunner().invoke(app, [str(argument) for argument in (*arguments, *about)])

    done = run("--about", "purpose=Rates = counts / people", "--about", "date=2026-03-31")
    assert done.exit_code == 0, done.output
    manifest = json.loads((tmp_path / "out.csv.manifest.json").read_text())
    assert manifest["recipe"]["about"] == {"purpose": "Rates = counts / people", "date": "2026-03-31"}
    for wrong, words in (("purpose", "--about takes KEY=TEXT"), ("goal=x", "Unknown key `goal` in [about]")):
        refused = run("--about", wrong)
        assert refused.exit_code == 2
        assert words in refused.stderr
