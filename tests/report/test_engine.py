"""The process that draws."""

import json
import os
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from html import escape

import pytest

from shoal.errors import RecipeError
from shoal.report import engine
from shoal.report.charts import class_chart
from shoal.report.comparison import check_chart_target
from shoal.report.engine import draw_svg, prestarted_engine
from shoal.report.page import render
from tests.report.cases import FACTS

SPEC = {"data": {"values": [{"a": 1}, {"a": 3}]}, "mark": "bar", "encoding": {"x": {"field": "a"}}}


@pytest.fixture(autouse=True)
def not_drawn_before(monkeypatch):
    """This process has not drawn before."""
    monkeypatch.setattr(engine, "_has_drawn", lambda: False)


@pytest.fixture
def no_drawing_here(monkeypatch):
    """Only another process can draw now."""

    def refuse(spec):
        raise AssertionError("drawn in this process")

    monkeypatch.setattr(engine, "_draw", refuse)


def test_another_process_draws_the_same(no_drawing_here, request):
    with prestarted_engine():
        drawn = [draw_svg(SPEC), draw_svg(SPEC)]
    request.getfixturevalue("monkeypatch").undo()
    assert drawn == [draw_svg(SPEC)] * 2


def test_threads_that_draw_at_the_same_time_get_their_own_pictures(no_drawing_here):
    specs = [{**SPEC, "title": f"title {at}"} for at in range(12)]
    with prestarted_engine(), ThreadPoolExecutor(4) as pool:
        drawn = list(pool.map(draw_svg, specs))
    assert [f">title {at}<" in picture for at, picture in enumerate(drawn)] == [True] * len(specs)


def test_without_the_process_this_one_draws(monkeypatch):
    monkeypatch.setattr(sys, "executable", "/no/such/python")
    with prestarted_engine():
        assert draw_svg(SPEC).startswith("<svg")


def test_a_process_that_has_drawn_before_starts_no_other(monkeypatch):
    monkeypatch.undo()
    draw_svg(SPEC)
    with prestarted_engine():
        assert engine._running == []


def test_a_process_that_has_died_is_no_loss():
    with prestarted_engine():
        process = engine._running[-1]._process
        process.kill()
        process.wait()
        assert draw_svg(SPEC).startswith("<svg")


def test_the_process_ends_with_the_work(no_drawing_here):
    with prestarted_engine():
        process = engine._running[-1]._process
        draw_svg(SPEC)
        assert process.poll() is None
    assert process.poll() is not None
    assert engine._running == []


def test_an_interruption_is_for_the_process_that_asks():
    command = [sys.executable, "-m", "shoal.report.engine"]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    with process:
        process.stdin.write(json.dumps(SPEC) + "\n")
        process.stdin.flush()
        assert json.loads(process.stdout.readline()).startswith("<svg")
        os.kill(process.pid, signal.SIGINT)
        process.stdin.write(json.dumps(SPEC) + "\n")
        process.stdin.flush()
        assert json.loads(process.stdout.readline()).startswith("<svg")


def test_without_the_engine_a_report_describes_its_charts_and_says_how_to_get_them(monkeypatch):
    for module in ("drawing", "page"):
        monkeypatch.setattr(f"shoal.report.{module}.can_draw", lambda: False)
    html = render(FACTS)
    assert "Charts are described in words" in html
    assert 'pip install "shoal[charts]"' in html
    described = class_chart(FACTS.profile.class_sizes, FACTS.profile.groups).alt_text
    assert f'<p class="note">{escape(described)}</p>' in html
    assert '<svg class="chart"' not in html


def test_without_the_engine_a_chart_is_refused_before_any_work(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "vl_convert", None)
    monkeypatch.setattr(engine, "can_draw", lambda: False)
    with pytest.raises(RecipeError) as caught:
        check_chart_target(tmp_path / "chart.svg")
    assert caught.value.hint == 'pip install "shoal[charts]"'
    assert list(tmp_path.iterdir()) == []
