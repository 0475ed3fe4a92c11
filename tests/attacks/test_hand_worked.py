"""Attacks on tables that are small enough to be attacked by hand."""

import json
import re

import pytest

import shoal
from shoal.errors import DataError, RecipeError
from tests.attacks.tables import attacked, findings, frame, recipe, result

RAW = frame(
    "age|sex|ill",
    "31|f|flu",
    "33|f|cold",
    "35|f|flu",
    "36|f|flu",
    "58|m|cold",
    "60|m|cold",
    "61|m|cold",
    "62|m|cold",
)
# Three classes; the box of the second also contains the woman of 33.
RELEASED = frame(
    "age|sex|ill",
    "[31, 33]|f|cold",
    "[31, 33]|f|flu",
    "[33, 36]|f|flu",
    "[33, 36]|f|flu",
    "[58, 62]|m|cold",
    "[58, 62]|m|cold",
    "[58, 62]|m|cold",
    "[58, 62]|m|cold",
)
ASKED = {"age": "quasi", "sex": "quasi", "ill": "sensitive"}


@pytest.fixture(scope="module")
def found():
    return attacked(RAW, RELEASED, recipe(**ASKED))


def test_equal_labels(found):
    one, mean = result(found, "classes-worst"), result(found, "classes")
    # classes of 2, 2 and 4 rows
    assert (one.success, one.baseline, one.guess, one.ceiling) == (1 / 2, 1, 1 / 8, 1 / 2)
    assert mean.success == pytest.approx((2 / 2 + 2 / 2 + 4 / 4) / 8)
    assert (mean.baseline, mean.guess, mean.ceiling, mean.rows) == (1, 1 / 8, 1 / 2, 8)
    assert one.details == {"classes": 3, "smallest": 2, "below_k": 0}
    assert {one.finding, mean.finding} == {"none"}


def test_containment(found):
    one, mean = result(found, "containment-worst"), result(found, "containment")
    # 31: 2 rows; 33: 4, of two boxes; 35 and 36: 2; all others: 4
    assert mean.success == pytest.approx((1 / 2 + 1 / 4 + 1 / 2 + 1 / 2 + 4 / 4) / 8)
    assert one.success == 1 / 2
    assert one.details | {"median": 0} == {
        "smallest": 2, "median": 0, "below_k": 0, "single": 0, "outside": 0, "sampled": False
    }  # fmt: skip
    assert one.details["median"] == 4  # 2, 2, 2, 4, 4, 4, 4, 4


def test_subsets(found):
    best = result(found, "subsets")
    assert best.columns == ("age",)
    assert best.success == pytest.approx(2.75 / 8)
    assert best.details["subsets"] == 2
    by_sex = best.details["best"][1]
    assert (by_sex["columns"], by_sex["success"], by_sex["smallest"]) == (["sex"], 1 / 4, 4)
    assert by_sex["baseline"] == 2 / 8  # two values


def test_intervals_are_wilsons(found):
    # 3 of 8, z = 1.96: (3/8 + 0.2401) / 1.4802 -+ 1.96 / 1.4802 * sqrt(15/64/8 + 0.0150)
    mean = result(found, "classes")
    assert mean.interval == "wilson"
    assert mean.low == pytest.approx(0.1368, abs=1e-4)
    assert mean.high == pytest.approx(0.6943, abs=1e-4)
    one = result(found, "classes-worst")
    assert (one.low, one.high, one.interval) == (1 / 2, 1 / 2, "exact")


def test_homogeneity_and_skewness(found):
    certain, likely = result(found, "homogeneity"), result(found, "skewness")
    assert (certain.success, certain.baseline, certain.guess) == (6 / 8, 1, 0)  # flu twice, cold four times
    assert (likely.success, likely.baseline, likely.guess) == (7 / 8, 1, 5 / 8)
    assert certain.ceiling is likely.ceiling is None
    assert (certain.finding, likely.finding) == ("exposed", "exposed")
    assert likely.details["values"] == []  # no value occurs ten times


