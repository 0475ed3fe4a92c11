"""`shoal attack`: what an attacker gets out of a release."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from shoal.cli.console import Json, Quiet, print_json, progress_bar, reporting, say
from shoal.cli.flags import Goals, JUnit, KOfRelease, RecipeOfRelease, Views, read_goals, read_views
from shoal.cli.recipes import location
from shoal.cli.table_flags import TableFlags, with_table_flags
from shoal.wording import naming_flags

_FINDINGS = {"broken": "BROKEN", "exposed": "exposed", "none": "-"}
_HEADINGS = ("success", "95 % interval", "raw table", "without", "promised")
_WIDE, _NARROW = 100, 75  # characters of a terminal that the interval needs, and that comparisons need


@with_table_flags
def attack(
    original: Annotated[str, typer.Argument(help="The raw table: a file or postgresql://...")],
    released: Annotated[
        Path, typer.Argument(help="A release of it: a file, or a folder of part-00000 and so on.")
    ],
    recipe: RecipeOfRelease = None,
    table: TableFlags = TableFlags(),  # noqa: B008  # expanded by the decorator
    k: KOfRelease = None,
    goal: Goals = None,
    views: Views = None,
    earlier: Annotated[
        list[Path] | None,
        typer.Option(
            "--earlier",
            metavar="FILE",
            help="An earlier release about the same people, with its manifest next to it; may be repeated.",
        ),
    ] = None,
    junit: JUnit = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Attack a release: link rows to people, infer sensitive values, recover generalized ones.

    Works on the written file alone, also on releases of ARX, sdcMicro and anjana. For each attack: how often
    it succeeds, how often it would on the raw table, how often a guess without the release is right, and
    what the recipe promises.

    Without a recipe and flags, the promises are read from the manifest next to the release.

    Exit status 0: no promise is broken. 1: one is. 2: bad usage or an unreadable file.
    """
    with reporting(as_json, quiet), naming_flags(recipe is None):
        from shoal.cli.verify import files_read, manifest_of
        from shoal.recipe import Recipe
        from shoal.table.overwriting import refuse_overwriting
        from shoal.workflow.attack import attack as run

        if recipe is None and table.is_empty() and not (k or goal or views):
            recipe = manifest_of(released)
        changes = {
            "input": table.input(),
            "columns": table.columns(),
            "privacy": {"k": k, "goal": read_goals(goal), **table.privacy()},
            "output": read_views(views),
        }
        asked = (
            Recipe.from_dict({}, changes=changes) if recipe is None else Recipe.load(recipe, changes=changes)
        )
        if junit is not None:
            before = {f"earlier release {at}": file for at, file in enumerate(earlier or (), 1)}
            refuse_overwriting([junit], asked.files | files_read(released, location(original)) | before)
        with progress_bar(quiet) as progress:
            found = run(original, released, asked, earlier=earlier or (), progress=progress)
        if junit is not None:
            _write_junit(found, junit)
        if as_json:
            print_json(found.to_list())
        elif not quiet:
            _print(found)
        if not found.holds:
            raise typer.Exit(1)


def _title(result: Any) -> str:
    """Name an attack, with the columns that it is about and its view."""
    about = f" ({', '.join(result.columns)})" if result.columns else ""
    view = f", view {result.details['view']}" if "view" in result.details else ""
    return f"{result.attack}{about}{view}"


def _print(found: Any) -> None:
    """Print a table of all attacks, then what was found in words."""
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    from shoal.attacks.result import GROUPS
    from shoal.errors import printable

    console = Console()
    shown = (
        [0, 1, 2, 3, 4] if console.width >= _WIDE else [0, 2, 3, 4] if console.width >= _NARROW else [0, 4]
    )
    names = ["attack", *(_HEADINGS[at] for at in shown), "finding"]
    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    for name in names:
        table.add_column(name, justify="left" if name in ("attack", "finding") else "right", overflow="fold")
    for group in GROUPS:
        results = [result for result in found if result.group == group]
        if results:
            table.add_section()
            table.add_row(Text(group, style="bold"))
        for result in results:
            style = {"broken": "bold red", "exposed": "yellow", "none": ""}[result.finding]
            numbers = [_percent(n) for n in (result.success, result.baseline, result.guess, result.ceiling)]
            numbers.insert(1, _interval(result))
            title, finding = printable(_title(result)), Text(_FINDINGS[result.finding], style=style)
            table.add_row(Text(f"  {title}"), *(numbers[at] for at in shown), finding)
    console.print(table)
    say(found)


def _interval(result: Any) -> str:
    return "counted" if result.interval == "exact" else f"{_percent(result.low)} - {_percent(result.high)}"


def _percent(number: float | None) -> str:
    """Format a share for the table."""
    if number is None:
        return "-"
    if 0 < number < 0.001:
        return "< 0.1 %"
    return "> 99.9 %" if 0.999 < number < 1 else f"{number:.1%}".replace("%", " %")


def _write_junit(found: Any, path: Path) -> None:
    """Write a JUnit file with one test case for each attack; only broken promises fail."""
    from shoal.cli.junit import write_junit

    cases: dict[str, list[str]] = {}
    for result in found:
        broken = [result.message] if result.finding == "broken" else []
        cases[_title(result)] = cases.get(_title(result), []) + broken
    write_junit(path, "shoal attack", "shoal.attacks", cases)
