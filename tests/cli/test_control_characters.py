"""Names that would command a terminal are spelled out wherever they are printed or raised."""

from __future__ import annotations

import warnings
from pathlib import Path
from xml.etree import ElementTree

import polars as pl
import pytest

import shoal
from shoal.errors import Fault, ShoalError, printable
from tests.bad_input_cases import run

RED = "\x1b[31m"
SPELLED = "\\x1b[31m"
WILD = f"{RED}a\r\n\x9b2J\u202eb\ud800"


def assert_harmless(*texts: str) -> None:
    for text in texts:
        assert [sign for sign in text.replace("\n", "") if not sign.isprintable()] == []


@pytest.fixture
def table(tmp_path: Path) -> Path:
    """A table whose column names and own name are meant to turn a terminal red."""
    path = tmp_path / f"{RED}people.csv"
    ages = [31, 33, 58, 60]
    pl.DataFrame({f"{RED}age": ages, f"{RED}ill": ["a", "a", "b", "b"]}).write_csv(path)
    return path


def roles() -> list[str]:
    return ["--quasi", f"{RED}age", "--sensitive", f"{RED}ill", "--k", "2"]


def test_only_what_a_terminal_obeys_is_spelled_out() -> None:
    assert printable("Straße, 東京, naïve, tab\there") == "Straße, 東京, naïve, tab\\there"
    assert printable(WILD) == "\\x1b[31ma\\r\\n\\x9b2J\\u202eb\\ud800"
    assert printable("a\nb\r", keep="\n") == "a\nb\\r"


def test_an_exception_is_harmless_in_all_its_parts() -> None:
    error = ShoalError.from_faults([Fault("data.kind", WILD, WILD), Fault("data.kind", "x", WILD)])
    assert_harmless(str(error), error.message, error.hint, *(str(fault) for fault in error.faults))


@pytest.mark.parametrize(
    "arguments",
    [
        ["{table}", "--quasi", f"{RED}a", "--k", "2", "-o", "out.csv"],
        ["{table}", "--quasi", f"{RED}age", "--k", "2", "-o", "out.csv"],
        ["{table}", *roles(), "-o", f"{RED}nowhere/out.csv"],
        ["{table}", *roles(), "-o", f"{RED}.out"],
        ["{table}", *roles(), "-o", "out.csv", "--method", f"{RED}m"],
        ["{table}", *roles(), "-o", "out.csv", "--goal", f"{RED}l-diversity"],
        ["{table}", *roles(), "-o", "out.csv", "--goal", f"l-diversity column={RED}x l=2"],
        ["{table}", *roles(), "-o", "out.csv", "--also", f"{RED}x.csv.manifest.json"],
        [f"{RED}nobody.csv", *roles(), "-o", "out.csv"],
        [f"{RED}nobody.toml", "-o", "out.csv"],
        ["recipe.toml", "-o", "out.csv"],
    ],
    ids=["no-column", "no-role", "no-folder", "ending", "method", "goal", "goal-column", "manifest", "input",
         "recipe", "recipe-key"],
)  # fmt: skip
def test_an_error_of_the_command_is_harmless(
    arguments: list[str], table: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(table.parent)
    key = RED.replace("\x1b", "\\u001b")
    Path("recipe.toml").write_text(f'[privacy]\nk = 2\n"{key}" = 1\n', encoding="utf-8")
    result = run("anonymize", *(argument.replace("{table}", str(table)) for argument in arguments))
    assert result.stderr.startswith("error [")
    assert result.exit_code == 2
    assert_harmless(result.stdout, result.stderr)


def test_what_a_run_and_a_verification_print_is_harmless(table: Path) -> None:
    out = table.with_name(f"{RED}out.csv")
    arguments = [str(table), *roles(), "--method", "mondrian", "--no-bound", "-o", str(out)]
    done = run("anonymize", *arguments)
    assert done.exit_code == 0
    assert SPELLED in done.stdout
    assert SPELLED in done.stderr  # the warning that classes share one value
    junit = table.with_name("junit.xml")
    good = run("verify", out, *roles(), "--goal", f"l-diversity column={RED}ill l=1", "--junit", junit)
    assert good.exit_code == 0, good.stderr
    assert SPELLED in good.stdout
    bad = run("verify", table, *roles(), "--drop", "x", "--identifier", f"{RED}missing")
    assert bad.exit_code == 1
    assert_harmless(done.stdout, done.stderr, good.stdout, good.stderr, bad.stdout, bad.stderr)
    assert SPELLED in ElementTree.parse(junit).getroot()[1].attrib["name"]


def test_what_is_found_in_a_header_is_harmless(table: Path) -> None:
    verdict = shoal.verify(table, shoal.Recipe.from_roles(quasi=[f"{RED}age"], k=2))
    codes = {problem.code for problem in verdict.problems}
    assert "verify.forbidden_column" in codes
    goals = shoal.Recipe.from_roles(
        quasi=[f"{RED}age"],
        sensitive=[f"{RED}ill"],
        k=2,
        changes={"privacy": {"goal": [{"type": "l-diversity", "column": f"{RED}ill", "l": 1}]}},
    )
    assert_harmless(str(shoal.verify(table, goals)), str(verdict))
    assert_harmless(*(problem.message for problem in verdict.problems))


def test_a_comparison_and_a_hierarchy_are_harmless(table: Path) -> None:
    built = run("hierarchy", "build", table, "--column", f"{RED}ill", "-o", table.with_name(f"{RED}h.csv"))
    recipe = shoal.Recipe.from_roles(quasi=[f"{RED}age"], sensitive=[f"{RED}ill"], k=2)
    named = shoal.Recipe.from_dict({**recipe.to_dict(), "input": {"path": table.name}})
    table.with_name("recipe.toml").write_text(named.to_toml(), encoding="utf-8")
    compared = run("compare", table.with_name("recipe.toml"), "--methods", "mondrian,k-member", "--no-bound")
    assert (built.exit_code, compared.exit_code) == (0, 0), built.stderr + compared.stderr
    assert SPELLED in built.stdout
    assert_harmless(built.stdout, built.stderr, compared.stdout, compared.stderr)


def test_a_warning_is_harmless() -> None:
    people = pl.DataFrame({"age": [1, 1, 2, 2], f"{RED}ill": ["a", "a", "b", "b"]})
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        shoal.anonymize(people, quasi=["age"], sensitive=[f"{RED}ill"], k=2, method="mondrian", bound=False)
    assert [SPELLED in str(warning.message) for warning in caught] == [True]
    assert_harmless(str(caught[0].message))
