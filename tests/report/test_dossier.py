"""Risk, attacks, usefulness, the cost of k and leaked values on the page, from findings made by hand."""

import re
from dataclasses import replace

import polars as pl
import pytest

import shoal
from shoal.report import dossier
from shoal.report.charts import class_loss_chart, cost_chart
from shoal.report.findings import CostOfK, Findings
from shoal.report.page import render
from shoal.report.profile import Leak
from tests.report.cases import FACTS, PROFILE, profiled, recipe_of
from tests.report.test_page import HOSTILE, Page


def risk_of(rows, unique, below_k, average, bars, subsets=()):
    """A risk report in the format of `shoal risk --json`; bars are (from, below, rows)."""
    measured = {"highest": 1.0 if unique else 0.2, "average": average, "unique": unique, "below_k": below_k}
    histogram = [{"size_from": a, "size_below": b, "classes": 0, "rows": n} for a, b, n in bars]
    return {
        "rows": rows,
        "asked_k": 5,
        "prosecutor": {**measured, "histogram": histogram},
        "journalist": {"basis": "table", **measured},
        "marketer": average,
        "subset_size": 3,
        "subsets": [
            {"columns": list(columns), "unique": alone, "average": mean} for columns, alone, mean in subsets
        ],
    }


BEFORE = risk_of(
    200, 7, 40, 0.3, [(1, 2, 7), (2, 3, 20), (3, 5, 13), (5, 10, 160), (10, 20, 0)],
    [(("age", "city"), 7, 0.25), (("age",), 0, 0.01)],
)  # fmt: skip
AFTER = risk_of(
    190, 0, 0, 0.15, [(1, 2, 0), (2, 3, 0), (3, 5, 0), (5, 10, 150), (10, 20, 40)],
    [(("age",), 0, 0.005), (("age", "city"), 0, 0.125)],
)  # fmt: skip


def attack_of(name, group, finding="none", **changes):
    numbers = {
        "success": 0.2, "baseline": 1.0, "guess": 0.0001, "ceiling": 0.2, "low": 0.15, "high": 0.25,
        "interval": "wilson", "columns": [], "about": f"What {name} does.",
    }  # fmt: skip
    return {
        "attack": name,
        "group": group,
        "finding": finding,
        "message": f"{name} `told`.",
        **numbers,
        **changes,
    }


ATTACKS = [
    attack_of("classes-worst", "singling out", interval="exact"),
    attack_of("kept-worst", "singling out", "exposed", ceiling=None),
    attack_of("kept", "linkability", "exposed", ceiling=None),
    attack_of("recovery", "inference", columns=["age"]),
    attack_of("recovery", "inference", columns=["city"]),
]
UTILITY = {
    "dependence": {
        "mean_change": 0.04321,
        "pairs": [{"columns": ["age", "city"], "raw": 0.5, "released": 0.4, "change": -0.1}],
        "left_out": [],
    },
    "queries": [{"selectivity": 0.05, "queries": 200, "rows": 10.0, "median": 0.0345, "p90": 0.21}],
    "analyses": [
        {
            "formula": "y ~ age", "model": "logistic regression", "outcome": "dead", "rows": [200, 190],
            "coefficients": [
                {
                    "name": "age", "raw": {"value": 1.0, "low": 0.5, "high": 1.5}, "released": None,
                    "overlap": None,
                }
            ],
            "score": "AUC", "raw_score": 0.8, "released_score": 0.75,
        }
    ],
}  # fmt: skip
COSTS = [CostOfK(2, 0.05, 0.04), CostOfK(5, 0.1, 0.08, is_release=True), CostOfK(10, 0.2, None)]
FINDINGS = Findings(BEFORE, AFTER, ATTACKS, ["Something was not attacked."], UTILITY, COSTS)


@pytest.fixture(scope="module")
def page():
    return Page(render(replace(FACTS, findings=FINDINGS)))


