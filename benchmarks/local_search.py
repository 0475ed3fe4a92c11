"""The benchmarks of local search, part by part. Each part keeps its figures in `benchmarks/results`.

`run.py` runs them; `page.py` and `charts.py` make BENCHMARKS.md and its charts out of the figures.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

from contenders import NORMAL, OTHERS, OURS, SWAPS, YARDSTICK
from processes import HERE, measured
from results import save
from shapes import N_COLUMNS, SHAPES
from tables import GOALS

KS = (5, 10, 25, 50, 100)
MANY_KS = (2, 3, 5, 10, 20, 50, 100, 200, 500, 1000)
SECONDS = (1, 2, 5, 10, 30, 60)
SECONDS_KS = (10, 100)
ADULT_ROWS = 30_162
SHAPE_ROWS = 20_000
MILLION = 1_000_000
QUICK = OURS[0]


@dataclass(frozen=True)
class Settings:
    """What is asked for on the command line."""

    root: Path = HERE.parent
    most_rows: int | None = None  # to try the scripts out
    seeds: tuple[int, ...] = (1, 2, 3)
    also: tuple[str, ...] = ()

    def rows(self, wanted: int) -> int:
        """Return how many rows a table gets."""
        return wanted if self.most_rows is None else min(wanted, self.most_rows)

    @property
    def others(self) -> tuple[str, ...]:
        """The other methods that are compared."""
        return (*OTHERS, SWAPS, *self.also)


@contextmanager
def table(name: str, rows: int) -> Iterator[tuple[Path, dict[str, Any]]]:
    """Make and encode a table in a process of its own; give the file, and what it took."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "encoded.pickle"
        yield file, measured("tables.py", "encode", name, rows, file)


def runs_of(names: tuple[str, ...], ks: tuple[int, ...], seeds: tuple[int, ...]) -> list[dict[str, Any]]:
    """List runs, turn and turn about: a noisy neighbour then hurts all contenders."""
    return [{"name": name, "k": k, "seed": seed} for k, seed, name in product(ks, seeds, names)]


def on(file: Path, title: str, runs: list[dict[str, Any]], **more: Any) -> dict[str, Any]:
    """Run contenders on a table in one process."""
    return measured("one_table.py", json.dumps({"file": str(file), "title": title, "runs": runs, **more}))


def with_figures(found: dict[str, Any], **more: Any) -> list[dict[str, Any]]:
    """Return the runs of a process, each with what they have in common."""
    return [{**more, **run} for run in found["results"]]


def adult(settings: Settings) -> None:
    """Measure loss and time on adult8, k = 5 to 100, with every other method beside it."""
    names = (*OURS, *settings.others)
    if settings.most_rows is None:
        names = (YARDSTICK, *names)  # which knows no fewer rows
    results: list[dict[str, Any]] = []
    bounds: dict[str, Any] = {}
    with table("adult8", settings.rows(ADULT_ROWS)) as (file, made):
        for k in KS:
            found = on(file, f"adult8, k = {k}", runs_of(names, (k,), settings.seeds), bound=[k])
            results += with_figures(found)
            bounds |= found["bounds"]
        first = {name: _first_call(file, name) for name in (NORMAL, "k-member", "mondrian")}
    save(settings.root, "adult", {"rows": made["rows"], "first": first, "bounds": bounds, "results": results})


def _first_call(file: Path, name: str) -> float:
    """Return the seconds of a run that has to compile everything first."""
    run = {"name": name, "k": 10, "seed": 1}
    with tempfile.TemporaryDirectory() as cache:
        asked = {"file": str(file), "title": f"{name}, compiling", "runs": [run], "cold": True}
        found = measured("one_table.py", json.dumps(asked), XDG_CACHE_HOME=cache)
    return float(found["results"][0]["seconds"])


def shapes(settings: Settings) -> None:
    """Measure the loss on tables of different shapes, with every other method beside it."""
    results: list[dict[str, Any]] = []
    names = (*OURS[:2], *settings.others)
    for shape in SHAPES:
        with table(shape, settings.rows(SHAPE_ROWS)) as (file, made):
            for k in KS:
                runs = runs_of(names, (k,), settings.seeds)
                results += with_figures(on(file, f"{shape}, k = {k}", runs), table=shape)
    save(settings.root, "shapes", {"rows": made["rows"], "results": results})


def census_million(settings: Settings) -> None:
    """Measure Mondrian and local search on a million census-like rows, then the whole command."""
    rows, results = settings.rows(MILLION), []
    bounds: dict[str, Any] = {}
    _compile("mondrian", *OURS[:2])
    for name in ("INCOME", "SAL", "resampled"):
        with table(name, rows) as (file, made):
            for contender in ("mondrian", *OURS[:2]):
                results.append(_alone(file, name, contender, settings.seeds, made))
            bounds[name] = on(file, f"{name}, bound", [], bound=[10])["bounds"]["10"]
    commands = [
        {"name": method, **_whole_command(rows, *method.partition(" ")[::2])}
        for method in ("mondrian", QUICK)
    ]
    figures = {"rows": rows, "results": results, "bounds": bounds, "commands": commands}
    save(settings.root, "census-million", figures)


