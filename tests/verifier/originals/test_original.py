"""A release beside the raw table."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import feather, ipc, parquet

from shoal.errors import DataError
from shoal.recipe import Recipe
from shoal.verifier import Verdict, verify

RAW = "name,age,disease,pay\nAnn,31,flu,10\nBob,32,flu,20\nCid,33,cold,10\nDan,34,NA,10\n"
RELEASED = 'age,disease,pay\n"[31, 34]",flu,20\n"[31, 34]",cold,10\n"[31, 34]",flu,10\n"[31, 34]",,10\n'


def recipe(**sections: dict[str, Any]) -> Recipe:
    roles = {"name": "identifier", "age": "quasi", "disease": "sensitive", "pay": "keep"}
    columns = {name: {"role": role} for name, role in roles.items()}
    given = {"input": {"missing": ["", "NA"]}, "privacy": {"k": 2}, "columns": columns}
    return Recipe.from_dict({**given, **sections})


def judge(
    folder: Path, raw: str | bytes, released: str = RELEASED, name: str = "raw.csv", **sections: Any
) -> Verdict:
    (folder / name).write_bytes(raw.encode() if isinstance(raw, str) else raw)
    (folder / "out.csv").write_text(released, encoding="utf-8")
    return verify(folder / "out.csv", recipe(**sections), original=folder / name)


def problems(verdict: Verdict) -> list[tuple[str, str]]:
    assert verdict.holds is not bool(verdict.problems)
    return [(problem.code, problem.message) for problem in verdict.problems]


def test_a_release_of_the_original_holds_in_any_order_of_rows(tmp_path: Path) -> None:
    assert problems(judge(tmp_path, RAW)) == []


def test_a_changed_value_is_found(tmp_path: Path) -> None:
    verdict = judge(tmp_path, RAW, RELEASED.replace("cold", "cough"))

    message = "1 row has values in `disease`, `pay` that the original does not have, or has less often."
    assert problems(verdict) == [("verify.original_values", message)]


def test_values_swapped_between_rows_are_found(tmp_path: Path) -> None:
    released = RELEASED.replace("flu,20", "flu,10").replace("cold,10", "cold,20")

    assert problems(judge(tmp_path, RAW, released))[0][1].startswith("2 rows have values")


def test_a_value_released_more_often_than_it_occurs_is_found(tmp_path: Path) -> None:
    verdict = judge(tmp_path, RAW, RELEASED.replace("cold,10", "flu,10"))

    assert [code for code, _ in problems(verdict)] == ["verify.original_values"]


def test_a_value_where_there_was_none_is_found(tmp_path: Path) -> None:
    verdict = judge(tmp_path, RAW, RELEASED.replace(",,10", ",flu,10"))

    assert [code for code, _ in problems(verdict)] == ["verify.original_values"]


def test_an_invented_row_is_found(tmp_path: Path) -> None:
    found = problems(judge(tmp_path, RAW, RELEASED + '"[31, 34]",flu,20\n'))

    assert found[0] == ("verify.original_rows", "The file has 5 rows, the original only 4.")
    assert found[1][0] == "verify.original_values"


@pytest.mark.parametrize(("share", "holds"), [(0.0, False), (0.2, False), (0.25, True), (1.0, True)])
def test_no_more_rows_are_left_out_than_allowed(tmp_path: Path, share: float, holds: bool) -> None:
    released = RELEASED.replace('"[31, 34]",flu,20\n', "")

    found = problems(judge(tmp_path, RAW, released, privacy={"k": 2, "max_suppressed": share}))

    message = f"The file leaves out 1 row of 4; max_suppressed = {share} does not allow that."
    assert found == ([] if holds else [("verify.original_rows", message)])


def test_a_share_that_is_no_exact_float_is_not_a_row_short(tmp_path: Path) -> None:
    """0.07 * 100 is 7.000000000000001, and 0.29 * 100 is 28.999999999999996."""
    raw = "name,age,disease,pay\n" + "x,1,flu,10\n" * 100
    released = "age,disease,pay\n" + "1,flu,10\n" * 71

    assert problems(judge(tmp_path, raw, released, privacy={"k": 2, "max_suppressed": 0.29})) == []
    assert problems(judge(tmp_path, raw, released, privacy={"k": 2, "max_suppressed": 0.28})) != []


@pytest.mark.parametrize("cell", ["10.0", " 10 ", "1e1", "+10", "10."])
def test_numbers_are_compared_as_numbers_and_blanks_are_trimmed(tmp_path: Path, cell: str) -> None:
    assert problems(judge(tmp_path, RAW.replace("flu,10", f"flu,{cell}"))) == []


@pytest.mark.parametrize("cells", [("007", "7"), ("9007199254740993", "9007199254740992"), ("a", "A")])
def test_what_only_looks_like_the_same_number_is_not(tmp_path: Path, cells: tuple[str, str]) -> None:
    raw, released = RAW.replace("flu,10", f"flu,{cells[0]}"), RELEASED.replace("flu,10", f"flu,{cells[1]}")

    assert [code for code, _ in problems(judge(tmp_path, raw, released))] == ["verify.original_values"]
    assert problems(judge(tmp_path, raw, RELEASED.replace("flu,10", f"flu,{cells[0]}"))) == []


@pytest.mark.parametrize(
    ("raw", "name", "given"),
    [
        (RAW.replace(",", ";"), "raw.csv", {}),
        (RAW.replace(",", "\t"), "raw.tsv", {}),
        (RAW.replace(",", "|"), "raw.data", {}),
        (RAW.replace(",", "^"), "raw.csv", {"separator": "^"}),
        (RAW.replace(",", ", ") + "\n", "raw.data", {}),
        (RAW.split("\n", 1)[1], "raw.data", {"header": False, "names": ["name", "age", "disease", "pay"]}),
        (
            RAW.split("\n", 1)[1].replace(",", ";"),
            "raw.csv",
            {"header": False, "names": ["name", "age", "disease", "pay"]},
        ),
        (RAW.encode("utf-16"), "raw.csv", {}),
        (RAW.replace("Ann", "Änn").encode("cp1252"), "raw.csv", {"encoding": "cp1252"}),
        (RAW.encode("utf-8-sig"), "raw.csv", {}),
    ],
)
def test_raw_tables_come_in_many_layouts(
    tmp_path: Path, raw: str | bytes, name: str, given: dict[str, Any]
) -> None:
    section = {"missing": ["", "NA"], **given}

    assert problems(judge(tmp_path, raw, name=name, input=section)) == []
    changed = RELEASED.replace("cold", "cough")
    assert problems(judge(tmp_path, raw, changed, name=name, input=section)) != []


@pytest.mark.parametrize("ending", [".parquet", ".arrow", ".feather"])
def test_raw_tables_may_be_typed(tmp_path: Path, ending: str) -> None:
    table = pa.table(
        {
            "name": ["Ann", "Bob", "Cid", "Dan"],
            "age": [31, 32, 33, 34],
            "disease": ["flu", "flu", "cold", None],
            "pay": [10.0, 20.0, 10.0, 10.0],
        }
    )
    path = tmp_path / f"raw{ending}"
    if ending == ".parquet":
        parquet.write_table(table, path)
    elif ending == ".feather":
        feather.write_feather(table, str(path))
    else:
        with ipc.new_file(path, table.schema) as writer:
            writer.write_table(table)
    (tmp_path / "out.csv").write_text(RELEASED, encoding="utf-8")

    assert problems(verify(tmp_path / "out.csv", recipe(), original=path)) == []


def test_a_column_that_the_original_does_not_have_is_a_problem(tmp_path: Path) -> None:
    found = problems(judge(tmp_path, RAW.replace("pay", "wage")))

    assert [code for code, _ in found] == ["verify.original_values"]
    assert "`pay`" in found[0][1]


@pytest.mark.parametrize(
    ("raw", "code"),
    [
        (RAW + "Eve,35\n", "data.ragged"),
        (RAW.encode() + b"Eve,35,\xff,1\n", "data.unreadable"),
        (b"", "data.unreadable"),
        (b"\xff\xfea", "data.unreadable"),
    ],
)
def test_an_original_that_cannot_be_read_is_an_error(tmp_path: Path, raw: str | bytes, code: str) -> None:
    with pytest.raises(DataError) as caught:
        judge(tmp_path, raw)

    assert caught.value.code == code


def test_an_original_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "out.csv").write_text(RELEASED, encoding="utf-8")

    with pytest.raises(DataError) as caught:
        verify(tmp_path / "out.csv", recipe(), original=tmp_path / "raw.csv")

    assert caught.value.code == "data.unreadable"


@pytest.mark.parametrize("ending", [".parquet", ".arrow"])
def test_a_time_with_a_zone_counts_on_the_day_of_that_zone(tmp_path: Path, ending: str) -> None:
    """Half past midnight in Tokyo is the day before in UTC, and in the zone of most machines."""
    evenings = [datetime(2024, 2, 28 + day, 15, 30, tzinfo=UTC) for day in range(2)]
    when = pa.array(evenings, pa.timestamp("us", tz="Asia/Tokyo"))
    raw = pa.table({"when": when, "disease": ["flu", "cold"]})
    if ending == ".parquet":
        parquet.write_table(raw, tmp_path / "raw.parquet")
    else:
        feather.write_feather(raw, str(tmp_path / "raw.arrow"))
    columns = {"when": {"role": "quasi"}, "disease": {"role": "sensitive"}}
    asked = Recipe.from_dict({"columns": columns, "privacy": {"k": 2}})

    def found(low: str, high: str) -> list[tuple[str, str]]:
        cells = f'"[{low}, {high}]"'
        (tmp_path / "out.csv").write_text(f"when,disease\n{cells},flu\n{cells},cold\n", encoding="utf-8")
        return problems(verify(tmp_path / "out.csv", asked, original=tmp_path / f"raw{ending}"))

    assert found("2024-02-29", "2024-03-01") == []
    assert [code for code, _ in found("2024-02-28", "2024-02-29")] == ["verify.original_match"]


def test_a_text_with_an_offset_counts_on_the_day_as_written(tmp_path: Path) -> None:
    raw = "name,age,disease,pay\n" + "".join(f"x,2024-03-0{d}T00:30:00+02:00,flu,10\n" for d in (1, 2))
    released = "age,disease,pay\n" + '"[2024-03-01, 2024-03-02]",flu,10\n' * 2
    assert problems(judge(tmp_path, raw, released)) == []
    assert problems(judge(tmp_path, raw, released.replace("2024-03-02", "2024-03-01"))) != []
