"""Classes in which everyone has the same sensitive value: k hides the row, but not the value.

All numbers can be counted in the release itself, so none is hidden.
"""

from __future__ import annotations

import numpy as np

from shoal.dangers.danger import Danger, acceptance
from shoal.dangers.scene import Scene
from shoal.recipe import Recipe


def alike(scene: Scene) -> list[Danger]:
    """Find the sensitive columns that have such classes."""
    found = (_alike(scene, name) for name in scene.recipe.named("sensitive"))
    return [danger for danger in found if danger is not None]


def _alike(scene: Scene, name: str) -> Danger | None:
    labels = scene.labels[scene.inside]
    codes = scene.codes(name)[scene.inside] + 1  # a missing value counts as one more: 0
    sizes = np.bincount(labels)
    low = np.full(len(sizes), np.iinfo(np.int64).max)
    high = np.full(len(sizes), -1)
    np.minimum.at(low, labels, codes)
    np.maximum.at(high, labels, codes)
    same = (low == high) & (sizes > 0)
    if not same.any():
        return None
    times = np.bincount(codes)
    shared = low[same]
    numbers = {
        "alike": int(same.sum()),
        "classes": int((sizes > 0).sum()),
        "rows": int(sizes[same].sum()),
        "values": len(np.unique(shared)),
        "distinct": int((times > 0).sum()),
        "frequent": int((times[shared] == times.max()).sum()),
    }
    return alike_danger(name, numbers, scene.recipe, scene.word)


def alike_danger(name: str, numbers: dict[str, int], recipe: Recipe, word: str = "classes") -> Danger:
    """Report a sensitive column with classes in which everybody has the same value."""
    message = _message(name, numbers, word)
    return Danger("danger.alike", (name,), message, numbers, **acceptance(recipe, "alike", name))


def _message(name: str, numbers: dict[str, int], word: str) -> str:
    """Distinguish classes that share the most frequent value from the others, without naming it."""
    rarer = numbers["alike"] - numbers["frequent"]
    one = {"classes": "class", "groups": "group"}[word]
    return (
        f"{numbers['alike']:,} of {numbers['classes']:,} {word} share one value of `{name}` "
        f"({numbers['rows']:,} rows; {numbers['values']:,} of its {numbers['distinct']:,} values): an "
        f"attacker who knows that a person is in such a {one} knows that value. {numbers['frequent']:,} of "
        f"them share its most frequent value, {rarer:,} a rarer one. k-anonymity does not protect against "
        "this."
    )
