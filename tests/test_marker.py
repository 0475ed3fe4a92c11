"""Marks in the cells of a table show up in no message, manifest, warning or repr, whatever goes wrong."""

from __future__ import annotations

import importlib
import json
import traceback
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pytest

import shoal
from shoal.cli import console
from shoal.errors import CODES, ShoalError
from shoal.stages import stage as true_stage
from shoal.table.encode import encode
from shoal.verifier import verify_table
from tests.bad_input_cases import (
    CASES,
    HEADER,
    MARK,
    MARKS,
    NUMBER_MARK,
    ROLES,
    ROWS,
    TABLE,
    Case,
    flags,
    role_flags,
    run,
    save,
    snapshot,
)
from tests.profiles import some


def cases(first: int) -> pytest.MarkDecorator:
    """Every fourth case from one on in `make test`; all are tried by one of the tests."""
    return pytest.mark.parametrize("case", some(CASES, 4, first), ids=lambda case: case.name)


MODULES = [
    importlib.import_module(f"shoal.{name}")
    for name in ("workflow.prepare", "workflow.one_table", "release.writing")
]
writing = MODULES[-1]
IDENTIFIER = "QYIDENTIFIERYQ"


def assert_unmarked(*texts: str) -> None:
    """Fail if a mark is in one of the texts, in whatever case."""
    for text in texts:
        assert [mark for mark in MARKS if mark.casefold() in text.casefold()] == []


def printed(result: Any) -> str:
    return result.stdout + result.stderr


def frame() -> pl.DataFrame:
    return pl.DataFrame(dict(zip(HEADER, zip(*ROWS, strict=True), strict=True)))


def by_roles(**more: Any) -> dict[str, Any]:
    """Return the roles as arguments of `shoal.anonymize`."""
    named = {"identifiers": "identifier", "quasi": "quasi", "sensitive": "sensitive", "keep": "keep"}
    roles = {key: [name for name, has in ROLES.items() if has == role] for key, role in named.items()}
    return {**roles, "k": 2, **more}


def test_every_code_is_provoked() -> None:
    # test_foreign_labels.py does so, tests/engine/spark, tests/utility, tests/hierarchy and tests/web
    of_spark = {"engine.memory", "engine.failed", "engine.rows"}
    elsewhere = {"promise.broken", "data.labels", "data.too_many_values", *of_spark}
    elsewhere |= {"analysis.formula", "analysis.data", "hierarchy.edit", "web.start"}
    elsewhere |= {"ledger.changed", "record.unusable"}  # tests/release, tests/workflow/test_republish.py
    assert {case.code for case in CASES} | elsewhere == set(CODES)


@cases(first=1)
def test_no_mark_is_printed_with_an_error(case: Case, tmp_path: Path) -> None:
    result = run("anonymize", *case.build(tmp_path), "--json")
    assert result.stdout
    assert result.stderr
    assert_unmarked(printed(result))


