"""Every method at every k: the numbers are those of a release, and nothing is released."""

import importlib
import json
import re
from itertools import product
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

import shoal
from shoal import stages
from shoal.bound.result import Bound
from shoal.cli.main import app
from shoal.cluster import ClusterResult
from shoal.datasets import write_hospital
from shoal.engine import local
from shoal.errors import InfeasibleError
from shoal.recipe import options
from shoal.report import comparison as chart_module
from shoal.workflow.compare import COMPARED
from tests.bad_input_cases import snapshot
from tests.profiles import some

module = importlib.import_module("shoal.workflow.compare")
KEYS = {
    "method", "k", "seed", "seconds", "classes", "suppressed", "loss", "added_loss", "bound",
    "bound_is_estimate", "bound_how", "bound_gap", "label", "best", "error", "risk", "k_alone", "frontier",
}  # fmt: skip
LOSSES = {"il", "gcp", "distortion_ratio", "dm", "c_avg", "cm"}
KS = (3, 7)


def run(*arguments):
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def printed(*arguments):
    result = run(*arguments, "--json")
    assert result.exit_code == 0, result.stderr
    return json.loads(result.stdout)


@pytest.fixture(scope="module")
def hospital(tmp_path_factory):
    """The recipe of 150 hospital stays."""
    return write_hospital(tmp_path_factory.mktemp("hospital"), 150, 0)


@pytest.fixture(scope="module")
def compared(hospital):
    return printed("compare", hospital, "--k", ",".join(map(str, KS)), "--seed", 5)


@pytest.fixture
def people(tmp_path, monkeypatch):
    """A folder with 24 people, two of whom have no age, and a function that writes their recipe."""
    monkeypatch.chdir(tmp_path)
    rows = [
        f"{20 + i // 7 if i not in (0, 2) else ''},{'fm'[i % 2]},{'ab'[i % 5 < 2]},{'xyz'[i % 3]}"
        for i in range(24)
    ]
    (tmp_path / "people.csv").write_text("age,sex,ill,job\n" + "\n".join(rows) + "\n", encoding="utf-8")

    def recipe(**sections):
        roles = {"age": "quasi", "sex": "quasi", "ill": "sensitive", "job": "drop"}
        base = {"input": {"path": "people.csv"}, "columns": {n: {"role": r} for n, r in roles.items()}}
        made = shoal.Recipe.from_dict({**base, "privacy": {"k": 4}}, changes=sections)
        file = tmp_path / f"r{len(list(tmp_path.glob('r*.toml')))}.toml"
        file.write_text(made.to_toml(), encoding="utf-8")
        return file.name

    return recipe


def released(recipe, out, *flags):
    """Return what `shoal anonymize` says of a release, as far as a comparison says it too."""
    told = printed("anonymize", recipe, "-o", out, *flags)
    return {key: told[key] for key in ("method", "seed", "classes", "suppressed", "loss", "bound")}


def as_told(result):
    return {key: result[key] for key in ("method", "seed", "classes", "suppressed", "loss", "bound")}


@pytest.mark.parametrize(("k", "method"), some(product(KS, COMPARED), 5))
def test_the_numbers_are_those_of_a_release(hospital, compared, method, k, tmp_path):
    [result] = [r for r in compared["results"] if (r["method"], r["k"]) == (method, k)]
    flags = ("--method", method, "--k", k, "--seed", 5)
    assert as_told(result) == released(hospital, tmp_path / "out.csv", *flags)


def test_the_bound_is_found_once_for_each_k(people, monkeypatch):
    asked = []

    def bound_of(encoded, recipe, **rest):
        asked.append(recipe.privacy.k)
        return Bound(4.5678, True, "a guess")

    monkeypatch.setattr(module, "recipe_bound", bound_of)
    told = printed("compare", people(), "--methods", "k-member,mondrian", "--k", "3,4")
    assert asked == [3, 4]
    assert [r["bound"] for r in told["results"]] == [4.56] * 4
    assert {(r["bound_is_estimate"], r["bound_how"]) for r in told["results"]} == {(True, "a guess")}
    text = run("compare", people(), "--methods", "k-member,mondrian", "--k", "3,4").stdout
    assert text.count("lower bound of IL at k = 3: 4.56 (an estimate: a guess)\n") == 1
    assert text.count("lower bound of IL at k = 4: 4.56 (an estimate: a guess)\n") == 1