def test_guess_by_candidates(found):
    likely = result(found, "candidates")
    # 31: flu or cold, a tie; 33: flu three of four, wrong; all others are right and certain
    assert likely.success == pytest.approx((1 / 2 + 0 + 1 + 1 + 4) / 8)
    assert likely.details == {"certain": 6, "sampled": False}


def test_ends_of_ranges(found):
    pinned = result(found, "range-ends")
    # 31 and 33 in the first box, 33 and 36 in the second, 58 and 62 in the third: each alone there
    assert pinned.success == 6 / 8
    assert pinned.details == {"pinned": 6, "ends": 6, "tight": 1, "unique_ends": 5, "sampled": False}
    assert pinned.finding == "exposed"


def test_ends_on_a_grid_pin_nobody():
    released = RELEASED.with_columns(age=RELEASED["age"].replace({"[58, 62]": "[55, 65]"}))
    pinned = result(attacked(RAW, released, recipe(**ASKED)), "range-ends")
    assert (pinned.success, pinned.finding) == (0, "none")
    assert pinned.details["tight"] == 4 / 6  # the third range ends at nobody's value


def test_the_words(found):
    assert found.holds
    assert str(found).startswith("No promise was broken, but ")
    assert "In 2 of 3 classes everyone has the same `ill`: it is certain for fewer than 10 rows." in str(
        found
    )
    # Reports repeat the messages, and must not count fewer than ten people or rows.
    small = re.compile(r"(?<!k = )\b[1-9] (people|rows|ends)\b")
    assert not [result.message for result in found if small.search(result.message)]
    assert repr(found) == (
        "Attacks(10 attacks, broken=[], exposed=['range-ends', 'homogeneity', 'skewness', 'candidates'])"
    )
    assert [r["attack"] for r in found.to_list()] == [r.attack for r in found]
    assert json.loads(json.dumps(found.to_list()))[0]["ceiling"] == 1 / 2


def test_groups_come_in_their_order(found):
    groups = [r.group for r in found]
    assert groups == sorted(groups, key=["singling out", "linkability", "inference"].index)


def people(*kinds):
    """Rows that occur several times: 'cells * number'."""
    rows = []
    for kind in kinds:
        cells, _, number = kind.partition(" * ")
        rows += [cells] * int(number or 1)
    return rows


def test_a_column_that_follows_another_recovers_it():
    raw = frame("zip|stop|ill", *people("a1|s1|x * 4", "a2|s2|x * 2", "b1|s3|y * 3", "b2|s4|y * 3"))
    released = frame(
        "zip|stop|ill",
        *people("{a1, a2}|s1|x * 4", "{a1, a2}|s2|x * 2", "{b1, b2}|s3|y * 3", "{b1, b2}|s4|y * 3"),
    )
    found = attacked(raw, released, recipe(zip="quasi", stop="keep", ill="sensitive"))
    zips = result(found, "recovery")
    # With the stop, all others have one zip: always right. From the cell alone a1 is the guess in the first
    # set, right for 4; in the second the others have the other zip more often, so nobody is right.
    assert (zips.success, zips.details["cell_alone"]) == (1, 4 / 12)
    assert zips.guess == 4 / 12  # a1
    assert zips.details["sources"][0] == {"columns": ["stop"], "success": 1}
    assert zips.finding == "exposed"
    # the disease says less: it only says which set
    assert [s["success"] for s in zips.details["sources"] if s["columns"] == ["ill"]] == [4 / 12]


def test_two_columns_together_recover_a_third():
    kinds = ["a|0|0", "a|1|1", "b|0|1", "b|1|0"]
    raw = frame("zip|p|q", *people(*(f"{kind} * 3" for kind in kinds)))
    released = frame("zip|p|q", *people(*("{a, b}" + kind[1:] + " * 3" for kind in kinds)))
    zips = result(attacked(raw, released, recipe(k=2, zip="quasi", p="keep", q="keep")), "recovery")
    assert (zips.success, zips.details["cell_alone"], zips.finding) == (1, 0, "exposed")
    assert {tuple(s["columns"]): s["success"] for s in zips.details["sources"]} == {
        ("p", "q"): 1, ("p",): 0, ("q",): 0
    }  # fmt: skip


