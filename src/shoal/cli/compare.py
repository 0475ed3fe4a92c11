"""`shoal compare`: every method at every k on one recipe."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from shoal.cli.compiling import compiled_meanwhile
from shoal.cli.console import Json, Quiet, print_json, progress_bar, reporting, say
from shoal.cli.flags import (
    Goals,
    NoBound,
    SaveRecipe,
    TableFlags,
    is_recipe,
    load_recipe,
    names,
    read_goals,
    save_recipe,
    with_table_flags,
)
from shoal.cli.summary import told, told_bound

if TYPE_CHECKING:
    from shoal.recipe import Recipe
from shoal.wording import naming_flags


@with_table_flags
def compare(
    source: Annotated[
        Path,
        typer.Argument(
            metavar="RECIPE_OR_FILE", help="A recipe (.toml), or a table with flags for its columns."
        ),
    ],
    methods: Annotated[
        str, typer.Option("--methods", metavar="A,B,...", help="See `shoal methods`; all takes every one.")
    ] = "all",
    k: Annotated[
        str | None,
        typer.Option("--k", metavar="K,L,...", help="Smallest class sizes; without them, the recipe's."),
    ] = None,
    seed: Annotated[
        int | None, typer.Option("--seed", help="Same seed, data and version: same losses.")
    ] = None,
    chart: Annotated[
        Path | None,
        typer.Option("--chart", help="Draw loss and time against k; the ending (.svg, .png, .html) decides."),
    ] = None,
    table: TableFlags = TableFlags(),  # noqa: B008  # one parameter for each flag, by the decorator
    goal: Goals = None,
    no_bound: NoBound = False,
    save: SaveRecipe = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Compare methods: loss of what each would publish, classes and time. Nothing is released.

    A method's options in the recipe hold for that method alone; the others run with their defaults.
    The seconds are those of the clustering alone; each method runs on a few rows beforehand, so
    that compiling is not among them. Exit status 0 unless no method can run.

    Example:  shoal compare recipe.toml --methods all --k 5,10,25 --chart methods.svg
    """
    with reporting(as_json, quiet), naming_flags(not is_recipe(source)):
        ks = None if k is None else _numbers(k)
        # With k's of its own the command needs none from the recipe; any one will do to check the rest.
        changes = {
            "input": table.input(),
            "columns": table.columns(),
            "privacy": {"k": None if ks is None else 2, "goal": read_goals(goal), **table.privacy()},
            "method": {"seed": seed},
        }
        recipe = load_recipe(source, changes)
        if save is not None:
            save_recipe(recipe if not ks else recipe.changed({"privacy": {"k": ks[0]}}), save)
        comparison = _run(recipe, names(methods), ks, chart, quiet, bound=not no_bound)
        drawn = chart if chart is not None and comparison.exit_status == 0 else None
        if drawn is not None:
            comparison.chart(drawn)
        result = {**comparison.to_dict(), "chart": None if drawn is None else str(drawn)}
        if as_json:
            print_json(result)
        elif not quiet:
            _print(result)
        if comparison.exit_status:
            error = result["results"][0]["error"]
            say(f"error [{error['code']}]: No method could run. {error['message']}", sys.stderr)
            raise typer.Exit(comparison.exit_status)


def _run(
    recipe: Recipe,
    methods: list[str],
    ks: list[Any] | None,
    chart: Path | None,
    quiet: bool,
    *,
    bound: bool,
) -> Any:
    from shoal.report.comparison import check_chart_target
    from shoal.table.overwriting import refuse_overwriting
    from shoal.workflow.compare import ALL, COMPARED
    from shoal.workflow.compare import compare as run
    from shoal.workflow.warming import jobs_left

    if chart is not None:
        refuse_overwriting([chart], recipe.files)
        check_chart_target(chart)
    jobs = jobs_left(COMPARED if ALL in methods else [name for name in methods if name in COMPARED], recipe)
    with progress_bar(quiet, stacked=False) as progress, compiled_meanwhile(jobs, progress, quiet):
        return run(recipe, methods=methods, ks=ks, bound=bound, progress=progress)


def _numbers(text: str) -> list[Any]:
    """Turn texts into whole numbers; what is none stays as it is, to be reported with all other faults."""
    return [_number(part) for part in names(text)]


def _number(text: str) -> int | str:
    try:
        return int(text)
    except ValueError:
        return text


