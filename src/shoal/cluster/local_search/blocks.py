"""Blocks of classes that are near to each other, different ones in every round."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.float64]
LongArray = npt.NDArray[np.int64]


def random_blocks(centres: FloatArray, most: int, random: np.random.Generator) -> list[LongArray]:
    """Halve the classes again and again, each time across a random direction, down to blocks of `most`.

    A direction has random weights, a few large and most small, so that borders run across few columns
    at a time and lie elsewhere in every round.
    """
    blocks, groups = [], [np.arange(len(centres))]
    while groups:
        group = groups.pop()
        if len(group) <= most:
            blocks.append(group)
            continue
        direction = random.random(centres.shape[1]) ** 3 * random.choice([-1.0, 1.0], centres.shape[1])
        half = len(group) // 2
        order = np.argpartition(centres[group] @ direction, half)
        groups += [np.sort(group[order[:half]]), np.sort(group[order[half:]])]
    return blocks
