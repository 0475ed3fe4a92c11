"""The groups above codes that carry their own structure, derived from the contract.

ICD-10: the category of a subcode (``I21.-``), its block and its chapter. NUTS: the regions above, down to two
letters, filled up with ``*``. ISCO-08: the groups above, filled up with ``*``, and the major group by name.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable

from shoal.recipe.codes import ICD10, ISCO, ISCO_SUB_MAJOR

_CHAPTERS = sorted((chapter.split("-"), chapter) for chapter in ICD10)
_BLOCKS = sorted((block.split("-"), block) for blocks in ICD10.values() for block in blocks)
_NODES = {*ICD10, *(block for blocks in ICD10.values() for block in blocks)}


def _around(category: str, ranges: list[tuple[list[str], str]]) -> str | None:
    """Find the range that contains a category; ranges do not overlap."""
    at = bisect_right([first for (first, _), _ in ranges], category) - 1
    return ranges[at][1] if at >= 0 and category <= ranges[at][0][1] else None


def _icd10(code: str) -> list[str] | None:
    category, rest = code[:3].upper(), code[3:].removeprefix(".")
    is_code = len(category) == 3 and category.isalnum() and category.isascii() and category[1].isdigit()
    is_code = is_code and category[0].isalpha() and len(rest) <= 4 and (rest.isalnum() or code[3:] == "")
    chapter = _around(category, _CHAPTERS)
    if not is_code or not rest.isascii() or chapter is None:
        return None
    found = [f"{category}.-" if rest else None, _around(category, _BLOCKS), chapter]
    return [group for group in found if group is not None]


def _nuts(code: str) -> list[str] | None:
    country, rest = code[:2].upper(), code[2:].upper()
    if not (len(country) == 2 and country.isalpha() and code.isascii() and len(rest) <= 3):
        return None
    if rest and not rest.isalnum():
        return None
    return [f"{country}{rest[:kept]}{'*' * (3 - kept)}" for kept in reversed(range(len(rest)))]


def _isco(code: str) -> list[str] | None:
    if not (code.isascii() and code.isdigit() and 1 <= len(code) <= 4):
        return None
    if len(code) > 1 and not 1 <= int(code[1]) <= ISCO_SUB_MAJOR[code[0]]:
        return None
    if len(code) > 2 and code[2] == "0":
        return None
    groups = [f"{code[:3]}*"] * (len(code) > 3) + [f"{code[:2]}**"] * (len(code) > 2)
    return groups + [ISCO[code[0]]] * (len(code) > 1)


CODE_PATHS: dict[str, Callable[[str], list[str] | None]] = {"icd10": _icd10, "nuts": _nuts, "isco": _isco}


def is_code_node(system: str, text: str) -> bool:
    """Return whether a cell is a code, or a group of codes."""
    if CODE_PATHS[system](text) is not None:
        return True
    if system == "icd10":
        return text in _NODES or (text.endswith(".-") and _icd10(text[:-2]) is not None and len(text) == 5)
    if system == "nuts":
        return len(text) == 5 and text.endswith("*") and _nuts(text.rstrip("*")) is not None
    start = text.rstrip("*")
    return text in ISCO.values() or (len(text) == 4 and 2 <= len(start) < 4 and _isco(start) is not None)
