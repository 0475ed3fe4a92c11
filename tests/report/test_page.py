"""The page: what it says, what it must not say, and that it needs nothing else."""

import hashlib
import re
from dataclasses import replace
from html.parser import HTMLParser
from importlib.resources import files

import polars as pl
import pytest

from shoal.bound.result import Bound
from shoal.report import charts
from shoal.report.distribution import Cell
from shoal.report.drawing import draw
from shoal.report.page import render
from shoal.report.profile import ColumnProfile
from tests.report.cases import FACTS, PROFILE, facts_about, profiled, recipe_of
from tests.test_imports import run_python

HOSTILE = "</code></style><script>alert('x')</script><img src=x onerror=alert(1)>&amp;\"'"
MARK = "QYMARKYQ"


class Page(HTMLParser):
    """The elements of a page with their attributes, and its text."""

    def __init__(self, html):
        super().__init__()
        self.elements, self.texts = [], []
        self.feed(html)
        self.text = " ".join(" ".join(self.texts).split())

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))

    def handle_data(self, data):
        self.texts.append(data)

    def having(self, tag):
        return [attributes for found, attributes in self.elements if found == tag]


@pytest.fixture(scope="module")
def html():
    return render(FACTS)


@pytest.fixture(scope="module")
def page(html):
    return Page(html)


@pytest.mark.parametrize(
    "told",
    [
        "stays-k7.csv",
        "Every promise holds. Verified on the written file by another engine",
        "k-anonymity 6 7 yes",
        "t-closeness of disease 0.31 0.288 yes",
        "2,017 rows in = 2,000 released + 17 suppressed",
        "classes 255",
        "smallest class, k 7",
        "lost (GCP) 8.74 %",
        "Total IL Weighted sum of the losses of all rows in all columns. 20,900 19,900",
        "Distortion ratio Steps up the hierarchies, as a share of all steps. not defined not defined",
        "Lower bound of Total IL Not computed. \N{EN DASH} \N{EN DASH}",
        "age numbers 2 12.3 %",
        "below 20 61.7 60.0",
        "disease 37 fewer than 10",
        "cost 1,811 0",
        "Not shown, because there are too few rows or distinct values: city .",
        "A shared value of disease . In 13 of 255 classes",
        "A shared value of cost . In no class",
        "These are released unchanged: ward .",
        "shoal verify stays-k7.csv --recipe stays.toml",
        "ab" * 32,
        "Byun and others, 2007.",
        "Seed 424242",
        "opens = furthest , label = none",
        "polars 2.3.4",
        '[privacy] k = 6 [columns.age] role = "quasi"',
    ],
)
def test_the_facts_are_told(page, told):
    assert told in page.text.replace("\N{NO-BREAK SPACE}", " ")


def test_the_charts_tell_the_facts(page):
    labels = [
        svg["aria-label"].replace("\N{NO-BREAK SPACE}", " ") for svg in page.having("svg") if "role" in svg
    ]
    assert labels == [
        "Information lost by column. city: 50 %; age: 12.3 %; sex: 0 %.",
        "Classes by size. 7 to 8 rows: 251; 9 to 10 rows: 0; 11 to 12 rows: 0; 13 to 14 rows: 0; "
        "15 to 16 rows: 0; 17 to 18 rows: 0; 19 to 20 rows: 0; 21 to 22 rows: 0; 23 to 24 rows: 4.",
        "Distribution of age before and after, in 2 cells. The numbers are in the table below the chart.",
        "Distribution of sex before and after, in 2 cells. The numbers are in the table below the chart.",
    ]


def test_every_picture_has_a_text_or_is_decoration(page):
    pictures = page.having("svg")
    assert len(pictures) == 6
    assert sum("role" in attributes for _, attributes in page.elements) == 4  # no part of a picture has one
    for picture in pictures:
        assert (picture.get("role") == "img" and picture["aria-label"]) or picture["aria-hidden"] == "true"


def wide_profile(n_columns, shares):
    cells = (Cell("low", 1000, 1000.0), Cell("high", 1000, 1000.0))
    columns = [ColumnProfile(f"c{at}", "numeric", 1.0, shares(at), cells) for at in range(n_columns)]
    return replace(FACTS.profile, columns=(*columns, FACTS.profile.columns[2]))  # `city` cannot be drawn


def drawn_columns(page):
    labels = [svg["aria-label"] for svg in page.having("svg") if "role" in svg]
    return [label.split()[2] for label in labels if label.startswith("Distribution")], labels[0]


