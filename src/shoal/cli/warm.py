"""`shoal warm`: compile ahead, so that the first release does not wait for it."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from shoal.cli.console import Json, Quiet, print_json, reporting


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
        from shoal.kernels import cache_folder
        from shoal.warm import compile_ahead

        names = _names(methods)
        counter = _Counter(names, goals, quiet or as_json)
        compile_ahead(names, goals=goals, ready=counter.count)
        counter.end()
        if as_json:
            print_json({"folder": str(cache_folder()), "methods": names, "kernels": sorted(counter.ready)})
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


class _Counter:
    """Says how many kernels are ready, on one line of a terminal."""

    def __init__(self, methods: list[str], goals: bool, quiet: bool) -> None:
        from shoal.kernels.needed import forms_needed

        needed = [form for name in methods for form in forms_needed(name)]
        needed += [form for name in methods if goals for form in forms_needed(name, goals=True)]
        self.total, self.ready = len({form.entry for form in needed}), set[str]()
        self.shows = not quiet and sys.stderr.isatty()

    def count(self, name: str) -> None:
        """Count a kernel that is ready; some are reported more than once."""
        self.ready.add(name)
        if self.shows:
            done = min(len(self.ready), self.total)
            print(f"\rcompiling for this machine, once: {done} of {self.total}", end="", file=sys.stderr)

    def end(self) -> None:
        """Leave the line."""
        if self.shows:
            print(file=sys.stderr)
