"""Reports about releases that have no classes."""

import hashlib
import warnings

import polars as pl
import pytest

import shoal
from tests.report.test_page import Page

N = 60
PEOPLE = pl.DataFrame(
    {
        "age": [at * 7 % 53 for at in range(N)],
        "ill": ["abc"[at * 5 % 3] for at in range(N)],
    }
)


@pytest.fixture
def written(tmp_path):
    """Anonymize, write with a report, and return its text."""

    def write(**how):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", shoal.PrivacyWarning)
            release = shoal.anonymize(PEOPLE, quasi=["age"], sensitive=["ill"], k=5, **how)
        release.write(tmp_path / "x.csv", report=True)
        page = Page((tmp_path / "x.csv.report.html").read_text(encoding="utf-8"))
        return release, " ".join(page.text.split())

    return write


def test_boxes_of_single_rows_are_verified_against_the_raw_table_and_described_by_group(written):
    release, text = written(method="nh")
    groups = len(set(release.labels.tolist()))
    assert "recomputed each promise from the file and the raw table" in text
    assert f"boxes {release.classes} " in text
    assert "Group sizes" in text
    assert "Class sizes" not in text
    assert "shoal verify x.csv --recipe RECIPE.toml --original RAW.csv" in text
    assert groups < release.classes


def test_the_loss_by_column_is_that_of_the_boxes(written):
    release, _ = written(method="nh")
    (column,) = release.parts[0].profile.columns
    assert column.share_lost == pytest.approx(release.loss.gcp)  # there is one column


def test_two_tables_have_one_report_without_losses(written, tmp_path):
    release, text = written(method="anatomy", options={"l": 3})
    for title in ("quasi", "sensitive"):
        digest = hashlib.sha256((tmp_path / f"x.{title}.csv").read_bytes()).hexdigest()
        assert f"{title}: {digest}" in text
    assert f"groups {release.classes} " in text
    assert "k-anonymity is not promised" in text
    assert "Total IL" not in text
    assert "Seed secret" in text
    assert "same bytes" not in text
    assert sorted(path.name for path in tmp_path.glob("*.html")) == ["x.csv.report.html"]
