"""Recover generalized values: from columns that are released unchanged, and from the box as a whole.

Both attackers know how often raw values go together, as from a census or a code book; here that is the
original without the person in question. A guess is right if the most frequent value that fits the published
cell is the person's; if two are equally frequent, it counts half.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np

from shoal.attacks.bits import runs
from shoal.attacks.counting import pairs
from shoal.attacks.result import Finding, Result, listed, mean_result, percent
from shoal.attacks.tables import Flags, Floats, Ints, Tables, together
from shoal.verifier.originals.axis import Axis

MIN_CELLS = 10  # generalized cells; of fewer, nothing is said
_NOTABLE = 0.2  # share of the cells that is recovered beyond what the cell alone shows
_TOGETHER = 3  # columns of a source
_SOURCES = 32  # sources that are tried
_SHOWN = 5
_CLASSES = 2000  # classes that are looked at
_WORK = 1 << 31  # pairs of a class and a person


class Inside(NamedTuple):
    """Classes that are looked at, and everybody inside their boxes: equal people once, with their number."""

    classes: Ints
    box: Ints  # position in `classes`
    kind: Ints  # raw class
    sampled: bool


def who_is_inside(tables: Tables) -> Inside:
    """Find who is inside each box, or inside a sample of the boxes."""
    axes = list(tables.quasi.values())
    first = one_of_each(tables.raw_classes)
    n_classes = len(tables.sizes)
    most = max(50, min(_CLASSES, _WORK // max(1, len(first))))
    classes = np.arange(n_classes)
    if n_classes > most:
        classes = np.sort(np.random.Generator(np.random.PCG64(0)).choice(n_classes, most, replace=False))
    boxes = [axis.of_boxes(classes) for axis in axes]
    found = list(pairs(boxes, [axis.of_points(first) for axis in axes]))
    none = np.array([], np.int64)
    box, kind = (np.concatenate([none, *(each[at] for each in found)]) for at in (0, 1))
    return Inside(classes, box, kind, n_classes > most)


def one_of_each(kind: Ints) -> Ints:
    """Return where each number occurs."""
    first = np.empty(int(kind.max(initial=-1)) + 1, np.int64)
    first[kind] = np.arange(len(kind))
    return first


def generalized(axis: Axis) -> Flags:
    """Return, for each cell, whether it covers more than one raw value."""
    begins, low, high = runs(axis)
    sums = np.append(0, np.cumsum(high + 1 - low))
    found: Flags = sums[begins[1:]] - sums[begins[:-1]] > 1
    return found


# From unchanged columns.


def recover(tables: Tables, inside: Inside) -> list[Result]:
    """Recover each quasi column that has generalized cells."""
    sources = list(_sources(tables))
    found = (_column(tables, name, sources, inside) for name in tables.quasi) if sources else ()
    return [result for result in found if result is not None]


def _sources(tables: Tables) -> Iterator[tuple[str, ...]]:
    """List choices of unchanged columns, fewest first, and all of them together."""
    names = [each for each in tables.unchanged if len(tables.unchanged[each].released)]
    choices = [each for size in range(1, _TOGETHER + 1) for each in combinations(names, size)]
    yield from choices[:_SOURCES]
    if len(names) > _TOGETHER or len(choices) > _SOURCES:
        yield tuple(names)


def _column(tables: Tables, name: str, sources: Sequence[tuple[str, ...]], inside: Inside) -> Result | None:
    axis = tables.quasi[name]
    hidden = generalized(axis)[axis.cells[inside.classes]]
    rows = int(tables.sizes[inside.classes][hidden].sum())
    if rows < MIN_CELLS:
        return None
    tried = [(names, _recovered(tables, axis, names, inside, hidden)) for names in sources]
    tried.sort(key=lambda each: (-each[1][0], len(each[0]), each[0]))
    names, (success, alone) = tried[0]
    finding: Finding = "exposed" if success - alone > _NOTABLE else "none"
    message = (
        f"{listed(names)} recover{'s' if len(names) == 1 else ''} {percent(success)} of the generalized "
        f"values of `{name}`; the published cell alone, {percent(alone)}."
    )
    details = {
        "cell_alone": alone,
        "sampled": inside.sampled,
        "sources": [{"columns": list(each), "success": rate[0]} for each, rate in tried[:_SHOWN]],
    }
    return mean_result(
        "recovery", "inference", success, rows, baseline=1.0, guess=_base(axis), finding=finding,
        message=message, columns=(name,), details=details,
    )  # fmt: skip


def _base(axis: Axis) -> float:
    return float(np.bincount(axis.codes).max() / len(axis.codes))


def _recovered(
    tables: Tables, axis: Axis, names: Sequence[str], inside: Inside, hidden: Flags
) -> tuple[float, float]:
    """Return the share of cells that a source recovers, and the share that the cell alone does.

    A released row may be anybody inside its box who has the row's values in the source.
    """
    raw, released = _source_codes(tables, names)
    width = int(max(raw.max(initial=0), released.max(initial=0))) + 1
    box, person_source, value, weight = _people(tables, axis, inside, hidden, raw, width)
    cell = axis.cells[inside.classes][box]
    right = _right(axis, raw, cell, person_source, value)
    nothing = np.zeros(len(cell), np.int64)
    by_cell = _right(axis, np.zeros(tables.n_people, np.int64), cell, nothing, value)
    right = np.where(np.isnan(right), by_cell, right)
    asked, place = np.unique(box * width + person_source, return_inverse=True)
    rows = _rows_with(tables, inside, hidden, released, width, asked)
    people = np.bincount(place, weight, len(asked))
    total = float(tables.sizes[inside.classes][hidden].sum())
    rates = [
        float((np.bincount(place, weight * each, len(asked)) / people * rows).sum()) / total
        for each in (right, np.nan_to_num(by_cell))
    ]
    return rates[0], rates[1]


def _source_codes(tables: Tables, names: Sequence[str]) -> tuple[Ints, Ints]:
    """Number the combinations of the source columns, of people and of released rows."""
    columns = [tables.unchanged[name] for name in names]
    n = tables.n_people
    both = together([(np.concatenate([c.raw, c.released]), c.size) for c in columns], n + tables.n_rows)
    return both[:n], both[n:]


def _people(
    tables: Tables, axis: Axis, inside: Inside, hidden: Flags, source: Ints, width: int
) -> tuple[Ints, Ints, Ints, Ints]:
    """List the people inside boxes, those with equal values once: box, source, quasi value, number."""
    key, times = np.unique(tables.raw_classes * width + source, return_counts=True)
    begins = np.searchsorted(key // width, np.arange(int(tables.raw_classes.max()) + 2))
    wanted = hidden[inside.box]
    box, kind = inside.box[wanted], inside.kind[wanted]
    number = begins[kind + 1] - begins[kind]
    at = np.arange(int(number.sum())) - np.repeat(np.cumsum(number) - number, number)
    at += np.repeat(begins[kind], number)
    value = axis.codes[one_of_each(tables.raw_classes)][np.repeat(kind, number)]
    return np.repeat(box, number), key[at] % width, value, times[at]


def _rows_with(
    tables: Tables, inside: Inside, hidden: Flags, released: Ints, width: int, asked: Ints
) -> Ints:
    """Count the released rows of each class and source."""
    rank = np.full(len(tables.sizes), -1)
    rank[inside.classes[hidden]] = np.flatnonzero(hidden)
    which = rank[tables.class_of_row]
    key, times = np.unique(which[which >= 0] * width + released[which >= 0], return_counts=True)
    place = np.minimum(np.searchsorted(key, asked), len(key) - 1)
    return np.where(key[place] == asked, times[place], 0)


def _right(axis: Axis, source_of_raw: Ints, cell: Ints, source: Ints, value: Ints) -> Floats:
    """Judge guesses from all others with the same source: 1, 0.5 for a tie, 0; NaN if there are none.

    Parameters
    ----------
    axis : Axis
        The generalized column.
    source_of_raw : ndarray of shape (n_people,)
        What is known of each person.
    cell, source, value : ndarrays
        For each guess the published cell, what is known, and the true value.
    """
    key, times = np.unique(source_of_raw * axis.size + axis.codes, return_counts=True)
    sums, maxima = np.append(0, np.cumsum(times)), _range_maxima(times)
    begins, low, high = runs(axis)
    number = begins[cell + 1] - begins[cell]
    at = np.repeat(np.arange(len(cell)), number)
    run = np.arange(len(at)) - np.repeat(np.cumsum(number) - number, number) + begins[cell][at]
    begin = source[at] * axis.size

    def between(first: Ints, last: Ints) -> tuple[Ints, Ints]:
        return np.searchsorted(key, begin + first), np.searchsorted(key, begin + last, side="right")

    left, right = between(low[run], high[run])
    total = np.bincount(at, sums[right] - sums[left], len(cell)) - 1
    others = np.zeros(len(cell), np.int64)
    for first, last in ((low[run], np.minimum(high[run], value[at] - 1)),
                        (np.maximum(low[run], value[at] + 1), high[run])):  # fmt: skip
        np.maximum.at(others, at, _maximum(maxima, *between(first, np.maximum(last, first - 1))))
    place = np.minimum(np.searchsorted(key, source * axis.size + value), len(key) - 1)
    own = np.where(key[place] == source * axis.size + value, times[place], 1) - 1
    judged = np.where(own > others, 1.0, np.where((own == others) & (own > 0), 0.5, 0.0))
    return np.where(total > 0, judged, np.nan)


def _range_maxima(values: Ints) -> list[Ints]:
    """Return the maxima of all stretches whose length is a power of two, by length."""
    table = [values]
    while 2 * (width := 1 << (len(table) - 1)) <= len(values):
        table.append(np.maximum(table[-1][:-width], table[-1][width:]))
    return table


def _maximum(table: list[Ints], begin: Ints, end: Ints) -> Ints:
    """Return the maxima of many stretches; 0 for an empty one."""
    found = np.zeros(len(begin), np.int64)
    length = end - begin
    for level, maxima in enumerate(table):
        which = np.flatnonzero((length >> level) == 1)
        found[which] = np.maximum(maxima[begin[which]], maxima[end[which] - (1 << level)])
    return found


# From the whole box.


def downcode(tables: Tables, inside: Inside) -> list[Result]:
    """Guess generalized values from the whole box: the most frequent one among all others who fit it."""
    if len(tables.quasi) < 2:
        return []
    found = (_downcoded(tables, name, inside) for name in tables.quasi)
    return [result for result in found if result is not None]


def _downcoded(tables: Tables, name: str, inside: Inside) -> Result | None:
    axis = tables.quasi[name]
    cells = axis.cells[inside.classes]
    hidden = generalized(axis)[cells]
    rows = np.where(hidden, tables.sizes[inside.classes], 0)
    if int(rows.sum()) < MIN_CELLS:
        return None
    box, value, people = _values_inside(tables, axis, inside)
    right = _right_in_box(box, people, len(cells))
    alone = _right(axis, np.zeros(tables.n_people, np.int64), cells[box], np.zeros(len(box), np.int64), value)
    crowd = np.maximum(1, np.bincount(box, people, len(cells)))
    success, by_cell = (
        float((np.bincount(box, people * each, len(cells)) / crowd * rows).sum() / rows.sum())
        for each in (right, np.nan_to_num(alone))
    )
    only = np.bincount(box, minlength=len(cells)) == 1  # one raw value fits the whole box
    certain = float(rows[only & hidden].sum() / rows.sum())
    finding: Finding = "exposed" if certain > 0 or success - by_cell > _NOTABLE else "none"
    message = (
        f"With the rest of the box, {percent(success)} of the generalized values of `{name}` can be guessed; "
        f"from the cell alone, {percent(by_cell)}. For {percent(certain)} of them only one value is possible."
    )
    details: dict[str, Any] = {"cell_alone": by_cell, "certain": certain, "sampled": inside.sampled}
    return mean_result(
        "downcoding", "inference", success, int(rows.sum()), baseline=1.0, guess=_base(axis),
        finding=finding, message=message, columns=(name,), details=details,
    )  # fmt: skip


def _values_inside(tables: Tables, axis: Axis, inside: Inside) -> tuple[Ints, Ints, Ints]:
    """Return the raw values of the people inside each box, and how many people have each."""
    value = axis.codes[one_of_each(tables.raw_classes)][inside.kind]
    times = np.bincount(tables.raw_classes)[inside.kind]
    key, place = np.unique(inside.box * axis.size + value, return_inverse=True)
    return key // axis.size, key % axis.size, np.bincount(place, times, len(key)).astype(np.int64)


def _right_in_box(box: Ints, people: Ints, n_boxes: int) -> Floats:
    """Judge, for each value inside a box, whether it is the most frequent without one of its people."""
    order = np.lexsort((-people, box))
    begins = np.searchsorted(box[order], np.arange(n_boxes))
    most, second = np.zeros(n_boxes, np.int64), np.zeros(n_boxes, np.int64)
    there = np.flatnonzero(np.bincount(box, minlength=n_boxes) > 0)
    most[there] = people[order][begins[there]]
    several = np.flatnonzero(np.bincount(box, minlength=n_boxes) > 1)
    second[several] = people[order][begins[several] + 1]
    others = np.where(people == most[box], second[box], most[box])
    own = people - 1
    return np.where(own > others, 1.0, np.where((own == others) & (own > 0), 0.5, 0.0))
