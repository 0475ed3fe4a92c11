"""Chromium for tests, and what a person does with a mouse or a keyboard."""

from __future__ import annotations

import os
import shutil
from typing import Any

import pytest


def chromium() -> str:
    """Return the system's Chromium; skip, or fail where nothing may be skipped, without one."""
    for name in ("chromium", "chromium-browser", "google-chrome"):
        found = shutil.which(name)
        if found:
            return found
    reason = "no Chromium on this machine"
    if os.environ.get("SHOAL_TEST_ALL"):
        pytest.fail(reason)
    pytest.skip(reason)


def check_with_axe(page: Any, *themes: str) -> None:
    """Let axe look at a page: nothing serious may be wrong with it in any of the themes, light by default."""
    from axe_playwright_python.sync_playwright import Axe

    for theme in themes or ("light",):
        page.emulate_media(color_scheme=theme)
        found = Axe().run(page).response["violations"]
        serious = [
            (one["id"], [node["target"] for node in one["nodes"]][:3])
            for one in found
            if one["impact"] in ("serious", "critical")
        ]
        assert serious == [], (page.url, theme)


def tab_to(page: Any, selector: str, most: int = 150) -> None:
    """Press Tab until an element has the focus; everything must be reachable this way."""
    for _ in range(most):
        if page.evaluate("selector => document.activeElement.matches(selector)", selector):
            return
        page.keyboard.press("Tab")
    raise AssertionError(f"{selector} cannot be reached by keyboard on {page.url}")