def _print(result: dict[str, Any]) -> None:
    """Print a table, the trials of each k together, and what its marks and seconds mean."""
    from rich.console import Console

    console = Console()
    table = _table(result["results"], gap=1 if console.width < 100 else 2)
    # Where a terminal is too narrow, lines run over its edge: no digit may be cut off.
    console.width = max(console.width, console.measure(table, options=Console(width=1000).options).minimum)
    console.print(table)
    losses = [trial["loss"] for trial in result["results"] if trial["loss"]]
    measure = "IL" if any(loss["il"] is not None for loss in losses) else "DM"
    lines = [
        f"* lowest {measure} at this k    - not defined",
        f"seconds: clustering alone, after an untimed run on {result['warm_rows']:,} rows that compiles",
        *_bound_notes(result["results"]),
        *_label_notes(result["results"]),
        *_added_notes(result["results"]),
        *([] if result["chart"] is None else [f"chart: {result['chart']}"]),
    ]
    say("\n".join(lines))


def _bound_notes(results: list[dict[str, Any]]) -> list[str]:
    """Say below what IL no method can go, at each k."""
    bounds = {trial["k"]: told_bound(trial) for trial in results if trial["bound"] is not None}
    return [f"lower bound of IL at k = {k}: {bound}" for k, bound in bounds.items()]


def _added_notes(results: list[dict[str, Any]]) -> list[str]:
    """Say what the column of added losses means, where there is one."""
    if all(trial["added_loss"] is None for trial in results):
        return []
    return [
        "added: IL above that of the same method with k alone; seconds include both ways of keeping goals"
    ]


def _label_notes(results: list[dict[str, Any]]) -> list[str]:
    """Say which column CM counts where that is not the same for all methods."""
    by_label: dict[str, list[str]] = {}
    for trial in results:
        if trial["label"] is not None and trial["method"] not in by_label.setdefault(trial["label"], []):
            by_label[trial["label"]].append(trial["method"])
    if len(by_label) < 2:
        return []
    return [f"CM counts `{label}` for {', '.join(methods)}" for label, methods in by_label.items()]


_HEADERS = (
    ("", "", "", "dist.", "", "", "", "suppr.", ""),
    ("IL", "added", "GCP %", "ratio", "DM", "CM", "classes", "rows", "seconds"),
)
_ADDED = 1  # what further privacy goals cost; without them there is no such column


def _table(results: list[dict[str, Any]], gap: int) -> Any:
    """Make the table. All numbers of a trial are one cell, so that an error can stand in their place."""
    from rich import box
    from rich.table import Table
    from rich.text import Text

    told = [_cells(trial) if trial["error"] is None else [] for trial in results]
    headers = [list(header) for header in _HEADERS]
    if all(trial["added_loss"] is None for trial in results):
        for cells in filter(None, [*headers, *told]):
            del cells[_ADDED]
    widths = [max(map(len, column)) for column in zip(*headers, *filter(None, told), strict=True)]

    def line(cells: Sequence[str]) -> str:
        return (" " * gap).join(text.rjust(width) for text, width in zip(cells, widths, strict=True))

    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, gap, 0, 0))
    longest = max(len(trial["method"]) for trial in results)
    table.add_column("\n  method", no_wrap=True, min_width=2 + longest)
    table.add_column("\nk", justify="right", no_wrap=True)
    table.add_column("\n".join(map(line, headers)), min_width=len(line(headers[0])))
    for at, (trial, cells) in enumerate(zip(results, told, strict=True)):
        if at and trial["k"] != results[at - 1]["k"]:
            table.add_section()
        error = trial["error"]
        text = Text(f"{error['code']}: {error['message']}" if error else line(cells))
        name = f"{'*' if trial['best'] else ' '} {trial['method']}"
        table.add_row(name, str(trial["k"]), text, style="bold" if trial["best"] else None)
    return table


def _cells(trial: dict[str, Any]) -> list[str]:
    """Write the numbers of a trial, in the order of the headers."""
    loss = trial["loss"]
    return [
        _loss(loss["il"]),
        _loss(trial["added_loss"]),
        "-" if loss["gcp"] is None else f"{100 * loss['gcp']:.2f}",
        "-" if loss["distortion_ratio"] is None else f"{loss['distortion_ratio']:.3f}",
        "-" if loss["dm"] is None else f"{loss['dm']:,}",
        "-" if loss["cm"] is None else f"{loss['cm']:.3f}",
        f"{trial['classes']:,}",
        f"{trial['suppressed']:,}",
        f"{trial['seconds']:.3f}" if trial["seconds"] < 10 else f"{trial['seconds']:,.1f}",
    ]


def _loss(il: float | None) -> str:
    return "-" if il is None else told(il)
