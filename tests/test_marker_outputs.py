"""A marker in few rows shows up in the release alone: not in report, manifest, measures or pictures."""

import json

import pytest
from typer.testing import CliRunner

import shoal
from shoal.cli.main import app
from shoal.datasets import hospital
from shoal.recipe import Recipe
from tests.profiles import IS_SLOW, some

MARK = "ZXMARKERXZ"
OUTLIER = 987_654_321  # a single person's value in a numeric column, and the column's maximum
OLD = "1801-02-03"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A table of 300 stays with marked cells in nine rows, its recipe, and its release."""
    import polars as pl

    folder = tmp_path_factory.mktemp("marked")
    stays = hospital(300, seed=3).with_columns(pl.int_range(pl.len()).alias("row"))
    marked = pl.col("row") < 9
    stays = stays.with_columns(
        pl.when(marked).then(pl.lit(MARK)).otherwise(pl.col(name)).alias(name)
        for name in ("name", "profession", "diagnosis")
    ).with_columns(
        pl.when(pl.col("row") == 0).then(OUTLIER).otherwise(pl.col("cost")).alias("cost"),
        pl.when(pl.col("row") == 0)
        .then(pl.lit(OLD))
        .otherwise(pl.col("birth_date").cast(pl.String))
        .alias("birth_date"),
    )
    stays.drop("row").write_csv(folder / "stays.csv")
    columns = {
        "name": {"role": "identifier"},
        "patient": {"role": "drop"},
        "birth_date": {"role": "quasi"},
        "sex": {"role": "quasi"},
        "postcode": {"role": "drop"},
        "profession": {"role": "quasi"},
        "admission_date": {"role": "drop"},
        "diagnosis": {"role": "sensitive"},
        "cost": {"role": "quasi"},
    }
    recipe = Recipe.from_dict({"input": {"path": "stays.csv"}, "columns": columns, "privacy": {"k": 5}})
    (folder / "recipe.toml").write_text(recipe.to_toml(), encoding="utf-8")
    return folder


def printed(*arguments):
    result = CliRunner().invoke(app, [str(argument) for argument in arguments])
    assert result.exit_code == 0, result.stderr
    return result.stdout + result.stderr


def assert_unmarked(*texts):
    for text in texts:
        assert MARK not in text
        assert str(OUTLIER) not in text.replace(",", "")
        assert OLD not in text


@pytest.fixture(scope="module")
def released(folder):
    out = folder / "out.csv"
    text = printed("anonymize", folder / "recipe.toml", "-o", out, "--json")
    return out, text


def test_the_marks_are_in_the_release_so_that_the_other_tests_can_fail(released):
    text = released[0].read_text(encoding="utf-8")
    assert MARK in text
    assert str(OUTLIER) in text
    assert OLD in text


def test_report_and_manifest_show_no_mark(released):
    out, text = released
    report = out.with_name("out.csv.report.html").read_text(encoding="utf-8")
    for section in ("Warnings", "Risk before and after", "Inference", "Loss by class", "Distributions"):
        assert section in report  # it is the whole report
    assert "What it is still good for" in report
    assert "Information lost (GCP) at each k" in report
    manifest = out.with_name("out.csv.manifest.json").read_text(encoding="utf-8")
    assert_unmarked(report, manifest, text)


@pytest.mark.parametrize("form", some([[], ["--json"]], 2), ids=str)
def test_measure_shows_no_mark(folder, released, form):
    arguments = ["measure", folder / "stays.csv", "--recipe", folder / "recipe.toml", *form]
    analyses = ["--analysis", "cost ~ sex + profession + diagnosis", "--analysis", "diagnosis ~ sex + cost"]
    assert_unmarked(printed(*arguments), printed(*arguments, "--released", released[0], *analyses))


@pytest.mark.parametrize("form", [[], ["--json"]], ids=["table", "json"])
def test_risk_shows_no_mark(folder, released, form):
    raw, recipe = folder / "stays.csv", folder / "recipe.toml"
    people = folder / "people.csv"
    settings = ["--population", raw, "--household", "patient", "--per-person", people]
    assert_unmarked(
        printed("risk", raw, "--recipe", recipe, "--released", released[0], *settings, *form),
        printed("risk", released[0], "--sampling-fraction", "0.2", *form),
        printed("risk", raw, "--quasi", "profession,cost", "--sampling-fraction", "0.2", *form),
    )
    assert MARK in people.read_text(encoding="utf-8")  # the owner asked for it


@pytest.mark.parametrize("form", [[], ["--json"]], ids=["table", "json"])
def test_an_attack_shows_no_mark(folder, released, form):
    arguments = ["--recipe", folder / "recipe.toml", "--junit", folder / "junit.xml", *form]
    for table in (released[0], folder / "stays.csv"):
        result = CliRunner().invoke(app, ["attack", *map(str, [folder / "stays.csv", table, *arguments])])
        assert result.exit_code == int(table != released[0]), result.stderr
        assert_unmarked(result.stdout, result.stderr, (folder / "junit.xml").read_text(encoding="utf-8"))
        if form:
            values = [v for each in json.loads(result.stdout) for v in each["details"].get("values", [])]
            assert [v for v in values if v["value"] is not None]  # frequent ones are named


@pytest.mark.parametrize("form", some([[], ["--json"]], 2), ids=str)
def test_a_comparison_and_its_charts_show_no_mark(folder, form):
    methods = "all" if IS_SLOW else "mondrian,k-member"
    arguments = ["compare", folder / "recipe.toml", "--methods", methods, "--k", "5,10", *form]
    for ending in ("svg", "html"):
        chart = folder / f"chart.{ending}"
        assert_unmarked(printed(*arguments, "--chart", chart), chart.read_text(encoding="utf-8"))


def test_an_induced_hierarchy_is_pictured_without_marks(folder):
    out = folder / "profession.csv"
    arguments = ["--column", "profession", "--induce", "birth_date,sex", "-o", out]
    shown = printed("hierarchy", "build", folder / "stays.csv", *arguments)
    assert "induced from" in shown
    assert MARK in out.read_text(encoding="utf-8")
    assert_unmarked(shown)


@pytest.mark.parametrize("form", some([["--json"], []], 2), ids=str)
def test_a_release_with_an_induced_hierarchy_shows_no_mark(folder, form):
    out = folder / "induced.csv"
    arguments = ["--hierarchy", "profession=induce", "-o", out, "--force"]
    shown = printed("anonymize", folder / "recipe.toml", *arguments, *form)
    files = [out.with_name(f"induced.csv.{ending}") for ending in ("manifest.json", "report.html")]
    assert MARK in out.with_name("induced.csv.profession.hierarchy.toml").read_text(encoding="utf-8")
    assert_unmarked(shown, *(file.read_text(encoding="utf-8") for file in files))


@pytest.mark.parametrize("column", ["profession", "diagnosis", "cost", "birth_date"])
@pytest.mark.parametrize("form", [[], ["--json"]], ids=["picture", "json"])
def test_a_built_hierarchy_is_pictured_without_marks(folder, column, form):
    assert_unmarked(printed("hierarchy", "build", folder / "stays.csv", "--column", column, *form))


TREE = {"anything": {"some": [MARK, "seldom", "GONE"], "work": ["clerk", "nurse"]}}
LEVELS = ["low", MARK, "GONE", "high"]


@pytest.fixture(scope="module", params=["whole", "views", "anatomy"])
def listed(request, tmp_path_factory):
    """The manifest, reports and JSON of a table whose recipe lists its values, marked ones among them."""
    import polars as pl

    folder = tmp_path_factory.mktemp("listed")
    jobs = [MARK, *["clerk", "nurse", "clerk", "seldom"] * 10]
    levels = [MARK, *["low", "high"] * 20]
    ill = [*["a", "b"] * 20, "c"]
    pl.DataFrame({"job": jobs, "level": levels, "ill": ill, "stage": levels}).write_csv(folder / "in.csv")
    columns = {
        "job": {"role": "quasi", "hierarchy": TREE},
        "level": {"role": "quasi", "kind": "ordinal", "order": LEVELS},
        "ill": {"role": "sensitive", "accept": ["duplicate", "recoverable"]},
        "stage": {"role": "drop", "kind": "ordinal", "order": LEVELS},
    }
    recipe = Recipe.from_dict({"input": {"path": "in.csv"}, "columns": columns, "privacy": {"k": 2}})
    (folder / "recipe.toml").write_text(recipe.to_toml(), encoding="utf-8")
    form = {"whole": [], "views": ["--views", "job;level"], "anatomy": ["--method", "anatomy"]}[request.param]
    more = ["--json", "--no-bound", "--accept-composition"]
    text = printed("anonymize", folder / "recipe.toml", "-o", folder / "out.csv", *form, *more)
    beside = [*folder.glob("*.manifest.json"), *folder.glob("*.report.html")]
    assert len(beside) == {"whole": 2, "views": 3, "anatomy": 2}[request.param]
    return [text, *(file.read_text(encoding="utf-8") for file in beside)]


def test_no_value_that_a_recipe_lists_is_in_manifest_or_report(listed):
    for text in listed:
        assert MARK not in text
        assert "GONE" not in text
        assert "anything" not in text
    assert '"order": 4' in listed[1]
    assert '"hierarchy": 5' in listed[1]


def test_reprs_in_terminal_and_notebook_show_no_mark(folder):
    release = shoal.anonymize(Recipe.load(folder / "recipe.toml"))
    assert "k-anonymity" in release._repr_html_()
    (part,) = release.parts
    assert_unmarked(repr(release), str(release), release._repr_html_(), repr(part), repr(part.profile))
