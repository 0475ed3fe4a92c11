r"""The text form of published values: formatting and parsing.

A range is `[low, high]`, a set `{a, b}`, everything lost `*`, a missing value empty. A raw text that
looks like one of these is escaped with a leading backslash. Inside ranges and sets, every comma,
bracket, brace and backslash of a member is escaped with a backslash.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from shoal.arrays import LongArray

LOST = "*"
_SPECIAL = re.compile(r"([\\,\[\]{}])")
_SEPARATOR = re.compile(r"(?<!\\)((?:\\\\)*), ")


@dataclass(frozen=True)
class Value:
    """A raw value, or the label of a hierarchy node."""

    text: str


@dataclass(frozen=True)
class Range:
    """Everything from `low` to `high`, both included."""

    low: str
    high: str


@dataclass(frozen=True)
class Set:
    """One of `members`."""

    members: tuple[str, ...]


@dataclass(frozen=True)
class Lost:
    """Nothing is known."""


Published = Value | Range | Set | Lost | None


def looks_published(text: str) -> bool:
    """Return whether a raw text could be mistaken for a range, a set, `*`, a missing value or an escape."""
    wrapped = (text.startswith("[") and text.endswith("]")) or (text.startswith("{") and text.endswith("}"))
    return text in ("", LOST) or text.startswith("\\") or wrapped


def value_text(text: str) -> str:
    """Format a raw value."""
    return "\\" + text if looks_published(text) else text


def range_text(low: str, high: str) -> str:
    """Format the range from one raw value to another."""
    return f"[{_inside(low)}, {_inside(high)}]"


def set_text(members: Sequence[str]) -> str:
    """Format a set of raw values, sorted."""
    return "{" + ", ".join(_inside(member) for member in sorted(members)) + "}"


def split_ranges(texts: pl.Series) -> tuple[pl.Series, pl.Series]:
    """Return both ends of the ranges among many texts; null for any other text, and for one with escapes."""
    # Few queries: each method of a Series is one of its own, which takes longer than its work on few texts.
    text = pl.col("text")
    ends = text.str.slice(1).str.head(-1).str.split_exact(", ", 2)
    is_plain = _is_wrapped(text, "[", "]") & ~text.str.contains("\\", literal=True)
    found = texts.to_frame("text").select(ends.alias("ends"), is_plain.alias("is_plain"))
    low, high, more = found["ends"].struct.unnest()
    is_pair = found["is_plain"] & high.is_not_null() & more.is_null()
    pairs = pl.select(pl.when(is_pair).then(low).alias("low"), pl.when(is_pair).then(high).alias("high"))
    return pairs["low"], pairs["high"]


def split_sets(texts: pl.Series) -> tuple[LongArray, pl.Series]:
    """Return the members of the sets among many texts, and which text each is of; of none with escapes."""
    text = pl.col("text")
    is_plain = _is_wrapped(text, "{", "}") & ~text.str.contains("\\", literal=True)
    members = text.str.slice(1).str.head(-1).str.split(", ")
    found = texts.to_frame("text").with_row_index("at").filter(is_plain).select("at", members).explode("text")
    return found["at"].to_numpy().astype(np.int64), found["text"]


def value_texts(texts: pl.Series) -> pl.Series:
    """Format many raw values as `value_text` does."""
    text = pl.col("text")
    wrapped = _is_wrapped(text, "[", "]") | _is_wrapped(text, "{", "}")
    looks = wrapped | text.is_in(["", LOST]) | text.str.starts_with("\\")
    escaped = pl.when(looks).then("\\" + text).otherwise(text)
    return texts.to_frame("text").select(escaped.alias(texts.name)).to_series()


def _is_wrapped(text: pl.Expr, first: str, last: str) -> pl.Expr:
    return text.str.starts_with(first) & text.str.ends_with(last)


def range_texts(low: pl.Series, high: pl.Series) -> pl.Series:
    """Format many ranges as `range_text` does."""
    low, high = (end.str.replace_all(_SPECIAL.pattern, r"\$1") for end in (low, high))
    return pl.select(pl.format("[{}, {}]", low, high)).to_series()


def set_texts(members: pl.Series, sizes: LongArray) -> pl.Series:
    """Format many sets as `set_text` does, given the members of each after those of the one before."""
    numbers = np.repeat(np.arange(len(sizes)), sizes)
    in_order = pl.DataFrame({"set": numbers, "member": members}).sort("set", "member")
    inside = pl.col("member").str.replace_all(_SPECIAL.pattern, r"\$1").str.join(", ")
    found = in_order.group_by("set", maintain_order=True).agg(inside)
    return found.select(pl.format("{{{}}}", "member")).to_series()


def parse(text: str | None) -> Published:
    """Parse what the functions above return.

    >>> parse("[20, 29]"), parse("{a, b}"), parse("*"), parse(None)
    (Range(low='20', high='29'), Set(members=('a', 'b')), Lost(), None)
    """
    if text is None or text == "":
        return None
    if text == LOST:
        return Lost()
    if text.startswith("\\"):
        return Value(text[1:])
    if text.startswith("[") and text.endswith("]"):
        ends = _split(text[1:-1])
        return Range(*ends) if len(ends) == 2 else Value(text)
    if text.startswith("{") and text.endswith("}"):
        return Set(tuple(_split(text[1:-1])))
    return Value(text)


def _inside(text: str) -> str:
    return _SPECIAL.sub(r"\\\1", text)


def _split(text: str) -> list[str]:
    if "\\" not in text:  # nearly always, and much faster
        return text.split(", ")
    parts = []
    begin = 0
    for match in _SEPARATOR.finditer(text):
        parts.append(text[begin : match.end() - 2])
        begin = match.end()
    parts.append(text[begin:])
    return [re.sub(r"\\(.)", r"\1", part, flags=re.DOTALL) for part in parts]
