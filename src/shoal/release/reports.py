"""The HTML reports about a release: one for each table that has a profile."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from importlib.metadata import version
from shlex import quote
from typing import TYPE_CHECKING

from shoal.cluster.registry import METHODS
from shoal.errors import RecipeError
from shoal.recipe import Shape, shareable, to_toml
from shoal.release.manifest import all_rounded, versions
from shoal.release.parts import Part
from shoal.report.facts import Facts
from shoal.report.page import Charts, charts_in_background, render
from shoal.report.profile import Profile

if TYPE_CHECKING:
    from shoal.release.release import Release

Drawn = Callable[[], Charts]


def profiles(release: Release) -> list[tuple[Part, Profile]]:
    """List the tables that have a report; refuse if none has."""
    found = [(part, part.profile) for part in release.parts if part.profile is not None]
    if not found:
        message = "There can be no report about this release: it would need raw values that were not given."
        raise RecipeError("recipe.not_available", message, "write the release without a report")
    return found


@contextmanager
def charts_meanwhile(release: Release) -> Iterator[list[Drawn]]:
    """Draw the charts of all reports while other work is done; yield functions that wait for them."""
    with ExitStack() as stack:
        yield [stack.enter_context(charts_in_background(profile)) for _, profile in profiles(release)]


def report_texts(
    release: Release, names: Sequence[str], digests: Sequence[str | None], charts: Sequence[Drawn] = ()
) -> Iterator[str]:
    """Render the reports; `names` are those of the tables they describe, `digests` their digests."""
    info = METHODS[release.method]
    options = info.options.model_validate(release.recipe.method.options)
    for at, (part, profile) in enumerate(profiles(release)):
        numbers, recipe = part.numbers, part.recipe
        facts = Facts(
            title=names[at],
            version=version("shoal"),
            rows=release.rows,
            released=numbers.released,
            suppressed=numbers.suppressed,
            classes=numbers.classes,
            k_asked=recipe.privacy.k,
            k=numbers.k,
            goals=[goal.to_dict() for goal in numbers.goals],
            method=release.method,
            paper=info.paper,
            seed=release.seed if release.shape is not Shape.TWO_TABLES else None,
            options=options.model_dump(),
            loss=all_rounded(numbers.loss),
            loss_tight=all_rounded(numbers.loss_tight),
            bound=numbers.bound,
            profile=profile,
            kinds={name: release.kinds[name] for name in recipe.quasi},
            kept=recipe.named("keep"),
            about=recipe.about.model_dump(exclude_none=True),
            recipe=to_toml(shareable(recipe)),
            verify_command=_verify_command(names[at], release.shape),
            versions=versions(),
            digest=_digest(release, digests, at),
            remarks=part.remarks,
            composition=release.composition,
            dangers=[danger.to_dict() for danger in part.dangers],
            shape=recipe.shape,
            values=recipe.output.values,
            bounds=recipe.output.bounds,
        )
        yield render(facts, charts[at]() if charts else None)


def _verify_command(name: str, shape: Shape) -> str:
    """Return the command that verifies the files."""
    original = " --original RAW.csv" if shape.needs_original else ""
    return f"shoal verify {quote(name)} --recipe RECIPE.toml{original}"


def _digest(release: Release, digests: Sequence[str | None], at: int) -> str | None:
    """Return the digest of a report's table, or those of both of Anatomy's tables."""
    if release.shape is not Shape.TWO_TABLES or digests[0] is None:
        return digests[at]
    return ", ".join(f"{part.title}: {digest}" for part, digest in zip(release.parts, digests, strict=True))
