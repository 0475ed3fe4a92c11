"""The page Hierarchies in a real browser, by keyboard and by mouse."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from shoal.hierarchy import files
from shoal.web.trees import column_key
from tests.web.browsing import check_with_axe, chromium, tab_to
from tests.web.serving import Served, serving

pytest.importorskip("playwright")

TREE = {"all": {"north": {"oslo": {}, "riga": {}}, "south": {"rome": {}, "bari": {}}, "bern": {}}}


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    from playwright.sync_api import sync_playwright

    folder = tmp_path_factory.mktemp("trees")
    with serving(folder) as served, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium(), args=["--no-sandbox"])
        context = browser.new_context(base_url=served.address, viewport={"width": 1280, "height": 1000})
        made = context.new_page()
        made.served = served  # type: ignore[attr-defined]
        made.goto(f"/?token={served.settings.token}")
        yield made
        browser.close()


@pytest.fixture
def project(page: Any) -> Path:
    """Make a project with a tree of cities and a column of ages."""
    served: Served = page.served
    folder = served.folder / f"p{len(list(served.folder.iterdir()))}"
    (folder / "hierarchies").mkdir(parents=True)
    cities = ("oslo", "riga", "rome", "bari", "bern")
    rows = [f"{20 + at % 50},{cities[at % 5]}" for at in range(200)]
    (folder / "people.csv").write_text("\n".join(["age,city", *rows]) + "\n")
    lines = ["oslo;north;all", "riga;north;all", "rome;south;all", "bari;south;all", "bern;bern;all"]
    (folder / "hierarchies" / "given.csv").write_text("\n".join(lines) + "\n")
    (folder / "recipe.toml").write_text(
        '[input]\npath = "people.csv"\n[columns.age]\nrole = "quasi"\n[columns.city]\nrole = "quasi"\n'
        'hierarchy = "hierarchies/given.csv"\n[privacy]\nk = 3\n'
    )
    return folder


def open_page(page: Any, project: Path, column: str) -> None:
    page.goto(f"/projects/{project.name}/hierarchies?column={column_key(column)}")


def tree_on_disk(project: Path, column: str = "city") -> dict[str, Any] | None:
    said = tomllib.loads((project / "recipe.toml").read_text())["columns"][column].get("hierarchy")
    return None if said is None else files.to_nested(files.load(project / said, column))


def wait_for(page: Any, text: str) -> None:
    """Wait until the page says something."""
    page.locator("#status", has_text=text).wait_for()


def press(page: Any, *keys: str) -> None:
    for key in keys:
        page.keyboard.press(key)


def test_by_keyboard_alone(page: Any, project: Path) -> None:
    open_page(page, project, "city")
    page.wait_for_selector('[role="treeitem"]')
    tab_to(page, '[role="treeitem"]')
    press(page, "ArrowDown", "ArrowRight")  # north is opened
    page.locator(".row", has_text="riga").wait_for()
    press(page, "F2")
    press(page, "Control+a")
    page.keyboard.type("south")
    press(page, "Enter")
    page.locator(".row .says").wait_for()  # the error is where the mistake is
    assert "already has this label" in page.inner_text(".row .says")
    assert tree_on_disk(project) == TREE
    press(page, "Control+a")
    page.keyboard.type("cold")
    press(page, "Enter")
    wait_for(page, "Renamed")
    press(page, "ArrowDown", "Space", "Shift+ArrowDown", "Control+x", "s", "Control+v")
    wait_for(page, "Moved")
    moved = {"all": {"south": {"rome": {}, "bari": {}, "oslo": {}, "riga": {}}, "bern": {}}}
    assert tree_on_disk(project) == moved
    press(page, "Control+z")
    wait_for(page, "Undone: moving 2 nodes")
    press(page, "Control+y")
    wait_for(page, "Done again")
    assert tree_on_disk(project) == moved
    press(page, "Home", "s", "Delete")
    wait_for(page, "Split")
    assert tree_on_disk(project) == {"all": {name: {} for name in ("rome", "bari", "oslo", "riga", "bern")}}
    press(page, "Home", "ArrowDown", "Space", "ArrowDown", "Space", "Control+g")
    page.locator("#group-label:focus").wait_for()
    page.keyboard.type("italy")
    press(page, "Enter")
    wait_for(page, "Grouped")
    grown = tree_on_disk(project)
    assert grown is not None
    assert grown["all"]["italy"] == {"rome": {}, "bari": {}}
    assert page.evaluate("document.activeElement.innerText").startswith("italy")


def test_by_mouse(page: Any, project: Path) -> None:
    open_page(page, project, "city")
    page.locator(".row", has_text="bern").drag_to(page.locator(".row", has_text="north"))
    wait_for(page, "Moved")
    tree = tree_on_disk(project)
    assert tree is not None
    assert tree["all"]["north"] == {"oslo": {}, "riga": {}, "bern": {}}
    page.locator(".row", has_text="north").click()
    page.click("[data-edit=move]")
    page.fill("#move-find", "sou")
    page.locator("#move-groups label").filter(has_text="south").click()
    page.click("#move-dialog button.primary")
    page.locator(".row", has_text="north").wait_for(state="detached")
    assert tree_on_disk(project)["all"]["south"].keys() == {"rome", "bari", "north"}  # type: ignore[index]
    page.click("#undo")
    page.locator(".row", has_text="north").wait_for()
    check_with_axe(page)


def test_cuts_by_mouse_and_keyboard(page: Any, project: Path) -> None:
    open_page(page, project, "age")
    handles = page.locator(".cut")
    handles.first.wait_for()
    assert page.input_value("#cuts") == "32, 45, 57"
    box = handles.nth(0).locator("circle").bounding_box()
    page.mouse.move(box["x"] + 6, box["y"] + 6)
    page.mouse.down()
    page.mouse.move(box["x"] - 500, box["y"] + 6)
    page.mouse.up()
    low = int(page.input_value("#cuts").split(",")[0])
    assert low < 25  # as far as it can go
    press(page, "ArrowRight")
    assert page.input_value("#cuts") == f"{low + 1}, 45, 57"
    tab_to(page, ".cut:nth-last-child(1)")
    press(page, "Delete")
    assert page.input_value("#cuts") == f"{low + 1}, 45"
    page.locator("#intervals li").nth(2).wait_for()
    check_with_axe(page)
    tab_to(page, "form[data-builder=cuts] button")
    press(page, "Enter")
    wait_for(page, "Built")
    tree = tree_on_disk(project, "age")
    assert tree is not None
    assert list(tree["*"]) == [f"<{low + 1}", f"[{low + 1}, 44]", ">=45"]


def test_a_file_can_be_chosen_while_the_tree_loads(page: Any, project: Path, tmp_path: Path) -> None:
    held: list[Any] = []
    page.route(
        re.compile(r"/api/.*/hierarchies/[^/]+$"),
        lambda route: held.append(route) if route.request.method == "GET" else route.continue_(),
    )
    open_page(page, project, "city")
    (tmp_path / "bad.csv").write_text("oslo;x;*\noslo;y;*\n")
    page.click("text=Import a file")
    page.set_input_files("#file", tmp_path / "bad.csv")
    page.locator("#import li").first.wait_for()
    assert len(held) == 1
    held[0].continue_()
    page.locator('[role="treeitem"]').first.wait_for()
    page.unroute_all()  # the page is that of all tests here


def test_a_wrong_file_is_refused_where_it_was_chosen(page: Any, project: Path, tmp_path: Path) -> None:
    open_page(page, project, "city")
    (tmp_path / "bad.csv").write_text("oslo;x;*\nriga;;*\noslo;y;*\n")
    page.click("text=Import a file")
    page.set_input_files("#file", tmp_path / "bad.csv")
    page.locator("#import li").first.wait_for()
    assert [item.split(":")[0] for item in page.locator("#import li").all_inner_texts()] == [
        "Line 2",
        "Line 3",
    ]
    assert tree_on_disk(project) == TREE
