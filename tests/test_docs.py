"""The documentation cannot lag: keys and codes are listed, and what README shows runs."""

import json
import re
import shlex
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from shoal import cluster
from shoal import recipe as recipes
from shoal.errors import CODES
from shoal.recipe.options import METHODS
from shoal.verifier import PROBLEMS
from tests.profiles import some

ROOT = Path(__file__).parents[1]
RECIPE_PAGE = (ROOT / "docs" / "recipe.md").read_text(encoding="utf-8")
ERROR_PAGE = (ROOT / "docs" / "errors.md").read_text(encoding="utf-8")
METHOD_PAGES = ROOT / "docs" / "methods"
README = (ROOT / "README.md").read_text(encoding="utf-8")
SECTIONS = [
    recipes.About,
    recipes.Input,
    recipes.Column,
    recipes.Privacy,
    recipes.Method,
    recipes.Output,
    recipes.Secrets,
    *filter(None, METHODS.values()),
]


@pytest.mark.parametrize("key", sorted({key for section in SECTIONS for key in section.model_fields}))
def test_every_recipe_key_is_documented(key):
    assert f"`{key}`" in RECIPE_PAGE


@pytest.mark.parametrize(("code", "meaning"), sorted({**CODES, **PROBLEMS}.items()))
def test_every_code_is_documented_with_its_meaning(code, meaning):
    assert f"| `{code}` | {meaning} |" in ERROR_PAGE


