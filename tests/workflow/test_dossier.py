"""What a report gathers about a release: the numbers of the commands, and nothing that takes long."""

import polars as pl
import pytest

import shoal
from shoal.bound.lower_bound import recipe_bound
from shoal.datasets import census, census_recipe
from shoal.errors import RecipeError
from shoal.table.encode import encode
from shoal.workflow import dossier as module

PEOPLE = census(400, seed=1)
RECIPE = census_recipe(quasi=3, k=5).changed({"method": {"options": {"effort": "quick"}}})


@pytest.fixture(scope="module")
def release():
    return shoal.anonymize(PEOPLE, RECIPE)


@pytest.fixture(scope="module")
def found(release):
    return release.parts[0].findings([])


def text_of(release, path, **more):
    return release.report(path, **more).read_text(encoding="utf-8")


def test_risk_is_that_of_the_raw_table_and_of_the_release(release, found):
    assert found.risk_before == shoal.risk(PEOPLE, RECIPE).to_dict()
    assert found.risk_after == release.risk.to_dict()
    assert found.left_out == {}


def test_attacks_are_those_of_the_command_but_for_the_order_of_rows(release, found):
    made = shoal.attack(PEOPLE, release).to_list()
    assert "row-order" in {one["attack"] for one in made}
    expected = [one for one in made if one["attack"] != "row-order"]
    assert [{k: v for k, v in one.items() if k != "about"} for one in found.attacks] == expected
    assert all(one["about"] for one in found.attacks)


def test_utility_is_that_of_the_command(release, found):
    assert found.utility == release.utility(PEOPLE).to_json()


def test_the_cost_of_k_is_that_of_releases_with_other_k(release, found):
    assert [cost.k for cost in found.costs] == [2, 3, 5, 10, 20]
    assert [cost.is_release for cost in found.costs] == [False, False, True, False, False]
    encoded = encode(PEOPLE, release.recipe)
    most = len(PEOPLE) * sum(encoded.weights)
    for cost in found.costs:
        other = shoal.anonymize(PEOPLE, RECIPE, k=cost.k, method="local-search", bound=False)
        assert cost.gcp == pytest.approx(other.loss.gcp)
        effort = "normal" if cost.is_release else "quick"
        bound = recipe_bound(encoded, other.recipe, effort=effort)
        assert cost.bound == pytest.approx(bound.total / most)
        assert cost.bound <= cost.gcp


def test_without_a_bound_the_curve_has_none():
    release = shoal.anonymize(PEOPLE, RECIPE, bound=False)
    assert [cost.bound for cost in release.parts[0].findings([]).costs] == [None] * 5


def test_the_curve_of_many_rows_has_the_bound_of_the_release_alone(release, monkeypatch):
    monkeypatch.setattr(module, "BOUNDED_ROWS", 399)
    costs = release.parts[0].findings([]).costs
    assert [cost.k for cost in costs if cost.bound is not None] == [5]
    assert len(costs) == 5


def test_the_same_bytes_for_any_order_of_the_rows(release, tmp_path):
    shuffled = PEOPLE.sample(fraction=1.0, shuffle=True, seed=3)
    assert shuffled.rows() != PEOPLE.rows()
    texts = [text_of(one, tmp_path / "r.html") for one in (release, shoal.anonymize(shuffled, RECIPE))]
    assert texts[0] == texts[1]


def test_what_takes_long_is_left_out_with_its_command(release, monkeypatch, tmp_path):
    monkeypatch.setattr(module, "ATTACKED_ROWS", 399)
    monkeypatch.setattr(module, "CURVE_ROWS", 399)
    found = release.parts[0].findings([])
    assert (found.attacks, found.costs) == ([], [])
    assert set(found.left_out) == {"attacks", "cost"}
    text = text_of(release, tmp_path / "r.html")
    assert "With 400 rows, attacks would take too long here." in text
    assert "shoal attack RAW.csv RELEASE.csv --recipe RECIPE.toml" in text
    assert "shoal compare RECIPE.toml --k 5,10,20" in text


