"""Rows in frozen boxes, from the definition: the narrowest box, and outwards where too few rows share one.

A box has a published text for each column: `*`, `[low, high]`, `{a, b}`, or a single value.
"""

from fractions import Fraction

EVERYTHING = "*"


def contains(text, value):
    """Whether a published text covers a number or a text."""
    if text == EVERYTHING:
        return True
    if text.startswith("["):
        low, high = (Fraction(end) for end in text[1:-1].split(", "))
        return low <= value <= high
    if text.startswith("{"):
        return value in text[1:-1].split(", ")
    return Fraction(text) == value if isinstance(value, int) else text == value


def cost(text, span):
    """How much of a column is lost: of its range, or all of a category."""
    if text == EVERYTHING:
        return Fraction(1)
    if text.startswith("["):
        low, high = (Fraction(end) for end in text[1:-1].split(", "))
        return (high - low) / span
    return Fraction(1 if text.startswith("{") else 0)


def narrowest(row, boxes, spans):
    """The first of the boxes with the least cost that contain a row."""
    around = [
        at
        for at, box in enumerate(boxes)
        if all(contains(text, value) for text, value in zip(box, row, strict=True))
    ]
    return min(around, key=lambda at: (sum(map(cost, boxes[at], spans)), at))


def grouped(place, parent, k, is_good=lambda rows: True):
    """The box in which each row is shown, None for a row held back.

    A box with fewer than k rows gives them to the box around it. A box whose rows fail a goal takes in the
    rows of the boxes inside it, and gives all away if they still fail; the root takes nothing in.
    """
    shown = [None] * len(place)

    def inside(box):
        children = [child for child, around in enumerate(parent) if around == box]
        return {box}.union(*map(inside, children))

    def rows_given_up(box):
        rows = [row for row, at in enumerate(place) if at == box]
        for child, around in enumerate(parent):
            if around == box:
                rows += rows_given_up(child)
        if len(rows) >= k and not is_good(rows) and box != 0:
            rows += [row for row, at in enumerate(shown) if at in inside(box)]
        is_shown = len(rows) >= k and is_good(rows)
        for row in rows:
            shown[row] = box if is_shown else None
        return [] if is_shown else rows

    rows_given_up(0)
    return shown
