"""Several views of the same people: the check of section 5 of the project's specification, and the truth.

Plain Python over what was published and what it was made from; nothing of how. `check` is the check as
section 5 defines it. `consistent_values` tries every world, for tables of up to 6 rows: what the check stands
in for.

An original is a dict: column -> value, quasi and sensitive ones, None for missing. A view is a list of
released rows; a released row is (box, sensitive): box maps the view's quasi columns to pieces as in
nonhomogeneous.py, sensitive maps columns to the values published. Every view has one released row for each
original, in any order; suppressed originals are not among those handed in. The *shared* tuple has, in
alphabetical order, the columns that the sensitive parts of all views have.

`own_labels[v][i]` is the number of a released row of i's class in view v: any of them, for only its box is
used. The label of a released row is its box. Rows of two classes with equal boxes have one label, because
nothing that is published tells them apart.

The check, where section 5 leaves something open. Of two readings the one that refuses more is taken:
- "The worse of the two counts" is the smaller of |M(i)| from the boxes that contain i and |M(i)| from i's own
  labels. A label's rows are among those whose box contains i, so with labels it is always the second one.
- Every goal must hold on both multisets; a goal is a function from a Counter of shared tuples to bool.
- "i's own boxes", J(i), and "its classes" need i's own rows. Without `own_labels`, i's row may be any whose
  box contains i and which has i's shared tuple; the requirement on J must hold for every choice of one such
  row in each view, and the J reported is the smallest. |M(i)| then comes from the boxes only.
- J(i) counts i too, as k does. Equal people count one by one.
- "Occurs at least k times in each of its classes": in the class of i's label, in every view.
- A missing sensitive value is a value like any other: as it is published it links as well as any other.
- Without a shared column every tuple is (): |M(i)| is the smallest |C_v(i)|, and nothing links the views.
- One view is checked in the same way. The table is refused when one person is.
- Columns that some of the views share but not all are not in the tuple. Whoever has such views calls the
  check for each set of views; leaving a view out may make it stricter.

The truth. A *world* gives every view a bijection between its released rows and the people, such that each box
contains its person, and all views agree on every person's shared tuple. With `own_labels` the attacker knows
everybody's label as well: a row goes only to a person of its label.
- All worlds are equally likely. Equal released rows are different; as that multiplies the number of worlds by
  the same factor everywhere, no share depends on it.
- The attacker knows all quasi values, and does not use that boxes are the smallest ones, nor the algorithm.
- A person is *disclosed* when one shared tuple is possible in all worlds, while each view alone leaves more:
  what one view alone gives away is not the doing of their composition.
- Sensitive columns that are not shared are not looked at.
"""

from collections import Counter
from fractions import Fraction
from itertools import product
from typing import NamedTuple

from tests.reference.nonhomogeneous import contains

REFUSED = "refused"
NO_ATTACK_FOUND = "no attack found"
MOST_ROWS = 6


class Person(NamedTuple):
    """The numbers of one original. What depends on own labels is None when these were not given."""

    c_box: list[int]  # |C_v(i)| by boxes, one for each view
    c_label: list[int] | None  # the same by i's own label
    m_box: Counter
    m_label: Counter | None
    m: int  # |M(i)|, the worse of the two
    j: int
    exempt: bool  # i's shared tuple occurs at least k times in each of its classes
    holds: bool


class Verdict(NamedTuple):
    """What the check says of each person, and of the table."""

    people: list[Person]
    verdict: str


class Values(NamedTuple):
    """The shared tuples that one person may have."""

    worlds: Counter  # shared tuple -> number of worlds, over all views
    alone: list[set]  # for each view by itself, the shared tuples possible
    disclosed: bool
    largest_share: Fraction


def inside(box, person):
    """Whether the box contains the person."""
    return all(contains(piece, person[column]) for column, piece in box.items())


def shared_columns(views):
    """The sensitive columns that every row of every view has."""
    return sorted(set.intersection(*(set(sensitive) for view in views for _, sensitive in view)))


def tuple_of(values, columns):
    """The shared tuple of an original, or of the sensitive part of a released row."""
    return tuple(values[column] for column in columns)


def with_label(view, own):
    """The released rows that have the label of this one."""
    return [at for at, (box, _) in enumerate(view) if box == view[own][0]]


def must_fit(originals, views):
    """Refuse what no release can be."""
    if not views or not originals:
        raise ValueError("there must be a view and an original")
    if any(len(view) != len(originals) for view in views):
        raise ValueError("every view must have as many released rows as there are originals")


def left_over(views, chosen, columns):
    """M(i): for each shared tuple the smallest count over the views, of the chosen rows of each."""
    counts = [
        Counter(tuple_of(view[at][1], columns) for at in rows)
        for view, rows in zip(views, chosen, strict=True)
    ]
    least = counts[0]
    for count in counts[1:]:
        least = least & count  # the smaller of two counts
    return least


