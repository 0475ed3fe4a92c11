"""Files and functions that CONTRIBUTING.md and the documentation name exist."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "shoal"
CONTRIBUTING = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
PAGES = [ROOT / "README.md", ROOT / "BENCHMARKS.md", *sorted((ROOT / "docs").rglob("*.md"))]
QUOTED = re.compile(r"`([^`\n]+)`")
IS_PATH = re.compile(r"[\w.<>-]+(?:/[\w.<>-]+)*(?:/|\.py|\.md|\.toml)")
NAMED = re.compile(r"`([A-Za-z_][\w.]*)`s?(?: and `(\w+)`)? (?:in|of) `([\w/<>-]+\.py)`")
NAMED_BEFORE = re.compile(r"`([A-Za-z_][\w.]*)`s? \(`([\w/<>-]+\.py)`\)")
MADE_BY_USERS = {"adult/", "recipe.toml", "../shared/data"}


def paths(text):
    """Quoted texts that are files or folders of the repository."""
    quoted = {quote.strip() for quote in QUOTED.findall(text)}
    return sorted(quote for quote in quoted - MADE_BY_USERS if IS_PATH.fullmatch(quote))


def exists(path):
    """A path relative to the sources or to the repository; `<method>.py` needs only its folder."""
    if "<" in path:
        path = path.rpartition("/")[0]
    return any((base / path).exists() for base in (SOURCE, ROOT))


def named(text):
    """Pairs of a file and what is said to be in it."""
    found = {(file, name) for name, file in NAMED_BEFORE.findall(text)}
    for one, other, file in NAMED.findall(text):
        found |= {(file, name) for name in (one, other) if name}
    return sorted((file, name.removeprefix("shoal.")) for file, name in found)


def defined(file):
    """Everything that a file defines, methods as `Class.method`."""
    (path,) = [base / file for base in (SOURCE, ROOT) if (base / file).exists()]
    names = set()
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            names.add(node.name)
        if isinstance(node, ast.ClassDef):
            methods = [inner for inner in node.body if isinstance(inner, ast.FunctionDef)]
            names |= {f"{node.name}.{method.name}" for method in methods}
        if isinstance(node, (ast.Assign, ast.AnnAssign)):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            names |= {target.id for target in targets if isinstance(target, ast.Name)}
    return names


def test_enough_is_found():
    assert len(paths(CONTRIBUTING)) > 100
    assert len(named(CONTRIBUTING)) > 40


@pytest.mark.parametrize("path", paths(CONTRIBUTING))
def test_files_named_for_contributors_exist(path):
    assert exists(path)


@pytest.mark.parametrize(("file", "name"), named(CONTRIBUTING))
def test_names_are_in_the_files_named_with_them(file, name):
    assert name in defined(file)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_sources_named_in_the_documentation_exist(page):
    text = page.read_text(encoding="utf-8")
    folders = ("src/", "docs/", "tests/", "benchmarks/", "examples/")
    sources = [path for path in paths(text) if path.endswith(".py") or path.startswith(folders)]
    assert [path for path in sources if not exists(path) and not (page.parent / path).exists()] == []
    assert [(file, name) for file, name in named(text) if name not in defined(file)] == []


def test_every_folder_and_layer_is_in_the_table():
    folders = {file.parent.name for file in SOURCE.glob("*/__init__.py")}
    assert [folder for folder in folders - {"datasets"} if f"\n| `{folder}/` |" not in CONTRIBUTING] == []


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("`Places` (`release/paths.py`)", [("release/paths.py", "Places")]),
        ("`Part`s (`release/parts.py`)", [("release/parts.py", "Part")]),
        ("`a` and `b` of `table/write.py`", [("table/write.py", "a"), ("table/write.py", "b")]),
        ("`_move` in `release/writing.py`", [("release/writing.py", "_move")]),
    ],
)
def test_what_counts_as_named(text, found):
    assert named(text) == found


def test_what_is_wrong_is_found():
    assert not exists("verifier/load.py")
    assert not exists("verify/<goal>.py")
    assert "publish" not in defined("engine/publishing.py")
    assert {"Places.check", "Places"} <= defined("release/paths.py")
