"""How often population uniqueness, estimated from a sample, covers the truth: populations of varied skew.

    python -m benchmarks.population [POPULATIONS_EACH]

Prints, for each kind of population and sampling fraction, how many of the generated populations have their
true number of uniques within each stated interval.
"""

from __future__ import annotations

import sys
from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from shoal.risks.uniqueness import MODELS, population_uniqueness

Sizes = npt.NDArray[np.int64]
Generator = np.random.Generator

FRACTIONS = (0.01, 0.05, 0.1, 0.2, 0.5)
PEOPLE = 50_000


def _by_chances(people: int, chances: npt.NDArray[np.float64], rng: Generator) -> Sizes:
    sizes = rng.multinomial(people, chances / chances.sum())
    return sizes[sizes > 0]


def _zipf(people: int, rng: Generator) -> Sizes:
    return _by_chances(people, np.arange(1.0, people) ** -rng.uniform(0.6, 1.4), rng)


def _lognormal(people: int, rng: Generator) -> Sizes:
    return _by_chances(people, rng.lognormal(0, rng.uniform(0.5, 2.5), people // 2), rng)


def _uniform(people: int, rng: Generator) -> Sizes:
    return _by_chances(people, np.ones(int(people * rng.uniform(0.1, 2))), rng)


def _negative_binomial(people: int, rng: Generator) -> Sizes:
    """Classes of the slide negative binomial model, as many as make about so many people."""
    shape, chance = rng.uniform(0.2, 3), rng.uniform(0.05, 0.7)
    classes = int(people / (1 + shape * (1 - chance) / chance))
    return 1 + rng.negative_binomial(shape, chance, classes)


def _pitman(people: int, rng: Generator) -> Sizes:
    """People who arrive one after the other, as in Pitman's model."""
    theta, alpha = rng.uniform(1, 300), rng.uniform(0.1, 0.9)
    labels: list[int] = []
    is_first: list[bool] = []
    classes = 0
    for i in range(people):
        starts = rng.random() * (theta + i) < theta + alpha * classes
        if starts:
            labels.append(classes)
            classes += 1
        else:  # join somebody's class: a class of j is chosen in proportion to j - alpha
            at = int(rng.random() * i)
            while is_first[at] and rng.random() < alpha:
                at = int(rng.random() * i)
            labels.append(labels[at])
        is_first.append(starts)
    return np.bincount(labels)


def _columns(people: int, rng: Generator) -> Sizes:
    """Several independent columns, each with frequent and rare values: what a table of people looks like."""
    keys = np.zeros(people, np.int64)
    for values in (80, 2, 10, 6, int(rng.integers(5, 60))):
        keys = keys * values + rng.choice(values, people, p=rng.dirichlet(np.full(values, 0.7)))
    return np.unique(keys, return_counts=True)[1]


def _two_parts(people: int, rng: Generator) -> Sizes:
    """Many people in large classes, and some who are nearly all unique."""
    rare = int(people * rng.uniform(0.01, 0.3))
    common = _by_chances(people - rare, rng.lognormal(0, 1, people // 100), rng)
    return np.concatenate([common, _by_chances(rare, np.ones(4 * rare), rng)])


POPULATIONS: dict[str, Callable[[int, Generator], Sizes]] = {
    "zipf": _zipf,
    "lognormal": _lognormal,
    "uniform": _uniform,
    "negative binomial": _negative_binomial,
    "pitman": _pitman,
    "columns": _columns,
    "two parts": _two_parts,
}


def population(name: str, people: int, rng: Generator) -> Sizes:
    """Return the class sizes of a generated population."""
    return POPULATIONS[name](people, rng)


def drawn(sizes: Sizes, fraction: float, rng: Generator) -> Sizes:
    """Return the class sizes of a sample: so many people of all, drawn without replacement."""
    people = int(sizes.sum())
    sample = rng.multivariate_hypergeometric(sizes, round(people * fraction), method="marginals")
    return sample[sample > 0]


def main() -> None:
    each = int(sys.argv[1]) if len(sys.argv) > 1 else 10
    kinds = [*MODELS, "rule", "possible"]
    print(
        f"{'population':18} {'fraction':>8} "
        + " ".join(f"{kind:>9}" for kind in kinds)
        + "   width of possible"
    )
    totals = np.zeros(len(kinds))
    for name in POPULATIONS:
        for fraction in FRACTIONS:
            rng = np.random.default_rng([0, list(POPULATIONS).index(name), round(1000 * fraction)])
            inside, widths = np.zeros(len(kinds)), []
            for _ in range(each):
                people = population(name, PEOPLE, rng)
                true = int((people == 1).sum())
                found = population_uniqueness(drawn(people, fraction, rng), fraction)
                by_model = [found.estimates[model] for model in MODELS]
                stated = [*by_model, found.estimates[found.model]]
                inside += [
                    *(one is not None and one.low <= true <= one.high for one in stated),
                    found.low <= true <= found.high,
                ]
                widths.append((found.high - found.low) / people.sum())
            totals += inside
            shares = " ".join(f"{share:9.0%}" for share in inside / each)
            print(f"{name:18} {fraction:8} {shares}   {np.median(widths):.1%} of all people")
    shares = " ".join(f"{share:9.1%}" for share in totals / (each * len(POPULATIONS) * len(FRACTIONS)))
    print(f"{'all':18} {'':8} {shares}")


if __name__ == "__main__":
    main()
