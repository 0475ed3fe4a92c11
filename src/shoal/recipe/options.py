"""The methods that the contract names, and the options that each one takes.

The schemas live here, below the recipe, so that a recipe can be checked whole without loading
any clustering code.
"""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from pydantic import BaseModel, ConfigDict, Field

from shoal.recipe.shape import Shape


class Options(BaseModel):
    """The base of all option schemas: unknown keys are faults, values do not change.

    A schema also declares what its method publishes, and why it cannot work cell by cell, if it cannot.
    """

    shape: ClassVar[Shape] = Shape.CLASSES
    not_in_cells: ClassVar[str] = ""
    model_config = ConfigDict(extra="forbid", frozen=True)


Effort = Literal["quick", "normal", "high"]
Seconds = Annotated[float, Field(gt=0, le=1_000_000, allow_inf_nan=False)]


class LocalSearchOptions(Options):
    """Options of local search.

    `effort`: how much is tried; or `seconds`, to search for about that long, whatever the effort: what
    comes out then depends on the machine, not on the seed alone. `loss`: how a node of a tree is costed:
    by its height, by the leaves below it, or by weighted hierarchical distance, with all steps alike or,
    by `beta`, the dearer the nearer to the root.
    """

    effort: Effort = "normal"
    seconds: Seconds | None = None
    loss: Literal["il", "ncp", "whd"] = "il"
    beta: float = Field(default=1.0, ge=1, le=100, allow_inf_nan=False)


class AutoOptions(Options):
    """Options of auto: those that the picked method takes from whoever does not pick."""

    effort: Effort | None = None
    seconds: Seconds | None = None


class KMemberOptions(Options):
    """Options of k-member [byun2007].

    `opens` says which row opens the first class: the row furthest from the random one (the
    paper's pseudo-code) or the random row itself (its text). `anchor` says from which row of the
    last class "furthest" is measured: the last one added (pseudo-code) or the first (text).
    `label` and `class_penalty` switch on the variant of section 3.4.
    """

    opens: Literal["furthest", "start"] = "furthest"
    anchor: Literal["last", "first"] = "last"
    label: str | None = None
    class_penalty: float = Field(default=1.0, ge=0, le=1000, allow_inf_nan=False)


class MondrianOptions(Options):
    """Options of Mondrian: whether equal values stay together at a cut (strict) or are dealt out."""

    mode: Literal["strict", "relaxed"] = "strict"


class OKAOptions(Options):
    """Options of OKA [lin2008], both named in its conclusion.

    `iterations`: how often the clustering stage runs; each further run starts from the row nearest
    to each class's centroid. `suppress`: leave a small class out when that costs less than filling
    it, within `max_suppressed`.
    """

    iterations: int = Field(default=1, ge=1, le=100)
    suppress: bool = False


class SystematicOptions(Options):
    """Options of systematic clustering: one position for all seed rows, or one drawn for each."""

    seeds: Literal["systematic", "random"] = "systematic"


StepWeight = Annotated[float, Field(ge=0, le=1_000_000, allow_inf_nan=False)]


class KACAOptions(Options):
    """Options of KACA [li2006].

    `weights` of weighted hierarchical distance: all steps alike, "height" (the more, the nearer to
    the root, sharpened by `beta`), or one's own for each column, from the root downwards.
    `outlier`: a class whose rows would lose more than this each is left out instead, within
    `max_suppressed`.
    """

    weights: Literal["uniform", "height"] | dict[str, list[StepWeight]] = "uniform"
    beta: float = Field(default=1.0, ge=1, le=100, allow_inf_nan=False)
    outlier: float | None = Field(default=None, ge=0, allow_inf_nan=False)


class CBOptions(Options):
    """Options of CB [he2012].

    `rounds`: partitions tried for each split. `ncp`: how a node of a tree is costed. `l`: split only
    where both halves stay l-diverse in the `label` column (the first sensitive one by default).
    """

    rounds: int = Field(default=15, ge=1, le=1000)
    ncp: Literal["height", "leaves", "order"] = "height"
    l: int | None = Field(default=None, ge=1)  # noqa: E741 - the name that everybody uses
    label: str | None = None


class ThresholdOptions(Options):
    """Options of threshold greedy clustering.

    `threshold`: a class is closed when the closest row would make one of its rows cost this much; a
    quarter of the number of quasi columns when left out.
    """

    threshold: float | None = Field(default=None, gt=0, allow_inf_nan=False)


class CMeansOptions(Options):
    """Options of weighted-feature C-means: how often rows are assigned at most."""

    rounds: int = Field(default=50, ge=1, le=1000)


class IncognitoOptions(Options):
    """Options of Incognito: none."""

    not_in_cells = "it publishes each column at one level for the whole table"


class NHOptions(Options):
    """Options of NH: how Mondrian, which makes its groups, cuts."""

    shape = Shape.BOXES
    not_in_cells = "its boxes are verified against the whole original"
    mode: Literal["strict", "relaxed"] = "strict"


class AnatomyOptions(Options):
    """Options of Anatomy: how many sensitive values a group has at least."""

    shape = Shape.TWO_TABLES
    not_in_cells = "it publishes two tables"
    l: int = Field(default=2, ge=2)  # noqa: E741 - the name that everybody uses


MethodName = Literal[
    "auto", "local-search", "k-member", "oka", "systematic", "kaca", "cb", "mondrian", "threshold", "c-means",
    "incognito", "nh", "anatomy",
]  # fmt: skip
METHODS: dict[str, type[Options]] = {
    "auto": AutoOptions,
    "local-search": LocalSearchOptions,
    "k-member": KMemberOptions,
    "oka": OKAOptions,
    "systematic": SystematicOptions,
    "kaca": KACAOptions,
    "cb": CBOptions,
    "mondrian": MondrianOptions,
    "threshold": ThresholdOptions,
    "c-means": CMeansOptions,
    "incognito": IncognitoOptions,
    "nh": NHOptions,
    "anatomy": AnatomyOptions,
}


def shape_of(method: str) -> Shape:
    """Return what a method publishes; a name that no method has is a fault of its own."""
    return METHODS[method].shape if method in METHODS else Shape.CLASSES
