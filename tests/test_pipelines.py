"""The hook for pre-commit, the example workflow and the notebook do what their pages say."""

import json
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from shoal.cli.main import app
from shoal.datasets import write_hospital
from tests.profiles import slow

ROOT = Path(__file__).parents[1]
PIPELINE = ROOT / "examples" / "pipeline"
PAGE = (ROOT / "docs" / "pipelines.md").read_text(encoding="utf-8")
GUIDE = (ROOT / "docs" / "steward.md").read_text(encoding="utf-8")


def parsed(text):
    yaml = pytest.importorskip("yaml")
    return yaml.safe_load(text)


def run(command, **variables):
    """Run a command line of shoal, as a shell would with these variables."""
    for name, value in variables.items():
        command = command.replace(f'"${name}"', value)
    program, *arguments = shlex.split(command)
    assert program == "shoal"
    return CliRunner().invoke(app, arguments)


def recipe_of_the_guide():
    """The recipe that the guide shows, which is complete."""
    (recipe,) = re.findall(r"```toml\n(\[about\].*?)```", GUIDE, flags=re.DOTALL)
    return recipe


@pytest.fixture(scope="module")
def released(tmp_path_factory):
    """A folder with a raw table, the guide's recipe, and its release."""
    folder = tmp_path_factory.mktemp("steward")
    write_hospital(folder, 1_000, 0)
    (folder / "stays.toml").write_text(recipe_of_the_guide(), encoding="utf-8")
    out = folder / "stays.csv"
    result = run(f"shoal anonymize {folder / 'stays.toml'} -o {out} --effort quick --quiet")
    assert result.exit_code == 0, result.output
    return folder


@pytest.fixture
def folder(released, tmp_path, monkeypatch):
    for file in released.iterdir():
        (tmp_path / file.name).write_bytes(file.read_bytes())
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_the_workflow_runs(folder):
    workflow = parsed((PIPELINE / "shoal.yml").read_text(encoding="utf-8"))
    (job,) = workflow["jobs"].values()
    commands = [step["run"] for step in job["steps"] if step.get("run", "").startswith("shoal ")]
    assert [command.split()[1] for command in commands] == ["anonymize", "verify", "attack"]
    anonymize, *checks = commands
    for file in folder.glob("stays.csv*"):
        file.unlink()
    result = run(f"{anonymize} --effort quick", **workflow["env"])
    assert result.exit_code == 0, result.output
    for command in checks:
        result = run(command, **workflow["env"])
        assert result.exit_code == 0, result.output
    kept = job["steps"][-1]["with"]["path"].split()
    assert [len(list(folder.glob(pattern))) for pattern in kept] == [1, 1, 1]


def test_the_workflow_fails_if_a_promise_is_broken(folder):
    workflow = parsed((PIPELINE / "shoal.yml").read_text(encoding="utf-8"))
    lines = (folder / "stays.csv").read_text(encoding="utf-8").splitlines(keepends=True)
    (folder / "stays.csv").write_text("".join(lines[:-1]), encoding="utf-8")
    (job,) = workflow["jobs"].values()
    verify = next(step["run"] for step in job["steps"] if step.get("name") == "verify")
    assert run(verify, **workflow["env"]).exit_code == 1


def test_both_hooks_verify_what_is_staged(folder):
    (hook,) = parsed((ROOT / ".pre-commit-hooks.yaml").read_text(encoding="utf-8"))
    config = parsed((PIPELINE / "pre-commit-config.yaml").read_text(encoding="utf-8"))
    (local,) = config["repos"][0]["hooks"]
    same = ("id", "name", "entry", "files", "require_serial")
    assert {key: hook[key] for key in same} == {key: local[key] for key in same}

    (folder / "releases").mkdir()
    for file in folder.glob("stays.csv*"):
        file.rename(folder / "releases" / file.name)
    names = sorted(f"releases/{file.name}" for file in (folder / "releases").iterdir())
    staged = [name for name in [*names, "stays.toml"] if re.search(hook["files"], name)]
    assert staged == ["releases/stays.csv", "releases/stays.csv.manifest.json"]
    assert run(shlex.join(["shoal", *shlex.split(hook["entry"])[1:], *staged])).exit_code == 0

    path = folder / "releases" / "stays.csv"
    path.write_text(path.read_text(encoding="utf-8").replace("female", "male", 1), encoding="utf-8")
    for name in staged:  # git stages the manifest alone, or the table alone
        assert run(f"{hook['entry']} {name}").exit_code == 1
    (folder / "releases" / "raw.csv").write_bytes((folder / "hospital.csv").read_bytes())
    assert run(f"{hook['entry']} releases/raw.csv").exit_code == 2


def test_yaml_on_the_page_names_the_hook():
    (hook,) = parsed((ROOT / ".pre-commit-hooks.yaml").read_text(encoding="utf-8"))
    blocks = re.findall(r"```yaml\n(.*?)```", PAGE, flags=re.DOTALL)
    assert blocks
    for block in map(parsed, blocks):
        assert [one["id"] for repo in block["repos"] for one in repo["hooks"]] == [hook["id"]]


@pytest.mark.parametrize("page", [PAGE, pytest.param(GUIDE, marks=slow)], ids=["pipelines", "steward"])
def test_commands_of_a_page_run(page, folder):
    commands = re.findall(r"^shoal (?:anonymize|verify|attack|risk|measure|compare|inspect) .*$", page, re.M)
    assert len(commands) >= 3
    for command in commands:
        quick = command.replace("local-search", "mondrian")
        if " inspect " in command:
            quick = quick.replace("stays.toml", "draft.toml")  # the guide shows the edited recipe after it
        if " anonymize " in command:
            quick += " --effort quick"
        result = run(quick)
        assert result.exit_code == 0, f"{command}: {result.output}"


def notebook_cells():
    notebook = json.loads((ROOT / "examples" / "steward.ipynb").read_text(encoding="utf-8"))
    return [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]


def test_the_notebook_has_code_and_no_outputs():
    cells = notebook_cells()
    assert len(cells) >= 6
    assert not any(cell["outputs"] or cell["execution_count"] for cell in cells)
    compile("\n".join("".join(cell["source"]) for cell in cells), "notebook", "exec")


@slow
def test_the_notebook_runs(tmp_path):
    pytest.importorskip("statsmodels")
    code = "\n".join("".join(cell["source"]) for cell in notebook_cells())
    code += "\nassert verdict.holds and attacks.holds and release.k == 10"
    command = [sys.executable, "-W", "error", "-c", code]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stderr


def test_the_notebook_decides_what_the_guide_decides(tmp_path, monkeypatch):
    """Both show one example: the notebook's recipe is the guide's."""
    import tomllib

    from shoal.recipe import Recipe

    notebook = json.loads((ROOT / "examples" / "steward.ipynb").read_text(encoding="utf-8"))
    sources = ["".join(cell["source"]) for cell in notebook["cells"] if cell["cell_type"] == "code"]
    until = next(at for at, source in enumerate(sources) if source.startswith("recipe = "))
    monkeypatch.chdir(tmp_path)
    names: dict = {}
    exec("\n".join(sources[: until + 1]), names)
    guide = Recipe.from_dict(tomllib.loads(recipe_of_the_guide()))
    assert names["recipe"].to_dict() == guide.to_dict()
