"""Helpers of the generators of synthetic tables: weighted sampling, and writing trees."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import polars as pl
from numpy.typing import NDArray

Tree: TypeAlias = "dict[str, Tree]"
Ints: TypeAlias = NDArray[np.integer[Any]]
Floats: TypeAlias = NDArray[np.float64]


def write_text(path: Path, text: str) -> None:
    """Write `text` with the same bytes on every system."""
    path.write_text(text, encoding="utf-8", newline="\n")


def arx_lines(tree: Tree) -> str:
    """Format a tree in ARX layout: one line per leaf, from the leaf to the root."""
    return "".join(f"{';'.join(path)}\n" for path in _leaf_paths(tree))


def _leaf_paths(tree: Tree, above: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """Iterate over the leaves, each with its ancestors up to the root."""
    for name, children in tree.items():
        path = (name, *above)
        if children:
            yield from _leaf_paths(children, path)
        else:
            yield path


def draw(weights: Floats, rows: int, rng: np.random.Generator) -> Ints:
    """Draw indices into `weights`, with probabilities proportional to the weights."""
    ends = np.cumsum(weights)
    # The last end is exactly 1 and a draw is below 1; searching on the right skips zero weights.
    return np.searchsorted(ends / ends[-1], rng.random(rows), side="right")


def draw_given(weights: Floats, given: Ints, rng: np.random.Generator) -> Ints:
    """Draw for each row a column of `weights`, using the line of `weights` at index `given`."""
    ends = np.cumsum(weights, axis=1)
    ends /= ends[:, -1:]
    # All lines are placed on one axis, line i from i to i + 1, so that one search serves all rows.
    ends += np.arange(len(weights))[:, None]
    # 24 random bits plus a small integer are exact in a double: no draw is rounded up into the next
    # line, which would turn a pensioner into a pupil.
    needles = given + rng.random(len(given), dtype=np.float32).astype(np.float64)
    columns: Ints = np.searchsorted(ends.ravel(), needles, side="right") - given * weights.shape[1]
    return columns


def pick(texts: Sequence[str], positions: Ints) -> pl.Series:
    """Look up the text at each position."""
    return pl.Series(texts, dtype=pl.String).gather(positions.astype(np.uint32))
