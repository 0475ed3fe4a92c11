"""`shoal demo`: the whole story on made-up hospital data."""

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
    folder: Annotated[Path, typer.Option("--dir", help="Where the files go.")] = Path("shoal-demo"),
    rows: Annotated[
        int, typer.Option("--rows", min=100, help="How many hospital stays to make up.")
    ] = 10_000,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Make up hospital data, anonymize it, verify the release, and show where everything is."""
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
        changes = {"output": {"path": str(folder / _RELEASE)}}
        # The release is the demo's own, even if that of an earlier version had another recipe.
        result = publish(Recipe.load(recipe_path, changes=changes), quiet, force=True)
        if as_json:
            print_json(result)
        elif not quiet:
            _show(recipe_path, result, time.perf_counter() - begin)


def _announce(rows: int, folder: Path, quiet: bool) -> None:
    """Say what is going to happen."""
    if not quiet:
        say(
            f"Making up {rows:,} hospital stays in {folder}, then publishing them so that every row looks "
            "like at least 4 others in birth date, sex, postcode and profession.\n"
        )


def _refuse_others(folder: Path) -> None:
    """Refuse a folder whose files of these names are not those of an earlier demo."""
    from shoal.datasets import HOSPITAL_FILES, is_hospital_folder

    found = [file for name in (*HOSPITAL_FILES, _RELEASE) if (file := folder / name).is_file()]
    if found and not is_hospital_folder(folder):
        message = f"{found[0]} exists and is not of the demo."
        raise OutputError("output.exists", message, "choose another folder with --dir")


def _show(recipe_path: Path, result: dict[str, Any], seconds: float) -> None:
    """Show a few released rows, which are the only ones that may be shown, and what to do next."""
    import polars as pl

    released = pl.read_csv(result["output"], infer_schema=False)
    say(summary(result))
    say("\nSome released rows:")
    with pl.Config(tbl_rows=8, tbl_hide_dataframe_shape=True, tbl_hide_column_data_types=True, tbl_cols=-1):
        print(released.sample(min(8, released.height), seed=0))
    say(f"\nDone in {seconds:.0f} s. The report explains the release: open {result['report']}")
    say("\nTry next:\n")
    for words, command in _next_steps(recipe_path, result):
        say(f"  # {words}\n  {command}\n")


def _next_steps(recipe_path: Path, result: dict[str, Any]) -> list[tuple[str, str]]:
    """List commands to try, each with what it does."""
    shoal = "shoal" if which("shoal") == sys.argv[0] else sys.argv[0]
    raw, release = recipe_path.with_name("hospital.csv"), result["output"]
    stricter = recipe_path.with_name("hospital-k10.csv")
    return [
        (
            "check the release against the raw table, row by row",
            f"{shoal} verify {release} --recipe {recipe_path} --original {raw}",
        ),
        (
            "ask for classes of 10 rows with at least 3 diagnoses each",
            f"{shoal} anonymize {recipe_path} --k 10 --goal 'l-diversity column=diagnosis l=3' -o {stricter}",
        ),
        (
            "compare methods by what they lose and how long they take",
            f"{shoal} compare {recipe_path} --methods local-search,mondrian,k-member --k 5,10",
        ),
    ]
