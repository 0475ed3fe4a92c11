"""Run a recipe as `shoal anonymize` does: check where the files go, make the release, write it verified."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager, closing, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shoal.bound.result import Bounding
from shoal.recipe import Address, Recipe, located
from shoal.report.engine import prestarted_engine
from shoal.stages import Progress

if TYPE_CHECKING:
    from shoal.release.paths import Places
    from shoal.release.release import Release

# Compiles the kernels named while the table is read.
Compiling = Callable[[Sequence[str], Progress | None], AbstractContextManager[object]]


def publish(
    recipe: Recipe,
    *,
    also: Iterable[Path] = (),
    accept_composition: bool = False,
    bound: Bounding = True,
    analyses: Sequence[str] = (),
    force: bool = False,
    sign: Path | None = None,
    progress: Progress | None = None,
    show_plan: Callable[[str], None] | None = None,
    compiling: Compiling | None = None,
) -> dict[str, Any]:
    """Run a recipe with an output path, write the verified release, and return its numbers and its files.

    Parameters
    ----------
    also, accept_composition, bound, show_plan
        As in `prepare`.
    analyses : sequence of str
        Formulas of analyses that the report compares.
    force : bool
        Overwrite existing files that are not a release of this recipe.
    sign : Path, optional
        A private key to sign the manifest with.
    progress : callable, optional
        Called with the name of a stage, its completed share, and a status text.
    compiling : callable, optional
        Called with the kernels that are not compiled yet, and `progress`.
    """
    with prestarted_engine():
        # Imported while the drawing engine starts.
        from shoal.release.paths import Places
        from shoal.release.signing import load_key
        from shoal.workflow.warming import jobs_left

        also = list(also)
        if sign is not None:
            load_key(sign)  # before any work is done
        signed = sign is not None
        target, table = located(recipe.output.path or ""), recipe.output.table or ""
        if isinstance(target, Address):
            places = Places.of_table(recipe, table, report=True, signed=signed)
            replaced = _check_database(target, table, recipe, also, force=force, signed=signed)
        else:
            places = Places.of(recipe, target, report=True, signed=signed)
            replaced = _check(places, recipe, also, force=force)
        several = bool(also) or len(places.tables) > 1 or recipe.output.ledger is not None
        jobs = jobs_left([recipe.method.name], recipe, bound=bool(bound), several=several)
        with compiling(jobs, progress) if compiling else nullcontext():
            from shoal.workflow.prepare import prepare  # imported after background work has started

            release = prepare(
                None,
                recipe,
                also=also,
                accept_composition=accept_composition,
                bound=bound,
                progress=progress,
                show_plan=show_plan,
                target=places.target,
            )
            with closing(release):
                release.write(report=True, analysis=analyses, force=force, sign=sign, progress=progress)
    result = {**_with_files(release.to_dict(), places), **entered(release), "replaced": replaced}
    return {**result, "output": str(target), "table": table} if isinstance(target, Address) else result


def entered(release: Release) -> dict[str, Any]:
    """Return the ledger that a release was entered into, the number of its entry, and the entry's digest."""
    from shoal.release.ledger import Ledger

    if release.ledger is None:
        return {}
    last = Ledger.read(release.ledger.path).entries[release.ledger.place["entry"] - 1]
    return {"ledger": {"path": str(release.ledger.path), "entry": last["entry"], "sha256": last["sha256"]}}


def _with_files(result: dict[str, Any], places: Places) -> dict[str, Any]:
    """Add the paths of all files."""
    reports = [str(report) for report in places.reports]
    tables = [str(table) for table in places.tables]
    files = {
        "output": str(places.target),
        "manifest": str(places.manifest),
        "report": reports if "views" in result else reports[0],
        **({"files": tables} if len(tables) > 1 else {}),
        **({"signature": str(places.signatures[0])} if places.signatures else {}),
        **(
            {"hierarchies": {name: str(file) for name, file in places.hierarchies.items()}}
            if places.hierarchies
            else {}
        ),
    }
    if "views" not in result:
        return {**result, **files}
    views = [
        {"output": table, "report": report, **view}
        for table, report, view in zip(tables, reports, result["views"], strict=True)
    ]
    return {**result, **files, "views": views}


def _check_database(
    address: Address, table: str, recipe: Recipe, also: Iterable[Path], *, force: bool, signed: bool
) -> bool:
    """Do what `_check` does for a table of a database."""
    from shoal.composition.earlier import earlier_files
    from shoal.release.database import check_database

    reads = recipe.files | earlier_files(also)
    return check_database(recipe, address, table, reads, report=True, force=force, signed=signed)


def _check(places: Places, recipe: Recipe, also: Iterable[Path], *, force: bool) -> bool:
    """Refuse an output that must not be written, before any work is done; return whether one is replaced."""
    from shoal.composition.earlier import earlier_files
    from shoal.recipe import shareable, shared_digest
    from shoal.table.overwriting import refuse_overwriting, replaces_release

    if recipe.engine.name == "spark":
        from shoal.release.folder import check_folder

        check_folder(places.target)
    else:
        places.check()
    ledger = {} if recipe.output.ledger is None else {"the ledger": Path(recipe.output.ledger)}
    refuse_overwriting([*places.all, *places.stale()], recipe.files | earlier_files(also) | ledger)
    return replaces_release(places.all, places.manifest, shared_digest(shareable(recipe)), force=force)
