"""No message, text or exception shows a cell; and the verifier stands on its own."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from shoal.errors import DataError
from shoal.recipe import Recipe
from shoal.verifier import PROBLEMS, Problem, verify, verify_table
from shoal.verifier.reading.session import session

MARK = "Xq7Secret"
RECIPE = Recipe.from_dict(
    {
        "columns": {
            "age": {"role": "quasi", "kind": "numeric"},
            "job": {"role": "quasi"},
            "disease": {"role": "sensitive"},
            "name": {"role": "identifier"},
        },
        "privacy": {"k": 2},
    }
)
HEADER = "age,job,disease\n"
ROW = f"1,{MARK},{MARK}\n"
RAW = f"name,{HEADER}{MARK},1,{MARK},{MARK}\n{MARK},1,{MARK},{MARK}\n"

# What provokes each code: the release, and what lies beside it.
CASES: dict[str, dict[str, Any]] = {
    "verify.unreadable": {"release": (HEADER + ROW + f'1,"{MARK}"{MARK},x\n').encode()},
    "verify.empty": {"release": HEADER.encode()},
    "verify.ragged": {"release": (HEADER + ROW + ROW + f"{MARK}\n").encode()},
    "verify.missing_column": {"release": (ROW + ROW + ROW).encode()},
    "verify.forbidden_column": {"release": f"{MARK},{MARK}2,age,job\na,b,1,x\na,b,1,x\n".encode()},
    "verify.duplicate_column": {"release": f"{MARK},{MARK},age,job\na,b,1,x\na,b,1,x\n".encode()},
    "verify.form": {"release": (HEADER + ROW + f"{MARK},x,y\n" * 2).encode()},
    "verify.k": {"release": (HEADER + ROW).encode()},
    "verify.digest": {"release": (HEADER + ROW * 2).encode(), "manifest": f'{{"{MARK}'},
    "verify.manifest": {
        "release": (HEADER + ROW * 2).encode(),
        "manifest": f'{{"loss": {{"dm": "{MARK}"}}, "release": {{"rows": "{MARK}"}}}}',
    },
    "verify.node": {
        "release": (HEADER + ROW * 2).encode(),
        "columns": {"job": {"role": "quasi", "hierarchy": {"all": [f"{MARK}2"]}}},
    },
    "verify.grid": {
        "release": (HEADER + ROW * 2).encode(),
        "columns": {"age": {"role": "quasi", "kind": "numeric", "grid": 5.0}},
        "output": {"bounds": "snapped"},
    },
    "verify.code": {
        "release": (HEADER + ROW * 2).encode(),
        "columns": {"age": {"role": "quasi", "kind": "numeric", "top": 0.5}},
    },
    "verify.pseudonym": {
        "release": f"age,job,disease,name\n{2 * f'1,{MARK},{MARK},{MARK}2{chr(10)}'}".encode(),
        "columns": {"name": {"role": "identifier", "pseudonym": True}},
        "original": RAW,
    },
    "verify.rows": {"release": (HEADER + ROW * 2).encode(), "rows": 7},
    "verify.original_rows": {"release": (HEADER + ROW * 3).encode(), "original": RAW},
    "verify.original_match": {"release": (HEADER + f"7,{MARK},{MARK}\n" * 2).encode(), "original": RAW},
    "verify.original_values": {"release": (HEADER + f"1,{MARK},{MARK}2\n" * 2).encode(), "original": RAW},
}


def everything(error: BaseException | None) -> str:
    """Return all that a log may show of an error, with those that it hides behind it."""
    text = ""
    while error is not None:
        text += f"{error!s} {error!r} {error.args!r}"
        error = error.__cause__ or error.__context__
    return text


def test_every_code_is_provoked_here() -> None:
    of_two_files = {"verify.l", "verify.groups"}  # test_verify_anatomy looks for cells in all its verdicts
    of_goals = {"verify.t", "verify.alpha", "verify.beta", "verify.delta", "verify.range", "verify.distance"}
    # test_verify_goals does so for all kinds of goals
    of_risk = {"verify.k_map", "verify.average_risk"}  # and test_risk_goals
    of_nh = {"verify.fit", "verify.not_verifiable"}  # test_verify_fits does the same
    of_kept = {"verify.unique"}  # and test_verify_dangers
    of_folders = {"verify.parts"}  # and test_parts
    of_order = {"verify.order"}  # test_shuffled; its message has a number of rows alone
    of_keys = {"verify.signature", "verify.ledger"}  # test_signing and test_ledger; about bytes, not cells
    elsewhere = of_two_files | of_goals | of_risk | of_nh | of_kept | of_folders | of_order | of_keys
    assert set(CASES) | elsewhere == set(PROBLEMS)
    assert all(meaning.endswith(".") for meaning in PROBLEMS.values())


@pytest.mark.parametrize("code", list(CASES))
def test_a_verdict_never_shows_a_cell(tmp_path: Path, code: str) -> None:
    case = CASES[code]
    path = tmp_path / "out.csv"
    path.write_bytes(case["release"])
    if "manifest" in case:
        (tmp_path / "out.csv.manifest.json").write_text(case["manifest"])
    raw = tmp_path / "raw.csv"
    raw.write_text(case.get("original", ""))

    sections = RECIPE.to_dict()
    columns = {**sections["columns"], **case.get("columns", {})}
    recipe = Recipe.from_dict({**sections, "columns": columns, "output": case.get("output", {})})
    verdict = verify(path, recipe, original=raw if "original" in case else None, rows=case.get("rows"))

    assert code in [problem.code for problem in verdict.problems]
    for shown in (verdict, verdict.problems, verdict.goals, verdict.to_dict()):
        assert MARK not in f"{shown} {shown!r}"


@pytest.mark.parametrize(
    "raw",
    [
        RAW.encode() + f"{MARK}\n".encode(),
        RAW.encode() + f'{MARK},"{MARK}"{MARK},1,2\n'.encode(),
        RAW.encode() + MARK.encode() + b"\xff,1,2,3\n",
        MARK.encode() + b"\xff\n",
    ],
)
def test_an_error_about_the_original_never_shows_a_cell(tmp_path: Path, raw: bytes) -> None:
    (tmp_path / "out.csv").write_text(HEADER + ROW * 2)
    (tmp_path / "raw.csv").write_bytes(raw)

    with pytest.raises(DataError) as caught:
        verify(tmp_path / "out.csv", RECIPE, original=tmp_path / "raw.csv")

    assert MARK not in everything(caught.value)


def test_a_table_in_memory_is_not_shown_either() -> None:
    table = pa.table({"age": [MARK], "job": [MARK], MARK: [MARK]})

    verdict = verify_table(table, RECIPE)

    assert {p.code for p in verdict.problems} >= {"verify.form", "verify.k", "verify.missing_column"}
    assert MARK not in str(verdict) + repr(verdict) + repr(verdict.to_dict())


def test_a_code_that_is_not_listed_cannot_be_used() -> None:
    with pytest.raises(AssertionError):
        Problem("verify.other", "x")


def test_nothing_is_left_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither DuckDB's spill folder in the working directory nor a copy of the raw table."""
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("tempfile.tempdir", str(scratch))
    (tmp_path / "out.csv").write_text(HEADER + ROW * 2)
    (tmp_path / "raw.csv").write_bytes(RAW.encode("utf-16"))

    assert verify("out.csv", RECIPE, original="raw.csv").holds

    assert sorted(path.name for path in tmp_path.iterdir()) == ["out.csv", "raw.csv", "scratch"]
    assert list(scratch.iterdir()) == []


