"""Attacks on the page: each ends in a clear refusal, and nothing is lost."""

from __future__ import annotations

import asyncio
import gzip
import os
import shutil
import socket
import time
import zlib
from pathlib import Path

import httpx
import polars as pl
import pytest

from shoal.web import protocol
from shoal.web.dossier import read_dossier
from shoal.web.security import HEADERS
from tests.bad_input_cases import snapshot
from tests.web.serving import Served, make_project, people, recipe, serving

PAGES = ["/", "/docs", "/openapi.json", "/static/shoal.css", "/dossier.css", "/nothing"]
PAGES += [f"/projects/people/{tab}" for tab in ("data", "hierarchies", "goals", "run", "results")]
CALLS = ["/api/projects", "/api/tables", "/api/projects/people", "/api/projects/people/recipe"]
CALLS += ["/api/projects/people/run", "/api/projects/people/releases", "/api/nothing"]
SECRET = "nobody outside may read this"


def everything(connection: socket.socket) -> bytes:
    """Receive until the server closes the connection."""
    return b"".join(iter(lambda: connection.recv(65536), b""))


def error_of(response: httpx.Response) -> str:
    return str(response.json()["error"]["code"])


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"Authorization": "Bearer wrong"},
        {"Authorization": "Basic {token}"},
        {"Cookie": "shoal-{port}=wrong"},
    ],
    ids=["nothing", "wrong token", "another scheme", "wrong cookie"],
)
def test_without_the_token_everything_is_refused(served: Served, headers: dict[str, str]) -> None:
    given = {
        name: value.format(port=served.settings.port, token=served.settings.token)
        for name, value in headers.items()
    }
    visitor = served.visitor(**given)
    for path in (*PAGES, *CALLS):
        for method in ("GET", "POST", "PUT", "DELETE"):
            response = visitor.request(method, path)
            assert response.status_code == 401
            assert "people" not in response.text


def test_the_token_in_the_address_becomes_a_cookie_once(served: Served) -> None:
    visitor = served.visitor()
    response = visitor.get("/docs", params={"token": served.settings.token, "a": "b"})
    assert (response.status_code, response.headers["location"]) == (303, "/docs?a=b")
    cookie = response.headers["set-cookie"].lower()
    assert "httponly" in cookie
    assert "samesite=strict" in cookie
    assert served.settings.token not in response.headers["set-cookie"]
    assert visitor.get("/docs").status_code == 200


def test_a_wrong_token_in_the_address_is_refused(served: Served) -> None:
    response = served.visitor().get("/", params={"token": served.settings.token[:-1]})
    assert response.status_code == 403
    assert "set-cookie" not in response.headers


def test_a_token_leads_nowhere_else(served: Served) -> None:
    response = served.visitor().get(f"{served.address}//evil.example/?token={served.settings.token}")
    assert response.headers["location"].startswith("/evil.example")


@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        "127.0.0.1.evil.example:{port}",
        "localhost:1",
        "localhost@evil.example",
        "",
        "[::1",
        "a b",
    ],
)
def test_a_foreign_host_is_refused(served: Served, host: str) -> None:
    name = host.format(port=served.settings.port)
    response = served.client().get("/", headers={"Host": name})
    assert response.status_code == 400


def test_two_hosts_are_refused(served: Served) -> None:
    host = f"Host: 127.0.0.1:{served.settings.port}\r\n"
    with served.connect() as connection:
        connection.sendall(f"GET / HTTP/1.1\r\n{host}{host}\r\n".encode())
        assert connection.recv(100).startswith(b"HTTP/1.1 400")


@pytest.mark.parametrize("origin", ["http://evil.example", "null", "https://127.0.0.1", "file://", ""])
@pytest.mark.parametrize("method", ["GET", "POST"])
def test_a_foreign_origin_is_refused(served: Served, origin: str, method: str) -> None:
    response = served.client().request(method, "/api/projects", headers={"Origin": origin})
    assert (response.status_code, error_of(response)) == (403, "web.origin")


def test_a_foreign_page_cannot_embed_anything(served: Served) -> None:
    headers = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "no-cors", "Sec-Fetch-Dest": "image"}
    assert served.client().get("/", headers=headers).status_code == 403


