"""What the values of a column look like: e-mail addresses, names, dates, codes and so on.

Each test looks at a sample of the different values. A column has a meaning if nearly all of them agree.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Callable, Sequence
from typing import NamedTuple

from shoal.inspection.headers import folded, word_list
from shoal.inspection.national import agree, is_card, is_iban, national_number

NEARLY_ALL = 0.85
_CHECKED = 0.8  # of values with check digits: some are mistyped, but chance gives a tenth at most
_ENOUGH = 8  # different values, below which a form proves little

_EMAIL = re.compile(r"[^@\s]+@[^@\s]+\.[a-zA-Z]{2,}")
_LINK = re.compile(r"(https?://|www\.)\S+", re.IGNORECASE)
_UUID = re.compile(r"\{?[0-9a-f]{8}-?([0-9a-f]{4}-?){3}[0-9a-f]{12}\}?", re.IGNORECASE)
_MAC = re.compile(r"([0-9a-f]{2}[:-]){5}[0-9a-f]{2}", re.IGNORECASE)
_PHONE = re.compile(r"(\+|00?)?\(?\d[\d\s()/.\-]{5,20}\d")
_COORDINATES = re.compile(r"-?\d{1,3}\.\d{3,}\s*[,;/ ]\s*-?\d{1,3}\.\d{3,}")
_HOUSE_NUMBER = re.compile(r"\D{3,}[ ,]+\d{1,4} ?[a-zA-Z]?|\d{1,5}[a-zA-Z]?,? +\D{4,}")
_ICD = re.compile(r"[A-TV-Z]\d[0-9AB](\.\d{1,2})?[+*!-]?")
_NUTS = re.compile(r"[A-Z]{2}[0-9A-Z]{1,3}")
_BRACKET = re.compile(r"[<>≤≥]=? ?[$€£]? ?\d[\d., ]*[kKmM]?")
_AMOUNT = re.compile(r"([$€£] ?-?\d[\d., ]*)|(-?\d[\d., ]* ?([$€£]|EUR|USD|GBP|CHF))")
_RANGE = re.compile(
    r"\d{1,3} ?(-|\u2013|to|bis|à|a) ?\d{1,3}|\d{1,3}\+|[<>]=? ?\d{1,3}|\[\d{1,3}[,;-] ?\d{1,3}[\])]"
)
_UK_POSTCODE = re.compile(r"[A-Z]{1,2}\d[A-Z\d]? ?\d[A-Z]{2}")
_POSTCODE = re.compile(
    r"\d{4,5}|\d{2}-\d{3}|\d{3} ?\d{2}|\d{4} ?[A-Z]{2}|\d{5}-\d{4}|[A-Z]\d[A-Z] ?\d[A-Z]\d"
)
_APOSTROPHES = "'\u2019\u00b4"
_WORD = rf"[^\W\d_][^\W\d_{_APOSTROPHES}.\-]*(?:[{_APOSTROPHES}\-][^\W\d_]+)*\.?"
_FULL_NAME = re.compile(rf"(?:{_WORD},? ){{1,4}}{_WORD}")


class Sample(NamedTuple):
    """Different values of a column as texts, most frequent first, with figures about all of them."""

    texts: Sequence[str]
    distinct: int
    rows: int  # that are not missing

    @property
    def spread(self) -> float:
        """Different values per row."""
        return self.distinct / max(1, self.rows)


class Look(NamedTuple):
    """What values look like, and how that is said in a sentence."""

    meaning: str
    because: str


def look_of(sample: Sample) -> Look | None:
    """Return what the texts of a column look like; None if they have no form that is known."""
    if not sample.texts:
        return None
    for meaning, because, test in _TESTS:
        if test(sample):
            return Look(meaning, because)
    number = _national(sample)
    if number:
        return Look("national number", f"values are {number} numbers with valid form and check digits")
    for meaning, because, test in _LATER_TESTS:
        if test(sample):
            return Look(meaning, because)
    return None


def share_of(texts: Sequence[str], test: Callable[[str], object]) -> float:
    """Return the share of the texts that pass a test."""
    return sum(bool(test(text)) for text in texts) / len(texts) if texts else 0.0


def _form(pattern: re.Pattern[str], share: float = NEARLY_ALL) -> Callable[[Sample], bool]:
    return lambda sample: agree(sample.texts, pattern.fullmatch, share)


def _checked(check: Callable[[str], bool]) -> Callable[[Sample], bool]:
    return lambda sample: len(sample.texts) >= _ENOUGH and agree(sample.texts, check, _CHECKED)


def _is_network_address(text: str) -> bool:
    if text.count(".") != 3 and ":" not in text:
        return bool(_MAC.fullmatch(text))
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return bool(_MAC.fullmatch(text))
    return True


def _are_network_addresses(sample: Sample) -> bool:
    return agree(sample.texts, _is_network_address, NEARLY_ALL)


def _national(sample: Sample) -> str | None:
    if len(sample.texts) < _ENOUGH:
        return None
    return national_number(sample.texts, _CHECKED)


def _are_phones(sample: Sample) -> bool:
    def is_phone(text: str) -> bool:
        digits = sum(char.isdigit() for char in text)
        marked = text[0] in "+0(" or sum(char in " ()/.-" for char in text) >= 2
        return bool(_PHONE.fullmatch(text)) and 7 <= digits <= 15 and marked and text.count(".") != 1

    return sample.distinct >= _ENOUGH and sample.spread > 0.2 and agree(sample.texts, is_phone, NEARLY_ALL)


def _are_sexes(sample: Sample) -> bool:
    found = {folded(text) for text in sample.texts}
    return 2 <= len(found) <= 5 and len(found & word_list("sex")) >= max(2, len(found) - 1)


def _are_countries(sample: Sample) -> bool:
    found = [re.sub(r"\W", "", folded(text)) for text in sample.texts[:60]]
    return len(found) >= 3 and share_of(found, word_list("country").__contains__) >= 0.4


def _are_icd_codes(sample: Sample) -> bool:
    letters = {text[0] for text in sample.texts}
    return sample.distinct >= _ENOUGH and len(letters) >= 3 and sample.spread < 0.5 and _form(_ICD)(sample)


def _are_nuts_codes(sample: Sample) -> bool:
    def is_nuts(text: str) -> bool:
        return (
            text[:2] in word_list("NUTS state")
            and any(map(str.isdigit, text))
            and bool(_NUTS.fullmatch(text))
        )

    return sample.distinct >= _ENOUGH and agree(sample.texts, is_nuts, 0.95)


def _are_postcodes(sample: Sample) -> bool:
    if sample.distinct < 20 or sample.spread > 0.9:
        return False
    starts_with_zero = share_of(sample.texts, lambda text: text[0] == "0") > 0.01
    is_plain = share_of(sample.texts, str.isdigit) > 0.5
    if is_plain and not starts_with_zero:  # they could be any numbers
        return False
    return (
        share_of(sample.texts, lambda text: _POSTCODE.fullmatch(text) or _UK_POSTCODE.fullmatch(text)) >= 0.95
    )


def _words_of(text: str) -> list[str]:
    return [word for part in re.split(r"[\s,]+", text) if (word := folded(part).strip(f".-{_APOSTROPHES}"))]


def _given_and_family(texts: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return the first and the last words of names, without titles and particles."""
    parts = [
        [word for word in _words_of(text) if word not in word_list("title") | word_list("particle")]
        for text in texts
    ]
    whole = [words for words in parts if len(words) > 1]
    return [words[0] for words in whole], [words[-1] for words in whole]


