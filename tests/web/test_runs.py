"""Runs and releases: the same bytes as the command line, cancelled and interrupted runs, checks."""

from __future__ import annotations

import io
import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
import zipfile
from contextlib import closing
from pathlib import Path
from typing import Any

import httpx
import pytest
from typer.testing import CliRunner

from shoal.cli.main import app
from shoal.recipe import Recipe
from shoal.verifier import verify
from shoal.web import server
from shoal.web.charts import risk_against_loss
from shoal.web.child import loss_in
from shoal.web.folder import Folder
from shoal.web.jobs import Asked, Jobs
from shoal.web.projects import Projects
from shoal.web.refusals import Refusal
from shoal.web.releases import Releases, prepared
from shoal.workflow.publish import publish
from tests.web.serving import Served, make_project, people, recipe, serving

TREE = "Bonn;west;*\nUlm;south;*\nJena;east;*\n"
WITH_TREE = recipe().replace(
    "[columns.city]\n", '[columns.city]\nhierarchy = "hierarchies/city.csv"\nkind = "categorical"\n'
)


def wait(client: httpx.Client, name: str = "people") -> dict[str, Any]:
    """Follow a run to its end; return its last event."""
    last: dict[str, Any] = {}
    with client.stream("GET", f"/api/projects/{name}/events", timeout=120) as stream:
        for line in stream.iter_lines():
            if line.startswith("data: "):
                last = json.loads(line.removeprefix("data: "))
    return last


def run(client: httpx.Client, name: str = "people", **asked: Any) -> dict[str, Any]:
    response = client.post(f"/api/projects/{name}/run", json=asked)
    assert response.status_code == 202, response.text
    return wait(client, name)


@pytest.fixture(scope="module")
def released(tmp_path_factory: pytest.TempPathFactory):
    """A project with two releases: k = 4 with one tree, then k = 8 with another."""
    folder = tmp_path_factory.mktemp("folder")
    project = make_project(folder, "people", WITH_TREE)
    (project / "hierarchies").mkdir()
    (project / "hierarchies" / "city.csv").write_text(TREE)
    with serving(folder) as served:
        client = served.client()
        first = run(client)
        assert first["phase"] == "done", first
        (project / "hierarchies" / "city.csv").write_text(TREE.replace("east", "far"))
        text = (project / "recipe.toml").read_text().replace("k = 4", "k = 8")
        client.put("/api/projects/people/recipe", json={"text": text})
        second = run(client, bound=False)
        assert second["phase"] == "done", second
        yield served


def download(served: Served, number: int, what: str) -> bytes:
    response = served.client().get(f"/api/projects/people/releases/{number}/files/{what}")
    assert response.status_code == 200
    assert "attachment" in response.headers["content-disposition"]
    return response.content


def test_the_release_is_what_the_command_line_makes_of_its_recipe(released: Served, tmp_path: Path) -> None:
    for number in (1, 2):
        saved = tmp_path / f"{number}.toml"
        saved.write_bytes(download(released, number, "recipe"))
        again = tmp_path / f"{number}.csv"
        publish(Recipe.load(saved, changes={"output": {"path": str(again)}}), bound=number == 1)
        assert again.read_bytes() == download(released, number, "release")
        assert (tmp_path / f"{number}.csv.manifest.json").read_bytes() == download(
            released, number, "manifest"
        )
        assert verify(again, Recipe.load(saved)).holds


def test_downloads_hold_the_release_and_not_the_table(released: Served) -> None:
    packed = zipfile.ZipFile(io.BytesIO(download(released, 1, "everything")))
    assert sorted(packed.namelist()) == [
        "hierarchies/city.csv", "out.csv", "out.csv.manifest.json", "out.csv.report.html", "recipe.toml",
    ]  # fmt: skip
    assert packed.read("out.csv") == download(released, 1, "release")
    assert packed.read("hierarchies/city.csv") == TREE.encode()
    assert b"p17" not in b"".join(packed.read(name) for name in packed.namelist())
    assert list((released.folder / "people" / ".shoal").glob("*.zip")) == []