@cases(first=3)
def test_no_mark_is_in_the_exception(case: Case, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    caught: list[ShoalError] = []
    monkeypatch.setattr(console, "_print_error", lambda error, as_json: caught.append(error))
    run("anonymize", *case.build(tmp_path))
    [error] = caught
    assert error.code == case.code
    shown = "".join(traceback.format_exception(error))
    assert_unmarked(str(error), repr(error), repr(error.args), repr(error.faults), shown)


def lose_a_row(write: Callable[..., None]) -> Callable[..., None]:
    return lambda table, path, **how: write(table.head(table.height - 1), path, **how)


def write_raw_cells(write: Callable[..., None]) -> Callable[..., None]:
    raw = {"age": pl.Series(ROWS).list.get(1), "city": pl.lit(MARK)}
    return lambda table, path, **how: write(table.with_columns(**raw), path, **how)


def write_a_ragged_line(write: Callable[..., None]) -> Callable[..., None]:
    def ragged(table: pl.DataFrame, path: Path, **how: Any) -> None:
        write(table, path, **how)
        path.write_text(path.read_text() + f'{MARK},"{MARK}\n')

    return ragged


def leave_out_the_header(write: Callable[..., None]) -> Callable[..., None]:
    def headless(table: pl.DataFrame, path: Path, **how: Any) -> None:
        write(table, path, **how)
        path.write_text(path.read_text().partition("\n")[2])

    return headless


@pytest.mark.parametrize(
    "damage",
    [lose_a_row, write_raw_cells, write_a_ragged_line, leave_out_the_header],
    ids=lambda d: d.__name__,
)
def test_no_mark_is_printed_with_a_broken_promise(
    damage: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    arguments = flags()(tmp_path)
    before = snapshot(tmp_path)
    monkeypatch.setattr(writing, "write_table", damage(writing.write_table))
    result = run("anonymize", *arguments, "--json")
    assert "error [promise.broken]: " in result.stderr
    assert result.exit_code == 1
    assert_unmarked(printed(result))
    assert snapshot(tmp_path) == before


class Panic(BaseException):
    """As native libraries raise it: no Exception."""


@pytest.mark.parametrize("fault", [RuntimeError, KeyError, Panic])
@pytest.mark.parametrize("broken", ["read", "encode", "cluster", "recode", "measure", "write", "verify"])
def test_no_mark_is_printed_with_an_internal_fault(
    broken: str, fault: type[BaseException], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    @contextmanager
    def stage(timings: Any, name: str, progress: Any) -> Iterator[Any]:
        with true_stage(timings, name, progress) as tick:
            yield tick
        if name == broken:
            raise fault(f"{MARK} {NUMBER_MARK}")

    arguments = flags()(tmp_path)
    before = snapshot(tmp_path)
    for module in MODULES:
        monkeypatch.setattr(module, "stage", stage)
    result = run("anonymize", *arguments, "--json")
    assert json.loads(result.stdout)["error"]["code"] == "internal"
    assert result.stderr.startswith(f"internal error: {fault.__name__} in ")
    assert result.exit_code == 4
    assert_unmarked(printed(result))
    assert snapshot(tmp_path) == before


@pytest.fixture
def released(tmp_path: Path, request: pytest.FixtureRequest) -> tuple[Path, Any]:
    """The release of the marked table, with another mark as all its identifiers, and what was printed."""
    rows = [[IDENTIFIER, *row[1:]] for row in ROWS]
    table = TABLE.splitlines()[0] + "\n" + "".join(",".join(row) + "\n" for row in rows)
    arguments = flags(table, out=f"out.{request.param}")(tmp_path)
    result = run("anonymize", *arguments)
    assert result.exit_code == 0
    return tmp_path / "out" / f"out.{request.param}", result


every_ending = pytest.mark.parametrize("released", ["csv", "parquet", "arrow"], indirect=True)


def cells(path: Path) -> str:
    """Return all that a reader of the release sees."""
    readers = {".csv": pl.read_csv, ".parquet": pl.read_parquet, ".arrow": pl.read_ipc}
    return readers[path.suffix](path).write_csv()


@every_ending
def test_an_identifier_is_nowhere(released: tuple[Path, Any]) -> None:
    path, result = released
    files = b"".join(content or b"" for content in snapshot(path.parent).values())
    assert IDENTIFIER.encode() not in files
    assert IDENTIFIER not in cells(path) + printed(result)


@every_ending
def test_a_quasi_or_sensitive_value_is_in_the_release_alone(released: tuple[Path, Any]) -> None:
    path, result = released
    assert all(mark in cells(path) for mark in MARKS)
    assert_unmarked(printed(result), path.with_name(path.name + ".manifest.json").read_text("utf-8"))


@pytest.mark.parametrize("released", ["csv"], indirect=True)
def test_a_verification_prints_no_mark(released: tuple[Path, Any]) -> None:
    path, _ = released
    junit = path.with_name("junit.xml")
    raw = path.parents[1] / "people.csv"
    roles = role_flags({name: role for name, role in ROLES.items() if role != "identifier"})
    good = run("verify", path, *roles, "--k", "2", "--original", raw, "--junit", junit)
    assert (good.exit_code, good.stderr) == (0, "")
    bad = run("verify", raw, *roles, "--k", "3", "--identifier", "name", "--original", path)
    assert bad.exit_code == 1
    assert_unmarked(printed(good), printed(bad), junit.read_text())


@pytest.mark.parametrize("released", ["csv"], indirect=True)
def test_an_attack_prints_no_mark(released: tuple[Path, Any]) -> None:
    path, _ = released
    junit = path.with_name("junit.xml")
    raw = path.parents[1] / "people.csv"
    texts = []
    # Each against itself, and the raw table as a release: everybody is exposed, and all promises are broken.
    for table in (path, raw):
        for form in ([], ["--json"]):
            roles = [*role_flags(ROLES), "--k", "3", "--earlier", path]
            result = run("attack", raw, table, *roles, "--junit", junit, *form)
            assert result.exit_code in (0, 1)
            texts += [printed(result), junit.read_text()]
    assert result.exit_code == 1
    assert_unmarked(*texts)


def test_no_repr_shows_an_attack_with_a_mark() -> None:
    release = shoal.anonymize(frame(), **by_roles())
    found = shoal.attack(frame(), release)
    assert_unmarked(repr(found), str(found), repr(list(found)), json.dumps(found.to_list()))


def test_no_repr_shows_a_mark() -> None:
    release = shoal.anonymize(frame(), **by_roles())
    verdict = verify_table(release.frame.to_arrow(), release.recipe)
    assert_unmarked(repr(release), str(release), repr(release.goals), repr(verdict), str(verdict))
    assert_unmarked(
        json.dumps(release.to_dict()), json.dumps(release.manifest("0")), json.dumps(verdict.to_dict())
    )


def test_the_encoded_table_hides_its_values_in_its_repr() -> None:
    recipe = shoal.Recipe.from_roles(**by_roles())
    encoded = encode(frame(), recipe)
    assert_unmarked(repr(encoded), *(repr(column) for column in encoded.columns))


def test_a_privacy_warning_shows_no_mark() -> None:
    shared = frame().with_columns(ill=pl.lit(MARK))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        shoal.anonymize(shared, **by_roles())
    assert [warning.category for warning in caught] == [shoal.errors.SensitiveUnprotectedWarning]
    assert_unmarked(str(caught[0].message), repr(caught[0].message))


def test_a_privacy_warning_of_the_command_shows_no_mark(tmp_path: Path) -> None:
    rows = [[*row[:4], MARK, row[5]] for row in ROWS]
    table = TABLE.splitlines()[0] + "\n" + "".join(",".join(row) + "\n" for row in rows)
    result = run("anonymize", *flags(table)(tmp_path))
    assert result.stderr.startswith("warning: ")
    assert_unmarked(printed(result))


def mixed_objects() -> pd.DataFrame:
    ages = pd.Series([1, 2, MARK, 3, 4, 5, 6, 7], dtype=object)
    return frame().to_pandas().assign(age=ages)


def lists_of_marks() -> pl.DataFrame:
    return frame().with_columns(note=pl.concat_list("note"))


def failing_query() -> pl.LazyFrame:
    return frame().lazy().with_columns(pl.col("city").cast(pl.Int64))


@pytest.mark.parametrize("data", [mixed_objects, lists_of_marks, failing_query], ids=lambda f: f.__name__)
def test_a_frame_that_cannot_be_used_is_refused_without_its_cells(data: Callable[[], Any]) -> None:
    with pytest.raises(ShoalError) as caught:
        shoal.anonymize(data(), **by_roles())
    assert_unmarked("".join(traceback.format_exception(caught.value)), repr(caught.value))


@pytest.mark.parametrize("form", [[], ["--json"]], ids=["text", "json"])
def test_an_inspection_prints_no_mark(form: list[str], tmp_path: Path) -> None:
    source, recipe = save(tmp_path / "people.csv", TABLE), tmp_path / "recipe.toml"
    result = run("inspect", source, "--write", recipe, *form)
    assert result.exit_code == 0
    found = shoal.inspect(frame())
    assert_unmarked(printed(result), recipe.read_text(), repr(found), found._repr_html_(), found.recipe)


@pytest.mark.parametrize("command", ["anonymize", "verify"])
def test_a_table_without_header_does_not_show_its_first_row(command: str, tmp_path: Path) -> None:
    arguments = flags(TABLE.partition("\n")[2])(tmp_path)
    if command == "verify":
        arguments = arguments[:-2]
    result = run(command, *arguments)
    assert result.exit_code in (1, 2)
    assert_unmarked(printed(result))


def test_a_table_whose_header_repeats_shows_no_row(tmp_path: Path) -> None:
    source = save(tmp_path / "people.csv", f"{MARK},{MARK},1\na,b,2\n")
    result = run("anonymize", source, "--quasi", "age", "--k", "2", "-o", tmp_path / "out.csv")
    assert result.stderr.startswith("error [data.duplicate_column]: ")
    assert_unmarked(printed(result))
