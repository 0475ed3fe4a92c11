"""What several views say together of each person: the values left over, and the people who share boxes."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from shoal.arrays import IntArray, LongArray
from shoal.kernels.compiling import entry, inner

BY_BOXES, NOT_IN = -1, -2  # in place of a class: any class whose box contains the person, or none
MOST = np.int64(1) << 62
ROOT = 0  # the depth of a search at which only the boxes that are known count
ANY, RARE = range(2)  # the rows of J: in all cases, and where the value is rare in some class
SEEN = 64  # different sets of people that are distinguished at each view


class Boxes(NamedTuple):
    """The boxes of all classes of all views: a piece for each column that a view speaks about."""

    column: np.ndarray  # int32 (entries): column of each entry; a view's entries are adjacent
    entry_at: np.ndarray  # int64 (n_views + 1): where a view's entries begin
    piece_at: np.ndarray  # int64 (entries): where an entry's pieces begin, one for each class
    low: np.ndarray  # int32 (pieces)
    high: np.ndarray  # int32 (pieces)
    begin: np.ndarray  # int64 (pieces): where a piece's list of codes begins
    end: np.ndarray  # int64 (pieces): the same as `begin` where all from low to high are inside
    members: np.ndarray  # int32: the lists, each ascending
    n_classes: np.ndarray  # int64 (n_views)


class Counts(NamedTuple):
    """How often each value appears in each class: for each class a list of values, ascending."""

    class_at: np.ndarray  # int64 (n_views): number of a view's first class
    begin: np.ndarray  # int64 (all classes + 1)
    value: np.ndarray  # int32
    rows: np.ndarray  # int32


class Cases(NamedTuple):
    """What is asked: a person, its value, and its class in each view or `BY_BOXES` or `NOT_IN`."""

    person: np.ndarray  # int32 (n)
    value: np.ndarray  # int32 (n)
    label: np.ndarray  # int32 (n_views, n)
    rare: np.ndarray  # bool (n): the value occurs fewer than k times in some class that is known


class Limits(NamedTuple):
    """How often a value must occur in a class, and how many choices of own rows are tried for a person."""

    k: int
    budget: int


class People(NamedTuple):
    """The different people: codes, how many are alike, and which views they are in."""

    codes: np.ndarray  # int32 (n_columns, n)
    weight: np.ndarray  # int64 (n)
    views: np.ndarray  # int64 (n): a bit for each view


class Search(NamedTuple):
    """Room for one search over the rows that may be a person's own."""

    people: np.ndarray  # int32 (n_views + 1, n): those inside the boxes chosen so far
    n_people: np.ndarray  # int64 (n_views + 1)
    at: np.ndarray  # int64 (n_views): the next candidate of each view
    rare: np.ndarray  # bool (n_views + 1): the value is rare in some class chosen so far
    seen: np.ndarray  # uint64 (n_views, SEEN): sets of people that were met
    n_seen: np.ndarray  # int64 (n_views)


class Candidates(NamedTuple):
    """The classes that may be a person's own, view by view."""

    of_view: np.ndarray  # int64 (n_views): Numba takes `.view` for a cast
    begin: np.ndarray  # int64 (n_views + 1)
    number: np.ndarray  # int32: class
    rare: np.ndarray  # bool: the person's value occurs fewer than k times in it


@inner
def place_of(values, begin, end, value):
    """Return the first place from `begin` to `end` where a value is not below this one; they ascend."""
    while begin < end:
        middle = (begin + end) // 2
        if values[middle] < value:
            begin = middle + 1
        else:
            end = middle
    return begin


@inner
def is_inside(boxes, view, number, codes, person):
    """Return whether the box of a class contains a person."""
    for place in range(boxes.entry_at[view], boxes.entry_at[view + 1]):
        code = codes[boxes.column[place], person]
        piece = boxes.piece_at[place] + number
        if code < boxes.low[piece] or code > boxes.high[piece]:
            return False
        first, end = boxes.begin[piece], boxes.end[piece]
        if first < end:
            at = place_of(boxes.members, first, end, code)
            if at == end or boxes.members[at] != code:
                return False
    return True


@entry
def count_outside(boxes, label, codes):
    """Count the people (n) who are outside the box of one of their classes; `label` is (n_views, n)."""
    outside = 0
    for person in range(label.shape[1]):
        for view in range(label.shape[0]):
            number = label[view, person]
            if number >= 0 and not is_inside(boxes, view, number, codes, person):
                outside += 1
                break
    return outside


@inner
def rows_with(counts, view, number, value):
    """Count the rows of a class that have a value."""
    at = counts.class_at[view] + number
    first, end = counts.begin[at], counts.begin[at + 1]
    found = place_of(counts.value, first, end, value)
    if found < end and counts.value[found] == value:
        return counts.rows[found]
    return np.int32(0)