def test_the_page_of_a_release_shows_its_dossier(released: Served) -> None:
    page = released.client().get("/projects/people/results/1").text
    dossier = download(released, 1, "dossier").decode()
    ids = re.findall(r'<h2 id="(\w+)">', dossier)
    assert {"risk", "attacks", "distributions", "utility"} <= set(ids)
    for one in ids:
        assert f'<h2 id="{one}">' in page
        assert f'href="#{one}"' in page
    assert page.count("<svg") == dossier.count("<svg") + 1  # and the fish
    assert len(page) < 300_000


def test_releases_are_compared_by_what_their_manifests_say(released: Served) -> None:
    first, second = released.client().get("/api/projects/people/releases").json()
    assert (first["k"], second["k"], second["bound"]) == (4, 8, None)
    assert first["highest_risk"] == 1 / first["achieved"]
    assert first["average_risk"] == first["classes"] / 120
    assert first["gcp"] < second["gcp"]
    page = released.client().get("/projects/people/results?with=1&with=2").text
    assert '<tr class="differs"><th scope="row"><code>privacy.k</code></th><td>4</td><td>8</td></tr>' in page
    assert "method.name" not in page


def test_a_restored_recipe_makes_the_same_bytes_and_overwrites_no_tree(
    released: Served, tmp_path: Path
) -> None:
    client, project = released.client(), released.folder / "people"
    present = (project / "recipe.toml").read_text()
    restored = client.post("/api/projects/people/releases/1/restore", json={})
    assert restored.status_code == 200, restored.text
    trees = {path.name: path.read_text() for path in (project / "hierarchies").iterdir()}
    assert trees == {"city.csv": TREE.replace("east", "far"), "city-release-1.csv": TREE}
    again = tmp_path / "again.csv"
    publish(Recipe.load(project / "recipe.toml", changes={"output": {"path": str(again)}}), bound=False)
    assert again.read_bytes() == download(released, 1, "release")
    assert client.post("/api/projects/people/recipe/bring-back").status_code == 200
    assert (project / "recipe.toml").read_text() == present
    stale = client.post("/api/projects/people/releases/1/restore", json={"version": "old"})
    assert stale.status_code == 409


def test_a_dropped_file_is_verified(released: Served) -> None:
    client = released.client()
    address = "/api/projects/people/verify/upload"
    release = download(released, 1, "release")
    found = client.put(address, params={"file": "got it.csv", "original": True}, content=release).json()
    assert (found["release"], found["same_bytes"], found["holds"], found["problems"]) == (1, True, True, [])
    lines = release.decode().splitlines(keepends=True)
    tampered = "".join(lines[:-3])
    found = client.put(address, params={"file": "x.csv", "release": 1}, content=tampered).json()
    assert (found["same_bytes"], found["holds"]) == (False, False)
    assert "verify.digest" in [problem["code"] for problem in found["problems"]]
    assert client.put(address, params={"file": "x.parquet"}, content=b"PAR1").status_code == 415
    assert [
        path.name for path in (released.folder / "people" / ".shoal").iterdir() if path.name.startswith(".")
    ] == []


def test_releases_are_checked_together(released: Served) -> None:
    client = released.client()
    found = client.post("/api/projects/people/together", json={"releases": [1, 2]}).json()
    assert found["releases"] == [1, 2]
    assert found["verdict"] in ("no attack found", "refused")
    assert found["views"] == 2
    assert client.post("/api/projects/people/together", json={"releases": [1, 9]}).status_code == 404
    assert client.post("/api/projects/people/together", json={"releases": [1]}).status_code == 422


