"""The pages Data and Goals: what they show, what they write, and what they refuse."""

from __future__ import annotations

import json
import os
import stat
import tomllib
from pathlib import Path

import pytest

import shoal
from tests.profiles import slow
from tests.web.serving import ROLES, Served, make_project, serving

API = "/api/projects/people"


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory):
    with serving(tmp_path_factory.mktemp("data")) as served:
        yield served


@pytest.fixture
def project(running: Served) -> Path:
    """A project that no other test has changed."""
    place = running.folder / "people"
    if place.exists():
        for path in sorted(place.rglob("*"), reverse=True):
            path.rmdir() if path.is_dir() else path.unlink()
        place.rmdir()
    return make_project(running.folder)


def sections(project: Path):
    return tomllib.loads((project / "recipe.toml").read_text())


def test_the_inspection_is_that_of_the_command(running: Served, project: Path) -> None:
    found = running.client().get(f"{API}/inspection").json()
    expected = shoal.inspect(project / "people.csv").to_dict()
    assert found["rows"] == 120
    assert [one["name"] for one in found["columns"]] == list(ROLES)
    for ours, theirs in zip(found["columns"], expected["columns"], strict=True):
        assert (ours["role"], ours["reason"], ours["distinct"]) == (
            theirs["role"],
            theirs["reason"],
            theirs["distinct"],
        )
    assert found["combinations"] == expected["combinations"]


def test_the_inspection_is_kept_for_its_owner_alone(running: Served, project: Path) -> None:
    client = running.client()
    first = client.get(f"{API}/inspection").json()
    kept = project / ".shoal" / "inspection.json"
    assert stat.S_IMODE(kept.stat().st_mode) == 0o600
    assert stat.S_IMODE(kept.parent.stat().st_mode) == 0o700
    text = kept.read_text()
    assert "p17" not in text  # an identifier's value, in one row
    altered = json.loads(text)
    altered["shown"]["rows"] = 7
    kept.write_text(json.dumps(altered))
    assert client.get(f"{API}/inspection").json()["rows"] == 7  # it is used ...
    table = project / "people.csv"
    os.utime(table, ns=(1, 1))
    assert client.get(f"{API}/inspection").json() == first  # ... until the file changes
    kept.write_text("not JSON")
    assert client.get(f"{API}/inspection").json() == first


def test_many_columns_change_at_once(running: Served, project: Path) -> None:
    asked = {"columns": ["age", "city"], "role": "drop"}
    answer = running.client().patch(f"{API}/columns", json=asked)
    assert answer.json()["columns"] == {name: {"role": "drop", "kind": None} for name in ("age", "city")}
    columns = sections(project)["columns"]
    assert [columns[name]["role"] for name in ROLES] == ["identifier", "drop", "quasi", "drop", "sensitive"]
    running.client().patch(f"{API}/columns", json={"columns": ["sex"], "kind": "categorical"})
    assert sections(project)["columns"]["sex"] == {"role": "quasi", "kind": "categorical"}
    running.client().patch(f"{API}/columns", json={"columns": ["sex"], "kind": "found"})
    assert sections(project)["columns"]["sex"] == {"role": "quasi"}


def test_a_change_that_makes_no_recipe_is_refused(running: Served, project: Path) -> None:
    before = (project / "recipe.toml").read_bytes()
    client = running.client()
    version = client.get(API).json()["version"]
    answer = client.patch(f"{API}/columns", json={"columns": ["age", "sex", "city"], "role": "keep"})
    assert (answer.status_code, answer.json()["error"]["code"]) == (422, "recipe.no_quasi")
    assert (
        client.patch(f"{API}/columns", json={"columns": ["age"], "role": "quassi"}).status_code,
        client.patch(f"{API}/columns", json={"columns": [], "role": "keep"}).status_code,
        client.patch(f"{API}/goals", json={"k": 1}).json()["error"]["code"],
        client.patch(
            f"{API}/goals", json={"goals": [{"type": "l-diversity", "column": "age", "l": 2}]}
        ).status_code,
        client.patch(f"{API}/goals", json={"k": 9, "version": "old"}).json()["error"]["code"],
    ) == (422, 422, "recipe.invalid", 422, "web.changed")
    assert (project / "recipe.toml").read_bytes() == before
    assert client.get(API).json()["version"] == version


def test_a_form_without_scripts_changes_the_ticked_columns(running: Served, project: Path) -> None:
    answer = running.client().post(
        "/projects/people/data", data={"columns": ["age", "sex"], "role": "keep"}, follow_redirects=True
    )
    assert answer.status_code == 200
    assert [sections(project)["columns"][name]["role"] for name in ("age", "sex", "city")] == [
        "keep",
        "keep",
        "quasi",
    ]