@pytest.mark.parametrize(
    "told",
    [
        "Prosecutor, highest of the person in the smallest class 100 % 20 %",
        "Journalist, average the table taken for the population 30 % 15 %",
        "Marketer the share of rows that are linked 30 % 15 %",
        "Unique rows alone in their class fewer than 10 0",
        "Rows in classes below 5 fewer look alike than asked 40 (20 %) 0",
        "age , city fewer than 10 0 25 % 12.5 %",
        "classes-worst What classes-worst does. 20.0 % counted 100.0 % < 0.1 % 20.0 %",
        "kept-worst What kept-worst does. 20.0 % 15.0 % to 25.0 % 100.0 % < 0.1 % \N{EN DASH} exposed",
        "Something was not attacked.",
        "On average over 1 pairs of columns, Cramér\N{RIGHT SINGLE QUOTATION MARK}s V changes by 0.0432.",
        "age , city 0.5 0.4 -0.1",
        "about 5 % 200 3.45 % 21 %",
        "Logistic regression of dead ; AUC 0.8 on the raw table, 0.75 on the release.",
        "age 1 (0.5 to 1.5) not defined not defined",
        "At k = 5 this release loses 10 %. No release can lose less than 8 % at that k.",
        "At k = 2, about 5 % would be lost, at a highest risk of 50 % instead of 20 %.",
        "kept-worst told .",
        "Glossary attack An attempt",
    ],
)
def test_findings_are_shown(page, told):
    assert told in page.text.replace("\N{NO-BREAK SPACE}", " ")


def test_of_the_worst_case_and_the_average_only_the_worst_is_a_warning():
    assert dossier.exposures(FINDINGS) == ["kept-worst `told`."]


def test_an_attack_is_explained_once(page):
    assert page.text.count("What recovery does.") == 1
    assert "recovery ( city ) 20.0 %" in page.text.replace("\N{NO-BREAK SPACE}", " ")


def test_an_attack_that_breaks_a_promise_is_a_warning_at_the_top(page):
    broken = Findings(attacks=[attack_of("classes", "linkability", "broken")])
    text = Page(render(replace(FACTS, findings=broken))).text
    assert text.index("An attack broke a promise.") < text.index("Key numbers")
    assert "broke a promise" not in page.text


def test_sizes_of_fewer_than_ten_raw_rows_are_merged():
    (label,) = [p.alt_text for name, p in dossier.pictures(FINDINGS).items() if name == "risk"]
    # 7 + 20 = 27 of 200 raw rows, then 13 and 160; 150 and 40 of 190 released ones.
    cells = ("1 to 2: 13.5 %, then 0 %; 3 to 4: 6.5 %, then 0 %", "5 to 9: 80 %, then 78.9 %; 10 to 19: 0 %")
    assert label.endswith("; ".join([*cells]) + ", then 21.1 %.")


def test_few_raw_rows_at_the_end_are_merged_with_those_before():
    before = risk_of(24, 0, 0, 0.1, [(1, 2, 0), (2, 3, 20), (3, None, 4)])
    after = risk_of(24, 0, 0, 0.1, [(1, 2, 0), (2, 3, 0), (3, None, 24)])
    label = dossier.pictures(Findings(before, after))["risk"].alt_text
    assert label.endswith("1: 0 %, then 0 %; 2 or more: 100 %, then 100 %.")


def test_the_curve_shades_only_what_the_bounds_rule_out():
    layers = cost_chart(COSTS).view["layer"]
    area, *_ = layers
    # The bound of a k holds from there on, to the right end of the axis.
    assert area["mark"]["interpolate"] == "step-after"
    assert area["data"]["values"] == [
        {"k": 2, "loss": 4.0}, {"k": 5, "loss": 8.0}, {"k": 12.0, "loss": 8.0},
    ]  # fmt: skip
    assert (
        cost_chart(COSTS)
        .alt_text.replace("\N{NO-BREAK SPACE}", " ")
        .endswith("k = 2: 5 %, at least 4 %; k = 5: 10 %, at least 8 %; k = 10: 20 %.")
    )


def test_what_is_left_out_is_said_with_its_command():
    sections = ("attacks", "utility", "cost")
    left_out = {section: f"No {section}: `shoal {section}`" for section in sections}
    text = Page(render(replace(FACTS, findings=Findings(left_out=left_out)))).text
    for section in sections:
        assert f"No {section}: shoal {section}" in text


