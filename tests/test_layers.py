"""Who may import whom, and which third party lives where."""

import ast
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[1] / "src" / "shoal"
FILES = sorted(SOURCE.rglob("*.py"))

# Each layer may import itself and the layers named. Lower never imports upper.
BASE = {"arrays", "errors", "failures", "interruption", "wording", "recipe", "hierarchy", "kernels", "stages"}
WORK = {"cluster", "privacy", "protect", "recode", "measure", "risks", "datasets"}
MAY_IMPORT = {
    "arrays": set(),
    "errors": set(),
    "failures": {"errors"},
    "interruption": set(),
    "stages": set(),
    "wording": set(),
    "recipe": {"errors", "wording"},
    "hierarchy": {"arrays", "errors"},
    "kernels": {"arrays", "errors"},
    "table": BASE,
    **{name: BASE | {"table"} for name in WORK},
    "bound": BASE | {"table", "privacy"},
    "utility": BASE | {"table", "measure"},
    "inspection": BASE | {"table"},
    "composition": BASE | {"table"} | WORK,
    "dangers": BASE | {"table"} | WORK,
    "engine": BASE | {"table", "bound", "dangers"} | WORK,
    "verifier": {"errors", "failures", "recipe"},
    "attacks": {"errors", "recipe", "verifier"},
    "report": BASE | {"table", "bound"} | WORK,
    "release": BASE | {"table", "bound", "dangers", "engine", "report", "utility", "verifier"} | WORK,
    "workflow": BASE
    | {"table", "bound", "composition", "dangers", "engine", "report", "utility", "verifier", "release"}
    | {"attacks"}
    | WORK,
    "cli": BASE
    | {"web", "table", "inspection", "composition", "report", "verifier", "release", "workflow", "attacks"}
    | WORK,
    "web": BASE
    | {"table", "inspection", "composition", "report", "verifier", "release", "workflow", "attacks"}
    | WORK,
    "sklearn": {"arrays", "errors", "recipe", "table", "workflow"},
    "__init__": {"errors", "inspection", "recipe", "release", "verifier", "workflow", "cluster"},
}
# Third parties that only these layers may import.
LIVES_IN = {
    "numba": {"kernels"},
    "llvmlite": {"kernels"},
    "duckdb": {"verifier", "table"},  # table: for files of DuckDB
    "openpyxl": {"verifier"},
    "typer": {"cli"},
    "rich": {"cli"},
    "pydantic": {"recipe", "web"},
    "tomli_w": {"recipe"},
    "narwhals": {"table"},
    "pyspark": {"engine", "verifier"},
    "fastapi": {"web"},
    "starlette": {"web"},
    "uvicorn": {"web"},
    "cryptography": {"release", "verifier"},
    "sklearn": {"utility", "sklearn"},
    "statsmodels": {"utility"},
    "altair": set(),  # for benchmarks
    "vl_convert": {"report"},
    "jinja2": {"report", "web"},
    "markupsafe": {"report", "web"},
}


def layer(path):
    return path.relative_to(SOURCE).parts[0].removesuffix(".py")


def imported_modules(path):
    """Every module that a file imports, late imports included."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            if node.module == "shoal":
                yield from (f"shoal.{alias.name}" for alias in node.names)
            else:
                yield node.module or ""


def test_files_are_found():
    assert len(FILES) > 30


@pytest.fixture(scope="module")
def imports():
    """What each file imports."""
    return {path: list(imported_modules(path)) for path in FILES}


def test_lower_layers_do_not_import_upper_ones(imports):
    wrong = []
    for path, names in imports.items():
        own = layer(path)
        used = {name.split(".")[1] for name in names if name.startswith("shoal.")}
        used.discard("__version__")
        wrong += [(str(path), name) for name in used - {own} - MAY_IMPORT[own]]
    assert not wrong


def test_third_parties_stay_where_they_live(imports):
    wrong = []
    for path, names in imports.items():
        used = {name.split(".")[0] for name in names} & set(LIVES_IN)
        wrong += [(str(path), name) for name in used if layer(path) not in LIVES_IN[name]]
    assert not wrong


def test_the_rule_catches_a_forbidden_import(tmp_path):
    file = tmp_path / "bad.py"
    file.write_text("def late():\n    from shoal.cli import main\n")
    assert list(imported_modules(file)) == ["shoal.cli"]
    assert "cli" not in MAY_IMPORT["table"]
