"""How many rows may be a person's, for one or many choices of columns: people and boxes compared as bits.

64 boxes with the same number of rows are a word. In each column, a box turns its bit on at the first code of
each run that it covers, and off behind the last; running exclusive ors over the codes then give the boxes
that cover each code. People have the words of their codes, and a choice of columns is an `and` of these.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import reduce

import numpy as np
import numpy.typing as npt

from shoal.attacks.tables import Floats, Ints
from shoal.verifier.originals.axis import Axis

Words = npt.NDArray[np.uint64]
Choice = tuple[int, ...]  # of columns, by their numbers

_WORD = 64
_PIECE = 1 << 17  # words of a column at a time: few enough for a fast cache


def rows_containing(axes: Sequence[Axis], choices: Sequence[Choice], sizes: Ints) -> Ints:
    """Return, for each choice of columns and each point, the rows of the boxes that contain the point.

    Parameters
    ----------
    axes : sequence of Axis
        The columns: codes of points, cells of boxes.
    choices : sequence of tuple of int
        Which of the columns count.
    sizes : ndarray of shape (n_boxes,)
        How many rows are published as each box.
    """
    n_points = len(axes[0].codes)
    found = np.zeros((len(choices), n_points))
    used = sorted({column for choice in choices for column in choice})
    columns = {column: _Runs.of(axes[column]) for column in used}
    for boxes in _pieces(sizes, max(1, _PIECE // max(1, n_points))):
        words = {column: runs.words(boxes) for column, runs in columns.items()}
        first: Choice = ()
        for at, choice in enumerate(choices):
            if choice[:-1] != first or at == 0:  # the next choice often differs in its last column alone
                first = choice[:-1]
                begun = reduce(np.bitwise_and, [words[column] for column in first]) if first else None
            inside = words[choice[-1]] if begun is None else begun & words[choice[-1]]
            found[at] += boxes.rows @ np.bitwise_count(inside)
    return np.rint(found).astype(np.int64)


@dataclass(frozen=True)
class _Boxes:
    """Some boxes: which, the word and the bit of each, and how many rows a bit of each word stands for."""

    which: Ints
    word: Ints
    bit: Words
    rows: Floats


def _pieces(sizes: Ints, n_words: int) -> Iterator[_Boxes]:
    """Put the boxes into words, those of the same size together; yield so many words at a time."""
    rows, group, counts = np.unique(sizes, return_inverse=True, return_counts=True)
    which = np.argsort(group, kind="stable")
    words_of = -(-counts // _WORD)
    rank = np.arange(len(sizes)) - np.repeat(np.cumsum(counts) - counts, counts)
    word = np.repeat(np.cumsum(words_of) - words_of, counts) + rank // _WORD
    bit = np.uint64(1) << (rank % _WORD).astype(np.uint64)
    rows_of_word = np.repeat(rows, words_of).astype(np.float64)
    for begin in range(0, len(rows_of_word), n_words):
        part = slice(*np.searchsorted(word, (begin, begin + n_words)))
        yield _Boxes(which[part], word[part] - begin, bit[part], rows_of_word[begin : begin + n_words])


@dataclass(frozen=True, repr=False)
class _Runs:
    """What each cell of a column covers, as runs of codes."""

    axis: Axis
    begins: Ints  # where each cell's runs begin
    low: Ints
    high: Ints

    @classmethod
    def of(cls, axis: Axis) -> _Runs:
        return cls(axis, *runs(axis))

    def words(self, boxes: _Boxes) -> Words:
        """Return, for each word and each point, which of the boxes cover the point."""
        cell = self.axis.cells[boxes.which]
        times = self.begins[cell + 1] - self.begins[cell]
        run = np.arange(int(times.sum())) + np.repeat(self.begins[cell] - (np.cumsum(times) - times), times)
        place, bit = np.repeat(boxes.word, times) * (self.axis.size + 1), np.repeat(boxes.bit, times)
        turns = np.zeros(len(boxes.rows) * (self.axis.size + 1), np.uint64)
        np.bitwise_xor.at(turns, place + self.low[run], bit)
        np.bitwise_xor.at(turns, place + self.high[run] + 1, bit)
        covers = np.bitwise_xor.accumulate(turns.reshape(len(boxes.rows), -1), axis=1)
        words: Words = np.take(covers, self.axis.codes, axis=1)
        return words


def runs(axis: Axis) -> tuple[Ints, Ints, Ints]:
    """Return what each cell covers as runs of codes: where each cell's runs begin, and their ends."""
    if axis.members is None:
        inside = axis.low <= axis.high
        begins = np.append(0, np.cumsum(inside))
        return begins, axis.low[inside], axis.high[inside]
    starts = np.append(True, np.diff(axis.members) != 1) | (axis.members % axis.size == 0)
    ends = np.append(starts[1:], True)
    cell = axis.members[starts] // axis.size
    begins = np.searchsorted(cell, np.arange(len(axis.low) + 1))
    return begins, axis.members[starts] % axis.size, axis.members[ends] % axis.size