def rows_of_page(page):
    """The cells of each row of a page's table, the headers first."""
    rows = page.partition("<table>")[2].partition("</table>")[0].split("<tr>")[1:]
    return [re.findall(r">([^<>]*)</t[hd]>", row) for row in rows]


def test_the_page_tells_the_bound_and_how_many_times_it_each_method_loses(people, monkeypatch):
    bounds = {3: Bound(4.5678, True, "a guess"), 4: Bound(5.0, False, "a <fact>")}
    monkeypatch.setattr(module, "recipe_bound", lambda encoded, recipe, **rest: bounds[recipe.privacy.k])
    flags = ("--methods", "k-member,mondrian", "--k", "3,4", "--chart", "c.html")
    told = printed("compare", people(), *flags)["results"]
    page = Path("c.html").read_text("utf-8")
    header, *rows = rows_of_page(page)
    assert header[2:4] == ["Total IL", "times the bound"]
    times = [r["loss"]["il"] / bound for r, bound in zip(told, [4.56, 4.56, 5, 5], strict=True)]
    assert [float(row[3]) for row in rows] == [float(f"{ratio:.3g}") for ratio in times]
    assert {len(row) for row in rows} == {len(header)}
    words = " ".join(page.split())
    assert words.count("Lower bound of Total IL at k = 3: 4.56 (an estimate: a guess).") == 1
    assert words.count("Lower bound of Total IL at k = 4: 5 (a &lt;fact&gt;).") == 1
    assert words.count("An estimate may be too high") == 1


def test_a_page_without_a_bound_does_not_speak_of_one(people):
    printed("compare", people(), "--methods", "mondrian", "--no-bound", "--chart", "c.html")
    page = Path("c.html").read_text("utf-8")
    assert "bound" not in page
    assert {len(row) for row in rows_of_page(page)} == {12}


def test_a_bound_of_nothing_has_no_ratio_on_the_page(people, monkeypatch):
    monkeypatch.setattr(module, "recipe_bound", lambda *given, **rest: Bound(0.0, False, "a fact"))
    printed("compare", people(), "--methods", "mondrian", "--chart", "c.html")
    page = Path("c.html").read_text("utf-8")
    assert rows_of_page(page)[1][3] == "not defined"
    assert "An estimate" not in page


def test_no_bound(people):
    flags = ("compare", people(), "--methods", "k-member", "--no-bound")
    told = printed(*flags)
    assert told["results"][0]["bound"] is told["results"][0]["bound_how"] is None
    assert "bounding" not in told["timings"]
    assert "bound" not in run(*flags).stdout


def test_the_object_has_its_keys_and_every_method_at_every_k(compared):
    assert set(compared) == {"results", "recommendation", "rows", "warm_rows", "timings", "chart"}
    assert [(r["k"], r["method"]) for r in compared["results"]] == [(k, m) for k in KS for m in COMPARED]
    for result in compared["results"]:
        assert set(result) == KEYS
        assert set(result["loss"]) == LOSSES
        assert result["seconds"] > 0
        assert result["error"] is None
    assert (compared["rows"], compared["chart"]) == (150, None)
    assert set(compared["timings"]) == {"read", "encode", "warm-up", "bounding"}


def test_the_least_loss_of_each_k_is_marked(compared):
    for k in KS:
        losses = {r["method"]: r["loss"]["il"] for r in compared["results"] if r["k"] == k}
        best = {r["method"] for r in compared["results"] if r["k"] == k and r["best"]}
        assert best == {method for method, il in losses.items() if il == min(losses.values())}


def test_without_k_the_recipes_own_is_taken(people):
    results = printed("compare", people(), "--methods", "mondrian")["results"]
    assert [r["k"] for r in results] == [4]


