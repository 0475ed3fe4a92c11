"""Calls about hierarchies.

Nodes are numbers in one version of a tree. A change therefore names the version that it is about, and is
refused if there is a newer one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Depends, Query, Request
from fastapi.responses import JSONResponse, Response
from pydantic import BaseModel, Field

from shoal.errors import HierarchyError
from shoal.hierarchy import cuts, editing
from shoal.hierarchy.checking import line_faults
from shoal.hierarchy.editing import EditError
from shoal.hierarchy.files import ARX_EXTENSIONS, NESTED_EXTENSIONS
from shoal.hierarchy.picture import shape
from shoal.hierarchy.showing import PAGE, Line, Showing, first_open
from shoal.hierarchy.tree import Tree
from shoal.hierarchy.writing import EXTENSIONS, file_bytes
from shoal.web.counted import Counted
from shoal.web.refusals import Refusal, not_found, shoal_json
from shoal.web.state import Named
from shoal.web.trees import MOST_VALUES, Desk, column_key, described
from shoal.workflow.column_tree import ColumnTree

router = APIRouter(prefix="/api/projects/{name}/hierarchies", tags=["hierarchies"])

_MOST_LINES = 2000
_MOST_GROUPS = 50

Open = dict[int, Annotated[int, Field(ge=0, le=_MOST_LINES)]]


def counted_of(request: Request) -> Counted:
    """Return what is known about columns; all requests share it."""
    state = request.app.state
    if not hasattr(state, "counted"):
        state.counted = Counted()
    found: Counted = state.counted
    return found


def _desk(project: Named, column: str, counted: Annotated[Counted, Depends(counted_of)]) -> Desk:
    return Desk.open(project, column, counted)


At = Annotated[Desk, Depends(_desk)]  # the column named in the address


class ColumnInfo(BaseModel):
    """A column that may have a hierarchy."""

    key: str = Field(description="Of the column, in addresses.")
    name: str
    role: str
    hierarchy: str = Field(description="In a few words.")


class LineInfo(BaseModel):
    """A line of a tree: a node, all rare values below a group, or children that are not listed."""

    what: Literal["node", "rare", "more"]
    node: int = Field(
        description="Its number in this version; for `rare` and `more` that of the group above."
    )
    depth: int
    label: str | None
    rows: int | None = Field(
        description="In tens, rounded down; null below 10 or to protect a smaller number."
    )
    values: int
    place: int
    siblings: int
    is_leaf: bool
    is_open: bool


class TreeState(BaseModel):
    """The hierarchy of a column."""

    key: str
    name: str
    kind: str
    version: str = Field(description="Of the hierarchy; send it with a change.")
    hierarchy: str = Field(description="In a few words.")
    has_tree: bool
    values: int = Field(description="Different values of the column.")
    leaves: int
    height: int
    uncovered: int = Field(description="Values of the column that are not leaves.")
    is_data: bool = Field(
        description="Whether rare values are hidden, because the tree lists those of the table."
    )
    undoes: str | None = Field(description="What undo would take back.")
    redoes: str | None
    lines: list[LineInfo]
    open: dict[int, int] = Field(description="The groups that are open, with how many lines each lists.")
    focus: int | None = Field(None, description="The node that a change was about.")


class View(BaseModel):
    """Which groups are open, and how many children each lists at most."""

    open: Open = Field(default_factory=dict, max_length=_MOST_LINES)
    focus: int | None = Field(None, ge=0, description="The node that should keep the focus.")


class Change(View):
    """A change of a tree."""

    version: str = Field(max_length=64)
    action: Literal["rename", "move", "group", "split"]
    nodes: list[int] = Field(default_factory=list, max_length=MOST_VALUES)
    rare: list[int] = Field(
        default_factory=list, description="Groups whose rare values are meant.", max_length=1000
    )
    target: int | None = Field(None, description="The group to move to.")
    label: str = Field("", max_length=1000, description="The new label of a group.")


class Build(BaseModel):
    """How a hierarchy is built."""

    builder: Literal["none", "flat", "intervals", "cuts", "prefix", "dates", "codes", "induce"]
    levels: list[int | float | str] = Field(
        default_factory=list,
        max_length=cuts.MOST_CUTS,
        description="Widths, cuts, one number of characters, units, one name of a code, or columns.",
    )


class Bars(BaseModel):
    """The histogram of a column of numbers."""

    edges: list[float] = Field(description="The first and the last bar also contain everything beyond them.")
    rows: list[int | None]
    is_whole: bool
    suggested: list[float] = Field(description="Cuts into four parts of about the same size.")


class Cuts(BaseModel):
    """Cuts between intervals."""

    cuts: list[float] = Field(max_length=cuts.MOST_CUTS)


class Wanted(BaseModel):
    """A part of a label. It is not in the address, which may be logged."""

    text: str = Field("", max_length=200)


class Group(BaseModel):
    """A group that something can be moved to."""

    node: int
    label: str
    path: list[str] = Field(description="The groups above it, from the root.")


@router.get("")
def list_columns(project: Named) -> list[ColumnInfo]:
    """List the columns that may have a hierarchy: quasi-identifying and sensitive ones."""
    return [
        ColumnInfo(key=column_key(name), name=name, role=column.role, hierarchy=described(column.hierarchy))
        for name, column in project.recipe().columns.items()
        if column.role in ("quasi", "sensitive")
    ]


@router.get("/{column}")
def get_tree(desk: At) -> TreeState:
    """Return the hierarchy of a column with its first lines."""
    return tree_state(desk)


@router.post("/{column}/view")
def view_tree(desk: At, view: View) -> TreeState:
    """Return the lines of a tree whose groups are open or closed as asked."""
    return tree_state(desk, view.open, focus=view.focus)


@router.post("/{column}/edit", responses={422: {"description": "With `places`: the nodes that are wrong."}})
def edit_tree(desk: At, change: Change) -> Any:
    """Rename, move, group or split nodes; the leaves stay the same."""
    column = _drawn(desk, change.version)
    assert column.tree is not None
    assert column.showing is not None
    chosen = [*change.nodes, *(node for group in change.rare for node in _rare(column.showing, group))]
    try:
        tree, note, about = _edited(column.tree, change, chosen)
    except EditError as error:
        body = shoal_json(error)
        body["error"]["places"] = column.showing.visible(error.nodes)
        return JSONResponse(body, 422)
    opened = _renumbered(column.tree, tree, change.open)
    focus = tree.labels.index(about) if about in tree.labels else 0
    return tree_state(desk.edit(column, tree, note), opened, focus)


@router.post("/{column}/undo")
def undo(desk: At, view: View) -> TreeState:
    """Take the last change back; the file has exactly the same bytes as before it."""
    return _moved(desk, desk.undo, view)


@router.post("/{column}/redo")
def redo(desk: At, view: View) -> TreeState:
    """Make a change again that was taken back."""
    return _moved(desk, desk.redo, view)


@router.post("/{column}/build")
def build_tree(desk: At, asked: Build) -> TreeState:
    """Build a hierarchy from the values of the column. What a recipe can say in a line needs no file."""
    return tree_state(desk.build(asked.builder, asked.levels))


@router.get("/{column}/histogram")
def get_histogram(desk: At) -> Bars:
    """Return the histogram of a column of numbers; no bar of fewer than 10 rows has a number."""
    found = desk.values("cuts").found
    drawn = cuts.histogram(found.values, found.rows)
    if drawn is None:
        return Bars(edges=[], rows=[], is_whole=True, suggested=[])
    suggested = cuts.suggested_cuts(found.values, found.rows)
    return Bars(edges=drawn.edges, rows=drawn.rows, is_whole=drawn.is_whole, suggested=suggested)


@router.post("/{column}/rows")
def count_rows(desk: At, asked: Cuts) -> list[int | None]:
    """Count the rows between cuts."""
    found = desk.values("cuts").found
    return cuts.rows_between(found.values, found.rows, cuts.checked_cuts(asked.cuts, desk.name))


@router.post("/{column}/groups")
def find_groups(desk: At, wanted: Wanted) -> list[Group]:
    """Find groups by a part of their label, for moving something there."""
    showing = desk.column().showing
    if showing is None:
        return []
    tree = showing.tree
    return [
        Group(
            node=node, label=showing.label(node), path=[showing.label(above) for above in _above(tree, node)]
        )
        for node in showing.groups(wanted.text, _MOST_GROUPS)
    ]


@router.put("/{column}/file", responses={422: {"description": "With `places`: the lines that are wrong."}})
async def put_file(
    desk: At,
    request: Request,
    file: Annotated[str, Query(description="Name of the file.", max_length=255)],
    complete: Annotated[bool, Query(description="Add values of the column that the file lacks.")] = False,
) -> Any:
    """Replace the hierarchy by a file: an ARX table, or nested TOML or JSON. The body is the file itself."""
    from starlette.concurrency import run_in_threadpool

    content = await request.body()
    return await run_in_threadpool(_taken, desk, content, Path(file).suffix.lower(), complete)


def _taken(desk: Desk, content: bytes, extension: str, complete: bool) -> Any:
    known = (*ARX_EXTENSIONS, *NESTED_EXTENSIONS)
    if extension not in known:
        message = "The name of the file does not say that it is a hierarchy."
        raise Refusal(415, "web.format", message, f"endings: {', '.join(known)}")
    try:
        return tree_state(desk.take(content, extension, complete=complete))
    except HierarchyError as error:
        body = shoal_json(error)
        body["error"]["places"] = [asdict(fault) for fault in line_faults(content, extension)]
        return JSONResponse(body, 422)


@router.get("/{column}/file", response_class=Response)
def get_file(desk: At, format: Literal["csv", "toml", "json"] = "csv") -> Response:  # noqa: A002
    """Download the hierarchy, as an ARX table or nested. It lists all values of the column."""
    column = _drawn(desk, None)
    assert column.tree is not None
    content = file_bytes(column.tree, f".{format}", desk.name, column.origin if format == "toml" else "")
    assert f".{format}" in EXTENSIONS
    headers = {"Content-Disposition": f'attachment; filename="hierarchy-{column_key(desk.name)}.{format}"'}
    return Response(content, media_type="application/octet-stream", headers=headers)


def tree_state(desk: Desk, opened: dict[int, int] | None = None, focus: int | None = None) -> TreeState:
    """Describe the hierarchy of a column.

    Parameters
    ----------
    opened : mapping, optional
        The groups that are open; the root by default.
    focus : int, optional
        The node to focus.
    """
    current, history = desk.current(), desk.history
    is_known = history.current is not None and history.current.key == current.key
    values = desk.values().found
    column = ColumnTree(desk.name, values, None) if len(values.values) > MOST_VALUES else desk.column()
    tree, showing = column.tree, column.showing
    lines: list[Line] = []
    if tree is not None and showing is not None:
        opened = first_open(tree) if opened is None else opened
        if focus is not None and focus < tree.n_nodes:
            opened = showing.opened_for(opened, focus)
        lines = showing.lines(opened)[:_MOST_LINES]
    return TreeState(
        key=column_key(desk.name),
        name=desk.name,
        kind=values.kind,
        version=current.key,
        hierarchy=described(current.hierarchy),
        has_tree=current.hierarchy is not None,
        values=len(values.values),
        leaves=0 if tree is None else tree.n_leaves,
        height=0 if tree is None else shape(tree).height,
        uncovered=len(column.uncovered),
        is_data=column.is_data,
        undoes=history.undoes if is_known else None,
        redoes=history.redoes if is_known else None,
        lines=[LineInfo(**asdict(line)) for line in lines],
        open={line.node: (opened or {}).get(line.node, PAGE) for line in lines if line.is_open},
        focus=None if tree is None or focus is None else _listed(tree, focus, lines),
    )


def _moved(desk: Desk, go: Callable[[], Desk], view: View) -> TreeState:
    """Undo or redo; what is open stays open."""
    before = desk.column().tree
    after = go()
    tree = after.column().tree
    if before is None or tree is None:
        return tree_state(after)
    focus = _renumbered(before, tree, {} if view.focus is None else {view.focus: 1})
    return tree_state(after, _renumbered(before, tree, view.open), next(iter(focus), None))


def _drawn(desk: Desk, version: str | None) -> ColumnTree:
    """Return the tree of a column; refuse if there is none, or not the one that the page shows."""
    if version is not None and version != desk.current().key:
        message = "The hierarchy has been changed in another window or by another program."
        raise Refusal(409, "web.changed", message, "look at the new one, then repeat the change")
    if len(desk.values().found.values) > MOST_VALUES:
        message = f"The column has more than {MOST_VALUES:,} different values."
        raise Refusal(413, "web.too_large", message, "build its hierarchy by a rule")
    column = desk.column()
    if column.tree is None:
        raise not_found("hierarchy of this column", "build one first")
    return column


def _edited(tree: Tree, change: Change, chosen: Sequence[int]) -> tuple[Tree, str, str | None]:
    """Return the changed tree, what was done, and the label of the node that it was about."""
    n_chosen = f"{len(set(chosen)):,} {'node' if len(set(chosen)) == 1 else 'nodes'}"
    if change.action in ("rename", "split") and len(chosen) != 1:
        raise EditError("One group is needed.", "select a single group", chosen)
    match change.action:
        case "rename":
            changed = editing.rename(tree, chosen[0], change.label)
            return changed, "renaming a group", changed.labels[chosen[0]]
        case "split":
            changed = editing.dissolve(tree, chosen[0])
            return changed, "splitting a group", changed.labels[chosen[0]]
        case "group":
            changed = editing.group(tree, chosen, change.label)
            new = set(changed.labels) - set(tree.labels)
            return changed, f"grouping {n_chosen}", next(iter(new), None)
        case _:
            target = -1 if change.target is None else change.target
            changed = editing.move(tree, chosen, target)
            return changed, f"moving {n_chosen}", tree.labels[target if change.rare else min(chosen)]


def _rare(showing: Showing, group: int) -> list[int]:
    return showing.rare_below(group) if 0 <= group < showing.tree.n_nodes else []


def _renumbered(before: Tree, after: Tree, opened: dict[int, int]) -> dict[int, int]:
    """Return which groups are open in a changed tree: those with the same labels, and the root."""
    if before.parent.tolist() == after.parent.tolist():  # only a label has changed
        return opened
    number = {label: node for node, label in reversed(list(enumerate(after.labels)))}
    number[before.labels[0]] = 0
    labels = {before.labels[node]: n for node, n in opened.items() if 0 <= node < before.n_nodes}
    return {number[label]: n for label, n in labels.items() if label in number}


def _listed(tree: Tree, node: int, lines: Sequence[Line]) -> int:
    """Return a node, or the lowest one above it that is listed."""
    listed = {line.node for line in lines if line.what == "node"}
    node = node if 0 <= node < tree.n_nodes else 0
    while node > 0 and node not in listed:
        node = int(tree.parent[node])
    return node


def _above(tree: Tree, node: int) -> list[int]:
    """Return the nodes above a node, from the root."""
    path: list[int] = []
    while (node := int(tree.parent[node])) >= 0:
        path.insert(0, node)
    return path