@entry
def mark_possible(boxes, counts, view, codes, value, possible):
    """Return whether a view can have a row of each person with its value. Writes `possible`."""
    for person in range(value.shape[0]):
        for number in range(boxes.n_classes[view]):
            if (
                is_inside(boxes, view, number, codes, person)
                and rows_with(counts, view, number, value[person]) > 0
            ):
                possible[person] = True
                break


@inner
def add_class(counts, view, number, total):
    """Add the rows of a class, value by value. Writes `total`."""
    at = counts.class_at[view] + number
    for place in range(counts.begin[at], counts.begin[at + 1]):
        total[counts.value[place]] += counts.rows[place]


@entry
def write_left_over(boxes, counts, cases, codes, first, here, left):
    """Compute M of as many cases as `left` has rows, the first one given. Writes `left` (cases, values).

    `here` (values) is scratch.
    """
    for row in range(left.shape[0]):
        case = first + row
        is_first = True
        for view in range(cases.label.shape[0]):
            label = cases.label[view, case]
            if label == NOT_IN:
                continue
            for value in range(left.shape[1]):
                here[value] = 0
            if label == BY_BOXES:
                for number in range(boxes.n_classes[view]):
                    if is_inside(boxes, view, number, codes, cases.person[case]):
                        add_class(counts, view, number, here)
            else:
                add_class(counts, view, label, here)
            for value in range(left.shape[1]):
                left[row, value] = here[value] if is_first else min(left[row, value], here[value])
            is_first = False


def leave_over(
    boxes: Boxes, counts: Counts, cases: Cases, codes: IntArray, first: int, left: IntArray
) -> None:
    """Compute M of some cases; see `write_left_over`."""
    write_left_over(boxes, counts, cases, codes, first, np.zeros(left.shape[1], np.int32), left)


@inner
def keep_inside(boxes, view, number, codes, people, n_people, kept):
    """Keep the people whom one more box contains; return how many. Writes `kept`."""
    n_kept = 0
    for at in range(n_people):
        if is_inside(boxes, view, number, codes, people[at]):
            kept[n_kept] = people[at]
            n_kept += 1
    return n_kept


@inner
def total_weight(people, n_people, weight):
    """Count people, those who are alike one by one."""
    total = np.int64(0)
    for at in range(n_people):
        total += weight[people[at]]
    return total


@inner
def fingerprint(people, n_people, rare):
    """Hash a set of people."""
    state = np.uint64(0x9E3779B97F4A7C15) + np.uint64(rare)
    for at in range(n_people):
        state = (state ^ np.uint64(people[at])) * np.uint64(0xBF58476D1CE4E5B9)
        state ^= state >> np.uint64(29)
    return state


@inner
def is_new(search, depth, mark):
    """Return whether a set of people was not met before at this view. Writes `search`."""
    for at in range(search.n_seen[depth]):
        if search.seen[depth, at] == mark:
            return False
    if search.n_seen[depth] < SEEN:
        search.seen[depth, search.n_seen[depth]] = mark
        search.n_seen[depth] += 1
    return True


@inner
def find_candidates(boxes, counts, cases, case, codes, k, candidates):
    """List the classes that may be the person's own in the views that leave it open; return these views.

    Writes `candidates`.
    """
    n_views, n_found = 0, 0
    value = cases.value[case]
    candidates.begin[0] = 0
    for view in range(cases.label.shape[0]):
        if cases.label[view, case] != BY_BOXES:
            continue
        for number in range(boxes.n_classes[view]):
            if is_inside(boxes, view, number, codes, cases.person[case]):
                rows = rows_with(counts, view, number, value)
                if rows > 0:
                    candidates.number[n_found] = number
                    candidates.rare[n_found] = rows < k
                    n_found += 1
        candidates.of_view[n_views] = view
        n_views += 1
        candidates.begin[n_views] = n_found
    return n_views


@inner
def weigh_common(boxes, codes, weight, candidates, n_views, search):
    """Count the people inside all candidates of all views: fewer than any choice leaves."""
    n_people = search.n_people[ROOT]
    total = np.int64(0)
    for at in range(n_people):
        person = search.people[ROOT, at]
        common = True
        for depth in range(n_views):
            for one in range(candidates.begin[depth], candidates.begin[depth + 1]):
                if common:
                    common = is_inside(
                        boxes, candidates.of_view[depth], candidates.number[one], codes, person
                    )
        if common:
            total += weight[person]
    return total


