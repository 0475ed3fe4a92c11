"""Edits of trees: by hand, as sequences of any edits, and what undo restores."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.hierarchy import editing, files
from shoal.hierarchy.editing import EditError
from shoal.hierarchy.history import MOST, History, Version
from shoal.hierarchy.tree import Tree
from shoal.hierarchy.writing import file_bytes

# all: (north: oslo, rome), (south: cairo), lima
PATHS = [
    ("oslo", "north", "all"),
    ("rome", "north", "all"),
    ("cairo", "south", "all"),
    ("lima", "all"),
]


@pytest.fixture
def tree() -> Tree:
    return Tree.from_paths(PATHS, "city")


def nested(tree: Tree) -> dict:
    return files.to_nested(tree)


def node(tree: Tree, label: str) -> int:
    return tree.labels.index(label)


def test_rename(tree: Tree) -> None:
    changed = editing.rename(tree, node(tree, "north"), "  Norden ")
    assert nested(changed) == {
        "all": {"Norden": {"oslo": {}, "rome": {}}, "south": {"cairo": {}}, "lima": {}}
    }


def test_move_a_value(tree: Tree) -> None:
    changed = editing.move(tree, [node(tree, "lima")], node(tree, "south"))
    assert nested(changed) == {"all": {"north": {"oslo": {}, "rome": {}}, "south": {"cairo": {}, "lima": {}}}}


def test_an_emptied_group_disappears(tree: Tree) -> None:
    changed = editing.move(tree, [node(tree, "cairo")], node(tree, "north"))
    assert nested(changed) == {"all": {"north": {"oslo": {}, "rome": {}, "cairo": {}}, "lima": {}}}


def test_empty_groups_disappear_up_to_one_that_keeps_something() -> None:
    tree = Tree.from_paths([("a", "inner", "outer", "*"), ("b", "other", "*")], "x")
    changed = editing.move(tree, [node(tree, "a")], node(tree, "other"))
    assert nested(changed) == {"*": {"other": {"b": {}, "a": {}}}}


def test_a_value_moves_with_its_selected_group_once(tree: Tree) -> None:
    chosen = [node(tree, "oslo"), node(tree, "north"), node(tree, "lima")]
    changed = editing.move(tree, chosen, node(tree, "south"))
    inside = {"cairo": {}, "north": {"oslo": {}, "rome": {}}, "lima": {}}
    assert nested(changed) == {"all": {"south": inside}}


def test_group(tree: Tree) -> None:
    changed = editing.group(tree, [node(tree, "lima"), node(tree, "north")], "far")
    inside = {"north": {"oslo": {}, "rome": {}}, "lima": {}}
    assert nested(changed) == {"all": {"far": inside, "south": {"cairo": {}}}}


def test_dissolve(tree: Tree) -> None:
    changed = editing.dissolve(tree, node(tree, "north"))
    assert nested(changed) == {"all": {"oslo": {}, "rome": {}, "south": {"cairo": {}}, "lima": {}}}


@pytest.mark.parametrize(
    ("edit", "where"),
    [
        (lambda t: editing.rename(t, node(t, "oslo"), "new"), ["oslo"]),
        (lambda t: editing.rename(t, node(t, "north"), "south"), ["north", "south"]),
        (lambda t: editing.rename(t, node(t, "north"), "lima"), ["north", "lima"]),
        (lambda t: editing.rename(t, node(t, "north"), "  "), ["north"]),
        (lambda t: editing.rename(t, node(t, "north"), "a\nb"), ["north"]),
        (lambda t: editing.rename(t, node(t, "north"), "x" * 201), ["north"]),
        (lambda t: editing.move(t, [0], node(t, "north")), ["all"]),
        (lambda t: editing.move(t, [node(t, "oslo")], node(t, "lima")), ["lima"]),
        (lambda t: editing.move(t, [node(t, "north")], node(t, "north")), ["north"]),
        (lambda t: editing.group(t, [node(t, "oslo"), node(t, "lima")], "new"), ["oslo", "lima"]),
        (lambda t: editing.group(t, [node(t, "oslo"), node(t, "rome")], "new"), ["oslo", "rome"]),
        (lambda t: editing.group(t, [node(t, "oslo")], "lima"), ["lima"]),
        (lambda t: editing.group(t, [], "new"), []),
        (lambda t: editing.move(t, [], 0), []),
        (lambda t: editing.dissolve(t, 0), ["all"]),
        (lambda t: editing.dissolve(t, node(t, "lima")), ["lima"]),
        (lambda t: editing.dissolve(t, 99), []),
        (lambda t: editing.with_leaves(t, ["lima", "new"], "rest"), ["lima"]),
    ],
)
def test_a_refused_edit_says_where(tree: Tree, edit, where: list[str]) -> None:
    with pytest.raises(EditError) as caught:
        edit(tree)
    assert caught.value.code == "hierarchy.edit"
    assert caught.value.hint
    assert [tree.labels[at] for at in sorted(caught.value.nodes)] == sorted(where, key=tree.labels.index)
    assert not any(label in str(caught.value) for label in ("oslo", "lima", "north", "south"))


def test_moving_into_a_group_below_is_refused() -> None:
    tree = Tree.from_paths([("a", "inner", "outer", "*"), ("b", "*")], "x")
    with pytest.raises(EditError) as caught:
        editing.move(tree, [node(tree, "outer"), node(tree, "b")], node(tree, "inner"))
    assert caught.value.nodes == (node(tree, "outer"),)


def test_values_that_a_file_lacks_are_added(tree: Tree) -> None:
    assert nested(editing.with_leaves(tree, ["bern"], "rest"))["all"]["bern"] == {}
    assert nested(editing.with_leaves(tree, ["bern", "bonn"], "rest"))["all"]["rest"] == {
        "bern": {},
        "bonn": {},
    }
    assert editing.unused_label(tree, "north") == "north 2"


# --- any sequence of edits


@st.composite
def trees(draw: st.DrawFn) -> Tree:
    n_nodes = draw(st.integers(2, 14))
    parent = {f"n{at}": f"n{draw(st.integers(0, at - 1))}" for at in range(1, n_nodes)}
    return Tree.from_parents(parent, "x")


@st.composite
def edits(draw: st.DrawFn):
    numbers = st.integers(0, 20)
    chosen = draw(st.lists(numbers, min_size=1, max_size=3))
    label = draw(st.sampled_from(["n1", "n3", "new", "other", " new ", ""]))
    target = draw(numbers)
    return draw(
        st.sampled_from(
            [
                lambda tree: editing.rename(tree, chosen[0], label),
                lambda tree: editing.move(tree, chosen, target),
                lambda tree: editing.group(tree, chosen, label),
                lambda tree: editing.dissolve(tree, chosen[0]),
            ]
        )
    )


@given(trees(), st.lists(edits(), max_size=12))
def test_any_edits_keep_a_tree_with_the_same_leaves(tree: Tree, sequence: list) -> None:
    leaves = sorted(tree.leaf_labels)
    for edit in sequence:
        try:
            tree = edit(tree)
        except EditError:
            continue
        # Each path leads from a leaf to the one root, and no label occurs twice: from_paths checks that.
        parents = tree.parent.tolist()
        paths = []
        for leaf in tree.leaf_nodes.tolist():
            path = [leaf]
            while parents[path[-1]] >= 0:
                path.append(parents[path[-1]])
            paths.append([tree.labels[at] for at in path])
        assert Tree.from_paths(paths, "x") == tree
        assert sorted(tree.leaf_labels) == leaves


@given(trees(), st.lists(edits(), max_size=8), st.data())
def test_undo_and_redo_restore_exact_bytes(tmp_path_factory, tree: Tree, sequence: list, data) -> None:
    folder = tmp_path_factory.mktemp("history")
    history = History(folder)
    contents = [b"\xef\xbb\xbf" + file_bytes(tree, ".csv", "x")]  # as somebody else wrote it
    history.record(Version("x.csv", None, contents[0]))
    for edit in sequence:
        try:
            tree = edit(tree)
        except EditError:
            continue
        contents.append(file_bytes(tree, ".csv", "x"))
        history.record(Version("x.csv", None, contents[-1]))
    at = len(contents) - 1
    for goes_back in data.draw(st.lists(st.booleans(), max_size=12)):
        history = History(folder)  # as after a restart
        version = history.undo() if goes_back else history.redo()
        wanted = at + (-1 if goes_back else 1)
        if 0 <= wanted < len(contents):
            at = wanted
            assert version is not None
            assert version.content == contents[at]
        else:
            assert version is None
        current = History(folder).current
        assert current is not None
        assert current.content == contents[at]


def test_a_new_edit_forgets_what_was_undone(tmp_path: Path) -> None:
    history = History(tmp_path / "history")
    for number in range(3):
        history.record(Version(None, None, f"v{number}".encode(), note=f"step {number}"))
    history.undo()
    assert (history.undoes, history.redoes) == ("step 1", "step 2")
    history.record(Version({"prefix": 1}, "categorical", note="masking"))
    assert (history.undoes, history.redoes) == ("masking", None)
    undone = history.undo()
    assert undone is not None
    assert undone.content == b"v1"
    assert len(list((tmp_path / "history").glob("*.tree"))) == 2  # v0 and v1: nothing else is left


def test_only_the_owner_may_read_the_history(tmp_path: Path) -> None:
    history = History(tmp_path / "deep" / "history")
    history.record(Version("x.csv", None, b"secret;*"))
    modes = {path.stat().st_mode & 0o777 for path in (tmp_path / "deep" / "history").iterdir()}
    assert modes == {0o600}
    assert (tmp_path / "deep" / "history").stat().st_mode & 0o777 == 0o700


def test_old_versions_are_forgotten(tmp_path: Path) -> None:
    history = History(tmp_path)
    for number in range(MOST + 5):
        history.record(Version(None, None, str(number).encode()))
    assert len(list(tmp_path.glob("*.tree"))) == MOST


@pytest.mark.parametrize("state", ["", "{}", '{"at": 3, "versions": []}', '{"at": 0, "versions": [{}]}'])
def test_a_damaged_history_is_like_none(tmp_path: Path, state: str) -> None:
    (tmp_path / "versions.json").write_text(state)
    assert History(tmp_path).current is None
    assert History(tmp_path).undo() is None
