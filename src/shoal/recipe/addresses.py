"""Addresses of databases, such as `postgresql://user@host/database`, where a recipe may name a file.

An address may contain a password. Its text is `dsn`, for the driver alone; everything that is shown or
written uses `str`, which leaves passwords out.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from shoal.errors import RecipeError

_SCHEME = re.compile(r"postgres(?:ql)?:/+", re.IGNORECASE)
_SECRET = ("password", "sslpassword")
_SETTING = re.compile(r"[A-Za-z_]+=[^@]*")
_HOST = r"(?:[^:,]*|\[[^]]*\])(?::[0-9]*)?"  # a name, or an address of IPv6 in brackets
_HOSTS = re.compile(rf"{_HOST}(?:,{_HOST})*")
# One or two parts, each plain or in double quotes, in which a quote is doubled.
_PART = r'(?:[^."]+|"(?:[^"]|"")+")'
_NAME = re.compile(rf"(?:({_PART})\.)?({_PART})")
_UNSAFE = re.compile(r'[%/\\:*?"<>|\x00-\x1f]')


@dataclass(frozen=True, repr=False)
class Address:
    """The address of a database.

    Examples
    --------
    >>> print(Address("postgresql://ann:secret@host/db?sslmode=require&password=secret"))
    postgresql://ann@host/db?sslmode=require
    """

    dsn: str

    def __str__(self) -> str:
        return without_password(self.dsn)

    __repr__ = __str__

    def split_table(self) -> tuple[Address, str | None]:
        """Return the address of the database, and the table if one is named after a `#`.

        >>> Address("postgresql://host/db#health.people").split_table()
        (postgresql://host/db, 'health.people')
        """
        dsn, mark, table = self.dsn.rpartition("#")
        if not mark or "@" in table:  # a part of a password
            return self, None
        return Address(dsn), table


Location = Path | Address  # where a table is


def located(given: str | Path) -> Location:
    """Return an address as such, and anything else as a path."""
    if not is_address(str(given)):
        return Path(given)
    if isinstance(given, Path):  # which has merged its slashes, and with them host and database
        message = "The address of a database was given as a Path."
        raise RecipeError("recipe.invalid", message, "give it as a text")
    return Address(given)


def is_address(text: str | None) -> bool:
    """Return whether a text is the address of a database."""
    return text is not None and _SCHEME.match(text) is not None


def without_password(dsn: str) -> str:
    """Return an address without passwords; of an unclear one, in doubt, only its beginning.

    Examples
    --------
    >>> without_password("postgresql://ann:s@cr/et@host:5432/db")
    'postgresql://ann@host:5432/db'
    >>> without_password("postgresql://ann:s?cret@host/db")
    'postgresql://...'
    """
    scheme = _SCHEME.match(dsn)
    if scheme is None:
        return dsn
    start, (head, mark, query) = scheme[0], dsn[scheme.end() :].partition("?")
    settings = query.split("&") if mark else []
    who, at, where = head.rpartition("@")  # a password may contain what it should not
    if not all(map(_SETTING.fullmatch, settings)) or not _HOSTS.fullmatch(where.partition("/")[0]):
        return f"{start}..."
    kept = [one for one in settings if one.partition("=")[0].lower() not in _SECRET]
    return start + who.partition(":")[0] + at + where + ("?" + "&".join(kept) if kept else "")


def split_name(table: str) -> tuple[str | None, str] | None:
    """Return the schema, if one is given, and the name of a table; None for anything else.

    Names are written as the database stores them. One with a dot or a quote stands in double quotes.

    Examples
    --------
    >>> split_name("people"), split_name("health.people"), split_name('"my.schema"."a ""b"" c"')
    ((None, 'people'), ('health', 'people'), ('my.schema', 'a "b" c'))
    """
    found = _NAME.fullmatch(table)
    if found is None:
        return None
    schema, name = (None if part is None else _plain(part) for part in found.groups())
    assert name is not None
    return schema, name


def _plain(part: str) -> str:
    return part[1:-1].replace('""', '"') if part.startswith('"') else part


def joined_name(schema: str | None, table: str) -> str:
    """Return what `split_name` splits.

    Examples
    --------
    >>> joined_name("health", "a.b"), joined_name(None, "people")
    ('health."a.b"', 'people')
    """
    return ".".join(_quoted(part) for part in (schema, table) if part is not None)


def _quoted(part: str) -> str:
    escaped = part.replace('"', '""')
    return f'"{escaped}"' if "." in part or '"' in part else part


def file_of_table(table: str) -> Path:
    """Return the name that the files about a released table share: they go to the working directory.

    Examples
    --------
    >>> file_of_table("health.people/k5").name
    'health.people%2Fk5'
    """
    return Path(_UNSAFE.sub(lambda found: f"%{ord(found[0]):02X}", table))
