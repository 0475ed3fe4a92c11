"""Write the reference pages that follow from the code: commands.md and errors.md.

    python docs/write_reference.py [--check]

With --check nothing is written; the exit status is 1 when a page is not current.
"""

from __future__ import annotations

import inspect
import sys
from pathlib import Path
from typing import Any

import typer.main

from shoal.cli.main import app
from shoal.dangers import DANGERS
from shoal.errors import CODES
from shoal.verifier import PROBLEMS

HERE = Path(__file__).parent


def commands_page() -> str:
    """List every command with its arguments and options."""
    lines = [
        "# Commands",
        "",
        "Written by `docs/write_reference.py` from the commands themselves.",
        "",
        "Every command takes `--json` (one JSON object on stdout; all else on stderr) and `--quiet`, and",
        "shows progress on a terminal. Exit status: 0 done; 1 a promise does not hold; 2 bad usage, recipe",
        "or data; 3 the goals cannot be met by any partition of this table, or the tables published together",
        "reveal too much; 4 an internal error; 130 interrupted.",
    ]
    for name, command in _commands(typer.main.get_command(app), "shoal"):
        lines += ["", f"## {name}", "", inspect.cleandoc(command.help or ""), ""]
        lines += ["| argument or option | meaning | default |", "|---|---|---|"]
        lines += [_row(parameter) for parameter in command.params if not getattr(parameter, "hidden", False)]
    return "\n".join(lines) + "\n"


def _commands(command: Any, name: str) -> list[tuple[str, Any]]:
    below = getattr(command, "commands", None)
    if not below:
        return [(name, command)]
    return [found for key, sub in below.items() for found in _commands(sub, f"{name} {key}")]


def _row(parameter: Any) -> str:
    if parameter.param_type_name == "argument":
        name = f"`{parameter.metavar or parameter.name.upper()}`"
    else:
        name = ", ".join(f"`{option}`" for option in parameter.opts)
    default = parameter.default
    shown = (
        ""
        if default is None or default is False or callable(default) or parameter.required
        else f"`{default}`"
    )
    return f"| {name} | {parameter.help or ''} | {shown} |"


def errors_page() -> str:
    """List every error and problem code."""
    lines = [
        "# Errors and problems",
        "",
        "Written by `docs/write_reference.py` from the code. Codes are stable between versions. A message",
        "names columns and numbers, never a cell's value.",
        "",
        "## Errors",
        "",
        "Raised as `shoal.ShoalError` with `code`, `message`, `hint` and `faults`; the command line prints",
        "them on stderr (with `--json` also as a JSON object on stdout). Exit status: 3 for `infeasible.*`",
        "and `composition.refused`, 1 for `promise.*`, 4 for an `engine.failed` that nobody foresaw,",
        "2 for the rest.",
        "",
        "| code | meaning |",
        "|---|---|",
        *(f"| `{code}` | {meaning} |" for code, meaning in CODES.items()),
        "",
        "## Problems",
        "",
        "Found by `shoal verify` in a released file; exit status 1.",
        "",
        "| code | meaning |",
        "|---|---|",
        *(f"| `{code}` | {meaning} |" for code, meaning in PROBLEMS.items()),
        "",
        "## Dangers",
        "",
        "Refused or warned of by `shoal anonymize`, and listed under `dangers`; see [dangers](dangers.md).",
        "",
        "| code | meaning |",
        "|---|---|",
        *(f"| `{code}` | {meaning} |" for code, meaning in DANGERS.items()),
    ]
    return "\n".join(lines) + "\n"


PAGES = {"commands.md": commands_page, "errors.md": errors_page}

if __name__ == "__main__":
    stale = []
    for file, page in PAGES.items():
        path = HERE / file
        if not path.exists() or path.read_text(encoding="utf-8") != page():
            stale.append(file)
            if "--check" not in sys.argv:
                path.write_text(page(), encoding="utf-8")
    if "--check" in sys.argv and stale:
        sys.exit(f"not current: {', '.join(stale)}; run python docs/write_reference.py")
