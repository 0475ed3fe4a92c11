"""What the name of a column says about its values, in several languages."""

from __future__ import annotations

import csv
import re
import unicodedata
from collections.abc import Iterator
from functools import cache
from importlib import resources

_LONGEST_SPAN = 5  # words of a header that are read as one: date_of_birth
_SHORTEST_STEM = 6  # letters of a word that is recognized inside another one: Wohnpostleitzahl
_UNSPLIT = str.maketrans({"ß": "ss", "ø": "o", "ł": "l", "đ": "d", "æ": "ae", "œ": "oe", "\u0131": "i"})
_CAMEL = re.compile(r"(?<=[a-zà-þ])(?=[A-ZÀ-Þ])")
_SEPARATOR = re.compile(r"[\W_]+|(?<=\D)(?=\d)|(?<=\d)(?=\D)")
# Words that say little next to others: in `city_name` the city counts, in `job_id` the job.
_WEAK = ("name", "record number", "event date", "number", "code")


def meanings(header: str) -> list[str]:
    """Return what a column name may mean, most likely first.

    Examples
    --------
    >>> meanings("Geburtsdatum")[0], meanings("customer_email")[0], meanings("v1")
    ('birth date', 'e-mail', [])
    """
    words = _words(header)
    found: dict[str, tuple[bool, int]] = {}
    for span in _spans(words):
        for meaning in _vocabulary().get(span, ()):
            _keep(found, meaning, (_is_weak(meaning, span), -len(span)))
    if not found:
        joined = "".join(words)
        for word, known in _vocabulary().items():
            if len(word) >= _SHORTEST_STEM and word in joined:
                for meaning in known:
                    _keep(found, meaning, (_is_weak(meaning, word), -len(word)))
    return sorted(found, key=lambda meaning: (found[meaning][0], _rank(found[meaning][0], meaning),
                                              found[meaning][1], meaning))  # fmt: skip


def folded(text: str) -> str:
    """Return a text in lower case, without accents.

    Examples
    --------
    >>> folded("Größe"), folded("Prénom")
    ('grosse', 'prenom')
    """
    parts = unicodedata.normalize("NFKD", text.lower().translate(_UNSPLIT))
    return "".join(char for char in parts if not unicodedata.combining(char))


@cache
def word_list(name: str) -> frozenset[str]:
    """Return one of the lists in `lists.csv`, without accents and in lower case except for codes."""
    return frozenset(word for line in _lines("lists.csv") if line[0] == name for word in line[-1].split())


def _words(header: str) -> list[str]:
    parts = _SEPARATOR.split(_CAMEL.sub("_", header))
    return [folded(part) for part in parts if part and not part.isdigit()]


def _spans(words: list[str]) -> Iterator[str]:
    for start in range(len(words)):
        for end in range(start + 1, min(len(words), start + _LONGEST_SPAN) + 1):
            yield "".join(words[start:end])


def _is_weak(meaning: str, word: str) -> bool:
    return meaning in ("number", "code") or word in word_list("weak header")


def _rank(weak: bool, meaning: str) -> int:
    return _WEAK.index(meaning) if weak and meaning in _WEAK else 0


def _keep(found: dict[str, tuple[bool, int]], meaning: str, score: tuple[bool, int]) -> None:
    found[meaning] = min(score, found.get(meaning, score))


@cache
def _vocabulary() -> dict[str, tuple[str, ...]]:
    """Return the meanings of each word, from `words.csv`."""
    known: dict[str, tuple[str, ...]] = {}
    for meaning, _, words in _lines("words.csv"):
        for word in words.split():
            known[word] = tuple(dict.fromkeys((*known.get(word, ()), meaning)))
    return known


def _lines(file: str) -> list[list[str]]:
    text = resources.files("shoal.inspection").joinpath(file).read_text(encoding="utf-8")
    return list(csv.reader(text.splitlines()))[1:]