def test_a_single_row_teaches_nothing():
    """A unique kept value links a row to a person, but is no rule."""
    raw = frame("zip|note", *(f"{'ab'[n % 2]}|n{n}" for n in range(12)))
    released = frame("zip|note", *("{a, b}" + f"|n{n}" for n in range(12)))
    found = attacked(raw, released, recipe(k=2, zip="quasi", note="keep"))
    zips = result(found, "recovery")
    assert zips.success == zips.details["cell_alone"] == 0
    assert result(found, "kept-worst").success == 1


def test_the_rest_of_the_box_downcodes_a_value():
    raw = frame("land|job", *people("France|nurse * 6", "France|clerk * 3", "Germany|clerk * 3"))
    released = frame("land|job", *people("*|nurse * 6", "*|clerk * 6"))
    land = result(attacked(raw, released, recipe(land="quasi", job="quasi")), "downcoding")
    # All nurses are in France: certain for 6 of 12. Of the clerks, the others live more often elsewhere.
    assert (land.success, land.details["certain"]) == (6 / 12, 6 / 12)
    # From the star alone France is the guess: right for 6 nurses and 3 of 6 clerks.
    assert land.details["cell_alone"] == 9 / 12
    assert (land.guess, land.finding) == (9 / 12, "exposed")


DIVERSE = {"type": "l-diversity", "column": "ill", "variant": "frequency", "l": 2}


def test_a_group_generalized_for_a_goal_shows_its_value():
    others = [f"{41 + n}|{'flu' if n % 2 else 'cold'}" for n in range(10)]
    raw = frame("age|ill", *people("40|hiv * 10"), *others)
    released = frame("age|ill", *people("[40, 50]|hiv * 10", "[40, 50]|flu * 5", "[40, 50]|cold * 5"))
    found = attacked(raw, released, recipe(k=3, goals=[DIVERSE], age="quasi", ill="sensitive"))
    shown = result(found, "minimality")
    # Ten people of 40 need no range for k = 3, but all of them have hiv; it is also the most frequent.
    assert (shown.success, shown.guess, shown.baseline, shown.rows) == (1, 10 / 20, 1, 10)
    assert (shown.finding, shown.ceiling) == ("exposed", None)
    assert result(found, "skewness").ceiling == 1 / 2
    assert result(found, "homogeneity").ceiling == 0
    assert found.holds


def test_the_intersection_of_two_releases(tmp_path):
    raw = frame("x|ill", "a|flu", "b|cold", "c|ulcer", "d|gout")
    now = frame("x|ill", "{a, b}|cold", "{a, b}|flu", "{c, d}|gout", "{c, d}|ulcer")
    before = frame("x|ill", "{a, c}|flu", "{a, c}|ulcer", "{b, d}|cold", "{b, d}|gout")
    before.write_csv(tmp_path / "before.csv")
    asked = recipe(x="quasi", ill="sensitive")
    both = result(attacked(raw, now, asked, earlier=[tmp_path / "before.csv"]), "intersection")
    assert (both.success, both.guess, both.rows) == (1, 1 / 4, 4)
    assert both.details == {"below_k": 4, "smallest": 1, "certain": 4, "sampled": False}
    assert both.finding == "exposed"
    now.write_csv(tmp_path / "same.csv")
    again = result(attacked(raw, now, asked, earlier=[tmp_path / "same.csv"]), "intersection")
    assert (again.success, again.details["below_k"], again.finding) == (1 / 2, 0, "none")


def test_releases_without_a_common_column_are_not_intersected(tmp_path):
    raw = frame("x|ill", "a|flu", "b|cold")
    frame("x", "{a, b}", "{a, b}").write_csv(tmp_path / "before.csv")
    released = frame("x|ill", "{a, b}|cold", "{a, b}|flu")
    found = attacked(raw, released, recipe(x="quasi", ill="sensitive"), earlier=[tmp_path / "before.csv"])
    assert found.notes == ("Intersection: the releases have no unchanged column in common.",)


