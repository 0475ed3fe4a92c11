"""Releases as other tools write them."""

import pytest

from tests.attacks.tables import attacked, frame, recipe, result

AGES = [str(age) for age in range(20, 60)]


@pytest.mark.parametrize(
    "labels",
    [
        ["[20, 39]", "[40, 59]"],
        ["20-39", "40-59"],
        ["20..39", "40 .. 59"],
        ["[20, 40[", "[40, 60["],
        ["[20,40)", "[40,60)"],
        ["(19,39]", "(39,59]"],
        ["<40", ">=40"],
        ["<=39", ">39"],
        ["{" + ", ".join(AGES[:20]) + "}", "{" + ", ".join(AGES[20:]) + "}"],
    ],
    ids=lambda labels: labels[0][:9],
)
def test_ranges_of_every_style_are_attacked_alike(labels):
    raw = frame("age|ill", *(f"{age}|i{int(age) % 3}" for age in AGES))
    released = frame("age|ill", *(f"{labels[int(age) >= 40]}|i{int(age) % 3}" for age in AGES))
    found = attacked(raw, released, recipe(k=20, age="quasi", ill="sensitive"))
    assert found.holds
    for name in ("classes", "containment"):
        assert (result(found, name).success, result(found, name).baseline) == (1 / 20, 1)
    assert result(found, "containment-worst").details["outside"] == 0


@pytest.mark.parametrize(
    ("spec", "labels"),
    [
        ("quasi", {"537": "537**", "538": "538**"}),
        ({"role": "quasi", "kind": "categorical"}, {"537": "537**", "538": "538**"}),
        ({"role": "quasi", "hierarchy": {"prefix": 1}}, {"537": "537**", "538": "538**"}),
        (
            {"role": "quasi", "hierarchy": {"all": {"west": ["53711", "53722"], "east": ["53811", "53822"]}}},
            {"537": "west", "538": "east"},
        ),
    ],
    ids=["digits", "texts", "prefixes", "nodes"],
)
def test_masks_and_nodes(spec, labels):
    zips = ["53711", "53722", "53811", "53822"] * 3
    raw = frame("zip|ill", *(f"{zip_code}|i{n}" for n, zip_code in enumerate(zips)))
    released = frame("zip|ill", *(f"{labels[zip_code[:3]]}|i{n}" for n, zip_code in enumerate(zips)))
    found = attacked(raw, released, recipe(k=6, zip=spec, ill="sensitive"))
    assert found.holds
    assert result(found, "containment").success == 1 / 6
    assert result(found, "containment").baseline == 4 / 12


def test_suppressed_rows_with_stars_may_be_anybodys():
    """ARX keeps suppressed rows; everybody may be behind them."""
    raw = frame("age|ill", *(f"{age}|x" for age in (20, 21, 22, 23, 24, 25)))
    released = frame("age|ill", *["[20, 22[|x"] * 2, *["[22, 24[|x"] * 2, *["*|x"] * 2)
    found = attacked(raw, released, recipe(age="quasi", ill="sensitive"))
    # four people have their own two rows and two stars, the last two only the stars
    assert result(found, "containment").success == pytest.approx((4 / 4 + 2 / 2) / 6)


def test_bounds_in_two_columns():
    raw = frame("age|ill", *(f"{age}|x" for age in (20, 21, 30, 31)))
    released = frame("age_low|age_high|ill", *["20|21|x"] * 2, *["30|31|x"] * 2)
    asked = recipe(age="quasi", ill="sensitive", output={"bounds_as": "columns"})
    found = attacked(raw, released, asked)
    assert result(found, "containment").success == 1 / 2
    assert "extra-columns" not in {each.attack for each in found}
