"""`shoal republish`: publish a table again after people have come and gone."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from shoal.cli.console import Json, Quiet, print_json, progress_bar, reporting, say
from shoal.cli.flags import Force, Ledger, NoBound, Sign
from shoal.cli.summary import record_lines, written_lines


def republish(
    recipe: Annotated[
        Path, typer.Argument(metavar="RECIPE", help="A recipe (.toml); its input is the table.")
    ],
    record: Annotated[
        Path,
        typer.Option(
            "--record", metavar="FILE", help="Your private record of all releases; created if missing."
        ),
    ],
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="Path of the release; a new one each time.")
    ] = None,
    m: Annotated[
        int | None, typer.Option("--m", help="Different sensitive values in each group; default: k.")
    ] = None,
    ledger: Ledger = None,
    accept_composition: Annotated[
        bool,
        typer.Option("--accept-composition", help="Publish even if the tables together reveal too much."),
    ] = False,
    sign: Sign = None,
    no_bound: NoBound = False,
    force: Force = False,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Publish the whole table again, so that all releases together reveal no more than one (m-invariance).

    People who stay are recognized by the subject column and keep a group with the same sensitive values. Rows
    that fit no group are left out this time. The record names people and their values: keep it with the raw
    table, and never publish it.

    Examples:  shoal republish recipe.toml --record people.record -o march.csv
    shoal republish recipe.toml --record people.record -o april.csv
    """
    with reporting(as_json, quiet):
        from shoal.errors import RecipeError
        from shoal.recipe import Recipe

        changes = {
            "output": {
                "path": None if output is None else str(output),
                "ledger": None if ledger is None else str(ledger),
            }
        }
        asked = Recipe.load(recipe, changes=changes)
        if asked.output.path is None:
            raise RecipeError("recipe.invalid", "No output file is given.", "add -o FILE")
        with progress_bar(quiet) as progress:
            result = _run(asked, record, m, accept_composition, not no_bound, sign, force, progress)
        if as_json:
            print_json(result)
        elif not quiet:
            say(_summary(result))


def _run(
    recipe: Any,
    record: Path,
    m: int | None,
    accept_composition: bool,
    bound: bool,
    sign: Path | None,
    force: bool,
    progress: Any,
) -> dict[str, Any]:
    """Publish, and return the numbers and the files."""
    from shoal.release.paths import Places
    from shoal.release.signing import load_key
    from shoal.workflow.publish import entered
    from shoal.workflow.republish import republish as run

    if sign is not None:
        load_key(sign)  # before any work is done
    target = Path(recipe.output.path)
    places = Places.of(recipe, target, report=False, signed=sign is not None)
    places.check()
    release = run(
        None,
        recipe,
        record,
        m=m,
        accept_composition=accept_composition,
        bound=bound,
        target=target,
        progress=progress,
    )
    release.write(force=force, sign=sign, progress=progress)
    return {
        **release.to_dict(),
        "output": str(target),
        "manifest": str(places.manifest),
        "record": str(record),
        **({"signature": str(places.signatures[0])} if places.signatures else {}),
        **entered(release),
    }


def _summary(result: dict[str, Any]) -> str:
    lines = [
        f"released {result['released']:,} rows in {result['classes']:,} classes; {result['stayed']:,} of "
        f"people who were released before; {result['held_back']:,} held back",
        *written_lines(result),
        f"  record:   {result['record']} (raw data: keep it private)",
        *record_lines(result),
    ]
    return "\n".join(lines)
