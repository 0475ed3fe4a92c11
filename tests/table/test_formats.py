"""One table says how each format is written and read; the verifier has its own, for the same formats."""

import polars as pl
import pytest

import shoal
from shoal.recipe import EXTENSIONS
from shoal.table.formats import FORMATS, is_text
from shoal.table.read import read_release
from shoal.table.write import write_table
from shoal.verifier.reading.load import TEXT_ENDINGS, TYPED

PEOPLE = pl.DataFrame({"age": [31, 33, 58, 60], "illness": ["flu", "=1", "flu", None]})


def test_every_format_is_written_read_and_verified():
    assert tuple(FORMATS) == EXTENSIONS == (*TEXT_ENDINGS, *TYPED)
    assert {ending for ending, made in FORMATS.items() if made.is_text} == set(TEXT_ENDINGS)


@pytest.mark.parametrize("extension", FORMATS)
def test_what_is_written_is_read_back(extension, tmp_path):
    file = tmp_path / f"people{extension.upper()}"
    write_table(PEOPLE, file)
    found = read_release(file)
    assert found.cast(pl.String).rows() == PEOPLE.cast(pl.String).rows()
    assert (found.schema == PEOPLE.schema) is not is_text(file)


@pytest.mark.parametrize("extension", [*FORMATS, ".ipc"])  # test_files.py has the others
def test_an_original_in_any_format_that_is_read_is_also_verified(extension, tmp_path):
    raw = tmp_path / f"raw{extension}"
    FORMATS[extension if extension in FORMATS else ".arrow"].write(PEOPLE, raw)
    roles = {"quasi": ["age"], "sensitive": ["illness"], "k": 2}
    recipe = shoal.Recipe.from_roles(**roles).changed({"input": {"path": str(raw)}})
    release = shoal.anonymize(recipe)
    release.write(tmp_path / "release.csv")
    verdict = shoal.verify(tmp_path / "release.csv", recipe, original=raw)
    assert verdict.holds, verdict.problems
