"""`shoal keys`: make a pair of keys to sign manifests with."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from shoal.cli.console import Json, Quiet, print_json, reporting, say


def keys(
    path: Annotated[Path, typer.Argument(metavar="KEY.pem", help="Where to write the private key.")],
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Make a pair of Ed25519 keys: KEY.pem to sign with, which only you can read, and KEY.pub.pem.

    Give the public key to everybody who verifies your releases. Existing files are never overwritten.

    Examples:  shoal keys steward.pem
    shoal anonymize recipe.toml --sign steward.pem
    shoal verify out.csv --public-key steward.pub.pem
    """
    with reporting(as_json, quiet):
        from shoal.release.signing import make_keys

        private, public = make_keys(path)
        if as_json:
            print_json({"private_key": str(private), "public_key": str(public)})
        elif not quiet:
            say(f"private key: {private} (keep it secret)\npublic key:  {public}")
