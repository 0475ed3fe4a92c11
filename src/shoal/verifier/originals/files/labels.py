"""Codes and their labels, in files of SPSS and Stata."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from shoal.recipe import Input
from shoal.verifier.originals.files.cells import shown


def labelled(name: str, cells: Sequence[Any], labels: Mapping[Any, str], given: Input) -> list[Any]:
    """Replace codes by their labels, if the recipe wants those of this column and any code has one."""
    wanted = given.labels if isinstance(given.labels, bool) else name in given.labels
    if not wanted or not any(cell in labels for cell in cells if cell is not None):
        return list(cells)
    return [None if cell is None else labels.get(cell) or shown(cell) for cell in cells]
