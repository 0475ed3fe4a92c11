"""Which entries a run calls: what has to be compiled for it, and how much of that is done."""

from __future__ import annotations

from typing import NamedTuple


class Form(NamedTuple):
    """A compiled form of an entry, which is named by its module and function."""

    entry: str
    with_goals: bool = False


_FILES = ("quoting.misplaced_quotes",)
_TABLES = ("hashing.add_texts", "hashing.add_numbers")
_BOUND = (
    "nearest.scan_tuples",
    "smallest_box.smallest_boxes",
    "row_excess.row_excesses",
    "patient_excess.patient_excesses",
    "glance.glances",
    "excess.greatest_excess",
    "working_set.list_inside",
    "working_set.weigh",
    "working_set.load_rows",
)
_JUDGING = ("goals.count_rows", "goals.judge_classes")
_EVENING = ("filling.fill_wants", "filling.mark_spared")
_METHODS: dict[str, tuple[str, ...]] = {
    "local-search": ("start.cut_or_grow", "block_search.search"),
    "k-member": ("kmember.grow", "classes.place_rows"),
    "oka": ("oka.gather", "oka.join_nearest"),
    "systematic": ("classes.place_rows", "systematic.join_cheapest"),
    "kaca": ("kaca.merge_small",),
    "cb": ("cb.split_groups",),
    "mondrian": ("mondrian.cut_groups",),
    "threshold": ("threshold.grow_all", "classes.place_rows"),
    "c-means": ("cmeans.assign_stretch", "cmeans.move_centres", "cmeans.merge_small", "classes.place_rows"),
    "incognito": ("groups.rows_in_small_groups",),
    "nh": ("mondrian.cut_groups",),
    "anatomy": (),
}
# Entries that take goals or None: one form for each.
_KEEPING = {
    "start.cut_or_grow",
    "block_search.search",
    "kmember.grow",
    "oka.join_nearest",
    "systematic.join_cheapest",
    "kaca.merge_small",
    "cb.split_groups",
    "mondrian.cut_groups",
    "excess.greatest_excess",
    "working_set.weigh",
    "working_set.load_rows",
}
BOUND_WITH_GOALS = [Form(name, with_goals=True) for name in _BOUND if name in _KEEPING]


def forms_needed(
    method: str, *, goals: bool = False, bound: bool = True, from_file: bool = True
) -> list[Form]:
    """List what a release by a method needs in most cases.

    An option, rows that may be left out or many rows can add a form or two; a table that no class fails in
    needs fewer.

    Parameters
    ----------
    method : str
        Its name, not `auto`.
    goals : bool, optional
        Whether anything is asked for but k rows: a privacy goal, or a subject column.
    bound : bool, optional
        Whether the loss is reported with its lower bound.
    from_file : bool, optional
        Whether the table is read from a CSV file.
    """
    own = _METHODS[method]
    names = [*(_FILES if from_file else ()), *_TABLES, *(_BOUND if bound else ())]
    if not goals:
        return [Form(name) for name in dict.fromkeys([*names, *own])]
    kept = [Form(name, with_goals=True) for name in [*names, *own] if name in _KEEPING]
    names += _JUDGING
    names += _EVENING if method in ("oka", "systematic") else ()
    if method == "local-search":  # it keeps every goal, so nothing is repaired
        return [*map(Form, names), *kept]
    if method != "incognito":  # whole columns are published at one level, which no repair may change
        names.append("repair.repair_classes")
    return [*map(Form, dict.fromkeys([*names, *own])), *kept]
