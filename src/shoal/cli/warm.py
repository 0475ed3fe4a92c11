"""`shoal warm`: compile in advance, so that the first release does not have to wait."""

from __future__ import annotations

from typing import Annotated

import typer

from shoal.cli.compiling import counted
from shoal.cli.completing import complete_methods
from shoal.cli.console import Json, Quiet, print_json, progress_bar, reporting


def warm(
    methods: Annotated[
        str,
        typer.Option(
            "--methods",
            help="Names of methods, separated by commas, or all.",
            autocompletion=complete_methods,
        ),
    ] = "local-search",
    goals: Annotated[bool, typer.Option("--goals/--no-goals", help="Also compile for privacy goals.")] = True,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Compile the kernels of the methods for this machine, and print where they are cached."""
    with reporting(as_json, quiet):
        from shoal.kernels.compiling.place import cache_folder
        from shoal.workflow.warming import compile_ahead, jobs_of, kernels_of

        names = _names(methods)
        jobs = jobs_of(names, goals=goals)
        with progress_bar(quiet or as_json) as progress:
            compile_ahead(jobs, counted(progress))
        if as_json:
            print_json({"folder": str(cache_folder()), "methods": names, "kernels": sorted(kernels_of(jobs))})
        elif not quiet:
            print(f"compiled kernels are in {cache_folder()}")


def _names(methods: str) -> list[str]:
    """Parse method names; refuse unknown ones."""
    from shoal.cluster.registry import METHODS
    from shoal.errors import RecipeError

    if methods == "all":
        return list(METHODS)
    names = list(dict.fromkeys(name.strip() for name in methods.split(",")))
    unknown = [name for name in names if name not in METHODS]
    if unknown:
        message = f"`--methods` contains unknown methods: {', '.join(unknown)}."
        raise RecipeError("recipe.invalid", message, f"methods: all, {', '.join(METHODS)}")
    return names
