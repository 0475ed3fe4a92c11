r"""The forms in which quasi values are published, implemented a second time from the contract.

Numbers and dates (days, months or years): the value, or ``[low, high]``. Ordinal: a value of the order,
or ``[a, b]``.
Categorical: the value, or a set ``{a, b}``. All: ``*`` for everything lost; empty for missing.

Inside brackets and braces each of ``, \ [ ] { }`` in a text is escaped with a backslash. A single
text that would look like a form (``*``, nothing, a leading backslash, ``[...]``, ``{...}``) is
prefixed with one backslash.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from decimal import Decimal, InvalidOperation
from functools import lru_cache

from shoal.verifier.cells.dates import Precision, published_number

_NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?", re.ASCII)
PRECISION_OF: dict[str, Precision] = {"date": "day", "month": "month", "year": "year"}  # by kind
_MEMBER = re.compile(r"(?:[^,\\\[\]{}]+|\\[,\\\[\]{}])*")
_SIGNS = re.compile(r"[\\\[\]{}]")
_KEPT_ENDS = 1 << 16  # that are not read again: many ranges share an end
_ESCAPED = re.compile(r"\\(.)", re.DOTALL)

Check = Callable[[str], bool]
Ends = tuple[Decimal | int, Decimal | int]


def form_of(kind: str, order: Sequence[str] = ()) -> Check:
    """Return the test for the published values of a kind; `order` is that of an ordinal column."""
    if kind == "ordinal":
        return lambda text: text == "*" or positions(text, order) is not None
    if kind == "categorical":
        return is_categorical
    return lambda text: text == "*" or ends(text, kind) is not None


def ends(text: str, kind: str) -> Ends | None:
    """Read ``value`` or ``[low, high]`` of a numeric or date column; None if it is neither.

    The kinds of dates are ``date`` for days, ``month`` and ``year``.

    Examples
    --------
    >>> ends("[1, 2.5]", "numeric"), ends("[2, 1]", "numeric")
    ((Decimal('1'), Decimal('2.5')), None)
    >>> ends("[1952-09, 1953-02]", "month"), ends("[1952-09, 1953-02]", "date")
    ((23432, 23437), None)
    """
    parts = text[1:-1].split(", ") if _is_wrapped(text, "[]") else [text, text]
    if len(parts) != 2:
        return None
    low, high = _end(parts[0], kind), _end(parts[1], kind)
    return None if low is None or high is None or low > high else (low, high)


@lru_cache(_KEPT_ENDS)
def _end(text: str, kind: str) -> Decimal | int | None:
    return number(text) if kind == "numeric" else published_number(text, PRECISION_OF[kind])


def number(text: str) -> Decimal | None:
    """Read a number exactly: two long decimals that round to one float may be in the wrong order."""
    if not _NUMBER.fullmatch(text):
        return None
    try:
        return Decimal(text)
    except InvalidOperation:  # an absurd exponent
        return None


def positions(text: str, order: Sequence[str]) -> tuple[int, int] | None:
    """Read a value of an order, or an ascending range, as positions in it; None if it is neither."""
    if _is_wrapped(text, "[]"):
        parts = members(text[1:-1])
    else:
        bare = text[1:] if text.startswith("\\") else text
        parts = [bare, bare] if looks_like_form(bare) == text.startswith("\\") else None
    if parts is None or len(parts) != 2 or not set(order).issuperset(parts):
        return None
    low, high = order.index(parts[0]), order.index(parts[1])
    return (low, high) if low <= high else None


def is_categorical(text: str) -> bool:
    r"""Accept a text, or a set of two or more different texts.

    Examples
    --------
    >>> [is_categorical(text) for text in ("a", "{a, b}", r"\[a]", "*")]
    [True, True, True, True]
    >>> [is_categorical(text) for text in ("{a", "[a]", "{a}", r"\a")]
    [True, False, False, False]
    """
    if text == "*":
        return True
    if text.startswith("\\"):
        return looks_like_form(text[1:])
    if _is_wrapped(text, "{}"):
        inside = members(text[1:-1])
        return inside is not None and len(inside) >= 2 and len(set(inside)) == len(inside)
    return not looks_like_form(text)


def looks_like_form(text: str) -> bool:
    """Return whether a raw text needs a leading backslash so as not to be taken for a form."""
    return text in ("", "*") or text.startswith("\\") or _is_wrapped(text, "[]") or _is_wrapped(text, "{}")


def _is_wrapped(text: str, pair: str) -> bool:
    return text.startswith(pair[0]) and text.endswith(pair[1])


def members(body: str) -> list[str] | None:
    r"""Split the inside of a range or set; None if it is malformed.

    Examples
    --------
    >>> members(r"a\, b, c"), members("a,b")
    (['a, b', 'c'], None)
    """
    parts = body.split(", ")
    if body.count(",") == len(parts) - 1 and not _SIGNS.search(body):  # most sets, and there may be very many
        return parts
    found = []
    at = 0
    while True:
        member = _MEMBER.match(body, at)
        assert member is not None  # the pattern also matches the empty string
        found.append(_ESCAPED.sub(r"\1", member.group()))
        at = member.end()
        if at == len(body):
            return found
        if not body.startswith(", ", at):
            return None
        at += 2
