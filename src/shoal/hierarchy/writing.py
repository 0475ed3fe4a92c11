"""The bytes of hierarchy files, checked by reading them back."""

from __future__ import annotations

from shoal.errors import HierarchyError, OutputError
from shoal.hierarchy.files import arx_text, from_bytes
from shoal.hierarchy.nested import json_text, toml_text, with_origin
from shoal.hierarchy.tree import Tree

EXTENSIONS = (".csv", ".toml", ".json")


def file_bytes(tree: Tree, extension: str, column: str, origin: str = "") -> bytes:
    """Format a tree in the layout of a file extension.

    Parameters
    ----------
    tree : Tree
    extension : str
        ``.csv`` (ARX), ``.toml`` or ``.json``.
    column : str
        Name of the column, for messages.
    origin : str, optional
        Where the tree comes from, for the first line; JSON has no comments, so it is left out there.

    Raises
    ------
    HierarchyError, OutputError
        `hierarchy.duplicate` or `output.unwritable` if the file would be read as another tree.
    """
    try:
        text = {".csv": arx_text, ".toml": toml_text, ".json": json_text}[extension](tree)
        content = (with_origin(text, origin) if origin and extension != ".json" else text).encode()
        is_same = from_bytes(content, extension, column) == tree
    except (UnicodeEncodeError, RecursionError, HierarchyError):  # a lone surrogate, a deep tree
        is_same = False
    if not is_same:
        raise _lossy(tree, extension, column)
    return content


def _lossy(tree: Tree, extension: str, column: str) -> HierarchyError | OutputError:
    if tree.labels[0] in tree.labels[1:]:
        return HierarchyError(
            "hierarchy.duplicate",
            f"Column `{column}` contains a value that equals the root of the tree.",
            f"the root is {tree.labels[0]}; treat such cells as missing (--missing-values), or change them",
        )
    return OutputError(
        "output.unwritable",
        f"The hierarchy of `{column}` cannot be represented in a {extension} file.",
        "a very deep tree requires .csv; values that are not valid text, or end in control characters, "
        "cannot be written to any file",
    )
