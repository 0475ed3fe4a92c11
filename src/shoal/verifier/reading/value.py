"""The form in which cells are compared: what readers of tables consider one value is one text."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection

from shoal.verifier.reading.apostrophe import plain, plain_sql
from shoal.verifier.reading.session import literal

# What Unicode calls white space; by default DuckDB trims only blanks.
BLANKS = "\t\n\v\f\r \x85\xa0\u1680\u2028\u2029\u202f\u205f\u3000" + "".join(map(chr, range(0x2000, 0x200B)))
# 1, 1.0 and 1e0 are one number to readers of tables; 007 is a code, not a number.
NUMBER = r"[+-]?((0|[1-9][0-9]*)(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?"
_IS_NUMBER = re.compile(NUMBER)
_DAY = "[0-9]{4}-[0-9]{2}-[0-9]{2}([T ].*)?"
_MONTH = "([0-9]{4})[-/]([0-9]{2})"
_MONTH_FIRST = "([0-9]{2})[./]([0-9]{4})"
EXACT = 2**53  # beyond it several whole numbers share one float


def bare(column: str, *, marked: bool) -> str:
    """Return the SQL of a cell's text: without a spreadsheet's mark, in NFC, without surrounding blanks.

    The mark is removed first: it is before everything else in the cell.
    """
    text = plain_sql(column) if marked else column
    return f"trim(nfc_normalize({text}), {literal(BLANKS)})"


def comparable(column: str, *, marked: bool) -> str:
    """Return the SQL that brings a cell into one form; its parameter lists the texts for missing."""
    text = bare(column, marked=marked)
    number = f"TRY_CAST({text} AS DOUBLE)"
    return (
        f"CASE WHEN {text} = '' OR list_contains(CAST(? AS VARCHAR[]), {text}) THEN NULL "
        f"WHEN regexp_full_match({text}, {literal(NUMBER)}) AND abs({number}) < {EXACT} "
        f"THEN CAST({number} + 0 AS VARCHAR) ELSE {text} END"
    )


def settled(column: str, kind: str | None, *, marked: bool) -> str:
    """Return the SQL that brings a cell into one form; its parameter lists the texts for missing.

    Quasi values are published in a form of their own: 1.0 as 1, a timestamp as its day, 09.1952 as 1952-09.
    """
    text = f"trim(nfc_normalize({column}), {literal(BLANKS)})"
    text = plain_sql(text) if marked else text
    number = f"CAST(TRY_CAST({text} AS DOUBLE) + 0 AS VARCHAR)"
    is_number = "true" if kind == "numeric" else f"regexp_full_match({text}, {literal(NUMBER)})"
    month = f"regexp_replace({text}, {literal(_MONTH_FIRST)}, '\\2-\\1')"
    is_month = f"regexp_full_match({text}, {literal(_MONTH_FIRST)})"
    return (
        f"CASE WHEN {text} = '' OR list_contains(CAST(? AS VARCHAR[]), {text}) THEN NULL "
        f"{f'WHEN {is_month} THEN {month} ' if kind == 'date' else ''}"
        f"WHEN {is_number} THEN coalesce({number}, {text}) "
        f"{f'WHEN {is_month} THEN {month} ' if kind is None else ''}"
        f"WHEN regexp_full_match({text}, {literal(_MONTH)}) THEN replace({text}, '/', '-') "
        f"WHEN regexp_full_match({text}, {literal(_DAY)}) THEN left({text}, 10) ELSE {text} END"
    )


def trimmed(text: str, *, marked: bool) -> str:
    """Do what the SQL of `bare` does."""
    return unicodedata.normalize("NFC", plain(text) if marked else text).strip(BLANKS)


def comparable_text(text: str, missing: Collection[str], *, marked: bool) -> str | None:
    """Do what the SQL of `comparable` does; one number has one text, though not the one that SQL writes.

    Examples
    --------
    >>> [comparable_text(text, ["nan"], marked=True) for text in ("1", " 1.0", "1e0", "007", "nan", "'=1")]
    ['1.0', '1.0', '1.0', '007', None, '=1']
    """
    found = trimmed(text, marked=marked)
    if not found or found in missing:
        return None
    if _IS_NUMBER.fullmatch(found) and abs(number := float(found)) < EXACT:
        return repr(number + 0.0)
    return found
