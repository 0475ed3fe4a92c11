"""Dangers that a released file shows by itself: one is a problem, the others are remarks."""

import polars as pl
import pytest

from shoal.recipe import Recipe
from shoal.verifier import verify_table


def verdict_on(columns, k=2, **roles):
    accept = {name: {"accept": taken} for name, taken in roles.pop("accept", {}).items()}
    changes = {"columns": accept, "output": roles.pop("output", {}), "method": roles.pop("method", {})}
    recipe = Recipe.from_roles(**roles, k=k, changes=changes)
    return verify_table(pl.DataFrame(columns).to_arrow(), recipe)


def codes(verdict):
    return [problem.code for problem in verdict.problems]


AGES = ["[20, 29]"] * 20 + ["[30, 39]"] * 20
OWN = [f"no {i}" for i in range(40)]


def test_a_kept_column_that_is_unique_is_a_problem():
    verdict = verdict_on({"age": AGES, "ssn": OWN}, quasi=["age"], keep=["ssn"])
    assert codes(verdict) == ["verify.unique"]
    assert "`ssn` has a value that no other row has in 40 of 40 rows" in verdict.problems[0].message
    assert not verdict.holds


def test_an_accepted_unique_column_is_no_problem():
    verdict = verdict_on({"age": AGES, "ssn": OWN}, quasi=["age"], keep=["ssn"], accept={"ssn": ["unique"]})
    assert verdict.holds
    assert verdict.remarks == ("The recipe accepts `unique` of column `ssn`, without a reason.",)


@pytest.mark.parametrize(("own", "problem"), [(20, []), (21, ["verify.unique"])])
def test_half_of_the_rows_is_the_limit(own, problem):
    code = [text if i < own else "same" for i, text in enumerate(OWN)]
    verdict = verdict_on({"age": AGES, "code": code}, quasi=["age"], keep=["code"])
    assert codes(verdict) == problem
    assert [f"{own} of 40 rows" in remark for remark in verdict.remarks] == [True] * (1 - len(problem))


def test_a_unique_column_of_a_small_file_is_no_problem():
    assert verdict_on({"age": ["1"] * 19, "ssn": OWN[:19]}, quasi=["age"], keep=["ssn"]).holds
    assert not verdict_on({"age": ["1"] * 20, "ssn": OWN[:20]}, quasi=["age"], keep=["ssn"]).holds


def test_a_unique_sensitive_column_is_a_remark():
    verdict = verdict_on({"age": AGES, "pay": OWN}, quasi=["age"], sensitive=["pay"])
    assert verdict.holds
    assert verdict.remarks == ("Sensitive column `pay` has a value that no other row has in 40 of 40 rows.",)


def test_a_generalized_column_that_follows_from_a_kept_one_is_a_remark():
    # Six degrees stand exactly in five rows each; twelve rows of them are generalized.
    degree = [f"d{i}" for i in range(6) for _ in range(5)] + ["{d0, d1, d2}"] * 6 + ["{d3, d4, d5}"] * 6
    number = [str(i) for i in range(6) for _ in range(5)] + [str(i // 2) for i in range(12)]
    verdict = verdict_on({"degree": degree, "num": number}, quasi=["degree"], keep=["num"])
    (remark,) = verdict.remarks
    assert "The generalized `degree` of 12 of 12 rows can be inferred from `num`" in remark
    taken = {"num": {"recoverable": "the code book is public"}}
    verdict = verdict_on({"degree": degree, "num": number}, quasi=["degree"], keep=["num"], accept=taken)
    assert verdict.holds
    assert verdict.remarks == ("The recipe accepts `recoverable` of column `num`: the code book is public",)


def test_bounds_in_two_columns_are_looked_at_too():
    low = [str(20 + i) for i in range(6) for _ in range(5)] + ["20"] * 6 + ["23"] * 6
    high = [str(20 + i) for i in range(6) for _ in range(5)] + ["22"] * 6 + ["25"] * 6
    number = [str(i) for i in range(6) for _ in range(5)] + [str(i // 2) for i in range(12)]
    columns = {"age_low": low, "age_high": high, "num": number}
    verdict = verdict_on(columns, quasi=["age"], keep=["num"], output={"bounds_as": "columns"})
    assert "The generalized `age` of 12 of 12 rows" in verdict.remarks[0]


def test_a_kept_column_that_says_nothing_is_not_remarked():
    degree = [f"d{i}" for i in range(6) for _ in range(5)] + ["{d0, d1}"] * 12
    verdict = verdict_on({"degree": degree, "num": ["1", "2"] * 21}, quasi=["degree"], keep=["num"])
    assert verdict.remarks == ()


def test_a_sensitive_column_that_says_the_same_is_a_remark():
    degree = [f"d{i // 10}" for i in range(40)]
    grade = [str(i // 10) for i in range(40)]
    verdict = verdict_on({"degree": degree, "grade": grade}, quasi=["degree"], sensitive=["grade"])
    assert verdict.remarks[0] == (
        "Sensitive column `grade` duplicates quasi column `degree` wherever that is exact."
    )


def test_classes_that_share_a_value_are_a_remark():
    age = ["20"] * 10 + ["30"] * 4 + ["40"] * 10 + ["50"] * 16
    ill = ["a"] * 10 + ["b"] * 4 + ["a", "c"] * 5 + ["a", "b", "c", "d"] * 4
    verdict = verdict_on({"age": age, "ill": ill}, quasi=["age"], sensitive=["ill"])
    assert verdict.remarks == (
        "In 2 of 4 classes (14 rows) everyone has the same `ill`; for 2 of its 4 values.",
    )
    assert verdict.holds


def test_no_remark_shows_a_cell():
    marked = [f"ZXMARKERXZ {i}" for i in range(30)] + ["ZXMARKERXZ"] * 10
    verdict = verdict_on(
        {"age": AGES, "ill": marked, "code": marked}, quasi=["age"], sensitive=["ill"], keep=["code"]
    )
    assert "ZXMARKERXZ" not in str(verdict)
    assert verdict.remarks
    assert codes(verdict) == ["verify.unique"]
