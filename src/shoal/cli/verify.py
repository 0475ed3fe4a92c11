"""`shoal verify`: check every goal on the written files alone."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from shoal.cli.console import Json, Quiet, print_json, reporting, say
from shoal.cli.flags import (
    Conf,
    Goals,
    JUnit,
    KOfRelease,
    Master,
    RecipeOfRelease,
    Views,
    read_conf,
    read_goals,
    read_views,
)
from shoal.cli.recipes import location
from shoal.cli.table_flags import TableFlags, with_table_flags
from shoal.wording import naming_flags

if TYPE_CHECKING:
    from shoal.recipe import Location


@with_table_flags
def verify(
    released: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="OUT...",
            help="Released files, or folders of part-00000 and so on; or their manifests; "
            "or postgresql://host/database#table.",
        ),
    ] = None,
    recipe: RecipeOfRelease = None,
    table: TableFlags = TableFlags(),  # noqa: B008  # expanded by the decorator
    k: KOfRelease = None,
    goal: Goals = None,
    views: Views = None,
    original: Annotated[
        str | None,
        typer.Option(
            "--original", metavar="FILE", help="The raw table, to compare with: a file or postgresql://..."
        ),
    ] = None,
    engine: Annotated[
        str, typer.Option("--engine", metavar="WORD", help="duckdb, or spark for a folder.")
    ] = "duckdb",
    master: Master = None,
    conf: Conf = None,
    ledger: Annotated[
        Path | None,
        typer.Option("--ledger", help="Also check this ledger, and that it lists the releases given."),
    ] = None,
    public_key: Annotated[
        Path | None,
        typer.Option("--public-key", metavar="FILE", help="Check the signatures of manifests (PEM)."),
    ] = None,
    junit: JUnit = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Check released files or folders: read them with another engine and compare with what was promised.

    Without a recipe and flags, the promises are read from the manifest next to each file.

    For a release in several views X.1.csv, X.2.csv and so on, give X.csv: all views are checked.

    With --ledger and no released files, only the ledger is checked: its chain, and the digests of all
    manifests and releases that it names.

    Exit status 0: every promise holds. 1: one does not. 2: bad usage or an unreadable file.
    """
    with reporting(as_json, quiet), naming_flags(recipe is None):
        from shoal.errors import RecipeError
        from shoal.recipe import Recipe
        from shoal.table.overwriting import refuse_overwriting
        from shoal.table.siblings import release_of

        released = released or []
        if not released and ledger is None:
            message = "There is nothing to verify: no release and no ledger is given."
            raise RecipeError("recipe.invalid", message, "name released files, or --ledger FILE")
        settings = _spark_settings(engine, master, conf, original)
        changes = {
            "input": table.input(),
            "columns": table.columns(),
            "privacy": {"k": k, "goal": read_goals(goal), **table.privacy()},
            "output": read_views(views),
        }
        places = [location(text) for text in released]
        if recipe is None and table.is_empty() and not (k or goal or views):
            places = [release_of(place) if isinstance(place, Path) else place for place in places]
            releases = {place: Recipe.load(manifest_of(_files_of(place))) for place in places}
        elif recipe is None:
            releases = dict.fromkeys(places, Recipe.from_dict({}, changes=changes))
        else:
            releases = dict.fromkeys(places, Recipe.load(recipe, changes=changes))
        if junit is not None:
            raw = None if original is None else location(original)
            for path, asked in releases.items():
                refuse_overwriting([junit], asked.files | files_read(_files_of(path), raw))
        verdicts = {
            path: _check(path, asked, original, settings, public_key) for path, asked in releases.items()
        }
        files = [_files_of(release_of(place) if isinstance(place, Path) else place) for place in places]
        chain = None if ledger is None else _check_ledger(ledger, files, public_key)
        if junit is not None:
            _write_junit(verdicts, chain, junit)
        if as_json:
            print_json(_in_json(verdicts, chain))
        elif not quiet:
            for path, verdict in verdicts.items():
                say(verdict if len(verdicts) == 1 else f"{path}: {verdict}")
            if chain is not None:
                say(chain)
        if not all(verdict.holds for verdict in (*verdicts.values(), *([chain] if chain else []))):
            raise typer.Exit(1)


def _spark_settings(
    engine: str, master: str | None, conf: list[str] | None, original: str | None
) -> tuple[str | None, dict[str, str]] | None:
    """Return where and how Spark runs; None for DuckDB."""
    from shoal.errors import RecipeError

    if engine not in ("duckdb", "spark"):
        raise RecipeError("recipe.invalid", "--engine takes duckdb or spark.", "choose one of them")
    if engine == "duckdb":
        if master is not None or conf:
            message = "--master and --conf are settings of Spark."
            raise RecipeError("recipe.invalid", message, "add --engine spark")
        return None
    if original is not None:
        message = "The engine `spark` does not compare a release with its original."
        raise RecipeError("recipe.not_available", message, "leave out --original, or --engine spark")
    return master, read_conf(conf) or {}