def test_dangers_are_found_accepted_and_taken_back(running: Served, project: Path) -> None:
    client = running.client()
    client.patch(f"{API}/columns", json={"columns": ["name"], "role": "keep"})
    (found,) = client.get(f"{API}/dangers").json()
    assert (found["name"], found["accept_on"], found["refused"], found["accepted"]) == (
        "unique",
        ["name"],
        True,
        False,
    )
    assert "all 120 rows" in found["message"]
    client.patch(f"{API}/columns", json={"columns": ["name"], "accept": {"unique": "made up"}})
    assert sections(project)["columns"]["name"]["accept"] == {"unique": "made up"}
    (found,) = client.get(f"{API}/dangers").json()
    assert (found["accepted"], found["reason"]) == (True, "made up")
    client.patch(f"{API}/columns", json={"columns": ["name"], "accept": {"unique": None}})
    assert "accept" not in sections(project)["columns"]["name"]


def test_goals_method_and_texts_are_written(running: Served, project: Path) -> None:
    goal = {"type": "l-diversity", "column": "ill", "l": 2}
    client = running.client()
    asked = {
        "k": 6, "goals": [goal], "missing": "suppress", "max_suppressed": 0.05, "method": "auto",
        "effort": "high", "seed": 3, "about": {"purpose": " Research ", "author": ""},
    }  # fmt: skip
    assert client.patch(f"{API}/goals", json=asked).status_code == 200
    found = sections(project)
    assert found["privacy"] == {"k": 6, "goal": [goal], "missing": "suppress", "max_suppressed": 0.05}
    assert found["method"] == {"name": "auto", "seed": 3, "options": {"effort": "high"}}
    assert found["about"] == {"purpose": "Research"}
    client.patch(f"{API}/goals", json={"method": "mondrian", "goals": [], "about": {"purpose": ""}})
    found = sections(project)
    assert found["method"] == {"name": "mondrian", "seed": 3}
    assert "goal" not in found["privacy"]
    assert "about" not in found


def test_the_preview_follows_k_goals_and_roles(running: Served, project: Path) -> None:
    client = running.client()
    losses = []
    for path, change in (
        ("goals", {"k": 4, "method": "auto"}),
        ("goals", {"k": 12}),
        ("columns", {"columns": ["age"], "role": "drop"}),
    ):
        assert client.patch(f"{API}/{path}", json=change).status_code == 200
        found = client.get(f"{API}/preview").json()
        assert found["feasible"]
        assert 0 <= found["floor"] <= found["gcp"] <= 1
        assert (found["rows"], found["sample_rows"]) == (120, 120)
        losses.append(found["gcp"])
    assert losses[0] < losses[1] > losses[2]
    assert client.get(f"{API}/preview").json()["gcp"] == losses[2]


def test_what_is_infeasible_is_said_before_a_run(running: Served, project: Path) -> None:
    client = running.client()
    client.patch(f"{API}/goals", json={"k": 121})
    found = client.get(f"{API}/preview").json()
    assert ([one["code"] for one in found["problems"]], found["gcp"]) == (["infeasible.rows"], None)
    client.patch(f"{API}/goals", json={"k": 3, "goals": [{"type": "l-diversity", "column": "ill", "l": 3}]})
    (problem,) = client.get(f"{API}/preview").json()["problems"]
    assert (problem["code"], "`ill`" in problem["message"]) == ("infeasible.goal", True)


def test_a_table_that_cannot_be_read_is_said(running: Served, project: Path) -> None:
    (project / "people.csv").write_text("name,age\n1\n")
    client = running.client()
    for path in (f"{API}/preview", f"{API}/inspection", "/projects/people/data"):
        assert client.get(path).status_code == 422
    assert "data.ragged" in client.get(f"{API}/preview").text


@pytest.mark.parametrize("width", [80, pytest.param(300, marks=slow)])
def test_pages_of_many_columns_stay_small(width: int, running: Served) -> None:
    place = running.folder / "wide"
    place.mkdir(exist_ok=True)
    names = [f"question {at} <b>of the survey</b> & more" for at in range(width)]
    lines = [",".join(str(hash((row, at)) % 7) for at in range(width)) for row in range(40)]
    (place / "wide.csv").write_text("\n".join([",".join(names), *lines]))
    client = running.client()
    client.post("/api/projects", json={"file": "wide/wide.csv", "name": f"many{width}"})
    text = client.get(f"/projects/many{width}/data").text
    assert len(text.encode()) < 1000 * width
    assert "<b>of" not in text
    assert text.count("&lt;b&gt;of the survey") >= 2 * width  # in the value and in the label of each row


def test_pages_show_an_invalid_recipe_and_its_faults(running: Served, project: Path) -> None:
    text = (project / "recipe.toml").read_text()
    (project / "recipe.toml").write_text(
        text.replace('role = "sensitive"', 'role = "secret"').replace("k = 4", "k = 1")
    )
    client = running.client()
    for path in ("data", "goals"):
        answer = client.get(f"/projects/people/{path}")
        assert answer.status_code == 200
        assert 'id="faults"' in answer.text
    answer = client.patch(f"{API}/columns", json={"columns": ["ill"], "role": "sensitive"})
    assert answer.status_code == 422  # k is still wrong
    assert "privacy.k" in answer.text