def test_a_run_that_cannot_succeed_says_why_and_leaves_nothing(released: Served) -> None:
    client, project = released.client(), released.folder / "people"
    present = (project / "recipe.toml").read_text()
    client.put("/api/projects/people/recipe", json={"text": present.replace("k = 8", "k = 500")})
    ended = run(client)
    assert (ended["phase"], ended["error"]["code"], ended["release"]) == ("failed", "infeasible.rows", None)
    assert sorted(path.name for path in (project / "releases").iterdir()) == ["1", "2"]
    client.put("/api/projects/people/recipe", json={"text": present})


def test_runs_wait_for_each_other_and_can_be_cancelled(tmp_path: Path) -> None:
    for name in ("one", "two"):
        make_project(tmp_path, name, recipe(method="local-search"))
    with serving(tmp_path) as served:
        client = served.client()
        assert client.get("/api/projects/one/run").status_code == 404
        assert client.post("/api/projects/one/run", json={}).json()["phase"] == "queued"
        waiting = client.post("/api/projects/two/run", json={}).json()
        assert (waiting["phase"], waiting["ahead"]) == ("queued", 1)
        busy = client.post("/api/projects/one/run", json={})
        assert (busy.status_code, busy.json()["error"]["code"]) == (409, "web.busy")
        assert client.delete("/api/projects/two/run").json()["phase"] == "cancelled"
        while client.get("/api/projects/one/run").json()["phase"] == "queued":
            time.sleep(0.02)
        assert client.delete("/api/projects/one/run").json()["phase"] == "cancelled"
        assert wait(client, "one")["phase"] == "cancelled"
        idle = client.delete("/api/projects/one/run")
        assert (idle.status_code, idle.json()["error"]["code"]) == (409, "web.idle")
    # The server has ended, and with it everything that it had started.
    for name in ("one", "two"):
        assert list((tmp_path / name / "releases").iterdir()) == []


def test_the_losses_of_a_run_are_told() -> None:
    assert loss_in("Total IL 1,234") == 1234.0
    assert loss_in("") is None


