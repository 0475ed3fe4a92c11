"""Rows in given boxes, from the definition: in groups of at least k, and in boxes as narrow as that allows.

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


def width(box, spans):
    """How much of a row is lost in a box, to three digits."""
    return round(sum(map(cost, box, spans), Fraction(0)), 3)


def grouped(rows, boxes, spans, is_good):
    """The box of each row, None for a row held back, from the boxes as texts and what makes a group good.

    `is_good(members, shown)` judges a group of row numbers, of which nobody but those `shown` is released.
    """
    shown = set(range(len(rows)))
    while True:
        place = _two_passes(rows, boxes, spans, shown, lambda members, shown=shown: is_good(members, shown))
        shown = {row for row, box in enumerate(place) if box is not None}
        groups = [[row for row in shown if place[row] == box] for box in range(len(boxes))]
        if all(is_good(group, shown) for group in groups if group):
            return place


def _two_passes(rows, boxes, spans, eligible, is_good):
    widths = [width(box, spans) for box in boxes]
    from_narrow_to_wide = sorted(range(len(boxes)), key=lambda box: (widths[box], box))
    place = [None] * len(rows)

    def inside(box):
        return {row for row in eligible if all(map(contains, boxes[box], rows[row]))}

    def members(box):
        return {row for row in eligible if place[row] == box}

    def put(group, box):
        for row in group:
            place[row] = box

    for box in from_narrow_to_wide:
        group = inside(box) & members(None)
        if group and is_good(group):
            put(group, box)
    for box in from_narrow_to_wide:
        if not inside(box) & members(None):
            continue
        group = (inside(box) & members(None)) | members(box)
        offers = []
        for rank, other in enumerate(from_narrow_to_wide):
            given = inside(box) & members(other)
            if given and other != box:
                offers.append(
                    (len(given) * (widths[box] - widths[other]), rank, given, members(other) - given)
                )
        for _, _, given, kept in sorted(offers, key=lambda offer: offer[:2]):
            if not is_good(group) and (not kept or is_good(kept)):
                group = group | given
        if is_good(group):
            put(group, box)
    return place
