"""`shoal demo`: the complete workflow on synthetic hospital data."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from shutil import which
from typing import Annotated, Any

import typer

from shoal.cli.anonymize import publish
from shoal.cli.console import Json, Quiet, print_json, reporting, say
from shoal.cli.summary import summary
from shoal.errors import OutputError

_RELEASE = "hospital-k5.csv"


def demo(
    folder: Annotated[Path, typer.Option("--dir", help="Folder for the files.")] = Path("shoal-demo"),
    rows: Annotated[
        int, typer.Option("--rows", min=100, help="Number of hospital stays to generate.")
    ] = 10_000,
    engine: Annotated[str | None, typer.Option("--engine", metavar="WORD", help="local, or spark.")] = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Generate hospital data, anonymize it, verify the release, and show where the files are."""
    with reporting(as_json, quiet):
        from shoal.datasets import write_hospital
        from shoal.recipe import Recipe
        from shoal.table.write import unwritable

        _refuse_others(folder)
        begin = time.perf_counter()
        _announce(rows, folder, as_json or quiet)
        try:
            folder.mkdir(parents=True, exist_ok=True)
            recipe_path = write_hospital(folder, rows, 0)
        except OSError as error:
            raise unwritable(folder / "hospital.csv", error) from None
        changes = {"output": {"path": str(folder / _RELEASE)}, "engine": {"name": engine}}
        # The release belongs to the demo, even if an earlier version used another recipe.
        result = publish(Recipe.load(recipe_path, changes=changes), quiet, force=True)
        if as_json:
            print_json(result)
        elif not quiet:
            _show(recipe_path, result, time.perf_counter() - begin)


def _announce(rows: int, folder: Path, quiet: bool) -> None:
    """Announce what the demo does."""
    if not quiet:
        say(
            f"Generating {rows:,} synthetic hospital stays in {folder}, then anonymizing them so that every "
            "row looks like at least 4 others in birth date, sex, postcode and profession.\n"
        )


def _refuse_others(folder: Path) -> None:
    """Refuse a folder that has files with these names, but not from an earlier demo."""
    from shoal.datasets import HOSPITAL_FILES, is_hospital_folder

    found = [file for name in (*HOSPITAL_FILES, _RELEASE) if (file := folder / name).is_file()]
    if found and not is_hospital_folder(folder):
        message = f"{found[0]} exists and was not written by the demo."
        raise OutputError("output.exists", message, "choose another folder with --dir")


def _show(recipe_path: Path, result: dict[str, Any], seconds: float) -> None:
    """Show a few released rows (raw rows must not be shown) and what to do next."""
    import polars as pl

    output = Path(result["output"])
    first = output / "part-00000.csv" if output.is_dir() else output
    released = pl.read_csv(first, infer_schema=False)
    say(summary(result))
    say("\nSome released rows:")
    with pl.Config(tbl_rows=8, tbl_hide_dataframe_shape=True, tbl_hide_column_data_types=True, tbl_cols=-1):
        print(released.sample(min(8, released.height), seed=0))
    say(f"\nDone in {seconds:.0f} s. To see the report, open {result['report']}")
    say("\nTry next:\n")
    for words, command in _next_steps(recipe_path, result):
        say(f"  # {words}\n  {command}\n")


def _next_steps(recipe_path: Path, result: dict[str, Any]) -> list[tuple[str, str]]:
    """List commands to try, each with a description."""
    shoal = "shoal" if which("shoal") == sys.argv[0] else sys.argv[0]
    raw, release = recipe_path.with_name("hospital.csv"), result["output"]
    stricter = recipe_path.with_name("hospital-k10.csv")
    return [
        (
            "check the release against the raw table, row by row",
            f"{shoal} verify {release} --recipe {recipe_path} --original {raw}",
        ),
        (
            "require classes of 10 rows with at least 3 diagnoses each",
            f"{shoal} anonymize {recipe_path} --k 10 --goal 'l-diversity column=diagnosis l=3' -o {stricter}",
        ),
        (
            "compare methods by information loss and run time",
            f"{shoal} compare {recipe_path} --methods local-search,mondrian,k-member --k 5,10",
        ),
    ]
