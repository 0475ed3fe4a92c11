"""Blocks of classes that are near to each other, different ones in every round."""

from __future__ import annotations

import numpy as np

from shoal.arrays import FloatArray, LongArray

_SAMPLE = 2000  # classes that show how a group spreads
_TURNS = 2  # of a random direction towards the longest: more would make it the same in every round


def random_blocks(centres: FloatArray, most: int, random: np.random.Generator) -> list[LongArray]:
    """Halve the classes again and again, each time across the direction they are long in, down to `most`.

    Before that every column is made shorter by a random factor, so that borders lie elsewhere in every
    round.
    """
    blocks, groups = [], [np.arange(len(centres))]
    while groups:
        group = groups.pop()
        if len(group) <= most:
            blocks.append(group)
            continue
        direction = _long_direction(centres[group[:: 1 + len(group) // _SAMPLE]], random)
        half = len(group) // 2
        order = np.argpartition((centres[group] * direction).sum(axis=1), half)
        groups += [np.sort(group[order[:half]]), np.sort(group[order[half:]])]
    return blocks


def _long_direction(points: FloatArray, random: np.random.Generator) -> FloatArray:
    """Return about the direction in which points spread most, with columns shortened at random.

    Sums are made without BLAS, whose threads may add in another order.
    """
    factor = random.random(points.shape[1])
    points = (points - points.mean(axis=0)) * factor
    spread = np.einsum("ni,nj->ij", points, points)
    direction = random.normal(size=len(spread))
    for _ in range(_TURNS):
        direction = (spread * direction).sum(axis=1)
        direction /= np.sqrt((direction**2).sum()) or 1.0
    return direction * factor
