"""The HTML reports about a release: one for each table that has a profile."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from importlib.metadata import version
from shlex import quote
from typing import TYPE_CHECKING

from shoal.bound.result import bound_fields
from shoal.cluster.registry import METHODS
from shoal.errors import RecipeError
from shoal.recipe import Shape, shareable, to_toml
from shoal.release.distributed import Distributed
from shoal.release.manifest import RowsDigest, all_rounded, versions
from shoal.release.parts import Part
from shoal.report.facts import Facts
from shoal.report.findings import Findings
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
    release: Release,
    names: Sequence[str],
    digests: Sequence[str | None],
    charts: Sequence[Drawn] = (),
    analyses: Sequence[str] = (),
    *,
    files: int = 0,
    also: str = "",
) -> Iterator[str]:
    """Render the reports; `names` are those of the tables they describe, `digests` their digests.

    Of a folder, `files` is the number of its files, and `also` says what verified it besides Spark.
    """
    info = METHODS[release.method]
    in_database = isinstance(digests[0], RowsDigest)
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
            bound_gap=bound_fields(numbers.bound, *numbers.ils)["bound_gap"],
            profile=profile,
            kinds={name: release.kinds[name] for name in recipe.quasi},
            kept=[name for name in recipe.named("keep") if name in recipe.unchanged],
            about=recipe.about.model_dump(exclude_none=True),
            recipe=to_toml(shareable(recipe)),
            versions=versions(),
            digest=_digest(release, digests, at),
            files=files,
            engines=f"Spark SQL{also}" if isinstance(part.frame, Distributed) else "DuckDB",
            remarks=part.remarks,
            composition=release.composition,
            findings=_findings(part, release.shape, analyses),
            in_database=in_database,
            commands=_stored_commands(names[at]) if in_database else _commands(names[at], release.shape),
            dangers=[danger.to_dict() for danger in part.dangers],
            protection=[entry for entry in release.protection if entry["column"] in _released(part)],
            shape=recipe.shape,
            values=recipe.output.values,
            bounds=recipe.output.bounds,
        )
        yield render(facts, charts[at]() if charts else None)


def _released(part: Part) -> set[str]:
    """Return the columns of the raw table that a table publishes."""
    recipe = part.recipe
    return {*recipe.named("quasi", "sensitive", "keep"), *recipe.pseudonyms}


def _findings(part: Part, shape: Shape, analyses: Sequence[str]) -> Findings:
    """Gather what was found out about a table, or say why there is nothing."""
    if part.findings is not None:
        return part.findings(analyses)
    held = "a table that Spark holds" if isinstance(part.frame, Distributed) else _NAMES[shape]
    if analyses:
        message = f"Analyses cannot be compared for {held}."
        raise RecipeError("recipe.not_available", message, "leave the analysis out")
    why = f"Risk, attacks, usefulness and the cost of k are not part of a report about {held}."
    return Findings(left_out={"risk": f"{why} `shoal attack` attacks its files."})


_NAMES = {
    Shape.CLASSES: "this release",
    Shape.BOXES: "a release with a box for each row",
    Shape.TWO_TABLES: "a release in two tables",
    Shape.VIEWS: "one of several views",
}


def _commands(name: str, shape: Shape) -> list[tuple[str, str]]:
    """Return the commands that repeat and check a release, each with what it does."""
    original = " --original RAW.csv" if shape.needs_original else ""
    file = quote(name)
    commands = [
        ("check every promise", f"shoal verify {file} --recipe RECIPE.toml{original}"),
        ("attack it", f"shoal attack RAW.csv {file} --recipe RECIPE.toml"),
    ]
    if shape is Shape.CLASSES:
        commands += [
            ("measure the risk", f"shoal risk RAW.csv --recipe RECIPE.toml --released {file}"),
            ("measure loss and usefulness", f"shoal measure RAW.csv --recipe RECIPE.toml --released {file}"),
        ]
    return [*commands, ("make it again", "shoal anonymize RECIPE.toml -o AGAIN.csv")]


def _stored_commands(name: str) -> list[tuple[str, str]]:
    """Return the commands for a release in a database, whose address is not shown."""
    place = quote(f"postgresql://HOST/DATABASE#{name}")
    return [
        ("check every promise", f"shoal verify {place} --recipe RECIPE.toml"),
        ("make it again", "shoal anonymize RECIPE.toml -o AGAIN.csv"),
    ]


def _digest(release: Release, digests: Sequence[str | None], at: int) -> str | None:
    """Return the digest of a report's table, or those of both of Anatomy's tables."""
    if release.shape is not Shape.TWO_TABLES or digests[0] is None:
        return digests[at]
    return ", ".join(f"{part.title}: {digest}" for part, digest in zip(release.parts, digests, strict=True))
