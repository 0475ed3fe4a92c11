"""Dangers that pass every promise: found with numbers, refused or warned of, accepted by name, and listed."""

import json
import random
import re
import tomllib
import warnings

import polars as pl
import pytest
from typer.testing import CliRunner

import shoal
from shoal.cli.main import app
from shoal.dangers import sources
from shoal.engine import local
from shoal.errors import PrivacyWarning, ShoalError


def anonymized(table, **how):
    """Anonymize; return the release and the texts of all privacy warnings."""
    given = {"bound": False, **({} if "recipe" in how else {"k": 2, "method": "mondrian"}), **how}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        release = shoal.anonymize(pl.DataFrame(table), **given)
    return release, [str(w.message) for w in caught if issubclass(w.category, PrivacyWarning)]


def refused(table, **how):
    """Return the error that a table is refused with."""
    with pytest.raises(ShoalError) as error:
        anonymized(table, **how)
    return error.value


def found(release, code):
    """Return the dangers of one kind, as JSON has them."""
    return [danger for danger in release.to_dict()["dangers"] if danger["code"] == f"danger.{code}"]


def only(texts, words):
    """Return the one text that has these words."""
    (text,) = [text for text in texts if words in text]
    return text


def numbers(n):
    return [f"no {i}" for i in range(n)]


def partly_unique(n, own):
    """Give each of the first rows a value of its own and all others one value."""
    return [f"no {i}" if i < own else "same" for i in range(n)]


