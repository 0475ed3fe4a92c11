"""Kinds, headers and forms of values: each by an example worked out by hand."""

from __future__ import annotations

import random

import polars as pl
import pytest

import shoal
from shoal.inspection.headers import meanings
from shoal.inspection.national import is_card, is_iban, national_number
from shoal.inspection.source import has_header

RNG = random.Random(5)


def column(values, name="v1"):
    (found,) = shoal.inspect(pl.DataFrame({name: values, "other": [0, 1] * (len(values) // 2)})).columns[:1]
    return found


@pytest.mark.parametrize(
    ("values", "kind", "precision"),
    [
        ([f"{year}/{month:02d}" for year in range(1950, 1970) for month in (1, 9)], "date", "month"),
        ([f"{month:02d}.{year}" for year in range(1950, 1970) for month in (1, 9)], "date", "month"),
        ([str(1930 + at % 40) for at in range(200)], "date", "year"),
        ([f"{1 + at % 28}.{1 + at % 12}.{1950 + at % 50}" for at in range(200)], "date", "day"),
        ([f"19{50 + at % 50}-03-{1 + at % 28:02d}" for at in range(200)], "date", "day"),
        (RNG.choices(range(1, 11), [9, 1, 7, 3, 2, 8, 1, 4, 6, 2], k=200), "categorical", None),
        (list(range(1, 11)) * 20, "categorical", None),
        (RNG.choices([1, 2], k=200), "categorical", None),
        (RNG.choices([1.0, 2.0, 3.0, None], k=200), "categorical", None),
        ([f"{RNG.randint(1, 99):02d}" for _ in range(200)], "categorical", None),
        (RNG.choices([1111, 2310, 2341, 5223, 7126, 9112, 9629], k=200), "categorical", None),
        ([round(RNG.gauss(45, 12)) for _ in range(400)], "numeric", None),
        ([round(RNG.gauss(170, 9)) for _ in range(400)], "numeric", None),
        ([RNG.choice([-5, -3, 0, 2, 7]) for _ in range(200)], "numeric", None),
        ([100 * RNG.randint(12, 60) for _ in range(400)], "numeric", None),
        ([f"{RNG.random():.3f}" for _ in range(200)], "numeric", None),
        ([True, False] * 100, "categorical", None),
    ],
)
def test_kinds(values, kind, precision):
    found = column(values)
    assert (found.kind, found.precision) == (kind, precision)
    assert found.kind_reason


def test_a_name_decides_where_integers_could_be_either():
    values = RNG.choices(range(1, 11), k=200)
    assert [column(values, name).kind for name in ("region", "number of rooms")] == ["categorical", "numeric"]


@pytest.mark.parametrize(
    ("header", "meaning"),
    [
        ("Date of birth", "birth date"), ("geb_datum", "birth date"), ("FechaNacimiento", "birth date"),
        ("date_de_naissance", "birth date"), ("Geschlecht", "sex"), ("płeć", "sex"),
        ("Wohnpostleitzahl", "postcode"), ("codigo_postal", "postcode"), ("patient_name", "name"),
        ("city_name", "place"), ("Téléphone", "phone"), ("customerEmail", "e-mail"),
        ("Kundennummer", "record number"), ("job_id", "occupation"), ("monthly_income", "money"),
        ("Hauptdiagnose", "diagnosis"), ("Bemerkungen", "free text"),
    ],
)  # fmt: skip
def test_headers(header, meaning):
    assert meanings(header)[0] == meaning


@pytest.mark.parametrize("header", ["v1", "X_03", "column_7", "F12", ""])
def test_headers_that_say_nothing(header):
    assert meanings(header) == []


def test_a_name_that_its_values_contradict_does_not_count():
    yes_no = RNG.choices(["yes", "no"], k=200)
    assert [column(yes_no, name).role for name in ("phone", "email", "name")] == ["quasi"] * 3


# Published examples of each number, or ones worked out by its rule.
@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("44051401359", "Polish PESEL"), ("12345678Z", "Spanish DNI"), ("RSSMRA85T10A562S", "Italian tax"),
        ("255081416802538", "French social security"), ("111222333", "Dutch BSN"),
        ("811218-9876", "Swedish personal"),
        ("131052-308T", "Finnish personal"), ("111.444.777-35", "Brazilian CPF"),
        ("10000000146", "Turkish identity"),
        ("756.9217.0769.85", "Swiss AHV"), ("86095742719", "German tax"), ("943 476 5919", "UK NHS"),
        ("078-05-1120", "US Social Security"), ("11010519491231002X", "Chinese identity"),
        ("85073003328", "Belgian national"),
    ],
)  # fmt: skip
def test_national_numbers(text, name):
    assert national_number([text], 1.0) == name
    last = text[-1]
    wrong = text[:-1] + (
        "B" if last.isalpha() and last != "B" else "C" if last.isalpha() else str((int(last) + 1) % 10)
    )
    if name != "US Social Security":  # which has no check digit
        assert national_number([wrong], 1.0) != name


def test_ibans_and_cards():
    assert [is_iban(text) for text in ("GB82 WEST 1234 5698 7654 32", "GB82WEST12345698765433", "GB82")] == [
        True,
        False,
        False,
    ]
    assert [is_card(text) for text in ("5500 0000 0000 0004", "5500000000000005", "55")] == [
        True,
        False,
        False,
    ]


@pytest.mark.parametrize(
    ("records", "expected"),
    [
        ([["age", "sex"], ["31", "f"], ["40", "m"]], True),
        ([["31", "f"], ["31", "f"], ["40", "m"]], False),
        ([["name", "nr"], ["Ann Lee", "P12"], ["Bo Dahl", "P13"]], True),
        ([["Cy Orr", "P11"], ["Ann Lee", "P12"], ["Bo Dahl", "P13"]], False),
        ([["City", "Country"], ["Rome", "Italy"], ["Oslo", "Norway"]], True),
        ([["unit", "2019", "2020"], ["a", "1.5", "2"], ["b", "3", "4"]], True),
        ([["only a header", "b"]], True),
    ],
)
def test_headers_are_told_from_rows(records, expected):
    assert has_header(records) is expected
