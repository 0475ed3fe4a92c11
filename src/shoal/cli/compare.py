"""`shoal compare`: run several methods at several k on one recipe."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from shoal.cli.compiling import compiling_in_background
from shoal.cli.completing import complete_methods
from shoal.cli.console import Json, Quiet, print_json, progress_bar, reporting, say
from shoal.cli.flag_values import names
from shoal.cli.flags import Goals, NoBound, SaveRecipe, TightBound, asked_bound, read_goals
from shoal.cli.recipes import is_recipe, load_recipe, location, save_recipe
from shoal.cli.summary import bound_text, gap_lines, loss_text
from shoal.cli.table_flags import TableFlags, with_table_flags

if TYPE_CHECKING:
    from shoal.recipe import Recipe
from shoal.wording import naming_flags


@with_table_flags
def compare(
    source: Annotated[
        str,
        typer.Argument(
            metavar="RECIPE_OR_FILE",
            help="A recipe (.toml), or a table with flags for its columns: a file or postgresql://...",
        ),
    ],
    methods: Annotated[
        str,
        typer.Option(
            "--methods",
            metavar="A,B,...",
            help="See `shoal methods`; all for every method.",
            autocompletion=complete_methods,
        ),
    ] = "all",
    k: Annotated[
        str | None,
        typer.Option("--k", metavar="K,L,...", help="Smallest class sizes; default: the recipe's."),
    ] = None,
    seed: Annotated[
        int | None, typer.Option("--seed", help="Same seed, data and version: same losses.")
    ] = None,
    chart: Annotated[
        Path | None,
        typer.Option("--chart", help="Plot loss and time against k, as .svg, .png or .html."),
    ] = None,
    table: TableFlags = TableFlags(),  # noqa: B008  # expanded by the decorator
    goal: Goals = None,
    no_bound: NoBound = False,
    tight_bound: TightBound = False,
    save: SaveRecipe = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Compare methods by the loss of what they would publish, classes and time. Nothing is released.

    Method options in the recipe apply only to the recipe's method; the others use their defaults. Times
    are for clustering only; each method first runs on a few rows, so that compilation is not included.
    The exit status is 0 unless no method can run.

    Example:  shoal compare recipe.toml --methods all --k 5,10,25 --chart methods.svg
    """
    with reporting(as_json, quiet), naming_flags(not is_recipe(location(source))):
        ks = None if k is None else _numbers(k)
        # With --k the recipe needs none; any valid k will do to validate the rest.
        changes = {
            "input": table.input(),
            "columns": table.columns(),
            "privacy": {"k": None if ks is None else 2, "goal": read_goals(goal), **table.privacy()},
            "method": {"seed": seed},
        }
        recipe = load_recipe(location(source), changes)
        if save is not None:
            save_recipe(recipe if not ks else recipe.changed({"privacy": {"k": ks[0]}}), save)
        comparison = _run(recipe, names(methods), ks, chart, quiet, bound=asked_bound(no_bound, tight_bound))
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
    bound: bool | Literal["tight"],
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
    with progress_bar(quiet, stacked=False) as progress, compiling_in_background(jobs, progress, quiet):
        return run(recipe, methods=methods, ks=ks, bound=bound, progress=progress)


def _numbers(text: str) -> list[Any]:
    """Parse integers; any other text stays as is, to be reported with all other faults."""
    return [_number(part) for part in names(text)]


def _number(text: str) -> int | str:
    try:
        return int(text)
    except ValueError:
        return text


def _print(result: dict[str, Any]) -> None:
    """Print a table, grouped by k, with notes on its marks and times."""
    from rich.console import Console

    console = Console()
    table = _table(result["results"], gap=1 if console.width < 100 else 2)
    # On a narrow terminal let lines wrap rather than cut off digits.
    console.width = max(console.width, console.measure(table, options=Console(width=1000).options).minimum)
    console.print(table)
    losses = [trial["loss"] for trial in result["results"] if trial["loss"]]
    measure = "IL" if any(loss["il"] is not None for loss in losses) else "DM"
    lines = [
        f"* lowest {measure} at this k    - not defined",
        f"seconds: clustering only, after an untimed run on {result['warm_rows']:,} rows for compilation",
        *_bound_notes(result["results"]),
        *_label_notes(result["results"]),
        *_added_notes(result["results"]),
        *([] if result["chart"] is None else [f"chart: {result['chart']}"]),
        *(["", *result["recommendation"]] if result["recommendation"] else []),
    ]
    say("\n".join(lines))


def _bound_notes(results: list[dict[str, Any]]) -> list[str]:
    """Return the lower bound of IL at each k."""
    nearest: dict[int, dict[str, Any]] = {}  # the method with the lowest loss at each k
    for trial in results:
        if trial["bound"] is None:
            continue
        best = nearest.setdefault(trial["k"], trial)
        if _gap(trial) < _gap(best):
            nearest[trial["k"]] = trial
    notes = []
    for k, trial in nearest.items():
        notes.append(f"lower bound of IL at k = {k}: {bound_text(trial)}")
        notes += [f"{trial['method']} is {line}" for line in gap_lines(trial)]
    return notes


def _gap(trial: dict[str, Any]) -> float:
    return float("inf") if trial["bound_gap"] is None else float(trial["bound_gap"])


def _added_notes(results: list[dict[str, Any]]) -> list[str]:
    """Explain the column of added losses, if there is one."""
    if all(trial["added_loss"] is None for trial in results):
        return []
    return [
        "added: IL compared with the same method for k alone; seconds include both ways of meeting the goals"
    ]


def _label_notes(results: list[dict[str, Any]]) -> list[str]:
    """Return which column CM counts, if it differs between methods."""
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
_ADDED = 1  # index of the cost of additional goals, a column that is shown only with such goals


def _table(results: list[dict[str, Any]], gap: int) -> Any:
    """Build the table. All numbers of a trial are one cell, so that an error can replace them."""
    from rich import box
    from rich.table import Table
    from rich.text import Text

    numbers = [_cells(trial) if trial["error"] is None else [] for trial in results]
    headers = [list(header) for header in _HEADERS]
    if all(trial["added_loss"] is None for trial in results):
        for cells in filter(None, [*headers, *numbers]):
            del cells[_ADDED]
    widths = [max(map(len, column)) for column in zip(*headers, *filter(None, numbers), strict=True)]

    def line(cells: Sequence[str]) -> str:
        return (" " * gap).join(text.rjust(width) for text, width in zip(cells, widths, strict=True))

    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, gap, 0, 0))
    longest = max(len(trial["method"]) for trial in results)
    table.add_column("\n  method", no_wrap=True, min_width=2 + longest)
    table.add_column("\nk", justify="right", no_wrap=True)
    table.add_column("\n".join(map(line, headers)), min_width=len(line(headers[0])))
    for at, (trial, cells) in enumerate(zip(results, numbers, strict=True)):
        if at and trial["k"] != results[at - 1]["k"]:
            table.add_section()
        error = trial["error"]
        text = Text(f"{error['code']}: {error['message']}" if error else line(cells))
        name = f"{'*' if trial['best'] else ' '} {trial['method']}"
        table.add_row(name, str(trial["k"]), text, style="bold" if trial["best"] else None)
    return table


def _cells(trial: dict[str, Any]) -> list[str]:
    """Format the numbers of a trial, in the order of the headers."""
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
    return "-" if il is None else loss_text(il)
