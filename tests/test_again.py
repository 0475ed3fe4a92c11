"""The worked example of docs/again.md does what the page says."""

import json
import re
import shlex
from pathlib import Path

import pytest
from typer.testing import CliRunner

from shoal.cli.main import app
from tests.test_docs import keys_of

DOCS = Path(__file__).parents[1] / "docs"
PAGE = (DOCS / "again.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```(\w*)\n(.*?)```", PAGE, flags=re.DOTALL)


def shown(start):
    """The one block that starts so."""
    (found,) = (text for _, text in BLOCKS if text.startswith(start))
    return found


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """The files of the example; that of May is not on the page."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "stays.toml").write_text(next(text for kind, text in BLOCKS if kind == "toml"))
    march, april = (text for _, text in BLOCKS if text.startswith("patient,"))
    (tmp_path / "march-raw.csv").write_text(march)
    (tmp_path / "april-raw.csv").write_text(april)
    (tmp_path / "may-raw.csv").write_text("patient,age,disease\np8,61,cold\n")
    return tmp_path


def run(line, *more):
    result = CliRunner().invoke(app, [*shlex.split(line)[1:], *more])
    assert result.exit_code == 0, result.output
    return result.stdout


def test_the_worked_example(folder):
    for line in shown("shoal keys").splitlines():
        run(line)
    extend, again = (text.strip() for _, text in BLOCKS if text.startswith("shoal extend"))
    told = run(extend)
    for line in shown("released 6 rows").splitlines():
        # The page shows another folder, and only the beginning of a long hash.
        assert line.removesuffix("...").replace("/data", str(folder)) in told
    assert (folder / "april-raw.held-back.csv").read_text() == "patient,age,disease\np7,62,flu\n"
    run(again)
    for line in shown("shoal verify may.csv").splitlines():
        run(line)


def test_every_json_key_is_documented(folder):
    recipe = folder / "stays.toml"
    people = folder / "people.toml"
    people.write_text(recipe.read_text().replace('role = "identifier"', 'role = "subject"'))
    outputs = [
        run("shoal keys key.pem --json"),
        run("shoal anonymize stays.toml -o march.csv --ledger l --sign key.pem --no-bound --json -q"),
        run("shoal extend march.csv april-raw.csv -o april.csv --recipe stays.toml --ledger l --json"),
        run("shoal verify march.csv --ledger l --json"),
        run("shoal republish people.toml --record record -o again.csv --no-bound --json"),
    ]
    page = (DOCS / "json.md").read_text(encoding="utf-8")
    keys = {key for output in outputs for key in keys_of(json.loads(output))}
    assert {key for key in keys if f"`{key}`" not in page} == set()


def test_the_keys_of_an_entry_are_on_the_page(folder):
    run("shoal anonymize stays.toml -o march.csv --ledger l --no-bound -q --about date=2026-03-31")
    run("shoal extend march.csv april-raw.csv -o april.csv --recipe stays.toml --ledger l -q")
    keys = {key for line in Path("l").read_text().splitlines() for key in json.loads(line)}
    assert keys == {"entry", "before", "release", "manifest", "recipe", "date", "extends", "sha256"}
    assert {key for key in keys if f"`{key}`" not in PAGE} == set()
