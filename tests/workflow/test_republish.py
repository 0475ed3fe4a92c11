"""Tables that are published again and again: what is left for somebody who has all releases."""

import json
import stat
import warnings
from collections import Counter

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

import shoal
from shoal.cli.main import app
from shoal.errors import DataError, InfeasibleError, PrivacyWarning, RecipeError, ShoalError
from shoal.recipe import Recipe
from shoal.verifier import verify_ledger
from tests.bad_input_cases import MARK, snapshot
from tests.profiles import few

COLUMNS = {
    "who": {"role": "subject"},
    "age": {"role": "quasi", "kind": "numeric"},
    "ill": {"role": "sensitive", "accept": ["unique"]},
}


@pytest.fixture(autouse=True)
def _quietly():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PrivacyWarning)
        yield


def recipe_of(k=2, columns=None, **sections):
    privacy = {"k": k, **sections.pop("privacy", {})}
    return Recipe.from_dict({"columns": columns or COLUMNS, "privacy": privacy, **sections})


RECIPE = recipe_of()
MARCH = {"who": [*"abcdef"], "age": [1, 2, 5, 6, 8, 9], "ill": ["flu", "cold", "hiv", "flu", "cold", "hiv"]}
# b and e have left, both with a cold; g comes with one, h with a flu.
APRIL = {"who": [*"acdfgh"], "age": [1, 5, 6, 9, 4, 3], "ill": ["flu", "hiv", "flu", "hiv", "cold", "flu"]}


def published(data, record, recipe=RECIPE, **more):
    return shoal.republish(pl.DataFrame(data), recipe, record, bound=False, **more)


def values_around(release, age):
    """The values in the classes that a person of this age may be in."""
    low_high = {text: [int(end) for end in text.strip("[]").split(", ")] for text in release.table["age"]}
    return {
        ill
        for text, ill in release.table.select("age", "ill").rows()
        if low_high[text][0] <= age <= low_high[text][-1]
    }


PEOPLE = st.dictionaries(
    st.integers(0, 25), st.tuples(st.integers(0, 9), st.sampled_from("abcde")), min_size=4, max_size=20
)


@few()
@given(tables=st.lists(PEOPLE, min_size=2, max_size=3), m=st.integers(2, 3))
def test_whoever_has_all_releases_is_left_with_m_values(tables, m, tmp_path_factory):
    # A number for each person is published, so that the test sees who is where.
    folder = tmp_path_factory.mktemp("again")
    recipe = recipe_of(columns=COLUMNS | {"number": {"role": "keep", "accept": ["unique"]}})
    left, signatures = {}, {}
    for at, table in enumerate(tables):
        ages, ills = ([cell[part] for cell in table.values()] for part in (0, 1))
        data = {"who": list(table), "age": ages, "ill": ills, "number": list(table)}
        try:
            release = published(data, folder / "record", recipe, m=m)
        except InfeasibleError:
            continue
        release.write(folder / f"{at}.csv")
        people = json.loads((folder / "record").read_text())["people"]
        rows = release.table.select("age", "ill", "number").rows()
        assert len(rows) + release.held_back == len(table)
        in_class = {box: Counter(ill for other, ill, _ in rows if other == box) for box, _, _ in rows}
        balance = Counter((box, tuple(people[f"{number}.0"]), ill) for box, ill, number in rows)
        for box, ill, number in rows:
            signature = people[f"{number}.0"]
            # The groups of one signature have one row of each of its values, whatever class they are in.
            assert {balance[box, tuple(signature), value] for value in signature} == {
                balance[box, tuple(signature), ill]
            }
            assert len(signature) >= m
            assert m * max(in_class[box].values()) <= in_class[box].total()
            assert signatures.setdefault(number, signature) == signature
            left.setdefault(number, []).append(set(in_class[box]))
    for found in left.values():
        assert len(set.intersection(*found)) >= m