def test_hostile_findings_stay_texts():
    attacks = [attack_of("kept", "linkability", "exposed", columns=[HOSTILE], message=HOSTILE, about=HOSTILE)]
    pairs = [{"columns": [HOSTILE, HOSTILE], "raw": 0.5, "released": 0.4, "change": -0.1}]
    utility = {**UTILITY, "dependence": {**UTILITY["dependence"], "pairs": pairs}}
    sensitive = [replace(PROFILE.sensitive[0], leaks=(Leak(HOSTILE[:50], 2, 8),))]
    facts = replace(
        FACTS,
        findings=replace(FINDINGS, attacks=attacks, utility=utility),
        profile=replace(PROFILE, sensitive=tuple(sensitive)),
    )
    plain = {tag for tag, _ in Page(render(replace(FACTS, findings=FINDINGS))).elements}
    hostile = Page(render(facts))
    assert {tag for tag, _ in hostile.elements} <= plain
    assert hostile.text.count(HOSTILE) >= 5


# Leaked values, by hand: classes of three rows.


def leaks_of(values, labels):
    table = pl.DataFrame({"q": list(range(len(values))), "ill": values})
    return profiled(table, recipe_of(sensitive=["ill"], q={}), labels).sensitive[0]


def test_classes_of_one_value_are_counted_by_value():
    values = ["flu"] * 6 + ["flu", "flu", "cold"] * 2 + ["cold"] * 9 + ["rare"] * 3
    found = leaks_of(values, [at // 3 for at in range(24)])
    # flu: 10 rows in all, two classes; cold: 11 rows, three classes; rare: 3 rows, which are not named.
    assert [(leak.value, leak.classes, leak.rows) for leak in found.leaks] == [
        ("cold", 3, 9),
        ("flu", 2, 6),
        (None, 1, 3),
    ]
    assert found.alike == 6


def test_a_value_is_named_from_ten_rows_on():
    for n_more, named in ((6, [None]), (7, ["flu"])):  # 3 rows of a class, and 6 or 7 elsewhere
        values = ["flu"] * 3 + ["flu", "cold", "gout"] * n_more
        found = leaks_of(values, [at // 3 for at in range(3 + 3 * n_more)])
        assert [leak.value for leak in found.leaks] == named


def test_missing_values_leak_too():
    found = leaks_of([None] * 12 + ["flu", "cold", "gout"], [at // 3 for at in range(15)])
    assert [(leak.value, leak.classes) for leak in found.leaks] == [("(missing)", 4)]


def test_leaks_are_near_the_top_with_their_share_of_classes():
    sensitive = replace(PROFILE.sensitive[0], leaks=(Leak("flu", 51, 400), Leak(None, 5, 40)))
    facts = replace(FACTS, profile=replace(PROFILE, sensitive=(sensitive,)))
    text = Page(render(facts)).text.replace("\N{NO-BREAK SPACE}", " ")
    assert "flu 51 20 % 400 all other values 5 1.96 % 40" in text  # of 255 classes
    assert text.index("flu 51") < text.index("Key numbers")


def test_rows_are_counted_by_the_loss_of_their_class():
    # Ranges of the ages 0 to 10: [0, 1] lost a tenth, [2, 10] eight tenths.
    table = pl.DataFrame({"q": [0, 1, 2, 10, 5]})
    found = profiled(table, recipe_of(q={"kind": "numeric"}), [0, 0, 1, 1, 1])
    assert found.class_losses == (2, 0, 0, 0, 0, 0, 0, 3, 0, 0)
    label = class_loss_chart(found.class_losses).alt_text.replace("\N{NO-BREAK SPACE}", " ")
    assert "0 to 10 %: 40 %" in label
    assert "70 to 80 %: 60 %" in label


@pytest.mark.filterwarnings("ignore::shoal.errors.SensitiveUnprotectedWarning")
def test_a_report_counts_no_fewer_than_ten_people_in_what_attacks_found(tmp_path):
    # The four youngest, a class of their own, all have x.
    ill = ["x" if at < 4 else "xyz"[at % 3] for at in range(40)]
    people = pl.DataFrame({"age": [20 + at // 2 for at in range(40)], "ill": ill})
    release = shoal.anonymize(people, quasi=["age"], sensitive=["ill"], k=4)
    release.report(tmp_path / "report.html")
    text = Page((tmp_path / "report.html").read_text()).text.replace("\N{NO-BREAK SPACE}", " ")
    assert "it is certain for fewer than 10 rows." in text
    assert "it is certain for fewer than 10 people." in text
    assert not re.findall(r"(?:for|,) [1-9] (?:people|rows|ends)\b", text)
