"""Sign manifests with Ed25519, so that anyone with the public key sees who made them.

The signature is a file of 64 bytes next to the manifest, X.csv.manifest.json.sig, over the manifest's bytes.
Other tools read it as it is, for example ``openssl pkeyutl -verify -rawin``.
"""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shoal.errors import DataError, OutputError
from shoal.table.optional import library
from shoal.table.write import unwritable

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

_OTHERS = stat.S_IRWXG | stat.S_IRWXO


def signature_path(manifest: Path) -> Path:
    """Return the path of a manifest's signature."""
    return manifest.with_name(manifest.name + ".sig")


def public_path(key: Path) -> Path:
    """Return the path of the public key that belongs to a new private key."""
    return key.with_name(f"{key.stem}.pub{key.suffix}")


def make_keys(path: Path) -> tuple[Path, Path]:
    """Write a new private key, readable by its owner only, and its public key; overwrite nothing."""
    ed25519, serialization = _library("asymmetric.ed25519"), _library("serialization")
    places = (path, public_path(path))
    for place in places:
        if os.path.lexists(place):
            raise OutputError("output.exists", f"{place} exists.", "choose another name for the new key")
    key = ed25519.Ed25519PrivateKey.generate()
    secret = key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
    public = key.public_key().public_bytes(
        serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
    )
    made = []
    try:
        for place, text, mode in zip(places, (secret, public), (0o600, 0o644), strict=True):
            # Created with its final mode: nobody else can open the private key even for a moment.
            handle = os.open(place, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
            made.append(place)
            with os.fdopen(handle, "wb") as file:
                file.write(text)
    except OSError as error:
        for place in made:
            with suppress(OSError):
                place.unlink()
        raise unwritable(path, error) from None
    return places


def load_key(path: Path) -> Ed25519PrivateKey:
    """Read a private key; refuse one that other users of the machine can read."""
    ed25519, serialization = _library("asymmetric.ed25519"), _library("serialization")
    try:
        mode, text = path.stat().st_mode, path.read_bytes()
    except (OSError, ValueError) as error:
        raise _bad_key(
            path, f"cannot be read: {getattr(error, 'strerror', None) or 'no such file'}"
        ) from None
    if os.name == "posix" and mode & _OTHERS:
        raise _bad_key(path, "can be read or changed by other users", f"chmod 600 {path}")
    try:
        key: Any = serialization.load_pem_private_key(text, password=None)
    except TypeError:  # what cryptography raises for a key with a password
        raise _bad_key(path, "is protected by a password, which shoal does not ask for") from None
    except Exception:  # its messages may quote the key
        key = None
    if not isinstance(key, ed25519.Ed25519PrivateKey):
        raise _bad_key(path, "is not an Ed25519 private key in PEM")
    found: Ed25519PrivateKey = key
    return found


def _library(name: str) -> Any:
    library("cryptography", "sign", "Signing")
    return import_module(f"cryptography.hazmat.primitives.{name}")


def _bad_key(path: Path, why: str, hint: str = "make a key with `shoal keys FILE`") -> DataError:
    return DataError("key.unusable", f"The key {path} {why}.", hint)
