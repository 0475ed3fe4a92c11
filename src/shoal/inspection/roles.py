"""The role that is suggested for each column, with the reason."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from shoal.inspection.dependencies import Dependency
from shoal.inspection.kinds import Found
from shoal.inspection.meaning import MIN_ROWS, Meaning
from shoal.inspection.profile import Profile

IDENTIFYING = (
    "record number", "national number", "e-mail", "uuid", "account", "payment card", "phone", "name",
    "address", "link", "network address", "coordinates text", "free text", "nearly unique",
)  # fmt: skip
# These may repeat because one person has several rows. Namesakes and neighbours repeat too.
_NUMBERS_OF_PEOPLE = IDENTIFYING[:6]
_QUASI = (
    "birth date", "age", "sex", "postcode", "place", "country", "coordinates", "language", "occupation",
    "employer", "education", "marital status", "ethnicity", "household", "body", "vehicle", "date",
)  # fmt: skip
_SENSITIVE = (
    "diagnosis", "treatment", "health", "money", "religion", "politics", "orientation", "crime", "score",
)  # fmt: skip

TOO_UNIQUE = (
    0.1  # share of rows with a value of their own from which a column should not be released unchanged
)
_REPEATED = 0.1  # share of rows with a repeated identifier from which people have several rows
MOST_QUASI = 20


@dataclass(frozen=True)
class Known:
    """What is known of a column before it gets a role."""

    profile: Profile
    kind: Found
    meaning: Meaning


@dataclass(frozen=True)
class Suggestion:
    """A role and the reason; `is_knowable` if an outsider might know the values."""

    role: str
    reason: str
    is_knowable: bool = False


def suggest_roles(columns: Sequence[Known], dependencies: Sequence[Dependency]) -> dict[str, Suggestion]:
    """Suggest a role for every column."""
    known = {one.profile.name: one for one in columns}
    roles = {name: _role(one) for name, one in known.items()}
    roles |= _subject(known, roles)
    roles |= _copies(known, roles, dependencies)
    roles |= _revealing(roles, dependencies)
    roles |= _too_many(known, roles)
    return roles | _at_least_one(known, roles)


def _role(one: Known) -> Suggestion:
    """Suggest a role by what the column means, and by how many rows it makes unique."""
    found, meaning, why = one.profile, one.meaning.what, one.meaning.reason
    own = f"{found.unique_share:.0%} of the rows have a value of their own"
    if not found.distinct:
        return Suggestion("drop", "all values are missing")
    if not one.kind.is_usable:
        return Suggestion("drop", one.kind.reason)
    if found.distinct == 1 and not found.missing:
        return Suggestion("keep", "all rows have the same value")
    if meaning in IDENTIFYING:
        return Suggestion("identifier", why)
    if meaning == "event date" and one.kind.precision == "day":
        return Suggestion("drop", f"{why}, and others may know the day; a month or a year is safer", True)
    if meaning == "survey weight":
        return Suggestion("drop", f"{why}, which helps to find a row and says nothing about the person")
    if meaning in _SENSITIVE:
        if found.unique_share > TOO_UNIQUE and found.rows >= MIN_ROWS:
            return Suggestion("drop", f"{why}, but {own}; if you need it, round it and make it sensitive")
        return Suggestion("sensitive", f"{why}, which nobody should learn")
    if meaning in _QUASI or meaning == "event date":
        return Suggestion("quasi", f"{why}, which others may know", True)
    if found.unique_share > TOO_UNIQUE and found.rows >= MIN_ROWS:
        return Suggestion("drop", f"{why}, and {own}", True)
    return Suggestion("quasi", f"{why}, so others may know it", True)


def _subject(known: Mapping[str, Known], roles: Mapping[str, Suggestion]) -> dict[str, Suggestion]:
    """Return the identifier by which people are counted, if people have several rows."""
    named = [name for name, suggestion in roles.items() if suggestion.role == "identifier"]
    whole = [name for name in named if known[name].profile.missing == 0]
    repeated = [name for name in whole if _is_repeated(known[name].profile)]
    candidates = [name for name in repeated if known[name].meaning.what in _NUMBERS_OF_PEOPLE]
    if not candidates and not any(known[name].profile.unique_share == 1 for name in whole):
        candidates = [name for name in repeated if known[name].meaning.what == "name"]
    if not candidates:
        return {}
    name = min(candidates, key=lambda name: IDENTIFYING.index(str(known[name].meaning.what)))
    found = known[name].profile
    reason = f"{roles[name].reason}; {found.rows:,} rows have {found.distinct:,} of them, so k counts people"
    return {name: Suggestion("subject", reason)}


def _is_repeated(found: Profile) -> bool:
    return found.rows >= MIN_ROWS and found.rows - found.unique > _REPEATED * found.rows


def _copies(
    known: Mapping[str, Known], roles: Mapping[str, Suggestion], dependencies: Sequence[Dependency]
) -> dict[str, Suggestion]:
    """Drop one of two quasi columns that say the same: the one with codes, else the later one."""
    # Wide tables may have tens of thousands of dependencies.
    concerned = {name for one in dependencies for name in (one.source, one.target)}
    rank = {name: (_is_code(known[name]), at) for at, name in enumerate(known) if name in concerned}
    dropped: dict[str, Suggestion] = {}
    for one in dependencies:
        pair = sorted((one.source, one.target), key=rank.__getitem__)
        quasi = all(roles[name].role == "quasi" and name not in dropped for name in pair)
        if one.mutual and one.exact and quasi:
            dropped[pair[1]] = Suggestion(
                "drop", f"it says the same as `{pair[0]}`: each follows from the other"
            )
    return dropped


def _is_code(one: Known) -> bool:
    return bool(one.profile.texts.str.contains(r"^[0-9.]*$").all())


def _revealing(roles: Mapping[str, Suggestion], dependencies: Sequence[Dependency]) -> dict[str, Suggestion]:
    """Drop columns that would be released unchanged although a quasi column follows from them."""
    found = {}
    for one in dependencies:
        if roles[one.source].role == "sensitive" and roles[one.target].role == "quasi":
            reason = f"`{one.target}` follows from it, so it would undo the generalization"
            found[one.source] = Suggestion("drop", f"{roles[one.source].reason}, but {reason}")
    return found


def _too_many(known: Mapping[str, Known], roles: Mapping[str, Suggestion]) -> dict[str, Suggestion]:
    """Drop quasi columns whose meaning is unknown if there are too many to keep anything useful."""
    quasi = [name for name, suggestion in roles.items() if suggestion.role == "quasi"]
    ranked = sorted(quasi, key=lambda name: known[name].meaning.what is None)
    why = f"and {MOST_QUASI} quasi columns leave little of each: choose which you need"
    return {
        name: Suggestion("drop", f"{known[name].meaning.reason}, {why}", is_knowable=True)
        for name in ranked[MOST_QUASI:]
    }


def _at_least_one(known: Mapping[str, Known], roles: Mapping[str, Suggestion]) -> dict[str, Suggestion]:
    """Make a column quasi if none is: a recipe needs one."""
    if any(suggestion.role == "quasi" for suggestion in roles.values()):
        return {}
    usable = [name for name in roles if known[name].profile.distinct]
    if not usable:
        return {}
    rank = ("drop", "sensitive", "keep", "identifier", "subject")
    name = min(usable, key=lambda name: (rank.index(roles[name].role), known[name].profile.distinct))
    return {
        name: Suggestion("quasi", f"{roles[name].reason}; quasi because a recipe needs such a column", True)
    }
