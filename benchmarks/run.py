"""Speed and loss of shoal, measured in one run and printed as ratios.

    python benchmarks/run.py [PART ...]

Parts: `methods`, `million`, `census`; those of local search, which keep their figures in
`benchmarks/results` (`adult`, `shapes`, `census-million`, `census-ten-million`, `scaling`, `goals`,
`anytime`); and `report`, which writes BENCHMARKS.md and its charts from these. All of them when none is
named. `--rows 3000 --into FOLDER` tries them out on few rows and leaves the figures of the project alone.

Each part runs in processes of its own, so that peak memory is its own too. Adult and the yardstick come
from `SHOAL_DATA` and `SHOAL_BENCH`, or from `../shared` beside the checkout.
"""

from __future__ import annotations

import argparse
import tempfile
from functools import partial
from pathlib import Path
from typing import Any

import local_search
from contenders import SLOW
from page import told, write_page
from processes import CONSOLE, SHARED, adult_folder, measured, show, yardstick_file
from results import load

from shoal.cluster import METHODS

__all__ = ["SHARED", "measured"]  # the papers' experiments use them too
NAMES = [name for name, info in METHODS.items() if info.shape.is_generalized]


def methods() -> None:
    """Compare every method on adult8 at k = 10 with the plain single-threaded k-member loop."""
    recipe, yardstick = adult_folder() / "adult8.toml", yardstick_file()
    with tempfile.TemporaryDirectory() as cache:
        compiled = {name: measured("method.py", recipe, name, XDG_CACHE_HOME=cache) for name in NAMES}
    # Turn and turn about: a noisy neighbour then hurts all of them.
    runs: dict[str, list[dict[str, float]]] = {"plain k-member loop": [], **{name: [] for name in NAMES}}
    for _ in range(2):
        runs["plain k-member loop"].append(measured("yardstick.py", yardstick))
        for name in NAMES:
            runs[name].append(measured("method.py", recipe, name))
    best = {name: min(run["seconds"] for run in found) for name, found in runs.items()}
    rows = []
    for name, found in runs.items():
        ratio = best[name] / best["plain k-member loop"]
        first = f"{compiled[name]['first_seconds']:.1f}" if name in compiled else ""
        peak = f"{max(run['peak_mib'] for run in found):.0f}" if name in compiled else ""
        rows.append([name, f"{best[name]:.3f}", f"{ratio:.3f}", f"{found[0]['il']:,.0f}", peak, first])
    columns = ["", "seconds, warm", "ratio", "total IL", "peak MiB", "seconds, first call: compiled"]
    show("adult8, k = 10", columns, rows)


def million(rows: int = 1_000_000) -> None:
    """Time every stage around the clustering on made-up hospital stays, with labels given."""
    stages = measured("stages.py", rows)
    peak = stages.pop("peak_mib")
    clustering = stages.pop("kmember_estimate")
    listed = [[stage, f"{seconds:.2f}"] for stage, seconds in stages.items()]
    listed.append(["k-member itself, extrapolated", f"{clustering:,.0f}"])
    show(f"{rows:,} hospital stays, labels given (peak {peak:.0f} MiB)", ["stage", "seconds"], listed)


def census() -> None:
    """Time CB on 100,000 to 500,000 census-like rows, seven quasi columns, k = 100, as [he2012] does."""
    found: dict[str, Any] = measured("census.py", "cb", 7, 100, *range(100_000, 500_001, 100_000))
    rows = [[f"{r['rows']:,}", f"{r['seconds']:.2f}", f"{100 * r['gcp']:.1f}"] for r in found["results"]]
    title = f"CB, SAL, seven quasi columns, k = 100 (peak {found['peak_mib']:.0f} MiB)"
    show(title, ["rows", "seconds, warm", "GCP, %"], rows)


def searched(name: str, settings: local_search.Settings) -> None:
    """Measure one part of the benchmarks of local search, and print what is written about it."""
    local_search.PARTS[name](settings)
    data = load(settings.root, name)
    assert data is not None
    CONSOLE.rule(name)
    print(told(name, data))


def report(settings: local_search.Settings) -> None:
    """Write BENCHMARKS.md and its charts from the figures that are kept."""
    print(f"written: {write_page(settings.root)}")


def main() -> None:
    common = {"methods": methods, "million": million, "census": census}
    names = [*common, *local_search.PARTS, "report"]
    parser = argparse.ArgumentParser(description="Speed and loss of shoal, in one run.")
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"all by default: {', '.join(names)}")
    parser.add_argument(
        "--seeds", type=int, nargs="+", default=[1, 2, 3], help="of which the median is taken"
    )
    parser.add_argument("--also", nargs="+", default=[], choices=SLOW, help="slow methods to compare with")
    parser.add_argument("--rows", type=int, help="at most so many rows, to try things out; needs --into")
    parser.add_argument(
        "--into", type=Path, help="where figures, page and charts go, if not into the project"
    )
    given = parser.parse_args()
    if given.rows is not None and given.into is None:
        parser.error("--rows needs --into: figures of few rows are not to be kept in the project")
    if unknown := [part for part in given.parts if part not in names]:
        parser.error(f"there is no part {', '.join(unknown)}; there are {', '.join(names)}")
    settings = local_search.Settings(
        root=given.into or local_search.Settings.root,
        most_rows=given.rows,
        seeds=tuple(given.seeds),
        also=tuple(given.also),
    )
    own = {name: partial(searched, name, settings) for name in local_search.PARTS}
    parts = {**common, **own, "report": partial(report, settings)}
    for part in given.parts or names:
        parts[part]()


if __name__ == "__main__":
    main()
