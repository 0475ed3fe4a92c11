"""The documentation site: every page has a place in it, and every link on its pages leads to another."""

import importlib.util
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import shoal
from tests.profiles import slow

ROOT = Path(__file__).parents[1]
SITE = ROOT / "docs" / "site"


def load_build():
    spec = importlib.util.spec_from_file_location("build_site", SITE / "build.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def build(tmp_path, monkeypatch):
    """The script, writing elsewhere."""
    module = load_build()
    monkeypatch.setattr(module, "BUILD", tmp_path)
    monkeypatch.setattr(module, "PAGES", tmp_path / "pages")
    return module


def places(entries):
    for entry in entries:
        for below in entry.values():
            yield from [below] if isinstance(below, str) else places(below)


def test_every_page_is_in_the_navigation_once(build):
    build.copy_pages()
    build.write_examples()
    build.write_api()
    written = {path.relative_to(build.PAGES).as_posix() for path in build.PAGES.rglob("*.md")}
    named = list(
        places(tomllib.loads((SITE / "zensical.toml").read_text(encoding="utf-8"))["project"]["nav"])
    )
    assert len(named) == len(set(named))
    assert set(named) == written | {"examples/steward.md"}


def test_links_are_changed_to_pages_of_the_site(build):
    text = (
        "[a](../BENCHMARKS.md) [b](README.md#x) ![c](report.png) [d](../examples/nightly_job.py)\n"
        "```\n[e](../BENCHMARKS.md)\n```\n[f](https://example.org/x.md) [g](#h)"
    )
    assert build.relinked(text, ROOT / "docs" / "guide.md", Path("guide.md")) == (
        "[a](benchmarks.md) [b](index.md#x) ![c](report.png) [d](examples/index.md#nightly-job)\n"
        "```\n[e](../BENCHMARKS.md)\n```\n[f](https://example.org/x.md) [g](#h)"
    )
    with pytest.raises(SystemExit, match=r"absent\.md"):
        build.relinked("[a](absent.md)", ROOT / "docs" / "guide.md", Path("guide.md"))


def test_the_api_reference_has_every_public_name(build):
    assert {f"shoal.{name}" for name in shoal.__all__} - set(build.API) <= {
        "shoal.PrivacyWarning",
        "shoal.ShoalError",
    }


@slow
def test_the_site_builds_without_warnings_and_is_searched_offline():
    done = subprocess.run(
        [sys.executable, str(SITE / "build.py")], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "No issues found" in done.stdout + done.stderr
    pages = sorted((ROOT / "site").rglob("*.html"))
    loaded = re.compile(
        r'<(?:script|img|iframe|source)[^>]*\ssrc="?https?:|<link[^>]*href="?https?:[^>]*stylesheet'
    )
    assert [page.name for page in pages if loaded.search(page.read_text(encoding="utf-8"))] == []
    sync_api = pytest.importorskip("playwright.sync_api")
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path="/usr/bin/chromium", args=["--no-sandbox"])
        for width in (1400, 400):
            page = browser.new_page(viewport={"width": width, "height": 900})
            asked = []
            page.on("request", lambda request, asked=asked: asked.append(request.url))
            page.goto((ROOT / "site" / "methods" / "k-member.html").as_uri())
            assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0
            page.keyboard.press("/")
            page.keyboard.type("diversity", delay=20)
            page.get_by_text("results", exact=False).first.wait_for()
            assert [url for url in asked if not url.startswith("file:")] == []
        browser.close()