AGES = [20 + i // 2 for i in range(40)]


# --- A column that names people ---


@pytest.mark.parametrize(
    "how",
    [
        {},
        {"method": "nh"},
        {"method": "anatomy", "sensitive": ["ill"]},
        {"quasi": ["age", "sex"], "views": "equal"},
    ],
    ids=["classes", "nh", "anatomy", "views"],
)
def test_a_kept_column_that_is_unique_is_refused(how):
    table = {"age": AGES, "sex": ["f", "m"] * 20, "ill": ["a", "b", "c", "d"] * 10, "ssn": numbers(40)}
    roles = {"quasi": ["age"], "keep": ["ssn"], **how}
    used = [*roles["quasi"], *roles["keep"], *roles.get("sensitive", [])]
    error = refused({name: table[name] for name in used}, **roles)
    assert (error.code, error.exit_status) == ("danger.unique_kept", 2)
    assert "`ssn`" in error.message
    assert "all 40 rows" in error.message
    assert 'accept = { unique = "REASON" } in [columns.ssn]' in error.hint
    assert "no 1" not in str(error)


def test_all_unique_kept_columns_are_named_at_once():
    table = {"age": AGES, "ssn": numbers(40), "mail": numbers(40)}
    error = refused(table, quasi=["age"], keep=["ssn", "mail"])
    assert [fault.message.split("`")[1] for fault in error.faults] == ["ssn", "mail"]


def test_an_accepted_unique_column_is_released_and_listed_as_accepted(tmp_path):
    table = {"age": AGES, "ssn": numbers(40)}
    release, texts = anonymized(table, quasi=["age"], keep=["ssn"], accept={"ssn": ["unique"]})
    assert texts == []
    (danger,) = found(release, "unique")
    assert danger["accepted"]
    assert danger["columns"] == ["ssn"]
    assert "all 40 rows" in danger["message"]
    release.write(tmp_path / "out.csv", report=True)
    manifest = json.loads((tmp_path / "out.csv.manifest.json").read_text(encoding="utf-8"))
    assert manifest["dangers"] == [danger]
    assert manifest["recipe"]["columns"]["ssn"]["accept"] == ["unique"]
    page = (tmp_path / "out.csv.report.html").read_text(encoding="utf-8")
    assert "Accepted by the publisher." in page
    assert "a value that no other row has in all 40 rows" in page


def test_a_kept_column_is_no_better_than_an_identifier_above_half_of_the_rows():
    table = {"age": AGES, "code": partly_unique(40, 20)}
    error = refused(table, quasi=["age"], keep=["code"])
    assert error.code == "danger.unique"
    assert "has a value that no other row has in 20 of 40 rows" in error.message
    error = refused({**table, "code": partly_unique(40, 21)}, quasi=["age"], keep=["code"])
    assert error.code == "danger.unique_kept"
    assert "21 of 40 rows" in error.message


def test_a_tenth_of_unique_rows_is_no_danger():
    table = {"age": AGES, "code": partly_unique(40, 4)}
    release, texts = anonymized(table, quasi=["age"], keep=["code"])
    assert (texts, release.dangers) == ([], [])
    error = refused({**table, "code": partly_unique(40, 5)}, quasi=["age"], keep=["code"])
    assert error.code == "danger.unique"
    assert "fewer than 10 of 40 rows" in error.message


def test_the_refusal_begins_at_twenty_rows():
    small = {"age": AGES[:19], "ssn": numbers(19)}
    assert anonymized(small, quasi=["age"], keep=["ssn"])[1] == []
    large = {"age": AGES[:20], "ssn": numbers(20)}
    assert refused(large, quasi=["age"], keep=["ssn"]).code == "danger.unique_kept"


def test_a_sensitive_column_that_is_unique_is_refused():
    table = {"age": AGES, "pay": partly_unique(40, 30)}
    error = refused(table, quasi=["age"], sensitive=["pay"])
    assert error.code == "danger.unique"
    assert "Sensitive column `pay` has a value that no other row has in 30 of 40 rows" in error.message
    accepted, texts = anonymized(table, quasi=["age"], sensitive=["pay"], accept={"pay": ["unique"]})
    assert not [text for text in texts if "no other row" in text]
    assert [danger["accepted"] for danger in found(accepted, "unique")] == [True]


def test_a_value_that_one_person_has_in_several_rows_is_still_their_own():
    table = {"who": [i // 2 for i in range(40)], "age": [20 + i % 5 for i in range(40)]}
    table["card"] = [f"no {who}" for who in table["who"]]
    error = refused(table, quasi=["age"], keep=["card"], subject="who")
    assert error.code == "danger.unique_kept"
    assert "no other person has in all 40 rows" in error.message


def test_one_number_in_two_spellings_is_one_value():
    spelled = [text for i in range(20) for text in (f"{i}", f"{i}.0")]
    assert anonymized({"age": AGES, "n": spelled}, quasi=["age"], keep=["n"])[0].released == 40


def test_a_column_that_becomes_unique_as_rows_are_left_out_is_refused():
    ages = [None if 20 <= i < 30 else 20 + i // 4 for i in range(40)]
    table = pl.DataFrame({"age": ages, "code": partly_unique(40, 18)})
    recipe = shoal.Recipe.from_dict(
        {
            "columns": {"age": {"role": "quasi"}, "code": {"role": "keep"}},
            "privacy": {"k": 2, "missing": "suppress", "max_suppressed": 0.5},
            "method": {"name": "mondrian"},
        }
    )
    error = refused(table, recipe=recipe)
    assert error.code == "danger.unique_kept"
    assert "18 of 30 rows" in error.message


# --- A column that gives another away ---

LEVELS = [i // 3 for i in range(60)]  # twenty levels of three rows: no class of six has one alone
DEGREES = [f"degree {level:02}" for level in LEVELS]


def test_a_kept_column_that_gives_a_generalized_one_away_is_refused():
    table = {"education": DEGREES, "education-num": LEVELS}
    roles = {"quasi": ["education"], "keep": ["education-num"], "k": 6}
    error = refused(table, **roles)
    assert (error.code, error.exit_status) == ("danger.recoverable", 2)
    assert "From `education-num`" in error.message
    assert "the generalized `education` of all 60 rows" in error.message
    assert 'accept = { recoverable = "REASON" } in [columns.education-num]' in error.hint
    assert "degree" not in str(error)
    release, texts = anonymized(table, **roles, accept={"education-num": ["recoverable"]})
    assert texts == []
    assert found(release, "recoverable")[0]["columns"] == ["education-num", "education"]


def test_a_rule_with_exceptions_gives_away_too():
    levels = [i // 20 for i in range(200)]
    wrong = {0: 9, 20: 0, 40: 1}  # one of twenty rows in three of ten levels
    numbers = [wrong.get(i, level) for i, level in enumerate(levels)]
    table = {"education": [f"degree {level}" for level in levels], "num": numbers}
    error = refused(table, quasi=["education"], keep=["num"], k=30)
    assert error.message.startswith("From `num`")
    assert "all but fewer than 10 of 200 rows" in error.message


@pytest.mark.parametrize("output", [{"bounds_as": "columns"}, {"values": "microaggregate"}, {}])
def test_a_column_that_gives_a_number_away_is_found_in_every_shape(output):
    recipe = shoal.Recipe.from_dict(
        {
            "columns": {"age": {"role": "quasi"}, "band": {"role": "keep"}},
            "privacy": {"k": 6},
            "method": {"name": "mondrian"},
            "output": output,
        }
    )
    error = refused({"age": LEVELS, "band": DEGREES}, recipe=recipe)
    assert error.code == "danger.recoverable"
    assert "all 60 rows" in error.message


def test_exact_cells_need_not_be_recovered():
    table = {"age": [20 + i // 20 for i in range(60)], "band": [i // 20 for i in range(60)]}
    release, texts = anonymized(table, quasi=["age"], keep=["band"])
    assert release.loss.il == 0
    assert texts == []


def test_columns_that_agree_by_chance_are_no_danger():
    draw = random.Random(3)
    table = {
        "sex": [draw.choice("fm") for _ in range(400)],
        "ward": [i // 2 for i in range(400)],  # both rows of a ward have one sex half of the time
        "room": [draw.randrange(40) for _ in range(400)],
    }
    release, texts = anonymized(table, quasi=["sex"], keep=["ward", "room"], k=300)
    assert release.table["sex"].unique().to_list() == ["{f, m}"]
    assert texts == []


def digits(rows):
    """Three columns with one digit each, and a code of all three."""
    return {
        "a": [i % 4 for i in rows],
        "b": [i // 4 % 4 for i in rows],
        "c": [i // 16 % 4 for i in rows],
        "code": [f"c{i % 64:02}" for i in rows],
    }


def test_two_kept_columns_that_give_one_away_together_are_refused():
    rows = [i % 16 for i in range(640)]
    table = {name: values for name, values in digits(rows).items() if name != "c"}
    roles = {"quasi": ["code"], "keep": ["a", "b"], "k": 50}
    error = refused(table, **roles)
    assert len(error.faults) == 1
    assert "From `a` and `b`" in error.message
    assert "all 640 rows" in error.message
    line = 'accept = { recoverable = "REASON" } in [columns.%s]'
    assert f"{line % 'a'} and {line % 'b'}" in error.hint
    assert refused(table, **roles, accept={"a": ["recoverable"]}).code == "danger.recoverable"
    both = {"a": ["recoverable"], "b": ["recoverable"]}
    release, texts = anonymized(table, **roles, accept=both)
    assert (texts, len(found(release, "recoverable"))) == ([], 1)


def test_three_kept_columns_that_give_one_away_together_are_refused():
    # Any two digits leave four codes open; all three name it.
    roles = {"quasi": ["code"], "keep": ["a", "b", "c"], "k": 20}
    error = refused(digits(range(640)), **roles)
    assert [fault.message.split(",")[0] for fault in error.faults] == ["From `a`"]
    assert error.message.startswith("From `a`, `b` and `c`, released unchanged")
    assert "all 640 rows" in error.message
    accept = {name: {"recoverable": "the codes are public"} for name in "abc"}
    release, _ = anonymized(digits(range(640)), **roles, accept=accept)
    assert [danger["reason"] for danger in found(release, "recoverable")] == ["the codes are public"]


def test_a_column_that_reveals_another_alone_is_not_reported_again_with_others():
    levels = [i // 20 for i in range(200)]
    table = {"degree": [f"d{level}" for level in levels], "num": levels, "side": ["left", "right"] * 100}
    error = refused(table, quasi=["degree"], keep=["num", "side"], k=30)
    assert [fault.message.split(",")[0] for fault in error.faults] == ["From `num`"]


def test_combinations_are_searched_as_far_as_rows_and_columns_allow():
    recipe = shoal.Recipe.from_roles(quasi=["q"], keep=["a", "b", "c", "d"], k=2)
    numbers = [len(sources(1, rows, recipe)) for rows in (500_000, 500_001, 833_333, 833_334)]
    assert numbers == [4 + 6 + 4, 4 + 6, 4 + 6, 4]  # 5,000,000 = 500,000 x (6 + 4) or 833,333 x 6


def test_a_sensitive_column_that_says_the_same_as_a_quasi_column_is_refused_once():
    table = {"education": DEGREES, "grade": LEVELS}
    error = refused(table, quasi=["education"], sensitive=["grade"], k=6)
    assert [fault.code for fault in error.faults] == ["danger.duplicate"]
    assert "`grade` duplicates quasi column `education` in all 60 rows" in error.message
    accept = {"grade": ["duplicate"]}
    release, _ = anonymized(table, quasi=["education"], sensitive=["grade"], k=6, accept=accept)
    assert found(release, "recoverable") == []


def test_a_sensitive_copy_without_repeated_values_is_refused():
    table = {"pay": [1000 + 7 * i for i in range(40)], "salary": [1000 + 7 * i for i in range(40)]}
    error = refused(table, quasi=["pay"], sensitive=["salary"], accept={"salary": ["unique"]})
    assert [fault.code for fault in error.faults] == ["danger.duplicate"]
    assert "`salary` duplicates quasi column `pay` in all 40 rows" in error.message


def test_anatomy_refuses_a_sensitive_copy_too():
    table = {"degree": [f"d{i % 10}" for i in range(60)], "grade": [i % 10 for i in range(60)]}
    error = refused(table, quasi=["degree"], sensitive=["grade"], method="anatomy")
    assert "`grade` duplicates quasi column `degree` in all 60 rows" in error.message


# --- Refusing and accepting ---


def test_everything_that_must_be_accepted_is_refused_at_once_before_any_work(monkeypatch):
    monkeypatch.setattr(local, "run", None)  # nothing is clustered
    table = {"education": DEGREES, "num": LEVELS, "copy": DEGREES, "ssn": numbers(60)}
    error = refused(table, quasi=["education"], keep=["num", "ssn"], sensitive=["copy"], k=6)
    assert [fault.code for fault in error.faults] == [
        "danger.unique_kept", "danger.duplicate", "danger.recoverable",
    ]  # fmt: skip
    assert [fault.message.split("`")[1] for fault in error.faults] == ["ssn", "copy", "num"]


def test_dependencies_are_refused_at_once_when_the_classes_are_known():
    table = {"education": DEGREES, "num": LEVELS, "year": [1990 + level for level in LEVELS]}
    error = refused(table, quasi=["education"], keep=["num", "year"], k=6)
    assert [fault.message.split(",")[0] for fault in error.faults] == ["From `num`", "From `year`"]


def test_a_hint_shows_the_whole_line_for_a_column():
    # Fifty of the rows are unique in `id`, so that it also names the degree of the ten that repeat.
    table = {"degree": [f"d{i // 2}" for i in range(40)], "id": [i // 2 for i in range(40)], "n": numbers(40)}
    accept = {"id": {"alike": 'a, "b"'}}
    error = refused(table, quasi=["degree"], keep=["id", "n"], k=4, accept=accept)
    hints = [fault.hint for fault in error.faults]
    assert any(
        r'accept = { alike = "a, \"b\"", recoverable = "REASON" } in [columns.id]' in hint for hint in hints
    )


def test_a_hint_quotes_a_column_s_name_where_toml_needs_it():
    error = refused({"age": AGES, "my id": numbers(40)}, quasi=["age"], keep=["my id"])
    line = re.search(r"accept = (.*) in \[columns\.(.*)\]", error.hint)
    read = tomllib.loads(f"[columns.{line[2]}]\naccept = {line[1]}")
    assert read == {"columns": {"my id": {"accept": {"unique": "REASON"}}}}


def test_a_reason_is_in_manifest_report_and_json(tmp_path):
    table = {"education": DEGREES, "num": LEVELS}
    release, texts = anonymized(
        table,
        quasi=["education"],
        keep=["num"],
        k=6,
        accept={"num": {"recoverable": "the <code> book is public"}},
    )
    assert texts == []
    release.write(tmp_path / "out.csv", report=True)
    manifest = json.loads((tmp_path / "out.csv.manifest.json").read_text(encoding="utf-8"))
    (danger,) = manifest["dangers"]
    assert (danger["accepted"], danger["reason"]) == (True, "the <code> book is public")
    assert manifest["recipe"]["columns"]["num"]["accept"] == {"recoverable": "the <code> book is public"}
    page = (tmp_path / "out.csv.report.html").read_text(encoding="utf-8")
    assert "Reason: the &lt;code&gt; book is public" in page
    recipe = shoal.Recipe.load(tmp_path / "out.csv.manifest.json")
    verdict = shoal.verify(tmp_path / "out.csv", recipe)
    assert verdict.holds
    assert "The recipe accepts `recoverable` of column `num`: the <code> book is public" in verdict.remarks


def test_what_is_accepted_without_a_reason_says_so(tmp_path):
    table = {"education": DEGREES, "num": LEVELS}
    for given in (["recoverable"], {"recoverable": " "}, "recoverable"):
        release, _ = anonymized(table, quasi=["education"], keep=["num"], k=6, accept={"num": given})
        assert [(d["accepted"], d["reason"]) for d in found(release, "recoverable")] == [(True, None)]
    release.report(tmp_path / "page.html")
    assert "No reason was given." in (tmp_path / "page.html").read_text(encoding="utf-8")


def test_a_danger_of_two_columns_has_both_reasons():
    rows = [i % 16 for i in range(640)]
    table = {name: values for name, values in digits(rows).items() if name != "c"}
    accept = {"a": {"recoverable": "a is public"}, "b": {"recoverable": "b is known"}}
    release, _ = anonymized(table, quasi=["code"], keep=["a", "b"], k=50, accept=accept)
    assert found(release, "recoverable")[0]["reason"] == "a is public; b is known"


def test_flags_replace_what_a_recipe_accepts():
    recipe = shoal.Recipe.from_dict(
        {
            "columns": {"age": {"role": "quasi"}, "n": {"role": "keep", "accept": ["unique"]}},
            "privacy": {"k": 2},
        }
    )
    with_reason = recipe.changed({"columns": {"n": {"accept": {"recoverable": "known"}}}})
    assert with_reason.columns["n"].accepted == {"recoverable": "known"}
    assert with_reason.changed({"columns": {"n": {"accept": ["alike"]}}}).columns["n"].accepted == {
        "alike": ""
    }
    assert shoal.Recipe.from_dict(tomllib.loads(with_reason.to_toml())) == with_reason


@pytest.mark.parametrize(
    ("accept", "words"),
    [
        ({"danger": "x"}, "'unique'"),
        ({"unique": 1}, "valid string"),
        ({"unique": "x" * 501}, "500"),
        ("unique", "list"),
    ],
    ids=["name", "number", "long", "text"],
)
def test_a_bad_accept_is_one_fault_with_an_example(accept, words):
    with pytest.raises(ShoalError) as error:
        shoal.Recipe.from_dict(
            {"columns": {"my age": {"role": "quasi", "accept": accept}}, "privacy": {"k": 2}}
        )
    (fault,) = error.value.faults
    assert fault.message.startswith("`columns.my age.accept` in the recipe should")
    assert words in fault.message
    assert 'accept = { unique = "REASON" } in [columns."my age"]' in fault.hint


# --- One person in several rows ---


def test_an_identifier_that_repeats_without_a_subject_is_warned_of():
    table = {"who": numbers(20) * 2, "age": list(range(20)) * 2}
    release, texts = anonymized(table, quasi=["age"], identifiers=["who"])
    text = only(texts, "Identifier `who` repeats: 40 rows have 20 different values")
    assert "In all 20 classes one value has more than half of the rows; in all 20 classes it has all" in text
    assert "role subject" in text
    assert found(release, "repeated")[0]["columns"] == ["who"]
    assert anonymized(table, quasi=["age"], identifiers=["who"], accept={"who": ["repeated"]})[1] == []


def test_a_name_that_two_people_share_is_not_worth_a_warning():
    table = {"name": ["no 1", *numbers(39)], "age": [20 + i // 4 for i in range(40)]}
    assert anonymized(table, quasi=["age"], identifiers=["name"])[1] == []


def test_namesakes_are_told_from_people_with_several_rows():
    # Half of the names stand twice; in the first table their rows have nothing else in common.
    name = numbers(30) + numbers(30)
    strangers = {"name": name, "row": numbers(60), "age": [i * 7 % 60 for i in range(60)]}
    roles = {"quasi": ["age"], "identifiers": ["name", "row"], "k": 5}
    assert anonymized(strangers, **roles)[1] == []
    visits = {**strangers, "age": [i % 30 for i in range(60)]}
    assert "60 rows have 30 different values" in only(
        anonymized(visits, **roles)[1], "Identifier `name` repeats"
    )


def test_a_class_that_is_mostly_one_person_s_is_warned_of():
    # 96 of 100 rows at the age of 30 are one person's; at every other age two people have a row each.
    who = ["a"] * 96 + ["b", "c", "d", "e"] + [f"p{i}" for i in range(40)]
    table = {"who": who, "age": [30] * 100 + [40 + i // 2 for i in range(40)]}
    release, texts = anonymized(table, quasi=["age"], subject="who")
    text = only(texts, "One person (`who`) has more than half of the rows")
    assert "fewer than 10 of 21 classes" in text
    assert "96 %" in text
    assert found(release, "dominated")[0]["columns"] == ["who"]


# --- Everybody alike ---


def test_classes_that_share_a_value_are_counted_by_rows_and_values():
    ill = ["a"] * 10 + ["b"] * 4 + ["a", "c"] * 5 + ["a", "b", "c", "d"] * 4
    table = {"age": [20] * 10 + [30] * 4 + [40] * 10 + [50] * 16, "ill": ill}
    release, texts = anonymized(table, quasi=["age"], sensitive=["ill"], k=4)
    text = only(texts, "2 of 4 classes share one value of `ill`")
    assert "(14 rows; 2 of its 4 values)" in text
    assert "1 of them share its most frequent value, 1 a rarer one" in text
    assert len(texts) == len(found(release, "alike")) == 1


# --- Earlier releases in the folder ---


def released(folder, name, quasi=("age", "sex"), **how):
    table = {"age": AGES, "sex": ["f", "m"] * 20, "ill": ["a", "b", "c", "d"] * 10}
    dropped = [column for column in ("age", "sex") if column not in quasi]
    accept = {"ill": ["recoverable"]}  # of two illnesses only women have one, only men the other
    release, _ = anonymized(
        table, quasi=list(quasi), sensitive=["ill"], drop=dropped, k=20, accept=accept, **how
    )
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        release.write(folder / name)
    return release, [str(w.message) for w in caught]


def test_earlier_releases_in_the_folder_are_warned_of(tmp_path):
    assert released(tmp_path, "first.csv")[1] == []
    release, texts = released(tmp_path, "second.csv", quasi=["age"])
    assert "first.csv.manifest.json" in only(texts, "another release with the same quasi columns")
    assert len(found(release, "earlier")) == 1
    _, texts = released(tmp_path, "third.csv", quasi=["sex"])
    assert "first.csv.manifest.json" in only(texts, "another release with the same quasi columns")


def test_a_release_that_is_replaced_is_not_an_earlier_one(tmp_path):
    released(tmp_path, "first.csv")
    assert released(tmp_path, "first.csv")[1] == []


def test_a_release_that_was_checked_is_not_warned_of(tmp_path):
    released(tmp_path, "first.csv")
    manifest = tmp_path / "first.csv.manifest.json"
    release, texts = released(tmp_path, "second.csv", also=[manifest], accept_composition=True)
    assert (texts, found(release, "earlier")) == ([], [])


def test_an_earlier_release_is_accepted_with_the_composition(tmp_path):
    released(tmp_path, "first.csv")
    release, texts = released(tmp_path, "second.csv", accept_composition=True)
    assert texts == []
    assert [danger["accepted"] for danger in found(release, "earlier")] == [True]


def test_a_manifest_does_not_depend_on_what_lies_beside_it(tmp_path):
    released(tmp_path, "first.csv")
    released(tmp_path, "second.csv")
    texts = [
        (tmp_path / f"{name}.csv.manifest.json").read_text(encoding="utf-8") for name in ("first", "second")
    ]
    assert texts[0] == texts[1]


def test_releases_of_other_tables_and_strange_files_are_left_alone(tmp_path):
    other = {"columns": {"age": {"role": "quasi"}, **{f"x{i}": {"role": "keep"} for i in range(5)}}}
    (tmp_path / "other.csv.manifest.json").write_text(json.dumps({"recipe": other}), encoding="utf-8")
    (tmp_path / "broken.manifest.json").write_text('{"recipe": ', encoding="utf-8")
    (tmp_path / "list.manifest.json").write_text("[1]", encoding="utf-8")
    assert released(tmp_path, "first.csv")[1] == []


# --- Everywhere ---


def test_dangers_do_not_depend_on_the_order_of_the_rows():
    draw = random.Random(0)
    rows = [(f"n{i % 30}", draw.randrange(20, 60), draw.choice("abc"), i // 4) for i in range(80)]
    tables = [dict(zip(("who", "age", "ill", "code"), zip(*order, strict=True), strict=True))
              for order in (rows, rows[::-1], sorted(rows))]  # fmt: skip
    roles = {"quasi": ["age"], "sensitive": ["ill"], "identifiers": ["who"], "keep": ["code"]}
    listed = [anonymized(table, **roles)[0].to_dict()["dangers"] for table in tables]
    assert listed[0] == listed[1] == listed[2]
    assert {danger["code"] for danger in listed[0]} >= {"danger.repeated"}


def test_a_danger_of_one_view_says_which(tmp_path):
    table = {"age": AGES, "degree": [f"d{i // 10}" for i in range(40)], "ill": ["a", "b", "c", "d"] * 10}
    table["pay"] = partly_unique(40, 30)
    release, texts = anonymized(
        table, quasi=["degree", "age"], sensitive=["ill"], keep=["pay"], accept={"pay": ["unique"]},
        views=[["degree"], ["age"]], accept_composition=True,
    )  # fmt: skip
    assert found(release, "unique")[0]["message"].startswith("View 1: Kept column `pay`")
    release.write(tmp_path / "out.csv")
    manifest = json.loads((tmp_path / "out.csv.manifest.json").read_text(encoding="utf-8"))
    assert manifest["dangers"] == release.to_dict()["dangers"]
    assert texts == []


def test_the_command_refuses_takes_and_lists_a_danger(tmp_path):
    source = tmp_path / "people.csv"
    rows = [f"{age},{code}" for age, code in zip(AGES, numbers(40), strict=True)]
    source.write_text("\n".join(["age,ssn", *rows]) + "\n", encoding="utf-8")
    asked = ["anonymize", source, "--quasi", "age", "--keep", "ssn", "--k", "2", "--method", "mondrian"]
    command = [str(part) for part in [*asked, "-o", tmp_path / "out.csv", "--no-bound"]]
    result = CliRunner().invoke(app, command)
    assert result.exit_code == 2
    assert "error [danger.unique_kept]" in result.stderr
    assert "--accept ssn=unique:REASON" in result.stderr
    assert not (tmp_path / "out.csv").exists()
    result = CliRunner().invoke(app, [*command, "--accept", "ssn=unique"])
    assert result.exit_code == 0, result.stderr
    assert "ACCEPTED: Kept column `ssn`" in result.stdout
    assert "No reason was given." in result.stdout
    assert "warning" not in result.stderr
    result = CliRunner().invoke(app, [*command, "--accept", "ssn=unique:a = row number", "--force"])
    assert result.exit_code == 0, result.stderr
    assert "identifier does. Reason: a = row number\n" in result.stdout
    result = CliRunner().invoke(app, [*command, "--accept", "ssn=unique", "--json", "--force"])
    assert [danger["code"] for danger in json.loads(result.stdout)["dangers"]] == ["danger.unique"]


def test_a_danger_that_accept_does_not_know_is_a_fault():
    with pytest.raises(ShoalError, match=r"columns\.age\.accept") as error:
        shoal.Recipe.from_dict(
            {"columns": {"age": {"role": "quasi", "accept": ["danger"]}}, "privacy": {"k": 2}}
        )
    assert error.value.code == "recipe.invalid"
    assert "'unique'" in error.value.message


def test_accept_knows_every_danger_of_a_column():
    from typing import get_args

    from shoal.dangers import DANGERS
    from shoal.recipe.sections import Danger

    assert {f"danger.{name}" for name in get_args(Danger)} == set(DANGERS) - {"danger.earlier"}


def test_an_extension_that_would_be_unique_is_refused():
    changes = {"method": {"name": "mondrian"}}
    recipe = shoal.Recipe.from_roles(quasi=["age"], keep=["code"], k=2, changes=changes)
    earlier = pl.DataFrame({"age": [1, 1, 2, 2] * 2, "code": ["x"] * 8})
    new = pl.DataFrame({"age": [1, 2] * 10, "code": numbers(20)})
    release, _ = anonymized(earlier, recipe=recipe)
    with pytest.raises(ShoalError) as error:
        shoal.extend(release, new, recipe)
    assert error.value.code == "danger.unique_kept"
