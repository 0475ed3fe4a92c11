"""What the shell proposes: asked as the shell asks, through the variables of the completion protocol."""

import os
import subprocess
import sys

import polars as pl
import pytest
from typer.testing import CliRunner

from shoal.cli.main import app
from shoal.cluster import METHODS
from shoal.recipe.goals import TYPES

HEADER = "age,sex,zip,full name,$(touch owned),it's"
PLAIN = ["age", "sex", "zip"]


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "people.csv").write_text(f"{HEADER}\n1,f,2,3,4,5\n", encoding="utf-8")
    (tmp_path / "people.tsv").write_text("a\tb\n1\t2\n", encoding="utf-8")
    pl.DataFrame({"x": [1], "y": [2]}).write_parquet(tmp_path / "people.parquet")
    (tmp_path / "broken.parquet").write_bytes(b"PAR1")
    recipe = '[input]\npath = "people.csv"\n[columns.age]\nrole = "quasi"\n[privacy]\nk = 2\n'
    (tmp_path / "recipe.toml").write_text(recipe, encoding="utf-8")
    return tmp_path


@pytest.fixture
def proposals(folder, monkeypatch):
    """Ask as fish does: the line so far, and one proposal in each line of the answer."""
    monkeypatch.chdir(folder)

    def ask(line):
        variables = {
            "_SHOAL_COMPLETE": "complete_fish",
            "_TYPER_COMPLETE_FISH_ACTION": "get-args",
            "_TYPER_COMPLETE_ARGS": line,
        }
        done = CliRunner().invoke(app, [], env=variables, prog_name="shoal")
        assert (done.exit_code, done.stderr) == (0, "")
        return [proposal.split("\t")[0] for proposal in done.stdout.splitlines() if proposal]

    return ask


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("shoal anonymize people.csv --quasi ", PLAIN),
        ("shoal anonymize people.csv --k 5 --quasi age,s", ["age,sex"]),
        ("shoal anonymize people.csv --quasi age,", ["age,sex", "age,zip"]),
        ("shoal anonymize recipe.toml --sensitive ", PLAIN),
        ("shoal verify people.tsv --keep ", ["a", "b"]),
        ("shoal anonymize people.parquet --subject ", ["x", "y"]),
        ("shoal measure people.csv --kind a", ["age="]),
        ("shoal anonymize broken.parquet --quasi ", []),
        ("shoal anonymize absent.csv --quasi ", []),
        ("shoal anonymize --quasi ", []),
        ("shoal anonymize people.csv --method k", ["k-member", "kaca"]),
        ("shoal compare people.csv --methods cb,k-", ["cb,k-member"]),
        ("shoal anonymize people.csv --goal ", list(TYPES)),
        ("shoal anonymize people.csv --goal 'l-diversity c", ["l-diversity column=", "l-diversity c="]),
        ("shoal anonymize people.csv --goal 'l-diversity column=a", ["l-diversity column=age"]),
    ],
)  # fmt: skip
def test_tab_proposes(proposals, line, expected):
    assert proposals(line) == expected


def test_every_method_is_proposed(proposals):
    assert set(proposals("shoal anonymize people.csv --method ")) == {"auto", *METHODS}


def test_bash_gets_the_same(folder):
    """With the script that `shoal --show-completion bash` prints, in bash itself."""
    program = folder / "bin" / "shoal"
    program.parent.mkdir()
    program.write_text(f"#!{sys.executable}\nfrom shoal.cli.main import main\nmain()\n", encoding="utf-8")
    program.chmod(0o755)
    script = """
    eval "$(_SHOAL_COMPLETE=source_bash shoal)"
    COMP_WORDS=(shoal anonymize people.csv --quasi age,z) COMP_CWORD=4
    _shoal_completion shoal
    printf '%s\n' "${COMPREPLY[@]}"
    """
    path = f"{program.parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "-c", script], cwd=folder, env={**os.environ, "PATH": path},
        capture_output=True, text=True, check=False, timeout=120,
    )  # fmt: skip
    assert done.stdout.split() == ["age,zip"], done.stderr
    assert not (folder / "owned").exists()
