"""The manifest: what may be published with a release, for anyone who verifies it."""

from __future__ import annotations

import platform
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from math import floor, log10
from typing import TYPE_CHECKING, Any

from shoal.bound.result import bound_fields
from shoal.measure.loss import Loss
from shoal.recipe import Shape, shareable, shared_digest
from shoal.release.parts import Numbers

if TYPE_CHECKING:
    from shoal.release.release import Release


class RowsDigest(str):
    """The digest of the rows of a table in a database, which has no bytes of its own."""

    __slots__ = ()


Digest = str | Mapping[str, str]  # of a file, of a table, or of the files of a folder by name
EARLIER = "danger.earlier"
_VERSIONS = ("shoal", "polars", "numpy", "numba", "duckdb")


def manifest(release: Release, digests: Sequence[Digest]) -> dict[str, Any]:
    """Return what may be published with a release; `digests` are those of its tables.

    Losses depend on the raw table's ranges, so they are rounded: at full precision they would be a digest
    against which guesses about a cell could be tested. Anatomy's seed, which determines its groups, is left
    out.
    """
    shared, numbers, shape = shareable(release.recipe), release.numbers, release.shape
    seed = None if shape is Shape.TWO_TABLES else release.recipe.method.seed
    return {
        "release": {
            **_digests(release, digests),
            "rows": numbers.released,
            "classes": numbers.classes,
        },
        "recipe": {"sha256": shared_digest(shared), **shared},
        "method": {"name": release.method, "seed": seed},
        "suppressed": numbers.suppressed,
        "kinds": release.kinds,
        **_measured(numbers, with_bound=shape.is_generalized),
        **({"views": _views(release, digests)} if shape is Shape.VIEWS else {}),
        **_composition(release),
        **({} if release.ledger is None else {"ledger": release.ledger.place}),
        "dangers": own_dangers(release),
        **({"protection": list(release.protection)} if release.protection else {}),
        "versions": versions(),
    }


def _digests(release: Release, digests: Sequence[Digest]) -> dict[str, Any]:
    """Return the digest of the only table, all digests by title, or those of the files of a folder."""
    if isinstance(digests[0], Mapping):
        return {"files": dict(digests[0])}
    if isinstance(digests[0], RowsDigest):
        return {"rows_sha256": digests[0]}
    if len(release.parts) == 1:
        return {"sha256": digests[0]}
    return {"files": {part.title: digest for part, digest in zip(release.parts, digests, strict=True)}}


def _views(release: Release, digests: Sequence[Digest]) -> list[dict[str, Any]]:
    """Describe each view."""
    return [
        {
            "columns": part.frame.columns,
            "sha256": digest,
            "rows": part.numbers.released,
            "classes": part.numbers.classes,
            "suppressed": part.numbers.suppressed,
            **_measured(part.numbers),
        }
        for part, digest in zip(release.parts, digests, strict=True)
    ]


def _measured(numbers: Numbers, *, with_bound: bool = True) -> dict[str, Any]:
    """Return the goals and the rounded losses."""
    return {
        "goals": [goal.to_dict() for goal in numbers.goals],
        "loss": all_rounded(numbers.loss),
        **(bound_fields(numbers.bound, *numbers.ils) if with_bound else {}),
    }


def _composition(release: Release) -> dict[str, Any]:
    """Return the result of the check together with other tables; views are always checked together."""
    if release.composition is None and release.shape is not Shape.VIEWS:
        return {}
    return {"composition": release.composition}


def own_dangers(release: Release) -> list[dict[str, Any]]:
    """Return the dangers of a release itself, for its manifest and report.

    Those of other files in the folder are not included: a release has the same manifest wherever it is.
    """
    return [danger.to_dict() for danger in release.dangers if danger.code != EARLIER]


def versions() -> dict[str, str]:
    """Return the versions of the packages that make a release."""
    return {name: version(name) for name in _VERSIONS} | {"python": platform.python_version()}


def all_rounded(loss: Loss) -> dict[str, float | int | None]:
    """Round every loss to three digits: at full precision it would be a digest of the raw table."""
    return {name: _rounded(value) for name, value in loss.to_dict().items()}


def _rounded(value: float | int | None) -> float | int | None:
    """Round to three significant digits."""
    if not value:
        return value
    digits = 2 - floor(log10(abs(value)))
    return round(value, digits)
