"""How the values of a quasi column are generalized: the one place that chooses kind and hierarchy of a draft.

Numbers and dates need no hierarchy: they are published as ranges.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from shoal.hierarchy.suggest import suggest
from shoal.inspection.kinds import Found
from shoal.inspection.profile import Profile

_FEWEST_TO_INDUCE = 6  # values; sets of fewer are easily read


class Choice(NamedTuple):
    """What the recipe says about the values of a quasi column."""

    kind: str | None  # None where the data type decides
    hierarchy: str | dict[str, Any] | None
    note: str  # how values will be published


def choose(profile: Profile, found: Found, n_quasi: int) -> Choice:
    """Choose the kind and the hierarchy that a recipe states for one of so many quasi columns."""
    if found.kind == "ordinal":
        return Choice(None, None, "published as ranges in the order of its data type")
    if found.precision == "year":
        return Choice("numeric", None, "years are published as ranges")
    if found.precision == "month" and not found.is_iso:
        return Choice("categorical", None, "write months as YYYY-MM: then they are published as ranges")
    if found.precision == "day" and not found.is_iso:
        return Choice("categorical", None, "write days as YYYY-MM-DD: then they are published as ranges")
    if found.kind in ("numeric", "date"):
        return Choice(found.kind, None, "published as ranges")
    if found.kind == "categorical" and suggest("categorical", profile.texts.to_list()).builder == "prefix":
        return Choice("categorical", {"prefix": 1}, "their last characters are masked one by one")
    if n_quasi > 1 and len(profile.texts) >= _FEWEST_TO_INDUCE:
        return Choice(
            "categorical", "induce", "a tree is induced: values join whose rows look alike otherwise"
        )
    return Choice("categorical", None, "a class with several values is published as a set, such as {a, b}")
