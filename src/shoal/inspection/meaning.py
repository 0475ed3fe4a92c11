"""What a column means: what its name says, if its values agree, else what its values look like."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import polars as pl

from shoal.inspection.contents import Look, Sample, look_of, share_of
from shoal.inspection.kinds import Found
from shoal.inspection.profile import Profile

MIN_ROWS = 20  # in smaller tables nearly every value is unique
FEW_GROUPS = 12  # different values that may be groups of dates, such as decades
UNKNOWN = "neither its name nor its values say what it is"
NEARLY_UNIQUE = 0.9  # different values per row
MOSTLY_UNIQUE = 0.5  # share of rows with a value of their own

# What no name of a column can contradict.
_CERTAIN = ("e-mail", "link", "uuid", "account", "network address", "national number", "payment card",
            "coordinates text")  # fmt: skip


class Meaning(NamedTuple):
    """What a column means, None if nothing says so, and the reason."""

    what: str | None
    reason: str


def find_meaning(found: Profile, kind: Found, said: list[str]) -> Meaning:
    """Return the meaning of a column; `said` is what its name may mean."""
    look = None if kind.kind == "date" else look_of(found.sample)
    if look is not None and look.meaning in _CERTAIN and _is_spread(found):
        return Meaning(look.meaning, look.because)
    for meaning in said:
        if _agrees(meaning, found, kind):
            return Meaning(meaning, _both(meaning, look))
    if look is not None:
        return Meaning(look.meaning, look.because)
    return _unnamed(found, kind)


def _both(meaning: str, look: Look | None) -> str:
    said = f"the header says {meaning}"
    return f"{said}, and {look.because}" if look is not None and look.meaning == meaning else said


def _unnamed(found: Profile, kind: Found) -> Meaning:
    """Return what can be said of values that neither name nor form explains."""
    if kind.kind == "date":
        return Meaning("date", kind.reason)
    if found.present < MIN_ROWS:
        return Meaning(None, UNKNOWN)
    has_own = found.spread >= NEARLY_UNIQUE or found.unique_share >= MOSTLY_UNIQUE
    if has_own and found.values.dtype == pl.String and kind.kind == "categorical":
        return Meaning("nearly unique", f"{found.unique_share:.0%} of the rows have a value of their own")
    if _are_record_numbers(found):
        return Meaning("record number", "nearly every row has its own integer, consecutive or of one length")
    if kind.kind == "categorical" and _are_numbers_of_people(found):
        return Meaning("record number", "codes of one length that repeat about equally often, as people do")
    return Meaning(None, UNKNOWN)


def _are_numbers_of_people(found: Profile) -> bool:
    """Return whether codes of one length, five characters or more, repeat as if drawn evenly.

    Places and professions have frequent and rare values. If each person has a few rows, the variance of the
    rows per person is about their mean.
    """
    lengths = found.texts.str.len_chars()
    if found.distinct < 30 or found.spread < 0.04 or lengths.min() != lengths.max() or lengths[0] < 5:
        return False
    if not bool(found.texts.str.contains(r"^[A-Za-z]{0,3}[0-9]+$").all()):
        return False
    return float(found.counts.var()) <= 2 * float(found.counts.mean())


def _are_record_numbers(found: Profile) -> bool:
    """Return whether nearly unique integers number the rows, or are all of one length and not rounded."""
    if found.spread < NEARLY_UNIQUE:
        return False
    texts = found.texts
    if not bool(texts.str.contains(r"^[0-9]+$").all()):
        return False
    numbers = texts.cast(pl.Float64).to_numpy()
    if np.ptp(numbers) < 1.2 * found.present:
        return True
    lengths = texts.str.len_chars()
    rounded = texts.str.ends_with("0").mean()
    return bool(lengths.min() == lengths.max() and lengths.min() >= 4 and rounded < 0.5)  # type: ignore[operator]


def _is_spread(found: Profile) -> bool:
    """Return whether values are numerous enough to name people."""
    return found.distinct > 20 or found.spread > 0.5


def _agrees(meaning: str, found: Profile, kind: Found) -> bool:
    """Return whether the values of a column can mean what its name says."""
    sample, is_number = found.sample, kind.kind == "numeric"
    if not sample.texts:
        return False
    has_digits, has_letters = _share_with(sample, str.isdigit), _share_with(sample, str.isalpha)
    match meaning:
        case "name":
            return _is_spread(found) and has_letters > 0.9 and has_digits < 0.2
        case "e-mail":
            return share_of(sample.texts, lambda text: "@" in text) > 0.5
        case "address":
            return _is_spread(found) and has_letters > 0.8 and found.spread > 0.05
        case "free text":
            words = share_of(sample.texts, lambda text: " " in text)
            return _is_spread(found) and words > 0.5 and found.spread > 0.05
        case "phone" | "account" | "payment card" | "national number" | "network address" | "record number":
            return _is_spread(found) and has_digits > 0.5 and found.spread > 0.05 and not _has_decimals(kind)
        case "uuid" | "link":
            return _is_spread(found) and found.spread > 0.05
        case "birth date":
            return kind.kind == "date" or (found.distinct > FEW_GROUPS and has_digits > 0.9)
        case "event date":
            return kind.kind == "date"
        case "age":
            return _are_ages(found) if is_number else kind.kind != "date" and found.spread < 0.5
        case "sex":
            return found.distinct <= 12
        case "postcode":
            return has_digits > 0.9 and not _has_decimals(kind) and kind.kind != "date"
        case "coordinates" | "survey weight" | "body":
            return is_number or (meaning == "body" and found.distinct <= 20)
        case "money":
            return is_number or has_digits > 0.8 or found.distinct <= 20
        case "number" | "code":
            return False  # they say something about the kind only
        case _:
            return kind.kind != "date" and (found.present < MIN_ROWS or found.spread < NEARLY_UNIQUE)


def _share_with(sample: Sample, test: Callable[[str], bool]) -> float:
    return share_of(sample.texts, lambda text: any(map(test, text)))


def _has_decimals(kind: Found) -> bool:
    return kind.kind == "numeric" and "decimals" in kind.reason


def _are_ages(found: Profile) -> bool:
    numbers = found.texts.cast(pl.Float64, strict=False)
    low, high = numbers.quantile(0.01), numbers.quantile(0.99)
    return low is not None and high is not None and low >= 0 and high <= 130
