"""A bad input gets one clear error, the exit status of the contract, and leaves nothing behind."""

from __future__ import annotations

import json
import os
import struct
import subprocess
import sys
import threading
from datetime import date, timedelta
from itertools import product
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow.csv as pa_csv
import pytest
import tomli_w

import shoal
from tests.bad_input_cases import (
    ARROW,
    CASES,
    EARLIER,
    HEADER,
    MARK,
    TABLE,
    Case,
    arrow_bytes,
    flags,
    out_folder,
    parquet_bytes,
    recipe,
    run,
    sections,
    snapshot,
)
from tests.profiles import slow, some

ALL_ROLES = ["quasi", "sensitive", "keep", "drop"]
SHOAL = [sys.executable, "-c", "from shoal.cli.main import main; main()"]
each_case = pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
every_fourth = pytest.mark.parametrize("case", some(CASES, 4), ids=lambda case: case.name)


def in_subprocess(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run the command as a user does."""
    return subprocess.run(
        [*SHOAL, *arguments],
        env=os.environ | environment,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


def case_named(name: str) -> Case:
    return next(case for case in CASES if case.name == name)


def released(folder: Path) -> pl.DataFrame:
    return pl.read_csv(folder / "out" / "out.csv", infer_schema=False)


@each_case
def test_a_bad_input_gets_one_error_and_its_status_and_leaves_nothing(case: Case, tmp_path: Path) -> None:
    arguments = case.build(tmp_path)
    before = snapshot(tmp_path)
    result = run("anonymize", *arguments)
    assert result.stderr.startswith(f"error [{case.code}]: ")
    assert result.stderr.count("error [") == 1
    assert "hint: " in result.stderr
    assert (result.exit_code, result.stdout) == (case.status, "")
    assert snapshot(tmp_path) == before


@every_fourth
def test_an_earlier_release_survives_a_failing_run(case: Case, tmp_path: Path) -> None:
    arguments = case.build(tmp_path)
    for name in ("out.csv", "out.csv.manifest.json"):
        (out_folder(tmp_path) / name).write_bytes(EARLIER)
    before = snapshot(tmp_path)
    force = [] if case.code == "output.exists" else ["--force"]  # which would be no error
    assert run("anonymize", *arguments, *force).exit_code == case.status
    assert snapshot(tmp_path) == before


@every_fourth
def test_an_error_as_json_is_one_object_on_stdout(case: Case, tmp_path: Path) -> None:
    result = run("anonymize", *case.build(tmp_path), "--json")
    printed = json.loads(result.stdout)
    assert list(printed) == ["error"]
    assert printed["error"]["code"] == case.code
    assert printed["error"]["message"] in result.stderr
    assert result.stderr.startswith(f"error [{case.code}]: ")
    assert result.exit_code == case.status


@pytest.mark.parametrize("name", some(["too-many-cells", "k-above-rows", "cycle", "target-is-a-folder"], 4))
def test_the_real_command_does_the_same(name: str, tmp_path: Path) -> None:
    case = case_named(name)
    arguments = case.build(tmp_path)
    before = snapshot(tmp_path)
    result = in_subprocess("anonymize", *arguments)
    assert result.stderr.startswith(f"error [{case.code}]: ")
    assert (result.returncode, result.stdout) == (case.status, "")
    assert snapshot(tmp_path) == before


def test_arrow_never_calls_python_from_a_thread_of_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Such a thread that comes back while Python shuts down aborts the process: status -6 instead of 2."""
    threads: list[threading.Thread] = []
    read_csv = pa_csv.read_csv

    def watched(*arguments: Any, **options: Any) -> Any:
        parsing = options.get("parse_options")
        handler = getattr(parsing, "invalid_row_handler", None)
        if handler is not None:
            parsing.invalid_row_handler = lambda row: (
                threads.append(threading.current_thread()) or handler(row)
            )
        return read_csv(*arguments, **options)

    arguments = case_named("too-few-cells").build(tmp_path)
    monkeypatch.setattr(pa_csv, "read_csv", watched)
    assert run("anonymize", *arguments).exit_code == 2
    assert set(threads) <= {threading.current_thread()}


@pytest.mark.parametrize(
    "wrong", [["--k", "many"], ["--kay", "3"], ["--seed", "1.5"], ["another.csv"]], ids=lambda wrong: wrong[0]
)
def test_bad_usage_is_status_2_and_leaves_nothing(wrong: list[str], tmp_path: Path) -> None:
    arguments = flags()(tmp_path)
    before = snapshot(tmp_path)
    result = run("anonymize", *arguments, *wrong)
    assert (result.exit_code, result.stdout) == (2, "")
    assert "Usage: " in result.stderr
    assert snapshot(tmp_path) == before


def test_the_good_table_of_all_cases_is_good(tmp_path: Path) -> None:
    assert run("anonymize", *flags()(tmp_path)).exit_code == 0
    made = sorted(path.name for path in (tmp_path / "out").iterdir())
    assert made == ["out.csv", "out.csv.manifest.json", "out.csv.report.html"]


def test_the_good_recipe_of_all_cases_is_good(tmp_path: Path) -> None:
    assert run("anonymize", *recipe()(tmp_path)).exit_code == 0


def test_a_recipe_may_leave_out_the_method(tmp_path: Path) -> None:
    arguments = recipe()(tmp_path)
    without = {name: section for name, section in sections().items() if name != "method"}
    (tmp_path / "recipe.toml").write_text(tomli_w.dumps(without))
    result = run("anonymize", *arguments)
    assert (result.exit_code, result.stderr.count("error [")) == (0, 0)


def test_an_unknown_column_is_answered_with_the_one_that_was_meant(tmp_path: Path) -> None:
    result = run("anonymize", *case_named("unknown-column").build(tmp_path))
    assert "`Citty`" in result.stderr
    assert "did you mean `city`?" in result.stderr


def test_unnamed_columns_are_all_listed(tmp_path: Path) -> None:
    result = run("anonymize", *case_named("unnamed-columns").build(tmp_path))
    assert all(f"`{name}`" in result.stderr for name in ("city", "born", "ill", "note"))


def fault_codes(build: Any, folder: Path) -> list[str]:
    """Return the codes of all faults that one run reports."""
    printed = json.loads(run("anonymize", *build(folder), "--json").stdout)
    return [fault["code"] for fault in printed["error"]["faults"]]


def test_all_faults_of_the_recipes_values_are_reported_at_once(tmp_path: Path) -> None:
    build = recipe(privacy={"k": 1, "kk": 2}, column_age={"role": "quazi"}, method={"seed": -1})
    assert fault_codes(build, tmp_path) == ["recipe.invalid"] * 4


def test_all_faults_of_the_recipes_sense_are_reported_at_once(tmp_path: Path) -> None:
    build = recipe(
        column_city={"kind": "ordinal"},
        column_born={"hierarchy": {"induce": ["name"]}},
        method={"name": "k-member", "options": {"opns": 1}},
        output={"views": [["age", "city"], ["born"], []]},
    )
    assert sorted(fault_codes(build, tmp_path)) == [
        "recipe.invalid", "recipe.invalid", "recipe.invalid", "recipe.option",
    ]  # fmt: skip


def test_faults_of_values_and_of_sense_are_reported_together(tmp_path: Path) -> None:
    build = recipe(
        privacy={"k": 1}, column_city={"kind": "ordinal"}, column_born={"hierarchy": {"induce": ["name"]}}
    )
    assert fault_codes(build, tmp_path) == ["recipe.invalid"] * 3


def test_all_columns_that_do_not_fit_are_reported_at_once(tmp_path: Path) -> None:
    build = recipe(
        column_age={"kind": "date"},
        column_city={"hierarchy": "nobody.csv"},
        column_born={"kind": "ordinal", "order": ["x"]},
    )
    assert sorted(fault_codes(build, tmp_path)) == ["data.kind", "data.order", "hierarchy.unreadable"]


def test_every_fault_has_its_number_and_hint(tmp_path: Path) -> None:
    build = recipe(column_city={"kind": "ordinal"}, column_born={"hierarchy": {"induce": ["name"]}})
    lines = run("anonymize", *build(tmp_path)).stderr.splitlines()
    assert lines[0] == "error [recipe.invalid]: 2 faults:"
    assert [line[:5] for line in lines if line.startswith("  ")] == ["  1. ", "     ", "  2. ", "     "]


def test_blank_lines_before_the_header_are_not_rows(tmp_path: Path) -> None:
    assert run("anonymize", *flags("\n\n" + TABLE)(tmp_path)).exit_code == 0
    assert released(tmp_path).height == TABLE.count("\n") - 1


def test_a_header_line_may_be_longer_than_128_kib(tmp_path: Path) -> None:
    names = [f"column{i:05}" for i in range(12_000)]
    wide = ",".join(names) + "\n" + ",".join("1" for _ in names) + "\n"
    build = flags(wide, "--default", "drop", roles={names[0]: "quasi"})
    assert run("anonymize", *build(tmp_path)).stderr.startswith("error [infeasible.rows]: ")


@pytest.mark.parametrize(("name", "role"), some(product(["*", "^.*$", "^a.*$"], ALL_ROLES), 5))
def test_a_column_name_is_never_a_pattern(name: str, role: str, tmp_path: Path) -> None:
    table = f"age,{name},area\n" + "".join(f"{i},t{i % 2},x{i}\n" for i in range(6))
    build = flags(table, roles={"age": "quasi", name: role, "area": "drop"})
    assert run("anonymize", *build(tmp_path)).exit_code == 0
    assert released(tmp_path).columns == ["age"] + [name] * (role != "drop")


STORED = {
    "duration": pl.Series([timedelta(days=1)] * 4),
    "time": pl.Series(["01:02:03"] * 4).str.to_time(),
    "float16": pl.Series([1.5] * 4).cast(pl.Float16),
    "int128": pl.Series([2**100] * 4, dtype=pl.Int128),
    "far-date": pl.Series([10**7] * 4, dtype=pl.Int32).cast(pl.Date),
    "nothing": pl.Series([None] * 4),
    "date": pl.Series([date(2020, 1, 1)] * 4),
}


@pytest.mark.parametrize(("stored", "role"), some(product(STORED, ALL_ROLES), 5))
def test_no_stored_type_is_an_internal_fault(stored: str, role: str, tmp_path: Path) -> None:
    content = parquet_bytes(column=STORED[stored])
    build = flags(content, file="people.parquet", roles={"age": "quasi", "column": role})
    result = run("anonymize", *build(tmp_path))
    assert result.exit_code == 0 or result.stderr.startswith("error [data.kind]: ")


def outcome(frame: pl.DataFrame, **roles: list[str]) -> str:
    """Anonymize a frame; return the code of the error, or nothing where there is none."""
    try:
        shoal.anonymize(frame, k=2, **roles)
    except shoal.ShoalError as error:
        return error.code
    return ""


@pytest.mark.parametrize(("stored", "role"), some(product(STORED, ALL_ROLES), 3))
def test_a_frame_of_any_type_is_released_or_refused_as_data(stored: str, role: str) -> None:
    frame = pl.DataFrame({"age": [1, 2, 3, 4], "column": STORED[stored]})
    roles = {"quasi": ["age"]} | {role: ["age", "column"] if role == "quasi" else ["column"]}
    assert outcome(frame, **roles) in ("", "data.kind")


def test_a_tiny_weight_is_no_internal_fault(tmp_path: Path) -> None:
    weights = {f"column_{name}": {"weight": 1e-307} for name in ("age", "city", "born")}
    result = run("anonymize", *recipe(**weights)(tmp_path))
    assert result.exit_code == 0 or result.stderr.startswith("error [recipe.invalid]: ")


def test_a_huge_grid_is_no_internal_fault(tmp_path: Path) -> None:
    grids = {"column_age": {"kind": "numeric", "grid": 1e300}, "column_born": {"kind": "date", "grid": 1e12}}
    result = run("anonymize", *recipe(output={"bounds": "snapped"}, **grids)(tmp_path))
    assert result.exit_code == 0 or result.stderr.startswith("error [recipe.invalid]: ")


def test_a_panic_of_the_parquet_reader_is_a_bad_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def panic(*_: Any, **__: Any) -> None:
        raise pl.exceptions.PanicException(MARK)

    arguments = flags(parquet_bytes(), file="people.parquet", roles={"age": "quasi"})(tmp_path)
    monkeypatch.setattr(pl, "read_parquet", panic)
    result = run("anonymize", *arguments)
    assert result.stderr.startswith("error [data.unreadable]: ")
    assert result.exit_code == 2


def damaged_arrow(offset: int | None) -> bytes:
    """Break an Arrow file: one offset into its texts, or a byte of a text, so that it is no UTF-8."""
    content = bytearray(arrow_bytes(ARROW))
    lengths = [len(text) for text in ARROW["city"].to_pylist()]
    offsets = struct.pack("<5i", *(sum(lengths[:at]) for at in range(5)))
    if offset is None:
        content[content.index(MARK.encode())] = 0xFF
    else:
        at = content.index(offsets) + 4
        content[at : at + 4] = struct.pack("<i", offset)
    return bytes(content)


@pytest.mark.parametrize("offset", some([2**30, -1, None], 3))  # far, negative, no UTF-8
def test_a_damaged_arrow_file_is_refused_without_a_crash(offset: int | None, tmp_path: Path) -> None:
    roles = {"age": "quasi", "city": "quasi"}
    arguments = flags(damaged_arrow(offset), file="people.arrow", roles=roles)(tmp_path)
    result = in_subprocess("anonymize", *arguments)
    assert result.stderr.startswith("error [data.unreadable]: ")
    assert MARK[1:] not in result.stderr
    assert result.returncode == 2


def test_an_error_as_json_reaches_a_stdout_that_knows_ascii_only(tmp_path: Path) -> None:
    arguments = flags(TABLE.replace("note", "gr\u00f6\u00dfe"))(tmp_path)
    result = in_subprocess("anonymize", *arguments, "--json", PYTHONIOENCODING="ascii")
    assert json.loads(result.stdout)["error"]["code"] == "recipe.unknown_column"
    assert result.returncode == 2


FULL_DISK = """
import json, resource, sys
from pathlib import Path
from typer.testing import CliRunner
from shoal.cli.main import app

measured, *arguments = sys.argv[1:]
target = Path(arguments[-1])
beside = {"manifest": Path(f"{target}.manifest.json"), "report": Path(f"{target}.report.html")}
files = {"release": target, **beside}
hard = resource.getrlimit(resource.RLIMIT_FSIZE)[1]

def run(size):
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))  # Python itself ignores SIGXFSZ
    result = CliRunner().invoke(app, ["anonymize", "--force", *arguments])
    resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))
    left = {path.name: path.read_text() for path in target.parent.iterdir()}
    return {"status": result.exit_code, "stdout": result.stdout, "stderr": result.stderr, "left": left}

# The first run loads and compiles all that is needed, and shows that only the limit stops the others.
first = CliRunner().invoke(app, ["anonymize", "--force", *arguments])
assert first.exit_code == 0, first.stderr
size = files[measured].stat().st_size - 1
for path in files.values():
    path.unlink()
runs = [run(size)]
for path in files.values():
    path.write_text("earlier")
print(json.dumps([*runs, run(size)]))
"""


def rows_with_notes(number: int) -> str:
    return "age,note\n" + "".join(f"{i % 90},note number {i // 2} about nothing\n" for i in range(number))


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no limit on the size of files")
@pytest.mark.parametrize(
    ("ending", "measured", "rows"),
    [
        ("csv", "release", 1000),
        pytest.param("csv", "manifest", 4, marks=slow),
        pytest.param("csv", "report", 4, marks=slow),
        pytest.param("parquet", "release", 1000, marks=slow),
        pytest.param("arrow", "release", 1000, marks=slow),
    ],
)
def test_a_full_disk_is_one_error_and_leaves_nothing(
    ending: str, measured: str, rows: int, tmp_path: Path
) -> None:
    roles = {"age": "quasi", "note": "keep"}
    arguments = flags(rows_with_notes(rows), roles=roles, out=f"out.{ending}")(tmp_path)
    script = [sys.executable, "-c", FULL_DISK, measured, *arguments]
    done = subprocess.run(script, capture_output=True, text=True, timeout=300, check=True)
    first, second = json.loads(done.stdout)
    for result in (first, second):
        assert result["stderr"].startswith("error [output.unwritable]: ")
        assert (result["status"], result["stdout"]) == (2, "")
    assert first["left"] == {}
    made = [f"out.{ending}{suffix}" for suffix in ("", ".manifest.json", ".report.html")]
    assert second["left"] == dict.fromkeys(made, "earlier")


@pytest.mark.parametrize("command", ["anonymize", "verify"])
def test_no_arguments_are_bad_usage(command: str) -> None:
    assert run(command).exit_code == 2


VERIFY = {
    "missing-release": (["nobody.csv", "--quasi", "age", "--k", "2"], "data.unreadable"),
    "folder-as-release": (["out", "--quasi", "age", "--k", "2"], "data.unreadable"),
    "unknown-ending": (["people.txt", "--quasi", "age", "--k", "2"], "data.unreadable"),
    "missing-original": (
        ["people.csv", "--quasi", "age", "--k", "2", "--original", "nobody.csv"], "data.unreadable",
    ),
    "no-k": (["people.csv", "--quasi", "age"], "recipe.invalid"),
    "k-1": (["people.csv", "--quasi", "age", "--k", "1"], "recipe.invalid"),
    "no-quasi": (["people.csv", "--k", "2"], "recipe.no_quasi"),
    "column-in-two-roles": (
        ["people.csv", "--quasi", "age", "--keep", "age", "--k", "2"], "recipe.doubly_used_column",
    ),
    "missing-recipe": (["people.csv", "--recipe", "nobody.toml"], "recipe.unreadable"),
    "junit-below-a-file": (
        ["people.csv", "--quasi", "ill", "--k", "2", "--junit", "people.csv/x.xml"], "output.unwritable",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", VERIFY)
def test_a_bad_verification_gets_its_code_and_leaves_nothing(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    flags()(tmp_path)
    (tmp_path / "people.txt").write_text(TABLE)
    monkeypatch.chdir(tmp_path)
    before = snapshot(tmp_path)
    arguments, code = VERIFY[name]
    result = run("verify", *arguments)
    assert result.stderr.startswith(f"error [{code}]: ")
    assert (result.exit_code, result.stdout) == (2, "")
    assert snapshot(tmp_path) == before


def test_a_raw_table_does_not_verify(tmp_path: Path) -> None:
    arguments = flags()(tmp_path)
    result = run("verify", arguments[0], "--quasi", ",".join(HEADER[1:4]), "--k", "2")
    assert (result.exit_code, result.stderr) == (1, "")


@pytest.mark.parametrize("name", ["below-a-file", "is-a-file", "holds-a-folder"])
def test_a_demo_that_cannot_be_written_is_one_error(name: str, tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(EARLIER)
    (tmp_path / "holds-a-folder" / "hospital.csv").mkdir(parents=True)
    folder = {"below-a-file": "file/x", "is-a-file": "file"}.get(name, name)
    before = snapshot(tmp_path)
    result = run("demo", "--dir", tmp_path / folder, "--rows", "100")
    assert result.stderr.startswith("error [output.unwritable]: ")
    assert result.exit_code == 2
    assert snapshot(tmp_path) == before
