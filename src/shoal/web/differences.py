"""How the recipes of releases differ."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

NOT_SET = "\N{EN DASH}"
_SAME_ANYWAY = ("sha256", "about", "output.path")


def differences(recipes: Sequence[Mapping[str, Any]]) -> list[tuple[str, list[str]]]:
    """List the settings that differ, each with its value in every recipe; a dash where it is not set.

    >>> differences([{"privacy": {"k": 5}}, {"privacy": {"k": 10}, "method": {"seed": 1}}])
    [('method.seed', ['–', '1']), ('privacy.k', ['5', '10'])]
    """
    flat = [dict(_flat(recipe)) for recipe in recipes]
    names = sorted({name for one in flat for name in one if not name.startswith(_SAME_ANYWAY)})
    rows = [(name, [one.get(name, NOT_SET) for one in flat]) for name in names]
    return [(name, values) for name, values in rows if len(set(values)) > 1]


def _flat(value: Any, name: str = "") -> Iterator[tuple[str, str]]:
    if isinstance(value, Mapping):
        for key, part in value.items():
            yield from _flat(part, f"{name}.{key}" if name else str(key))
    elif isinstance(value, list) and any(isinstance(part, Mapping) for part in value):
        for at, part in enumerate(value, 1):
            yield from _flat(part, f"{name}[{at}]")
    elif isinstance(value, list):
        yield name, ", ".join(map(str, value))
    else:
        yield (
            name,
            {True: "yes", False: "no"}.get(value, str(value)) if isinstance(value, bool) else str(value),
        )
