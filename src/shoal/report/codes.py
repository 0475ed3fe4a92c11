"""The order of categories that are codes, months or top-coded numbers: by number, not by frequency."""

from __future__ import annotations

import re
from collections.abc import Sequence

# A number, perhaps below, above or from on: 7, 90+, >=90, < 5.
_NUMBER = re.compile(r"(?P<sign><=?|>=?|≤|≥)? ?(?P<first>\d+(?:\.\d+)?)(?P<more> ?\+)?")
_YEAR_MONTH = re.compile(r"(?P<first>\d{4})[-/.](?P<second>\d{1,2})")
_MONTH_YEAR = re.compile(r"(?P<second>\d{1,2})[-/.](?P<first>\d{4})")

Key = tuple[float, float]


def sort_keys(labels: Sequence[str]) -> list[Key] | None:
    """Return keys that put labels in order; None if they are not all of one form.

    >>> sort_keys(["10", "9", "90+"])
    [(10.0, 0.0), (9.0, 0.0), (90.0, 1.0)]
    >>> sort_keys(["09.1952", "10.1951"])
    [(1952.0, 9.0), (1951.0, 10.0)]
    >>> sort_keys(["9", "nine"]) is None
    True
    """
    for form in (_YEAR_MONTH, _MONTH_YEAR, _NUMBER):
        matches = [form.fullmatch(label) for label in labels]
        found = [match.groupdict() for match in matches if match is not None]
        if len(found) == len(labels):
            return [_key(parts) for parts in found]
    return None


def _key(parts: dict[str, str | None]) -> Key:
    second = parts.get("second")
    if second is not None:
        return float(parts["first"] or 0), float(second)
    sign = parts.get("sign") or ""
    if sign in ("<", "<=", "\N{LESS-THAN OR EQUAL TO}"):
        return float(parts["first"] or 0), -1.0
    return float(parts["first"] or 0), 1.0 if sign or parts.get("more") else 0.0
