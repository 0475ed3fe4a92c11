"""Which original may belong to which row: perfect matchings on sets stored as integers, one bit per original.

An attacker who knows all originals and which of them fit each row also knows that every row really has an
original of its own. A pair is *consistent* when some such assignment contains it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass


def assign(fits: Sequence[int], originals: int) -> list[int] | None:
    """Assign every row an original of its own that fits it; None if that is impossible.

    Parameters
    ----------
    fits : sequence of int
        For each row, the originals that fit it, as bits.
    originals : int
        How many originals there are.

    Examples
    --------
    >>> assign([0b11, 0b01], 2), assign([0b01, 0b01], 2)
    ([1, 0], None)
    """
    state = _Assignment(fits, (1 << originals) - 1, [-1] * len(fits), [-1] * originals)
    narrow_first = sorted(range(len(fits)), key=lambda row: fits[row].bit_count())
    waiting = [row for row in narrow_first if not state.take_free(row)]
    # Hopcroft and Karp: augment along a maximal set of shortest paths, until none is left.
    while waiting:
        layers = state.layers(waiting)
        if not layers:
            return None
        waiting = [row for row in waiting if not state.augment(row, layers)]
    return state.original_of


@dataclass
class _Assignment:
    """An assignment under construction; -1 means unassigned."""

    fits: Sequence[int]
    free: int
    original_of: list[int]
    row_of: list[int]

    def take_free(self, row: int) -> bool:
        """Assign a free original to a row; return whether there was one."""
        found = self.fits[row] & self.free
        if found:
            self._join([row], [_lowest(found)])
        return bool(found)

    def layers(self, waiting: Sequence[int]) -> list[int]:
        """Return the originals reached after one step, two steps, ..., up to the first free ones.

        A step goes from a row to the originals that fit it, and on to the rows that have them.
        Nothing is returned when no free original can be reached.
        """
        layers: list[int] = []
        unseen = (1 << len(self.row_of)) - 1
        rows = list(waiting)
        while rows:
            before = unseen
            for row in rows:
                unseen &= ~self.fits[row]
            reached = before ^ unseen
            if reached & self.free:
                return [*layers, reached & self.free]
            layers.append(reached)
            rows = [self.row_of[original] for original in _places(reached)]
        return []

    def augment(self, row: int, layers: list[int]) -> bool:
        """Follow the layers to a free original; each row on the path takes the next one's original."""
        rows, taken = [row], list[int]()
        while rows:
            depth = len(rows) - 1
            found = self.fits[rows[-1]] & layers[depth]
            if not found:
                rows.pop()
                del taken[-1:]
                continue
            taken.append(_lowest(found))
            layers[depth] ^= 1 << taken[-1]  # it leads to a free one now or never
            if depth == len(layers) - 1:
                self._join(rows, taken)
                return True
            rows.append(self.row_of[taken[-1]])
        return False

    def _join(self, rows: Sequence[int], originals: Sequence[int]) -> None:
        self.free ^= 1 << originals[-1]
        for row, original in zip(rows, originals, strict=True):
            self.original_of[row], self.row_of[original] = original, row


def consistent(fits: Sequence[int], original_of: Sequence[int], originals: int) -> Iterator[tuple[int, int]]:
    """Yield each row with the originals that some assignment gives it, as bits.

    A row can take another original if the row that has it can take yet another, and so on back to the
    original that the first row gave up: if both rows are in one strongly connected component. All
    originals that no row has belong to one extra row, which every original fits.

    Parameters
    ----------
    fits, originals
        As for `assign`.
    original_of : sequence of int
        An assignment.

    Examples
    --------
    >>> sorted(consistent([0b011, 0b011, 0b111], [0, 1, 2], 3))
    [(0, 3), (1, 3), (2, 4)]
    """
    all_originals = (1 << originals) - 1
    left_out = len(fits)
    row_of = [left_out] * originals
    unused = all_originals
    for row, original in enumerate(original_of):
        row_of[original] = row
        unused ^= 1 << original

    def own(row: int) -> int:
        return unused if row == left_out else 1 << original_of[row]

    every = [*fits, all_originals] if unused else fits
    for rows, behind in _components(every, own, row_of):
        for row in rows:
            if row != left_out:
                yield row, fits[row] & behind


def _components(
    fits: Sequence[int], own: Callable[[int], int], row_of: Sequence[int]
) -> Iterator[tuple[list[int], int]]:
    """Yield the rows of each strongly connected component, with the originals that they have.

    Gabow's algorithm: follow a path and contract its cycles. Only the sets of contracted pieces are
    used, so the work is one set operation per row, not per pair.
    """
    alive = (1 << len(row_of)) - 1  # the originals of rows that are in no component yet
    place = [-1] * len(fits)
    for start in range(len(fits)):
        if place[start] >= 0:
            continue
        path = [start]
        pieces = [(0, fits[start], own(start))]  # where on the path it begins, what fits it, what it has
        place[start] = 0
        while pieces:
            begin, fitting, having = pieces[-1]
            beyond = fitting & (alive ^ having)
            if not beyond:
                pieces.pop()
                alive ^= having
                yield path[begin:], having
                del path[begin:]
                continue
            row = row_of[_lowest(beyond)]
            if place[row] < 0:
                place[row] = len(path)
                pieces.append((len(path), fits[row], own(row)))
                path.append(row)
                continue
            while pieces[-1][0] > place[row]:
                _, fitting, having = pieces.pop()
                below = pieces[-1]
                pieces[-1] = (below[0], below[1] | fitting, below[2] | having)


def _lowest(bits: int) -> int:
    """Return the position of the lowest bit that is set."""
    return (bits & -bits).bit_length() - 1


def _places(bits: int) -> list[int]:
    """List the positions of the bits that are set."""
    return [place for place, bit in enumerate(reversed(f"{bits:b}")) if bit == "1"]
