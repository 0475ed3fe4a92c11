"""The apostrophe that keeps a spreadsheet from running a cell, removed to compare contents.

Classes are always built from the cells as written, since a reader of the file groups by those.
"""

from __future__ import annotations

import re

from shoal.verifier.reading.session import literal

_MARKED = "^'('*[=+@\\t\\r-])"


def plain(text: str) -> str:
    """Return a cell, or the name of a column, without the mark.

    >>> [plain(text) for text in ("'=1+1", "''@a", "'tis", "-5")]
    ['=1+1', "'@a", "'tis", '-5']
    """
    return re.sub(_MARKED, r"\1", text)


def plain_sql(expression: str) -> str:
    """Return the SQL that does the same."""
    return f"regexp_replace({expression}, {literal(_MARKED)}, '\\1')"