def test_a_recipe_without_k_will_do_if_the_command_has_some(people, tmp_path):
    recipe = tmp_path / people()
    recipe.write_text(recipe.read_text("utf-8").replace("k = 4", ""), encoding="utf-8")
    results = printed("compare", recipe, "--methods", "mondrian", "--k", "2, 5,2")["results"]
    assert [r["k"] for r in results] == [2, 5]
    assert run("compare", recipe).exit_code == 2


def test_options_hold_for_the_method_that_the_recipe_names(people):
    own = people(method={"name": "mondrian", "options": {"mode": "relaxed"}})
    results = printed("compare", own, "--methods", "k-member,mondrian", "--k", 5)["results"]
    relaxed = released(own, "a.csv", "--k", 5)
    strict = released(people(method={"name": "mondrian"}), "b.csv", "--k", 5)
    plain = released(people(method={"name": "k-member"}), "c.csv", "--k", 5)
    assert relaxed != strict
    assert [as_told(result) for result in results] == [plain, relaxed]


def counted(monkeypatch, name):
    """Count the calls of a function that `compare` uses."""
    calls, true = [], getattr(module, name)
    monkeypatch.setattr(module, name, lambda *given, **more: calls.append(given) or true(*given, **more))
    return calls


def test_the_table_is_read_and_encoded_once(people, monkeypatch):
    reads, encodings = counted(monkeypatch, "table_of"), counted(monkeypatch, "encode")
    printed("compare", people(), "--k", "2,3,4")
    assert (len(reads), len(encodings)) == (1, 1)


def test_a_label_of_its_own_is_told_and_encoded(people, monkeypatch):
    encodings = counted(monkeypatch, "encode")
    own = people(method={"name": "k-member", "options": {"label": "job"}})
    results = printed("compare", own, "--methods", "k-member,mondrian")["results"]
    assert [r["label"] for r in results] == ["job", "ill"]
    assert len(encodings) == 2
    assert as_told(results[0]) == released(own, "a.csv")
    assert as_told(results[1]) == released(people(method={"name": "mondrian"}), "b.csv")
    told = run("compare", own, "--methods", "k-member,mondrian").stdout
    assert "CM counts `job` for k-member" in told
    assert "CM counts `ill` for mondrian" in told


class Clock:
    """A clock that goes on only when a method runs: far at its first call, as if it were compiled."""

    def __init__(self):
        self.now, self.methods, self.rows, self.true = 0.0, [], [], local.run

    def run(self, encoded, recipe, method, progress=None):
        self.now += 1 if method.name in self.methods else 100
        self.methods.append(method.name)
        self.rows.append(encoded.n_rows)
        return self.true(encoded, recipe, method, progress)


@pytest.mark.parametrize(("missing", "warm_rows"), [("category", 23), ("suppress", 21)])
def test_compiling_is_not_in_the_seconds(people, monkeypatch, missing, warm_rows):
    clock = Clock()
    monkeypatch.setattr(local, "run", clock.run)
    monkeypatch.setattr(stages.time, "perf_counter", lambda: clock.now)
    recipe = people(privacy={"missing": missing, "max_suppressed": 0.1})
    told = printed("compare", recipe, "--methods", "k-member,mondrian", "--k", "2,3")
    assert [r["seconds"] for r in told["results"]] == [1.0] * 4
    assert (told["timings"]["warm-up"], told["warm_rows"]) == (200.0, warm_rows)
    assert clock.rows == [warm_rows] * 2 + [24] * 4  # an odd number, so that a row is left over


def refuse(monkeypatch, *methods):
    """Let these methods refuse every table."""
    true = local.run

    def run_or_refuse(encoded, recipe, method, progress=None):
        if method.name in methods:
            raise InfeasibleError("infeasible.rows", f"[{method.name}] says no.", "ask another")
        return true(encoded, recipe, method, progress)

    monkeypatch.setattr(local, "run", run_or_refuse)