def _compile(*names: str) -> None:
    """Let contenders run on a few rows: a process that compiles needs more memory than its table."""
    with table("INCOME", 2000) as (file, _):
        on(file, "compiling, if need be", runs_of(names, (10,), (1,)))


def _alone(
    file: Path, name: str, contender: str, seeds: tuple[int, ...], made: dict[str, Any]
) -> dict[str, Any]:
    """Run one contender in a process of its own, so that the memory is its own."""
    found = on(file, f"{name}, {contender}", runs_of((contender,), (10,), seeds))
    seconds = sorted(run["seconds"] for run in found["results"])
    losses = sorted(run["il"] for run in found["results"])
    peak = max(run["peak_mib"] for run in found["results"])
    return {
        "table": name,
        "name": contender,
        "rows": found["rows"],
        "seconds": seconds[len(seconds) // 2],
        "il": losses[len(losses) // 2],
        "peak_mib": peak,
        "rise_mib": peak - found["before_mib"],
        "encode_seconds": made["encode_seconds"],
        "encode_peak_mib": made["peak_mib"],
    }


def _whole_command(rows: int, method: str, effort: str) -> dict[str, Any]:
    """Run `shoal anonymize` on a census in Parquet; on a few rows first, so that all is compiled."""
    found: dict[str, Any] = {}
    for n in (2000, rows):
        with tempfile.TemporaryDirectory() as folder:
            recipe = measured("tables.py", "parquet", "INCOME", n, folder)["recipe"]
            found = measured("whole_command.py", recipe, method, effort)
    return found


def census_ten_million(settings: Settings) -> None:
    """Measure local search at quick effort on one and on ten million census-like rows."""
    results = []
    _compile(QUICK)
    for rows in (settings.rows(MILLION), 10 * settings.rows(MILLION)):
        with table("INCOME", rows) as (file, made):
            results.append(_alone(file, "INCOME", QUICK, settings.seeds[:1], made))
    save(settings.root, "census-ten-million", {"results": results})


def scaling(settings: Settings) -> None:
    """Measure time and loss by number of rows, by k and by number of quasi columns."""
    seeds = settings.seeds[:1]
    by_rows: list[dict[str, Any]] = []
    for wanted in (30_000, 100_000, 300_000, MILLION):
        rows = settings.rows(MILLION) * wanted // MILLION
        names = ("mondrian", *(OURS[:2] if wanted <= 300_000 else OURS[:1]))
        with table("INCOME", rows) as (file, _):
            found = on(file, f"INCOME, {rows:,} rows", runs_of(names, (10,), seeds))
            by_rows += with_figures(found, rows=rows)
    names = ("mondrian", "k-member", *OURS[:2])
    some = settings.rows(30_000)
    with table("INCOME", some) as (file, _):
        by_k = with_figures(on(file, "INCOME, by k", runs_of(names, MANY_KS, seeds)), rows=some)
    by_columns: list[dict[str, Any]] = []
    for quasi in range(1, N_COLUMNS + 1):
        with table(f"columns {quasi}", some) as (file, _):
            found = on(file, f"{quasi} quasi columns", runs_of(names, (10,), seeds))
            by_columns += with_figures(found, quasi=quasi)
    save(
        settings.root,
        "scaling",
        {"rows": some, "by_rows": by_rows, "by_k": by_k, "by_columns": by_columns},
    )


def goals(settings: Settings) -> None:
    """Measure the loss under privacy goals on adult8, occupation sensitive, k = 10."""
    results: list[dict[str, Any]] = []
    names = (*OURS[:2], *(name for name in settings.others if name != SWAPS))
    for goal in GOALS:
        with table(f"adult8 {goal}", settings.rows(ADULT_ROWS)) as (file, made):
            found = on(file, f"adult8, {goal}", runs_of(names, (10,), settings.seeds[:1]), goals=True)
            results += with_figures(found, goal=goal)
    save(settings.root, "goals", {"rows": made["rows"], "results": results})


def anytime(settings: Settings) -> None:
    """Measure the loss against the seconds that are given, on adult8, k = 10 and 100."""
    given = SECONDS if settings.most_rows is None else SECONDS[:2]
    names = (*(f"local-search {seconds} s" for seconds in given), *OURS, "k-member", SWAPS, "mondrian")
    with table("adult8", settings.rows(ADULT_ROWS)) as (file, made):
        found = on(file, "adult8, by seconds", runs_of(names, SECONDS_KS, settings.seeds))
    save(settings.root, "anytime", {"rows": made["rows"], "results": with_figures(found)})


PARTS = {
    "adult": adult,
    "shapes": shapes,
    "census-million": census_million,
    "census-ten-million": census_ten_million,
    "scaling": scaling,
    "goals": goals,
    "anytime": anytime,
}
