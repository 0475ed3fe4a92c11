"""Bad inputs of `shoal anonymize`, each with the code and the exit status that it must get.

The cells of every table hold the marks, so that `test_marker` can look for them in what is printed.
"""

from __future__ import annotations

import datetime
import io
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import tomli_w
from pyarrow import feather
from typer.testing import CliRunner

from shoal.cli.main import app

MARK = "ZXMARKERXZ"
NUMBER_MARK = "98765432123"
DATE_MARK = "1901-02-03"
MARKS = (MARK, NUMBER_MARK, DATE_MARK)

HEADER = ("name", "age", "city", "born", "ill", "note")
ROWS = [
    [MARK, NUMBER_MARK, MARK, DATE_MARK, MARK, MARK],
    *([f"n{i}", str(20 + i), f"town{i % 3}", f"1980-01-1{i}", "flu", f"note {i}"] for i in range(7)),
]
ROLES = {
    "name": "identifier", "age": "quasi", "city": "quasi", "born": "quasi", "ill": "sensitive", "note": "keep",
}  # fmt: skip
EARLIER = b"an earlier release, which nobody may touch\n"

Builder = Callable[[Path], list[str]]


@dataclass(frozen=True)
class Case:
    """A bad input: `build` makes its files in a folder and returns the arguments of `shoal anonymize`."""

    name: str
    code: str
    build: Builder
    status: int = 2


def run(*arguments: str | Path) -> Any:
    """Run `shoal` in this process; the result has `exit_code`, `stdout` and `stderr`."""
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def snapshot(folder: Path) -> dict[str, bytes | None]:
    """Return all that is in a folder, dot-files too: the bytes of each file, None for a folder."""
    return {
        str(path.relative_to(folder)): None if path.is_dir() else path.read_bytes()
        for path in folder.rglob("*")
    }


def csv_text(rows: list[list[str]] = ROWS, header: tuple[str, ...] = HEADER) -> str:
    """Spell a table as CSV."""
    return "".join(",".join(cells) + "\n" for cells in [list(header), *rows])


def with_cell(**cells: str) -> str:
    """Spell the table with these cells in its last row."""
    return csv_text([*ROWS[:-1], [cells.get(name, cell) for name, cell in zip(HEADER, ROWS[-1], strict=True)]])


def out_folder(folder: Path) -> Path:
    """Return the folder of the release, made if needed."""
    out = folder / "out"
    out.mkdir(exist_ok=True)
    return out


def role_flags(roles: Mapping[str, str] = ROLES) -> list[str]:
    """Write roles as flags."""
    flags: dict[str, list[str]] = {}
    for name, role in roles.items():
        flags.setdefault(f"--{role}", []).append(name)
    return [text for flag, names in flags.items() for text in (flag, ",".join(names))]


def save(path: Path, content: str | bytes | None) -> Path:
    """Write a file; None makes a folder."""
    if content is None:
        path.mkdir()
    else:
        path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def flags(
    content: str | bytes | None = csv_text(),
    *more: str,
    file: str = "people.csv",
    roles: Mapping[str, str] = ROLES,
    k: str = "2",
    out: str = "out.csv",
) -> Builder:
    """Run a table with flags."""

    def build(folder: Path) -> list[str]:
        source = save(folder / file, content)
        target = out_folder(folder) / out
        return [str(source), *role_flags(roles), "--k", k, "-o", str(target), *more]

    return build


def sections(**changes: Any) -> dict[str, Any]:
    """Return a good recipe with changes: `column_x` changes column x, other names a section."""
    recipe: dict[str, Any] = {
        "input": {"path": "people.csv"},
        "columns": {name: {"role": role} for name, role in ROLES.items()},
        "privacy": {"k": 2},
        "method": {"name": "auto", "seed": 0},
    }
    for name, change in changes.items():
        if name.startswith("column_"):
            recipe["columns"][name.removeprefix("column_")] |= change
        else:
            recipe[name] = recipe.get(name, {}) | change
    return recipe


def recipe(
    content: str | bytes = csv_text(), files: Mapping[str, str | bytes] | None = None, **changes: Any
) -> Builder:
    """Run a good recipe with changes."""
    return recipe_text(tomli_w.dumps(sections(**changes)), {"people.csv": content, **(files or {})})


def recipe_text(text: str | bytes | None, files: Mapping[str, str | bytes] | None = None) -> Builder:
    """Run a recipe, with other files beside it."""

    def build(folder: Path) -> list[str]:
        for name, content in (files or {}).items():
            save(folder / name, content)
        source = save(folder / "recipe.toml", text)
        return [str(source), "-o", str(out_folder(folder) / "out.csv")]

    return build


def hierarchy(text: str | bytes, name: str = "tree.csv") -> Builder:
    """Run with a file as the hierarchy of `city`."""
    return recipe(files={name: text}, column_city={"hierarchy": name})


