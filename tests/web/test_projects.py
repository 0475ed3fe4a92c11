"""Projects: tables that are opened or uploaded, and a recipe that changes as a whole or not at all."""

from __future__ import annotations

import shutil
import tomllib
from io import BytesIO
from pathlib import Path

import httpx
import pytest
import xlsxwriter

from shoal.errors import RecipeError
from shoal.recipe import Recipe
from shoal.web.folder import Folder
from shoal.web.projects import Projects
from shoal.web.refusals import Refusal
from tests.bad_input_cases import snapshot
from tests.web.serving import Served, make_project, people, recipe, serving

LINES = [line.split(",") for line in people().splitlines()]


@pytest.fixture
def projects(tmp_path: Path) -> Projects:
    return Projects(Folder(tmp_path), demo_rows=200)


@pytest.fixture
def running(tmp_path: Path):
    with serving(tmp_path, demo_rows=300) as served:
        yield served


def test_a_table_of_the_folder_stays_where_it_is(projects: Projects, tmp_path: Path) -> None:
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "my people.csv").write_text(people())
    project = projects.open_table("deep/my people.csv")
    assert project.name == "my people"
    assert project.sections()["input"]["path"] == "../deep/my people.csv"
    assert sorted(path.name for path in project.folder.iterdir()) == ["recipe.toml"]
    assert project.recipe().quasi[:3] == ["age", "sex", "city"]


def test_names_of_projects_never_collide(projects: Projects, tmp_path: Path) -> None:
    (tmp_path / "people.csv").write_text(people())
    names = [projects.open_table("people.csv").name for _ in range(3)]
    assert names == ["people", "people-2", "people-3"]
    assert [project.name for project in projects.all()] == names


@pytest.mark.parametrize(
    ("wanted", "name"),
    [
        ("../up", "up"),
        ("a/b", "a b"),
        (".hidden", "hidden"),
        ("...", "project"),
        ("Ü 1", "Ü 1"),
        ("x" * 99, "x" * 48),
    ],
)
def test_a_project_has_a_plain_name(projects: Projects, tmp_path: Path, wanted: str, name: str) -> None:
    (tmp_path / "people.csv").write_text(people())
    assert projects.open_table("people.csv", wanted).name == name


def test_the_demo_runs_on_the_command_line(projects: Projects) -> None:
    project = projects.demo()
    assert projects.demo().folder == project.folder
    asked = Recipe.load(project.recipe_file)
    assert all(path.exists() for path in asked.files.values())
    assert asked.columns["profession"].hierarchy == "hierarchies/hospital_profession.csv"


def test_a_change_is_written_as_a_whole(projects: Projects, tmp_path: Path) -> None:
    make_project(tmp_path)
    project = projects.get("people")
    version = project.version()
    changed = project.change(lambda sections: sections["privacy"].update(k=7), version)
    assert changed.privacy.k == 7
    assert tomllib.loads(project.text())["privacy"]["k"] == 7
    assert project.version() != version


def test_a_change_that_is_invalid_changes_nothing(projects: Projects, tmp_path: Path) -> None:
    make_project(tmp_path)
    project = projects.get("people")
    before = snapshot(tmp_path)
    with pytest.raises(RecipeError):
        project.change(lambda sections: sections["privacy"].update(k=0))
    with pytest.raises(RecipeError):
        project.replace_text("k = ")
    with pytest.raises(Refusal, match="changed in another window") as refused:
        project.change(lambda sections: sections["privacy"].update(k=7), "another version")
    assert refused.value.status == 409
    assert snapshot(tmp_path) == before


def test_a_table_that_cannot_be_read_leaves_nothing(running: Served) -> None:
    for name, content in [
        ("a.csv", b""),
        ("b.parquet", b"nothing"),
        ("c.csv", b"a,b\n1\n"),
        ("d.csv", b"\xff\xfe\xff"),
    ]:
        response = running.client().put("/api/upload", params={"file": name}, content=content)
        assert response.status_code == 422
        assert response.json()["error"]["code"].startswith("data.")
    assert snapshot(running.folder) == {}


def test_an_upload_becomes_a_project_and_can_be_replaced(running: Served) -> None:
    client = running.client()
    made = client.put("/api/upload?file=stays.csv", content=people()).json()
    assert made["address"] == "/projects/stays/data"
    replaced = client.put("/api/projects/stays/table/upload?file=later.csv", content=people(150)).json()
    assert replaced["version"] != made["version"]
    folder = running.folder / "stays"
    assert (folder / "later.csv").read_text() == people(150)
    assert tomllib.loads((folder / "recipe.toml").read_text())["input"]["path"] == "later.csv"
    assert list(running.folder.rglob(".shoal-*")) == []
    refused = client.put("/api/projects/stays/table/upload?file=recipe.csv", content=b"PK\x03\x04")
    assert refused.status_code == 415
    shutil.rmtree(folder)


def test_the_first_page_teaches_when_it_is_empty(running: Served) -> None:
    visitor = running.visitor(Origin=running.address)
    visitor.get("/", params={"token": running.settings.token})
    assert "Open the demo" in visitor.get("/").text
    opened = visitor.post("/demo")
    assert (opened.status_code, opened.headers["location"]) == (303, "/projects/demo/data")
    assert '<a href="/projects/demo">demo</a>' in visitor.get("/").text


