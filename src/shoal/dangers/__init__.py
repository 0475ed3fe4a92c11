"""What a release reveals although every promise holds: one danger, one function.

Each takes a `Scene` and returns what it finds, with numbers. Nothing here changes a release: a danger is
refused (`refuse`) unless the recipe accepts it by name, or warned of (`warn_of`).
"""

from shoal.dangers.alike import alike, alike_danger
from shoal.dangers.danger import DANGERS, MIN_ROWS, Danger, refuse, together, warn_of
from shoal.dangers.duplicate import duplicate, duplicate_dangers
from shoal.dangers.earlier import earlier
from shoal.dangers.people import dominated, dominated_danger, repeated, repeated_dangers
from shoal.dangers.recoverable import recoverable, recoverable_dangers, sources
from shoal.dangers.scene import Scene, Values
from shoal.dangers.unique import unique, unique_dangers, unique_raw

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
    "find_rules",
    "recoverable_dangers",
    "refuse",
    "repeated_dangers",
    "sources",
    "together",
    "unique_dangers",
    "unique_raw",
    "warn_of",
]


def find_dangers(scene: Scene) -> list[Danger]:
    """Look for every danger that the table, the recipe and the published classes show."""
    return [*unique(scene), *find_rules(scene), *repeated(scene), *dominated(scene), *alike(scene)]


def find_rules(scene: Scene) -> list[Danger]:
    """Look for columns released unchanged that duplicate or reveal a quasi column."""
    copies = duplicate(scene)
    known = {(danger.columns[0], danger.columns[1]) for danger in copies}
    return [*copies, *recoverable(scene, known)]
