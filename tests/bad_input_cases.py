"""Bad inputs of `shoal anonymize`, each with the code and the exit status that it must get.

The cells of every table hold the marks, so that `test_marker` can look for them in what is printed.
"""

from __future__ import annotations

import gzip
import io
import sqlite3
import warnings
import zipfile
from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb
import openpyxl
import polars as pl
import pyarrow as pa
import pyreadstat
import tomli_w
from pyarrow import feather
from typer.testing import CliRunner

from shoal.cli.main import app
from shoal.recipe import Recipe
from shoal.workflow.prepare import prepare

MARK = "ZXMARKERXZ"
NUMBER_MARK = "98765432123"
DATE_MARK = "1901-02-03"
MARKS = (MARK, NUMBER_MARK, DATE_MARK)

HEADER = ("name", "age", "city", "born", "ill", "note")
ROWS = [
    [MARK, NUMBER_MARK, MARK, DATE_MARK, MARK, MARK],
    *([f"n{i}", str(20 + i), f"town{i % 3}", f"1980-01-1{i}", f"ill {i}", f"note {i}"] for i in range(7)),
]
PLACES = [  # ten towns of four people each
    [f"n{i}", str(20 + i), f"{MARK} {i // 4}", f"1980-01-{10 + i % 10}", "ill", ""] for i in range(40)
]
ROLES = {
    "name": "identifier",
    "age": "quasi",
    "city": "quasi",
    "born": "quasi",
    "ill": "sensitive",
    "note": "keep",
}


KEY = "a key that is long enough for pseudonyms"


def csv_text(rows: list[list[str]] = ROWS, header: tuple[str, ...] = HEADER) -> str:
    """Spell a table as CSV."""
    return "".join(",".join(cells) + "\n" for cells in [list(header), *rows])


TABLE = csv_text()
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


def with_cell(**cells: str) -> str:
    """Spell the table with these cells in its last row."""
    return csv_text(
        [*ROWS[:-1], [cells.get(name, cell) for name, cell in zip(HEADER, ROWS[-1], strict=True)]]
    )


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
    content: str | bytes | None = TABLE,
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
    content: str | bytes = TABLE, files: Mapping[str, str | bytes] | None = None, **changes: Any
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


def goal(type: str = "l-diversity", column: str | list[str] = "ill", **keys: Any) -> Builder:  # noqa: A002
    """Run a good recipe with one privacy goal; `column_x` and `method` change the recipe, not the goal."""
    changes = {name: keys.pop(name) for name in list(keys) if name.startswith("column_") or name == "method"}
    return recipe(privacy={"goal": [{"type": type, "column": column, **keys}]}, **changes)


def also(manifest: str | None) -> Builder:
    """Run a good table beside an earlier release, of which this is the manifest."""

    def build(folder: Path) -> list[str]:
        earlier = save(folder / "earlier.csv.manifest.json", manifest)
        return [*flags()(folder), "--also", str(earlier)]

    return build


def with_key(content: str, *more: str) -> Builder:
    """Run a table whose names get pseudonyms with a good key."""

    def build(folder: Path) -> list[str]:
        key = save(folder / "key.txt", KEY)
        return [*flags(content)(folder), "--pseudonym", "name", "--key-file", str(key), *more]

    return build


def beside(flag: str, name: str, content: str | None) -> Builder:
    """Run a good table with another file that a flag names."""

    def build(folder: Path) -> list[str]:
        other = save(folder / name, content)
        if content is not None:
            other.chmod(0o600)
        return [*flags()(folder), flag, str(other)]

    return build


