"""Hierarchies of codes that carry their own structure: postcodes, ICD-10, NUTS, ISCO-08, ages."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from shoal.errors import HierarchyError
from shoal.hierarchy import build
from shoal.hierarchy.tree import ROOT_LABEL, Tree

_POSTCODE = re.compile(r"(?=.*[0-9])[A-Z0-9][A-Z0-9 -]{1,8}[A-Z0-9]", re.IGNORECASE)
_ICD10 = re.compile(r"[A-Z][0-9][0-9A-Z](\.?[0-9A-Z]{1,4})?", re.IGNORECASE)
_NUTS = re.compile(r"[A-Z]{2}[0-9A-Z]{0,3}", re.IGNORECASE)
_ISCO = re.compile(r"[0-9]|[0-9][1-9]|[0-9][1-9][1-9][0-9]?")

Path = list[str]


def fits_postcode(values: Sequence[str]) -> list[bool]:
    """Mark what may be a postcode; digits alone are all as long as most, or zeros were lost in front."""
    digits = [len(value) for value in values if value.isdecimal()]
    usual = max(digits, key=lambda length: (digits.count(length), length), default=0)
    return [
        bool(_POSTCODE.fullmatch(value)) and (not value.isdecimal() or len(value) == usual)
        for value in values
    ]


def icd10_path(code: str, chapters: Mapping[str, Sequence[str]]) -> Path | None:
    """Return the groups above a code: its category if it is a subcode, block and chapter."""
    if not _ICD10.fullmatch(code):
        return None
    category = code[:3].upper()
    chapter = next((each for each in chapters if _inside(category, each)), None)
    if chapter is None:
        return None
    block = next((each for each in chapters[chapter] if _inside(category, each)), None)
    above = [f"{category}.-"] if len(code) > len(category) else []
    return [*above, *([] if block is None else [block]), chapter]


def _inside(category: str, block: str) -> bool:
    first, last = block.split("-")
    return first <= category <= last


def nuts_path(code: str) -> Path | None:
    """Return the regions above a code, up to its country."""
    if not _NUTS.fullmatch(code):
        return None
    return [_masked(code.upper()[:kept], 5) for kept in range(len(code) - 1, 1, -1)]


def isco_path(code: str, major: Mapping[str, str], sub_major: Mapping[str, int]) -> Path | None:
    """Return the groups above a code, up to its major group with its name."""
    if not _ISCO.fullmatch(code) or (len(code) > 1 and int(code[1]) > sub_major[code[0]]):
        return None
    masked = [_masked(code[:kept], 4) for kept in range(len(code) - 1, 1, -1)]
    return [*masked, *([major[code[0]]] if len(code) > 1 else [])]


def _masked(start: str, length: int) -> str:
    return start.ljust(length, "*")


def ages(values: Sequence[Any], widths: Sequence[int], oldest: int, column: str) -> Tree:
    """Build the tree of ages: bands of years."""
    _refuse_misfits(sum(not 0 <= value <= oldest for value in values), len(values), "ages", column)
    return build.intervals(values, widths, column)


def postcodes(values: Sequence[str], step: int, column: str) -> Tree:
    """Build the tree of postcodes, by their first characters."""
    _refuse_misfits(fits_postcode(values).count(False), len(values), "postcodes", column)
    return build.prefix(values, step, column)


def by_path(values: Sequence[str], path: Callable[[str], Path | None], what: str, column: str) -> Tree:
    """Build the tree of codes, given the groups above each; the root is above all of them."""
    leaves = sorted(set(values))
    found = {leaf: path(leaf) for leaf in leaves}
    _refuse_misfits(sum(groups is None for groups in found.values()), len(leaves), what, column)
    if not leaves:
        return build.flat((), column)
    return Tree.from_paths([(leaf, *(groups or ()), ROOT_LABEL) for leaf, groups in found.items()], column)


def _refuse_misfits(n_misfits: int, n_values: int, what: str, column: str) -> None:
    if n_misfits:
        raise HierarchyError(
            "hierarchy.build",
            f"The hierarchy of column `{column}` cannot be built: {n_misfits} of {n_values} distinct values "
            f"are not {what}.",
            "correct them, list marks such as NA in [input] missing, or use another hierarchy; "
            + _HINTS[what],
        )


_HINTS = {
    "postcodes": "postcodes have 3 to 10 letters and digits; those of digits alone are equally long: zeros "
    "in front must not be lost",
    "ICD-10 codes": "for example I21 or I21.0",
    "NUTS codes": "for example DE212: two letters for the country and up to three characters",
    "ISCO-08 codes": "for example 2212: one to four digits; codes that begin with 0 must be read as text",
    "ages": "ages are numbers of years from 0 to 130",
}
