"""What a hierarchy in a recipe means: a file, a rule, codes with a known structure, or one to be induced."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from shoal.recipe.codes import CODES, RULES

INDUCE = "induce"
Hierarchy = str | Mapping[str, Any] | None

_UNSAFE = re.compile(r'[%/\\:*?"<>|\x00-\x1f]')


def is_file(hierarchy: Hierarchy) -> bool:
    """Return whether a hierarchy is the name of a file."""
    return isinstance(hierarchy, str) and hierarchy != INDUCE and hierarchy not in CODES


def is_induced(hierarchy: Hierarchy) -> bool:
    """Return whether a hierarchy is induced from the table: ``"induce"``, or ``{ induce = [columns] }``."""
    if isinstance(hierarchy, Mapping):
        return list(hierarchy) == [INDUCE] and isinstance(hierarchy[INDUCE], list)
    return hierarchy == INDUCE


def rule_of(hierarchy: str | dict[str, Any] | None) -> str | dict[str, Any] | None:
    """Return the rule by which a hierarchy is built, for one that has a name."""
    return RULES.get(hierarchy, hierarchy) if isinstance(hierarchy, str) else hierarchy


def induced_file(release: Path, column: str) -> Path:
    """Return where the induced hierarchy of a column is written: next to the release.

    >>> induced_file(Path("out.csv"), "a/b").name
    'out.csv.a%2Fb.hierarchy.toml'
    """
    name = _UNSAFE.sub(lambda found: f"%{ord(found[0]):02X}", column)
    return release.with_name(f"{release.name}.{name}.hierarchy.toml")
