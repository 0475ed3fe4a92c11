"""What a release reveals although every promise holds: one danger, one function.

Each takes a `Scene` and returns what it finds, with numbers. Nothing here changes a release; only a kept
column that is unique on most rows is refused, unless the recipe accepts it explicitly.
"""

from shoal.dangers.alike import alike, alike_danger
from shoal.dangers.danger import DANGERS, MIN_ROWS, Danger, together, warn_of
from shoal.dangers.duplicate import duplicate, duplicate_dangers
from shoal.dangers.earlier import earlier
from shoal.dangers.people import dominated, dominated_danger, repeated, repeated_dangers
from shoal.dangers.recoverable import recoverable, recoverable_dangers, sources
from shoal.dangers.scene import Scene, Values
from shoal.dangers.unique import refuse_own, refuse_unique, unique, unique_dangers

__all__ = [
    "DANGERS",
    "MIN_ROWS",
    "Danger",
    "Scene",
    "Values",
    "alike_danger",
    "dominated_danger",
    "duplicate_dangers",
    "earlier",
    "find_dangers",
    "recoverable_dangers",
    "refuse_own",
    "refuse_unique",
    "repeated_dangers",
    "sources",
    "together",
    "unique_dangers",
    "warn_of",
]


def find_dangers(scene: Scene) -> list[Danger]:
    """Look for every danger that the table, the recipe and the published classes show."""
    copies = duplicate(scene)
    known = {(danger.columns[0], danger.columns[1]) for danger in copies}
    return [
        *unique(scene),
        *copies,
        *recoverable(scene, known),
        *repeated(scene),
        *dominated(scene),
        *alike(scene),
    ]
