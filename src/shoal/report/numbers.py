"""Number formatting. Losses have three digits: all digits would be a fingerprint of the raw table."""

from __future__ import annotations

from math import floor, log10

_SPACE = "\N{NO-BREAK SPACE}"


def rounded(value: float) -> float:
    """Round to three significant digits.

    >>> rounded(20934.2), rounded(0.087361), rounded(0)
    (20900.0, 0.0874, 0)
    """
    return round(value, 2 - floor(log10(abs(value)))) if value else value


def whole(value: int) -> str:
    """Format a count.

    >>> whole(30162)
    '30,162'
    """
    return f"{value:,}"


def significant(value: float | None) -> str:
    """Format a number with three significant digits.

    >>> significant(20934.2), significant(0.087361), significant(1.0), significant(None)
    ('20,900', '0.0874', '1', 'not defined')
    """
    if value is None:
        return "not defined"
    digits = max(0, 2 - floor(log10(abs(value)))) if value else 0
    text = f"{rounded(value):,.{min(digits, 12)}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def percent(share: float | None) -> str:
    """Format a fraction as a percentage with three significant digits.

    >>> percent(0.63724).replace(chr(160), " "), percent(0.0).replace(chr(160), " ")
    ('63.7 %', '0 %')
    """
    return "not defined" if share is None else f"{significant(100 * share)}{_SPACE}%"


def tenths(part: float, total: float) -> float:
    """Return a part as a percentage of the total, rounded to tenths."""
    return round(100 * part / total, 1)