def beside_a_release_by_city(folder: Path) -> list[str]:
    """Publish other columns of a table of which some are out: values that nobody else has link the two."""
    others = {"name": "identifier", "age": "drop", "born": "drop", "note": "drop"}
    earlier = Recipe.from_dict(
        sections(**{f"column_{name}": {"role": role} for name, role in others.items()})
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        prepare(pl.read_csv(TABLE.encode(), infer_schema=False), earlier).write(folder / "earlier.csv")
    roles = {**ROLES, "city": "drop"}
    return [*flags(roles=roles)(folder), "--also", str(folder / "earlier.csv.manifest.json")]


def no_output(folder: Path) -> list[str]:
    """Run a good table without naming an output."""
    return flags()(folder)[:-2]


def missing_file(name: str) -> Builder:
    """Run a file that is not there."""

    def build(folder: Path) -> list[str]:
        return [str(folder / name), *flags()(folder)[1:]]

    return build


def recipe_target(name: str) -> Builder:
    """Run a recipe that names its own target."""

    def build(folder: Path) -> list[str]:
        output = {"path": str(out_folder(folder) / name)}
        return recipe(output=output)(folder)[:1]

    return build


def parquet_bytes(rows: int = 4, **columns: Any) -> bytes:
    """Write the marked ages and more columns as Parquet."""
    buffer = io.BytesIO()
    ages = [int(NUMBER_MARK), 1, 2, 3][:rows]
    pl.DataFrame({"age": ages, **columns}).write_parquet(buffer)
    return buffer.getvalue()


def arrow_bytes(table: pa.Table) -> bytes:
    """Write an Arrow file."""
    buffer = pa.BufferOutputStream()
    feather.write_feather(table, buffer, compression="uncompressed")
    return buffer.getvalue().to_pybytes()


def parquet(content: bytes, column: str) -> Builder:
    """Run a Parquet file with the quasi column `age` and another one, which is kept."""
    return flags(content, file="people.parquet", roles={"age": "quasi", column: "keep"})


def made(file: str, make: Callable[[Path], Any], *more: str) -> Builder:
    """Run a file that a function makes."""

    def build(folder: Path) -> list[str]:
        make(folder / file)
        return [str(folder / file), *flags(TABLE, *more, file="unused.csv")(folder)[1:]]

    return build


def cut(make: Callable[[Path], Any]) -> Callable[[Path], None]:
    """Return a function that makes a file and leaves out its second half."""

    def make_half(path: Path) -> None:
        make(path)
        content = path.read_bytes()
        path.write_bytes(content[: len(content) // 2])

    return make_half


def workbook(*titles: str, hidden: bool = False, **cells: Any) -> Callable[[Path], None]:
    """Make a workbook of sheets with the table, and more cells in the last one."""

    def make(path: Path) -> None:
        book = openpyxl.Workbook()
        book.remove(book.active)
        for title in titles or ("people",):
            sheet = book.create_sheet(title)
            for row in (HEADER, *ROWS):
                sheet.append(row)
        for place, cell in cells.items():
            sheet[place] = cell
        if hidden:
            sheet.sheet_state = "hidden"
        book.save(path)

    return make


def merged_cells(path: Path) -> None:
    """Make a workbook with merged cells."""
    workbook()(path)
    book = openpyxl.load_workbook(path)
    book.active.merge_cells("C3:C4")
    book.save(path)


def spss(path: Path) -> None:
    """Make an SPSS file of the table."""
    pyreadstat.write_sav(pl.read_csv(TABLE.encode(), infer_schema=False).to_pandas(), str(path))


def stata(path: Path) -> None:
    """Make a Stata file of the table."""
    pyreadstat.write_dta(pl.read_csv(TABLE.encode(), infer_schema=False).to_pandas(), str(path))


def sqlite(*tables: str, cell: Any = MARK) -> Callable[[Path], None]:
    """Make a database with the table under several names; its last cell may be another."""

    def make(path: Path) -> None:
        with closing(sqlite3.connect(path)) as database:
            database.execute("CREATE VIEW view AS SELECT 1 AS age")
            for table in tables:
                database.execute(f"CREATE TABLE {table} ({', '.join(HEADER)})")
                rows = [*ROWS[:-1], [*ROWS[-1][:-1], cell]]
                database.executemany(f"INSERT INTO {table} VALUES (?, ?, ?, ?, ?, ?)", rows)
            database.commit()

    return make


def duck(*tables: str) -> Callable[[Path], None]:
    """Make a DuckDB database with a table under several names."""

    def make(path: Path) -> None:
        with duckdb.connect(str(path)) as database:
            for table in tables:
                database.execute(f"CREATE TABLE {table} AS SELECT '{MARK}' AS name")

    return make


def archive(*names: str) -> Callable[[Path], None]:
    """Make a zip archive with the table under several names."""

    def make(path: Path) -> None:
        with zipfile.ZipFile(path, "w") as file:
            for name in names:
                file.writestr(name, TABLE)

    return make


def folder_of(**files: bytes | str) -> Callable[[Path], None]:
    """Make a folder of files."""

    def make(path: Path) -> None:
        for name, content in files.items():
            place = path / name.replace("__", "/").replace("_", ".")
            place.parent.mkdir(parents=True, exist_ok=True)
            save(place, content)

    return make


def bomb(path: Path) -> None:
    """Make a small file that unpacks to 300 MB."""
    path.write_bytes(pa.Codec("zstd").compress(b"0" * (1 << 24)).to_pybytes() * 19)


def cities(*roots: str) -> str:
    """Return an ARX hierarchy of all towns, with these roots in turn."""
    towns = [MARK, "town0", "town1", "town2"]
    return "".join(f"{town};{roots[at % len(roots)]}\n" for at, town in enumerate(towns))


def with_header(*names: str) -> str:
    """Spell the table with another header."""
    return csv_text(header=names)


ARROW = pa.table({"age": [int(NUMBER_MARK), 1, 2, 3], "city": [MARK, "a", "b", "c"]})
TWO_CITIES = pa.Table.from_arrays([ARROW["age"], ARROW["city"], ARROW["city"]], names=["age", "city", "city"])
PARQUET = parquet_bytes(city=[MARK, "a", "b", "c"])
LATE_LATIN_1 = (
    TABLE.encode() + b"n,1,x,1980-01-01,flu,x\n" * 50_000 + f"n,1,{MARK}\xe9,,,\n".encode("latin-1")
)
NO_CITY_MARK = {"kind": "ordinal", "order": ["town0", "town1", "town2"]}
SNAPPED = {"bounds": "snapped"}
ONE_ILL = csv_text([[*row[:4], MARK, row[5]] for row in ROWS])
BEYOND_64_BITS = csv_text([[row[0], f"{NUMBER_MARK}00000000{at}", *row[2:]] for at, row in enumerate(ROWS)])
LATER = "recipe.not_available"

FILES = [
    Case("missing-file", "data.unreadable", missing_file("nobody.csv")),
    Case("missing-parquet", "data.unreadable", missing_file("nobody.parquet")),
    Case("folder-as-input", "data.unreadable", flags(None)),
    Case("folder-as-parquet", "data.unreadable", flags(None, file="people.parquet")),
    Case("path-with-a-zero", "data.unreadable", recipe(input={"path": "a\0.csv"})),
    Case("no-bytes", "data.empty", flags(b"")),
    Case("blank-lines-only", "data.empty", flags("\n\n\n")),
    Case("header-only", "data.empty", flags(",".join(HEADER) + "\n")),
    Case("header-only-without-line-end", "data.empty", flags(",".join(HEADER))),
    Case("parquet-without-rows", "data.empty", parquet(parquet_bytes(rows=0, city=[]), "city")),
    Case("too-many-cells", "data.ragged", flags(TABLE + f"{MARK},1,{MARK},1980-01-01,flu,x,{MARK}\n")),
    Case("too-few-cells", "data.ragged", flags(TABLE + f"{MARK},1,{MARK}\n")),
    Case("unclosed-quote", "data.ragged", flags(with_cell(note=f'"{MARK}'))),
    Case("unclosed-quotes", "data.ragged", flags(with_cell(note=f'"{MARK}') + 'n,1,x,1980-01-01,flu,"y\n')),
    Case("latin-1", "data.encoding", flags(with_cell(city=f"{MARK}\xe9").encode("latin-1"))),
    Case("latin-1-far-down", "data.encoding", flags(LATE_LATIN_1)),
    Case("cut-utf-16", "data.encoding", flags(TABLE.encode("utf-16")[:-1])),
    Case("unknown-encoding", "data.encoding", recipe(input={"encoding": "latin-99"})),
    Case("encoding-with-a-zero", "data.encoding", recipe(input={"encoding": "a\0"})),
    Case(
        "wrong-encoding-given", "data.encoding", recipe(with_cell(city="\xe9"), input={"encoding": "ascii"})
    ),
    Case("text-as-parquet", "data.unreadable", flags(TABLE, file="people.parquet")),
    Case("empty-parquet-file", "data.unreadable", flags(b"", file="people.parquet")),
    Case("cut-parquet", "data.unreadable", parquet(PARQUET[: len(PARQUET) // 2], "city")),
    Case("text-as-arrow", "data.unreadable", flags(TABLE, file="people.arrow")),
    Case("empty-arrow-file", "data.unreadable", flags(b"", file="people.feather")),
    Case("cut-arrow", "data.unreadable", flags(arrow_bytes(ARROW)[:200], file="people.arrow")),
]

PARQUET_ELSE = parquet_bytes(town=[MARK, "a", "b", "c"])
OTHER_FILES = [
    Case("text-as-workbook", "data.unreadable", flags(TABLE, file="people.xlsx")),
    Case("cut-workbook", "data.unreadable", made("people.xlsx", cut(workbook()))),
    Case("two-sheets", "data.table", made("people.xlsx", workbook("people", "more"))),
    Case("hidden-sheet", "data.table", made("people.xlsx", workbook("people", "more", hidden=True))),
    Case("unknown-sheet", "data.table", made("people.xlsx", workbook(), "--table", "peopel")),
    Case("formula-without-result", "data.unreadable", made("people.xlsx", workbook(F3=f'="{MARK}"'))),
    Case("merged-cells", "data.unreadable", made("people.xlsx", merged_cells)),
    Case("cell-far-away", "data.too_large", made("people.xlsx", workbook(XFD1048576=MARK))),
    Case("column-without-a-name", "data.duplicate_column", made("people.xlsx", workbook(G3=MARK))),
    Case("archive-as-workbook", "data.unreadable", made("people.xlsx", archive("people.csv"))),
    Case("old-workbook", "data.unreadable",
         flags(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + MARK.encode(), file="people.xls")),
    Case("spss-as-csv", "data.unreadable", made("people.csv", spss)),
    Case("text-as-spss", "data.unreadable", flags(TABLE, file="people.sav")),
    Case("cut-spss", "data.unreadable", made("people.sav", cut(spss))),
    Case("spss-portable", "data.unreadable", flags("ASCII SPSS PORT FILE", file="people.por")),
    Case("cut-stata", "data.unreadable", made("people.dta", cut(stata))),
    Case("text-as-sas", "data.unreadable", flags(TABLE, file="people.sas7bdat")),
    Case("text-as-transport-file", "data.unreadable", flags(TABLE, file="people.xpt")),
    Case("text-as-database", "data.unreadable", flags(TABLE, file="people.sqlite")),
    Case("cut-database", "data.unreadable", made("people.sqlite", cut(sqlite("people")))),
    Case("two-tables", "data.table", made("people.db", sqlite("people", "more"))),
    Case("only-a-view", "data.empty", made("people.db", sqlite())),
    Case("binary-column", "data.kind", made("people.db", sqlite("people", cell=MARK.encode()))),
    Case("two-tables-of-duckdb", "data.table", made("people.duckdb", duck("people", "more"))),
    Case("cut-duckdb", "data.unreadable", made("people.duckdb", cut(duck("people")))),
    Case("text-as-gzip", "data.unreadable", flags(TABLE, file="people.csv.gz")),
    Case("cut-gzip", "data.unreadable", flags(gzip.compress(TABLE.encode())[:-20], file="people.csv.gz")),
    Case("bomb", "data.too_large", made("people.csv.zst", bomb)),
    Case("gzip-as-csv", "data.unreadable", flags(gzip.compress(TABLE.encode()))),
    Case("two-files-in-an-archive", "data.table", made("people.zip", archive("people.csv", "more.csv"))),
    Case("workbook-in-an-archive", "data.unreadable",
         flags(gzip.compress(b"PK\x03\x04" + MARK.encode()), file="people.csv.gz")),
    Case("json", "data.unreadable", flags(f'[{{"age": "{MARK}"}}]', file="people.json")),
    Case("folder-of-text", "data.unreadable", made("parts", folder_of(people_csv=TABLE))),
    Case("folder-of-partitions", "data.unreadable", made("parts", folder_of(**{"a=1__p_parquet": PARQUET}))),
    Case("pattern-without-files", "data.unreadable", made("parts/*.parquet", lambda path: None)),
    Case("parts-of-two-tables", "data.ragged",
         made("parts", folder_of(a_parquet=PARQUET, b_parquet=PARQUET_ELSE))),
    Case("damaged-part", "data.unreadable", made("parts", folder_of(a_parquet=PARQUET, b_parquet=TABLE))),
]  # fmt: skip

NOBODY = "postgresql://clerk:secret@localhost:1/x"  # nothing listens there
SERVICE = "postgresql://?service=nobody"


def from_database(address: str, *more: str) -> Builder:
    """Read from a database."""
    return lambda folder: [
        address, *role_flags(), "--k", "2", "-o", str(out_folder(folder) / "out.csv"), *more
    ]  # fmt: skip


def to_database(address: str, *more: str) -> Builder:
    """Write to a database."""

    def build(folder: Path) -> list[str]:
        return [str(save(folder / "people.csv", TABLE)), *role_flags(), "--k", "2", "-o", address, *more]

    return build


INVALID = "recipe.invalid"
DATABASES = [  # those that need a server are in tests/postgres
    Case("no-server", "data.unreadable", from_database(NOBODY, "--table", "people")),
    Case("no-service", "data.unreadable", from_database(SERVICE)),
    Case("no-host", "data.unreadable", from_database("postgresql://nobody.invalid/x")),
    Case("no-port", "data.unreadable", from_database("postgresql://localhost:port/x")),
    Case("unknown-setting-of-an-address", "data.unreadable", from_database("postgresql:///x?colour=red")),
    Case("query-of-a-file", INVALID, flags(TABLE, "--query", f"SELECT '{MARK}'")),
    Case("table-and-query", INVALID, from_database(NOBODY, "--table", "people", "--query", "SELECT 1")),
    Case("three-parts-of-a-name", INVALID, from_database(NOBODY, "--table", "a.b.c")),
    Case("open-quote-in-a-name", INVALID, from_database(NOBODY, "--table", '"people')),
    Case("separator-of-a-database", INVALID, from_database(NOBODY, "--separator", ";")),
    Case("encoding-of-a-database", INVALID, from_database(NOBODY, "--encoding", "latin-1")),
    Case("no-table-for-the-output", INVALID, to_database(NOBODY)),
    Case("bad-table-for-the-output", INVALID, to_database(NOBODY, "--output-table", "a.")),
    Case("table-of-an-output-file", INVALID, flags(TABLE, "--output-table", "people")),
    Case("no-server-for-the-output", "output.unwritable", to_database(NOBODY, "--output-table", "people")),
    Case("no-service-for-the-output", "output.unwritable", to_database(SERVICE, "--output-table", "people")),
    Case("views-in-a-database", "recipe.not_available",
         to_database(NOBODY, "--output-table", "people", "--views", "equal")),
    Case("two-tables-in-a-database", "recipe.not_available",
         to_database(NOBODY, "--output-table", "people", "--method", "anatomy")),
    Case("spark-from-a-database", "recipe.not_available",
         from_database(NOBODY, "--table", "people", "--engine", "spark")),
    Case("spark-to-a-database", "recipe.not_available",
         to_database(NOBODY, "--output-table", "people", "--engine", "spark")),
]  # fmt: skip

COLUMNS = [
    Case("two-columns-of-one-name", "data.duplicate_column", flags(with_header(*HEADER[:5], "ill"))),
    Case("nameless-column", "data.duplicate_column", flags(with_header(*HEADER[:5], ""))),
    Case("two-arrow-columns", "data.duplicate_column", flags(arrow_bytes(TWO_CITIES), file="people.arrow")),
    Case("unknown-column", "recipe.unknown_column", flags(roles={**ROLES, "Citty": "quasi"})),
    Case("unknown-label", "recipe.unknown_column",
         recipe(method={"name": "k-member", "options": {"label": "Citty"}})),
    Case("unnamed-columns", "recipe.unnamed_column", flags(roles={"age": "quasi", "name": "identifier"})),
    Case("column-in-two-roles", "recipe.doubly_used_column", flags(TABLE, "--drop", "age")),
    Case("no-quasi", "recipe.no_quasi", flags(roles=dict.fromkeys(HEADER, "keep"))),
    Case("no-columns", "recipe.no_quasi", flags(roles={})),
]  # fmt: skip

CELLS = [
    Case("text-among-numbers", "data.kind", recipe(with_cell(age=MARK), column_age={"kind": "numeric"})),
    Case("text-among-found-numbers", "data.kind", recipe(with_cell(age=MARK))),
    Case("text-among-found-dates", "data.kind", flags(with_cell(born=MARK))),
    Case("numbers-of-more-than-64-bits", "data.kind", flags(BEYOND_64_BITS)),
    Case("nan-as-text", "data.kind", recipe(with_cell(age="nan"), column_age={"kind": "numeric"})),
    Case("text-among-dates", "data.kind", recipe(with_cell(born=MARK), column_born={"kind": "date"})),
    Case("impossible-date", "data.kind", recipe(with_cell(born="1981-02-30"), column_born={"kind": "date"})),
    Case("year-0", "data.kind", recipe(with_cell(born="0000-01-01"), column_born={"kind": "date"})),
    Case("numbers-as-dates", "data.kind", recipe(column_age={"kind": "date"})),
    Case("a-month-among-days", "data.kind", recipe(with_cell(born="1981-02"))),
    Case("a-year-among-days", "data.kind", recipe(with_cell(born="1981"), column_born={"kind": "date"})),
    Case("lists", "data.kind", parquet(parquet_bytes(city=[[MARK]] * 4), "city")),
    Case("bytes", "data.kind", parquet(parquet_bytes(city=[MARK.encode()] * 4), "city")),
    Case("infinity", "data.infinite", recipe(with_cell(age="-inf"), column_age={"kind": "numeric"})),
    Case("beyond-floats", "data.infinite", recipe(with_cell(age="1e999"), column_age={"kind": "numeric"})),
    Case("not-in-order", "data.order", recipe(column_city=NO_CITY_MARK)),
    Case("missing-is-error", "data.missing", recipe(with_cell(city=""), privacy={"missing": "error"})),
    Case("too-many-to-suppress", "infeasible.suppression",
         recipe(with_cell(city=""), privacy={"missing": "suppress", "max_suppressed": 0.1}), status=3),
    Case("all-suppressed", "infeasible.rows",
         recipe(csv_text([["n", "", "", "", "flu", MARK]] * 4),
                privacy={"missing": "suppress", "max_suppressed": 1.0}), status=3),
    Case("not-diverse", "infeasible.goal", recipe(method={"name": "cb", "options": {"l": 9}}), status=3),
    Case("no-groups", "infeasible.goal",
         flags(csv_text([[*row[:4], MARK, ""] for row in ROWS]), "--method", "anatomy", out="two.csv"),
         status=3),
    Case("two-sensitive", "recipe.invalid",
         flags(TABLE, "--method", "anatomy", roles={**ROLES, "note": "sensitive"})),
    Case("weights-of-no-column", "recipe.option",
         recipe(method={"name": "kaca", "options": {"weights": {"shoe": [1]}}})),
    Case("unique-kept", "danger.unique_kept",
         flags(csv_text([*ROWS, *([*ROWS[1][:5], f"{MARK}{i}"] for i in range(20))]))),
    Case("unique-sensitive", "danger.unique",
         flags(csv_text([*ROWS, *([*ROWS[1][:4], f"{MARK}{i}", "note"] for i in range(20))]))),
    Case("recoverable", "danger.recoverable",
         flags(csv_text([[*row[:5], f"{row[2]}!"] for row in PLACES]), k="20")),
    Case("duplicate-in-two-tables", "danger.duplicate",
         flags(csv_text([[*row[:4], row[2], ""] for row in PLACES]), "--method", "anatomy", out="two.csv")),
    Case("duplicate", "danger.duplicate",
         flags(csv_text([[*row[:4], row[2], ""] for row in PLACES]), k="20")),
    Case("accept-what-is-no-danger", "recipe.invalid", flags(TABLE, "--accept", "note=magic")),
    Case("accept-of-no-column", "recipe.invalid", flags(TABLE, "--accept", "unique")),
    Case("accept-without-text", "recipe.invalid", recipe(column_note={"accept": {"unique": 5}})),
    Case("k-above-rows", "infeasible.rows", flags(k="9"), status=3),
    Case("k-far-above-rows", "infeasible.rows", flags(k="9" * 30), status=3),
    Case("k-1", "recipe.invalid", flags(k="1")),
    Case("k-0", "recipe.invalid", flags(k="0")),
    Case("negative-k", "recipe.invalid", flags(k="-3")),
]  # fmt: skip

HIERARCHIES = [
    Case("cycle", "hierarchy.cycle", hierarchy(f"{MARK};a;b;*\ntown0;b;a;*\ntown1;*\ntown2;*\n")),
    Case("two-roots", "hierarchy.roots", hierarchy(cities("*", MARK + MARK))),
    Case("no-root", "hierarchy.roots", hierarchy("")),
    Case("value-at-two-places", "hierarchy.duplicate", hierarchy(cities("*") + f"{MARK};east;*\n")),
    Case("value-twice-in-json", "hierarchy.duplicate", hierarchy('{"*": {"a": {}, "a": {}}}', "tree.json")),
    Case("uncovered-value", "hierarchy.uncovered", hierarchy("town0;*\ntown1;*\ntown2;*\n")),
    Case("inner-node-in-data", "hierarchy.uncovered", hierarchy(f"town0;{MARK};*\ntown1;*\ntown2;*\n")),
    Case("missing-hierarchy", "hierarchy.unreadable", recipe(column_city={"hierarchy": "nobody.csv"})),
    Case("missing-hierarchy-by-flag", "hierarchy.unreadable", flags(TABLE, "--hierarchy", "city=nobody.csv")),
    Case("latin-1-hierarchy", "hierarchy.unreadable", hierarchy(f"{MARK}\xe9;*\n".encode("latin-1"))),
    Case("unclosed-quote-in-hierarchy", "hierarchy.unreadable", hierarchy(f'"{MARK};*\ntown0;*\n')),
    Case("hole-in-hierarchy", "hierarchy.unreadable", hierarchy(f"{MARK};;*\ntown0;a;*\n")),
    Case("broken-json-hierarchy", "hierarchy.unreadable", hierarchy(f'{{"*": ["{MARK}"', "tree.json")),
    Case("broken-toml-hierarchy", "hierarchy.unreadable", hierarchy(f"{MARK} = {MARK}", "tree.toml")),
    Case("unknown-hierarchy-ending", "hierarchy.unreadable", hierarchy(cities("*"), "tree.xlsx")),
    Case(
        "intervals-do-not-nest", "hierarchy.build", recipe(column_age={"hierarchy": {"intervals": [5, 12]}})
    ),
    Case("intervals-of-text", "hierarchy.build", recipe(column_age={"hierarchy": {"intervals": ["a"]}})),
    Case("one-interval", "hierarchy.build", recipe(column_age={"hierarchy": {"intervals": 5}})),
    Case("prefix-0", "hierarchy.build", recipe(column_city={"hierarchy": {"prefix": 0}})),
    Case(
        "dates-do-not-nest", "hierarchy.build", recipe(column_born={"hierarchy": {"dates": ["week", "year"]}})
    ),
    Case("texts-as-postcodes", "hierarchy.build", recipe(column_city={"hierarchy": "postcode"})),
    Case("texts-as-icd10", "hierarchy.build", recipe(column_city={"hierarchy": "icd10"})),
    Case("large-numbers-as-ages", "hierarchy.build", flags(TABLE, "--hierarchy", "age=age")),
    Case(
        "induced-from-identifier", "recipe.invalid", recipe(column_city={"hierarchy": {"induce": ["name"]}})
    ),
    Case("induced-numbers", "recipe.invalid", recipe(column_age={"hierarchy": "induce", "kind": "numeric"})),
    Case("numbers-in-nested-table", "hierarchy.build", recipe(column_city={"hierarchy": {"*": [1, 2]}})),
]

RECIPES = [
    Case("missing-recipe", "recipe.unreadable", missing_file("nobody.toml")),
    Case("folder-as-recipe", "recipe.unreadable", recipe_text(None)),
    Case("not-toml", "recipe.unreadable", recipe_text(f"[columns\n{MARK} == 3")),
    Case("recipe-in-latin-1", "recipe.unreadable", recipe_text(f'a = "{MARK}\xe9"'.encode("latin-1"))),
    Case("table-twice", "recipe.unreadable", recipe_text("[privacy]\nk = 2\n[privacy]\nk = 3\n")),
    Case("far-too-deep", "recipe.unreadable", recipe_text("a = " + "[" * 5000 + "]" * 5000)),
    Case("empty-recipe", "recipe.invalid", recipe_text("")),
    Case("unknown-key", "recipe.invalid", recipe(privacy={"kk": 3})),
    Case("unknown-section", "recipe.invalid", recipe(colums={"age": 1})),
    Case("k-as-text", "recipe.invalid", recipe(privacy={"k": MARK})),
    Case("k-as-float", "recipe.invalid", recipe(privacy={"k": 2.5})),
    Case("section-is-no-table", "recipe.invalid", recipe_text("columns = 3\n[privacy]\nk = 2\n")),
    Case("unknown-role", "recipe.invalid", recipe(column_age={"role": MARK})),
    Case("unknown-kind", "recipe.invalid", recipe(column_age={"kind": MARK})),
    Case("unknown-danger", "recipe.invalid", recipe(column_note={"accept": [MARK]})),
    Case("accept-flag-nonsense", "recipe.invalid", flags(TABLE, "--accept", "note")),
    Case("accept-flag-with-an-unknown-danger", "recipe.invalid", flags(TABLE, "--accept", f"note={MARK}")),
    Case("weight-0", "recipe.invalid", recipe(column_age={"weight": 0})),
    Case("weight-not-a-number", "recipe.invalid", recipe(column_age={"weight": float("nan")})),
    Case("ordinal-without-order", "recipe.invalid", recipe(column_city={"kind": "ordinal"})),
    Case("order-without-ordinal", "recipe.invalid", recipe(column_city={"order": [MARK]})),
    Case(
        "order-with-repeats", "recipe.invalid", recipe(column_city={"kind": "ordinal", "order": [MARK, MARK]})
    ),
    Case("no-header-and-no-names", "recipe.invalid", recipe(input={"header": False})),
    Case("header-and-names", "recipe.invalid", recipe(input={"names": [*HEADER]})),
    Case("no-header-and-empty-names", "recipe.invalid", recipe(input={"header": False, "names": []})),
    Case("long-separator", "recipe.invalid", recipe(input={"separator": ";;"})),
    Case("separator-not-ascii", "recipe.invalid", recipe(input={"separator": "\xe9"})),
    Case("separator-zero", "recipe.invalid", recipe(input={"separator": "\0"})),
    Case("unknown-default", "recipe.invalid", flags(TABLE, "--default", "keep")),
    Case("negative-seed", "recipe.invalid", flags(TABLE, "--seed", "-1")),
    Case("hierarchy-flag-without-file", "recipe.invalid", flags(TABLE, "--hierarchy", "city")),
    Case("hierarchy-of-unknown-column", "recipe.invalid", flags(TABLE, "--hierarchy", "zip=tree.csv")),
    Case("unknown-method", "recipe.invalid", flags(TABLE, "--method", "k-membr")),
    Case("unknown-effort", "recipe.option", flags(TABLE, "--effort", "fast")),
    Case("effort-of-another-method", "recipe.option", flags(TABLE, "--effort", "high", "--method", "oka")),
    Case("no-seconds", "recipe.option", recipe(method={"options": {"seconds": 0}})),
    Case("unknown-option", "recipe.option", recipe(method={"name": "k-member", "options": {"opns": 1}})),
    Case("bad-option", "recipe.option", recipe(method={"name": "k-member", "options": {"opens": MARK}})),
    Case("option-of-auto", "recipe.option", recipe(method={"options": {"opens": "start"}})),
    Case("unknown-views", "recipe.invalid", recipe(output={"views": MARK})),
    Case("views-flag", "recipe.invalid", flags(TABLE, "--views", "eqal")),
    Case("views-by-flag", "recipe.invalid", flags(TABLE, "--views", "equal", "--views-by", MARK)),
    Case("views-by-of-one-table", "recipe.invalid", flags(TABLE, "--views-by", "projection")),
    Case(
        "unknown-column-in-a-view", "recipe.invalid", recipe(output={"views": [["age", "city"], ["borne"]]})
    ),
    Case("kept-column-in-a-view", "recipe.invalid", flags(TABLE, "--views", "age,city,born;note,age")),
    Case("empty-view", "recipe.invalid", flags(TABLE, "--views", "age,city,born;")),
    Case(
        "column-twice-in-a-view", "recipe.invalid", recipe(output={"views": [["age", "city", "born", "age"]]})
    ),
    Case("view-twice", "recipe.invalid", flags(TABLE, "--views", "age,city;born,age;city,age")),
    Case("column-in-no-view", "recipe.invalid", recipe(output={"views": [["age"], ["city"]]})),
    Case("nh-with-views", "recipe.invalid", flags(TABLE, "--views", "equal", "--method", "nh")),
    Case("anatomy-with-views", "recipe.invalid", flags(TABLE, "--views", "equal", "--method", "anatomy")),
    Case(
        "text-among-numbers-of-a-view",
        "data.kind",
        recipe(with_cell(born=MARK), column_born={"kind": "date"}, output={"views": "equal"}),
    ),
    Case("sets-of-nothing", "recipe.invalid", recipe(output={"max_set": 0})),
    Case("snapped-without-grid", "recipe.invalid", recipe(output=SNAPPED, column_age={"kind": "numeric"})),
    Case("snapped-without-grid-or-kind", "recipe.invalid", recipe(output=SNAPPED)),
    Case("omitted-order", "recipe.omitted", recipe(column_city={"kind": "ordinal", "omitted": {"order": 4}})),
    Case("omitted-hierarchy", "recipe.omitted", recipe(column_city={"omitted": {"hierarchy": 4}})),
    Case("omitted-nonsense", "recipe.invalid", recipe(column_city={"omitted": {"leaves": 4}})),
    Case(
        "induced-hierarchy-with-spark",
        LATER,
        recipe(column_city={"hierarchy": "induce"}, engine={"name": "spark"}),
    ),
]

GOALS = [
    Case("unknown-goal", "recipe.invalid", goal(type=MARK)),
    Case("goal-without-type", "recipe.invalid", recipe(privacy={"goal": [{"column": "ill", "l": 2}]})),
    Case("goals-are-no-list", "recipe.invalid", recipe(privacy={"goal": MARK})),
    Case("goal-is-no-table", "recipe.invalid", recipe(privacy={"goal": [MARK]})),
    Case("goal-without-l", "recipe.invalid", goal()),
    Case("goal-without-column", "recipe.invalid",
         recipe(privacy={"goal": [{"type": "alpha-k", "alpha": 0.5}]})),
    Case("unknown-key-of-a-goal", "recipe.invalid", goal(l=2, m=MARK)),
    Case("unknown-variant", "recipe.invalid", goal(l=2, variant=MARK)),
    Case("goal-of-a-quasi-column", "recipe.invalid", goal(column="city", l=2)),
    Case("goal-of-no-column", "recipe.invalid", goal(column="illl", l=2)),
    Case("goal-of-an-empty-list", "recipe.invalid", goal(column=[], l=2)),
    Case("goal-of-a-column-twice", "recipe.invalid", goal(column=["ill", "ill"], l=2)),
    Case("l-not-whole", "recipe.invalid", goal(l=2.5)),
    Case("l-0", "recipe.invalid", goal(l=0)),
    Case("l-as-text", "recipe.invalid", goal(l=MARK)),
    Case("l-not-a-number", "recipe.invalid", goal(l=float("nan"))),
    Case("recursive-without-c", "recipe.invalid", goal(variant="recursive", l=2)),
    Case("c-without-recursive", "recipe.invalid", goal(l=2, c=1.5)),
    Case("t-above-1", "recipe.invalid", goal(type="t-closeness", t=1.5)),
    Case("negative-t", "recipe.invalid", goal(type="t-closeness", t=-0.1)),
    Case("alpha-0", "recipe.invalid", goal(type="alpha-k", alpha=0.0)),
    Case("beta-without-end", "recipe.invalid", goal(type="beta-likeness", beta=float("inf"))),
    Case("delta-0", "recipe.invalid", goal(type="delta-disclosure", delta=0.0)),
    Case("ordered-without-order", "recipe.invalid", goal(type="t-closeness", t=0.5, distance="ordered")),
    Case("ordered-but-not-all-values", "data.order",
         goal(type="t-closeness", t=0.5, distance="ordered",
              column_ill={"kind": "ordinal", "order": [f"ill {i}" for i in range(7)]})),
    Case("text-among-numbers-of-a-goal", "data.kind",
         goal(type="t-closeness", t=0.5, distance="ordered", column_ill={"kind": "numeric"})),
    Case("hierarchical-without-hierarchy", "recipe.invalid",
         goal(type="t-closeness", t=0.5, distance="hierarchical")),
    Case("hierarchical-with-a-gap", "hierarchy.uncovered",
         goal(type="t-closeness", t=0.5, distance="hierarchical",
              column_ill={"hierarchy": {"*": ["ill 0"]}})),
    Case("hierarchical-without-file", "hierarchy.unreadable",
         goal(type="t-closeness", t=0.5, distance="hierarchical", column_ill={"hierarchy": "nobody.csv"})),
    Case("two-columns-ordered", "recipe.invalid",
         goal(type="t-closeness", t=0.5, distance="ordered", column=["ill", "note"],
              column_note={"role": "sensitive"})),
    Case("range-of-texts", "recipe.invalid", goal(type="range", e=10.0)),
    Case("range-of-two-columns", "recipe.invalid",
         goal(type="range", e=10.0, column=["ill", "note"], column_note={"role": "sensitive"})),
    Case("range-0", "recipe.invalid", goal(type="range", e=0.0)),
    Case("goal-with-nh", "recipe.invalid", goal(l=2, method={"name": "nh"})),
    Case("goal-with-anatomy", "recipe.invalid", goal(l=2, method={"name": "anatomy"})),
    Case("goal-flag-nonsense", "recipe.invalid", flags(TABLE, "--goal", "nonsense")),
    Case("goal-flag-empty", "recipe.invalid", flags(TABLE, "--goal", "")),
    Case("goal-flag-with-text-for-a-number", "recipe.invalid",
         flags(TABLE, "--goal", f"l-diversity column=ill l={MARK}")),
    Case("goal-flag-with-unknown-key", "recipe.invalid", flags(TABLE, "--goal", "l-diversity ill l=2")),
    Case("goal-flag-of-a-kept-column", "recipe.invalid",
         flags(TABLE, "--goal", "alpha-k column=note alpha=0.5")),
    Case("too-many-values-asked-for", "infeasible.goal", goal(l=9), status=3),
    Case("too-frequent", "infeasible.goal",
         flags(ONE_ILL, "--goal", "alpha-k column=ill alpha=0.5"), status=3),
    Case("too-frequent-to-leave-out", "infeasible.goal",
         recipe(ONE_ILL, privacy={"max_suppressed": 0.5, "goal": [
             {"type": "l-diversity", "variant": "frequency", "column": "ill", "l": 2}]}), status=3),
    Case("no-value-of-a-goal", "infeasible.goal",
         flags(csv_text([[*row[:4], "", MARK] for row in ROWS]), "--goal", "l-diversity column=ill l=1"),
         status=3),
    Case("two-subjects", "recipe.invalid",
         recipe(column_name={"role": "subject"}, column_note={"role": "subject"})),
    Case("subject-in-two-roles", "recipe.doubly_used_column", flags(TABLE, "--subject", "name")),
    Case("subject-not-in-the-table", "recipe.unknown_column", flags(TABLE, "--subject", "nam")),
    Case("subject-with-missing-values", "data.missing",
         flags(with_cell(name=""), roles={**ROLES, "name": "subject"})),
    Case("subject-with-nh", "recipe.invalid",
         flags(TABLE, "--method", "nh", roles={**ROLES, "name": "subject"})),
    Case("fewer-people-than-k", "infeasible.goal",
         flags(csv_text([[MARK, *row[1:]] for row in ROWS]), roles={**ROLES, "name": "subject"}), status=3),
    Case("beside-a-release-by-city", "composition.refused", beside_a_release_by_city, status=3),
    Case("also-without-a-file", "data.unreadable", flags(TABLE, "--also", "nobody.csv.manifest.json")),
    Case("also-is-no-manifest", "data.unreadable", also(f'{{"{MARK}": "{MARK}"}}')),
    Case("also-is-broken", "data.unreadable", also(f'{{"{MARK}": ')),
    Case("also-is-a-folder", "data.unreadable", also(None)),
    Case("pseudonyms-without-a-key", "recipe.key", flags(TABLE, "--pseudonym", "name")),
    Case("pseudonyms-without-the-key-file", "recipe.key",
         flags(TABLE, "--pseudonym", "name", "--key-file", "nowhere.txt")),
    Case("pseudonyms-of-repeated-names", "data.repeated", with_key(csv_text([*ROWS, *ROWS]))),
    Case("pseudonyms-in-several-views", "recipe.invalid", with_key(TABLE, "--views", "equal")),
    Case("noise-on-texts", "data.perturb", flags(TABLE, "--noise", "note=0.5")),
    Case("swap-of-texts", "data.perturb", flags(TABLE, "--swap", "note=5")),
    Case("pram-of-one-category", "data.perturb",
         flags(csv_text([[*row[:5], MARK] for row in ROWS]), "--pram", "note=0.5")),
    Case("code-of-texts", "data.kind", flags(TABLE, "--top", "city=5")),
    Case("code-of-another-precision", "recipe.invalid", flags(TABLE, "--top", "born=1980-01")),
    Case("bottom-above-top", "recipe.invalid", flags(TABLE, "--top", "age=5", "--bottom", "age=9")),
    Case("two-ways-of-perturbing", "recipe.invalid", flags(TABLE, "--pram", "note=0.5", "--swap", "note=5")),
]  # fmt: skip

OUTPUTS = [
    Case("target-below-a-file", "output.unwritable", target("out.csv/x.csv", out_csv=EARLIER)),
    Case("target-folder-missing", "output.unwritable", target("nowhere/out.csv")),
    Case("target-is-a-folder", "output.unwritable", target("folder.csv", folder_csv=None)),
    Case("manifest-is-a-folder", "output.unwritable",
         target("old.csv", old_csv=EARLIER, old_csv_manifest_json=None)),
    Case("unknown-ending", "output.unwritable", target("out.xlsx")),
    Case("no-ending", "output.unwritable", target("out")),
    Case("name-too-long-for-the-manifest", "output.unwritable", target("o" * 240 + ".csv")),
    Case("name-too-long", "output.unwritable", target("o" * 300 + ".csv")),
    Case("target-with-a-zero", "output.unwritable", recipe_target("out\0.csv")),
    Case("another-file-there", "output.exists", target("old.csv", old_csv=EARLIER)),
    Case("another-report-there", "output.exists", target("old.csv", old_csv_report_html=EARLIER)),
    Case("target-is-the-input", "output.unwritable", target("../people.csv")),
    Case("no-output-named", "recipe.invalid", no_output),
]  # fmt: skip

AGAIN = [
    Case("ledger-is-no-ledger", "ledger.broken", beside("--ledger", "ledger", f"{MARK}\n")),
    Case("ledger-is-other-json", "ledger.broken", beside("--ledger", "ledger", f'{{"{MARK}": 1}}\n')),
    Case("ledger-is-half-written", "ledger.broken", beside("--ledger", "ledger", f'{{"{MARK}": ')),
    Case("ledger-is-a-folder", "output.unwritable", beside("--ledger", "ledger", None)),
    Case("ledger-is-the-input", "ledger.broken", beside("--ledger", "people.csv", TABLE)),
    Case("ledger-and-spark", "recipe.not_available", flags(TABLE, "--ledger", "l", "--engine", "spark")),
    Case("key-is-no-key", "key.unusable", beside("--sign", "key.pem", MARK)),
    Case("key-is-a-folder", "key.unusable", beside("--sign", "key.pem", None)),
    Case("key-is-not-there", "key.unusable", flags(TABLE, "--sign", "nobody.pem")),
]

CASES = [*AGAIN, *FILES, *OTHER_FILES, *DATABASES, *COLUMNS, *CELLS, *HIERARCHIES, *RECIPES, *GOALS, *OUTPUTS]
