"""The package as others get it: its files, its types, and the wheel in an empty environment."""

import json
import os
import subprocess
import sys
import tomllib
import venv
from pathlib import Path

import pytest

from tests.profiles import slow

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "shoal"
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
USER_FILE = """
import polars as pl

import shoal

people = pl.DataFrame({"age": [31, 33, 58, 60]})
release = shoal.anonymize(people, quasi=["age"], k=2)
reveal_type(release)
reveal_type(release.k)
reveal_type(release.loss.gcp)
reveal_type(shoal.verify("release.csv", shoal.Recipe.from_roles(quasi=["age"], k=2)))
shoal.anonymize(people, quasi=["age"], kk=2)
"""


def run(*command, **options):
    done = subprocess.run(
        [str(part) for part in command], capture_output=True, text=True, check=False, timeout=1800, **options
    )
    return done.returncode, done.stdout, done.stderr


def test_every_file_that_is_not_python_is_in_the_package():
    """A file that no pattern names works in the checkout and is missing from the wheel."""
    patterns = PROJECT["tool"]["setuptools"]["package-data"]
    named = set()
    for package, globs in patterns.items():
        folder = SOURCE.parent / package.replace(".", "/")
        named |= {file for glob in globs for file in folder.glob(glob)}
    files = {path for path in SOURCE.rglob("*") if path.is_file() and path.suffix not in (".py", ".pyc")}
    assert len(files) > 20
    assert files - named == set()


def test_every_folder_with_python_is_a_package():
    folders = {path.parent for path in SOURCE.rglob("*.py")}
    assert [folder for folder in folders if not (folder / "__init__.py").exists()] == []


@pytest.fixture(scope="module")
def users_python(tmp_path_factory):
    """An environment with shoal installed: type checkers trust such a package only if it has py.typed."""
    folder = tmp_path_factory.mktemp("environment")
    venv.create(folder, with_pip=False)
    (site,) = folder.glob("lib/python*/site-packages")
    (site / "shoal").symlink_to(SOURCE)
    return folder / "bin" / "python"


EXPECTED = ["Release", "int | None", "float | None", "Verdict"]


def test_mypy_sees_the_types_in_a_user_s_file(users_python, tmp_path):
    file = tmp_path / "user.py"
    file.write_text(USER_FILE.replace("import polars as pl\n", "import polars as pl  # type: ignore\n"))
    _, output, _ = run(sys.executable, "-m", "mypy", "--strict", "--python-executable", users_python, file)
    lines = output.splitlines()
    revealed = [line.split('"')[1].rpartition(".")[2] for line in lines if "Revealed type" in line]
    assert revealed == EXPECTED, output
    assert [line.split("[")[1] for line in lines if "error:" in line] == ["call-arg]"], output


def test_pyright_sees_the_types_in_a_user_s_file(users_python, tmp_path):
    pytest.importorskip("basedpyright", reason="pyright is not installed: pip install basedpyright")
    file = tmp_path / "user.py"
    file.write_text(USER_FILE)
    # Without the last setting pyright would read the source and not need py.typed.
    settings = {
        "typeCheckingMode": "standard",
        "reportMissingImports": False,
        "useLibraryCodeForTypes": False,
    }
    (tmp_path / "pyrightconfig.json").write_text(json.dumps(settings))
    _, output, _ = run(
        sys.executable, "-m", "basedpyright", "--outputjson", "--pythonpath", users_python, "-p", tmp_path
    )
    found = json.loads(output)["generalDiagnostics"]
    revealed = [
        problem["message"].rpartition(" is ")[2].strip('"')
        for problem in found
        if problem["severity"] == "information"
    ]
    assert revealed == EXPECTED, output
    assert [problem["rule"] for problem in found if problem["severity"] == "error"] == ["reportCallIssue"], (
        output
    )


@slow
def test_the_wheel_works_in_an_empty_environment(tmp_path):
    status, _, errors = run(sys.executable, "-m", "build", "--outdir", tmp_path / "dist", ROOT)
    assert status == 0, errors
    (wheel,) = (tmp_path / "dist").glob("*.whl")
    assert len(list((tmp_path / "dist").glob("*.tar.gz"))) == 1
    venv.create(tmp_path / "venv", with_pip=True)
    bin_folder, work = tmp_path / "venv" / "bin", tmp_path / "work"
    work.mkdir()
    # Nothing of the checkout or of this environment may be found.
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "NUMBA"))}
    options = {"cwd": work, "env": {**clean, "HOME": str(work), "XDG_CACHE_HOME": str(work / "cache")}}
    pins = ROOT / "constraints.txt"
    status, _, errors = run(bin_folder / "pip", "install", "--quiet", "-c", pins, wheel, **options)
    assert status == 0, errors
    _, where, _ = run(bin_folder / "python", "-c", "import shoal; print(shoal.__file__)", **options)
    assert Path(where.strip()).is_relative_to(tmp_path / "venv")

    status, printed, errors = run(bin_folder / "shoal", "demo", "--dir", "demo", "--json", **options)
    assert status == 0, errors
    made = json.loads(printed)
    assert (made["k"], made["released"]) == (5, 10_000)
    page = (work / made["report"]).read_text(encoding="utf-8")
    assert "Charts are described in words" in page  # the extra `charts` is not installed
    assert run(bin_folder / "shoal", "verify", "demo/hospital-k5.csv", **options)[0] == 0
    status, _, errors = run(
        bin_folder / "shoal",
        "compare",
        "demo/hospital.toml",
        "--methods",
        "mondrian",
        "--chart",
        "chart.svg",
        **options,
    )
    assert status == 2
    assert 'pip install "shoal[charts]"' in errors
