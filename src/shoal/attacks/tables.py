"""The raw table and the released one, as an attacker reads them: from the written file alone.

Cells are read by the verifier's readers, which share no code with what makes a release and also understand
what other tools write.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from shoal.errors import DataError, Fault
from shoal.recipe import ANATOMY_COUNT, ANATOMY_GROUP, Recipe
from shoal.verifier.cells.covers import Cover, Key, Span, reading
from shoal.verifier.header import released_columns
from shoal.verifier.originals.axis import Axis, covering_axis
from shoal.verifier.originals.pairing import comparable_texts, published_as
from shoal.verifier.reading.apostrophe import plain
from shoal.verifier.reading.load import Loaded
from shoal.verifier.reading.session import Session

Ints = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]
Floats = npt.NDArray[np.float64]
Cell = tuple[str | None, ...]

_DOTTED = re.compile(r"([^.\s][^\s]*?)\s*\.\.\s*([^.\s][^\s]*)")  # 20..30, which some tools write


@dataclass(frozen=True, repr=False)
class Values:
    """A column that both tables have unchanged.

    Parameters
    ----------
    raw : ndarray of shape (n_people,)
        The value of each person; sorted values are numbered from 0.
    released : ndarray of shape (n_rows,)
        The value of each released row.
    texts : list of str or None
        The values; None for missing, which comes last.
    """

    raw: Ints
    released: Ints
    texts: list[str | None]

    @property
    def size(self) -> int:
        """The number of different values, missing among them."""
        return len(self.texts)

    @property
    def missing(self) -> int:
        """The number of the missing value; -1 without one."""
        return self.size - 1 if self.texts and self.texts[-1] is None else -1


@dataclass(frozen=True, repr=False)
class Counts:
    """How often each value occurs in each class: only what occurs."""

    group: Ints
    value: Ints
    times: Ints
    n_groups: int


class Ends(NamedTuple):
    """For each cell: whether it is a range, and whether its low and its high end are raw values."""

    is_range: Flags
    low: Flags
    high: Flags


@dataclass(frozen=True, repr=False)
class Tables:
    """A raw table and a release of it.

    Parameters
    ----------
    recipe : Recipe
        What was promised.
    quasi : dict of str to Axis
        For each quasi column the code of each person, and for each class the cell that it publishes. Classes
        are released rows with the same published texts.
    class_of_row : ndarray of shape (n_rows,)
        The class of each released row.
    unchanged : dict of str to Values
        The sensitive and the kept columns that both tables have.
    extra : dict of str to Values or Texts
        Columns of the file that the recipe does not release; `raw` is empty if the raw table lacks them.
    position : ndarray of shape (n_people,)
        Where each person is in the original. A row that the recipe leaves out is nobody.
    groups : dict of str to Counts
        For two tables, how often each group has each sensitive value.
    group_of_row : ndarray of shape (n_rows,), optional
        For two tables, the group of each row.
    people : ndarray of shape (n_people,), optional
        The person (subject) whom each raw row is about.
    ends : dict of str to Ends
        The ends of the ranges of each column that has any.
    """

    recipe: Recipe
    quasi: dict[str, Axis]
    class_of_row: Ints
    unchanged: dict[str, Values]
    extra: dict[str, Values]
    position: Ints
    n_original: int
    groups: dict[str, Counts] = field(default_factory=dict)
    group_of_row: Ints | None = None
    people: Ints | None = None
    ends: dict[str, Ends] = field(default_factory=dict)

    @property
    def k(self) -> int:
        """What is promised."""
        return self.recipe.privacy.k

    @property
    def n_people(self) -> int:
        """The raw rows that may be in the release."""
        return len(self.position)

    @property
    def n_rows(self) -> int:
        """The released rows."""
        return len(self.class_of_row)

    @cached_property
    def sizes(self) -> Ints:
        """The rows of each class."""
        return np.bincount(self.class_of_row)

    @property
    def has_boxes(self) -> bool:
        """Whether a published cell contains the raw values behind it; typical values do not."""
        return self.recipe.output.values == "generalize"

    @property
    def sensitive(self) -> list[str]:
        """The sensitive columns that can be attacked."""
        return [
            name for name in self.recipe.named("sensitive") if name in self.unchanged or name in self.groups
        ]

    @property
    def kept(self) -> list[str]:
        """The kept columns of the release."""
        return [name for name in self.recipe.named("keep") if name in self.unchanged]

    @cached_property
    def raw_classes(self) -> Ints:
        """The class of each person in the raw table: people with equal quasi values."""
        return together([(axis.codes, axis.size) for axis in self.quasi.values()], self.n_people)

    def counts(self, name: str) -> Counts:
        """Return how often each class (or group) has each value of a sensitive column."""
        if name in self.groups:
            return self.groups[name]
        column = self.unchanged[name]
        return count_pairs(self.class_of_row, column.released, column.size, len(self.sizes))

    @property
    def inference_class_of_row(self) -> Ints:
        """The class that shows the sensitive values of each row."""
        return self.class_of_row if self.group_of_row is None else self.group_of_row


def together(columns: Sequence[tuple[Ints, int]], n: int) -> Ints:
    """Number the combinations of several columns, in their order.

    Examples
    --------
    >>> together([(np.array([1, 0, 1]), 2), (np.array([5, 3, 5]), 9)], 3).tolist()
    [1, 0, 1]
    """
    key, width = np.zeros(n, np.int64), 1
    for codes, size in columns:
        if width * max(1, size) >= 1 << 62:
            key = np.unique(key, return_inverse=True)[1].astype(np.int64)
            width = int(key.max(initial=-1)) + 1
        key, width = key * max(1, size) + codes, width * max(1, size)
    if width <= 4 * n:  # counting is faster than sorting
        there = np.bincount(key, minlength=1) > 0
        return (np.cumsum(there) - 1)[key]
    return np.unique(key, return_inverse=True)[1].astype(np.int64)


def count_pairs(group: Ints, value: Ints, n_values: int, n_groups: int) -> Counts:
    """Count the pairs of a group and a value."""
    pairs, times = np.unique(group * n_values + value, return_counts=True)
    return Counts(pairs // n_values, pairs % n_values, times.astype(np.int64), n_groups)


def read_tables(session: Session, original: Loaded, released: Loaded, recipe: Recipe) -> Tables:
    """Read both tables.

    Raises
    ------
    DataError
        When a quasi column is missing from one of them, or its labels cannot be read.
    """
    _refuse_missing(original, released, recipe)
    published = {name: published_as(released, name) for name in recipe.quasi}
    if not released.rows:
        raise DataError("data.empty", "The release has no rows.", "give a release with rows")
    cells = _texts(session, released, [made for names in published.values() for made in names])
    raw = _texts(session, original, list(published))
    keys = {name: _combined([cells[made] for made in names]) for name, names in published.items()}
    class_of_row = together([(of_row, len(labels)) for labels, of_row in keys.values()], released.rows)
    first = _first(class_of_row)
    axes: dict[str, Axis] = {}
    present = np.ones(original.rows, np.bool_)
    faults = []
    ends = {}
    for name, (labels, of_row) in keys.items():
        texts, of_person = raw[name]
        read = reading(recipe, name, set(texts), original.stored(name))
        is_boxed = recipe.output.values == "generalize"
        covers = [_cover(read.cover, _plain(label, released.marked)) for label in labels] if is_boxed else []
        unread = np.array([isinstance(cover, frozenset) and not cover for cover in covers], np.bool_)
        if unread.any():
            faults.append(_unread(name, int(unread[of_row].sum()), int(unread.sum())))
        keys_of_texts = [read.key(text) for text in texts]
        axes[name] = covering_axis(keys_of_texts, of_person, covers or [None] * len(labels), of_row[first])
        if any(isinstance(cover, Span) for cover in covers):
            ends[name] = _ends(covers, set(keys_of_texts))
        if recipe.privacy.missing == "suppress":
            present &= ~np.array([key is None for key in keys_of_texts], np.bool_)[of_person]
    if faults:
        raise DataError.from_faults(faults)
    position = np.flatnonzero(present)
    if not len(position):
        raise DataError("data.empty", "The original has no rows that may be released.", "give the raw table")
    return Tables(
        recipe,
        {name: axis.of_points(position) for name, axis in axes.items()},
        class_of_row,
        _unchanged(session, original, released, recipe, position),
        _extra(session, original, released, recipe, position),
        position,
        original.rows,
        people=_people(session, original, recipe, position),
        ends=ends,
    )


def _ends(covers: Sequence[Cover], keys: Collection[Key]) -> Ends:
    spans = [cover if isinstance(cover, Span) else None for cover in covers]
    low = [span is not None and span.low in keys and not span.without_low for span in spans]
    high = [span is not None and span.high in keys and not span.without_high for span in spans]
    return Ends(np.array([span is not None for span in spans]), np.array(low), np.array(high))


def _refuse_missing(original: Loaded, released: Loaded, recipe: Recipe) -> None:
    absent = [name for name in recipe.quasi if not published_as(released, name)]
    unknown = [name for name in recipe.quasi if not original.has_once(name)]
    for names, which in ((unknown, "original"), (absent, "release")):
        if names:
            columns = ", ".join(f"`{name}`" for name in names)
            message = f"Quasi columns that the {which} does not have, or has twice: {columns}."
            raise DataError("data.unreadable", message, "give the recipe that the release was made with")
    if not original.rows:
        raise DataError("data.empty", "The original has no rows.", "give the raw table")


def _texts(
    session: Session, loaded: Loaded, names: Sequence[str]
) -> dict[str, tuple[list[str | None], Ints]]:
    """Return the distinct texts of columns, and which of them each row has."""
    if not names:
        return {}
    columns = ", ".join(f"{loaded.column(name)} AS x{at}" for at, name in enumerate(names))
    found = session.table(f"SELECT {columns} FROM {loaded.table}")
    texts = {}
    for at, name in enumerate(names):
        encoded: Any = found.column(at).combine_chunks().dictionary_encode(null_encoding="encode")
        texts[name] = encoded.dictionary.to_pylist(), encoded.indices.to_numpy().astype(np.int64)
    return texts


def _combined(columns: Sequence[tuple[list[str | None], Ints]]) -> tuple[list[Cell], Ints]:
    """Combine one column or two bounds: the distinct labels, and which of them each row has."""
    key = np.zeros(len(columns[0][1]), np.int64)
    for texts, of_row in columns:
        key = key * len(texts) + of_row
    _, first, label = np.unique(key, return_index=True, return_inverse=True)
    return [tuple(texts[of_row[at]] for texts, of_row in columns) for at in first], label.astype(np.int64)


def _plain(label: Cell, marked: bool) -> Cell:
    return tuple(plain(text) if marked and text is not None else text for text in label)


def _cover(cover: Callable[[Sequence[str | None]], Cover], label: Cell) -> Cover:
    """Read a label; ``20..30`` is a range, which only attackers need to understand."""
    found = cover(label)
    if isinstance(found, frozenset) and len(label) == 1 and label[0]:
        dotted = _DOTTED.fullmatch(label[0])
        if dotted:
            return cover((f"[{dotted[1]}, {dotted[2]}]",)) or found
    return found


def _unread(name: str, cells: int, labels: int) -> Fault:
    message = (
        f"Column `{name}` of the release has {cells:,} cells with {labels:,} different labels that cannot "
        "be read."
    )
    hint = "give the recipe with the kind, the order or the hierarchy that the release was made with"
    return Fault("data.labels", message, hint)


def _first(class_of_row: Ints) -> Ints:
    """Return a row of each class."""
    first = np.empty(int(class_of_row.max(initial=-1)) + 1, np.int64)
    first[class_of_row[::-1]] = np.arange(len(class_of_row))[::-1]
    return first


def _unchanged(
    session: Session, original: Loaded, released: Loaded, recipe: Recipe, position: Ints
) -> dict[str, Values]:
    both = [n for n in recipe.unchanged if released.has_once(n) and original.has_once(n)]
    return _values(session, original, released, recipe, both, position)


def _extra(
    session: Session, original: Loaded, released: Loaded, recipe: Recipe, position: Ints
) -> dict[str, Values]:
    """Read the columns that are not promised; without their raw values if the original lacks them."""
    promised = {*released_columns(recipe, released.names), *_bounds(released, recipe)}
    found = [name for name in released.names if name not in promised and released.has_once(name)]
    both = [name for name in found if original.has_once(name)]
    others = _texts(session, released, [name for name in found if name not in both])
    known = _values(session, original, released, recipe, both, position)
    return known | {n: Values(np.array([], np.int64), of_row, texts) for n, (texts, of_row) in others.items()}


def _bounds(released: Loaded, recipe: Recipe) -> list[str]:
    return [made for name in recipe.quasi for made in published_as(released, name)]


def _values(
    session: Session,
    original: Loaded,
    released: Loaded,
    recipe: Recipe,
    names: Collection[str],
    position: Ints,
) -> dict[str, Values]:
    names = list(names)
    raw, published = _texts(session, original, names), _texts(session, released, names)
    values = {}
    for name in names:
        forms = [
            comparable_texts(session, texts, recipe.input.missing, marked=marked)
            for texts, marked in ((raw[name][0], False), (published[name][0], released.marked))
        ]
        known = {form for side in forms for form in side}
        texts: list[str | None] = [*sorted(form for form in known if form is not None)]
        texts += [None] if None in known else []
        number = {form: at for at, form in enumerate(texts)}
        codes = [np.array([number[form] for form in side], np.int64) for side in forms]
        values[name] = Values(codes[0][raw[name][1]][position], codes[1][published[name][1]], texts)
    return values


def _people(session: Session, original: Loaded, recipe: Recipe, position: Ints) -> Ints | None:
    if recipe.subject is None or not original.has_once(recipe.subject):
        return None
    return _texts(session, original, [recipe.subject])[recipe.subject][1][position]


def read_two_tables(
    session: Session, original: Loaded, quasi: Loaded, sensitive: Loaded, recipe: Recipe
) -> Tables:
    """Read a release in two tables: quasi values with a group, and the values of each group."""
    tables = read_tables(session, original, quasi, recipe)
    names = [
        name for name in recipe.named("sensitive") if sensitive.has_once(name) and original.has_once(name)
    ]
    for loaded, needed in ((quasi, [ANATOMY_GROUP]), (sensitive, [ANATOMY_GROUP, ANATOMY_COUNT])):
        if not all(map(loaded.has_once, needed)):
            message = f"A table of the release lacks the columns that link the two: {', '.join(needed)}."
            raise DataError("data.unreadable", message, "give the two files as they were released")
    of_row = _texts(session, quasi, [ANATOMY_GROUP])[ANATOMY_GROUP]
    linking = _texts(session, sensitive, [ANATOMY_GROUP, ANATOMY_COUNT])
    number = {text: at for at, text in enumerate(sorted({*of_row[0], *linking[ANATOMY_GROUP][0]}, key=str))}
    group_of_row = np.array([number[text] for text in of_row[0]], np.int64)[of_row[1]]
    texts, of_line = linking[ANATOMY_GROUP]
    group = np.array([number[text] for text in texts], np.int64)[of_line]
    texts, of_line = linking[ANATOMY_COUNT]
    times = np.array([int(text) if text and text.isdigit() else 0 for text in texts], np.int64)[of_line]
    values = _values(session, original, sensitive, recipe, names, tables.position)
    groups = {name: Counts(group, column.released, times, len(number)) for name, column in values.items()}
    unchanged = {name: v for name, v in tables.unchanged.items() if name not in names}
    raw_only = {name: Values(v.raw, np.array([], np.int64), v.texts) for name, v in values.items()}
    extra = {name: v for name, v in tables.extra.items() if name != ANATOMY_GROUP}
    return Tables(
        recipe, tables.quasi, tables.class_of_row, unchanged | raw_only, extra, tables.position,
        tables.n_original, groups, group_of_row, tables.people, tables.ends,
    )  # fmt: skip