def test_a_method_that_cannot_run_says_so_and_the_others_go_on(people, monkeypatch):
    refuse(monkeypatch, "mondrian")
    told = printed("compare", people(), "--methods", "k-member,mondrian", "--chart", "c.svg")
    done, refused = told["results"]
    assert refused["error"] == {"code": "infeasible.rows", "message": "[mondrian] says no."}
    assert {key for key in KEYS if refused[key] is None} == {
        "seconds", "classes", "suppressed", "loss", "added_loss", "bound", "bound_is_estimate", "bound_how",
        "bound_gap",
        "risk", "k_alone",
    }  # fmt: skip
    assert (set(refused), refused["best"], done["best"], done["error"]) == (KEYS, False, True, None)
    result = run("compare", people(), "--methods", "k-member,mondrian", "--chart", "c.html")
    assert re.search(
        r"^  mondrian +4 +infeasible.rows: \[mondrian\] says no\. *$", result.stdout, re.MULTILINE
    )
    drawn = [Path(file).read_text("utf-8") for file in ("c.svg", "c.html")]
    assert [text.count(">k-member</text>") for text in drawn] == [1, 2]  # a page has two legends
    assert [text.count(">mondrian</text>") for text in drawn] == [0, 0]
    assert '<td colspan="11">infeasible.rows: [mondrian] says no.</td>' in drawn[1]


def test_only_when_no_method_can_run_the_command_fails(people, monkeypatch, tmp_path):
    refuse(monkeypatch, *COMPARED)
    recipe = people()
    before = snapshot(tmp_path)
    result = run("compare", recipe, "--json", "--chart", "c.svg")
    told = json.loads(result.stdout)
    assert result.exit_code == 3
    assert result.stderr.startswith("error [infeasible.rows]: No method could run. ")
    assert {r["error"]["code"] for r in told["results"]} == {"infeasible.rows"}
    assert told["chart"] is None
    assert snapshot(tmp_path) == before


def test_a_k_that_suppression_makes_too_large_stands_in_its_row(people):
    recipe = people(privacy={"missing": "suppress", "max_suppressed": 0.5})
    results = printed("compare", recipe, "--methods", "mondrian", "--k", "22,23")["results"]
    assert [r["suppressed"] for r in results] == [2, None]
    assert results[1]["error"]["code"] == "infeasible.rows"


def test_classes_below_k_are_no_result(people, monkeypatch):
    def too_small(encoded, *_):
        return ClusterResult(np.arange(encoded.n_rows, dtype=np.int32))

    monkeypatch.setattr(local, "run", too_small)
    result = run("compare", people(), "--methods", "mondrian", "--json")
    assert json.loads(result.stdout)["results"][0]["error"]["code"] == "promise.broken"
    assert result.exit_code == 1


def test_everything_wrong_with_methods_and_k_is_said_at_once(people, monkeypatch):
    monkeypatch.setitem(options.METHODS, "not-yet", None)
    asked = ("--methods", "k-membr,mondrian,not-yet,auto,frob", "--k", f"1,5,x,-3,2.5,{'9' * 5000}x")
    result = run("compare", people(), *asked, "--json")
    faults = json.loads(result.stdout)["error"]["faults"]
    assert result.exit_code == 2
    assert [fault["code"] for fault in faults] == [
        "recipe.invalid", "recipe.not_available", *["recipe.invalid"] * 7,
    ]  # fmt: skip
    assert all(fault["hint"] for fault in faults)
    assert faults[0]["hint"] == "did you mean `k-member`?"
    assert "`not-yet`" in faults[1]["message"]
    assert "`auto`" in faults[2]["message"]
    assert [fault["message"][:8] for fault in faults[4:8]] == ["k = 1 sh", "k = x sh", "k = -3 s", "k = 2.5 "]


@pytest.mark.parametrize("flags", [("--methods", ""), ("--methods", ","), ("--k", ""), ("--k", "true")])
def test_an_empty_list_is_a_fault(people, flags):
    result = run("compare", people(), *flags)
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.startswith("error [recipe.invalid]: ")


def test_every_k_above_the_rows_is_refused_before_any_work(people, monkeypatch):
    encodings = counted(monkeypatch, "encode")
    result = run("compare", people(), "--k", "5,25,99", "--json")
    faults = json.loads(result.stdout)["error"]["faults"]
    assert (result.exit_code, len(encodings)) == (3, 0)
    assert [fault["code"] for fault in faults] == ["infeasible.rows"] * 2
    assert "k = 99 is asked for, but only 24 rows" in faults[1]["message"]