def _are_full_names(sample: Sample) -> bool:
    texts = sample.texts
    if sample.distinct < _ENOUGH or not agree(texts, _is_name_shaped, NEARLY_ALL):
        return False
    first, last = _given_and_family(texts)
    if len(first) < 0.7 * len(texts):
        return False
    known = max(share_of(words, word_list("given name").__contains__) for words in (first, last))
    if known > 0.25 and sample.distinct > 20:
        return True
    # Given and family names recombine: few of each make many full names.
    recombine = len(set(first)) < 0.8 * len(texts) and len(set(first)) * len(set(last)) > 2 * len(texts)
    return recombine and sample.spread > 0.3 and len(texts) >= 50


def _is_name_shaped(text: str) -> bool:
    if not _FULL_NAME.fullmatch(text):
        return False
    words = [word for word in re.split(r"[\s,]+", text) if word]
    capital = [word for word in words if word[0].isupper() or not word[0].isascii()]
    return len(capital) >= 2 or (len(capital) >= 1 and words[-1][0].isupper())


def _are_single_names(sample: Sample) -> bool:
    words = [folded(text) for text in sample.texts if " " not in text]
    if len(words) < 0.9 * len(sample.texts) or sample.distinct < 12:
        return False
    return (
        share_of(words, word_list("given name").__contains__) > 0.35
        or share_of(words, word_list("family name").__contains__) > 0.25
    )


def _are_addresses(sample: Sample) -> bool:
    return sample.spread > 0.2 and sample.distinct >= 20 and _form(_HOUSE_NUMBER)(sample)


def _are_free_texts(sample: Sample) -> bool:
    texts = sample.texts
    words = sum(len(text.split()) for text in texts) / len(texts)
    length = sum(map(len, texts)) / len(texts)
    return sample.distinct > 20 and sample.spread > 0.2 and (words >= 4 or (words > 2.5 and length >= 50))


# In this order: what has the narrower form comes first.
_TESTS: tuple[tuple[str, str, Callable[[Sample], bool]], ...] = (
    ("e-mail", "values are e-mail addresses", _form(_EMAIL)),
    ("link", "values are web addresses", _form(_LINK)),
    ("uuid", "values are UUIDs", _form(_UUID)),
    ("account", "values are IBANs with valid check digits", _checked(is_iban)),
    ("network address", "values are network addresses", _are_network_addresses),
    ("coordinates text", "values are pairs of coordinates", _form(_COORDINATES)),
    ("sex", "values are words for the sexes", _are_sexes),
    ("money", "values are bounds of amounts", _form(_BRACKET)),
    ("age", "values are ranges of small numbers", lambda s: 2 < s.distinct < 40 and _form(_RANGE)(s)),
    ("money", "values are amounts with a currency", _form(_AMOUNT)),
    ("payment card", "values are card numbers with valid check digits", _checked(is_card)),
)  # fmt: skip
_LATER_TESTS: tuple[tuple[str, str, Callable[[Sample], bool]], ...] = (
    ("postcode", "values look like postcodes", _are_postcodes),
    ("phone", "values look like telephone numbers", _are_phones),
    ("diagnosis", "values look like ICD-10 codes", _are_icd_codes),
    ("place", "values look like NUTS codes", _are_nuts_codes),
    ("country", "values are names of countries", _are_countries),
    ("name", "values look like names of people", _are_full_names),
    ("name", "values are common given or family names", _are_single_names),
    ("address", "values look like street addresses", _are_addresses),
    ("free text", "values are sentences", _are_free_texts),
)