def test_a_recipe_that_was_broken_by_hand_is_explained(running: Served) -> None:
    make_project(running.folder, "broken", recipe().replace("k = 4", "k = 0"))
    make_project(running.folder, "torn", "[input")
    client = running.client()
    assert "privacy.k" in client.get("/").text
    for name in ("broken", "torn"):
        for tab in ("data", "hierarchies", "goals", "run", "results"):
            response = client.get(f"/projects/{name}/{tab}")
            assert response.status_code in (200, 422), (name, tab)
            assert "Traceback" not in response.text
    response: httpx.Response = client.post("/api/projects/broken/run", json={})
    assert (response.status_code, response.json()["error"]["code"]) == (422, "recipe.invalid")


def test_errors_have_one_shape(running: Served) -> None:
    client = running.client()
    make_project(running.folder, "faulty")
    failures = [
        client.get("/api/nothing"),
        client.get("/api/projects/nothing"),
        client.post("/api/projects", json={"file": 3}),
        client.post("/api/projects", content=b"{"),
        client.request("PATCH", "/api/projects"),
        client.post("/api/projects/faulty/run", json={"surprise": 1}),
    ]
    assert [failure.status_code for failure in failures] == [404, 404, 422, 422, 405, 422]
    for failure in failures:
        assert sorted(failure.json()) == ["error"]
        assert sorted(failure.json()["error"]) == ["code", "faults", "hint", "message"]


def test_a_faulty_request_is_not_quoted(running: Served) -> None:
    response = running.client().post("/api/projects", json={"file": ["ZXMARKERXZ"]})
    assert response.status_code == 422
    assert "ZXMARKERXZ" not in response.text
    assert "body.file" in response.text


def workbook(*sheets: str) -> bytes:
    """Write the table into every sheet of a workbook, the first sheet apart, which has a note."""
    file = BytesIO()
    with xlsxwriter.Workbook(file) as book:
        for at, name in enumerate(sheets):
            lines = [["note"], ["made by hand"]] if at == 0 and len(sheets) > 1 else LINES
            sheet = book.add_worksheet(name)
            for row, line in enumerate(lines):
                sheet.write_row(row, 0, [int(cell) if cell.isdigit() else cell for cell in line])
    return file.getvalue()


def test_a_workbook_with_several_sheets_needs_a_choice(running: Served) -> None:
    client, before = running.client(), snapshot(running.folder)
    body = workbook("about", "stays")
    refused = client.put("/api/upload?file=stays.xlsx", content=body)
    assert (refused.status_code, refused.json()["error"]["choices"]) == (422, ["about", "stays"])
    assert snapshot(running.folder) == before
    made = client.put("/api/upload?file=stays.xlsx&table=stays", content=body).json()
    folder = running.folder / made["name"]
    assert tomllib.loads((folder / "recipe.toml").read_text())["input"]["table"] == "stays"
    shown = client.get(f"/api/projects/{made['name']}/inspection").json()
    assert shown["rows"] == 120
    assert [column["name"] for column in shown["columns"]] == ["name", "age", "sex", "city", "ill"]
    shutil.rmtree(folder)


def test_a_workbook_in_the_folder_is_asked_about_without_scripts(running: Served) -> None:
    (running.folder / "book.xlsx").write_bytes(workbook("about", "<stays>"))
    visitor = running.visitor(Origin=running.address)
    visitor.get("/", params={"token": running.settings.token})
    asked = visitor.post("/open", data={"file": "book.xlsx"})
    assert '<option value="&lt;stays&gt;">' in asked.text
    opened = visitor.post("/open", data={"file": "book.xlsx", "table": "<stays>"})
    assert opened.headers["location"] == "/projects/book/data"
    shutil.rmtree(running.folder / "book")
    (running.folder / "book.xlsx").unlink()


def test_a_zip_that_is_called_a_table_is_refused(running: Served) -> None:
    for name in ("a.csv", "a.sav", "a.parquet"):
        response = running.client().put("/api/upload", params={"file": name}, content=workbook("one"))
        assert (response.status_code, response.json()["error"]["code"]) == (415, "web.compressed")


ADDRESS = "postgresql://ann:secret@localhost:1/db"
DATABASES = {
    "input": recipe(ADDRESS),
    "upper-case": recipe(ADDRESS.replace("postgresql", "POSTGRES")),
    "one-slash": recipe("postgresql:/ann@localhost/db"),
    "output": recipe().replace('path = "out.csv"', f'path = "{ADDRESS}"\ntable = "people"'),
}


@pytest.mark.parametrize("name", DATABASES)
def test_a_database_is_outside_of_the_folder(name: str, projects: Projects, tmp_path: Path) -> None:
    make_project(tmp_path)
    project = projects.get("people")
    attempts = [
        lambda: project.replace_text(DATABASES[name]),
        lambda: project.change(lambda sections: sections.update(tomllib.loads(DATABASES[name]))),
    ]
    for attempt in attempts:
        with pytest.raises(Refusal) as caught:
            attempt()
        assert caught.value.code == "web.outside"
        assert "secret" not in str(caught.value)
    assert project.text() == recipe()
    (tmp_path / "people" / "recipe.toml").write_text(DATABASES[name])  # by somebody else
    for attempt in (project.recipe, project.table):
        with pytest.raises(Refusal, match="is a database"):
            attempt()
