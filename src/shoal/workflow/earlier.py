"""Read and verify an earlier release that is to be extended."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import polars as pl

from shoal.errors import DataError, PromiseError, RecipeError
from shoal.recipe import Recipe
from shoal.recode.inside import published_classes
from shoal.release.release import Release
from shoal.table import frames
from shoal.table.read import read_release
from shoal.table.siblings import view_paths, view_titles
from shoal.table.write import manifest_path, sha256
from shoal.verifier import Verdict, verify, verify_table
from shoal.workflow.extension import promised_tables


def file_of(release: str | Path | Release) -> Path:
    """Return the file of an earlier release that is in a ledger."""
    if isinstance(release, Release):
        message = "A release in memory is not in any ledger."
        raise RecipeError("recipe.invalid", message, "write it, and extend the file")
    return Path(release)


def read_earlier(
    release: str | Path | Release, recipe: Recipe, recipes: Sequence[Recipe]
) -> tuple[list[pl.DataFrame], str | dict[str, str] | None]:
    """Verify the earlier release; return the rows of each view, quasi columns as texts, and the digests."""
    digest: str | dict[str, str] | None = None
    if isinstance(release, Release):
        found = [part.frame for part in release.parts if isinstance(part.frame, pl.DataFrame)]
        pairs = zip(found, promised_tables(recipe), strict=False)
        verdicts = [verify_table(frame.to_arrow(), promised) for frame, promised in pairs]
    else:
        path = Path(release)
        verdicts = [verify(path, recipe)]
        _check_holds(verdicts[0])
        files = [path] if len(recipes) == 1 else view_paths(path, len(recipes))
        found = [read_release(file, spreadsheet_safe=recipe.output.spreadsheet_safe) for file in files]
        digests = [sha256(file) for file in files]
        digest = digests[0] if len(files) == 1 else dict(zip(view_titles(len(files)), digests, strict=True))
    for verdict in verdicts:
        _check_holds(verdict)
    if len(found) != len(recipes):
        raise _ambiguous()
    earlier = [_as_texts(frame, of_view) for frame, of_view in zip(found, recipes, strict=True)]
    rows = sum(frame.height for frame in earlier)
    classes = sum(
        published_classes(frame, of_view.quasi).height
        for frame, of_view in zip(earlier, recipes, strict=True)
    )
    if (rows, classes) != tuple(sum(getattr(v, what) for v in verdicts) for what in ("rows", "classes")):
        raise _ambiguous()
    return earlier, digest


def _as_texts(frame: pl.DataFrame, recipe: Recipe) -> pl.DataFrame:
    """Return an earlier table with the quasi columns as texts."""
    if set(frame.columns) != {*recipe.quasi, *recipe.named("sensitive", "keep")}:
        raise _ambiguous()
    columns = {name: frames.series(frame, name) for name in frame.columns}
    return pl.DataFrame({n: c.cast(pl.String) if n in recipe.quasi else c for n, c in columns.items()})


def earlier_reads(release: str | Path | Release) -> dict[str, Path]:
    """Return the files of the earlier release, or those that it was made from, by description."""
    if isinstance(release, Release):
        return dict(release.reads)
    path = Path(release).absolute()
    return {"the earlier release": path, "the manifest of the earlier release": manifest_path(path)}


def _check_holds(verdict: Verdict) -> None:
    if not verdict.holds:
        broken = " ".join(f"{problem.code}: {problem.message}" for problem in verdict.problems)
        message = f"The earlier release does not keep what this recipe promises. {broken}"
        raise PromiseError("promise.broken", message, "extend it with the recipe that it was made with")


def _ambiguous() -> DataError:
    message = "The earlier release is ambiguous: two engines read different rows."
    return DataError("data.unreadable", message, "give the file as shoal wrote it")
