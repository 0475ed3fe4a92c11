"""PRAM: the matrix against its twin, and cells that are changed with exactly these probabilities."""

from collections import Counter
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.protect.pram import changed_codes, limits, randomized, transition
from shoal.recipe import Pram
from tests.reference import protection as reference

CHANGES = [0.1, 0.25, 0.5, 1.0]
COUNTS = st.lists(st.integers(1, 6), min_size=2, max_size=5)


@given(COUNTS, st.sampled_from(CHANGES), st.booleans())
def test_the_matrix_is_that_of_the_definition(counts, change, invariant):
    pram = Pram(change=change, invariant=invariant)
    assert transition(counts, pram) == reference.transition(counts, Fraction(str(change)), invariant)


@given(COUNTS, st.sampled_from(CHANGES), st.booleans())
def test_every_draw_together_gives_the_matrix_exactly(counts, change, invariant):
    pram = Pram(change=change, invariant=invariant)
    n_chances, n_targets = limits(counts, pram)
    draws = np.array(list(product(range(n_chances), range(n_targets))))
    for category, row in enumerate(transition(counts, pram)):
        codes = np.full(len(draws), category)
        found = Counter(changed_codes(codes, counts, pram, draws[:, 0], draws[:, 1]).tolist())
        assert [Fraction(found[j], len(draws)) for j in range(len(counts))] == row


@given(COUNTS, st.sampled_from(CHANGES))
def test_invariant_pram_keeps_expected_counts(counts, change):
    matrix = transition(counts, Pram(change=change, invariant=True))
    assert [
        sum(t * row[j] for t, row in zip(counts, matrix, strict=True)) for j in range(len(counts))
    ] == counts


def test_counts_are_recovered_by_the_inverse():
    # By hand: 60 and 40 with a change of 1 / 4 are released as 60 * 3/4 + 40 * 1/4 = 55 and 45 on average.
    matrix = np.array(transition([60, 40], Pram(change=0.25)), dtype=float)
    released = np.array([60, 40]) @ matrix
    assert released.tolist() == [55, 45]
    assert np.linalg.solve(matrix.T, released) == pytest.approx([60, 40])


def test_about_the_asked_share_changes():
    codes = np.repeat([0, 1, 2], [5000, 3000, 2000])
    found = randomized(codes, [5000, 3000, 2000], Pram(change=0.3), np.random.default_rng(7))
    assert abs((found != codes).mean() - 0.3) < 0.02  # 4 standard errors
    to_one = (found[codes == 0] == 1).mean()
    assert abs(to_one - 0.15) < 0.021
