"""How ARX, sdcMicro, anjana and R spell generalized values.

Spelling only: the ends of an interval remain texts, and the column decides what they mean (`lines`,
`nodes`). docs/measure.md lists which tool writes what.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

SUPPRESSED, MISSING = "suppressed cell", "missing mark"
MASKED, SET, UNESCAPED = "masked ending", "set of values", "value without escape"
PERIOD = "calendar period"
BLANKS = ("NA", "<NA>")  # R's own texts for a missing value

_BRACKETS = re.compile(r"(?P<open>[\[\](])(?P<low>[^,]+),(?P<high>[^,]+)(?P<close>[\[\])])")
_SIGN = re.compile(r"(?P<sign>[<>]=?)(?P<end>.+)")
_DASH = re.compile(r"(?P<low>[+-]?[0-9.]+) ?- ?(?P<high>[+-]?[0-9.]+)")
_STARS = re.compile(r"(?P<kept>[^*]*)(?P<stars>\*+)")


@dataclass(frozen=True)
class Interval:
    """What is between two texts; None is the end of the raw table.

    Parameters
    ----------
    low, high : str or None
        The ends as written.
    has_low, has_high : bool
        Whether the interval includes its ends.
    """

    style: str
    low: str | None
    high: str | None
    has_low: bool = True
    has_high: bool = True


@dataclass(frozen=True)
class Mask:
    """All values of `length` characters that begin with `kept`."""

    kept: str
    length: int


def interval(text: str) -> Interval | None:
    """Read an interval in brackets, a threshold, or two numbers with a dash between them.

    >>> interval("[15, 55["), interval("<18")
    (Interval(style='half-open interval', low='15', high='55', has_low=True, has_high=False), \
Interval(style='threshold', low=None, high='18', has_low=True, has_high=False))
    """
    return next(_spellings(text), None)


def _spellings(text: str) -> Iterator[Interval]:
    if found := _BRACKETS.fullmatch(text):
        has_low, has_high = found["open"] == "[", found["close"] == "]"
        style = ("open interval", "half-open interval", "closed interval")[has_low + has_high]
        yield Interval(style, found["low"].strip(), found["high"].strip(), has_low, has_high)
    if found := _SIGN.fullmatch(text):
        end, included = found["end"].strip(), found["sign"].endswith("=")
        if found["sign"].startswith("<"):
            yield Interval("threshold", None, end, has_high=included)
        else:
            yield Interval("threshold", end, None, has_low=included)
    if found := _DASH.fullmatch(text):
        yield Interval("dash range", found["low"], found["high"])


def mask(text: str) -> Mask | None:
    """Read a text that ends in stars.

    >>> mask("148**"), mask("14*8")
    (Mask(kept='148', length=5), None)
    """
    found = _STARS.fullmatch(text)
    return Mask(found["kept"], len(text)) if found else None