def test_of_many_columns_those_that_lost_most_are_drawn():
    # The odd ones lost more, the later the more; `city` has lost half.
    found = wide_profile(300, lambda at: at / 400 if at % 2 else at / 4000)
    page = Page(render(replace(FACTS, profile=found)))
    names, loss_label = drawn_columns(page)
    assert names == [f"c{at}" for at in range(253, 300, 2)]
    assert loss_label.startswith("Information lost by column. c299: 74.8")
    assert loss_label.count(";") == 23
    text = page.text.replace("\N{NO-BREAK SPACE}", " ")
    assert "The chart shows the 24 of 301 columns that lost most." in text
    assert "The charts show the 24 columns that lost most; not shown: 276 more." in text
    assert "c4 numbers 1 0.1 %" in text, "the table has all columns"


def test_of_many_columns_whose_losses_are_not_defined_the_first_are_drawn():
    found = wide_profile(25, lambda at: None)
    page = Page(render(replace(FACTS, profile=found)))
    assert drawn_columns(page)[0] == [f"c{at}" for at in range(24)]
    assert "The charts show the first 24 columns; not shown: 1 more." in page.text


def test_as_many_columns_as_can_be_drawn_are_all_drawn():
    found = wide_profile(23, lambda at: 0.5)
    page = Page(render(replace(FACTS, profile=found)))
    assert drawn_columns(page)[0] == [f"c{at}" for at in range(23)]
    assert "The charts show" not in page.text


def test_bars_are_as_long_as_their_values():
    column = ColumnProfile("q", "categorical", 1.0, 0.0, (Cell("a", 30, 10.0), Cell("b", 10, 30.0)))
    drawn = draw([charts.distribution_chart(column)], charts.CONFIG)[0]
    bars = re.findall(rf'd="M0,[\d.]+h([\d.]+)v[^"]*" fill="{charts.BEFORE}"', drawn)
    marks = re.findall(rf'd="M([\d.]+),[^"]*" fill="{charts.ACCENT}"', drawn)
    first, second = (float(length) for length in bars)
    assert first == pytest.approx(3 * second)
    # A mark is drawn around its value.
    assert [float(mark) + 2 for mark in marks] == pytest.approx([second, first])


def test_losses_have_three_digits_and_shares_one_decimal(html):
    finer = replace(
        FACTS,
        loss={**FACTS.loss, "il": 20933.9, "gcp": 0.08741},
        profile=replace(
            PROFILE,
            columns=(
                replace(PROFILE.columns[0], share_lost=0.1229999),
                replace(PROFILE.columns[1], cells=(Cell("f", 1500, 1500.4), Cell("m", 500, 499.6))),
                PROFILE.columns[2],
            ),
        ),
    )
    assert render(finer) == html
    coarser = replace(FACTS, loss={**FACTS.loss, "gcp": 0.0884})
    assert render(coarser) != html


def test_a_broken_promise_is_not_called_kept():
    goal = {"type": "k-anonymity", "column": None, "asked": 6, "achieved": 3, "holds": False}
    text = Page(render(replace(FACTS, goals=[goal]))).text
    assert "Not every promise holds. Do not publish this release." in text
    assert "k-anonymity 6 3 no" in text
    assert "Every promise holds" not in text


def test_a_release_that_was_not_written_is_not_called_a_file():
    text = Page(render(replace(FACTS, digest=None))).text
    assert "on the table in memory" in text
    assert "on the written file" not in text
    assert "SHA-256 of the release not written" in text


def test_a_bound_is_told_when_there_is_one():
    bound = Bound(15555.5, False, "smallest box with drag, all rows")
    text = Page(render(replace(FACTS, bound=bound))).text
    holds = "No release of boxes that meets k and the goals can lose less"
    assert f"{holds}: smallest box with drag, all rows. 15,500" in text
    assert "Not computed" not in text
    estimate = Page(render(replace(FACTS, bound=replace(bound, is_estimate=True)))).text
    about = "An estimate of the minimum loss of any release of boxes that meets k and the goals"
    assert f"{about}: smallest box" in estimate


def test_losses_that_are_not_defined_are_not_drawn():
    columns = tuple(replace(column, share_lost=None) for column in PROFILE.columns)
    undefined = replace(
        FACTS,
        loss=dict.fromkeys(FACTS.loss),
        profile=replace(PROFILE, columns=columns),
        values="microaggregate",
    )
    page = Page(render(undefined))
    assert "Loss by column" not in page.text
    assert "GCP is not defined for this release" in page.text
    assert "A mean or median is close to the real values" in page.text


def test_the_warning_about_exact_ends_fits_the_bounds():
    assert "ends of a published range are real values" in Page(render(FACTS)).text
    assert "are real values" not in Page(render(replace(FACTS, bounds="snapped"))).text


def test_nothing_is_called_anonymous(html):
    assert re.search(r"(?<!k-)anonymous", html, re.IGNORECASE) is None


def test_the_page_needs_nothing_else(page, html):
    assert not re.search(r"https?:|//|@import|url\(|\bsrc=|\bhref=|javascript:", html)
    used = {tag for tag, _ in page.elements}
    assert not used & {"script", "link", "img", "iframe", "object", "embed", "base", "form", "use", "a"}
    policy = {"http-equiv": "Content-Security-Policy"}
    policy["content"] = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"
    assert policy in page.having("meta")


