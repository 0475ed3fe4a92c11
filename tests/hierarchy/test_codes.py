"""Trees of codes that carry their own structure, as built and as the verifier reads them."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import shoal
from shoal.errors import HierarchyError
from shoal.recipe import Recipe
from shoal.recipe.codes import CODES, ICD10, ISCO_SUB_MAJOR
from shoal.table.tree_columns import code_tree
from shoal.verifier.cells.codes import CODE_PATHS, is_code_node


def path_of(system: str, code: Any) -> list[str]:
    """Return the labels above a leaf, without the root."""
    tree = code_tree(system, [code], "c")
    node, labels = int(tree.parent[tree.leaf_nodes[0]]), []
    while node > 0:
        labels.append(tree.labels[node])
        node = int(tree.parent[node])
    return labels


@pytest.mark.parametrize(
    ("system", "code", "above"),
    [
        ("icd10", "I21.0", ["I21.-", "I20-I25", "I00-I99"]),
        ("icd10", "i210", ["I21.-", "I20-I25", "I00-I99"]),
        ("icd10", "I21", ["I20-I25", "I00-I99"]),
        ("icd10", "D48.9", ["D48.-", "D37-D48", "C00-D48"]),
        ("icd10", "D50", ["D50-D53", "D50-D90"]),
        ("icd10", "H60.1", ["H60.-", "H60-H62", "H60-H95"]),
        ("icd10", "Y05", ["X85-Y09", "V01-Y98"]),
        ("icd10", "U07.1", ["U07.-", "U00-U49", "U00-U99"]),
        ("icd10", "S72.001A", ["S72.-", "S70-S79", "S00-T98"]),
        ("icd10", "A91", ["A00-B99"]),  # in a chapter, but in none of its blocks
        ("nuts", "DE212", ["DE21*", "DE2**", "DE***"]),
        ("nuts", "DE2", ["DE***"]),
        ("nuts", "FRY10", ["FRY1*", "FRY**", "FR***"]),
        ("nuts", "AT", []),
        ("isco", "2212", ["221*", "22**", "2 Professionals"]),
        ("isco", "0110", ["011*", "01**", "0 Armed forces"]),
        ("isco", "22", ["2 Professionals"]),
        ("isco", "9", []),
        ("postcode", "10115", ["1011*", "101**", "10***", "1****"]),
        ("postcode", "SW1", ["SW*", "S**"]),
        ("age", 37, ["[35, 39]", "[30, 39]", "[20, 39]"]),
    ],
)
def test_the_groups_above_a_code(system: str, code: Any, above: list[str]) -> None:
    assert path_of(system, code) == above
    if system in CODE_PATHS:
        assert CODE_PATHS[system](code) == above
        assert all(is_code_node(system, label) for label in [code, *above])


@pytest.mark.parametrize(
    ("system", "values", "misfits"),
    [
        ("icd10", ["I21", "heart", "I2", "I21.12345", "1.21", "I21.", ""], 6),
        ("nuts", ["DE", "D", "DE2123", "D21", "DE-1"], 4),
        ("isco", ["2212", "22120", "2012", "2712", "2202", "110", "x"], 6),
        ("postcode", ["10115", "10117", "1067", "no", "12345678901"], 3),
        ("age", [0, 130, 131, -1], 2),
    ],
)
def test_what_does_not_fit_is_counted(system: str, values: list[Any], misfits: int) -> None:
    message = f"{misfits} of {len(values)} distinct values are not {CODES[system]}"
    with pytest.raises(HierarchyError, match=re.escape(message)) as caught:
        code_tree(system, values, "c")
    assert caught.value.code == "hierarchy.build"


def test_the_blocks_of_icd10_are_in_order_and_inside_their_chapters() -> None:
    assert len(ICD10) == 22
    for chapter, inside in ICD10.items():
        ends = [end for block in inside for end in block.split("-")]
        first, last = chapter.split("-")
        assert ends == sorted(ends)
        assert first <= ends[0] <= ends[-1] <= last


ANY_CODE = st.text("AIDEU0123459.-*x ", max_size=6) | st.from_regex(
    r"[A-Z][0-9][0-9](\.[0-9])?|[A-Z]{2}[0-9]{0,3}|[0-9]{1,4}", fullmatch=True
)


@given(ANY_CODE, st.sampled_from(sorted(CODE_PATHS)))
def test_maker_and_verifier_agree_on_every_text(code: str, system: str) -> None:
    try:
        made = path_of(system, code)
    except HierarchyError:
        made = None
    assert CODE_PATHS[system](code) == made


def test_a_text_that_is_no_node_is_not_taken_for_one() -> None:
    wrong = {
        "icd10": ["I20-I26", "I99-I99", "I2.-", "I21.0-", "*"],
        "nuts": ["DE21**", "D****", "DE2*", "*****"],
        "isco": ["2***", "221**", "20**", "2 Managers", "****"],
    }
    assert not [text for system, texts in wrong.items() for text in texts if is_code_node(system, text)]
    assert ISCO_SUB_MAJOR["2"] == 6


TABLES: dict[str, list[Any]] = {
    "icd10": ["I21.0", "I21.1", "I25", "J45", "J45", "J45.0"],
    "nuts": ["DE212", "DE211", "DE300", "FRY10", "FRY20", "FR101"],
    "isco": ["2212", "2211", "2310", "0110", "0210", "0310"],
    "postcode": ["10115", "10117", "80331", "80333", "01067", "01069"],
    "age": [31, 33, 38, 58, 60, 61],
}


@pytest.mark.parametrize("system", TABLES)
def test_a_release_is_verified_with_its_manifest_alone(tmp_path: Path, system: str) -> None:
    table = pl.DataFrame({"code": TABLES[system], "sex": list("fmfmfm")})
    raw = tmp_path / "raw.csv"
    table.write_csv(raw)
    columns = {"code": {"role": "quasi", "hierarchy": system}, "sex": {"role": "keep"}}
    recipe = Recipe.from_dict(
        {"input": {"path": str(raw)}, "columns": columns, "privacy": {"k": 2}, "method": {"name": "kaca"}}
    )

    release = shoal.anonymize(recipe)
    out = release.write(tmp_path / "out.csv")

    manifest = Recipe.load(f"{out}.manifest.json")
    assert manifest.columns["code"].hierarchy == system
    assert release.loss.gcp
    for verdict in (shoal.verify(out, manifest), shoal.verify(out, manifest, original=raw)):
        assert (verdict.holds, verdict.remarks) == (True, ())
    out.write_text(out.read_text().replace(release.frame["code"][0], "nowhere"))
    problems = [problem.code for problem in shoal.verify(out, recipe, manifest=False).problems]
    assert problems == ([] if system == "postcode" else ["verify.node"])  # any text may be a postcode
