"""One person in several rows: identifiers that repeat, and people who make up most of a class."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from shoal.dangers.danger import NOTABLE, Danger, is_accepted, part, shown
from shoal.dangers.scene import Codes, Scene
from shoal.table.columns import IntArray


class _Crowds(NamedTuple):
    """Of each class: its rows, the people in it, and the rows of the one who has most."""

    rows: Codes
    people: Codes
    most: Codes

    @property
    def dominated(self) -> int:
        """Count the classes in which one person has more than half of the rows."""
        return int((2 * self.most > self.rows).sum())


def repeated(scene: Scene) -> list[Danger]:
    """Find identifiers that repeat although no subject is declared: one person may fill a class."""
    if scene.recipe.subject is not None:
        return []
    dangers = (_repeated(scene, name) for name in scene.recipe.named("identifier"))
    return [danger for danger in dangers if danger is not None]


def _repeated(scene: Scene, name: str) -> Danger | None:
    codes = scene.codes(name)[scene.inside]
    times = np.bincount(codes[codes >= 0])
    rows, different = int((codes >= 0).sum()), int((times > 0).sum())
    sharing = rows - int((times == 1).sum())
    crowds = _crowds(scene.labels[scene.inside], codes)
    alone = int((crowds.people == 1).sum())
    # Now and then two people have one name; that is no reason to warn.
    if sharing <= NOTABLE * rows and not alone:
        return None
    classes = len(crowds.rows)
    message = (
        f"Identifier `{name}` repeats: {rows:,} rows have {_number(different, rows)} different values, and "
        f"no column has the role subject, so k counts rows. One value has more than half of the rows in "
        f"{_some(crowds.dominated, classes, scene.word)}, and all of them in "
        f"{_some(alone, classes, scene.word)}. If it tells people apart, give it the role subject."
    )
    numbers = {
        "rows": rows,
        "different": shown(different, rows),
        "dominated": shown(crowds.dominated, classes),
        "alone": shown(alone, classes),
        "classes": classes,
    }
    accepted = is_accepted(scene.recipe, "repeated", name)
    return Danger("danger.repeated", (name,), message, numbers, accepted=accepted)


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
    message = (
        f"One person (`{subject}`) has more than half of the rows in {_some(number, classes, scene.word)}, "
        f"at worst {worst} % of them: what is published of such a class is mostly about that person."
    )
    numbers = {"dominated": shown(number, classes), "classes": classes, "worst_percent": worst}
    accepted = is_accepted(scene.recipe, "dominated", subject)
    return [Danger("danger.dominated", (subject,), message, numbers, accepted=accepted)]


def _crowds(labels: IntArray, people: Codes) -> _Crowds:
    """Count rows and people of each class; a row of nobody known is a person of its own."""
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


def _some(number: int, of: int, nouns: str) -> str:
    return part(number, of, nouns) if number else f"none of {of:,} {nouns}"
