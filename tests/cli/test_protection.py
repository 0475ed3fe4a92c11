"""Protection by flags, from a file to a verified release with its report."""

import json

import polars as pl
from typer.testing import CliRunner

from shoal.cli.main import app
from tests.reference.protection import hmac_sha256

KEY = "0123456789abcdef0123456789abcdef"
FLAGS = [
    "--quasi", "age,sex", "--sensitive", "ill", "--keep", "visits,job", "--identifier", "name",
    "--top", "age=80", "--bottom", "age=20.5", "--swap", "visits=20", "--noise", "pay={ sd = 0.5 }",
    "--pram", "job={ change = 0.25, invariant = true }", "--pseudonym", "name", "--suppress-cells", "0.1",
    "--k", "3", "--accept", "visits=unique", "--accept", "pay=unique",
]  # fmt: skip


def run(*args):
    found = CliRunner().invoke(app, [str(arg) for arg in args])
    return found.exit_code, found.stdout, found.stderr


def test_flags_make_a_protected_release(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = 24
    people = pl.DataFrame(
        {
            "age": [15 + 3 * at for at in range(rows)],
            "sex": ["f", "m"] * 12,
            "ill": ["flu", "gout", "none"] * 8,
            "visits": list(range(rows)),
            "pay": [1000 + 10 * at for at in range(rows)],
            "job": ["cook", "nurse", "cook", "smith"] * 6,
            "name": [f"person {at}" for at in range(rows)],
        }
    )
    people.write_csv("raw.csv")
    (tmp_path / "key").write_text(KEY)
    asked = [*FLAGS, "--keep", "visits,job,pay"]
    code, out, err = run(
        "anonymize",
        "raw.csv",
        *asked,
        "--key-file",
        "key",
        "-o",
        "out.csv",
        "--json",
        "--save-recipe",
        "r.toml",
    )
    assert code == 0, err
    result = json.loads(out)
    done = {(entry["column"], entry["method"]) for entry in result["protection"]}
    assert {
        ("age", "coding"),
        ("visits", "rank swapping"),
        ("pay", "noise"),
        ("job", "pram"),
        ("name", "pseudonyms"),
    } <= done
    released = pl.read_csv("out.csv")
    assert set(released["name"]) == {hmac_sha256(KEY.encode(), name.encode()) for name in people["name"]}
    page = (tmp_path / "out.csv.report.html").read_text()
    assert "Protection of single columns" in page
    assert "80 stands for 80 or more" in page
    assert KEY not in page + (tmp_path / "out.csv.manifest.json").read_text() + out + err
    for how in (["--recipe", "r.toml"], [], [*asked]):
        code, out, err = run("verify", "out.csv", *how, "--original", "raw.csv", "--json")
        assert code == 0, out + err
    assert run("attack", "raw.csv", "out.csv", "--recipe", "r.toml", "--json")[0] == 0
    assert run("measure", "raw.csv", "--recipe", "r.toml", "--released", "out.csv", "--json")[0] == 0


def test_a_malformed_flag_is_explained():
    code, _, err = run(
        "anonymize", "raw.csv", "--quasi", "age", "--k", "3", "--pram", "job={ change", "-o", "out.csv"
    )
    assert code == 2
    assert "--pram takes COLUMN=SHARE or COLUMN={...}" in err
