"""Small releases that must not change by a byte; `python -m tests.test_golden` writes them anew."""

import json
import sys
import warnings
from pathlib import Path

import polars as pl
import pytest

import shoal

FOLDER = Path(__file__).parent / "golden"
N = 40
PEOPLE = pl.DataFrame(
    {
        "who": [f"p{at * 3 // 4}" for at in range(N)],
        "age": [20 + at * 7 % 31 for at in range(N)],
        "zip": [f"{10115 + at * 37 % 900}" for at in range(N)],
        "sex": ["fmx"[at * 5 % 3] if at % 11 else None for at in range(N)],
        "ill": ["flu", "cold", "asthma", "angina"][0:4] * 10,
    }
)
ZIP = {"hierarchy": {"prefix": 1}}
ILL = {"type": "l-diversity", "column": "ill", "l": 2}


def recipe_of(method, *, subject=False, **changes):
    columns = {
        "who": {"role": "subject" if subject else "identifier"},
        "age": {"role": "quasi"},
        "zip": {"role": "quasi", "kind": "categorical", **ZIP},
        "sex": {"role": "quasi"},
        "ill": {"role": "sensitive"},
    }
    sections = {"columns": columns, "privacy": {"k": 4}, "method": {"name": method, "seed": 5}}
    return shoal.Recipe.from_dict(sections, changes=changes)


CASES = {
    "local-search-goal": recipe_of("local-search", privacy={"goal": [ILL]}),
    "k-member-people": recipe_of("k-member", subject=True),
    "oka": recipe_of("oka"),
    "systematic": recipe_of("systematic"),
    "kaca": recipe_of("kaca"),
    "cb": recipe_of("cb"),
    "incognito": recipe_of("incognito"),
    "mondrian-columns": recipe_of("mondrian", output={"bounds_as": "columns"}),
    "views": recipe_of("mondrian", output={"views": "nested", "views_by": "projection"}),
    "anatomy": recipe_of("anatomy"),
}


def write(name, folder):
    """Write a release, its manifest without versions."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", shoal.PrivacyWarning)
        release = shoal.anonymize(PEOPLE, CASES[name], accept_composition=True)
        release.write(folder / f"{name}.csv")
    path = folder / f"{name}.csv.manifest.json"
    manifest = json.loads(path.read_text(encoding="utf-8"))
    del manifest["versions"]
    path.write_text(json.dumps(manifest, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


@pytest.mark.parametrize("name", CASES)
def test_a_release_has_not_changed(name, tmp_path):
    write(name, tmp_path)
    expected = {
        file.name: file.read_text(encoding="utf-8")
        for file in FOLDER.iterdir()
        if file.name.startswith(f"{name}.")
    }
    assert {file.name: file.read_text(encoding="utf-8") for file in tmp_path.iterdir()} == expected


if __name__ == "__main__":
    for old in FOLDER.iterdir():
        old.unlink()
    for case in CASES:
        write(case, FOLDER)
    sys.exit()
