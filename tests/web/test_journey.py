"""The whole journey in a real browser, once by mouse and once by keyboard, with axe on every page."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.profiles import IS_SLOW
from tests.web.browsing import check_with_axe, chromium, tab_to
from tests.web.serving import Served, serving

SHOAL = [sys.executable, "-c", "from shoal.cli.main import main; main()"]
PATIENCE = 180_000  # milliseconds


@pytest.fixture(scope="module")
def browser():
    place = chromium()
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=place, args=["--no-sandbox"])
        yield opened
        opened.close()


@pytest.fixture
def served(tmp_path: Path):
    folder = tmp_path / "folder"
    folder.mkdir()
    with serving(folder, demo_rows=600) as running:
        yield running


@pytest.fixture
def page(browser: Any, served: Served):
    context = browser.new_context(viewport={"width": 1280, "height": 900}, accept_downloads=True)
    opened = context.new_page()
    opened.set_default_timeout(PATIENCE)
    problems: list[str] = []
    opened.on("pageerror", lambda error: problems.append(str(error)))
    opened.on("console", lambda said: problems.append(said.text) if said.type == "error" else None)
    yield opened
    context.close()
    assert problems == []  # the content security policy, too, complains here


class Mouse:
    """A person with a mouse, who types only into fields, and who looks at both themes."""

    def __init__(self, page: Any) -> None:
        self.page = page

    def look(self) -> None:
        check_with_axe(self.page, "dark", "light")

    def press(self, selector: str) -> None:
        self.page.click(selector)

    def choose(self, selector: str, value: str) -> None:
        self.page.select_option(selector, value)

    def write(self, selector: str, text: str) -> None:
        self.page.click(selector)
        self.page.fill(selector, text)

    def rename(self, label: str, name: str) -> None:
        self.page.get_by_role("treeitem", name=re.compile(label)).first.click()
        self.page.click('[data-edit="rename"]')
        self.page.keyboard.press("Control+A")
        self.page.keyboard.type(name)
        self.page.keyboard.press("Enter")


class Keyboard:
    """A person without a mouse."""

    def __init__(self, page: Any) -> None:
        self.page = page

    def look(self) -> None:
        check_with_axe(self.page)

    def press(self, selector: str) -> None:
        tab_to(self.page, selector)
        is_box = self.page.evaluate("document.activeElement.type === 'checkbox'")
        self.page.keyboard.press("Space" if is_box else "Enter")

    def choose(self, selector: str, value: str) -> None:
        tab_to(self.page, selector)
        self.page.keyboard.type(value)

    def write(self, selector: str, text: str) -> None:
        tab_to(self.page, selector)
        self.page.keyboard.press("Control+A")
        self.page.keyboard.type(text)

    def rename(self, label: str, name: str) -> None:
        tab_to(self.page, '[role="treeitem"]')
        for _ in range(50):
            if label in self.page.evaluate("document.activeElement.textContent"):
                break
            self.page.keyboard.press("ArrowDown")
        self.page.keyboard.press("F2")
        self.page.keyboard.press("Control+A")
        self.page.keyboard.type(name)
        self.page.keyboard.press("Enter")


def recipe_of(served: Served) -> dict[str, Any]:
    return tomllib.loads((served.folder / "demo" / "recipe.toml").read_text(encoding="utf-8"))


def until(page: Any, holds: Callable[[], bool]) -> None:
    """Wait until something holds on disk."""
    for _ in range(600):
        if holds():
            return
        page.wait_for_timeout(50)
    raise AssertionError("it never came to hold")


def go(hand: Any, tab: str) -> None:
    """Go to a tab of the project, and let axe look at it."""
    hand.press(f'.tabs a[href$="/{tab}"]')
    hand.page.wait_for_url(f"**/{tab}*")
    hand.page.wait_for_load_state("networkidle") if tab not in ("run",) else None
    hand.look()


def run(hand: Any, number: int) -> None:
    """Run the recipe, and wait for the release."""
    hand.press("#go")
    hand.page.wait_for_selector(f'#see[href$="/results/{number}"]:not([hidden])')
    assert f"Release {number} is made" in hand.page.inner_text("#outcome")


def saved(page: Any, selector: str, folder: Path, press: Callable[[str], None]) -> Path:
    """Download a file."""
    with page.expect_download() as download:
        press(selector)
    path = folder / download.value.suggested_filename
    download.value.save_as(path)
    return path


def shoal(*arguments: str | Path) -> None:
    done = subprocess.run(
        [*SHOAL, *map(str, arguments)], capture_output=True, text=True, check=False, timeout=300
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("person", [Mouse, Keyboard])
def test_from_the_demo_to_a_verified_release(page: Any, served: Served, person: Any, tmp_path: Path) -> None:
    hand = person(page)
    page.goto(f"{served.address}/?token={served.settings.token}")
    assert page.url == f"{served.address}/"
    hand.look()

    hand.press('form[action="/demo"] button')
    page.wait_for_url("**/projects/demo/data")
    hand.look()
    hand.choose('select[aria-label="Role of cost"]', "drop")
    until(page, lambda: recipe_of(served)["columns"]["cost"]["role"] == "drop")

    go(hand, "hierarchies")
    hand.press(
        '.tree-columns a:has-text("profession")' if person is Mouse else ".tree-columns li:nth-child(4) a"
    )
    page.wait_for_selector('[role="treeitem"]')
    hand.look()
    hand.rename("health and care", "medicine")
    until(page, lambda: "medicine" in tree_of(served))

    go(hand, "goals")
    page.wait_for_selector("#preview :text-matches('%')")
    before = page.inner_text("#preview")
    hand.write("#k", "9")
    until(page, lambda: recipe_of(served)["privacy"]["k"] == 9)
    until(page, lambda: "%" in page.inner_text("#preview") != before)

    go(hand, "run")
    hand.press("#go")
    page.wait_for_selector("#cancel button:visible")
    hand.press("#cancel button")
    page.wait_for_selector("#outcome :text('cancelled')")
    # The page says so at once; the process of the run needs a moment to end.
    until(page, lambda: list((served.folder / "demo" / "releases").iterdir()) == [])
    run(hand, 1)

    go(hand, "goals")
    hand.write("#k", "4")
    until(page, lambda: recipe_of(served)["privacy"]["k"] == 4)
    go(hand, "run")
    run(hand, 2)
    hand.look()

    go(hand, "results")
    for number in (1, 2):
        hand.press(f'input[aria-label="Release {number}"]')
    hand.press("#compare")
    page.wait_for_selector("#side")
    assert "privacy.k" in page.inner_text(".differs")
    hand.look()

    page.goto(f"{served.address}/docs")
    hand.look() if IS_SLOW else check_with_axe(page)  # in one theme: axe takes long there
    page.goto(f"{served.address}/projects/demo/results/2")
    hand.look()
    release = saved(page, 'a[href$="/files/release"]', tmp_path, hand.press)
    saved(page, 'a[href$="/files/manifest"]', tmp_path, hand.press)
    recipe = saved(page, 'a[href$="/files/recipe"]', tmp_path, hand.press)
    shoal("verify", release, "--recipe", recipe)
    shoal("anonymize", recipe, "-o", tmp_path / "again.csv", "--no-bound", "--quiet")
    assert (tmp_path / "again.csv").read_bytes() == release.read_bytes()


def tree_of(served: Served) -> str:
    """Return the hierarchy of the column profession as it is on disk."""
    said = recipe_of(served)["columns"]["profession"]["hierarchy"]
    return (served.folder / "demo" / said).read_text(encoding="utf-8") if isinstance(said, str) else str(said)