@inner
def least_joint(boxes, people, candidates, n_views, least_possible, budget, search):
    """Choose one candidate of each view so that fewest people are inside all.

    `search.people[ROOT]` are those inside the boxes that are known. Returns the smallest number of all
    choices, and of those in which the value is rare in some class (`MOST` when there are none). Where
    the choices are too many, both are a number that is not above the smallest. Writes `search`.
    """
    least, least_rare = MOST, MOST
    any_rare = search.rare[ROOT]
    for one in range(candidates.begin[n_views]):
        any_rare = any_rare or candidates.rare[one]
    depth, tried = 0, 0
    search.at[ROOT] = candidates.begin[0]
    search.n_seen[ROOT] = 0
    while depth >= 0:
        one = search.at[depth]
        if one == candidates.begin[depth + 1]:
            depth -= 1
            continue
        search.at[depth] += 1
        tried += 1
        if n_views > 1 and tried > budget:
            common = weigh_common(boxes, people.codes, people.weight, candidates, n_views, search)
            return common, common if any_rare else MOST
        kept = search.people[depth + 1]
        n_kept = keep_inside(
            boxes, candidates.of_view[depth], candidates.number[one], people.codes,
            search.people[depth], search.n_people[depth], kept,
        )  # fmt: skip
        rare = search.rare[depth] or candidates.rare[one]
        if depth == n_views - 1:
            joint = total_weight(kept, n_kept, people.weight)
            least = min(least, joint)
            if rare:
                least_rare = min(least_rare, joint)
            if least == least_possible and (least_rare == least or not any_rare):
                break
        elif is_new(search, depth, fingerprint(kept, n_kept, rare)):
            depth += 1
            search.n_people[depth] = n_kept
            search.rare[depth] = rare
            search.at[depth] = candidates.begin[depth]
            search.n_seen[depth] = 0
    return least, least_rare


@inner
def inside_known(boxes, people, cases, case, pivot, near, n_near, room):
    """Put those of `near` who are inside the known boxes of a case into `room[ROOT]`; return how many."""
    n_people = n_near
    for at in range(n_near):
        room[ROOT, at] = near[at]
    for view in range(cases.label.shape[0]):
        label = cases.label[view, case]
        if label >= 0 and view != pivot:
            # It writes at or before the place that it reads.
            n_people = keep_inside(boxes, view, label, people.codes, room[ROOT], n_people, room[ROOT])
    return n_people


@inner
def list_everybody(people, views, everybody):
    """List the people who are in all of these views; return how many. Writes `everybody`."""
    found = 0
    for person in range(people.weight.shape[0]):
        if people.views[person] & views == views:
            everybody[found] = person
            found += 1
    return found


@entry
def write_joint(
    boxes, counts, people, cases, order, pivot, limits, search, candidates, everybody, near, joint
):
    """Compute J of the cases in `order`; see `count_joint`. What follows `limits` is scratch."""
    n_everybody = list_everybody(people, people.views[cases.person[order[0]]], everybody)
    last, n_near = -1, n_everybody
    if pivot < 0:
        for at in range(n_everybody):
            near[at] = everybody[at]
    for place in range(order.shape[0]):
        case = order[place]
        if pivot >= 0 and cases.label[pivot, case] != last:
            last = cases.label[pivot, case]
            n_near = keep_inside(boxes, pivot, last, people.codes, everybody, n_everybody, near)
        n_inside = inside_known(boxes, people, cases, case, pivot, near, n_near, search.people)
        n_open = find_candidates(boxes, counts, cases, case, people.codes, limits.k, candidates)
        if n_open == 0:
            joint[ANY, case] = total_weight(search.people[ROOT], n_inside, people.weight)
            joint[RARE, case] = joint[ANY, case] if cases.rare[case] else MOST
        else:
            search.n_people[ROOT] = n_inside
            search.rare[ROOT] = cases.rare[case]
            own = people.weight[cases.person[case]]
            joint[ANY, case], joint[RARE, case] = least_joint(
                boxes, people, candidates, n_open, own, limits.budget, search
            )


def count_joint(
    boxes: Boxes,
    counts: Counts,
    people: People,
    cases: Cases,
    order: LongArray,
    pivot: int,
    limits: Limits,
    joint: LongArray,
) -> None:
    """Compute J of the cases in `order`, which all are in the same views.

    Cases of one class of the view `pivot` are adjacent, so that its box is looked into once; -1 for
    no view. Writes `joint` (2, cases): the smallest number of people, at ANY and at RARE.
    """
    n_views, n, most = len(cases.label), len(people.weight), int(boxes.n_classes.sum())
    search = Search(
        np.empty((n_views + 1, n), np.int32), np.zeros(n_views + 1, np.int64), np.zeros(n_views, np.int64),
        np.zeros(n_views + 1, np.bool_), np.zeros((n_views, SEEN), np.uint64), np.zeros(n_views, np.int64),
    )  # fmt: skip
    candidates = Candidates(
        np.zeros(n_views, np.int64), np.zeros(n_views + 1, np.int64),
        np.zeros(most, np.int32), np.zeros(most, np.bool_),
    )  # fmt: skip
    everybody, near = np.empty((2, n), np.int32)
    write_joint(
        boxes, counts, people, cases, order, pivot, limits, search, candidates, everybody, near, joint
    )
