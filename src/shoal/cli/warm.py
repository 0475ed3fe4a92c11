"""`shoal warm`: compile ahead, so that the first release does not wait for it."""

from __future__ import annotations

from typing import Annotated

import typer

from shoal.cli.compiling import counted
from shoal.cli.console import Json, Quiet, print_json, progress_bar, reporting


def warm(
    methods: Annotated[
        str, typer.Option("--methods", help="Names of methods, with commas between them, or all.")
    ] = "local-search",
    goals: Annotated[
        bool, typer.Option("--goals/--no-goals", help="Whether privacy goals will be asked for, too.")
    ] = True,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Compile what the methods need on this machine, once, and print where it is kept."""
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
    """Read names of methods; refuse those that there are not."""
    from shoal.cluster.registry import METHODS
    from shoal.errors import RecipeError

    if methods == "all":
        return list(METHODS)
    names = list(dict.fromkeys(name.strip() for name in methods.split(",")))
    unknown = [name for name in names if name not in METHODS]
    if unknown:
        message = f"`--methods` names {len(unknown)} that shoal does not have: {', '.join(unknown)}."
        raise RecipeError("recipe.invalid", message, f"choose among all, {', '.join(METHODS)}")
    return names