def test_two_releases_by_hand(tmp_path):
    one = published(MARCH, tmp_path / "record")
    assert (one.released, one.held_back, one.stayed, one.m, one.k) == (6, 0, 0, 2, 2)
    one.write(tmp_path / "march.csv")
    record = json.loads((tmp_path / "record").read_text())
    assert stat.S_IMODE((tmp_path / "record").stat().st_mode) == 0o600
    assert record["people"].keys() == set("abcdef")
    two = published(APRIL, tmp_path / "record")
    two.write(tmp_path / "april.csv")
    # Of the people who stay, each is in a class with the values of March.
    after = json.loads((tmp_path / "record").read_text())
    assert {p: after["people"][p] for p in "acdf"} == {p: record["people"][p] for p in "acdf"}
    for who, age in zip(APRIL["who"], APRIL["age"], strict=True):
        if who in after["people"]:
            assert values_around(two, age) >= set(after["people"][who]) or two.held_back
    assert two.released + two.held_back == 6
    assert len(after["manifests"]) == 2
    manifest = json.loads((tmp_path / "april.csv.manifest.json").read_text())
    assert manifest["republication"] == {"m": 2, "column": "ill"}
    assert not {"held_back", "stayed", "record"} & set(json.dumps(manifest).replace('"', " ").split())
    assert shoal.verify(tmp_path / "april.csv", Recipe.load(tmp_path / "april.csv.manifest.json")).holds


def test_releases_that_nothing_holds_together_give_values_away(tmp_path):
    """What m-invariance is for: the same tables, each 2-diverse by itself, single out a flu."""
    diverse = recipe_of(privacy={"goal": [{"type": "l-diversity", "column": "ill", "l": 2}]})
    march = {"who": [*"ab"], "age": [1, 2], "ill": ["flu", "cold"]}
    april = {"who": [*"ac"], "age": [1, 3], "ill": ["flu", "hiv"]}
    seen = [values_around(shoal.anonymize(pl.DataFrame(t), diverse, bound=False), 1) for t in (march, april)]
    assert seen[0] & seen[1] == {"flu"}
    published(march, tmp_path / "record").write(tmp_path / "march.csv")
    with pytest.raises(InfeasibleError, match="No group of 2 rows"):
        published(april, tmp_path / "record")


def test_order_of_rows_and_repetition_change_nothing(tmp_path):
    table = pl.DataFrame({"who": range(40), "age": [i * 7 % 30 for i in range(40)], "ill": [*"abcde"] * 8})
    for name, data in (("one", table), ("two", table.sample(fraction=1.0, shuffle=True, seed=3))):
        shoal.republish(data, RECIPE, tmp_path / f"{name}.record", m=3).write(tmp_path / f"{name}.csv")
    assert (tmp_path / "one.csv").read_bytes() == (tmp_path / "two.csv").read_bytes()
    assert (tmp_path / "one.csv.manifest.json").read_bytes() == (
        tmp_path / "two.csv.manifest.json"
    ).read_bytes()
    one, two = (json.loads((tmp_path / f"{name}.record").read_text()) for name in ("one", "two"))
    assert one == two


def test_a_failed_write_leaves_the_record_as_it_was(tmp_path, monkeypatch):
    published(MARCH, tmp_path / "record").write(tmp_path / "march.csv")
    before = snapshot(tmp_path)
    assert (tmp_path / "record").exists()
    april = published(APRIL, tmp_path / "record")

    def full(file, place):
        from shoal.errors import OutputError

        raise OutputError("output.unwritable", "The disk is full.")

    monkeypatch.setattr("shoal.release.writing.move_into_place", full)
    with pytest.raises(ShoalError, match="full"):
        april.write(tmp_path / "april.csv")
    assert snapshot(tmp_path) == before
    with pytest.raises(ShoalError):
        published(MARCH, tmp_path / "new.record").write(tmp_path / "other.csv")
    assert not (tmp_path / "new.record").exists()


def test_of_two_runs_at_the_same_time_one_is_told_to_start_again(tmp_path):
    one, two = (published(MARCH, tmp_path / "record") for _ in range(2))
    one.write(tmp_path / "one.csv")
    before = snapshot(tmp_path)
    with pytest.raises(ShoalError, match="was changed while this release was made") as error:
        two.write(tmp_path / "two.csv")
    assert error.value.code == "record.unusable"
    assert snapshot(tmp_path) == before


def test_the_record_is_written_before_the_release(tmp_path, monkeypatch):
    """If the process is killed in between, the record knows everybody who may have been published."""
    seen = []
    release = published(MARCH, tmp_path / "record")
    monkeypatch.setattr(
        "shoal.release.writing._move",
        lambda *_: seen.append(json.loads((tmp_path / "record").read_text())["people"]),
    )
    with pytest.raises(FileNotFoundError):  # of the manifest, which was not moved into place
        release.write(tmp_path / "march.csv")
    assert set(seen[0]) == set("abcdef")


