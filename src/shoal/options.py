"""The methods that the contract names, and the options that each one takes.

The schemas live here, below the recipe, so that a recipe can be checked whole without loading
any clustering code.
"""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field


class Options(BaseModel):
    """The base of all option schemas: unknown keys are faults, values do not change."""

    model_config = ConfigDict(extra="forbid", frozen=True)


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


# None: the contract names the method, but this version does not have it yet.
METHODS: dict[str, type[Options] | None] = {
    "auto": Options,
    "local-search": None,
    "k-member": KMemberOptions,
    "oka": None,
    "systematic": None,
    "kaca": None,
    "cb": None,
    "mondrian": MondrianOptions,
    "threshold": None,
    "c-means": None,
    "incognito": None,
    "nh": None,
    "anatomy": None,
}
