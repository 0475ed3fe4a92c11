"""Keyed pseudonyms: HMAC-SHA-256 of an identifier, with a secret key.

Without the key nobody can test a name against a pseudonym, as with a plain digest. With the same key the same
person has the same pseudonym in every release: that is what it is for, and what links the releases.
"""

from __future__ import annotations

import hmac
import os

import polars as pl

from shoal.errors import DataError, RecipeError
from shoal.recipe import Recipe
from shoal.table.frames import series
from shoal.wording import name_of

SHORTEST = 32  # bytes of a key
_ID = b"shoal: identity of a key for pseudonyms"


def key_of(recipe: Recipe) -> bytes:
    """Read the key from its file or environment variable; neither message nor hint shows any of it."""
    secrets = recipe.secrets
    if secrets.key_file is not None:
        try:
            key = recipe.resolve(secrets.key_file).read_bytes()
        except OSError as error:
            why = error.strerror or "unknown reason"
            message = f"The key for pseudonyms cannot be read: {why}."
            raise RecipeError("recipe.key", message, f"check {name_of('secrets', 'key_file')}") from None
    elif secrets.key_env is not None:
        if secrets.key_env not in os.environ:
            message = "The environment variable that should have the key for pseudonyms is not set."
            raise RecipeError("recipe.key", message, f"set it, or correct {name_of('secrets', 'key_env')}")
        key = os.environ[secrets.key_env].encode("utf-8", "surrogateescape")
    else:
        listed = ", ".join(f"`{name}`" for name in recipe.pseudonyms)
        message = f"There is no key for the pseudonyms of {listed}."
        keys = f"{name_of('secrets', 'key_file')} or {name_of('secrets', 'key_env')}"
        raise RecipeError(
            "recipe.key", message, f"name a file or an environment variable that has it: {keys}"
        )
    key = key.strip(b"\r\n")
    if len(key) < SHORTEST:
        message = f"The key for pseudonyms has {len(key)} bytes; at least {SHORTEST} are needed."
        raise RecipeError("recipe.key", message, "draw one at random, for example: openssl rand -hex 32")
    return key


def key_id(key: bytes) -> str:
    """Return a fingerprint of the key for manifests, which reveals nothing of the key."""
    return hmac.digest(key, _ID, "sha256").hex()[:16]


def pseudonym(text: str, key: bytes) -> str:
    """Return the pseudonym of an identifier: 64 hexadecimal digits."""
    return hmac.digest(key, text.encode(), "sha256").hex()


def pseudonyms(table: pl.DataFrame, name: str, key: bytes) -> pl.Series:
    """Replace the identifiers of a column; missing ones stay missing.

    Identifiers are compared as everywhere: trimmed, and in Unicode NFC.
    """
    texts = series(table, name).cast(pl.String).str.strip_chars().str.normalize("NFC")
    present = texts.drop_nulls()
    repeated = len(present) - present.n_unique()
    if repeated:
        message = (
            f"Column `{name}` cannot have pseudonyms: {repeated} of {len(present)} identifiers repeat an "
            "earlier one, so the rows of a person could be linked, and k counts rows."
        )
        raise DataError("data.repeated", message, "publish one row per person, or remove `pseudonym`")
    return pl.Series(name, [None if text is None else pseudonym(text, key) for text in texts], pl.String)
