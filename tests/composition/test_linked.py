"""Releases with the same pseudonyms: linked by everyone, and refused when fewer than k people remain."""

import polars as pl
import pytest

import shoal
from shoal.composition.linked import Linkable, linked
from shoal.errors import InfeasibleError, LinkableReleaseWarning, PerturbedAgainWarning

KEY = "a key of more than thirty-two bytes, for tests"


def linkable(pairs):
    return Linkable(
        pl.Series([person for person, _ in pairs], dtype=pl.String), pl.Series([c for _, c in pairs])
    )


def test_people_in_the_same_classes_are_counted_by_hand():
    # a and b are in the same class of both tables; c and d are told apart by the second one.
    first = linkable([("a", 0), ("b", 0), ("c", 1), ("d", 1), (None, 1)])
    second = linkable([("a", 5), ("b", 5), ("c", 5), ("d", 6)])
    found = linked([first, second], 2)
    assert found.to_dict() == {"tables": 2, "k": 1, "rows": 2}


def test_being_in_one_table_only_tells_people_apart():
    found = linked([linkable([("a", 0), ("b", 0), ("c", 0)]), linkable([("a", 0), ("b", 0)])], 2)
    assert found.to_dict() == {"tables": 2, "k": 1, "rows": 1}


def test_tables_without_a_pseudonym_in_common_are_not_linked():
    assert linked([linkable([("a", 0)]), linkable([("b", 0)])], 2) is None
    assert linked([], 2) is None


@pytest.fixture
def raw(tmp_path, monkeypatch):
    monkeypatch.setenv("SHOAL_TEST_KEY", KEY)
    people = pl.DataFrame({"age": range(20, 60), "zip": [at * 7 % 40 for at in range(40)]})
    people = people.with_columns(pl.Series("name", [f"p{at}" for at in range(40)]))
    people.write_csv(tmp_path / "raw.csv")
    return tmp_path / "raw.csv"


def recipe(raw, *quasi):
    columns = {name: {"role": "quasi" if name in quasi else "drop"} for name in ("age", "zip")}
    columns["name"] = {"role": "identifier", "pseudonym": True}
    return shoal.Recipe.from_dict(
        {
            "input": {"path": str(raw)},
            "columns": columns,
            "privacy": {"k": 4},
            "method": {"name": "mondrian"},
            "secrets": {"key_env": "SHOAL_TEST_KEY"},
        }
    )


def test_a_release_that_splits_the_classes_of_an_earlier_one_is_refused(raw, tmp_path):
    shoal.anonymize(recipe(raw, "age"), bound=False).write(tmp_path / "first.csv")
    earlier = tmp_path / "first.csv.manifest.json"
    with pytest.raises(InfeasibleError, match="Pseudonyms link 2 releases") as caught:
        shoal.anonymize(recipe(raw, "zip"), also=[earlier], bound=False)
    assert caught.value.code == "composition.refused"
    with pytest.warns(LinkableReleaseWarning):
        accepted = shoal.anonymize(recipe(raw, "zip"), also=[earlier], accept_composition=True, bound=False)
    assert accepted.composition["linked"]["k"] < 4


def test_the_same_classes_again_are_warned_of_only(raw, tmp_path):
    shoal.anonymize(recipe(raw, "age"), bound=False).write(tmp_path / "first.csv")
    with pytest.warns(LinkableReleaseWarning, match="the same person"):
        again = shoal.anonymize(recipe(raw, "age"), also=[tmp_path / "first.csv.manifest.json"], bound=False)
    assert again.composition["linked"] == {"tables": 2, "k": 5, "rows": 0}


def test_another_key_does_not_link(raw, tmp_path, monkeypatch):
    shoal.anonymize(recipe(raw, "age"), bound=False).write(tmp_path / "first.csv")
    monkeypatch.setenv("SHOAL_TEST_KEY", KEY + "!")
    again = shoal.anonymize(recipe(raw, "age"), also=[tmp_path / "first.csv.manifest.json"], bound=False)
    assert "linked" not in again.composition


def test_a_column_that_is_perturbed_again_is_warned_of(raw, tmp_path):
    asked = recipe(raw, "age").changed(
        {"columns": {"zip": {"role": "keep", "swap": 5, "accept": ["unique"]}}}
    )
    shoal.anonymize(asked, bound=False).write(tmp_path / "first.csv")
    with pytest.warns(PerturbedAgainWarning, match="have `zip`"):
        again = shoal.anonymize(
            asked, also=[tmp_path / "first.csv.manifest.json"], bound=False, accept_composition=True
        )
    assert again.composition["perturbed"] == ["zip"]


def test_other_codes_cannot_be_checked(raw, tmp_path):
    shoal.anonymize(recipe(raw, "age"), bound=False).write(tmp_path / "first.csv")
    coded = recipe(raw, "age").changed({"columns": {"age": {"top": 50}}})
    with pytest.raises(shoal.ShoalError, match="other top or bottom codes of `age`"):
        shoal.anonymize(coded, also=[tmp_path / "first.csv.manifest.json"], bound=False)