def test_a_change_by_cookie_needs_the_page_s_own_origin(served: Served) -> None:
    visitor = served.visitor()
    visitor.get("/", params={"token": served.settings.token})
    cancel = "/api/projects/people/run"
    assert error_of(visitor.delete(cancel)) == "web.origin"
    assert error_of(visitor.delete(cancel, headers={"Origin": "http://evil.example"})) == "web.origin"
    assert error_of(visitor.delete(cancel, headers={"Origin": served.address})) == "web.idle"
    assert error_of(served.client().delete(cancel)) == "web.idle"  # programs send the token themselves


@pytest.mark.parametrize(
    "path", ["/", "/nothing", "/static/shoal.js", "/api/projects", "/projects/people/run"]
)
def test_every_response_forbids_caches_frames_and_foreign_code(served: Served, path: str) -> None:
    for client in (served.client(), served.visitor()):
        response = client.get(path)
        for name, value in HEADERS.items():
            assert response.headers[name] == value
    assert "unsafe" not in HEADERS["Content-Security-Policy"]


@pytest.mark.parametrize("page", PAGES)
def test_no_page_has_inline_code_or_loads_from_elsewhere(served: Served, page: str) -> None:
    text = served.client().get(page).text
    if text.startswith("<!DOCTYPE html>"):
        for found in ("<style", "style=", "javascript:", "onclick=", "onload=", 'src="http', 'href="http'):
            assert found not in text
        assert text.count("<script") == text.count('<script type="module" src="/static/')
        assert len(text) < 300_000


@pytest.fixture(scope="module")
def trap(tmp_path_factory):
    """A served folder next to one that nobody may reach, with links that lead there."""
    tmp_path = tmp_path_factory.mktemp("trap")
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "secret.csv").write_text(f"a,b\n{SECRET},1\n")
    make_project(outside, "other", recipe().replace("people", SECRET))
    folder = tmp_path / "folder"
    folder.mkdir()
    make_project(folder)
    (folder / "link.csv").symlink_to(outside / "secret.csv")
    (folder / "linked").symlink_to(outside / "other")
    (folder / "circle").symlink_to(folder / "circle")
    with serving(folder) as running:
        before = snapshot(outside)
        yield running
        assert snapshot(outside) == before
        assert sorted(path.name for path in tmp_path.iterdir()) == ["folder", "outside"]


@pytest.mark.parametrize(
    "path",
    [
        "/projects/..%2f..%2foutside%2fother/run",
        "/projects/%2e%2e/run",
        "/projects/..%5coutside/run",
        "/projects/../outside/other/run",
        "/projects/linked/run",
        "/projects/circle/run",
        "/projects/people%00/run",
        "/projects/.shoal/run",
        "/projects/" + "a" * 5000 + "/run",
        "/static/..%2f..%2f..%2f..%2foutside%2fsecret.csv",
        "/static/%2e%2e/app.py",
        "/static//etc/passwd",
        "/api/projects/linked/recipe",
        "/api/projects/..%2foutside%2fother/recipe",
        "/api/projects/people/releases/1%2f..%2f..%2f..%2f/files/recipe",
        "/api/projects/people/releases/1/files/..%2frecipe",
    ],
)
def test_no_address_leads_out_of_the_folder(trap: Served, path: str) -> None:
    with trap.connect() as connection:  # as it is: a client would tidy it up
        token = trap.settings.token
        head = (
            f"Host: 127.0.0.1:{trap.settings.port}\r\nAuthorization: Bearer {token}\r\nConnection: close\r\n"
        )
        connection.sendall(f"GET {path} HTTP/1.1\r\n{head}\r\n".encode())
        answer = everything(connection)
    assert answer.split()[1] in (b"400", b"403", b"404", b"405", b"422")
    assert SECRET.encode() not in answer


@pytest.mark.parametrize(
    "file",
    [
        "../outside/secret.csv",
        "{}/outside/secret.csv",
        "/etc/passwd",
        "link.csv",
        "people/../../outside/secret.csv",
    ],
)
def test_no_table_outside_the_folder_is_opened(trap: Served, file: str) -> None:
    response = trap.client().post("/api/projects", json={"file": file.format(trap.folder.parent)})
    assert (response.status_code, error_of(response)) == (403, "web.outside")
    assert not (trap.folder / "secret").exists()


