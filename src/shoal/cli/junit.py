"""JUnit files, which build servers show as test results."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from xml.etree import ElementTree

from shoal.errors import printable


def write_junit(path: Path, suite: str, of: str, cases: Mapping[str, Sequence[str]]) -> None:
    """Write one test case for each name, with what failed in it.

    Parameters
    ----------
    path : Path
        The file; the caller has made sure that it may be overwritten.
    suite, of : str
        The name of the suite, and the class name of all cases.
    cases : mapping of str to sequence of str
        The messages of what failed, by the name of the case.
    """
    from shoal.table.write import move_into_place, temporary, write_text

    root = ElementTree.Element("testsuite", name=suite)
    for name, failures in cases.items():
        case = ElementTree.SubElement(root, "testcase", classname=of, name=printable(name))
        for failure in failures:
            ElementTree.SubElement(case, "failure", message=printable(failure))
    root.set("tests", str(len(cases)))
    root.set("failures", str(sum(bool(failures) for failures in cases.values())))
    text = ElementTree.tostring(root, encoding="unicode", xml_declaration=True) + "\n"
    with temporary(path) as file:
        write_text(text, file)
        move_into_place(file, path)
