"""Numbers that a state or a bank gives to a person: their forms and check digits.

Each check returns whether a text is such a number. A random number passes a check of one digit in one of
ten cases, so a column counts only if nearly all of its values pass.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

_LETTERS = {char: at for at, char in enumerate("ABCDEFGHIJKLMNOPQRSTUVWXYZ", 10)}
_SPACES = re.compile(r"[\s.\-/]")


def is_iban(text: str) -> bool:
    """Check an IBAN (ISO 13616): with its first four characters at the end, it is 1 modulo 97.

    Examples
    --------
    >>> is_iban("DE89 3704 0044 0532 0130 00"), is_iban("DE88 3704 0044 0532 0130 00")
    (True, False)
    """
    plain = text.replace(" ", "").upper()
    if not re.fullmatch(r"[A-Z]{2}\d{2}[A-Z0-9]{11,30}", plain):
        return False
    number = "".join(str(_LETTERS.get(char, char)) for char in plain[4:] + plain[:4])
    return int(number) % 97 == 1


def is_card(text: str) -> bool:
    """Check the number of a payment card (ISO/IEC 7812): 13 to 19 digits that pass the Luhn test.

    Examples
    --------
    >>> is_card("4111 1111 1111 1111"), is_card("4111 1111 1111 1112")
    (True, False)
    """
    digits = re.sub(r"[ -]", "", text)
    return bool(re.fullmatch(r"[2-6]\d{12,18}", digits)) and _luhn(digits) == 0


def _luhn(digits: str) -> int:
    doubled = [int(digit) * (2 if at % 2 else 1) for at, digit in enumerate(reversed(digits))]
    return sum(number - 9 if number > 9 else number for number in doubled) % 10


def _weighted(digits: str, weights: Sequence[int]) -> int:
    return sum(int(digit) * weight for digit, weight in zip(digits, weights, strict=True))


def _is_day(day: str, month: str) -> bool:
    return 1 <= int(day) <= 31 and 1 <= int(month) <= 12


def _spanish(text: str) -> bool:
    found = re.fullmatch(r"([XYZ]?)(\d{7,8})([A-Z])", text.upper())
    if not found or len(text) != 9:
        return False
    number = int(str("XYZ".index(found[1]) if found[1] else "") + found[2])
    return "TRWAGMYFPDXBNJZSQVHLCKE"[number % 23] == found[3]


def _italian(text: str) -> bool:
    odd = dict(zip("0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ",
                   (1, 0, 5, 7, 9, 13, 15, 17, 19, 21, 1, 0, 5, 7, 9, 13, 15, 17, 19, 21, 2, 4, 18, 20, 11,
                    3, 6, 8, 12, 14, 16, 10, 22, 25, 24, 23), strict=True))  # fmt: skip
    if not re.fullmatch(r"[A-Z]{6}\d{2}[A-EHLMPRST]\d{2}[A-Z]\d{3}[A-Z]", text.upper()):
        return False
    code = text.upper()
    even = [int(char) if char.isdigit() else _LETTERS[char] - 10 for char in code[1:15:2]]
    return (sum(odd[char] for char in code[0:15:2]) + sum(even)) % 26 == _LETTERS[code[15]] - 10


def _french(text: str) -> bool:
    found = re.fullmatch(r"([12]\d{2}(0[1-9]|1[0-2]|[2-9]\d)\d[\dAB]\d{6})(\d{2})?", text)
    if not found:
        return False
    number = int(found[1].replace("2A", "19").replace("2B", "18"))
    return found[3] is None or 97 - number % 97 == int(found[3])


def _polish(text: str) -> bool:
    if not re.fullmatch(r"\d{11}", text) or not _is_day(text[4:6], str(int(text[2:4]) % 20)):
        return False
    return _weighted(text, (1, 3, 7, 9, 1, 3, 7, 9, 1, 3, 1)) % 10 == 0


def _dutch(text: str) -> bool:
    return bool(re.fullmatch(r"\d{9}", text)) and _weighted(text, (9, 8, 7, 6, 5, 4, 3, 2, -1)) % 11 == 0


def _portuguese(text: str) -> bool:
    if not re.fullmatch(r"[1235689]\d{8}", text):
        return False
    check = 11 - _weighted(text[:8], (9, 8, 7, 6, 5, 4, 3, 2)) % 11
    return (0 if check > 9 else check) == int(text[8])


def _swedish(text: str) -> bool:
    found = re.fullmatch(r"(?:19|20)?(\d{6})[-+]?(\d{4})", text)
    return bool(found) and _is_day(found[1][4:6], found[1][2:4]) and _luhn(found[1] + found[2]) == 0  # type: ignore[index]


def _norwegian(text: str) -> bool:
    if not re.fullmatch(r"\d{11}", text) or not _is_day(text[:2], text[2:4]):
        return False
    first = _weighted(text[:10], (3, 7, 6, 1, 8, 9, 4, 5, 2, 1))
    return first % 11 == 0 and _weighted(text, (5, 4, 3, 2, 7, 6, 5, 4, 3, 2, 1)) % 11 == 0


def _danish(text: str) -> bool:
    return bool(re.fullmatch(r"\d{6}-\d{4}", text)) and _is_day(text[:2], text[2:4])


def _finnish(text: str) -> bool:
    found = re.fullmatch(r"(\d{6})[-+A-FU-Y](\d{3})([0-9A-Y])", text)
    return bool(found) and "0123456789ABCDEFHJKLMNPRSTUVWXY"[int(found[1] + found[2]) % 31] == found[3]  # type: ignore[index]


def _german_tax(text: str) -> bool:
    if not re.fullmatch(r"[1-9]\d{10}", text):
        return False
    product = 10
    for digit in text[:10]:
        total = (int(digit) + product) % 10 or 10
        product = total * 2 % 11
    return (11 - product) % 10 == int(text[10])


def _german_insurance(text: str) -> bool:
    found = re.fullmatch(r"(\d{2})(\d{2})(\d{2})\d{2}([A-Z])\d{3}", text)
    return bool(found) and _is_day(found[2], found[3])  # type: ignore[index]


def _belgian(text: str) -> bool:
    if not re.fullmatch(r"\d{11}", text):
        return False
    return int(text[9:]) in (97 - int(text[:9]) % 97, 97 - int("2" + text[:9]) % 97)


def _swiss(text: str) -> bool:
    return bool(re.fullmatch(r"756\d{10}", text)) and _weighted(text, (1, 3) * 6 + (1,)) % 10 == 0


def _brazilian(text: str) -> bool:
    if not re.fullmatch(r"\d{11}", text):
        return False
    checks = [_weighted(text[:n], range(n + 1, 1, -1)) * 10 % 11 % 10 for n in (9, 10)]
    return text[9:] == "".join(map(str, checks))


def _turkish(text: str) -> bool:
    if not re.fullmatch(r"[1-9]\d{10}", text):
        return False
    digits = list(map(int, text))
    tenth = (7 * sum(digits[0:9:2]) - sum(digits[1:8:2])) % 10
    return digits[9] == tenth and digits[10] == sum(digits[:10]) % 10


def _british_health(text: str) -> bool:
    if not re.fullmatch(r"\d{10}", text):
        return False
    return (11 - _weighted(text[:9], range(10, 1, -1)) % 11) % 11 == int(text[9])


def _czech(text: str) -> bool:
    if not re.fullmatch(r"\d{10}", text) or not _is_day(text[4:6], str(int(text[2:4]) % 50 % 20)):
        return False
    return int(text) % 11 == 0


def _chinese(text: str) -> bool:
    if not re.fullmatch(r"\d{6}(19|20)\d{9}[\dX]", text.upper()):
        return False
    weights = [2 ** (17 - at) % 11 for at in range(17)]
    return "10X98765432"[_weighted(text[:17], weights) % 11] == text[17].upper()


def _american(text: str) -> bool:
    return bool(re.fullmatch(r"(?!000|666|9)\d{3}-(?!00)\d{2}-(?!0000)\d{4}", text))


def _british(text: str) -> bool:
    return bool(re.fullmatch(r"[A-CEGHJ-PR-TW-Z]{2}\d{6}[A-D]", text.upper().replace(" ", "")))


def agree(texts: Sequence[str], test: Callable[[str], object], share: float) -> bool:
    """Return whether at least this share of the texts pass a test; stop when too many have failed."""
    may_fail = (1 - share) * len(texts) + 1e-9
    failed = 0
    for text in texts:
        if not test(text):
            failed += 1
            if failed > may_fail:
                return False
    return bool(texts)


# Those with their own punctuation are checked as written, the others without spaces, dots and hyphens.
_AS_WRITTEN: dict[str, Callable[[str], bool]] = {
    "US Social Security": _american, "UK National Insurance": _british, "Danish CPR": _danish,
    "Swedish personal": _swedish, "Finnish personal": _finnish,
}  # fmt: skip
_PLAIN: dict[str, Callable[[str], bool]] = {
    "Spanish DNI": _spanish, "Italian tax": _italian, "French social security": _french,
    "Polish PESEL": _polish, "Norwegian birth": _norwegian, "Brazilian CPF": _brazilian,
    "Turkish identity": _turkish, "Swiss AHV": _swiss, "Belgian national": _belgian,
    "German insurance": _german_insurance, "Chinese identity": _chinese, "Czech birth": _czech,
    "German tax": _german_tax, "Dutch BSN": _dutch, "Portuguese tax": _portuguese,
    "UK NHS": _british_health,
}  # fmt: skip


def national_number(texts: Sequence[str], share: float) -> str | None:
    """Return which national number at least this share of the texts are, None if they are none.

    Examples
    --------
    >>> national_number(["44051401359", "02070803628"], 0.9)
    'Polish PESEL'
    """
    plain = [_SPACES.sub("", text) for text in texts]
    for checks, forms in ((_AS_WRITTEN, texts), (_PLAIN, plain)):
        for name, check in checks.items():
            if agree(forms, check, share):
                return name
    return None