@pytest.mark.parametrize(
    "change",
    [
        ("people.csv", "../../outside/secret.csv"),
        ("people.csv", "../link.csv"),
        ('[columns.city]\nrole = "quasi"', '[columns.city]\nrole = "quasi"\nhierarchy = "../link.csv"'),
    ],
    ids=["above", "link", "hierarchy"],
)
def test_no_recipe_may_name_files_outside_the_folder(trap: Served, change: tuple[str, str]) -> None:
    before = (trap.folder / "people" / "recipe.toml").read_text()
    response = trap.client().put("/api/projects/people/recipe", json={"text": before.replace(*change)})
    assert (response.status_code, error_of(response)) == (403, "web.outside")
    assert (trap.folder / "people" / "recipe.toml").read_text() == before
    (trap.folder / "people" / "recipe.toml").write_text(before.replace(*change))  # by other means
    assert trap.client().post("/api/projects/people/run", json={}).status_code == 403
    for tab in ("data", "hierarchies", "goals", "run", "results"):
        assert SECRET not in trap.client().get(f"/projects/people/{tab}").text
    (trap.folder / "people" / "recipe.toml").write_text(before)


def test_no_recipe_may_name_a_ledger(trap: Served) -> None:
    path = trap.folder / "people" / "recipe.toml"
    before = path.read_text()
    ledger = trap.folder.parent / "outside" / "ledger"
    named = before.replace("[output]\n", f'[output]\nledger = "{ledger}"\n')
    assert named != before
    response = trap.client().put("/api/projects/people/recipe", json={"text": named})
    assert error_of(response) == "recipe.not_available"
    assert path.read_text() == before
    path.write_text(named)  # by other means
    assert error_of(trap.client().post("/api/projects/people/run", json={})) == "recipe.not_available"
    assert not ledger.exists()
    path.write_text(before)


def test_linked_projects_and_tables_are_not_listed(trap: Served) -> None:
    assert [one["name"] for one in trap.client().get("/api/projects").json()] == ["people"]
    assert trap.client().get("/api/tables").json() == []


def test_links_inside_a_project_are_not_followed_out_of_it(trap: Served) -> None:
    project, outside = trap.folder / "people", trap.folder.parent / "outside"
    release = project / "releases" / "1"
    release.mkdir(parents=True)
    (release / "out.csv.manifest.json").write_text("{}")
    for name in ("out.csv", "out.csv.report.html", "recipe.toml"):
        (release / name).symlink_to(outside / "secret.csv")
    for what in ("release", "dossier", "recipe", "everything"):
        response = trap.client().get(f"/api/projects/people/releases/1/files/{what}")
        assert response.status_code == (200 if what == "everything" else 403)
        assert SECRET.encode() not in response.content
    assert trap.client().get("/projects/people/results/1").status_code == 403
    shutil.rmtree(project / "releases")
    shutil.rmtree(project / ".shoal", ignore_errors=True)
    (project / ".shoal").symlink_to(outside)
    (project / "hierarchies").symlink_to(outside)
    assert trap.client().post("/api/projects/people/run", json={}).status_code == 403
    for tab in ("data", "hierarchies", "goals", "run", "results"):
        assert SECRET not in trap.client().get(f"/projects/people/{tab}").text
    (project / ".shoal").unlink()
    (project / "hierarchies").unlink()
    shutil.rmtree(project / "releases", ignore_errors=True)


def test_releases_are_not_written_through_a_link(trap: Served) -> None:
    (trap.folder / "people" / "releases").symlink_to(trap.folder.parent / "outside")
    assert trap.client().post("/api/projects/people/run", json={}).status_code == 403
    (trap.folder / "people" / "releases").unlink()


@pytest.mark.parametrize("name", ["../../evil.csv", "..\\..\\evil.csv", "/tmp/evil.csv", "a/b/evil.csv"])
def test_an_upload_cannot_choose_its_folder(trap: Served, name: str) -> None:
    response = trap.client().put("/api/upload", params={"file": name}, content=people())
    made = trap.folder / response.json()["name"]
    assert (made / "evil.csv").read_text() == people()
    assert (made / "evil.csv").stat().st_mode & 0o777 == 0o600
    assert made.stat().st_mode & 0o777 == 0o700
    shutil.rmtree(made)