@pytest.mark.parametrize(
    "chart", ["c.pdf", "c", "nowhere/c.svg", "r0.toml/c.svg", "d.svg", "c" * 300 + ".svg"]
)
def test_a_chart_that_cannot_be_written_is_refused_before_any_work(people, chart, monkeypatch, tmp_path):
    (tmp_path / "d.svg").mkdir()
    recipe = people()
    before, reads = snapshot(tmp_path), counted(monkeypatch, "table_of")
    result = run("compare", recipe, "--chart", chart)
    assert result.stderr.startswith("error [output.unwritable]: ")
    assert (result.exit_code, result.stdout, len(reads)) == (2, "", 0)
    assert snapshot(tmp_path) == before


def test_a_table_that_cannot_be_used_is_one_error(people):
    recipe = people(columns={"age": {"kind": "date"}})
    result = run("compare", recipe)
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.startswith("error [data.kind]: ")


STARTS = {"svg": b"<svg", "png": b"\x89PNG", "html": b"<!DOCTYPE html>"}


@pytest.mark.parametrize("ending", STARTS)
def test_the_chart_is_all_that_is_written(people, ending, tmp_path):
    recipe = people()
    before, name = snapshot(tmp_path), f"c.{ending.upper()}"
    (tmp_path / name).write_bytes(b"an earlier one")
    told = printed("compare", recipe, "--k", "2,5", "--chart", name)
    after = snapshot(tmp_path)
    assert told["chart"] == name
    assert after.pop(name).startswith(STARTS[ending])
    assert after == before


def drawn_text(people, name):
    printed("compare", people(), "--methods", "k-member,mondrian", "--k", "2,5", "--chart", name)
    return Path(name).read_text("utf-8")


def test_the_chart_has_two_panels_and_names_every_method(people):
    texts = re.findall(r">([^<>]+)</text>", drawn_text(people, "c.svg"))
    for told in (
        "Loss against risk",
        "Time",
        "highest risk (%, log scale)",
        "information lost (GCP, %)",
        "seconds (log scale)",
        "k-member",
        "mondrian",
    ):
        assert texts.count(told) == 1
    assert texts.count("k") == 1


@pytest.mark.parametrize("ending", ["svg", "html"])
def test_the_chart_needs_nothing_else(people, ending):
    text = drawn_text(people, f"c.{ending}").replace("http://www.w3.org/", "")
    assert not re.search(r"https?:|//|@import|url\(|\bsrc=|\bhref=|javascript:|<script|<link|<image", text)


EXPOSED = {"risk": {"highest": 0.5, "average": 0.4}, "frontier": True}


@pytest.fixture
def results():
    """Three results, as a comparison lists them."""
    loss = {"il": 12.3456, "gcp": 0.123456, "distortion_ratio": None, "dm": 123456, "c_avg": 1.0, "cm": None}
    done = {
        "seed": 0,
        "classes": 2,
        "suppressed": 0,
        "risk": {"highest": 0.2, "average": 0.123456},
        "added_loss": None,
        "k_alone": None,
        "bound": None,
        "frontier": False,
        "label": None,
        "best": False,
        "error": None,
    }
    return [
        {**done, "method": "b", "k": 5, "seconds": 0.0123456, "loss": loss},
        {**done, "method": "a", "k": 5, "seconds": 3.0, "loss": {**loss, "gcp": 0.2}},
        {**done, "method": "b", "k": 2, "seconds": 0.02, "loss": {**loss, "gcp": 0.05}, **EXPOSED},
    ]


def test_what_is_drawn_has_three_digits(results):
    drawn = chart_module._spec(results)
    values = drawn["hconcat"][0]["data"]["values"]
    told = {"method": "b", "k": 5, "risk": 20.0, "loss": 12.3, "seconds": 0.0123, "frontier": False}
    assert values[0] == told
    assert values == drawn["hconcat"][1]["data"]["values"]
    assert len(values) == 3


def axis_of(spec, panel, axis):
    return spec["hconcat"][panel]["layer"][-1]["encoding"][axis]


