"""The risk of re-identification, slowly: plain Python and exact fractions."""

from collections import Counter
from fractions import Fraction
from itertools import combinations
from math import comb


def sizes(rows, people=None):
    """The number of people among rows that are equal, by row value."""
    people = range(len(rows)) if people is None else people
    together = {(row, person) for row, person in zip(rows, people, strict=True)}
    return Counter(row for row, _ in together)


def risks(rows, people=None):
    """The risk of each person in each class."""
    return [Fraction(1, size) for size in sizes(rows, people).values() for _ in range(size)]


def subsets(table, size, people=None):
    """The class sizes by each subset of up to `size` columns and all; a table is a list of tuples."""
    n_columns = len(table[0])
    chosen = [subset for length in range(1, size + 1) for subset in combinations(range(n_columns), length)]
    chosen += [tuple(range(n_columns))] if size < n_columns else []
    return {
        subset: sorted(sizes([tuple(row[at] for at in subset) for row in table], people).values())
        for subset in chosen
    }


def matching(population, box):
    """The people inside a box, which has a set of values for each column."""
    return sum(
        all(value in allowed for value, allowed in zip(person, box, strict=True)) for person in population
    )


def zayatz(classes, people):
    """Population uniques from {size: number of classes} of a sample, and the size of the population."""
    drawn = sum(size * number for size, number in classes.items())
    fraction = Fraction(drawn, people)

    def once(size):
        return Fraction(size * comb(people - size, drawn - 1), comb(people, drawn))

    total = sum(number * once(size) for size, number in classes.items())
    conditional = classes.get(1, 0) * once(1) / total
    return classes.get(1, 0) * conditional / fraction


def pitman_uniques(theta, alpha, people):
    """The expected uniques, person by person: the next one starts a class or joins one."""
    classes = singles = Fraction(0)
    for before in range(people):
        starts = (theta + classes * alpha) / (theta + before) if before else Fraction(1)
        joins_single = singles * (1 - alpha) / (theta + before) if before else Fraction(0)
        classes += starts
        singles += starts - joins_single
    return singles


def shlosser(classes, fraction):
    """The number of classes in the population, by the modified estimator of Haas and Stokes."""

    def total(term):
        return sum(number * term(size) for size, number in classes.items())

    f = fraction
    first = total(lambda i: i * f**2 * (1 - f**2) ** (i - 1)) / total(
        lambda i: (1 - f) ** i * ((1 + f) ** i - 1)
    )
    second = total(lambda i: (1 - f) ** i) / total(lambda i: i * f * (1 - f) ** (i - 1))
    return sum(classes.values()) + classes.get(1, 0) * first * second**2
