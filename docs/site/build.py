"""Build the documentation site from the pages of this repository: `make docs`.

The pages are written to be read in the repository, where README.md is a folder's index and links may lead
anywhere. They are copied to a folder of their own, with links that lead to pages of the site. Examples become
pages, and the notebook is executed.
"""

from __future__ import annotations

import ast
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
BUILD = ROOT / "build" / "docs"
PAGES = BUILD / "pages"
LINK = re.compile(r"(!?\[[^\]]*\]\()([^)\s#:]+)((?:#[^)\s]*)?)\)")
FENCE = re.compile(r"^(```.*?^```)", re.DOTALL | re.MULTILINE)
TOP = {"BENCHMARKS.md": "benchmarks.md", "CHANGELOG.md": "changes.md", "CONTRIBUTING.md": "contributing.md"}
LANGUAGES = {".py": "python", ".yml": "yaml", ".yaml": "yaml", ".toml": "toml"}
# What the API reference shows, in this order.
API = (
    "shoal.anonymize", "shoal.Release", "shoal.Recipe", "shoal.verify", "shoal.Verdict", "shoal.inspect",
    "shoal.Inspection", "shoal.risk", "shoal.attack", "shoal.compare", "shoal.extend", "shoal.Extension",
    "shoal.republish", "shoal.Republication",
    "shoal.values", "shoal.encode", "shoal.sklearn.Anonymizer", "shoal.cluster", "shoal.errors.ShoalError",
)  # fmt: skip


def address(path: Path) -> Path | None:
    """Return where a file of the repository is on the site; None if it is not there."""
    if path.parent == ROOT and path.name in TOP:
        return Path(TOP[path.name])
    if path.is_relative_to(DOCS) and path.suffix in (".md", ".svg", ".png"):
        return path.relative_to(DOCS).with_name("index.md" if path.name == "README.md" else path.name)
    if path.is_relative_to(ROOT / "examples"):
        return Path("examples") / (f"{path.stem}.md" if path.suffix == ".ipynb" else "index.md")
    return None


def anchor_of(path: Path) -> str:
    """Return the anchor of a file that is a part of the page of examples."""
    is_part = path.is_relative_to(ROOT / "examples") and path.suffix in LANGUAGES
    return path.stem.replace("_", "-") if is_part else ""


def relinked(text: str, source: Path, page: Path) -> str:
    """Return a page with links to where the files are on the site."""

    def change(found: re.Match[str]) -> str:
        before, target, anchor = found.groups()
        file = (source.parent / target).resolve()
        place = address(file)
        if place is None or not file.exists():
            raise SystemExit(f"{source.relative_to(ROOT)}: the site has no page for {target}")
        anchor = anchor or (f"#{part}" if (part := anchor_of(file)) else "")
        return f"{before}{Path(os.path.relpath(place, page.parent)).as_posix()}{anchor})"

    parts = FENCE.split(text)  # code keeps what looks like a link
    return "".join(part if part.startswith("```") else LINK.sub(change, part) for part in parts)


def write(page: Path, text: str) -> None:
    """Write a page of the site."""
    target = PAGES / page
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(text, encoding="utf-8")


def copy_pages() -> None:
    """Copy pages and pictures."""
    for source in [*sorted(DOCS.rglob("*")), *(ROOT / name for name in TOP)]:
        page = address(source)
        if not source.is_file() or page is None:
            continue
        if source.suffix == ".md":
            write(page, relinked(source.read_text(encoding="utf-8"), source, page))
        else:
            (PAGES / page).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source, PAGES / page)
    for name in ("site.css", "iframe-worker.js"):
        shutil.copyfile(DOCS / "site" / name, PAGES / name)


def write_examples() -> None:
    """Write one page with all scripts and files of examples/."""
    parts = [
        "# Examples\n\nScripts and files that run unchanged. The notebook has [its own page](steward.md).\n"
    ]
    folder = ROOT / "examples"
    for path in sorted(path for path in folder.rglob("*") if path.suffix in LANGUAGES):
        code, said = path.read_text(encoding="utf-8"), ""
        if path.suffix == ".py":
            docstring = ast.get_docstring(ast.parse(code)) or ""
            said = docstring.partition("\n")[0] + "\n\n"
        title = f"## {path.relative_to(folder).as_posix()} {{ #{anchor_of(path)} }}"
        parts.append(f"{title}\n\n{said}```{LANGUAGES[path.suffix]}\n{code}```\n")
    write(Path("examples/index.md"), "\n".join(parts))


def write_notebooks() -> None:
    """Execute the notebooks and write them as pages."""
    import nbformat
    from nbclient import NotebookClient

    for path in sorted((ROOT / "examples").glob("*.ipynb")):
        page = Path("examples") / f"{path.stem}.md"
        notebook = nbformat.read(path, as_version=4)
        work = BUILD / "notebooks"
        work.mkdir(parents=True, exist_ok=True)
        NotebookClient(notebook, timeout=600, resources={"metadata": {"path": str(work)}}).execute()
        parts = []
        for cell in notebook.cells:
            if cell.cell_type == "markdown":
                parts.append(relinked(cell.source, path, page))
            else:
                parts.append(f"```python\n{cell.source}\n```")
                parts += [shown for output in cell.outputs if (shown := in_page(output))]
        write(page, "\n\n".join(parts) + "\n")


def in_page(output: dict[str, object]) -> str:
    """Return an output of a notebook for a page; warnings and logs are left out."""
    data = output.get("data", {})
    if isinstance(data, dict) and "text/html" in data:
        return f'<div class="output">{"".join(data["text/html"])}</div>'
    text = data.get("text/plain") if isinstance(data, dict) else None
    if output.get("name") == "stdout":
        text = output.get("text")
    return f"``` {{ .text .output }}\n{str(text).rstrip()}\n```" if text else ""


def write_api() -> None:
    """Write the page whose contents are the docstrings."""
    parts = [
        "# Python API\n\nGenerated from the docstrings. [Python](python.md) introduces them with examples."
    ]
    write(Path("api.md"), "\n\n".join([*parts, *(f"::: {name}" for name in API)]) + "\n")


def main() -> None:
    """Build the site into site/, and end with an error if anything is wrong with a page."""
    shutil.rmtree(BUILD, ignore_errors=True)
    PAGES.mkdir(parents=True)
    copy_pages()
    write_examples()
    write_notebooks()
    write_api()
    shutil.copyfile(DOCS / "site" / "zensical.toml", BUILD / "zensical.toml")
    (BUILD / "src").symlink_to(ROOT / "src")
    done = subprocess.run(
        [sys.executable, "-m", "zensical", "build", "--clean", "--strict"], cwd=BUILD, check=False
    )
    if done.returncode:
        sys.exit(done.returncode)
    shutil.rmtree(ROOT / "site", ignore_errors=True)
    shutil.move(BUILD / "site", ROOT / "site")
    print("The site is in site/: open site/index.html")


if __name__ == "__main__":
    main()