def test_time_is_drawn_on_a_log_axis_and_loss_from_zero(results):
    spec = chart_module._spec(results)
    time, loss, k = axis_of(spec, 1, "y"), axis_of(spec, 0, "y"), axis_of(spec, 1, "x")
    assert (time["scale"]["type"], time["scale"]["domain"]) == ("log", [0.01, 10])
    assert loss["scale"]["zero"] is True
    assert k["axis"]["values"] == [2, 5]


def test_methods_differ_in_colour_and_shape(results):
    many = [{**results[0], "method": f"m{at}"} for at in range(40)]
    encoding = chart_module._spec(many)["hconcat"][0]["layer"][-1]["encoding"]
    looks = zip(encoding["color"]["scale"]["range"], encoding["shape"]["scale"]["range"], strict=True)
    assert len(set(looks)) == 40


def test_typical_values_are_compared_by_dm(people):
    recipe = people(output={"values": "microaggregate"})
    told = printed("compare", recipe, "--methods", "k-member,mondrian", "--k", 5, "--chart", "c.svg")
    dms = [r["loss"]["dm"] for r in told["results"]]
    assert {r["loss"]["il"] for r in told["results"]} == {None}
    assert [r["best"] for r in told["results"]] == [dm == min(dms) for dm in dms]
    assert ">DM</text>" in Path("c.svg").read_text("utf-8")
    assert "* lowest DM at this k" in run("compare", recipe).stdout


def test_the_printed_table_marks_the_best_without_colour(hospital, compared):
    text = run("compare", hospital, "--k", ",".join(map(str, KS)), "--seed", 5).stdout
    rows = re.findall(r"^([* ]) (\S+) +(\d+) +([\d,.]+) +([\d.]+) ", text, re.MULTILINE)
    assert rows == [
        (
            "*" if r["best"] else " ",
            r["method"],
            str(r["k"]),
            f"{r['loss']['il']:.4g}",
            f"{100 * r['loss']['gcp']:.2f}",
        )
        for r in compared["results"]
    ]
    assert "* lowest IL at this k" in text
    assert f"after an untimed run on {compared['warm_rows']} rows" in text


@pytest.mark.parametrize("width", [40, 80, 120])
def test_no_digit_is_cut_off(hospital, width, monkeypatch):
    monkeypatch.setenv("COLUMNS", str(width))
    text = run("compare", hospital, "--k", 3).stdout
    assert "\N{HORIZONTAL ELLIPSIS}" not in text
    rows = [line[2:].split() for line in text.splitlines() if line[2:].partition(" ")[0] in COMPARED]
    assert [row[0] for row in rows] == list(COMPARED)
    assert {len(row) for row in rows} == {10}  # a row that is wrapped or cut has fewer numbers
    if width >= 80:
        assert max(len(line.rstrip()) for line in text.splitlines()) <= width


def test_quiet_prints_nothing(people):
    result = run("compare", people(), "-q", "--chart", "c.svg")
    assert (result.exit_code, result.stdout, result.stderr) == (0, "", "")
    assert Path("c.svg").read_text("utf-8").startswith("<svg")


def test_progress_names_method_and_k():
    people = pl.DataFrame({"age": range(20)})
    recipe = shoal.Recipe.from_roles(quasi=["age"], k=2)
    told = []
    methods = ["mondrian", "k-member"]
    comparison = shoal.compare(
        people, recipe, methods=methods, ks=[3], progress=lambda *step: told.append(step)
    )
    assert list(dict.fromkeys(name for name, _, _ in told)) == [
        "read", "encode", "warm-up", "bounding", "mondrian, k = 3 (1 of 2)", "k-member, k = 3 (2 of 2)",
    ]  # fmt: skip
    assert [share for name, share, _ in told if name == "warm-up"] == [0.0, 0.5, 1.0, 1.0]
    assert told[-1] == ("k-member, k = 3 (2 of 2)", 1.0, "")
    assert comparison.rows == 20


def test_a_frame_needs_a_recipe():
    with pytest.raises(shoal.ShoalError) as caught:
        shoal.compare(pl.DataFrame({"age": range(20)}))
    assert caught.value.code == "recipe.invalid"
