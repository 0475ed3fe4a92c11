"""Files of Stata and SAS, with the readers of pandas."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shoal.recipe import Input
from shoal.verifier.originals.files.cells import arrow_table
from shoal.verifier.originals.files.labels import labelled
from shoal.verifier.originals.files.needed import needed
from shoal.verifier.reading.session import UnreadableError

if TYPE_CHECKING:
    import pyarrow as pa

_FEW, _PER_BYTE = 1 << 24, 100  # cells


def stata_table(path: Path, given: Input) -> pa.Table:
    """Load a .dta file, with labels in place of codes."""
    pandas = needed("pandas", "statistics")
    return _loaded(path, given, lambda: _stata(pandas, path, given))


def sas_table(path: Path, given: Input) -> pa.Table:
    """Load a .sas7bdat or .xpt file; labels in a catalog cannot be read."""
    if given.catalog is not None and given.labels is not False:
        message = "No second library reads a catalog of value labels (.sas7bcat), so it cannot be compared."
        raise UnreadableError("verify.unreadable", message)
    pandas = needed("pandas", "statistics")
    return _loaded(path, given, lambda: _sas(pandas, path, given))


def _loaded(path: Path, given: Input, load: Any) -> pa.Table:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            frame, labels = load()
    except UnreadableError:
        raise
    except Exception:  # pandas raises many kinds of errors for damaged files
        frame, labels = None, {}
    if frame is None:
        raise UnreadableError("verify.unreadable", f"The file is damaged, or not a {path.suffix} file.")
    names = [str(name) for name in frame.columns]
    columns = [
        labelled(name, [_plain(cell) for cell in frame.iloc[:, at]], labels.get(name, {}), given)
        for at, name in enumerate(names)
    ]
    return arrow_table(names, columns)


def _stata(pandas: Any, path: Path, given: Input) -> tuple[Any, Mapping[str, Mapping[Any, str]]]:
    keep = given.missing_codes == "values"
    how = {"convert_categoricals": False, "convert_dates": False, "convert_missing": keep}
    with pandas.io.stata.StataReader(path, **how) as reader:
        frame = reader.read().astype(object)
        sets = reader.value_labels()
        named = dict(zip(frame.columns, reader._lbllist, strict=True))
        shown = list(reader._fmtlist)
    for at, unit in enumerate(map(_stata_unit, shown)):
        if unit is not None:
            frame.isetitem(at, [_since_1960(_plain(cell), unit) for cell in frame.iloc[:, at]])
    labels = {name: _with_letters(sets[named[name]]) for name in frame.columns if named[name] in sets}
    return frame, labels


def _with_letters(labels: Mapping[Any, str]) -> dict[Any, str]:
    """Return labels by code, those of missing values by their letter; in the file they are large numbers."""
    first = 2_147_483_622  # .a
    return {chr(ord("a") + code - first) if code >= first else code: text for code, text in labels.items()}


def _stata_unit(shown: str) -> timedelta | None:
    """Return what a date counts, by its display format: days or milliseconds; months stay numbers."""
    if shown.lstrip("%-").startswith(("td", "d")):
        return timedelta(days=1)
    return timedelta(milliseconds=1) if shown.lstrip("%-").startswith(("tc", "tC")) else None


def _since_1960(number: Any, unit: timedelta) -> Any:
    return datetime(1960, 1, 1) + number * unit if isinstance(number, (int, float)) else number


def _sas(pandas: Any, path: Path, given: Input) -> tuple[Any, Mapping[str, Mapping[Any, str]]]:
    encoding = given.encoding or ("infer" if path.suffix.lower() == ".sas7bdat" else "utf-8")
    kind = "sas7bdat" if path.suffix.lower() == ".sas7bdat" else "xport"
    with pandas.read_sas(path, format=kind, encoding=encoding, iterator=True) as reader:
        rows = getattr(reader, "row_count", getattr(reader, "nobs", 0))
        width = len(getattr(reader, "columns", [])) or 1
        if rows * width > max(_FEW, _PER_BYTE * path.stat().st_size):
            raise UnreadableError(
                "verify.unreadable", "It holds far more cells than a file of its size should."
            )
        frame = reader.read()
        fields = getattr(reader, "fields", [])  # pandas converts the dates of the other format itself
    for at, found in enumerate(fields):
        unit = _sas_unit(found["nform"].decode("ascii", "replace").strip())
        if unit is not None:
            frame.isetitem(at, [_since_1960(_plain(cell), unit) for cell in frame.iloc[:, at]])
    return frame, {}


def _sas_unit(shown: str) -> timedelta | None:
    if shown.startswith(("DATETIME", "E8601DT", "B8601DT", "IS8601DT", "DATEAMPM", "MDYAMPM")):
        return timedelta(seconds=1)
    days = ("DATE", "DDMMYY", "MMDDYY", "YYMMDD", "WEEKDAT", "WORDDAT", "E8601DA", "B8601DA", "IS8601DA")
    return timedelta(days=1) if shown.startswith(days) else None


def _plain(cell: Any) -> Any:
    """Return a cell as Python's own type; missing values of pandas become None, empty texts too."""
    if isinstance(cell, datetime):
        return None if cell != cell else cell.to_pydatetime()  # type: ignore[attr-defined]  # noqa: PLR0124
    if hasattr(cell, "string"):  # a missing value of Stata: ., .a, .b
        return cell.string.strip(".") or None
    if cell is None or cell == "" or cell != cell:  # noqa: PLR0124
        return None
    return cell.item() if hasattr(cell, "item") else cell
