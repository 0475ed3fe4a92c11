"""No cell of a table that is rare shows up on a page, in an answer, in an address or in a log."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.bad_input_cases import DATE_MARK, MARK, MARKS, NUMBER_MARK
from tests.web.serving import recipe, serving

TABS = ("data", "hierarchies", "goals", "run", "results")
CALLS = ("", "/recipe", "/inspection", "/dangers", "/preview", "/hierarchies", "/run", "/releases")


def marked() -> str:
    """Spell a table in which one row consists of marks."""
    rows = [f"p{at},{20 + at % 40},{'mf'[at % 2]},{('Bonn', 'Ulm')[at % 2]},flu" for at in range(100)]
    return (
        "\n".join(["name,age,sex,city,ill", f"{MARK},{NUMBER_MARK},{MARK},{DATE_MARK},{MARK}", *rows]) + "\n"
    )


def test_no_answer_shows_a_rare_cell(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "people").mkdir()
    (tmp_path / "people" / "people.csv").write_text(marked())
    (tmp_path / "people" / "recipe.toml").write_text(recipe())
    with serving(tmp_path) as served:
        client = served.client()
        answers = [client.get(f"/projects/people/{tab}") for tab in TABS]
        columns = re.findall(r"\?column=\w+", answers[1].text)
        assert len(columns) == 4
        answers += [client.get(f"/projects/people/hierarchies{column}") for column in columns]
        answers += [client.get(f"/api/projects/people{call}") for call in CALLS]
        keys = [column.removeprefix("?column=") for column in columns]
        for key in keys:
            answers.append(client.get(f"/api/projects/people/hierarchies/{key}"))
            answers.append(client.get(f"/api/projects/people/hierarchies/{key}/histogram"))
        answers += [
            client.put("/api/upload?file=copy.csv", content=marked()),
            client.get("/projects/copy/data"),
            client.put("/api/upload?file=ragged.csv", content=marked() + f"{MARK},{MARK}\n"),
            client.put("/api/upload?file=broken.parquet", content=marked()),
            client.put("/api/projects/people/recipe", json={"text": f'[columns]\n"{MARK}" = "{MARK}"'}),
            client.put("/api/projects/people/recipe", json={"text": f"{MARK} = = 1"}),
            client.put("/api/projects/people/verify/upload?file=a.csv", content=marked()),
            client.get("/"),
        ]
        assert sum(answer.status_code == 200 for answer in answers) > 15
        for answer in answers:
            shown = answer.text + str(answer.headers)
            if answer.status_code == 422 and "recipe" in str(answer.request.url):
                continue  # a recipe's own words are quoted: they name columns, not cells
            assert [mark for mark in MARKS if mark in shown] == [], answer.request.url
    printed = capfd.readouterr()
    assert [mark for mark in MARKS if mark in printed.out + printed.err] == []
