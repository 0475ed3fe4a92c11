"""People with several rows: identifiers that repeat, and people who make up most of a class."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from shoal.arrays import IntArray
from shoal.dangers.danger import NOTABLE, Danger, acceptance, part, shown
from shoal.dangers.rules import by_chance, follows, rules
from shoal.dangers.scene import Codes, Scene
from shoal.recipe import Recipe

_MIN_SUPPORT = 2  # rows that a rule is learned from


class _Crowds(NamedTuple):
    """For each class: its rows, the people in it, and the rows of the person who has the most."""

    rows: Codes
    people: Codes
    most: Codes

    @property
    def dominated(self) -> int:
        """Count the classes in which one person has more than half of the rows."""
        return int((2 * self.most > self.rows).sum())


def repeated(scene: Scene) -> list[Danger]:
    """Find identifiers that repeat although there is no subject column: one person may fill a class."""
    if scene.recipe.subject is not None:
        return []
    dangers = (_repeated(scene, name) for name in scene.identifiers)
    return [danger for danger in dangers if danger is not None]


def _repeated(scene: Scene, name: str) -> Danger | None:
    codes = scene.codes(name)[scene.inside]
    times = np.bincount(codes[codes >= 0])
    rows, different = int((codes >= 0).sum()), int((times > 0).sum())
    sharing = rows - int((times == 1).sum())
    crowds = _crowds(scene.labels[scene.inside], codes)
    alone = int((crowds.people == 1).sum())
    # Two people occasionally share a name; that is no reason to warn.
    if not alone and (sharing <= NOTABLE * rows or _are_namesakes(scene, name)):
        return None
    classes = len(crowds.rows)
    filled = _filled(crowds.dominated, alone, classes, scene)
    numbers = {
        "dominated": shown(crowds.dominated, classes),
        "alone": shown(alone, classes),
        "classes": classes,
    }
    return _repeated_danger(name, rows, different, scene.recipe, filled, numbers)


def repeated_dangers(counted: Mapping[str, tuple[int, int, int]], recipe: Recipe) -> list[Danger]:
    """Report identifiers that repeat, from counts alone: where nobody knows who is in which class.

    For each, `counted` has the rows with a value, the different values, and the rows whose value repeats.
    """
    return [
        _repeated_danger(name, rows, different, recipe)
        for name, (rows, different, sharing) in counted.items()
        if recipe.subject is None and sharing > NOTABLE * rows
    ]


def _repeated_danger(
    name: str,
    rows: int,
    different: int,
    recipe: Recipe,
    filled: str = "",
    more: Mapping[str, int | None] | None = None,
) -> Danger:
    message = (
        f"Identifier `{name}` repeats: {rows:,} rows have {_number(different, rows)} different values, and "
        f"no column has the role subject, so k counts rows.{filled} If it identifies people, "
        "give it the role subject."
    )
    numbers = {"rows": rows, "different": shown(different, rows), **(more or {})}
    return Danger("danger.repeated", (name,), message, numbers, **acceptance(recipe, "repeated", name))


def _filled(most: int, alone: int, classes: int, scene: Scene) -> str:
    """Return a sentence about the classes in which one value has most of the rows, or all."""
    if not most:
        return ""
    of_all = f"; in {part(alone, classes, scene.word)} it has all of them" if alone else ""
    return f" In {part(most, classes, scene.word)} one value has more than half of the rows{of_all}."


def _are_namesakes(scene: Scene, name: str) -> bool:
    """Return whether rows that share an identifier seem to be different people.

    That is so if another identifier distinguishes all rows, and if in most quasi columns rows with the same
    value here are no more alike than others.
    """
    others = [scene.codes(other) for other in scene.identifiers if other != name]
    if not any(codes.min(initial=0) >= 0 and len(np.unique(codes)) == len(codes) for codes in others):
        return False
    codes = scene.codes(name)
    followed = sum(_follows(codes, column.codes) for column in scene.encoded.columns)
    return 2 * followed < len(scene.encoded.columns)


def _follows(codes: Codes, quasi: IntArray) -> bool:
    """Return whether most rows with a repeated value have the quasi value that goes with it."""
    found = rules(codes, quasi, _MIN_SUPPORT)
    repeated = int(found.times[found.times >= _MIN_SUPPORT].sum())
    surplus = follows(found, codes, quasi).sum() - by_chance(found, codes, quasi, _MIN_SUPPORT)
    return bool(2 * surplus > repeated)


def dominated(scene: Scene) -> list[Danger]:
    """Find classes in which one person has more than half of the rows, although k people are in it."""
    subject, person = scene.recipe.subject, scene.encoded.person
    if subject is None or person is None:
        return []
    crowds = _crowds(scene.labels[scene.inside], person[scene.inside].astype(np.int64))
    number, classes = crowds.dominated, len(crowds.rows)
    if not number:
        return []
    worst = round(100 * float((crowds.most / crowds.rows).max()))
    return [dominated_danger(number, classes, worst, scene.recipe, scene.word)]


def dominated_danger(number: int, classes: int, worst: int, recipe: Recipe, word: str = "classes") -> Danger:
    """Report that one person has more than half of the rows in some classes, with the highest share."""
    subject = str(recipe.subject)
    message = (
        f"One person (`{subject}`) has more than half of the rows in {part(number, classes, word)}, "
        f"at worst {worst} % of them: what is published of such a class is mostly about that person."
    )
    numbers = {"dominated": shown(number, classes), "classes": classes, "worst_percent": worst}
    return Danger(
        "danger.dominated", (subject,), message, numbers, **acceptance(recipe, "dominated", subject)
    )


def _crowds(labels: IntArray, people: Codes) -> _Crowds:
    """Count rows and people of each class; a row without a known person counts as one more person."""
    unknown = people < 0
    known = int(people.max(initial=-1)) + 1
    people = people.copy()
    people[unknown] = known + np.arange(int(unknown.sum()))
    width = int(people.max(initial=0)) + 1
    pairs, counts = np.unique(labels.astype(np.int64) * width + people, return_counts=True)
    classes = pairs // width
    most = np.zeros(int(labels.max(initial=-1)) + 1, np.int64)
    np.maximum.at(most, classes, counts)
    return _Crowds(np.bincount(labels), np.bincount(classes), most)


def _number(number: int, of: int) -> str:
    return f"{number:,}" if shown(number, of) is not None else "few" if 2 * number < of else "nearly as many"