def test_releases_of_one_record_are_not_checked_against_each_other_but_others_are(tmp_path):
    ledger = tmp_path / "ledger"
    one = published(MARCH, tmp_path / "record", ledger=ledger)
    one.write(tmp_path / "march.csv")
    two = published(APRIL, tmp_path / "record", ledger=ledger)
    assert two.composition is None
    two.write(tmp_path / "april.csv")
    assert verify_ledger(ledger).entries == 2
    # Another record knows nothing of these releases.
    with pytest.raises(InfeasibleError) as error:
        published(APRIL, tmp_path / "other.record", ledger=ledger)
    assert error.value.code == "composition.refused"


def test_the_command(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    recipe = recipe_of(input={"path": "people.csv"})
    (tmp_path / "recipe.toml").write_text(recipe.to_toml())
    pl.DataFrame(MARCH).write_csv("people.csv")
    run = ["republish", "recipe.toml", "--record", "record", "--no-bound", "--json", "-o"]
    first = CliRunner().invoke(app, [*run, "march.csv", "--ledger", "ledger"])
    assert first.exit_code == 0, first.output
    pl.DataFrame(APRIL).write_csv("people.csv")
    second = CliRunner().invoke(app, [*run, "april.csv", "--ledger", "ledger"])
    told = json.loads(second.stdout)
    assert (told["m"], told["stayed"], told["record"], told["ledger"]["entry"]) == (
        2,
        told["stayed"],
        "record",
        2,
    )
    assert told["released"] + told["held_back"] == 6
    assert 2 <= told["stayed"] <= 4
    text = CliRunner().invoke(app, [*run[:-2], "-o", "may.csv"])
    assert "held back" in text.output


BAD = {
    "no subject": ({"who": {"role": "drop"}}, {}, {}, "recipe.not_available"),
    "two sensitive": (
        {"age": {"role": "sensitive"}, "who2": {"role": "quasi"}},
        {},
        {},
        "recipe.not_available",
    ),
    "views": (
        {"who2": {"role": "quasi"}},
        {"output": {"views": [["age"], ["who2"]]}},
        {},
        "recipe.not_available",
    ),
    "typical values": ({}, {"output": {"values": "microaggregate"}}, {}, "recipe.not_available"),
    "m below k": ({}, {}, {"m": 1}, "recipe.invalid"),
    "too few values": ({}, {}, {"m": 4}, "infeasible.goal"),
}


@pytest.mark.parametrize("case", BAD.values(), ids=BAD)
def test_what_cannot_be_published_again(case, tmp_path):
    columns, sections, more, code = case
    data = {**MARCH, "who2": range(6)} if "who2" in columns else MARCH
    with pytest.raises(ShoalError) as error:
        published(data, tmp_path / "record", recipe_of(columns=COLUMNS | columns, **sections), **more)
    assert (error.value.code, bool(error.value.hint)) == (code, True)
    assert snapshot(tmp_path) == {}


def test_records_and_tables_that_cannot_be_used(tmp_path):
    record = tmp_path / "record"
    published(MARCH, record).write(tmp_path / "march.csv")
    whole = record.read_text()
    with pytest.raises(DataError, match="m = 2, not 3"):
        published(APRIL, record, m=3)
    other = recipe_of(columns={**{n: s for n, s in COLUMNS.items() if n != "ill"}, "pain": COLUMNS["ill"]})
    with pytest.raises(DataError, match="other columns"):
        published({**{n: v for n, v in APRIL.items() if n != "ill"}, "pain": APRIL["ill"]}, record, other)
    record.chmod(0o644)
    with pytest.raises(DataError, match="other users"):
        published(APRIL, record)
    record.chmod(0o600)
    for text in (MARK, "[]", '{"version": 1}', whole.replace('"people": {', f'"people": {{"{MARK}": 3, ')):
        record.write_text(text)
        with pytest.raises(DataError) as error:
            published(APRIL, record)
        assert error.value.code == "record.unusable"
        assert MARK not in str(error.value)
    with pytest.raises(DataError, match="1 rows have a person in `who` who has another row") as error:
        published({**APRIL, "who": [*"accdef"]}, tmp_path / "new")
    with pytest.raises(ShoalError) as error:
        published(APRIL, tmp_path / "none" / "record")
    assert error.value.code == "output.unwritable"
    spark = recipe_of(engine={"name": "spark"})
    with pytest.raises(RecipeError, match="the engine spark"):
        published(MARCH, tmp_path / "new", spark)