def test_a_large_raw_table_is_not_kept(monkeypatch, tmp_path):
    monkeypatch.setattr(module, "KEPT_ROWS", 399)
    release = shoal.anonymize(PEOPLE, RECIPE)
    found = release.parts[0].findings([])
    assert set(found.left_out) == {"subsets", "attacks", "utility", "cost"}
    assert found.risk_before["prosecutor"] == shoal.risk(PEOPLE, RECIPE).to_dict()["prosecutor"]
    kept = [cell.cell_contents for cell in release.parts[0].findings.__closure__]
    assert not [one for one in kept if isinstance(one, pl.DataFrame)]
    text = text_of(release, tmp_path / "r.html")
    assert "Risk before and after" in text
    assert "which combinations of columns single people out would take too long" in text
    with pytest.raises(RecipeError, match="400 rows"):
        release.report(tmp_path / "s.html", analysis="age ~ gender")
    assert not (tmp_path / "s.html").exists()


def test_a_method_without_quick_work_has_a_curve_for_few_rows_only(monkeypatch):
    release = shoal.anonymize(PEOPLE, census_recipe(quasi=3, k=5), method="k-member")
    assert len(release.parts[0].findings([]).costs) == 5
    monkeypatch.setattr(module, "SLOW_CURVE_ROWS", 399)
    assert release.parts[0].findings([]).costs == []


def test_typical_values_have_no_curve():
    release = shoal.anonymize(PEOPLE, RECIPE.changed({"output": {"values": "microaggregate"}}))
    found = release.parts[0].findings([])
    assert found.left_out == {"cost": "The loss of typical values is not defined, so there is no curve of k."}
    assert found.attacks


@pytest.mark.filterwarnings("ignore::shoal.PrivacyWarning")
@pytest.mark.parametrize(
    ("form", "named"),
    [
        ({"method": "anatomy", "options": {}}, "a release in two tables"),
        ({"method": "nh", "options": {}}, "a release with a box for each row"),
        ({"views": "equal", "accept_composition": True}, "one of several views"),
    ],
    ids=["anatomy", "nh", "views"],
)
def test_other_shapes_say_in_one_sentence_what_is_missing(form, named, tmp_path):
    recipe = RECIPE if "views" in form else census_recipe(quasi=3, k=2)
    release = shoal.anonymize(PEOPLE, recipe, **form)
    release.report(tmp_path / "r.html")
    for page in tmp_path.glob("*.html"):
        text = page.read_text(encoding="utf-8")
        assert text.count(f"are not part of a report about {named}.") == 1
        assert 'id="attacks"' not in text
    with pytest.raises(RecipeError, match="Analyses cannot be compared"):
        release.report(tmp_path / "a.html", analysis="age ~ gender")


def test_an_analysis_is_in_the_report_if_asked_for(release, tmp_path):
    pytest.importorskip("statsmodels")
    pytest.importorskip("sklearn")
    text = text_of(release, tmp_path / "r.html", analysis="age ~ gender")
    assert "<code>age ~ gender</code>" in text
    assert "age ~ gender" not in text_of(release, tmp_path / "r.html")
    release.write(tmp_path / "out.csv", report=True, analysis=["age ~ gender"])
    assert "age ~ gender" in (tmp_path / "out.csv.report.html").read_text(encoding="utf-8")


def test_people_are_counted_where_rows_name_them():
    # Everybody has two rows: classes of five people have ten.
    people = pl.concat([PEOPLE.with_row_index("person")] * 2)
    release = shoal.anonymize(people, RECIPE.changed({"columns": {"person": {"role": "subject"}}}))
    found = release.parts[0].findings([])
    assert found.risk_after["people"] == found.risk_before["people"] == 400
    assert found.risk_after["prosecutor"]["highest"] <= 1 / 5
