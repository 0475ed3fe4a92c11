"""An independent check of the guarantee of NH, non-homogeneous generalization. It is not a method.

Written from section 3.6 of the project's specification, after Wong, Mamoulis, Cheung (2010), "Non-homogeneous
generalization in privacy preserving data publishing". It sees what was published and what it was made from,
and nothing of how. It is recursive, so it is for some hundreds of rows.

A published row is a *box*: one piece for each column.
- ANY ("*"): every value, missing included. What a mix of missing and present publishes.
- None: missing only. What is published empty.
- (low, high), a tuple: the numbers from low to high, both included; no missing value.
- a set of leaves: those, and missing when None is among them (whoever makes the box of a tree's root decides
  whether missing, a leaf directly under it, is meant too; in shoal it is).
An original is a list of values, one for each column, None for missing.

The guarantee, for n published rows and n originals. Somebody who knows all originals draws an edge wherever a
box contains an original, and knows that the truth is a perfect matching. An edge is *consistent* when it lies
in some perfect matching. Each published row must have at least k consistent originals, and each original at
least k consistent published rows. Counting the edges alone would promise too much: a box may contain an
original that other boxes cannot do without. Settled here:
- Originals with equal values are different people, and count one by one; so do equal boxes.
- Suppressed originals are not among the rows handed in. Different numbers of boxes and rows are an error.
- When there is no perfect matching at all, the boxes were not made from these rows: nothing is consistent.
- It says how many people may be behind a row, not how likely each is.
"""

from typing import NamedTuple

ANY = "*"


class Guarantee(NamedTuple):
    """The fewest consistent originals of a published row, the other way round, and whether both are >= k."""

    originals: int
    published: int
    holds: bool


def contains(piece, value):
    """Whether one piece of a box contains one value of an original."""
    if isinstance(piece, str):
        if piece != ANY:
            raise ValueError(f"a piece is ANY, None, a tuple or a set, not {piece!r}")
        return True
    if piece is None:
        return value is None
    if isinstance(piece, tuple):
        low, high = piece
        return value is not None and low <= value <= high
    return value in piece


def matches(boxes, rows) -> list[set[int]]:
    """For every published row, the originals inside its box."""
    if len(boxes) != len(rows):
        raise ValueError("there must be as many published rows as originals")
    return [
        {
            at
            for at, row in enumerate(rows)
            if all(contains(piece, value) for piece, value in zip(box, row, strict=True))
        }
        for box in boxes
    ]


def find_original(box, fits, box_of, asked):
    """Give the box an original, whose present box finds itself another one if need be."""
    for original in sorted(fits[box]):
        if original in asked:
            continue
        asked.add(original)
        if original not in box_of or find_original(box_of[original], fits, box_of, asked):
            box_of[original] = box
            return True
    return False


def perfect_matching(fits):
    """Original -> published row, by augmenting paths; None when there is no perfect matching."""
    box_of = {}
    if all(find_original(box, fits, box_of, set()) for box in range(len(fits))):
        return box_of
    return None


def reachable(start, next_of):
    """The nodes that a path leads to, the start included."""
    seen, waiting = {start}, [start]
    while waiting:
        for node in next_of[waiting.pop()] - seen:
            seen.add(node)
            waiting.append(node)
    return seen


def consistent(fits) -> list[set[int]]:
    """For every published row, the originals that some perfect matching gives to it.

    Take one perfect matching. A box can have another original when that one's box can have yet another one,
    and so on, until some box takes the original that the first box has left: a cycle.
    """
    box_of = perfect_matching(fits)
    if box_of is None:
        return [set() for _ in fits]
    next_of = [{box_of[original] for original in inside} for inside in fits]
    reach = [reachable(box, next_of) for box in range(len(fits))]
    return [
        {original for original in inside if box in reach[box_of[original]]} for box, inside in enumerate(fits)
    ]


def guarantee(boxes, rows, k) -> Guarantee:
    """Check the guarantee; the numbers are 0 when there is no perfect matching, or no row."""
    pairs = consistent(matches(boxes, rows))
    originals = min((len(of_box) for of_box in pairs), default=0)
    published = min((sum(at in of_box for of_box in pairs) for at in range(len(rows))), default=0)
    return Guarantee(originals, published, min(originals, published) >= k)
