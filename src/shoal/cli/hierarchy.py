"""`shoal hierarchy`: build, show and convert hierarchies."""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from shoal.cli.console import Json, Quiet, print_json, reporting, say
from shoal.cli.flag_values import names
from shoal.errors import HierarchyError, OutputError, RecipeError

if TYPE_CHECKING:
    from shoal.hierarchy.picture import Branch
    from shoal.hierarchy.suggest import Plan
    from shoal.hierarchy.tree import Tree

app = typer.Typer(
    help="Build, show and convert hierarchies.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

_EXTENSIONS = (".csv", ".toml", ".json")
_BUILDER = "How the tree is built (at most one)"
_INDENT = 4  # of Rich trees
_DEPTHS = 20  # for which `show` lists the number of nodes


@app.command()
def build(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A table: csv, tsv, parquet, arrow, feather.")],
    column: Annotated[str, typer.Option("--column", help="The column whose values become the leaves.")],
    intervals: Annotated[
        str | None,
        typer.Option(
            "--intervals",
            metavar="5,10,20",
            help="Numbers: widths of nested intervals, narrow to wide.",
            rich_help_panel=_BUILDER,
        ),
    ] = None,
    prefix: Annotated[
        int | None,
        typer.Option(
            "--prefix",
            min=1,
            help="Codes: characters masked from the right at each level.",
            rich_help_panel=_BUILDER,
        ),
    ] = None,
    dates: Annotated[
        str | None,
        typer.Option(
            "--dates",
            metavar="month,year",
            help="Dates: week alone, or some of month, quarter, year, decade.",
            rich_help_panel=_BUILDER,
        ),
    ] = None,
    codes: Annotated[
        str | None,
        typer.Option(
            "--codes",
            metavar="WORD",
            help="Codes with a known structure: postcode, icd10, nuts, isco or age.",
            rich_help_panel=_BUILDER,
        ),
    ] = None,
    induce: Annotated[
        str | None,
        typer.Option(
            "--induce",
            metavar="age,sex",
            help="Categories: group those that occur with similar values of these columns.",
            rich_help_panel=_BUILDER,
        ),
    ] = None,
    default: Annotated[
        bool,
        typer.Option(
            "--default",
            help="Numbers and dates: 1/16, 1/8, 1/4, 1/2 of the range. Texts: flat.",
            rich_help_panel=_BUILDER,
        ),
    ] = False,
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", help="Path of the hierarchy: .csv (ARX), .toml or .json (nested)."),
    ] = None,
    separator: Annotated[
        str | None, typer.Option("--separator", help="One character between the cells of FILE; \\t is a tab.")
    ] = None,
    missing: Annotated[
        str | None,
        typer.Option(
            "--missing-values", metavar="NA,?", help="Texts that mean missing, besides the empty one."
        ),
    ] = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Build a hierarchy from the values of one column of a table.

    Without a builder flag, the kind of the column determines the builder. Without -o, nothing is written.
    Values and groups with fewer than 10 rows are never shown, only counted.

    Example:  shoal hierarchy build people.csv --column zip --prefix 1 -o zip.csv
    """
    with reporting(as_json, quiet):
        asked = _asked(intervals, prefix, dates, codes, induce, default)
        if output is not None:
            _check_target(output, {"the table": file})
            _refuse_json(asked, output)
        table = _table(file, [column, *_others(asked)], separator, missing)
        kind, values, rows, n_missing = _column(table, column, asked)
        from shoal.hierarchy.picture import outline, shape
        from shoal.hierarchy.suggest import leaf_texts, suggest

        plan = asked or suggest(kind, values)
        tree = _grown(plan, table, column, kind, values)
        rows_of = dict(zip(leaf_texts(values), rows, strict=True))
        leaf_rows = [rows_of[leaf] for leaf in tree.leaf_labels]
        if output is not None:
            _write(tree, output, column, _origin(plan, column))
        if as_json:
            print_json(_numbers(tree, output))
        elif not quiet:
            n_rows = sum(rows) + n_missing
            say(f"column `{column}`: {kind}, {len(values):,} distinct values, "
                  f"{n_missing:,} of {n_rows:,} rows missing")  # fmt: skip
            say(f"hierarchy: {plan}\n")
            reveals_extremes = _reveals_extremes(plan, kind, values, rows)
            _print_picture(outline(tree, rows=leaf_rows, hide_groups=reveals_extremes), "")
            say(f"\n{shape(tree)}")
            if reveals_extremes:
                flag = "--dates" if kind == "date" else "--intervals"
                _note("the ends of the intervals depend on the smallest and largest values, which few rows "
                      f"have, so they are not shown; use {flag} for round ends")  # fmt: skip
            if output is not None:
                say(f"written: {output}\n\n{_recipe_lines(column, kind, output)}")
        if output is not None and not quiet:
            _note("the file lists every value of the column, even rare ones: protect it like the data")


@app.command()
def show(
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="A hierarchy: .csv (ARX), .toml or .json (nested).")
    ],
    column: Annotated[
        str | None, typer.Option("--column", help="Name of its column, for titles and messages.")
    ] = None,
    depth: Annotated[
        int | None,
        typer.Option("--depth", min=1, max=50, help="Open every node down to this depth below the root."),
    ] = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Draw a hierarchy file as a tree, with long lists shortened, and show its size and height.

    Example:  shoal hierarchy show zip.csv --depth 2
    """
    with reporting(as_json, quiet):
        from shoal.hierarchy.files import origin_of
        from shoal.hierarchy.picture import is_cut, outline, shape

        tree = _load(file, column)
        if as_json:
            print_json(_numbers(tree, None))
        elif not quiet:
            size = shape(tree)
            if came_from := origin_of(file, column or file.name):
                say(f"{came_from}\n")
            root = outline(tree, depth)
            _print_picture(root, f"hierarchy of column `{column}`" if column else "")
            say(f"\n{size}")
            more = f", and {len(size.levels) - _DEPTHS:,} more depths" if len(size.levels) > _DEPTHS else ""
            say(f"nodes at each depth: {', '.join(f'{n:,}' for n in size.levels[:_DEPTHS])}{more}")
            if is_cut(root) and depth is None:
                say("some nodes are not expanded, for brevity; use --depth to expand more")


@app.command()
def convert(
    source: Annotated[Path, typer.Argument(metavar="IN", help="A hierarchy: .csv (ARX), .toml or .json.")],
    output: Annotated[Path, typer.Argument(metavar="OUT", help="Output path: .csv (ARX), .toml or .json.")],
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Convert a hierarchy between ARX CSV and nested TOML or JSON, according to the file extensions.

    Example:  shoal hierarchy convert zip.csv zip.toml
    """
    with reporting(as_json, quiet):
        from shoal.hierarchy.files import origin_of

        _check_target(output, {"the hierarchy": source})
        tree = _load(source)
        _write(tree, output, source.name, origin_of(source, source.name))
        numbers = _numbers(tree, output)
        if as_json:
            print_json({key: numbers[key] for key in ("leaves", "nodes", "height", "output")})
        elif not quiet:
            from shoal.hierarchy.picture import shape

            say(f"{shape(tree)}\nwritten: {output}")


def _asked(
    intervals: str | None,
    prefix: int | None,
    dates: str | None,
    codes: str | None,
    induce: str | None,
    default: bool,
) -> Plan | None:
    """Return the plan given by the builder flags, or None without them."""
    from shoal.hierarchy.suggest import Plan

    given = {"--intervals": intervals, "--prefix": prefix, "--dates": dates, "--codes": codes,
             "--induce": induce, "--default": default or None}  # fmt: skip
    flags = [flag for flag, value in given.items() if value is not None]
    if len(flags) > 1:
        message = f"{', '.join(flags[:-1])} and {flags[-1]} cannot be used together."
        raise RecipeError("recipe.invalid", message, "use only one of them")
    if intervals is not None:
        return Plan("intervals", tuple(_number(text) for text in names(intervals)))
    if prefix is not None:
        return Plan("prefix", (prefix,))
    if dates is not None:
        return Plan("dates", tuple(names(dates)))
    if codes is not None:
        from shoal.recipe.codes import CODES

        if codes not in CODES:
            message = "--codes takes one of: " + ", ".join(CODES) + "."
            raise RecipeError("recipe.invalid", message, "for example --codes icd10")
        return Plan("codes", (codes,))
    if induce is not None:
        return Plan("induce", tuple(names(induce)))
    return Plan("default") if default else None


def _others(plan: Plan | None) -> tuple[str, ...]:
    """Return the columns from which a hierarchy is induced."""
    return plan.levels if plan is not None and plan.builder == "induce" else ()


def _refuse_json(plan: Plan | None, output: Path) -> None:
    """Refuse a format that cannot say where an induced hierarchy comes from."""
    if _others(plan) and output.suffix.lower() == ".json":
        message = "An induced hierarchy says in its file where it comes from, which JSON cannot."
        raise OutputError("output.unwritable", message, "write a .toml or .csv file")


def _grown(plan: Plan, table: Any, column: str, kind: str, values: Sequence[Any]) -> Tree:
    """Build the tree of a plan."""
    from shoal.hierarchy.suggest import grow, leaf_texts

    if plan.builder == "induce":
        from shoal.table.induced import induced_tree

        return induced_tree(table, column, [other for other in plan.levels if other != column], {})
    if plan.builder == "codes":
        from shoal.table.tree_columns import code_tree

        return code_tree(plan.levels[0], values if kind == "numeric" else leaf_texts(values), column)
    return grow(plan, values, column, kind)


def _origin(plan: Plan, column: str) -> str:
    """Say where an induced hierarchy comes from; nothing for others, which the column itself explains."""
    from shoal.table.induced import origin

    return origin(column, _others(plan)) if _others(plan) else ""


def _number(text: str) -> int | float:
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    message = "--intervals takes numbers separated by commas."
    raise RecipeError("recipe.invalid", message, "for example --intervals 5,10,20")


def _table(file: Path, wanted: Sequence[str], separator: str | None, missing: str | None) -> Any:
    """Read a table that has certain columns."""
    from shoal.recipe import Input, did_you_mean
    from shoal.table.read import read

    try:
        given = Input(separator="\t" if separator == "\\t" else separator, missing=["", *names(missing)])
    except ValueError:
        message = "--separator takes one character other than a quote."
        raise RecipeError("recipe.invalid", message, "for example --separator ';'") from None
    table = read(file, given)
    for name in wanted:
        if name not in table.columns:
            # The columns are not listed: without a header line they are somebody's row.
            message = f"The table has {table.width} columns, but no column `{name}`."
            hint = did_you_mean(name, table.columns) or "column names are read from the table's header line"
            raise RecipeError("recipe.unknown_column", message, hint)
    return table


def _column(table: Any, name: str, plan: Plan | None) -> tuple[str, list[Any], list[int], int]:
    """Return a column's kind, distinct canonical values, the row count of each, and missing rows."""
    from shoal.recipe import Column
    from shoal.table.column_values import count_values
    from shoal.table.frames import series

    # The flag determines the kind, like the same hierarchy in a recipe.
    hierarchy: Any = {plan.builder: list(plan.levels)} if plan and plan.levels else {}
    hierarchy = plan.levels[0] if plan and plan.builder == "codes" else hierarchy
    found = count_values(series(table, name), Column(role="quasi", hierarchy=hierarchy or None))
    if not found.values:
        message = f"The hierarchy of column `{name}` cannot be built: all of its values are missing."
        raise HierarchyError("hierarchy.build", message, "choose a column that contains values")
    return found.kind, found.values, found.rows, found.missing


def _reveals_extremes(plan: Plan, kind: str, values: Sequence[Any], rows: Sequence[int]) -> bool:
    """Return whether the interval ends reveal a smallest or largest value that few rows have.

    Default intervals start at the smallest value, so any of their labels reveals it. If not all numbers
    are integers, they end at the largest.
    """
    from shoal.hierarchy.picture import RARE

    if plan.builder != "default" or kind not in ("numeric", "date"):
        return False
    is_whole = not any(isinstance(value, float) for value in values)
    return rows[0] < RARE or (rows[-1] < RARE and not is_whole)


def _load(path: Path, column: str | None = None) -> Tree:
    """Load a hierarchy file; without a column, messages name the file."""
    from shoal.hierarchy import load

    try:
        with open(path, "rb"):
            pass
    except OSError as error:
        message = f"The hierarchy {path} cannot be opened: {error.strerror}."
        raise HierarchyError("hierarchy.unreadable", message, "check the path") from None
    return load(path, column or path.name)


def _check_target(path: Path, reads: dict[str, Path]) -> None:
    """Refuse a path that cannot be written, before any work is done."""
    from shoal.table.overwriting import refuse_overwriting

    refuse_overwriting([path], reads)
    if path.suffix.lower() not in _EXTENSIONS:
        message = f"The output {path} has an extension that is not supported for hierarchies."
        raise OutputError("output.unwritable", message, f"extensions: {', '.join(_EXTENSIONS)}")
    try:
        is_folder, has_folder = path.is_dir(), path.parent.is_dir()
    except OSError:
        return  # reported when the files are opened
    if is_folder:
        raise OutputError("output.unwritable", f"The output {path} is a folder.", "name a file")
    if not has_folder:
        message = f"The output folder {path.parent} does not exist."
        raise OutputError("output.unwritable", message, "create the folder, or write elsewhere")


def _write(tree: Tree, path: Path, column: str, origin: str = "") -> None:
    """Write a tree in the layout of the file extension, and move it into place."""
    from shoal.hierarchy.writing import file_bytes
    from shoal.table.write import move_into_place, temporary, write_bytes

    content = file_bytes(tree, path.suffix.lower(), column, origin)
    with temporary(path) as draft:
        write_bytes(content, draft)
        move_into_place(draft, path)


def _recipe_lines(column: str, kind: str, output: Path) -> str:
    """Return the recipe lines that use the file; without a kind the column would be categorical."""
    from shoal.hierarchy.nested import quoted

    key = column if re.fullmatch(r"[A-Za-z0-9_-]+", column) else quoted(column)
    lines = ("in a recipe:", f"[columns.{key}]", 'role = "quasi"', f"kind = {quoted(kind)}",
             f"hierarchy = {quoted(str(output))}")  # fmt: skip
    return "\n  ".join(lines)


def _numbers(tree: Tree, output: Path | None) -> dict[str, Any]:
    from shoal.hierarchy.picture import shape

    size = shape(tree)
    return {
        "leaves": size.leaves,
        "nodes": size.nodes,
        "height": size.height,
        "even": size.even,
        "levels": size.levels,
        "output": None if output is None else str(output),
    }


def _note(text: str) -> None:
    say(f"note: {text}", sys.stderr)


def _print_picture(root: Branch, title: str) -> None:
    """Draw an outline, wide enough for its depth."""
    from rich.console import Console
    from rich.tree import Tree as Drawing

    console = Console(highlight=False)
    dots = "…" if console.encoding.startswith("utf") else "..."
    depth = 0
    level = [root]
    while level:
        depth += 1
        level = [child for one in level for child in one.children]
    console.width = max(console.width, _INDENT * depth + 60)

    def drawn(one: Branch, at: int) -> Any:
        return _line(one, console.width - _INDENT * at, console.encoding, dots)

    picture = Drawing(drawn(root, 0))
    stack = [(root, picture, 1)]
    while stack:
        one, drawing, at = stack.pop()
        stack += [(child, drawing.add(drawn(child, at)), at + 1) for child in one.children]
        if one.n_more:
            drawing.add(f"{dots} {one.n_more:,} more", style="dim")
        if one.n_rarer:
            drawing.add(f"{dots} {one.n_rarer:,} rarer value{'' if one.n_rarer == 1 else 's'}", style="dim")
    if title:
        say(title)
    console.print(picture)


def _line(one: Branch, width: int, encoding: str, dots: str) -> Any:
    """Format a node with its number of leaves, in characters that the terminal can show."""
    from rich.text import Text

    from shoal.hierarchy.picture import counted

    if one.label is None:
        label = f"[{dots}, {dots}]"
    else:
        label = "".join(char if char.isprintable() else ascii(char)[1:-1] for char in one.label) or '""'
    count = "" if one.is_leaf else f" ({counted(one.n_leaves)})"
    text = Text(label.encode(encoding, "backslashreplace").decode(encoding), no_wrap=True)
    text.truncate(width - len(count), overflow="ellipsis" if dots == "…" else "crop")
    return text.append(count, style="dim")
