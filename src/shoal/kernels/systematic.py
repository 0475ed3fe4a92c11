"""Rows that join, one at a time, the class whose loss grows least."""

from __future__ import annotations

from shoal.kernels.compiling import entry
from shoal.kernels.joining import join_open


@entry
def join_cheapest(rows, position, leaf, classes, costs, trees, span, labels, goals, wants, cursor, settings):
    """Let rows join, in the order given, the open class whose loss grows least; see `join_open`."""
    join_open(rows, position, leaf, classes, None, costs, trees, span, labels, goals, wants, cursor, settings)
