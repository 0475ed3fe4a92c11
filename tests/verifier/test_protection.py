"""The verifier finds what breaks the protection of single columns."""

import polars as pl
import pytest

import shoal
from tests.reference.protection import hmac_sha256

ROWS = 12
RAW = pl.DataFrame(
    {
        "age": [30, 31, 32, 33, 34, 35, 88, 89, 91, 95, 97, 99],
        "name": [f"person {at}" for at in range(ROWS)],
        "visits": [1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6],
        "job": ["cook", "smith"] * 6,
        "note": ["x", "y"] * 6,
    }
)
COLUMNS = {
    "age": {"role": "quasi", "top": 90},
    "name": {"role": "identifier", "pseudonym": True},
    "visits": {"role": "keep", "swap": 50},
    "job": {"role": "keep", "pram": 0.5},
    "note": {"role": "keep"},
}
RECIPE = shoal.Recipe.from_dict({"columns": COLUMNS, "privacy": {"k": 3}})


def released():
    """A sound release, by hand."""
    ages = ["[30, 32]"] * 3 + ["[33, 35]"] * 3 + ["[88, 90]"] * 6
    names = [hmac_sha256(b"key", name.encode()) for name in RAW["name"]]
    return {
        "age": ages,
        "name": names,
        "visits": [2, 1, 1, 3, 2, 4, 3, 5, 4, 6, 5, 6],
        "job": ["cook"] * 9 + ["smith"] * 3,
        "note": ["x", "y"] * 6,
    }


def problems(tmp_path, changes, *, original=True):
    table = released()
    for name, cells in changes.items():
        for at, cell in cells.items():
            table[name][at] = cell
    pl.DataFrame(table, strict=False).write_csv(tmp_path / "out.csv")
    RAW.write_csv(tmp_path / "raw.csv")
    verdict = shoal.verify(tmp_path / "out.csv", RECIPE, original=tmp_path / "raw.csv" if original else None)
    return [problem.code for problem in verdict.problems]


def test_a_sound_release_holds(tmp_path):
    assert problems(tmp_path, {}) == []


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"age": dict.fromkeys(range(6, 12), "[88, 99]")}, "verify.code"),
        ({"age": dict.fromkeys(range(6, 12), "91")}, "verify.code"),
        ({"name": {0: "person 0"}}, "verify.pseudonym"),
        ({"name": {0: "A" * 64}}, "verify.pseudonym"),
        ({"name": {0: released()["name"][1]}}, "verify.pseudonym"),
    ],
)
def test_the_file_alone_shows_it(changes, code, tmp_path):
    assert code in problems(tmp_path, changes, original=False)


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"visits": {0: 6}}, "verify.original_values"),  # a third 6: swapping keeps each value
        ({"job": {0: "judge"}}, "verify.original_values"),
        ({"note": {0: "z"}}, "verify.original_values"),  # a column that was not perturbed
        ({"age": dict.fromkeys(range(6, 12), "[88, 89]")}, "verify.original_match"),
    ],
)
def test_the_original_shows_it(changes, code, tmp_path):
    assert problems(tmp_path, changes, original=False) == []
    assert code in problems(tmp_path, changes)


def test_identifiers_in_clear_are_found_even_in_the_form_of_pseudonyms(tmp_path):
    raw = RAW.with_columns(pl.Series("name", released()["name"]))
    raw.write_csv(tmp_path / "raw.csv")
    pl.DataFrame(released()).write_csv(tmp_path / "out.csv")
    verdict = shoal.verify(tmp_path / "out.csv", RECIPE, original=tmp_path / "raw.csv")
    assert [p.message for p in verdict.problems] == [
        "Column `name` has 12 identifiers of the original in clear."
    ]


@pytest.mark.parametrize(
    ("column", "good", "bad"),
    [
        ({"top": "1990-06-30"}, "[1980-01-01, 1990-06-30]", "[1980-01-01, 1990-07-01]"),
        ({"bottom": "1980-01"}, "[1980-01, 1990-06]", "[1979-12, 1990-06]"),
        ({"kind": "ordinal", "order": ["a", "b", "c"], "top": "b"}, "[a, b]", "[a, c]"),
        ({"kind": "date", "top": "1990"}, "1990", "1991"),
        ({"bottom": 0.5}, "[0.5, 7]", "[0.25, 7]"),
    ],
)
def test_codes_of_every_kind(column, good, bad, tmp_path):
    recipe = shoal.Recipe.from_dict({"columns": {"x": {"role": "quasi", **column}}, "privacy": {"k": 2}})
    for text, codes in ((good, []), (bad, ["verify.code"])):
        pl.DataFrame({"x": [text] * 3}).write_csv(tmp_path / "out.csv")
        verdict = shoal.verify(tmp_path / "out.csv", recipe)
        assert [problem.code for problem in verdict.problems] == codes
