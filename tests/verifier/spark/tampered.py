"""A release in a folder, and ways to tamper with it."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

from shoal.recipe import Recipe
from tests.verifier.spark.folders import Row, write_manifest, write_part, write_parts

NAMES = ("age", "town", "ill")
# Three classes of three rows and one of four, over four parts. Each class has two values or more.
PARTS: list[list[Row]] = [
    [("[20, 29]", "a", "flu"), ("[20, 29]", "a", "cold"), ("[30, 35]", "{a, b}", "flu")],
    [("[20, 29]", "a", "flu"), ("[30, 35]", "{a, b}", "cold"), ("41", "b", "asthma")],
    [("[30, 35]", "{a, b}", "flu"), ("41", "b", "flu"), ("41", "b", "asthma")],
    [("*", "c", "flu"), ("*", "c", "cold"), ("*", "c", "cold"), ("*", "c", "asthma")],
]
OTHER: list[Row] = [("[20, 29]", "a", "cold"), ("[30, 35]", "{a, b}", "cold"), ("41", "b", "cold")]
RECIPE = Recipe.from_roles(
    quasi=["age", "town"],
    sensitive=["ill"],
    k=3,
    changes={
        "columns": {"age": {"kind": "numeric"}, "town": {"kind": "categorical"}},
        "privacy": {"goal": [{"type": "l-diversity", "column": "ill", "l": 2}]},
    },
)
GOALS = [
    {"type": "k-anonymity", "column": None, "asked": 3, "achieved": 3, "holds": True},
    {"type": "l-diversity", "column": "ill", "variant": "distinct", "asked": 2, "achieved": 2, "holds": True},
]


def release(folder: Path) -> Path:
    """Write the release with its manifest."""
    write_parts(folder, NAMES, PARTS)
    write_manifest(folder, 13, 4, suppressed=0, goals=GOALS, loss={"dm": 43, "c_avg": 13 / 12})
    return folder


def part(folder: Path, at: int) -> Path:
    return folder / f"part-{at:05d}{folder.suffix}"


def rewrite(folder: Path, change: Callable[[list[list[Row]]], None], names: tuple[str, ...] = NAMES) -> None:
    """Write all parts again, with other rows."""
    parts = [list(rows) for rows in PARTS]
    change(parts)
    for at, rows in enumerate(parts):
        write_part(part(folder, at), names, rows)


def drop_a_file(folder: Path) -> None:
    part(folder, 1).unlink()


def drop_the_last_file(folder: Path) -> None:
    part(folder, 3).unlink()


def duplicate_a_file(folder: Path) -> None:
    shutil.copy(part(folder, 1), part(folder, 4))


def swap_a_file(folder: Path) -> None:
    write_part(part(folder, 1), NAMES, OTHER)


def rename_a_file(folder: Path) -> None:
    part(folder, 3).rename(part(folder, 7))


def truncate_a_file(folder: Path) -> None:
    content = part(folder, 3).read_bytes()
    part(folder, 3).write_bytes(content[: len(content) - 9])


def remove_a_row(folder: Path) -> None:
    rewrite(folder, lambda parts: parts[0].pop(0))


def duplicate_a_row(folder: Path) -> None:
    rewrite(folder, lambda parts: parts[0].append(parts[0][0]))


def change_a_bound(folder: Path) -> None:
    def change(parts: list[list[Row]]) -> None:
        for rows in parts:
            rows[:] = [("[20, 28]" if row[0] == "[20, 29]" else row[0], *row[1:]) for row in rows]

    rewrite(folder, change)


def change_a_bound_of_one_row(folder: Path) -> None:
    rewrite(folder, lambda parts: parts[0].__setitem__(0, ("[20, 28]", "a", "flu")))


def reverse_bounds(folder: Path) -> None:
    def change(parts: list[list[Row]]) -> None:
        for rows in parts:
            rows[:] = [("[29, 20]" if row[0] == "[20, 29]" else row[0], *row[1:]) for row in rows]

    rewrite(folder, change)


def change_a_sensitive_value(folder: Path) -> None:
    rewrite(folder, lambda parts: parts[3].__setitem__(0, ("*", "c", "asthma")))


def make_a_class_alike(folder: Path) -> None:
    rewrite(folder, lambda parts: parts[0].__setitem__(1, ("[20, 29]", "a", "flu")))


def change_a_header(folder: Path) -> None:
    write_part(part(folder, 1), ("age", "city", "ill"), PARTS[1])


def change_all_headers(folder: Path) -> None:
    rewrite(folder, lambda parts: None, ("age", "town", "name"))


def add_a_column(folder: Path) -> None:
    def change(parts: list[list[Row]]) -> None:
        for rows in parts:
            rows[:] = [(*row, str(at)) for at, row in enumerate(rows)]

    rewrite(folder, change, (*NAMES, "number"))


def reorder_files(folder: Path) -> None:
    first, second = part(folder, 0).read_bytes(), part(folder, 1).read_bytes()
    part(folder, 0).write_bytes(second)
    part(folder, 1).write_bytes(first)


def add_a_foreign_file(folder: Path) -> None:
    (folder / "_raw.csv").write_text("name\nAnn\n", encoding="utf-8")


# What each is found by without the manifest; with it the digests are always found to differ, but for a
# foreign file, which is no part.
CASES: dict[Callable[[Path], None], set[str]] = {
    drop_a_file: {"verify.parts", "verify.k", "verify.l"},
    drop_the_last_file: set(),
    duplicate_a_file: set(),
    swap_a_file: set(),
    rename_a_file: {"verify.parts"},
    truncate_a_file: {"verify.unreadable"},  # Parquet; a text file may end anywhere, but see below
    remove_a_row: {"verify.k"},
    duplicate_a_row: set(),
    change_a_bound: set(),
    change_a_bound_of_one_row: {"verify.k", "verify.l"},
    reverse_bounds: {"verify.form"},
    change_a_sensitive_value: set(),
    make_a_class_alike: {"verify.l"},
    change_a_header: {"verify.parts"},
    change_all_headers: {"verify.missing_column", "verify.forbidden_column"},
    add_a_column: {"verify.forbidden_column"},
    reorder_files: set(),
    add_a_foreign_file: {"verify.parts"},
}
BY_MANIFEST = {"verify.digest", "verify.manifest"}


def found_without_manifest(change: Callable[[Path], None], ending: str) -> set[str]:
    if change is truncate_a_file and ending == ".csv":
        return {"verify.ragged"}
    return CASES[change]