def start(folder: Path) -> tuple[subprocess.Popen[str], str, str]:
    """Start the command; return its process, its address and its token."""
    command = [
        sys.executable,
        "-c",
        "from shoal.cli.main import main; main()",
        "web",
        "--no-browser",
        "--port",
        "0",
    ]
    process = subprocess.Popen(
        [*command, "--folder", str(folder)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    address, token = re.fullmatch(
        r"(http://127\.0\.0\.1:\d+)/\?token=(\S+)\n", process.stdout.readline()
    ).groups()
    return process, address, token


def alive(folder: Path) -> list[int]:
    """Return the processes that work in a folder."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if (process / "cwd").resolve().is_relative_to(folder):
                found.append(int(process.name))
        except OSError:
            continue
    return found


@pytest.mark.skipif(not Path("/proc/self/cwd").exists(), reason="processes are found in /proc")
def test_a_server_killed_in_a_run_leaves_no_half_release_and_says_so(tmp_path: Path) -> None:
    project = make_project(tmp_path, "people", recipe(method="local-search"))
    process, address, token = start(tmp_path)
    try:
        headers = {"Authorization": f"Bearer {token}"}
        with httpx.Client(base_url=address, headers=headers, verify=False) as client:
            client.post("/api/projects/people/run", json={})
            while not alive(project):
                time.sleep(0.02)
            assert list((project / "releases").glob(".run-*"))
    finally:
        process.kill()
        process.communicate()
    deadline = time.monotonic() + 60
    while alive(project) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert alive(project) == []
    with serving(tmp_path) as served:
        told = served.client().get("/api/projects/people/run").json()
        assert (told["phase"], told["release"]) == ("interrupted", None)
        assert list((project / "releases").iterdir()) == []
        assert os.stat(project / ".shoal" / "run.json").st_mode & 0o777 == 0o600


def test_the_command_ends_cleanly_and_logs_nothing(tmp_path: Path) -> None:
    make_project(tmp_path)
    process, address, token = start(tmp_path)
    with httpx.Client(base_url=address, verify=False) as client:
        assert client.get(f"/?token={token}").status_code == 303
        assert client.get("/projects/people/run").status_code == 200
    process.send_signal(signal.SIGINT)
    printed, said = process.communicate(timeout=60)
    assert printed == ""
    assert said == "Stop with Ctrl-C. Projects stay in the folder.\n"


def test_what_waits_is_interrupted_when_the_server_ends(tmp_path: Path) -> None:
    make_project(tmp_path)
    projects = Projects(Folder(tmp_path))
    project = projects.get("people")
    jobs = Jobs(projects)  # not started: what is submitted waits
    job = jobs.submit(project, Asked())
    with pytest.raises(Refusal, match="already has a run"):
        jobs.submit(project, Asked())
    jobs.stop()
    assert job.phase == "interrupted"
    assert list(Releases(project).folder.iterdir()) == []


def test_the_chart_places_risk_and_loss() -> None:
    one = {"number": 1, "highest_risk": 0.2, "gcp": 0.1, "loss": 100.0, "bound": 50.0}
    two = {"number": 2, "highest_risk": 0.1, "gcp": 0.2, "loss": 200.0, "bound": None}
    chart = risk_against_loss([one, two, {**one, "number": 3}, {**two, "highest_risk": None}])
    assert chart is not None
    first, second = chart.points
    assert (first.numbers, second.numbers) == ((1, 3), (2,))
    assert second.x < first.x  # less risk is further left
    assert second.y < first.y  # more loss is further up
    assert first.floor == pytest.approx((first.y + chart.bottom) / 2, abs=0.1)
    assert risk_against_loss([]) is None


def test_people_has_as_many_rows_as_asked() -> None:
    assert people(3).count("\n") == 4


@pytest.mark.parametrize(
    "arguments",
    [
        ["--host", "0.0.0.0"],
        ["--host", "203.0.113.7", "--allow-remote"],  # reserved for documentation: no machine has it
        ["--folder", "/nowhere/at/all"],
    ],
    ids=["remote by accident", "foreign address", "no folder"],
)
def test_the_command_says_why_it_cannot_serve(arguments: list[str]) -> None:
    result = CliRunner().invoke(app, ["web", "--no-browser", "--json", *arguments])
    assert result.exit_code == 2
    assert json.loads(result.stdout)["error"]["code"] == "web.start"


def test_a_port_that_is_taken_is_an_error_and_the_usual_one_is_not(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        result = CliRunner().invoke(app, ["web", "--no-browser", "--port", str(port)])
        assert result.exit_code == 2
        assert f"port {port}" in result.stderr
        monkeypatch.setattr(server, "_USUAL_PORT", port)
        with closing(server._listen("127.0.0.1", None)) as opened:
            assert opened.getsockname()[1] != port


def test_a_run_stops_when_the_pipe_from_the_server_closes(tmp_path: Path) -> None:
    make_project(tmp_path)
    folder = prepared(Projects(Folder(tmp_path)).get("people"))
    command = [sys.executable, "-P", "-m", "shoal.web.child"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as child:
        assert child.stdin is not None
        child.stdin.write(json.dumps({"folder": str(folder), **vars(Asked())}) + "\n")
        child.stdin.close()  # its output is still read: only this tells it
        assert child.wait(120) == 130
    assert [path.name for path in folder.iterdir() if path.suffix == ".csv"] == []


PANIC = """
import sys, time
from shoal.web import child

def run(asked, reports):
    try:
        reports.send(began=True)
        time.sleep(600)
    except KeyboardInterrupt:
        raise BaseException("a panic") from None

child.run = run
sys.exit(child.main())
"""


def test_a_stopped_run_has_not_failed_even_if_a_library_panics() -> None:
    command = [sys.executable, "-P", "-c", PANIC]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as child:
        assert child.stdin is not None
        assert child.stdout is not None
        child.stdin.write("{}\n")
        child.stdin.flush()
        assert json.loads(child.stdout.readline()) == {"began": True}
        child.stdin.close()
        assert child.wait(120) == 130
        assert child.stdout.read() == ""
