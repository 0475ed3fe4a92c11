"""Find quotes of a CSV file that a lenient parser would read in a way that nobody meant."""

from __future__ import annotations

from shoal.kernels.compiling import entry

_QUOTE, _NEWLINE, _RETURN = 34, 10, 13


@entry
def misplaced_quotes(data, separator):
    """Count the quoted cells that go on after their closing quote, or never close.

    `data` are the bytes of the file, `separator` is the code of an ASCII character.
    """
    wrong = 0
    cell_begins, inside, closed = True, False, False
    for byte in data:
        if inside:
            if byte == _QUOTE:
                inside, closed = False, True
            continue
        ends = byte == separator or byte == _NEWLINE or byte == _RETURN  # noqa: PLR1714  # compiled at once
        if byte == _QUOTE and (cell_begins or closed):  # opens, or the second of a doubled quote
            inside, closed = True, False
        elif closed and not ends:
            wrong += 1
            closed = False
        if ends:
            closed = False
        cell_begins = ends
    return wrong + inside
