"""Classes are those of the cells as written, apostrophes and all."""

from shoal.recipe import Recipe
from shoal.verify import verify


def test_cells_that_differ_in_the_file_are_different_classes(tmp_path):
    path = tmp_path / "out.csv"
    path.write_text("a\n'=x\n=x\n", encoding="utf-8")
    verdict = verify(path, Recipe.from_roles(quasi=["a"], k=2))
    assert (verdict.holds, verdict.classes, verdict.k) == (False, 2, 1)


def test_an_ordinal_value_with_an_apostrophe_is_a_published_form(tmp_path):
    path = tmp_path / "out.csv"
    path.write_text("a\n'-low\n'-low\n", encoding="utf-8")
    data = {
        "columns": {"a": {"role": "quasi", "kind": "ordinal", "order": ["-low", "high"]}},
        "privacy": {"k": 2},
    }
    assert verify(path, Recipe.from_dict(data)).holds
    raw = Recipe.from_dict({**data, "output": {"spreadsheet_safe": False}})
    assert [problem.code for problem in verify(path, raw).problems] == ["verify.form"]
