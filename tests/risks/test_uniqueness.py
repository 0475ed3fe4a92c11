"""Population uniques: the rule, the intervals, and whether the truth lies in them."""

import numpy as np
import pytest
from benchmarks.population import POPULATIONS, drawn, population

from shoal.risks.possible import possible_uniques
from shoal.risks.uniqueness import population_uniqueness


@pytest.fixture(scope="module")
def classes():
    """A tenth of a population: the sizes of its classes."""
    rng = np.random.default_rng(5)
    return drawn(population("lognormal", 20_000, rng), 0.1, rng)


def test_small_samples_use_pitman(classes):
    found = population_uniqueness(classes, 0.1)
    assert found.model == "pitman"
    assert found.uniques == found.estimates["pitman"].uniques


def test_larger_samples_use_the_lower_of_snb_and_zayatz(classes):
    found = population_uniqueness(classes, 0.3)
    lower = min(("snb", "zayatz"), key=lambda name: found.estimates[name].uniques)
    assert found.model == lower


def test_without_pairs_zayatz_is_used():
    found = population_uniqueness(np.array([1, 1, 3, 3]), 0.5)
    assert found.estimates["snb"] is None
    assert found.model == "zayatz"
    assert found.to_dict()["models"]["snb"] is None


def test_estimates_lie_in_their_intervals(classes):
    for fraction in (0.05, 0.4):
        for estimate in population_uniqueness(classes, fraction).estimates.values():
            assert estimate.low <= estimate.uniques <= estimate.high


def test_the_whole_population_is_known():
    found = population_uniqueness(np.array([1, 1, 2, 7]), 1.0)
    assert (found.uniques, found.low, found.high, found.people) == (2, 2, 2, 11)
    assert found.share_of_sample_unique == 1


def test_without_sample_uniques_there_is_no_share():
    found = population_uniqueness(np.array([2, 2, 7]), 0.5)
    assert (found.uniques, found.share_of_sample_unique) == (0, None)


def test_the_same_seed_gives_the_same_intervals(classes):
    first = population_uniqueness(classes, 0.1, seed=4)
    assert first == population_uniqueness(classes[::-1], 0.1, seed=4)
    assert first != population_uniqueness(classes, 0.1, seed=5)


def test_the_truth_lies_between_the_ends_for_nine_in_ten_populations():
    rng = np.random.default_rng(9)
    inside = []
    for name in POPULATIONS:
        for fraction in (0.02, 0.1, 0.4):
            for _ in range(4):
                people = population(name, 8000, rng)
                sample = drawn(people, fraction, rng)
                sizes, counts = np.unique(sample, return_counts=True)
                low, high = possible_uniques(sizes.astype(float), counts.astype(float), fraction)
                inside.append(low <= (people == 1).sum() <= high)
    assert len(inside) >= 80
    assert np.mean(inside) >= 0.9