def target(out: str, **beside: bytes | None) -> Builder:
    """Run a good table, with a target below the output folder, where other things may lie already."""

    def build(folder: Path) -> list[str]:
        for name, content in beside.items():
            save(out_folder(folder) / name.replace("_", "."), content)
        return flags(out=out)(folder)

    return build


def no_output(folder: Path) -> list[str]:
    """Run a good table without naming an output."""
    return flags()(folder)[:-2]


def missing_file(name: str) -> Builder:
    """Run a file that is not there."""

    def build(folder: Path) -> list[str]:
        return [str(folder / name), *flags()(folder)[1:]]

    return build


def parquet_bytes(**columns: Any) -> bytes:
    """Write the marked ages and more columns as Parquet."""
    buffer = io.BytesIO()
    pl.DataFrame({"age": [int(NUMBER_MARK), 1, 2, 3], **columns}).write_parquet(buffer)
    return buffer.getvalue()


def arrow_bytes(table: pa.Table) -> bytes:
    """Write an Arrow file."""
    buffer = pa.BufferOutputStream()
    feather.write_feather(table, buffer, compression="uncompressed")
    return buffer.getvalue().to_pybytes()


def parquet(content: bytes, column: str) -> Builder:
    """Run a Parquet file with the quasi column `age` and another one, which is kept."""
    return flags(content, file="people.parquet", roles={"age": "quasi", column: "keep"})


def cities(*tops: str) -> str:
    """Return an ARX hierarchy of the towns, MARK among them, with these roots in turn."""
    towns = [MARK, "town0", "town1", "town2"]
    return "".join(f"{town};{tops[at % len(tops)]}\n" for at, town in enumerate(towns))


TWO_ARROW_COLUMNS = pa.Table.from_arrays([pa.array([MARK] * 4)] * 2, names=["city", "city"])
GOOD_PARQUET = parquet_bytes(city=[MARK, "a", "b", "c"])
LATE_LATIN_1 = csv_text().encode() + csv_text()[len(",".join(HEADER)) + 1 :].encode() * 4000 + (
    f"n,1,{MARK}\xe9,1980-01-01,flu,x\n".encode("latin-1")
)
ORDER = {"kind": "ordinal", "order": ["town0", "town1", "town2"]}

FILES = [
    Case("missing-file", "data.unreadable", missing_file("nobody.csv")),
    Case("missing-parquet", "data.unreadable", missing_file("nobody.parquet")),
    Case("folder-as-input", "data.unreadable", flags(None)),
    Case("folder-as-parquet", "data.unreadable", flags(None, file="people.parquet")),
    Case("no-bytes", "data.empty", flags(b"")),
    Case("blank-lines-only", "data.empty", flags("\n\n\n")),
    Case("header-only", "data.empty", flags(",".join(HEADER) + "\n")),
    Case("header-only-without-line-end", "data.empty", flags(",".join(HEADER))),
    Case("too-many-cells", "data.ragged", flags(csv_text() + f"{MARK},1,{MARK},1980-01-01,flu,x,{MARK}\n")),
    Case("too-few-cells", "data.ragged", flags(csv_text() + f"{MARK},1,{MARK}\n")),
    Case("unclosed-quote", "data.ragged", flags(with_cell(note=f'"{MARK}'))),
    Case("two-unclosed-quotes", "data.ragged", flags(with_cell(note=f'"{MARK}') + 'n,1,"x,1980-01-01,flu,y\n')),
    Case("latin-1", "data.encoding", flags(with_cell(city=f"{MARK}\xe9").encode("latin-1"))),
    Case("latin-1-far-down", "data.encoding", flags(LATE_LATIN_1)),
    Case("cut-utf-16", "data.encoding", flags(csv_text().encode("utf-16")[:-1])),
    Case("unknown-encoding", "data.encoding", recipe(input={"encoding": "latin-99"})),
    Case("wrong-encoding-given", "data.encoding", recipe(with_cell(city="\xe9"), input={"encoding": "ascii"})),
    Case("text-as-parquet", "data.unreadable", flags(csv_text(), file="people.parquet")),
    Case("empty-parquet-file", "data.unreadable", flags(b"", file="people.parquet")),
    Case("cut-parquet", "data.unreadable", parquet(GOOD_PARQUET[: len(GOOD_PARQUET) // 2], "city")),
    Case("text-as-arrow", "data.unreadable", flags(csv_text(), file="people.arrow")),
    Case("empty-arrow-file", "data.unreadable", flags(b"", file="people.feather")),
    Case("cut-arrow", "data.unreadable", flags(arrow_bytes(TWO_ARROW_COLUMNS)[:200], file="people.arrow")),
    Case("parquet-without-rows", "data.empty", parquet(parquet_bytes(city=[MARK] * 4).replace(b"", b""), "x")),
]