def test_hostile_texts_stay_texts():
    column = replace(
        PROFILE.columns[0], name=HOSTILE, kind=HOSTILE, cells=(Cell(HOSTILE, 10, 10.0), Cell("b", 10, 10.0))
    )
    poor = replace(PROFILE.columns[2], name=HOSTILE)
    hostile = replace(
        FACTS,
        title=HOSTILE,
        version=HOSTILE,
        goals=[{"type": HOSTILE, "column": HOSTILE, "asked": 1, "achieved": 1, "holds": True}],
        method=HOSTILE,
        paper=HOSTILE,
        options={HOSTILE: HOSTILE},
        profile=replace(
            PROFILE, columns=(column, poor), sensitive=(replace(PROFILE.sensitive[0], name=HOSTILE),)
        ),
        kept=[HOSTILE],
        recipe=HOSTILE,
        commands=[(HOSTILE, HOSTILE)],
        versions={HOSTILE: HOSTILE},
        digest=HOSTILE,
    )
    page, plain = Page(render(hostile)), Page(render(FACTS))
    assert {tag for tag, _ in page.elements} <= {tag for tag, _ in plain.elements}
    assert not [name for _, attributes in page.elements for name in attributes if name.startswith("on")]
    assert page.text.count(HOSTILE) > 15


@pytest.mark.parametrize("sign", ["\x00", "\x0b", "\ud800", "\ufffe", "\n", "\u202e"])
def test_signs_that_xml_cannot_hold_do_no_harm(sign):
    cells = (Cell(f"a{sign}b", 10, 10.0), Cell("b", 10, 10.0))
    column = ColumnProfile(f"q{sign}r", "categorical", 1.0, 0.5, cells)
    assert ">a b<" in draw([charts.distribution_chart(column)], charts.CONFIG)[0]
    assert ">q r<" in draw([charts.loss_chart([column])], charts.CONFIG)[0]


def test_names_that_are_shortened_alike_keep_their_bars():
    names = [f"a very long name of a column {at}" for at in range(3)]
    columns = [ColumnProfile(name, "numeric", 1.0, 0.5, ()) for name in names]
    assert draw([charts.loss_chart(columns)], charts.CONFIG)[0].count(charts.ACCENT) == 3


def test_the_style_sheet_knows_every_colour_of_the_charts(html):
    style = files("shoal.report").joinpath("page.css").read_text(encoding="utf-8")
    used = set(re.findall(r'(?:fill|stroke)="#\w+"', html))
    assert len(used) == 7
    assert {colour for colour in used if f"[{colour}]" not in style} == set()


def test_the_same_facts_give_the_same_bytes(html):
    assert render(replace(FACTS)) == html


def test_other_processes_give_the_same_bytes(html, request):
    code = f"""
import hashlib, sys
sys.path.insert(0, {str(request.config.rootpath)!r})
from shoal.report.page import render
from tests.report.cases import FACTS
print(hashlib.sha256(render(FACTS).encode()).hexdigest())
"""
    digests = {run_python(code, PYTHONHASHSEED=seed).strip() for seed in ("1", "2")}
    assert digests == {hashlib.sha256(html.encode()).hexdigest()}


def test_importing_the_report_loads_no_charts():
    code = """
import sys
import shoal.report.page, shoal.report.comparison
print([name for name in ("altair", "vl_convert", "jinja2") if name in sys.modules])
"""
    assert run_python(code).strip() == "[]"


# Ten rows are enough to be shown, unless they must hide a rest of fewer than ten.
@pytest.mark.parametrize(
    ("rest", "spec", "shown_at_ten"),
    [
        (["x"] * 40 + ["y"] * 30, {"kind": "categorical"}, True),
        (["x"] * 40 + ["y"] * 2, {"kind": "categorical"}, False),
        ([f"v{at}" for at in range(70)], {"kind": "categorical"}, True),
        (["x"] * 40 + ["y"] * 30, {"hierarchy": {"prefix": 1}}, True),
        (["x"] * 40 + [None] * 3, {"hierarchy": {"prefix": 1}}, False),
    ],
    ids=["frequent", "rare", "unique", "prefix", "missing"],
)
@pytest.mark.parametrize("times", [9, 10])
def test_a_text_of_fewer_than_ten_rows_is_nowhere_on_the_page(rest, spec, shown_at_ten, times):
    values = [MARK] * times + rest
    secrets = [f"{MARK}-{at}" for at in range(len(values))]
    table = pl.DataFrame({"q": pl.Series(values, dtype=pl.String), "ill": secrets})
    html = render(facts_about(profiled(table, recipe_of(sensitive=["ill"], q=spec))))
    assert (MARK[:3] in html) == (times == 10 and shown_at_ten)
    assert f"{MARK}-" not in html