def test_reference_pages_are_current():
    command = [sys.executable, str(ROOT / "docs" / "write_reference.py"), "--check"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("name", list(cluster.METHODS))
def test_every_method_has_a_page(name):
    page = METHOD_PAGES / f"{name}.md"
    assert page.read_text(encoding="utf-8").startswith(f"# {name}\n")
    assert f"[{name}]({name}.md)" in (METHOD_PAGES / "README.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", list(cluster.METHODS))
def test_every_option_is_on_its_method_s_page(name):
    page = (METHOD_PAGES / f"{name}.md").read_text(encoding="utf-8")
    assert [key for key in METHODS[name].model_fields if f"`{key}`" not in page] == []


def test_recipes_in_the_pages_of_methods_are_valid():
    for page in METHOD_PAGES.glob("*.md"):
        blocks = re.findall(r"```toml\n(.*?)```", page.read_text(encoding="utf-8"), flags=re.DOTALL)
        assert blocks or page.name == "README.md"
        for block in map(tomllib.loads, blocks):
            method = recipes.Method.model_validate(block["method"])
            assert method.name == page.stem
            METHODS[method.name].model_validate(method.options)
            if "privacy" in block:
                recipes.Privacy.model_validate(block["privacy"])


def test_pictures_of_methods_are_current():
    command = [sys.executable, str(METHOD_PAGES / "draw.py"), "--check"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stderr


def test_every_command_is_in_the_reference():
    page = (ROOT / "docs" / "commands.md").read_text(encoding="utf-8")
    commands = (
        "demo",
        "anonymize",
        "verify",
        "measure",
        "risk",
        "compare",
        "hierarchy build",
        "hierarchy show",
        "extend",
        "republish",
        "keys",
        "methods",
        "web",
    )
    for command in commands:
        assert f"## shoal {command}\n" in page


def keys_of(value):
    """Every key of a JSON value, those of lists and objects inside it too; names of columns are none."""
    if isinstance(value, dict):
        inside = {**value, "kinds": list(value["kinds"].values())} if "kinds" in value else value
        return set(value) | {key for inner in inside.values() for key in keys_of(inner)}
    if isinstance(value, list):
        return {key for inner in value for key in keys_of(inner)}
    return set()


def test_every_json_key_is_documented(tmp_path):
    from typer.testing import CliRunner

    from shoal.cli.main import app

    def printed(*arguments):
        result = CliRunner().invoke(app, [str(argument) for argument in (*arguments, "--json")])
        return json.loads(result.stdout)

    recipe, raw, out = (tmp_path / name for name in ("hospital.toml", "hospital.csv", "hospital-k5.csv"))
    outputs = [
        printed("demo", "--dir", tmp_path, "--rows", 200),
        printed("inspect", tmp_path / "hospital.csv"),
        printed("verify", out, "--recipe", recipe, "--k", 100),
        printed("measure", raw, "--recipe", recipe, "--released", out),
        printed("risk", raw, "--recipe", recipe, "--released", out, "--population", raw),
        printed("risk", raw, "--quasi", "sex", "--household", "patient"),
        printed("risk", raw, "--quasi", "sex,profession", "--sampling-fraction", 0.1),
        printed("compare", recipe, "--methods", "mondrian"),
        printed("hierarchy", "show", tmp_path / "hospital_profession.csv"),
        printed("anonymize", tmp_path / "absent.toml"),
    ]
    page = (ROOT / "docs" / "json.md").read_text(encoding="utf-8")
    undocumented = {key for output in outputs for key in keys_of(output) if f"`{key}`" not in page}
    assert undocumented - {"error"} == set()


@pytest.mark.parametrize(
    "script", some(sorted((ROOT / "examples").glob("*.py")), 4), ids=lambda path: path.stem
)
def test_examples_run(script, tmp_path):
    command = [sys.executable, "-W", "ignore::shoal.errors.PrivacyWarning", str(script)]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip()


def test_the_recipe_shown_is_valid():
    (block,) = re.findall(r"```toml\n(.*?)```", RECIPE_PAGE, flags=re.DOTALL)
    recipe = recipes.Recipe.from_dict(tomllib.loads(block))
    assert recipe.quasi == ["age", "education", "zip"]


def test_python_in_the_readme_runs(tmp_path):
    (block,) = re.findall(r"```python\n(.*?)```", README, flags=re.DOTALL)
    done = subprocess.run(
        [sys.executable, "-c", block], cwd=tmp_path, capture_output=True, text=True, check=False, timeout=300
    )
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "release.csv").read_text(encoding="utf-8").splitlines()[0] == "age,sex,disease"


def test_python_in_its_page_runs(tmp_path):
    page = (ROOT / "docs" / "python.md").read_text(encoding="utf-8")
    code = "\n".join(re.findall(r"```python\n(.*?)```", page, flags=re.DOTALL))
    code += "\nassert (release.k, release.classes, verdict.holds) == (3, 2, True)"
    code += "\nassert sorted(labels) == [0, 0, 0, 1, 1, 1]"
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stderr


def test_python_on_pages_passes_a_strict_type_checker(tmp_path):
    files = []
    for page in (ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))):
        blocks = re.findall(r"```python\n(.*?)```", page.read_text(encoding="utf-8"), flags=re.DOTALL)
        if blocks:
            files.append(tmp_path / f"{page.stem}_example.py")
            files[-1].write_text("\n".join(blocks), encoding="utf-8")
    assert len(files) >= 4
    cache = ["--cache-dir", str(ROOT / ".mypy_cache"), "--config-file", str(ROOT / "pyproject.toml")]
    command = [sys.executable, "-m", "mypy", "--strict", *cache, *map(str, files)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stdout


def test_commands_in_the_readme_run(tmp_path, monkeypatch):
    from typer.testing import CliRunner

    from shoal.cli.main import app

    monkeypatch.chdir(tmp_path)
    ill = ["flu", "cold"]
    rows = [f"n{i},{20 + i},f,1011{i % 10},{ill[i % 2]}" for i in range(12)]
    rows.insert(0, "name,age,sex,zip,disease")
    (tmp_path / "people.csv").write_text("\n".join(rows) + "\n", encoding="utf-8")
    commands = re.findall(
        r"^shoal ((?:inspect|anonymize people|verify|attack).*)$", README, flags=re.MULTILINE
    )
    assert len(commands) == 8
    for command in commands:
        result = CliRunner().invoke(app, shlex.split(command))
        # So few people cannot be published twice: the README says that this is refused.
        assert result.exit_code == (3 if "--also" in command else 0), result.output


def test_links_in_the_documentation_lead_somewhere():
    pages = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").rglob("*.md")]
    for page in pages:
        for target in re.findall(r"\]\(([^)#:]+)\)", page.read_text(encoding="utf-8")):
            assert (page.parent / target).exists(), f"{page.name}: {target}"