def test_what_does_not_fit_into_memory_goes_where_nobody_else_reads() -> None:
    with session() as opened:
        (spill,) = opened.row("SELECT current_setting('temp_directory')")
        assert Path(spill).parent == opened.folder
        assert opened.folder.stat().st_mode & 0o777 == 0o700

    assert not opened.folder.exists()


def test_the_verifier_shares_no_code_with_what_makes_a_release() -> None:
    folder = Path(sys.modules["shoal.verifier"].__file__ or "").parent
    imported = set()
    for file in folder.rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom):
                imported.add(node.module or "")
                assert node.level == 0
            elif isinstance(node, ast.Import):
                imported |= {name.name for name in node.names}
    ours = {name for name in imported if name.startswith("shoal") and not name.startswith("shoal.verifier")}
    others = {name.split(".")[0] for name in imported} - set(sys.stdlib_module_names) - {"shoal"}

    # recipe.codes has facts alone: the blocks of ICD-10, the groups of ISCO. failures gives names to what
    # Spark raises.
    known = {"shoal.errors", "shoal.failures", "shoal.recipe", "shoal.recipe.codes", "shoal.recipe.goals"}
    assert ours == known
    assert others == {"cryptography", "duckdb", "numpy", "pyarrow", "pyspark"}


def test_importing_the_verifier_loads_no_engine() -> None:
    code = """
import sys, shoal.verifier.spark
print(sorted({'duckdb', 'pyarrow', 'polars', 'pyspark'} & set(sys.modules)))
"""

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert done.stdout.strip() == "[]"


def test_what_is_small_shares_an_engine_that_writes_nothing_to_disk(tmp_path: Path) -> None:
    small, large = tmp_path / "small.csv", tmp_path / "large.csv"
    small.write_text(HEADER)
    with large.open("wb") as file:
        file.truncate(9 << 20)
    with session(small) as one, session(small, None) as other, session(small, large) as own:
        spills = [opened.row("SELECT current_setting('temp_directory')")[0] for opened in (one, other, own)]
        one.rows("CREATE TABLE released AS SELECT 1 AS a")
        one.rows("CREATE TEMP TABLE seen AS SELECT 1 AS a")
        assert not other.succeeds("SELECT * FROM released")
        assert not other.succeeds("SELECT * FROM seen")
        before = [name for (name,) in other.rows("SELECT database_name FROM duckdb_databases()")]

    assert spills == ["", "", str(own.folder / "spill")]
    assert sum(name.startswith("verification_") for name in before) == 2
    with session(small) as later:
        after = [name for (name,) in later.rows("SELECT database_name FROM duckdb_databases()")]
    assert sum(name.startswith("verification_") for name in after) == 1


def test_an_engine_is_not_shared_with_a_fork(tmp_path: Path) -> None:
    code = f"""
import multiprocessing, pathlib
from shoal.verifier.reading.session import session
path = pathlib.Path({str(tmp_path / "x.csv")!r})
path.write_text("a")
def count(_):
    with session(path) as opened:
        return opened.row("SELECT count(*) FROM range(100000)")[0]
if __name__ == "__main__":
    assert count(0) == 100000
    with multiprocessing.get_context("fork").Pool(2) as pool:
        print(pool.map(count, range(4)))
"""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True
    )
    assert done.stdout.strip() == "[100000, 100000, 100000, 100000]"
