"""What a recipe publishes."""

from __future__ import annotations

from enum import Enum


class Shape(Enum):
    """The shape of a release. A method declares it in its options; several views have their own.

    Everything that depends on what is published asks the shape, never the name of a method.
    """

    CLASSES = "classes"  # one table, in which the rows of a class look alike
    BOXES = "a box for each row"  # one table without classes, verified against the original
    TWO_TABLES = "two tables"  # quasi and sensitive values apart, joined by a group
    VIEWS = "several views"  # several tables about the same rows, each with classes

    @property
    def has_classes(self) -> bool:
        """Whether rows are published alike in groups of at least k."""
        return self in (Shape.CLASSES, Shape.VIEWS)

    @property
    def is_generalized(self) -> bool:
        """Whether quasi values are generalized, so that their loss can be measured."""
        return self is not Shape.TWO_TABLES

    @property
    def needs_original(self) -> bool:
        """Whether the promise can be verified only against the raw table."""
        return self is Shape.BOXES

    @property
    def groups(self) -> str:
        """What the rows of a release are grouped into."""
        return "classes" if self.has_classes else "groups"