def own_rows(originals, views, columns, i, own_labels):
    """For each view, the released rows that may be i's own one, as far as their boxes matter."""
    mine = tuple_of(originals[i], columns)
    choices = []
    for v, view in enumerate(views):
        if own_labels is None:
            candidates = [at for at, (box, _) in enumerate(view) if inside(box, originals[i])]
            fits = [at for at in candidates if tuple_of(view[at][1], columns) == mine]
        else:
            own = own_labels[v][i]
            has = any(tuple_of(view[at][1], columns) == mine for at in with_label(view, own))
            fits = [own] if has and inside(view[own][0], originals[i]) else []
        if not fits:
            raise ValueError(f"view {v} has no row that can be of original {i}")
        choices.append(fits)
    return choices


def check_person(originals, views, k, i, own_labels, goals):
    """The check for one original."""
    columns = shared_columns(views)
    mine = tuple_of(originals[i], columns)
    around = [[at for at, (box, _) in enumerate(view) if inside(box, originals[i])] for view in views]
    m_box, c_label, m_label = left_over(views, around, columns), None, None
    if own_labels is not None:
        labelled = [with_label(view, own_labels[v][i]) for v, view in enumerate(views)]
        c_label, m_label = [len(rows) for rows in labelled], left_over(views, labelled, columns)
    multisets = [m_box] if m_label is None else [m_box, m_label]
    m = min(multiset.total() for multiset in multisets)

    joint, exemptions, j_holds = [], [], True
    for own in product(*own_rows(originals, views, columns, i, own_labels)):
        boxes = [view[at][0] for view, at in zip(views, own, strict=True)]
        j = sum(all(inside(box, person) for box in boxes) for person in originals)
        classes = [with_label(view, at) for view, at in zip(views, own, strict=True)]
        exempt = all(
            sum(tuple_of(view[at][1], columns) == mine for at in rows) >= k
            for view, rows in zip(views, classes, strict=True)
        )
        joint.append(j)
        exemptions.append(exempt)
        j_holds = j_holds and (j >= k or exempt)

    holds = m >= k and j_holds and all(goal(multiset) for goal in goals for multiset in multisets)
    c_box = [len(rows) for rows in around]
    return Person(c_box, c_label, m_box, m_label, m, min(joint), all(exemptions), holds)


def check(originals, views, k, own_labels=None, goals=()) -> Verdict:
    """The check of section 5. It is necessary, not sufficient: it never says "safe"."""
    must_fit(originals, views)
    people = [check_person(originals, views, k, i, own_labels, goals) for i in range(len(originals))]
    return Verdict(people, NO_ATTACK_FOUND if all(person.holds for person in people) else REFUSED)


def assignments(originals_quasi, view, columns, labels=None):
    """Everybody's shared tuples in one view -> the number of bijections that say so."""
    n = len(originals_quasi)
    fits = [
        [
            at
            for at, (box, _) in enumerate(view)
            if inside(box, person) and (labels is None or box == view[labels[i]][0])
        ]
        for i, person in enumerate(originals_quasi)
    ]
    found = Counter()

    def give(taken):
        if len(taken) == n:
            found[tuple(tuple_of(view[at][1], columns) for at in taken)] += 1
            return
        for at in fits[len(taken)]:
            if at not in taken:
                give((*taken, at))

    give(())
    return found


def values_of(i, worlds, alone):
    """What the worlds of all views, and those of each view alone, say of person i."""
    over_all = Counter()
    for everybody, number in worlds.items():
        over_all[everybody[i]] += number
    by_view = [{everybody[i] for everybody in of_view} for of_view in alone]
    disclosed = len(over_all) == 1 and all(len(possible) > 1 for possible in by_view)
    return Values(over_all, by_view, disclosed, Fraction(max(over_all.values()), over_all.total()))


def consistent_values(originals_quasi, views, own_labels=None) -> list[Values]:
    """For every person the shared tuples possible in all consistent worlds, by brute force."""
    must_fit(originals_quasi, views)
    if len(originals_quasi) > MOST_ROWS:
        raise ValueError(f"brute force is for up to {MOST_ROWS} rows")
    columns = shared_columns(views)
    alone = [
        assignments(originals_quasi, view, columns, None if own_labels is None else own_labels[v])
        for v, view in enumerate(views)
    ]
    worlds = alone[0]
    for of_view in alone[1:]:
        worlds = Counter({who: worlds[who] * of_view[who] for who in worlds if who in of_view})
    if not worlds:
        raise ValueError("there is no consistent world: the views were not made from these originals")
    return [values_of(i, worlds, alone) for i in range(len(originals_quasi))]
