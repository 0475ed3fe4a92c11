"""Time the page on a large table, and compare the preview with what runs then lose.

    python -m benchmarks.web [ROWS]              a page and 20 previews of synthetic census data
    python -m benchmarks.web --browser [ROWS]    the preview as somebody sees it who types another k
    python -m benchmarks.web --accuracy [ROWS]   previews beside runs, on Adult and on census data

Except with `--browser`, the server is called without a network. Its first preview, which reads the table
and loads kernels, is timed by itself.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Callable
from itertools import cycle
from pathlib import Path
from statistics import median

CHANGES: list[tuple[str, dict[str, object]]] = [
    *(("goals", {"k": k}) for k in (5, 6, 8, 10, 15, 20, 30, 50)),
    *(("goals", {"goals": [{"type": "l-diversity", "column": "occupation", "l": l}]}) for l in (2, 3, 5)),  # noqa: E741
    ("goals", {"goals": [{"type": "alpha-k", "column": "occupation", "alpha": 0.5}]}),
    ("goals", {"goals": []}),
    ("columns", {"columns": ["race"], "role": "drop"}),
    ("goals", {"k": 10}),
    ("columns", {"columns": ["race"], "role": "quasi"}),
    ("goals", {"max_suppressed": 0.01}),
    ("columns", {"columns": ["country"], "role": "keep"}),
    ("goals", {"k": 25}),
    ("goals", {"k": 5}),
]

_TYPED = [*range(6, 13), 14, 15, 17, 20, 22, 25, 27, 30, 35, 40, 45, 50, 60, 75, 80, 100, 120]


def seconds(work: Callable[[], object]) -> float:
    begin = time.perf_counter()
    work()
    return time.perf_counter() - begin


def pages(rows: int) -> None:
    """Time the data page beside `inspect`, and previews after changes."""
    from starlette.testclient import TestClient

    import shoal
    from shoal.datasets import census
    from shoal.web.app import create_app
    from shoal.web.settings import Settings

    with tempfile.TemporaryDirectory() as folder:
        table = Path(folder) / "census.csv"
        census(rows, seed=0).write_csv(table)
        shoal.inspect(table)  # loads what is loaded once
        inspecting = median(seconds(lambda: shoal.inspect(table)) for _ in range(3))
        settings = Settings(Path(folder))
        headers = {"Authorization": f"Bearer {settings.token}"}
        with TestClient(create_app(settings), base_url="http://127.0.0.1", headers=headers) as client:
            opening = seconds(lambda: client.post("/api/projects", json={"file": "census.csv"}))
            first, again = (seconds(lambda: client.get("/projects/census/data")) for _ in range(2))
            size = len(client.get("/projects/census/data").content)
            roles = {"columns": ["age", "gender", "education", "marital", "race", "work_class", "country"]}
            client.patch("/api/projects/census/columns", json={**roles, "role": "quasi"})
            client.patch(
                "/api/projects/census/columns", json={"columns": ["occupation"], "role": "sensitive"}
            )
            cold = seconds(lambda: client.get("/api/projects/census/preview"))
            times = []
            for path, change in CHANGES:
                assert client.patch(f"/api/projects/census/{path}", json=change).status_code == 200
                times.append(seconds(lambda: client.get("/api/projects/census/preview")))
    print(
        f"{rows:,} rows: inspect {inspecting:.2f} s; project made {opening:.2f} s; data page {first:.2f} s,"
    )
    ratio = (opening + first) / inspecting
    print(f"again {again:.2f} s, {size / 1000:.0f} KB; opened and shown: {ratio:.2f} x inspect")
    print(f"preview: first {cold:.2f} s, then median {median(times):.2f} s, slowest {max(times):.2f} s")


def browser(rows: int) -> None:
    """Type values of k into the page in Chromium, and time how long the preview takes to change."""
    from playwright.sync_api import sync_playwright
    from tests.web.browsing import chromium
    from tests.web.serving import serving

    from shoal.datasets import census

    times: dict[str, list[float]] = {"typed and left with Tab": [], "typed only": []}
    with tempfile.TemporaryDirectory() as folder, serving(Path(folder)) as served, sync_playwright() as play:
        census(rows, seed=0).write_csv(Path(folder) / "census.csv")
        served.client().post("/api/projects", json={"file": "census.csv"}).raise_for_status()
        page = play.chromium.launch(executable_path=chromium()).new_page()
        page.goto(f"{served.address}/?token={served.settings.token}")
        page.goto(f"{served.address}/projects/census/goals")
        page.wait_for_selector("#preview:not([aria-busy]) :text-matches('%')", timeout=60_000)
        for way, k in zip(cycle(times), _TYPED, strict=False):
            before = page.inner_text("#preview")
            begin = time.perf_counter()
            page.fill("#k", str(k))
            if way.endswith("Tab"):
                page.keyboard.press("Tab")
            page.wait_for_function(
                "before => document.getElementById('preview').innerText !== before", arg=before, polling=20
            )
            times[way].append(time.perf_counter() - begin)
    everything = [one for part in times.values() for one in part]
    print(f"{rows:,} rows, in Chromium: a new preview after {median(everything):.2f} s (median of", end=" ")
    print(f"{len(everything)}), {max(everything):.2f} s at most")
    for way, part in times.items():
        print(f"{way}: median {median(part):.2f} s")


def accuracy(rows: int) -> None:
    """Compare previews with runs at the effort that `auto` chooses."""
    from benchmarks.processes import adult_folder

    import shoal
    from shoal.datasets import census, census_recipe
    from shoal.recipe import Recipe
    from shoal.table.given import table_of
    from shoal.workflow.preview import Preview

    cases = [("census", census_recipe(), census(rows, seed=0), "occupation", 3)]
    adult = Recipe.load(adult_folder() / "adult8.toml")
    cases.insert(0, ("adult", adult, table_of(None, adult), "salary-class", 2))
    print("| table | k | goal | preview | run | ratio | floor | bound |")
    print("|---|---:|---|---:|---:|---:|---:|---:|")
    for name, recipe, table, column, number in cases:
        preview = Preview(table)
        for k in (5, 10, 50, 200):
            diverse = {"type": "l-diversity", "column": column, "l": number}
            close = {"type": "t-closeness", "column": column, "t": 0.2}
            for goal in ([], [diverse], [close]):
                asked = recipe.changed({"privacy": {"k": k, "goal": goal}})
                found = preview.preview(asked)
                run = shoal.anonymize(table, asked, bound=not goal)
                weight = table.height * len(recipe.quasi)
                bound = "" if goal else f"{run.numbers.bound.total / weight:.4f}"
                print(
                    f"| {name} | {k} | {goal[0]['type'] if goal else ''} | {found.gcp:.4f} | "
                    f"{run.loss.gcp:.4f} | {found.gcp / run.loss.gcp:.2f} | {found.floor:.4f} | {bound} |",
                    flush=True,
                )


def main() -> None:
    given = [text for text in sys.argv[1:] if not text.startswith("-")]
    rows = int(given[0]) if given else 1_000_000
    work = accuracy if "--accuracy" in sys.argv else browser if "--browser" in sys.argv else pages
    work(rows)


if __name__ == "__main__":
    main()
