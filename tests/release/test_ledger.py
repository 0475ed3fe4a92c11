"""The ledger of releases: what was published counts when the next release is made, and nobody can hide it."""

import json
import os
import random
import shutil
import subprocess
import sys
import threading
import warnings
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

import shoal
from shoal.cli.main import app
from shoal.errors import DataError, OutputError, PrivacyWarning, RecipeError
from shoal.recipe import Recipe
from shoal.release.ledger import Ledger, lock
from shoal.release.signing import make_keys
from shoal.verifier import verify_ledger
from tests.profiles import slow, some

GRID = {  # by row or by column four look alike; both together single everybody out
    "row": [f"r{at // 4}" for at in range(12)],
    "column": [f"c{at % 4}" for at in range(12)],
    "ill": [f"i{at}" for at in range(12)],
}


@pytest.fixture(autouse=True)
def _quietly():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PrivacyWarning)
        yield


def recipe_of(columns, k=2, **sections):
    specs = {name: {"role": spec} if isinstance(spec, str) else spec for name, spec in columns.items()}
    return Recipe.from_dict(
        {"columns": specs, "privacy": {"k": k}, "method": {"name": "mondrian"}, **sections}
    )


def by(column, k=3):
    other = {"row": "column", "column": "row"}[column]
    ill = {"role": "sensitive", "accept": ["unique"]}
    return recipe_of({column: "quasi", other: "drop", "ill": ill}, k)


def release(folder, name, data, recipe, **more):
    made = shoal.anonymize(pl.DataFrame(data), recipe, ledger=folder / "people.ledger", bound=False)
    return made.write(folder / f"{name}.csv", **more)


def lines_of(folder):
    return (folder / "people.ledger").read_text().splitlines()


# Each case that the composition check refuses (tests/composition) is refused through a ledger, with files.


def patients(n_rows, ills):
    rng = random.Random(1)
    return {
        "age": [rng.randint(20, 80) for _ in range(n_rows)],
        "zip": [rng.randint(1000, 9999) for _ in range(n_rows)],
        "ill": [rng.choice(ills) for _ in range(n_rows)],
    }


def part(table, begin, end):
    return {name: values[begin:end] for name, values in table.items()}