@pytest.mark.parametrize("name", ["recipe.toml", "evil.py", ".csv", "", "x", "a.csv.gz", "a.csv/"])
def test_an_upload_must_be_called_a_table(trap: Served, name: str) -> None:
    response = trap.client().put("/api/upload", params={"file": name}, content=people())
    assert (response.status_code, error_of(response)) == (415, "web.format")


def test_five_gigabytes_are_refused_before_they_are_sent(served: Served) -> None:
    before = snapshot(served.folder)
    for path in ("/api/upload?file=big.csv", "/api/projects/people/verify/upload?file=big.csv"):
        with served.connect() as connection:
            head = (
                f"PUT {path} HTTP/1.1\r\nHost: 127.0.0.1:{served.settings.port}\r\n"
                f"Authorization: Bearer {served.settings.token}\r\nContent-Length: 5000000000\r\n\r\n"
            )
            connection.sendall(head.encode())
            answer = everything(connection)
        assert answer.startswith(b"HTTP/1.1 413")
        assert b"copy the file into the folder" in answer
    assert snapshot(served.folder) == before


def test_an_upload_without_a_length_is_cut_off_at_the_limit(tmp_path: Path) -> None:
    sent = 0

    def endless():
        nonlocal sent
        while True:
            sent += 1 << 16
            yield b"a,b\n1,2\n" * (1 << 13)

    with serving(tmp_path, max_upload=1 << 20) as running:
        try:
            response = running.client().put("/api/upload?file=big.csv", content=endless())
            assert (response.status_code, error_of(response)) == (413, "web.too_large")
        except httpx.TransportError:  # the connection was closed while the client was still sending
            pass
        assert sent < 64 << 20
        assert running.client().get("/api/projects").json() == []
        assert list(tmp_path.iterdir()) == []


def test_other_bodies_have_a_smaller_limit(tmp_path: Path) -> None:
    make_project(tmp_path)
    with serving(tmp_path, max_body=1000) as running:
        response = running.client().put("/api/projects/people/recipe", json={"text": "#" * 2000})
        assert (response.status_code, error_of(response)) == (413, "web.too_large")


@pytest.mark.parametrize(
    "packed", [gzip.compress, lambda raw: b"PK\x03\x04" + raw, lambda raw: b"\x28\xb5\x2f\xfd" + raw]
)
def test_a_compressed_bomb_is_not_unpacked(trap: Served, packed) -> None:
    bomb = packed(b"a,b\n" + b"0,0\n" * 1_000_000)
    response = trap.client().put("/api/upload?file=bomb.csv", content=bomb)
    assert (response.status_code, error_of(response)) == (415, "web.compressed")
    assert not (trap.folder / "bomb").exists()


def test_a_compressed_request_is_not_unpacked(served: Served) -> None:
    body = zlib.compress(b"a" * 10_000_000)
    for coding in ("gzip", "deflate", "br"):
        headers = {"Content-Encoding": coding}
        response = served.client().put("/api/upload?file=a.csv", content=body, headers=headers)
        assert (response.status_code, error_of(response)) == (415, "web.compressed")


@pytest.mark.parametrize("ending", ["parquet", "arrow"])
def test_few_bytes_that_stand_for_many_cells_are_refused(tmp_path: Path, ending: str) -> None:
    file = tmp_path.parent / f"{tmp_path.name}.{ending}"
    frame = pl.DataFrame({"a": [0] * 5_000, "b": [1] * 5_000})
    frame.write_parquet(file) if ending == "parquet" else frame.write_ipc(file, compression="zstd")
    with serving(tmp_path, most_cells=9_999) as running:
        response = running.client().put(f"/api/upload?file=big.{ending}", content=file.read_bytes())
        assert (response.status_code, error_of(response)) == (413, "web.too_large")
        assert "5,000 rows" in response.text
        assert list(tmp_path.iterdir()) == []


