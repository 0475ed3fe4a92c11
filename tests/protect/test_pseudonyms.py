"""Pseudonyms: HMAC-SHA-256 by hand, and keys that no message shows."""

import os

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import shoal
from shoal.errors import DataError, RecipeError
from shoal.protect.pseudonyms import key_of, pseudonym, pseudonyms
from tests.reference import protection as reference

KEY = "correct horse battery staple 0123"


def asked(**secrets):
    columns = {"age": {"role": "quasi"}, "name": {"role": "identifier", "pseudonym": True}}
    return shoal.Recipe.from_dict({"columns": columns, "privacy": {"k": 2}, "secrets": secrets})


@given(st.text(), st.binary(min_size=32, max_size=100))
def test_pseudonyms_are_hmacs(text, key):
    text = text.encode("utf-8", "replace").decode()
    assert pseudonym(text, key) == reference.hmac_sha256(key, text.encode())


def test_a_published_vector():
    # RFC 4231, test case 2.
    expected = "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"
    assert pseudonym("what do ya want for nothing?", b"Jefe") == expected


def test_names_are_compared_trimmed_and_in_nfc():
    table = pl.DataFrame({"name": [" Zoe\u0301 ", None, "Ann"]})
    found = pseudonyms(table, "name", KEY.encode()).to_list()
    assert found == [pseudonym("Zo\u00e9", KEY.encode()), None, pseudonym("Ann", KEY.encode())]


def test_repeated_identifiers_are_refused():
    with pytest.raises(DataError, match="1 of 3 identifiers repeat") as caught:
        pseudonyms(pl.DataFrame({"name": ["Ann", "Ann ", "Bob"]}), "name", KEY.encode())
    assert "Ann" not in str(caught.value)


def test_keys_from_a_file_and_from_the_environment_are_the_same(tmp_path, monkeypatch):
    (tmp_path / "key").write_text(KEY + "\n")
    monkeypatch.setenv("SHOAL_TEST_KEY", KEY)
    assert (
        key_of(asked(key_file=str(tmp_path / "key")))
        == key_of(asked(key_env="SHOAL_TEST_KEY"))
        == KEY.encode()
    )


@pytest.mark.parametrize(
    ("secrets", "message"),
    [
        ({}, "There is no key"),
        ({"key_file": "nowhere/key"}, "cannot be read"),
        ({"key_env": "SHOAL_TEST_UNSET"}, "is not set"),
        ({"key_env": "SHOAL_TEST_SHORT"}, "has 9 bytes; at least 32"),
    ],
)
def test_missing_and_short_keys_are_refused(secrets, message, monkeypatch):
    monkeypatch.setenv("SHOAL_TEST_SHORT", "short key")
    with pytest.raises(RecipeError, match=message) as caught:
        key_of(asked(**secrets))
    assert caught.value.code == "recipe.key"
    assert "short key" not in str(caught.value)


def test_the_key_is_nowhere_in_a_release(tmp_path, monkeypatch):
    monkeypatch.setitem(os.environ, "SHOAL_TEST_KEY", KEY)
    table = pl.DataFrame({"age": [30, 31, 50, 51], "name": ["Ann", "Bob", "Cy", "Di"]})
    recipe = asked(key_env="SHOAL_TEST_KEY")
    shoal.anonymize(table, recipe).write(tmp_path / "out.csv", report=True)
    written = [file.read_text() for file in tmp_path.iterdir()]
    assert len(written) == 3
    for text in written:
        assert KEY not in text
        assert "SHOAL_TEST_KEY" not in text
    released = pl.read_csv(tmp_path / "out.csv")
    assert set(released["name"]) == {reference.hmac_sha256(KEY.encode(), n.encode()) for n in table["name"]}
