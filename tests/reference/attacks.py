"""Attacks in plain Python with exact fractions: compare every person with every row."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction


def candidates(people, boxes):
    """For each person, how many rows have a box that contains the person.

    A person is a tuple of values, a box a tuple of sets of values.
    """
    return [
        sum(all(v in cell for v, cell in zip(person, box, strict=True)) for box in boxes) for person in people
    ]


def success(numbers):
    """The share of people found by picking one of their candidates."""
    return Fraction(sum(Fraction(1, n) for n in numbers if n), 1) / len(numbers)


def class_sizes(rows):
    """For each row, how many have the same labels."""
    times = Counter(rows)
    return [times[row] for row in rows]


def majority(groups, values):
    """The share of rows whose group has their value most often, a tie counting for its share."""
    right = 0
    for group in set(groups):
        times = Counter(value for g, value in zip(groups, values, strict=True) if g == group)
        right += max(times.values())
    return Fraction(right, len(values))


def alike(groups, values):
    """The share of rows in groups with a single value."""
    by_group = {}
    for group, value in zip(groups, values, strict=True):
        by_group.setdefault(group, set()).add(value)
    return Fraction(sum(len(by_group[group]) == 1 for group in groups), len(values))


def guessed_by_candidates(people, true, boxes, values):
    """The share of people whose value is the most frequent in all boxes that contain them."""
    total = Fraction(0)
    for person, value in zip(people, true, strict=True):
        times = Counter(
            v
            for box, v in zip(boxes, values, strict=True)
            if all(x in cell for x, cell in zip(person, box, strict=True))
        )
        most = max(times.values(), default=0)
        best = [v for v, n in times.items() if n == most]
        total += Fraction(value in best, len(best)) if best else 0
    return total / len(people)


def remaining(person, releases):
    """The values that may still be a person's in all releases: each as often as where it is rarest.

    A release is a list of pairs of a box and a value.
    """
    left = None
    for rows in releases:
        times = Counter(
            value for box, value in rows if all(x in cell for x, cell in zip(person, box, strict=True))
        )
        left = times if left is None else left & times
    return left