def _check(
    released: Location,
    asked: Any,
    original: str | None,
    settings: tuple[str | None, dict[str, str]] | None,
    public_key: Path | None,
) -> Any:
    """Verify with the engine that was chosen."""
    if settings is None:
        from shoal.verifier import verify as check

        place = released if isinstance(released, Path) else released.dsn
        return check(place, asked, original=original, public_key=public_key)
    from shoal.errors import RecipeError
    from shoal.verifier.signature import with_signature
    from shoal.verifier.spark import spark_session, verify_folder

    if not isinstance(released, Path):
        message = "The engine `spark` does not verify a release in a database."
        raise RecipeError("recipe.not_available", message, "leave out --engine spark")
    return with_signature(verify_folder(spark_session(*settings), released, asked), released, public_key)


def _check_ledger(ledger: Path, released: Iterable[Path], public_key: Path | None) -> Any:
    from shoal.verifier import verify_ledger

    return verify_ledger(ledger, releases=list(released), public_key=public_key)


def _files_of(released: Location) -> Path:
    """Return the name that the files of a release share, in the working directory for one in a database."""
    from shoal.recipe import file_of_table

    if isinstance(released, Path):
        return released
    return file_of_table(released.split_table()[1] or "release")


def manifest_of(released: Path) -> Path:
    """Return the manifest next to a release, which says what was promised; refuse a file without one."""
    from shoal.errors import DataError, RecipeError
    from shoal.table.write import manifest_path

    manifest = manifest_path(released) if released.name else None
    if manifest is not None and manifest.is_file():
        return manifest
    if not released.exists():
        raise DataError(
            "data.unreadable", f"{released} cannot be read: there is no such file.", "check the path"
        )
    message = f"What {released} promises is not known: there is no manifest next to it."
    raise RecipeError("recipe.invalid", message, "give --recipe, or --quasi, --sensitive and --k")


def files_read(released: Path, original: Location | None) -> dict[str, Path]:
    """Return the files that are read in addition to those of the recipe, by description."""
    from shoal.table.siblings import listed_tables, part_paths
    from shoal.table.write import manifest_path

    if not released.name:
        return {}  # a folder, not a release
    tables = [*part_paths(released), *listed_tables(released)]
    tables += sorted(released.iterdir()) if released.is_dir() else []
    reads = {f"table {at} of the release": file for at, file in enumerate(tables, 1)}
    reads |= {"the release": released, "the manifest": manifest_path(released)}
    if not isinstance(original, Path):  # a database has no files
        return reads
    raw = sorted(original.iterdir()) if original.is_dir() else []
    originals = {f"file {at} of the original": file for at, file in enumerate(raw, 1)}
    return {**reads, **originals, "the original": original}


def _in_json(verdicts: dict[Location, Any], chain: Any) -> dict[str, Any]:
    """Return the verdict of one release, or those of several with their paths; then that of a ledger."""
    if len(verdicts) == 1:
        (verdict,) = verdicts.values()
        found = dict(verdict.to_dict())
    elif verdicts:
        releases = [{"release": str(path), **verdict.to_dict()} for path, verdict in verdicts.items()]
        found = {"holds": all(release["holds"] for release in releases), "releases": releases}
    else:
        return dict(chain.to_dict())
    return found if chain is None else {**found, "ledger": chain.to_dict()}


def _write_junit(verdicts: dict[Location, Any], chain: Any, path: Path) -> None:
    """Write a JUnit file: test cases for each goal of a release, for the rest of it, and for a ledger."""
    from shoal.cli.junit import write_junit

    cases: dict[str, list[str]] = {}
    for release, verdict in verdicts.items():
        start = "" if len(verdicts) == 1 else f"{release}: "
        for goal in verdict.goals:
            name = start + (goal.type if goal.column is None else f"{goal.type} of {goal.column}")
            missed = [] if goal.holds else [f"asked {goal.asked}, achieved {goal.achieved}"]
            cases[name] = cases.get(name, []) + missed
        cases[f"{start}promises"] = [f"{problem.code}: {problem.message}" for problem in verdict.problems]
    if chain is not None:
        cases["ledger"] = [f"{problem.code}: {problem.message}" for problem in chain.problems]
    write_junit(path, "shoal verify", "shoal.verifier", cases)