def test_views_are_intersected():
    raw = frame("x|y|ill", "a|1|flu", "a|2|cold", "b|1|cold", "b|2|flu")
    asked = recipe(x="quasi", y="quasi", ill="sensitive", output={"views": [["x"], ["y"]]})
    one = frame("x|ill", "a|cold", "a|flu", "b|cold", "b|flu").to_arrow()
    two = frame("y|ill", "1|cold", "1|flu", "2|cold", "2|flu").to_arrow()
    found = attacked(raw, [one, two], asked)
    assert sorted(r.details["view"] for r in found if r.attack == "classes") == [1, 2]
    both = result(found, "intersection")
    assert (both.success, both.details["below_k"]) == (1 / 2, 0)  # flu or cold remain for everybody


def test_people_are_counted_where_a_person_has_several_rows():
    raw = frame("who|age", *people("p|30 * 3", "q|30", "r|40 * 2", "s|50 * 2"))
    released = frame("age", *people("30 * 4", "[40, 50] * 4"))
    found = attacked(raw, released, recipe(k=3, who="subject", age="quasi"))
    assert result(found, "people-worst").details == {"smallest": 2, "below_k_rows": 8}
    assert findings(found, "broken") == {"people-worst"}  # all classes have four rows
    assert attacked(raw, released, recipe(k=2, who="subject", age="quasi")).holds


def test_typical_values_are_attacked_by_labels():
    raw = frame("age|ill", "30|flu", "32|flu", "50|flu", "60|cold")
    released = frame("age|ill", "31|flu", "31|flu", "55|cold", "55|flu")
    found = attacked(raw, released, recipe(age="quasi", ill="sensitive", output={"values": "microaggregate"}))
    assert {r.attack for r in found} == {
        "classes", "classes-worst", "row-order", "homogeneity", "skewness"
    }  # fmt: skip
    assert result(found, "homogeneity").success == 1 / 2
    assert "Typical values have no boxes: attacked by equal labels only." in found.notes


def test_missing_values_are_a_value_of_quasi_and_none_of_sensitive_columns():
    raw = frame("age|ill", "|flu", "|", "30|cold", "31|")
    released = frame("age|ill", "|flu", "|", "[30, 31]|cold", "[30, 31]|")
    found = attacked(raw, released, recipe(age="quasi", ill="sensitive"))
    assert result(found, "containment").success == 1 / 2
    assert (result(found, "homogeneity").success, result(found, "homogeneity").rows) == (1, 2)


def test_rows_that_the_recipe_leaves_out_are_nobody():
    raw = frame("age", "30", "31", "")
    found = attacked(raw, frame("age", "[30, 31]", "[30, 31]"), recipe(age="quasi", missing="suppress"))
    assert result(found, "containment").rows == 2
    assert found.holds


def test_a_manifest_says_what_an_earlier_release_promised(tmp_path):
    raw = frame("x|y|ill", *(f"{'ab'[n % 2]}|{'cd'[n // 2 % 2]}|i{n % 3}" for n in range(24)))
    before = shoal.anonymize(raw, quasi=["y"], sensitive=["ill"], drop=["x"], k=3)
    before.write(tmp_path / "before.csv")
    now = shoal.anonymize(raw, quasi=["x"], sensitive=["ill"], drop=["y"], k=3)
    both = result(attacked(raw, now, None, earlier=[tmp_path / "before.csv"]), "intersection")
    # x and y are published as they are: 12 rows each, 4 of each disease in both, so 12 remain
    assert (both.success, both.details["smallest"]) == (pytest.approx(4 / 12), 12)


@pytest.mark.parametrize(
    ("released", "code"),
    [
        (frame("age|ill", "[31, 33]|flu"), "data.unreadable"),
        (frame("age|sex|ill", "thirties|f|flu", "30|f|flu"), "data.labels"),
        (frame("age|sex|ill", "31|f|flu").clear(), "data.empty"),
    ],
)
def test_what_cannot_be_attacked(released, code):
    with pytest.raises(DataError) as caught:
        attacked(RAW, released, recipe(**ASKED))
    assert caught.value.code == code
    assert "thirties" not in str(caught.value)


def test_a_recipe_is_needed():
    with pytest.raises(RecipeError, match="The recipe of the release is needed"):
        shoal.attack(RAW, RELEASED)