def test_a_client_that_never_ends_its_head_is_dropped(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(protocol, "_PATIENCE", 0.2)
    for beginning in (b"", b"GET / HTTP/1.1\r\nHost: 127"):
        with served.connect() as connection:
            connection.sendall(beginning) if beginning else None
            assert connection.recv(100) == b""


def test_a_client_that_never_ends_its_body_is_refused(tmp_path: Path) -> None:
    with serving(tmp_path, patience=0.2) as running, running.connect() as connection:
        head = (
            f"PUT /api/upload?file=a.csv HTTP/1.1\r\nHost: 127.0.0.1:{running.settings.port}\r\n"
            f"Authorization: Bearer {running.settings.token}\r\nContent-Length: 1000\r\n\r\na,b\n"
        )
        connection.sendall(head.encode())
        assert connection.recv(100).startswith(b"HTTP/1.1 408")
        assert list(tmp_path.iterdir()) == []


def test_a_client_that_trickles_its_body_is_refused(tmp_path: Path) -> None:
    """Each part comes in time, but all of them together are too slow."""
    with serving(tmp_path, patience=0.15) as running, running.connect() as connection:
        head = (
            f"PUT /api/upload?file=a.csv HTTP/1.1\r\nHost: 127.0.0.1:{running.settings.port}\r\n"
            f"Authorization: Bearer {running.settings.token}\r\nContent-Length: 100000\r\n\r\n"
        )
        connection.sendall(head.encode())
        answer = b""
        connection.settimeout(0.05)
        for _ in range(400):
            try:
                connection.sendall(b"a")
                answer = connection.recv(100)
                break
            except TimeoutError:
                continue
            except OSError:
                break
        assert answer.startswith(b"HTTP/1.1 408")


def resident() -> int:
    """Return the memory of this process, in bytes."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="memory is read from /proc")
def test_two_hundred_requests_at_the_same_time_are_answered(served: Served) -> None:
    paths = ["/", "/projects/people/run", "/api/projects", "/projects/people/results"]

    async def all_at_once() -> list[int]:
        headers = {"Authorization": f"Bearer {served.settings.token}"}
        limits = httpx.Limits(max_connections=200)
        async with httpx.AsyncClient(
            base_url=served.address, headers=headers, limits=limits, timeout=60, verify=False
        ) as client:
            answers = await asyncio.gather(*(client.get(paths[at % len(paths)]) for at in range(200)))
        return [answer.status_code for answer in answers]

    asyncio.run(all_at_once())  # once, to have loaded everything
    before = resident()
    statuses = asyncio.run(all_at_once())
    assert set(statuses) == {200}
    assert resident() - before < 100 << 20


def test_requests_beyond_the_limit_are_told_to_come_back(served: Served) -> None:
    opened = [served.connect() for _ in range(260)]
    try:
        time.sleep(0.1)
        assert served.client().get("/").status_code == 503
    finally:
        for connection in opened:
            connection.close()
    time.sleep(0.2)
    assert served.client().get("/").status_code == 200


EVIL = "<script>alert('x')</script>"


def test_html_in_names_and_values_is_shown_as_text(tmp_path: Path) -> None:
    header = f"name,age,{EVIL},sex"
    rows = "".join(f"n{at},{20 + at % 40},<b>{'xy'[at % 2]}</b>,m\n" for at in range(200))
    (tmp_path / "evil<img src=x>.csv").write_text(f"{header}\n{rows}")
    with serving(tmp_path) as running:
        client = running.client()
        made = client.post("/api/projects", json={"file": "evil<img src=x>.csv"})
        assert made.status_code == 201, made.text
        address = made.json()["address"].removesuffix("data")
        pages = ["/", *(address + tab for tab in ("data", "hierarchies", "goals", "run", "results"))]
        for page in pages:
            text = client.get(page).text
            assert "<script>alert" not in text
            assert "<b>" not in text
            assert "<img" not in text
        broken = client.put(f"/api{address}recipe", json={"text": f'["{EVIL}"]\na = 1'})
        assert broken.headers["content-type"] == "application/json"


def test_a_dossier_that_was_tampered_with_runs_nothing(tmp_path: Path) -> None:
    evil = (
        "<main><h2 id='a' onclick='x()' style='top:0'>T <i>x</i></h2><script>x()</script><style>y</style>"
        "<iframe src='http://a'>z</iframe><a href='javascript:x()'>link</a><svg viewBox='0 0 1 1'>"
        "<script>x()</script><path d='M0'/></svg><img src=x onerror=x()>a &lt;b&gt;"
        "<form action=x><input></form></main><p>after</p>"
    )
    file = tmp_path / "a.html"
    file.write_text(evil)
    found = read_dossier(file)
    expected = '<h2 id="a">T x</h2>link<svg viewBox="0 0 1 1"><path d="M0"/></svg>a &lt;b&gt;'
    assert found.contents == expected
    assert found.sections == [("a", "T x")]
