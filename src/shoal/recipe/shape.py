"""The shape of a release."""

from __future__ import annotations

from enum import Enum


class Shape(Enum):
    """The shape of a release: declared in a method's options, or several views.

    Code that depends on what is published checks the shape, never the method name.
    """

    CLASSES = "classes"  # one table; the rows of a class look alike
    BOXES = "a box for each row"  # one table without classes; verified against the original
    TWO_TABLES = "two tables"  # quasi and sensitive values in separate tables, linked by a group
    VIEWS = "several views"  # several tables of the same rows, each with classes

    @property
    def has_classes(self) -> bool:
        """Whether rows are published in groups of at least k that look alike."""
        return self in (Shape.CLASSES, Shape.VIEWS)

    @property
    def is_generalized(self) -> bool:
        """Whether quasi values are generalized, so that their loss can be measured."""
        return self is not Shape.TWO_TABLES

    @property
    def needs_original(self) -> bool:
        """Whether verification requires the raw table."""
        return self is Shape.BOXES

    @property
    def groups(self) -> str:
        """What the groups of rows are called."""
        return "classes" if self.has_classes else "groups"
