"""The signature of a manifest: 64 bytes of Ed25519 next to it, checked with a public key."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shoal.errors import DataError, RecipeError
from shoal.verifier.verdict import Problem, Verdict

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

UNCHECKED = "The manifest is signed. The signature was not checked: that needs the public key."
_LENGTH = 64


def with_signature(verdict: Verdict, path: str | Path, public_key: str | Path | None) -> Verdict:
    """Add what the signature of a release's manifest says; without a key, that there is one."""
    manifest = Path(path).with_name(Path(path).name + ".manifest.json")
    if public_key is None:
        unchecked = (UNCHECKED,) if signature_file(manifest).exists() else ()
        return replace(verdict, remarks=(*verdict.remarks, *unchecked))
    problems = signature_problems(manifest, read_public_key(public_key))
    return replace(verdict, holds=verdict.holds and not problems, problems=(*verdict.problems, *problems))


def read_public_key(path: str | Path) -> Ed25519PublicKey:
    """Read a public key in PEM."""
    try:
        from cryptography.hazmat.primitives import serialization
        from cryptography.hazmat.primitives.asymmetric import ed25519
    except ImportError:
        message = "Checking a signature needs the library cryptography, which is not installed."
        raise RecipeError("recipe.not_available", message, 'pip install "shoal[sign]"') from None
    try:
        text = Path(path).read_bytes()
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or "no such file"
        raise DataError("key.unusable", f"The key {path} cannot be read: {why}.", "check the path") from None
    try:
        key: Any = serialization.load_pem_public_key(text)
    except Exception:  # of several kinds, and somebody may have given the private key
        key = None
    if not isinstance(key, ed25519.Ed25519PublicKey):
        message = f"The key {path} is not an Ed25519 public key in PEM."
        raise DataError(
            "key.unusable", message, "give the public key: `shoal keys` writes it as NAME.pub.pem"
        )
    return key


def signature_problems(manifest: Path, key: Ed25519PublicKey) -> list[Problem]:
    """Check the signature next to a manifest."""
    from cryptography.exceptions import InvalidSignature

    try:
        signed, signature = manifest.read_bytes(), signature_file(manifest).read_bytes()
    except OSError:
        return [Problem("verify.signature", f"{manifest.name} is not signed, or cannot be read.")]
    try:
        if len(signature) != _LENGTH:
            raise InvalidSignature
        key.verify(signature, signed)
    except InvalidSignature:
        message = f"{manifest.name} is not what the owner of the key has signed."
        return [Problem("verify.signature", message)]
    return []


def signature_file(manifest: Path) -> Path:
    """Return where the signature of a manifest is."""
    return manifest.with_name(manifest.name + ".sig")
