"""Hierarchies of a project by the API and without JavaScript: what is written, shown, undone and refused."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import httpx
import pytest

from shoal.hierarchy import files
from shoal.web.trees import column_key, described
from tests.web.serving import Served, serving

CITIES = {"oslo": 60, "rome": 30, "bern": 21, "sfewzq": 3, "tonezq": 1, "utwozq": 8}
MARK = "zq"
MARKED_AGE = "777"  # the largest age; one row has it
RECIPE = """\
[input]
path = "people.csv"
[columns.age]
role = "quasi"
[columns.city]
role = "quasi"
[columns.born]
role = "quasi"
[columns."<b>odd</b>"]
role = "sensitive"
[privacy]
k = 3
"""


def table() -> str:
    cities = [city for city, n in CITIES.items() for _ in range(n)]
    rows = [
        f"{777 if at == 5 else 20 + at % 40},{city},{1960 + at % 30}-0{1 + at % 9}-15,{'xy'[at % 2]}"
        for at, city in enumerate(cities)
    ]
    return "\n".join(["age,city,born,<b>odd</b>", *rows]) + "\n"


class Trees:
    """The hierarchies of one project, and its files."""

    def __init__(self, client: httpx.Client, folder: Path) -> None:
        self.client, self.folder = client, folder
        self.base = f"/api/projects/{folder.name}/hierarchies"

    def of(self, column: str, path: str = "") -> str:
        return f"{self.base}/{column_key(column)}{path}"

    def get(self, column: str, path: str = "") -> httpx.Response:
        return self.client.get(self.of(column, path))

    def post(self, column: str, path: str, **body: Any) -> httpx.Response:
        return self.client.post(self.of(column, path), json=body)

    def build(self, column: str, builder: str, *levels: Any) -> dict[str, Any]:
        response = self.post(column, "/build", builder=builder, levels=list(levels))
        assert response.status_code == 200, response.text
        return response.json()

    def edit(self, column: str, state: dict[str, Any], action: str, **more: Any) -> dict[str, Any]:
        body = {"version": state["version"], "open": {0: 100}, "action": action, **more}
        response = self.post(column, "/edit", **body)
        assert response.status_code == 200, response.text
        return response.json()

    def column(self, name: str) -> dict[str, Any]:
        return tomllib.loads((self.folder / "recipe.toml").read_text())["columns"][name]

    def tree(self, name: str) -> dict[str, Any]:
        return files.to_nested(files.load(self.folder / self.column(name)["hierarchy"], name))


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with serving(tmp_path_factory.mktemp("trees"), max_body=50_000) as running:
        yield running


@pytest.fixture
def trees(server: Served, request: pytest.FixtureRequest) -> Trees:
    folder = server.folder / f"p{len(list(server.folder.iterdir()))}"
    folder.mkdir()
    (folder / "people.csv").write_text(table())
    (folder / "recipe.toml").write_text(RECIPE)
    return Trees(server.client(), folder)


def error_of(response: httpx.Response) -> dict[str, Any]:
    return response.json()["error"]


def shown(state: dict[str, Any]) -> list[tuple[int, str, int | None]]:
    return [
        (line["depth"], line["label"] or f"{line['values']} {line['what']}", line["rows"])
        for line in state["lines"]
    ]


def node(state: dict[str, Any], label: str) -> int:
    return next(line["node"] for line in state["lines"] if line["label"] == label)


def test_columns_are_listed(trees: Trees) -> None:
    listed = trees.client.get(trees.base).json()
    assert [(one["name"], one["role"], one["hierarchy"]) for one in listed] == [
        ("age", "quasi", "none"),
        ("city", "quasi", "none"),
        ("born", "quasi", "none"),
        ("<b>odd</b>", "sensitive", "none"),
    ]
    state = trees.get("city").json()
    assert (state["has_tree"], state["lines"], state["values"], state["undoes"]) == (False, [], 6, None)


def test_a_tree_is_built_edited_undone_and_redone_to_the_byte(trees: Trees) -> None:
    recipes = [(trees.folder / "recipe.toml").read_bytes()]
    state = trees.build("city", "flat")
    # 12 rows have one of three rare values: they are one line
    assert shown(state) == [
        (0, "*", 120), (1, "bern", 20), (1, "oslo", 60), (1, "rome", 30), (1, "3 rare", 10),
    ]  # fmt: skip
    state = trees.edit(
        "city", state, "group", nodes=[node(state, "bern"), node(state, "oslo")], label="north"
    )
    state = trees.edit("city", state, "rename", nodes=[0], label="anywhere")
    state = trees.edit("city", state, "move", rare=[0], target=node(state, "north"))
    assert trees.tree("city") == {
        "anywhere": {
            "north": {"bern": {}, "oslo": {}, "sfewzq": {}, "tonezq": {}, "utwozq": {}},
            "rome": {},
        }
    }
    assert trees.column("city") == {
        "role": "quasi",
        "hierarchy": "hierarchies/city.csv",
        "kind": "categorical",
    }
    file = trees.folder / "hierarchies" / "city.csv"
    last = file.read_bytes(), (trees.folder / "recipe.toml").read_bytes()
    assert state["undoes"] == "moving 3 nodes"
    assert state["lines"][state["focus"]]["label"] == "north"
    for _ in range(3):
        assert trees.post("city", "/undo").status_code == 200
    assert trees.tree("city") == {"*": {city: {} for city in sorted(CITIES)}}
    assert trees.post("city", "/undo").json()["has_tree"] is False
    assert tomllib.loads((trees.folder / "recipe.toml").read_text()) == tomllib.loads(recipes[0].decode())
    refused = trees.post("city", "/undo")
    assert (refused.status_code, error_of(refused)["code"]) == (409, "web.nothing")
    for _ in range(4):
        assert trees.post("city", "/redo").status_code == 200
    assert (file.read_bytes(), (trees.folder / "recipe.toml").read_bytes()) == last


def test_only_the_owner_can_read_what_lists_values(trees: Trees) -> None:
    trees.build("city", "flat")
    written = [*(trees.folder / ".shoal").rglob("*"), *(trees.folder / "hierarchies").iterdir()]
    assert {path.stat().st_mode & 0o777 for path in written if path.is_file()} == {0o600}


def test_no_rare_value_is_in_any_answer(trees: Trees) -> None:
    answers = []
    for column, builder, levels in [
        ("city", "flat", []), ("city", "prefix", [1]), ("city", "induce", ["age"]), ("age", "cuts", [30, 50]),
        ("age", "intervals", [10, 40]), ("city", "none", []),
    ]:  # fmt: skip
        state = trees.build(column, builder, *levels)
        opened = dict.fromkeys(range(200), 100)
        answers += [str(state), trees.post(column, "/view", open=opened).text]
        answers.append(trees.post(column, "/groups", text="").text)
        page = f"/projects/{trees.folder.name}/hierarchies?column={column_key(column)}"
        answers.append(trees.client.get(page).text)
    answers += [trees.get("age", "/histogram").text, trees.post("age", "/rows", cuts=[30, 700]).text]
    for text in answers:
        assert MARK not in text.casefold()
        assert MARKED_AGE not in text


def test_a_small_count_cannot_be_computed_from_the_others(trees: Trees) -> None:
    state = trees.build("city", "flat")
    rare = {"version": state["version"], "open": {0: 9}, "action": "group", "nodes": [4, 5], "label": "rest"}
    state = trees.post("city", "/edit", **rare).json()
    # rest has 4 rows, so it is hidden; with the other rare value there are 12 rows in the line
    assert shown(state)[-1] == (1, "3 rare", 10)


def test_a_supplied_file_is_kept_and_its_values_are_shown(trees: Trees) -> None:
    folder = trees.folder / "hierarchies"
    folder.mkdir()
    supplied = "".join(f"{city};somewhere;all\r\n" for city in [*CITIES, "lima"]).encode()
    (folder / "city.csv").write_bytes(supplied)
    recipe = trees.folder / "recipe.toml"
    recipe.write_text(
        recipe.read_text().replace("[columns.born]", 'hierarchy = "hierarchies/city.csv"\n[columns.born]')
    )
    state = trees.post("city", "/view", open={0: 9, 1: 9}).json()
    assert (state["values"], state["is_data"]) == (6, False)
    assert {line["label"]: line["rows"] for line in state["lines"]}["tonezq"] is None
    state = trees.edit("city", state, "rename", nodes=[1], label="earth")
    assert trees.column("city")["hierarchy"] == "hierarchies/city-2.csv"
    assert (folder / "city.csv").read_bytes() == supplied
    assert trees.post("city", "/undo").json()["hierarchy"] == "the file city.csv"
    assert trees.column("city") == {"role": "quasi", "hierarchy": "hierarchies/city.csv"}


def test_changes_outside_the_page_can_be_undone_to(trees: Trees) -> None:
    trees.build("city", "prefix", 1)
    recipe = trees.folder / "recipe.toml"
    recipe.write_text(recipe.read_text().replace("prefix = 1", "prefix = 2"))
    state = trees.get("city").json()
    assert state["undoes"] is None
    trees.build("city", "prefix", 3)
    trees.post("city", "/undo")
    assert trees.column("city")["hierarchy"] == {"prefix": 2}
    trees.post("city", "/undo")
    assert trees.column("city")["hierarchy"] == {"prefix": 1}


@pytest.mark.parametrize(
    ("column", "builder", "levels", "said"),
    [
        ("age", "intervals", [10, 20], {"intervals": [10, 20]}),
        ("age", "cuts", [30, 45.0], "hierarchies/age.csv"),
        ("born", "dates", ["month", "decade"], {"dates": ["month", "decade"]}),
        ("city", "induce", [], "induce"),
        ("city", "induce", ["born"], {"induce": ["born"]}),
        ("age", "prefix", [1], {"prefix": 1}),
    ],
)
def test_builders(trees: Trees, column: str, builder: str, levels: list[Any], said: Any) -> None:
    state = trees.build(column, builder, *levels)
    assert trees.column(column)["hierarchy"] == said
    assert state["lines"][0]["rows"] in (120, None)
    assert trees.get(column).json()["version"] == state["version"]


@pytest.mark.parametrize(
    ("column", "builder", "levels", "code"),
    [
        ("age", "intervals", [10, 15], "hierarchy.build"),
        ("age", "intervals", ["wide"], "hierarchy.build"),
        ("age", "codes", ["age"], "hierarchy.build"),  # nobody is 777
        ("city", "intervals", [10], "data.kind"),
        ("city", "cuts", [10], "data.kind"),
        ("city", "dates", ["year"], "data.kind"),
        ("city", "codes", ["icd10"], "hierarchy.build"),
        ("city", "prefix", [0], "hierarchy.build"),
        ("city", "induce", ["nowhere"], "recipe.invalid"),
        ("age", "cuts", [5, 5], "hierarchy.build"),
        ("age", "guess", [], "web.invalid"),
    ],
)
def test_what_cannot_be_built_changes_nothing(
    trees, column: str, builder: str, levels: list[Any], code: str
) -> None:
    before = sorted(trees.folder.rglob("*")), (trees.folder / "recipe.toml").read_bytes()
    refused = trees.post(column, "/build", builder=builder, levels=levels)
    assert (refused.status_code, error_of(refused)["code"]) == (422, code)
    assert MARK not in refused.text.casefold()
    after = sorted(path for path in trees.folder.rglob("*") if ".shoal" not in path.parts)
    assert (after, (trees.folder / "recipe.toml").read_bytes()) == before


def test_a_wrong_edit_says_where_and_an_old_version_is_refused(trees: Trees) -> None:
    first = trees.build("city", "flat")
    state = trees.edit("city", first, "group", nodes=[node(first, "rome"), 4], label="north")
    clash = {"version": state["version"], "action": "group", "nodes": [node(state, "bern")], "label": "oslo"}
    refused = trees.post("city", "/edit", **clash)
    assert (refused.status_code, error_of(refused)["code"]) == (422, "hierarchy.edit")
    assert error_of(refused)["places"] == [node(state, "oslo")]
    stale = trees.post("city", "/edit", version=first["version"], action="rename", nodes=[0], label="x")
    assert (stale.status_code, error_of(stale)["code"]) == (409, "web.changed")
    without = trees.post(
        "born", "/edit", version=trees.get("born").json()["version"], action="rename", nodes=[0]
    )
    assert without.status_code == 404
    assert trees.client.get(f"{trees.base}/nonsense").status_code == 404
    rare = trees.post("city", "/edit", version=state["version"], action="split", rare=[0])
    assert (rare.status_code, MARK in rare.text.casefold()) == (422, False)


def put(trees: Trees, column: str, content: bytes, name: str = "t.csv", **query: Any) -> httpx.Response:
    return trees.client.put(trees.of(column, "/file"), params={"file": name, **query}, content=content)


def test_files_are_imported_and_exported(trees: Trees) -> None:
    given = b"\xef\xbb\xbf" + "".join(f"{city},north,all\r\n" for city in CITIES).encode()
    assert put(trees, "city", given).status_code == 200
    assert (trees.folder / "hierarchies" / "city.csv").read_bytes() == given
    exported = trees.get("city", "/file")
    assert exported.text.splitlines()[0] == "oslo;north;all"
    assert "attachment" in exported.headers["content-disposition"]
    nested = trees.client.get(trees.of("city", "/file"), params={"format": "toml"})
    assert put(trees, "city", nested.content, "t.toml").json()["lines"][1]["label"] == "north"
    assert trees.column("city")["hierarchy"] == "hierarchies/city.toml"
    trees.post("city", "/undo")
    assert (trees.folder / "hierarchies" / "city.csv").read_bytes() == given


def answered(send: Callable[[], httpx.Response]) -> httpx.Response:
    """Send a request whose body is not read: the connection may break before the answer arrives."""
    for _ in range(9):
        with suppress(httpx.TransportError):
            return send()
    return send()


def test_a_wrong_file_says_in_which_lines(trees: Trees) -> None:
    refused = put(trees, "city", b"oslo;north;all\nrome;;all\nsfewzq;x;all\noslo;y;all\n")
    assert refused.status_code == 422
    assert [place["line"] for place in error_of(refused)["places"]] == [2, 4]
    part = b"oslo;north;all\nrome;south;all\nlima;south;all\n"
    refused = put(trees, "city", part)
    assert error_of(refused)["code"] == "hierarchy.uncovered"
    assert "4 of 6" in error_of(refused)["message"]
    state = put(trees, "city", part, complete=True).json()
    assert state["uncovered"] == 0
    assert set(trees.tree("city")["all"]["not in the file"]) == {"bern", "sfewzq", "tonezq", "utwozq"}
    for wrong, name, status in [
        (b"x", "t.exe", 415),
        (b"\xff;a", "t.csv", 422),
        (b"x" * 60_000, "t.csv", 413),
    ]:
        assert answered(partial(put, trees, "city", wrong, name)).status_code == status
    assert MARK not in refused.text.casefold()


def test_hierarchies_outside_the_project_are_neither_read_nor_written(trees: Trees, tmp_path: Path) -> None:
    (tmp_path / "secret.csv").write_text("a;b;SECRET\n")
    (trees.folder / "hierarchies").symlink_to(tmp_path)
    refused = trees.post("city", "/build", builder="flat")
    assert (refused.status_code, list(tmp_path.iterdir())) == (403, [tmp_path / "secret.csv"])
    recipe = trees.folder / "recipe.toml"
    recipe.write_text(
        recipe.read_text().replace("[columns.born]", 'hierarchy = "hierarchies/secret.csv"\n[columns.born]')
    )
    refused = trees.get("city")
    assert (refused.status_code, "SECRET" in refused.text) == (403, False)


def test_the_page_works_without_scripts_and_escapes_names(trees: Trees) -> None:
    page = f"/projects/{trees.folder.name}/hierarchies"
    text = trees.client.get(page).text
    assert "&lt;b&gt;odd&lt;/b&gt;" in text
    assert "<b>odd</b>" not in text
    form = {"builder": "intervals", "levels": "10, 20 40"}
    sent = trees.client.post(f"{page}/{column_key('age')}", data=form)
    assert (sent.status_code, sent.headers["location"]) == (303, f"{page}?column={column_key('age')}")
    assert trees.column("age")["hierarchy"] == {"intervals": [10, 20, 40]}
    failed = trees.client.post(f"{page}/{column_key('age')}", data=form | {"levels": "10, 15"})
    assert "width number 2 is not a larger multiple" in failed.text
    failed = trees.client.post(f"{page}/{column_key('age')}", data=form | {"levels": "ten"})
    assert "Something else than numbers" in failed.text


def test_ten_thousand_leaves_stay_small_on_the_page(server: Served) -> None:
    folder = server.folder / "large"
    folder.mkdir()
    values = [f"{at:05}x" for at in range(10_000)]
    (folder / "people.csv").write_text("\n".join(["city", *values, *values[:100] * 10]) + "\n")
    (folder / "recipe.toml").write_text(
        '[input]\npath = "people.csv"\n[columns.city]\nrole = "quasi"\n[privacy]\nk = 2\n'
    )
    trees = Trees(server.client(), folder)
    state = trees.build("city", "flat")
    assert [line["values"] for line in state["lines"] if line["what"] == "rare"] == [9900]
    assert len(state["lines"]) == 102
    state = trees.edit("city", state, "group", rare=[0], label="rare ones")
    assert state["leaves"] == 10_000
    assert shown(state)[-1] == (1, "rare ones", 9900)
    page = trees.client.get("/projects/large/hierarchies")
    assert len(page.content) < 300_000
    assert len(trees.get("city").content) < 300_000


@pytest.mark.parametrize(
    ("hierarchy", "words"),
    [
        (None, "none"),
        ("induce", "induced from the table"),
        ({"induce": ["age"]}, "induced from the table, by age"),
        ("icd10", "the known structure of ICD-10 codes"),
        ("a/b.csv", "the file b.csv"),
        ({"prefix": 2}, "prefix, masking 2 more of the last characters at each level"),
        ({"intervals": [5, 10]}, "intervals of 5, 10"),
        ({"dates": ["year"]}, "dates by year"),
        ({"all": {"prefix": {}}}, "a tree in the recipe"),
    ],
)
def test_hierarchies_in_words(hierarchy: Any, words: str) -> None:
    assert described(hierarchy) == words
