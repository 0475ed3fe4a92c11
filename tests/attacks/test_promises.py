"""On a release that was verified, no attack breaks a promise, whatever the method, the goal and the table."""

import warnings

import numpy as np
import polars as pl
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import shoal
from shoal.cluster import METHODS
from shoal.errors import InfeasibleError, PrivacyWarning
from shoal.recipe import Recipe
from tests.attacks.tables import recipe, result
from tests.profiles import few, some
from tests.reference import attacks as reference
from tests.strategies import EVERY_KIND, tables

GOALS = [
    {"type": "l-diversity", "column": "label", "variant": "distinct", "l": 2},
    {"type": "l-diversity", "column": "label", "variant": "frequency", "l": 2},
    {"type": "l-diversity", "column": "label", "variant": "entropy", "l": 1.8},
    {"type": "l-diversity", "column": "label", "variant": "recursive", "l": 2, "c": 2.0},
    {"type": "alpha-k", "column": "label", "alpha": 0.6},
    {"type": "t-closeness", "column": "label", "t": 0.3},
    {"type": "beta-likeness", "column": "label", "beta": 1.0},
    {"type": "beta-likeness", "column": "label", "beta": 2.0, "variant": "enhanced"},
    {"type": "delta-disclosure", "column": "label", "delta": 1.5},
]


def released(table, sections):
    """The release and its recipe; none where the goals cannot be met."""
    asked = Recipe.from_dict(sections)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PrivacyWarning)
        try:
            return shoal.anonymize(table, asked, bound=False)
        except InfeasibleError:
            assume(False)


@few()
@pytest.mark.parametrize("method", some([n for n, info in METHODS.items() if info.shape.has_classes], 3))
@given(data=st.data())
def test_linkage_by_equal_labels_succeeds_at_most_once_in_k(method, data):
    case = data.draw(tables(max_rows=30, kinds=EVERY_KIND))
    sections = case.recipe.to_dict()
    sections["method"] |= {"name": method}
    sections["privacy"]["max_suppressed"] = data.draw(st.sampled_from([0.0, 0.2]))
    release = released(case.table, sections)
    found = shoal.attack(case.table, release)
    k = release.recipe.privacy.k
    for name in ("classes", "classes-worst", "containment", "containment-worst"):
        each = result(found, name)
        assert each.success <= 1 / k + 1e-12
        assert each.ceiling == 1 / k
    assert result(found, "containment-worst").details["below_k"] == 0
    assert found.holds, str(found)
    names = [name for name in release.frame.columns if name != "label"]
    sizes = reference.class_sizes(release.frame.select(names).rows())
    assert result(found, "classes").success == pytest.approx(float(reference.success(sizes)))


@few()
@pytest.mark.parametrize(
    "goal", some(GOALS, 2), ids=lambda goal: "-".join(map(str, list(goal.values())[::2]))
)
@given(data=st.data())
def test_a_goal_that_holds_bounds_every_guess(goal, data):
    case = data.draw(tables(max_rows=30, method="mondrian"))
    sections = case.recipe.to_dict()
    sections["privacy"]["goal"] = [goal]
    release = released(case.table, sections)
    found = shoal.attack(case.table, release)
    assert found.holds, str(found)
    frame = release.frame.filter(pl.col("label").is_not_null())
    if len(frame):
        groups = frame.drop("label").rows()
        likely, certain = result(found, "skewness"), result(found, "homogeneity")
        assert likely.success == pytest.approx(float(reference.majority(groups, frame["label"].to_list())))
        assert certain.success == pytest.approx(float(reference.alike(groups, frame["label"].to_list())))


@given(tables(max_rows=24))
def test_a_box_for_each_row_leaves_k_candidates(case):
    sections = case.recipe.to_dict() | {"method": {"name": "nh"}}
    release = released(case.table, sections)
    found = shoal.attack(case.table, release)
    assert result(found, "containment-worst").success <= 1 / release.recipe.privacy.k + 1e-12
    assert found.holds, str(found)
    assert "classes" not in {each.attack for each in found}


def test_two_tables_bound_the_guess_by_the_groups():
    rng = np.random.Generator(np.random.PCG64(0))
    table = pl.DataFrame({"age": rng.integers(20, 60, 60), "ill": [f"i{n}" for n in rng.permutation(60) % 5]})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PrivacyWarning)
        release = shoal.anonymize(
            table, quasi=["age"], sensitive=["ill"], k=2, method="anatomy", options={"l": 3}
        )
    found = shoal.attack(table, release)
    likely = result(found, "skewness")
    assert likely.ceiling == pytest.approx(1 / 3)
    assert likely.success <= 1 / 3 + 1e-12
    assert found.holds
    worst = result(found, "containment-worst")
    assert (worst.ceiling, worst.finding) == (None, "exposed")  # ages are published as they are
    assert worst.success == worst.baseline


@given(tables(max_rows=20), st.randoms())
def test_the_order_of_the_input_changes_nothing(case, random):
    release = released(case.table, case.recipe.to_dict())
    order = list(range(len(case.table)))
    random.shuffle(order)
    assert shoal.attack(case.table[order], release).to_list() == shoal.attack(case.table, release).to_list()


@st.composite
def two_releases(draw):
    """People with two quasi values and a disease, and the classes of two releases of them."""
    n = draw(st.integers(4, 12))
    raw = pl.DataFrame(
        {
            "x": draw(st.lists(st.sampled_from("abcd"), min_size=n, max_size=n)),
            "ill": draw(st.lists(st.sampled_from(["flu", "cold", "gout"]), min_size=n, max_size=n)),
        }
    )
    partition = st.permutations("abcd").map(
        lambda order: ["".join(sorted(order[:2])), "".join(sorted(order[2:]))]
    )
    return raw, [draw(partition), draw(partition)]


def published(raw, sets):
    """The raw table with the set of two that each value is in."""
    label = {value: "{" + ", ".join(pair) + "}" for pair in sets for value in pair}
    return raw.with_columns(x=pl.col("x").replace(label)).sort(pl.all())


@given(two_releases())
def test_what_remains_of_two_releases_is_what_the_twin_says(tmp_path_factory, case):
    raw, partitions = case
    asked = recipe(k=3, x="quasi", ill="sensitive")
    path = tmp_path_factory.mktemp("earlier") / "earlier.csv"
    published(raw, partitions[1]).write_csv(path)
    both = result(shoal.attack(raw, published(raw, partitions[0]), asked, earlier=[path]), "intersection")
    releases = [
        [((set(next(pair for pair in sets if x in pair)),), ill) for x, ill in raw.rows()]
        for sets in partitions
    ]
    left = [reference.remaining((x,), releases) for x, _ in raw.rows()]
    totals = [sum(times.values()) for times in left]
    right = sum(times[ill] / total for times, total, (_, ill) in zip(left, totals, raw.rows(), strict=True))
    assert both.success == pytest.approx(right / len(raw))
    assert both.details["smallest"] == min(totals)
    assert both.details["below_k"] == sum(total < 3 for total in totals)
