r"""The forms in which quasi values are published, written down a second time from the contract.

Numbers and dates: the value, or ``[low, high]``. Ordinal: a value of the order, or ``[a, b]``.
Categorical: the value, or a set ``{a, b}``. All: ``*`` for everything lost; empty for missing.

Inside brackets and braces a backslash stands before each of ``, \ [ ] { }`` of a text. A text
alone that would look like a form (``*``, nothing, a backslash in front, ``[...]``, ``{...}``)
has one backslash in front of it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from datetime import date
from decimal import Decimal, InvalidOperation

from shoal.recipe import Column, Recipe
from shoal.verify.apostrophe import plain
from shoal.verify.load import Loaded
from shoal.verify.session import Session
from shoal.verify.verdict import Problem, count, listed

_NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?", re.ASCII)
_DATE = re.compile(r"\d{4}-\d\d-\d\d", re.ASCII)
_MEMBER = re.compile(r"(?:[^,\\\[\]{}]+|\\[,\\\[\]{}])*")
_ESCAPED = re.compile(r"\\(.)", re.DOTALL)

Check = Callable[[str], bool]


def form_problems(session: Session, loaded: Loaded, recipe: Recipe) -> list[Problem]:
    """Look at every different value of every quasi column whose forms are known."""
    problems = []
    for name in recipe.quasi:
        check = form_check(recipe.columns[name])
        if check is not None and loaded.has_once(name):
            problems += _column_problems(session, loaded, name, check)
    return problems


def unchecked_forms(recipe: Recipe) -> list[str]:
    """Say of which columns the values were not looked at, because the recipe leaves out their order."""
    names = [name for name in recipe.quasi if "order" in recipe.columns[name].lacking]
    if not names:
        return []
    return [f"Values were not compared with an order, which the recipe leaves out: {listed(names)}."]


def _column_problems(session: Session, loaded: Loaded, name: str, check: Check) -> list[Problem]:
    column = loaded.column(name)
    sizes = session.rows(f"SELECT {column}, sum(n_rows) FROM classes GROUP BY {column}")
    bare = plain if loaded.marked else str
    wrong = [size for text, size in sizes if text is not None and not check(bare(text))]
    if not wrong:
        return []
    values = count(len(wrong), "different value")
    rows = count(int(sum(wrong)), "row")
    return [Problem("verify.form", f"Column `{name}` has {values} in no published form, in {rows}.")]


def form_check(column: Column) -> Check | None:
    """Return the test for the published values of a column; None where any text may stand.

    The nodes of a hierarchy have names of their own, and a kind that the recipe leaves open is
    found by the maker from the raw table, which the verifier does not see. Nor does it see an order
    or a hierarchy that a manifest leaves out.
    """
    if column.hierarchy is not None or column.lacking:
        return None
    if column.kind == "numeric":
        return lambda text: text == "*" or _is_value_or_range(text, _number)
    if column.kind == "date":
        return lambda text: text == "*" or _is_value_or_range(text, _day)
    if column.kind == "ordinal":
        return _ordinal_check(column.order or [])
    return is_categorical if column.kind == "categorical" else None


def _is_value_or_range(text: str, parse: Callable[[str], Decimal | int | None]) -> bool:
    """Accept ``value`` and ``[low, high]`` with low no higher than high."""
    if not _is_wrapped(text, "[]"):
        return parse(text) is not None
    ends = [parse(end) for end in text[1:-1].split(", ")]
    if len(ends) != 2 or ends[0] is None or ends[1] is None:
        return False
    return ends[0] <= ends[1]


def _number(text: str) -> Decimal | None:
    """Read a number exactly: two long decimals that are one float may be in the wrong order."""
    if not _NUMBER.fullmatch(text):
        return None
    try:
        return Decimal(text)
    except InvalidOperation:  # an exponent beyond all sense
        return None


def _day(text: str) -> int | None:
    """Read a date as the number of its day."""
    if not _DATE.fullmatch(text):  # fromisoformat also takes 20200131 and weeks
        return None
    try:
        return date.fromisoformat(text).toordinal()
    except ValueError:
        return None


def _ordinal_check(order: Sequence[str]) -> Check:
    """Build the test for an ordinal column: its values, and ranges that go upwards."""
    position = {value: place for place, value in enumerate(order)}
    alone = {"\\" + value if looks_like_form(value) else value for value in order}

    def check(text: str) -> bool:
        if text == "*" or text in alone:
            return True
        ends = members(text[1:-1]) if _is_wrapped(text, "[]") else None
        if ends is None or len(ends) != 2 or not position.keys() >= set(ends):
            return False
        return position[ends[0]] <= position[ends[1]]

    return check


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
    """Say whether a raw text needs a backslash in front, so as not to be taken for a form."""
    return text in ("", "*") or text.startswith("\\") or _is_wrapped(text, "[]") or _is_wrapped(text, "{}")


def _is_wrapped(text: str, pair: str) -> bool:
    return text.startswith(pair[0]) and text.endswith(pair[1])


def members(body: str) -> list[str] | None:
    r"""Take the inside of a range or set apart; None when it is broken.

    Examples
    --------
    >>> members(r"a\, b, c"), members("a,b")
    (['a, b', 'c'], None)
    """
    found = []
    at = 0
    while True:
        member = _MEMBER.match(body, at)
        assert member is not None  # the pattern matches nothing at all, too
        found.append(_ESCAPED.sub(r"\1", member.group()))
        at = member.end()
        if at == len(body):
            return found
        if not body.startswith(", ", at):
            return None
        at += 2
