"""`shoal demo`: the whole story on made-up hospital data."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from shoal.cli.anonymize import publish, summary
from shoal.cli.console import Json, Quiet, print_json, reporting, say
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
            _tell(recipe_path, result)


def _refuse_others(folder: Path) -> None:
    """Refuse a folder whose files of these names are not those of an earlier demo."""
    from shoal.datasets import HOSPITAL_FILES, is_hospital_folder

    found = [file for name in (*HOSPITAL_FILES, _RELEASE) if (file := folder / name).is_file()]
    if found and not is_hospital_folder(folder):
        message = f"{found[0]} exists and is not of the demo."
        raise OutputError("output.exists", message, "choose another folder with --dir")


def _tell(recipe_path: Path, result: dict[str, Any]) -> None:
    """Show a few released rows: they are the only ones that may be shown."""
    import polars as pl

    released = pl.read_csv(result["output"], infer_schema=False)
    say(f"made-up hospital stays: {recipe_path.with_name('hospital.csv')}")
    say(f"the recipe:             {recipe_path}\n")
    say(summary(result))
    say("\nsome released rows:")
    with pl.Config(tbl_rows=8, tbl_hide_dataframe_shape=True, tbl_hide_column_data_types=True, tbl_cols=-1):
        print(released.sample(min(8, released.height), seed=0))
    say("\ncheck the file yourself:")
    say(f"  shoal verify {result['output']} --recipe {recipe_path}")
