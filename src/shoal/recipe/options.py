"""The methods and their options.

The schemas are here, in the recipe package, so that a recipe can be validated without loading any
clustering code.
"""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from pydantic import BaseModel, ConfigDict, Field

from shoal.recipe.shape import Shape


class Options(BaseModel):
    """Base of all option schemas: immutable, and unknown keys are faults.

    A schema also declares the shape that its method publishes, and why it cannot work cell by cell.
    """

    shape: ClassVar[Shape] = Shape.CLASSES
    not_in_cells: ClassVar[str] = ""
    model_config = ConfigDict(extra="forbid", frozen=True)


Effort = Literal["quick", "normal", "high"]
Seconds = Annotated[float, Field(gt=0, le=1_000_000, allow_inf_nan=False)]


class LocalSearchOptions(Options):
    """Options of local search.

    `effort`: search effort. `seconds`: search for about this long instead; the result then depends on the
    machine as well as the seed. `loss`: cost of a tree node: its height, the leaves below it, or weighted
    hierarchical distance, whose steps cost the same or, with `beta` above 1, more near the root.
    """

    effort: Effort = "normal"
    seconds: Seconds | None = None
    loss: Literal["il", "ncp", "whd"] = "il"
    beta: float = Field(default=1.0, ge=1, le=100, allow_inf_nan=False)


class AutoOptions(Options):
    """Options of auto, which are passed on to the chosen method."""

    effort: Effort | None = None
    seconds: Seconds | None = None


class KMemberOptions(Options):
    """Options of k-member [byun2007].

    `opens`: first row of the first class: the one furthest from a random row (the paper's pseudo-code)
    or that row itself (its text). `anchor`: the row of the previous class from which "furthest" is
    measured: the last one added (pseudo-code) or the first (text). `label` and `class_penalty` enable
    the variant of section 3.4.
    """

    opens: Literal["furthest", "start"] = "furthest"
    anchor: Literal["last", "first"] = "last"
    label: str | None = None
    class_penalty: float = Field(default=1.0, ge=0, le=1000, allow_inf_nan=False)


class MondrianOptions(Options):
    """Options of Mondrian: whether equal values stay together at a cut (strict) or may be divided."""

    mode: Literal["strict", "relaxed"] = "strict"


class OKAOptions(Options):
    """Options of OKA [lin2008], both suggested in its conclusion.

    `iterations`: number of runs of the clustering stage; each further run starts from the rows nearest to
    the class centroids. `suppress`: suppress a small class if that costs less than filling it, within
    `max_suppressed`.
    """

    iterations: int = Field(default=1, ge=1, le=100)
    suppress: bool = False


class SystematicOptions(Options):
    """Options of systematic clustering: the same position for all seed rows, or a random one for each."""

    seeds: Literal["systematic", "random"] = "systematic"


StepWeight = Annotated[float, Field(ge=0, le=1_000_000, allow_inf_nan=False)]


class KACAOptions(Options):
    """Options of KACA [li2006].

    `weights` of weighted hierarchical distance: uniform, "height" (larger near the root, sharpened by
    `beta`), or a list for each column, from the root down. `outlier`: suppress a class if merging it
    would cost each of its rows more than this, within `max_suppressed`.
    """

    weights: Literal["uniform", "height"] | dict[str, list[StepWeight]] = "uniform"
    beta: float = Field(default=1.0, ge=1, le=100, allow_inf_nan=False)
    outlier: float | None = Field(default=None, ge=0, allow_inf_nan=False)


class CBOptions(Options):
    """Options of CB [he2012].

    `rounds`: partitions tried for each split. `ncp`: cost of a tree node. `l`: split only if both halves
    stay l-diverse in the `label` column (default: the first sensitive one).
    """

    rounds: int = Field(default=15, ge=1, le=1000)
    ncp: Literal["height", "leaves", "order"] = "height"
    l: int | None = Field(default=None, ge=1)  # noqa: E741 - the name in the literature
    label: str | None = None


class ThresholdOptions(Options):
    """Options of threshold greedy clustering.

    `threshold`: a class is closed when adding the closest row would make one of its rows cost this much;
    default: a quarter of the number of quasi columns.
    """

    threshold: float | None = Field(default=None, gt=0, allow_inf_nan=False)


class CMeansOptions(Options):
    """Options of weighted-feature C-means: the maximum number of assignment rounds."""

    rounds: int = Field(default=2, ge=1, le=1000)


class IncognitoOptions(Options):
    """Options of Incognito: none."""

    not_in_cells = "it publishes each column at one level for the whole table"


class NHOptions(Options):
    """Options of NH: how Mondrian, which forms its groups, cuts."""

    shape = Shape.BOXES
    not_in_cells = "its boxes are verified against the whole original"
    mode: Literal["strict", "relaxed"] = "strict"


class AnatomyOptions(Options):
    """Options of Anatomy: the minimum number of sensitive values in a group."""

    shape = Shape.TWO_TABLES
    not_in_cells = "it publishes two tables"
    l: int = Field(default=2, ge=2)  # noqa: E741 - the name in the literature


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
    """Return the shape that a method publishes; unknown methods are reported elsewhere."""
    return METHODS[method].shape if method in METHODS else Shape.CLASSES
