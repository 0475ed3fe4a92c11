"""Tampered releases, and what `shoal verify` finds in them; writes the table of docs/verify.md.

python -m tests.verifier.tampering
"""

from __future__ import annotations

import csv
import hashlib
import json
import shutil
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import polars as pl

import shoal
from shoal.recipe import Recipe

PAGE = Path(__file__).parents[2] / "docs" / "verify.md"
TABLE = "| release | changed | flags | recipe | manifest | forged digest | original |\n" + "|---" * 7 + "|\n"
TREE = "nurse;care;work\ncarer;care;work\nclerk;office;work\nboss;office;work\n"

Rows = list[dict[str, str]]


def people() -> pl.DataFrame:
    """Make up 48 people: the young have other diseases than the old, and every profession has both."""
    jobs, areas = ("nurse", "carer", "clerk", "boss"), ("10115", "10117", "80331", "80333")
    rows = []
    for number in range(48):
        old = number >= 24
        rows.append(
            {
                "name": f"p{number}",
                "age": 20 + number + (10 if old else 0),
                "born": f"{1990 - number}-0{1 + number % 9}-15",
                "zip": areas[number // 12],
                "job": jobs[number % 4],
                "sex": "fm"[number % 2],
                "ill": ("gout", "stroke", "cataract")[number % 3]
                if old
                else ("acne", "flu", "cold")[number % 3],
                "ward": f"w{number // 6}",
            }
        )
    return pl.DataFrame(rows)


COLUMNS: dict[str, dict[str, Any]] = {
    "name": {"role": "identifier"},
    "age": {"role": "quasi", "kind": "numeric", "grid": 5.0},
    "born": {"role": "quasi", "kind": "date", "grid": 365.0},
    "zip": {"role": "quasi", "hierarchy": {"prefix": 1}},
    "job": {"role": "quasi", "hierarchy": "jobs.csv"},
    "sex": {"role": "quasi"},
    "ill": {"role": "sensitive"},
    "ward": {"role": "keep", "accept": {"recoverable": "everybody knows where the wards are"}},
}


@dataclass(frozen=True)
class Kind:
    """A kind of release: what its recipe says besides the columns, and its files."""

    title: str
    sections: dict[str, Any]
    ending: str = "csv"
    parts: tuple[str, ...] = ("",)
    without: tuple[str, ...] = ()

    def recipe(self, folder: Path) -> Recipe:
        columns = {name: column for name, column in COLUMNS.items() if name not in self.without}
        dropped = {name: {"role": "drop"} for name in self.without}
        privacy = {"k": 4, **self.sections.get("privacy", {})}
        given = {"input": {"path": "raw.csv"}, "columns": {**columns, **dropped}, "privacy": privacy}
        more = {key: section for key, section in self.sections.items() if key != "privacy"}
        return Recipe.from_dict({**given, **more}, base=folder)

    def flags(self, folder: Path) -> Recipe:
        """Say no more than flags can."""
        full = self.recipe(folder).to_dict()
        roles = {name: {"role": column["role"]} for name, column in full["columns"].items()}
        kept = {key: full[key] for key in ("privacy", "method", "output") if key in full}
        kept["privacy"] = {"k": 4}
        return Recipe.from_dict({"columns": roles, **kept})

    def file(self, folder: Path, part: str) -> Path:
        return folder / f"out{part}.{self.ending}"


METHOD = {"method": {"name": "mondrian"}}
CLASSES = Kind("classes", METHOD)
PARQUET = Kind("classes (Parquet)", METHOD, "parquet")
SNAPPED = Kind("snapped bounds", {**METHOD, "output": {"bounds": "snapped"}})
BOUNDS = Kind("bounds as columns", {**METHOD, "output": {"bounds_as": "columns"}})
BOUNDS_PARQUET = Kind("bounds as columns (Parquet)", BOUNDS.sections, "parquet")
TYPICAL = Kind("typical values", {**METHOD, "output": {"values": "microaggregate"}}, without=("job", "zip"))
VIEWS = Kind(
    "views",
    {**METHOD, "output": {"views": [["age", "sex"], ["zip", "job"]]}},
    parts=(".1", ".2"),
    without=("born",),
)
ANATOMY = Kind(
    "Anatomy", {"method": {"name": "anatomy", "options": {"l": 3}}}, parts=(".quasi", ".sensitive")
)
NH = Kind("NH", {"method": {"name": "nh"}}, without=("ward",))
NH_PARQUET = Kind("NH (Parquet)", NH.sections, "parquet", without=("ward",))
KINDS = (CLASSES, PARQUET, SNAPPED, BOUNDS, BOUNDS_PARQUET, TYPICAL, VIEWS, ANATOMY, NH, NH_PARQUET)


@dataclass(frozen=True)
class Tampering:
    """One change: of the rows of one file, or of the manifest."""

    kind: Kind
    title: str
    rows: Callable[[Rows], None] | None = None
    part: str = ""
    manifest: Callable[[dict[str, Any]], None] | None = None


def set_cells(column: str, value: str) -> Callable[[Rows], None]:
    """Give a column another value in the rows of the first class."""

    def change(rows: Rows) -> None:
        for row in _first_class(rows):
            row[column] = value

    return change


def _first_class(rows: Rows) -> Rows:
    """Return the rows that are published like the first."""
    shown = [name for name in rows[0] if name.removesuffix("_low").removesuffix("_high") in QUASI]
    return [row for row in rows if all(row[name] == rows[0][name] for name in shown)]


QUASI = [name for name, column in COLUMNS.items() if column["role"] == "quasi"]


def _last_class(rows: Rows) -> Rows:
    return _first_class(rows[::-1])


def swap_labels(*names: str) -> Callable[[Rows], None]:
    """Exchange the labels of the first and the last class, in some or all quasi columns."""

    def change(rows: Rows) -> None:
        one, other = _first_class(rows), _last_class(rows)
        labels = [name for name in rows[0] if name.removesuffix("_low").removesuffix("_high") in QUASI]
        for name in names or labels:
            first, second = one[0][name], other[0][name]
            for row in one:
                row[name] = second
            for row in other:
                row[name] = first

    return change


def swap_values(column: str) -> Callable[[Rows], None]:
    """Exchange one value of the first row with one of the last."""

    def change(rows: Rows) -> None:
        rows[0][column], rows[-1][column] = rows[-1][column], rows[0][column]

    return change


def swap_groups(rows: Rows) -> None:
    """Put the youngest into the group of the oldest who is in another one, and the other way round."""
    other = next(row for row in reversed(rows) if row["group"] != rows[0]["group"])
    rows[0]["group"], other["group"] = other["group"], rows[0]["group"]


def reverse(column: str) -> Callable[[Rows], None]:
    def change(rows: Rows) -> None:
        for row, value in zip(rows, [row[column] for row in rows][::-1], strict=True):
            row[column] = value

    return change


def rotate(column: str) -> Callable[[Rows], None]:
    def change(rows: Rows) -> None:
        values = [row[column] for row in rows]
        half = len(values) // 2
        for row, value in zip(rows, values[half:] + values[:half], strict=True):
            row[column] = value

    return change


def add_column(rows: Rows) -> None:
    for number, row in enumerate(rows):
        row["ssn"] = str(1000 + number)


def add_row(rows: Rows) -> None:
    rows.append(dict(rows[0]))


def drop_row(rows: Rows) -> None:
    """Take a row of the largest class, so that every class still has k."""
    largest = max(([*_first_class(rows[at:])] for at in range(len(rows))), key=len)
    rows.remove(largest[0])


def narrow(rows: Rows) -> None:
    """Publish a smaller range than the class has."""
    for row in _first_class(rows):
        low = row["age"].strip("[]").split(", ")[0]
        row["age"] = low


def shift(column: str, by: float) -> Callable[[Rows], None]:
    def change(rows: Rows) -> None:
        for row in _first_class(rows):
            row[column] = f"{float(row[column]) + by:g}"

    return change


def number(*keys: str, value: object) -> Callable[[dict[str, Any]], None]:
    """Give a number of the manifest another value."""

    def change(manifest: dict[str, Any]) -> None:
        for key in keys[:-1]:
            manifest = manifest[key]
        manifest[keys[-1]] = value

    return change


def achieved(manifest: dict[str, Any]) -> None:
    manifest["goals"][0]["achieved"] = 9


CASES = [
    Tampering(CLASSES, "a column that identifies people added", add_column),
    Tampering(CLASSES, "a range that nobody is in", set_cells("age", "[1000, 2000]")),
    Tampering(CLASSES, "a range narrower than its class", narrow),
    Tampering(CLASSES, "a range with low above high", set_cells("age", "[30, 20]")),
    Tampering(CLASSES, "a text in a column of numbers", set_cells("age", "young")),
    Tampering(CLASSES, "a node that is in no hierarchy", set_cells("job", "farmer")),
    Tampering(CLASSES, "a node that covers others", set_cells("job", "office")),
    Tampering(CLASSES, "a prefix that nobody has", set_cells("zip", "99***")),
    Tampering(CLASSES, "a value that nobody has", set_cells("sex", "x")),
    Tampering(CLASSES, "the labels of two classes swapped", swap_labels()),
    Tampering(CLASSES, "one label of two classes swapped", swap_labels("zip")),
    Tampering(CLASSES, "sensitive values swapped across classes", swap_values("ill")),
    Tampering(CLASSES, "kept values swapped across classes", swap_values("ward")),
    Tampering(CLASSES, "sensitive values reversed", reverse("ill")),
    Tampering(CLASSES, "a sensitive value changed", set_cells("ill", "plague")),
    Tampering(CLASSES, "a row added", add_row),
    Tampering(CLASSES, "a row left out", drop_row),
    Tampering(PARQUET, "a range that nobody is in", set_cells("age", "[1000, 2000]")),
    Tampering(PARQUET, "the labels of two classes swapped", swap_labels()),
    Tampering(PARQUET, "sensitive values swapped across classes", swap_values("ill")),
    Tampering(PARQUET, "a column that identifies people added", add_column),
    Tampering(SNAPPED, "ends off the grid", set_cells("age", "[21, 47]")),
    Tampering(SNAPPED, "somebody's exact value", set_cells("age", "20")),
    Tampering(SNAPPED, "the labels of two classes swapped", swap_labels()),
    Tampering(BOUNDS, "low above high", set_cells("age_low", "99")),
    Tampering(BOUNDS, "one end missing", set_cells("age_high", "")),
    Tampering(BOUNDS, "a range that nobody is in", set_cells("age_high", "21")),
    Tampering(BOUNDS, "sensitive values reversed", reverse("ill")),
    Tampering(BOUNDS_PARQUET, "low above high", set_cells("age_low", "99")),
    Tampering(BOUNDS_PARQUET, "the labels of two classes swapped", swap_labels()),
    Tampering(TYPICAL, "a mean beyond all raw values", shift("age", 500)),
    Tampering(TYPICAL, "a mean shifted", shift("age", 9)),
    Tampering(TYPICAL, "a mode that nobody has", set_cells("sex", "x")),
    Tampering(TYPICAL, "a range instead of a value", set_cells("age", "[20, 30]")),
    Tampering(TYPICAL, "sensitive values reversed", reverse("ill")),
    Tampering(TYPICAL, "a sensitive value changed", set_cells("ill", "plague")),
    Tampering(VIEWS, "the labels of two classes swapped in one view", swap_labels("zip", "job"), ".2"),
    Tampering(VIEWS, "sensitive values reversed in one view", reverse("ill"), ".1"),
    Tampering(VIEWS, "a column that identifies people added to one view", add_column, ".2"),
    Tampering(VIEWS, "a range that nobody is in", set_cells("age", "[1000, 2000]"), ".1"),
    Tampering(ANATOMY, "groups swapped", swap_groups, ".quasi"),
    Tampering(ANATOMY, "groups rotated", rotate("group"), ".quasi"),
    Tampering(ANATOMY, "values swapped between groups", swap_values("ill"), ".sensitive"),
    Tampering(ANATOMY, "a quasi value changed", set_cells("age", "99"), ".quasi"),
    Tampering(NH, "sensitive values rotated", rotate("ill")),
    Tampering(NH, "a box that nobody is in", set_cells("age", "[1000, 2000]")),
    Tampering(NH, "boxes reversed", reverse("age")),
    Tampering(NH_PARQUET, "sensitive values rotated", rotate("ill")),
    Tampering(CLASSES, "another number of rows claimed", manifest=number("release", "rows", value=47)),
    Tampering(CLASSES, "another number of classes claimed", manifest=number("release", "classes", value=3)),
    Tampering(CLASSES, "a larger k claimed", manifest=achieved),
    Tampering(CLASSES, "suppressed rows claimed", manifest=number("suppressed", value=5)),
    Tampering(CLASSES, "a lower GCP claimed", manifest=number("loss", "gcp", value=0.01)),
    Tampering(CLASSES, "a lower Total IL claimed", manifest=number("loss", "il", value=1.0)),
    Tampering(CLASSES, "a lower DM claimed", manifest=number("loss", "dm", value=4)),
    Tampering(ANATOMY, "another number of groups claimed", manifest=number("release", "classes", value=3)),
    Tampering(VIEWS, "another number of classes claimed", manifest=number("release", "classes", value=3)),
]


def release_all(folder: Path, kinds: Collection[Kind] = KINDS) -> dict[str, Path]:
    """Write a sound release of every kind, or of some, each into a folder of its own with the raw table."""
    folders = {}
    for place, kind in enumerate(kinds):
        there = folder / str(place)
        there.mkdir()
        people().write_csv(there / "raw.csv")
        (there / "jobs.csv").write_text(TREE, encoding="utf-8")
        release = shoal.anonymize(kind.recipe(there), accept_composition=True, bound=False)
        release.write(there / f"out.{kind.ending}")
        folders[kind.title] = there
    return folders


def tamper(case: Tampering, sound: Path, folder: Path) -> None:
    """Copy a sound release and change it; a changed file keeps its types where it has any."""
    shutil.copytree(sound, folder)
    if case.rows is not None:
        file = case.kind.file(folder, case.part)
        rows = _read(file)
        case.rows(rows)
        _write(file, rows)
    if case.manifest is not None:
        beside = _manifest(case.kind, folder)
        manifest = json.loads(beside.read_text(encoding="utf-8"))
        case.manifest(manifest)
        beside.write_text(json.dumps(manifest), encoding="utf-8")


def _manifest(kind: Kind, folder: Path) -> Path:
    return folder / f"out.{kind.ending}.manifest.json"


def _read(file: Path) -> Rows:
    if file.suffix == ".parquet":
        frame = pl.read_parquet(file).with_columns(pl.all().cast(pl.String).fill_null(""))
        return [dict(row) for row in frame.rows(named=True)]
    with file.open(encoding="utf-8", newline="") as lines:
        return list(csv.DictReader(lines))


def _write(file: Path, rows: Rows) -> None:
    if file.suffix == ".parquet":
        texts = pl.DataFrame(rows)
        bounds = [name for name in texts.columns if name.startswith("age_")]
        texts.with_columns(pl.col(bounds).cast(pl.Int64)).write_parquet(file)
        return
    with file.open("w", encoding="utf-8", newline="") as lines:
        writer = csv.DictWriter(lines, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def verdicts(case: Tampering, folder: Path) -> Iterator[bool]:
    """Say for each way of verifying whether the release holds."""
    kind, out = case.kind, folder / f"out.{case.kind.ending}"
    recipe, flags = kind.recipe(folder), kind.flags(folder)
    yield shoal.verify(out, flags, manifest=False).holds
    yield shoal.verify(out, recipe, manifest=False).holds
    yield shoal.verify(out, recipe).holds
    beside = _manifest(kind, folder)
    manifest = json.loads(beside.read_text(encoding="utf-8"))
    digests = {part: hashlib.sha256(kind.file(folder, part).read_bytes()).hexdigest() for part in kind.parts}
    _forge(manifest, digests)
    beside.write_text(json.dumps(manifest), encoding="utf-8")
    yield shoal.verify(out, recipe).holds
    about_manifest = case.manifest is not None
    yield shoal.verify(out, recipe, original=folder / "raw.csv", manifest=about_manifest).holds


def _forge(manifest: dict[str, Any], digests: dict[str, str]) -> None:
    """Make the digests of a manifest those of the files as they are."""
    release = manifest["release"]
    if "files" in release:
        for title, digest in zip(release["files"], digests.values(), strict=True):
            release["files"][title] = digest
        for view, digest in zip(manifest.get("views", []), digests.values(), strict=False):
            view["sha256"] = digest
    else:
        release["sha256"] = digests[""]


def table(found: dict[int, list[bool]]) -> str:
    """Write the table of docs/verify.md from what was found."""
    lines = TABLE
    for at, verdicts_of_case in found.items():
        marks = " | ".join("" if holds else "found" for holds in verdicts_of_case)
        lines += f"| {CASES[at].kind.title} | {CASES[at].title} | {marks} |\n"
    return lines


def run(folder: Path, places: Collection[int] = range(len(CASES))) -> dict[int, list[bool]]:
    """Tamper with everything, or with the cases at some places, and verify it in all ways."""
    sound = release_all(
        folder, [kind for kind in KINDS if any(CASES[place].kind is kind for place in places)]
    )
    found = {}
    for place in places:
        case = CASES[place]
        there = folder / f"case{place}"
        tamper(case, sound[case.kind.title], there)
        found[place] = list(verdicts(case, there))
    return found


if __name__ == "__main__":
    with TemporaryDirectory() as temporary:
        prose = PAGE.read_text(encoding="utf-8").split(TABLE)[0]
        PAGE.write_text(prose + table(run(Path(temporary))), encoding="utf-8")
