"""The k-member kernel against its slow twin: the same labels, not only the same loss."""

from fractions import Fraction
from unittest import mock

import numba
import numpy as np
import polars as pl
from hypothesis import given
from hypothesis import strategies as st

from shoal.cluster import kmember
from shoal.recipe import Recipe
from shoal.recipe.options import KMemberOptions
from shoal.table.encode import encode
from tests.reference import kmember as reference
from tests.strategies import tables

OPTIONS = st.fixed_dictionaries(
    {"opens": st.sampled_from(["furthest", "start"]), "anchor": st.sampled_from(["last", "first"])}
)


def labels_by_kernel(case, options, *, block=2048, parallel_from=32, threads=1):
    encoded = encode(case.table, case.recipe)
    clusterer = kmember.KMember(case.recipe.privacy.k, seed=case.recipe.method.seed, options=options)
    numba.set_num_threads(threads)
    with mock.patch.multiple(kmember, _BLOCK=block, _PARALLEL_FROM=parallel_from):
        labels = clusterer.fit(encoded).labels
    numba.set_num_threads(1)
    return encoded, labels


def labels_by_twin(case, order, options, class_penalty):
    start, priority = kmember.draw(len(order), case.recipe.method.seed)
    given_labels = None
    if options.label is not None:
        cells = case.table["label"].to_list()
        given_labels = [cells[at] for at in order]
    return reference.kmember(
        case.twin_columns(order),
        case.recipe.privacy.k,
        start,
        list(priority),
        opens=options.opens,
        anchor=options.anchor,
        labels=given_labels,
        class_penalty=class_penalty,
    )


@given(tables(), OPTIONS)
def test_kernel_gives_the_labels_of_the_twin(case, given_options):
    options = KMemberOptions(**given_options)
    encoded, labels = labels_by_kernel(case, options)
    assert labels.tolist() == labels_by_twin(case, encoded.order, options, 0)


@given(tables(), st.sampled_from([Fraction(0), Fraction(1, 2), Fraction(1), Fraction(4)]))
def test_class_penalty_gives_the_labels_of_the_twin(case, penalty):
    options = KMemberOptions(label="label", class_penalty=float(penalty))
    encoded, labels = labels_by_kernel(case, options)
    assert labels.tolist() == labels_by_twin(case, encoded.order, options, penalty)


@given(tables(), OPTIONS, st.sampled_from([1, 3, 16]), st.sampled_from([1, 2]))
def test_threads_and_blocks_do_not_change_labels(case, given_options, block, threads):
    options = KMemberOptions(**given_options)
    _, alone = labels_by_kernel(case, options)
    _, together = labels_by_kernel(case, options, block=block, parallel_from=1, threads=threads)
    assert alone.tolist() == together.tolist()


def test_a_worked_table():
    # Ages 20 21 40 41 60, k = 2, first row 20; a width is a difference / 40.
    # Furthest from 20: 60 opens; cheapest for {60}: 41 (19/40). Class 0.
    # Furthest from 41, the last one added: 20 (21/40) opens; cheapest: 21 (1/40). Class 1.
    # 40 is left. Class 0 grows by 3 x 20/40 - 2 x 19/40 = 22/40, class 1 by 3 x 20/40 - 2 x 1/40 = 58/40.
    table = pl.DataFrame({"age": [20, 21, 40, 41, 60]})
    encoded = encode(table, Recipe.from_roles(quasi=["age"], k=2))
    with mock.patch.object(kmember, "draw", return_value=(0, np.arange(5))):
        labels = kmember.KMember(2).fit(encoded).labels
    assert labels.tolist() == [1, 1, 0, 0, 0]