EVERYBODY = patients(130, [f"ill {n}" for n in range(10)])
HEALTHY = patients(60, ["flu"])
FOUR = {"age": [20, 25, 40, 45], "zip": [1, 5, 2, 6]}
TWELVE = {"age": [1, 2, 3, 4, 5, 6] * 2, "zip": [at // 2 for at in range(12)]}
AGE = {"age": "quasi", "zip": "drop", "ill": "sensitive"}
ZIP = {"age": "drop", "zip": "quasi", "ill": "sensitive"}
BOTH = {"age": "quasi", "zip": "quasi", "ill": "sensitive"}
UNIQUE = {"role": "keep", "accept": ["unique"]}
TWO_VALUES = {"privacy": {"goal": [{"type": "l-diversity", "column": "ill", "l": 2}]}}
SIX = {"age": [20, 21, 22, 30, 31, 32], "zip": [1, 2, 6, 7, 8, 3],
       "ill": ["flu", "flu", "cold", "flu", "flu", "cough"]}  # fmt: skip

REFUSED = {
    "releases of overlapping rows": (part(EVERYBODY, 0, 100), BOTH, part(EVERYBODY, 30, 130), BOTH, 5),
    "by age, then by zip": ({**FOUR, "ill": ["flu", "cold", "ulcer", "cough"]}, AGE, None, ZIP, 2),
    "a rare value": ({**FOUR, "ill": ["hiv", "flu", "flu", "flu"]}, AGE, None, ZIP, 2),
    "a near-unique value": ({**TWELVE, "ill": ["hiv"] + ["flu"] * 11}, AGE, None, ZIP, 3),
    "a kept column in both": (
        {**TWELVE, "ill": ["flu"] * 12, "account": [f"a{at}" for at in range(12)]},
        {**AGE, "account": UNIQUE}, None, {**ZIP, "account": UNIQUE}, 3,
    ),
    "kept then, quasi now": (HEALTHY, {"age": "quasi", "zip": UNIQUE, "ill": "sensitive"}, None, BOTH, 5),
    "quasi then, dropped now": (
        {"city": [*"xyzxyz"], "age": [1, 2, 31, 32, 61, 62], "ill": [*"abcdef"]},
        {"city": "quasi", "age": "drop", "ill": "sensitive"}, None,
        {"city": "drop", "age": "quasi", "ill": "sensitive"}, 2,
    ),
    "rows and columns of a grid": (GRID, by("row").columns, None, by("column").columns, 3),
}  # fmt: skip


def written(folder, name, data, columns, k):
    """A table and a recipe as files."""
    pl.DataFrame(data).write_csv(folder / f"{name}.csv")
    specs = {n: spec if isinstance(spec, str | dict) else spec.model_dump(exclude_unset=True)
             for n, spec in columns.items()}  # fmt: skip
    specs |= {
        name: {"role": "sensitive", "accept": ["unique"]} for name in specs if specs[name] == "sensitive"
    }
    recipe = recipe_of(
        specs,
        k,
        input={"path": f"{name}.csv"},
        output={"path": str(folder / f"{name}-out.csv")},
        method={"name": "local-search"},
    )
    (folder / f"{name}.toml").write_text(recipe.to_toml())
    return folder / f"{name}.toml"


def run(*arguments):
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


@pytest.mark.parametrize("case", some(REFUSED, 3))
def test_what_the_composition_check_refuses_is_refused_through_the_ledger(case, tmp_path):
    first, columns, second, others, k = REFUSED[case]
    one = written(tmp_path, "one", first, columns, k)
    two = written(tmp_path, "two", second or first, others, k)
    ledger = tmp_path / "people.ledger"
    shoal.anonymize(Recipe.load(one), ledger=ledger, bound=False).write()
    before, files = ledger.read_bytes(), sorted(tmp_path.iterdir())
    result = run("anonymize", two, "--ledger", ledger, "--no-bound", "--json")
    assert result.exit_code == 3
    assert json.loads(result.stdout)["error"]["code"] == "composition.refused"
    assert ledger.read_bytes() == before
    assert sorted(tmp_path.iterdir()) == files
    # It is the ledger that refuses: alone, the second release would be fine.
    shoal.anonymize(Recipe.load(two), bound=False)


def test_a_goal_refuses_what_k_alone_does_not(tmp_path):
    # By age {flu 2, cold 2} and {cough 2, flu 2}, by zip {flu 2, cough 2} and {cold 2, flu 2}. For who is 20
    # and at 1, two values remain, as many as k, but both are flu.
    people = {
        "age": [20] * 4 + [30] * 4,
        "zip": [1, 1, 2, 2] * 2,
        "ill": ["flu", "flu", "cold", "cold", "cough", "cough", "flu", "flu"],
    }
    release(tmp_path, "one", people, recipe_of(AGE))
    shoal.anonymize(pl.DataFrame(people), recipe_of(ZIP), ledger=tmp_path / "people.ledger")
    asked = recipe_of(ZIP, privacy={"k": 2, **TWO_VALUES["privacy"]})
    with pytest.raises(shoal.ShoalError) as error:
        shoal.anonymize(pl.DataFrame(people), asked, ledger=tmp_path / "people.ledger")
    assert error.value.code == "composition.refused"


def test_all_earlier_releases_are_checked_not_only_the_last(tmp_path):
    release(tmp_path, "one", GRID, by("row"))
    release(tmp_path, "two", GRID, by("row"))
    with pytest.raises(shoal.ShoalError, match="The 3 tables together") as error:
        release(tmp_path, "three", GRID, by("column"))
    assert error.value.code == "composition.refused"
    assert len(lines_of(tmp_path)) == 2


def test_an_accepted_risk_is_entered_too(tmp_path):
    release(tmp_path, "one", GRID, by("row"))
    made = shoal.anonymize(
        pl.DataFrame(GRID), by("column"), ledger=tmp_path / "people.ledger", accept_composition=True
    )
    made.write(tmp_path / "two.csv")
    assert [json.loads(line)["release"] for line in lines_of(tmp_path)] == ["one.csv", "two.csv"]


def test_a_release_without_boxes_may_be_the_first_and_needs_a_word_afterwards(tmp_path):
    means = recipe_of(AGE, output={"values": "microaggregate"})
    release(tmp_path, "means", SIX, means)
    with pytest.raises(RecipeError) as error:
        release(tmp_path, "two", SIX, recipe_of(AGE))
    assert error.value.code == "recipe.not_available"
    more = {"ledger": tmp_path / "people.ledger", "accept_composition": True}
    shoal.anonymize(pl.DataFrame(SIX), recipe_of(AGE), **more).write(tmp_path / "two.csv")
    assert verify_ledger(tmp_path / "people.ledger").entries == 2


# What an entry says.


def test_entries_say_what_was_released_and_nothing_about_cells_or_places(tmp_path):
    (tmp_path / "out").mkdir()
    recipe = recipe_of(AGE, input={"path": "/secret/place.csv"}, about={"date": "2026-03-31"})
    made = shoal.anonymize(pl.DataFrame(SIX), recipe, ledger=tmp_path / "people.ledger")
    made.write(tmp_path / "out" / "one.csv")
    made = shoal.anonymize(pl.DataFrame(SIX), recipe_of(AGE), ledger=tmp_path / "people.ledger")
    made.write(tmp_path / "two.csv")
    one, two = map(json.loads, lines_of(tmp_path))
    assert (one["entry"], one["before"], one["release"]) == (1, None, "out/one.csv")
    assert (two["entry"], two["before"], two["release"]) == (2, one["sha256"], "two.csv")
    assert (one["date"], "date" in two) == ("2026-03-31", False)
    assert one["recipe"]["columns"]["age"] == {"role": "quasi"}
    assert "path" not in one["recipe"].get("output", {})
    assert "secret" not in "".join(lines_of(tmp_path))
    assert "people.ledger" not in (tmp_path / "two.csv.manifest.json").read_text()
    manifest = json.loads((tmp_path / "two.csv.manifest.json").read_text())
    assert manifest["ledger"] == {"entry": 2, "before": one["sha256"], "first": one["sha256"]}
    manifest = json.loads((tmp_path / "out" / "one.csv.manifest.json").read_text())
    assert manifest["ledger"] == {"entry": 1, "before": None, "first": None}


def test_the_same_runs_give_the_same_ledger(tmp_path):
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        release(tmp_path / name, "one", SIX, recipe_of(AGE))
        release(tmp_path / name, "two", SIX, recipe_of(AGE))
    assert lines_of(tmp_path / "a") == lines_of(tmp_path / "b")


def test_the_command_says_which_entry_it_made(tmp_path):
    one = written(tmp_path, "one", SIX, AGE, 2)
    ledger = tmp_path / "people.ledger"
    result = run("anonymize", one, "--ledger", ledger, "--no-bound", "--json")
    assert result.exit_code == 0, result.output
    entry = json.loads(lines_of(tmp_path)[0])
    told = {"path": str(ledger), "entry": 1, "sha256": entry["sha256"]}
    assert json.loads(result.stdout)["ledger"] == told
    again = run("anonymize", one, "--ledger", ledger, "--force", "--no-bound", "--json")
    assert (again.exit_code, json.loads(again.stdout)["error"]["code"]) == (2, "output.exists")
    verified = run("verify", tmp_path / "one-out.csv", "--ledger", ledger, "--json")
    assert (verified.exit_code, json.loads(verified.stdout)["ledger"]["head"]) == (0, entry["sha256"])
    shutil.copy(tmp_path / "one-out.csv", tmp_path / "other.csv")
    shutil.copy(tmp_path / "one-out.csv.manifest.json", tmp_path / "other.csv.manifest.json")
    other = run("verify", tmp_path / "other.csv", "--ledger", ledger, "--json")
    assert other.exit_code == 1
    assert "is not in the ledger" in json.loads(other.stdout)["ledger"]["problems"][-1]["message"]


def test_views_and_anatomy_are_entered_with_all_their_files(tmp_path):
    views = recipe_of(BOTH, k=2, output={"views": [["age"], ["zip"]], "views_by": "projection"})
    release(tmp_path, "views", SIX, views)
    table = {"age": [1, 2, 3, 4], "ill": [*"abab"]}
    columns = {"age": "quasi", "ill": "sensitive"}
    anatomy = recipe_of(columns, method={"name": "anatomy", "options": {"l": 2}})
    shoal.anonymize(
        pl.DataFrame(table), anatomy, ledger=tmp_path / "people.ledger", accept_composition=True
    ).write(tmp_path / "two.csv")
    assert verify_ledger(tmp_path / "people.ledger").holds
    for name in ("views.2.csv", "two.quasi.csv"):
        text = (tmp_path / name).read_text()
        (tmp_path / name).write_text(text + text.splitlines()[-1] + "\n")
        (problem,) = verify_ledger(tmp_path / "people.ledger").problems
        assert name in problem.message
        (tmp_path / name).write_text(text)


# Concurrent and killed runs.


def test_of_two_runs_at_the_same_time_one_is_told_to_start_again(tmp_path):
    ledger = tmp_path / "people.ledger"
    one, two = (shoal.anonymize(pl.DataFrame(SIX), recipe_of(AGE), ledger=ledger) for _ in range(2))
    one.write(tmp_path / "one.csv")
    before = sorted(tmp_path.iterdir())
    with pytest.raises(OutputError, match="while this one was made") as error:
        two.write(tmp_path / "two.csv")
    assert error.value.code == "ledger.changed"
    assert sorted(tmp_path.iterdir()) == before


def test_a_run_waits_while_another_writes(tmp_path):
    ledger = tmp_path / "people.ledger"
    made = shoal.anonymize(pl.DataFrame(SIX), recipe_of(AGE), ledger=ledger)
    writing = threading.Thread(target=made.write, args=(tmp_path / "one.csv",))
    with lock(ledger):
        writing.start()
        writing.join(0.3)
        assert writing.is_alive()
        assert not ledger.exists()
    writing.join(60)
    assert verify_ledger(ledger).holds


def test_a_failed_run_leaves_ledger_and_folder_as_they_were(tmp_path, monkeypatch):
    release(tmp_path, "one", SIX, recipe_of(AGE))
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    made = shoal.anonymize(pl.DataFrame(SIX), recipe_of(AGE), ledger=tmp_path / "people.ledger")

    def full(file, place):
        raise OutputError("output.unwritable", "The disk is full.")

    monkeypatch.setattr("shoal.release.writing.move_into_place", full)
    with pytest.raises(OutputError, match="full"):
        made.write(tmp_path / "two.csv")
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


KILLED = """
import os, signal, sys
import shoal, shoal.release.writing as writing
from shoal.recipe import Recipe
move, moved = writing.move_into_place, []
def kill(file, place):
    if len(moved) == int(sys.argv[3]):
        os.kill(os.getpid(), signal.SIGKILL)
    moved.append(place)
    move(file, place)
writing.move_into_place = kill
shoal.anonymize(Recipe.load(sys.argv[1]), ledger=sys.argv[2], bound=False).write()
"""


# `moved` files had got their names; the manifest is the last.
@pytest.mark.parametrize("moved", [pytest.param(0, marks=slow), 1])
def test_a_killed_run_is_found_and_finished_by_the_same_run(tmp_path, moved):
    one, ledger = written(tmp_path, "one", SIX, AGE, 2), tmp_path / "people.ledger"
    release(tmp_path, "zero", SIX, recipe_of(AGE))
    command = [sys.executable, "-c", KILLED, one, ledger, str(moved)]
    assert subprocess.run(command, check=False, timeout=300).returncode == -9
    assert (tmp_path / "one-out.csv").exists() == bool(moved)
    left = ledger.read_bytes()
    assert [problem.message.split(":")[0] for problem in verify_ledger(ledger).problems] == ["Entry 2"]
    # Another run does not pass over it.
    with pytest.raises(DataError, match="manifest of entry 2") as error:
        release(tmp_path, "two", SIX, recipe_of(AGE))
    assert error.value.code == "ledger.broken"
    # Nor does another release with that name.
    made = Recipe.load(one, changes={"method": {"seed": 5}})
    with pytest.raises(DataError, match="this run makes another release"):
        shoal.anonymize(made, ledger=ledger, bound=False).write(force=True)
    assert ledger.read_bytes() == left
    shoal.anonymize(Recipe.load(one), ledger=ledger, bound=False).write(force=bool(moved))
    assert ledger.read_bytes() == left
    assert verify_ledger(ledger).holds


def test_a_half_written_entry_is_reported_not_dropped(tmp_path):
    release(tmp_path, "one", SIX, recipe_of(AGE))
    ledger = tmp_path / "people.ledger"
    whole = ledger.read_bytes()
    for half in (whole[:-1], whole + whole[:50]):
        ledger.write_bytes(half)
        with pytest.raises(DataError, match="its last line is incomplete") as error:
            release(tmp_path, "two", SIX, recipe_of(AGE))
        assert error.value.code == "ledger.broken"
        assert ledger.read_bytes() == half
        assert "incomplete" in verify_ledger(ledger).problems[0].message
    assert not (tmp_path / "two.csv").exists()


# Nothing in it can be changed unnoticed.


@pytest.fixture(scope="module")
def signed(tmp_path_factory):
    """Three signed releases in a ledger."""
    folder = tmp_path_factory.mktemp("signed")
    make_keys(folder / "key.pem")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PrivacyWarning)
        for number in (1, 2, 3):
            release(folder, f"r{number}", SIX, recipe_of(AGE), sign=folder / "key.pem")
    assert verify_ledger(folder / "people.ledger", public_key=folder / "key.pub.pem").holds
    return folder


FILES = [
    "people.ledger",
    *(f"r{n}.csv{end}" for n in (1, 2, 3) for end in ("", ".manifest.json", ".manifest.json.sig")),
]


def holds(folder, key=True):
    public = folder / "key.pub.pem" if key else None
    return verify_ledger(folder / "people.ledger", public_key=public).holds


def changes_unnoticed(folder, name, content, key=True):
    """Whether the ledger holds with another content of a file; the writer must refuse the ledger as well."""
    path = folder / name
    before = path.read_bytes()
    assert content != before
    path.write_bytes(content)
    try:
        if name == "people.ledger" and content.count(b"\n") > 2:
            with pytest.raises(DataError) as error:
                Ledger.read(path)
            assert error.value.code == "ledger.broken"
        return holds(folder, key)
    finally:
        path.write_bytes(before)


@given(
    name=st.sampled_from([FILES[0], *FILES]), at=st.floats(0, 1, exclude_max=True), change=st.integers(1, 255)
)
def test_any_changed_byte_is_found(signed, name, at, change):
    content = bytearray((signed / name).read_bytes())
    content[int(at * len(content))] ^= change
    assert not changes_unnoticed(signed, name, bytes(content))


@given(name=st.sampled_from(FILES), at=st.floats(0, 1), bytes_=st.binary(min_size=1, max_size=3))
def test_any_inserted_or_removed_byte_is_found(signed, name, at, bytes_):
    content = (signed / name).read_bytes()
    place = int(at * len(content))
    assert not changes_unnoticed(signed, name, content[:place] + bytes_ + content[place:])
    cut = content[:place] + content[place + len(bytes_) :]
    if cut != content:
        assert not changes_unnoticed(signed, name, cut)


@given(st.lists(st.integers(0, 2), max_size=5).filter(lambda order: order != [0, 1, 2]))
def test_removed_repeated_and_reordered_entries_are_found(signed, order):
    lines = (signed / "people.ledger").read_bytes().splitlines(keepends=True)
    assert not changes_unnoticed(signed, "people.ledger", b"".join(lines[at] for at in order), key=False)


def test_the_digest_of_the_last_entry_which_nothing_repeats_is_found_if_changed(signed):
    content = (signed / "people.ledger").read_bytes()
    at = content.rindex(b'"sha256":"') + len(b'"sha256":"')
    other = b"0" if content[at : at + 1] != b"0" else b"1"
    assert not changes_unnoticed(signed, "people.ledger", content[:at] + other + content[at + 1 :], key=False)


def forged(line, **changes):
    """An entry that somebody changed who knows how digests are made."""
    import hashlib

    entry = {**json.loads(line), **changes}
    del entry["sha256"]
    body = json.dumps(entry, sort_keys=True, separators=(",", ":"))
    entry["sha256"] = hashlib.sha256(body.encode()).hexdigest()
    return json.dumps(entry, sort_keys=True, separators=(",", ":"))


def test_an_entry_forged_with_its_digest_contradicts_the_manifests(signed):
    lines = lines_of(signed)
    for at in range(3):
        changed, before = [], None
        for number, line in enumerate(lines):
            recipe = {"recipe": {"privacy": {"k": 9}}} if number == at else {}
            changed.append(forged(line, before=before, **recipe))
            before = json.loads(changed[-1])["sha256"]
        content = "".join(f"{line}\n" for line in changed).encode()
        path = signed / "people.ledger"
        kept = path.read_bytes()
        path.write_bytes(content)
        try:
            assert not verify_ledger(path).holds
        finally:
            path.write_bytes(kept)


def test_cut_off_entries_are_found_by_the_manifests_that_are_left(signed, tmp_path):
    lines = (signed / "people.ledger").read_bytes().splitlines(keepends=True)
    shutil.copytree(signed, tmp_path / "copy")
    ledger = tmp_path / "copy" / "people.ledger"
    ledger.write_bytes(b"".join(lines[:2]))
    (problem,) = verify_ledger(ledger).problems
    assert "r3.csv.manifest.json" in problem.message
    # Somebody who has the third release elsewhere finds it as well.
    for file in (tmp_path / "copy").glob("r3.csv*"):
        file.rename(tmp_path / file.name)
    assert verify_ledger(ledger).holds  # what cannot be seen: docs/again.md says so
    assert "not in the ledger" in verify_ledger(ledger, releases=[tmp_path / "r3.csv"]).problems[0].message


def test_a_missing_release_is_found_and_stops_the_next(signed, tmp_path):
    shutil.copytree(signed, tmp_path / "copy")
    (tmp_path / "copy" / "r2.csv").unlink()
    assert "r2.csv is missing" in verify_ledger(tmp_path / "copy" / "people.ledger").problems[0].message
    with pytest.raises(DataError, match=r"r2\.csv cannot be read"):
        release(tmp_path / "copy", "r4", SIX, recipe_of(AGE))


# Bad usage.


def test_bad_places_for_a_ledger(tmp_path):
    table = pl.DataFrame(SIX)
    (tmp_path / "raw.csv").write_text("age\n1\n")
    bad = {
        tmp_path: "output.unwritable",
        tmp_path / "none" / "l": "output.unwritable",
        tmp_path / "raw.csv": "ledger.broken",
    }
    for place, code in bad.items():
        with pytest.raises(shoal.ShoalError) as error:
            shoal.anonymize(table, recipe_of(AGE), ledger=place)
        assert (error.value.code, bool(error.value.hint)) == (code, True)
    assert (tmp_path / "raw.csv").read_text() == "age\n1\n"
    made = shoal.anonymize(table, recipe_of(AGE), ledger=tmp_path / "out.csv")
    made.write(tmp_path / "one.csv")
    made = shoal.anonymize(table, recipe_of(AGE), ledger=tmp_path / "out.csv")
    with pytest.raises(OutputError, match="would overwrite the ledger"):
        made.write(tmp_path / "out.csv", force=True)


def test_spark_and_a_ledger_are_refused_together():
    with pytest.raises(RecipeError, match="engine `spark` cannot be checked against a ledger") as error:
        recipe_of(AGE, engine={"name": "spark"}, output={"ledger": "people.ledger"})
    assert error.value.code == "recipe.not_available"


def test_nothing_to_verify_is_bad_usage(tmp_path):
    assert run("verify").exit_code == 2
    missing = run("verify", "--ledger", tmp_path / "none", "--json")
    assert (missing.exit_code, json.loads(missing.stdout)["error"]["code"]) == (2, "data.unreadable")
    assert os.listdir(tmp_path) == []
    assert Path("people.ledger").exists() is False
