"""Signed manifests: whoever has the public key sees that nobody but the owner of the key made them."""

import json
import os
import shutil
import stat
import subprocess
import sys
import warnings

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

import shoal
from shoal.cli.main import app
from shoal.errors import DataError, OutputError, PrivacyWarning, ShoalError
from shoal.recipe import Recipe
from shoal.release.signing import make_keys

RECIPE = Recipe.from_roles(quasi=["age"], sensitive=["ill"], k=2, changes={"method": {"name": "mondrian"}})
PEOPLE = pl.DataFrame({"age": [1, 2, 31, 32], "ill": ["flu", "cold", "flu", "cold"]})


def run(*arguments):
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A signed release with its keys."""
    folder = tmp_path_factory.mktemp("signed")
    make_keys(folder / "key.pem")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PrivacyWarning)
        shoal.anonymize(PEOPLE, RECIPE).write(folder / "out.csv", sign=folder / "key.pem")
    return folder


def codes(folder, **more):
    verdict = shoal.verify(folder / "out.csv", RECIPE, public_key=folder / "key.pub.pem", **more)
    return {problem.code for problem in verdict.problems}


def test_a_signed_release_holds_and_without_the_key_it_says_what_was_not_checked(folder):
    assert codes(folder) == set()
    verdict = shoal.verify(folder / "out.csv", RECIPE)
    assert verdict.holds
    assert any("signature was not checked" in remark for remark in verdict.remarks)


@given(end=st.sampled_from(["", ".sig"]), at=st.floats(0, 1, exclude_max=True), change=st.integers(1, 255))
def test_any_changed_byte_of_manifest_or_signature_is_found(folder, end, at, change):
    path = folder / f"out.csv.manifest.json{end}"
    before = path.read_bytes()
    content = bytearray(before)
    content[int(at * len(content))] ^= change
    path.write_bytes(bytes(content))
    try:
        assert "verify.signature" in codes(folder)
    finally:
        path.write_bytes(before)


def test_a_signature_that_is_missing_cut_long_or_of_another_key_is_found(folder, tmp_path):
    signature = folder / "out.csv.manifest.json.sig"
    before = signature.read_bytes()
    assert len(before) == 64
    make_keys(tmp_path / "other.pem")
    other = shoal.verify(folder / "out.csv", RECIPE, public_key=tmp_path / "other.pub.pem")
    assert [problem.code for problem in other.problems] == ["verify.signature"]
    try:
        for content in (b"", before[:-1], before + b"\n"):
            signature.write_bytes(content)
            assert codes(folder) == {"verify.signature"}
        signature.unlink()
        assert codes(folder) == {"verify.signature"}
    finally:
        signature.write_bytes(before)


@pytest.mark.skipif(shutil.which("openssl") is None, reason="needs openssl")
def test_openssl_agrees_with_our_signature_and_we_with_its_key(folder, tmp_path):
    manifest = folder / "out.csv.manifest.json"
    check = [
        "openssl",
        "pkeyutl",
        "-verify",
        "-pubin",
        "-inkey",
        folder / "key.pub.pem",
        "-rawin",
        "-in",
        manifest,
    ]
    done = subprocess.run(
        [*check, "-sigfile", f"{manifest}.sig"], capture_output=True, check=False, timeout=60
    )
    assert done.returncode == 0, done.stderr
    # The other way round: with the keys that the page tells to make with openssl.
    key, public = tmp_path / "k.pem", tmp_path / "k.pub.pem"
    subprocess.run(["openssl", "genpkey", "-algorithm", "ed25519", "-out", key], check=True, timeout=60)
    subprocess.run(["openssl", "pkey", "-in", key, "-pubout", "-out", public], check=True, timeout=60)
    key.chmod(0o600)
    path = shoal.anonymize(PEOPLE, RECIPE).write(tmp_path / "out.csv", sign=key)
    assert shoal.verify(path, RECIPE, public_key=public).holds


def test_a_signature_of_an_earlier_release_does_not_stay(folder, tmp_path):
    shutil.copytree(folder, tmp_path / "copy")
    place = tmp_path / "copy" / "out.csv"
    shoal.anonymize(PEOPLE, RECIPE).write(place)
    assert not (tmp_path / "copy" / "out.csv.manifest.json.sig").exists()


def test_the_commands(tmp_path):
    key, public = tmp_path / "key.pem", tmp_path / "key.pub.pem"
    made = run("keys", key, "--json")
    assert json.loads(made.stdout) == {"private_key": str(key), "public_key": str(public)}
    assert stat.S_IMODE(key.stat().st_mode) == 0o600
    again = run("keys", key, "--json")
    assert (again.exit_code, json.loads(again.stdout)["error"]["code"]) == (2, "output.exists")
    PEOPLE.write_csv(tmp_path / "people.csv")
    flags = ("--quasi", "age", "--sensitive", "ill", "--k", 2, "--no-bound", "-o", tmp_path / "out.csv")
    signed = run("anonymize", tmp_path / "people.csv", *flags, "--sign", key, "--json")
    assert json.loads(signed.stdout)["signature"] == str(tmp_path / "out.csv.manifest.json.sig")
    assert run("verify", tmp_path / "out.csv", "--public-key", public).exit_code == 0
    (tmp_path / "out.csv.manifest.json.sig").unlink()
    missing = run("verify", tmp_path / "out.csv", "--public-key", public, "--json")
    assert missing.exit_code == 1
    assert json.loads(missing.stdout)["problems"][0]["code"] == "verify.signature"


# Keys.


def test_keys_that_cannot_be_used(tmp_path):
    from cryptography.hazmat.primitives import serialization as form
    from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, generate_private_key

    make_keys(tmp_path / "key.pem")
    bad = {name: tmp_path / f"{name}.pem" for name in ("none", "text", "open", "other", "locked", "public")}
    bad["text"].write_text("no key")
    shutil.copy(tmp_path / "key.pem", bad["open"])
    shutil.copy(tmp_path / "key.pub.pem", bad["public"])
    curve = generate_private_key(SECP256R1())
    for name, lock in (("other", form.NoEncryption()), ("locked", form.BestAvailableEncryption(b"x"))):
        bad[name].write_bytes(curve.private_bytes(form.Encoding.PEM, form.PrivateFormat.PKCS8, lock))
    for name, path in bad.items():
        if path.exists():
            path.chmod(0o640 if name == "open" else 0o600)
    says = dict.fromkeys(bad, "not an Ed25519")
    says |= {"none": "No such file", "open": "other users", "locked": "password"}
    release = shoal.anonymize(PEOPLE, RECIPE)
    before = sorted(tmp_path.iterdir())
    for name, path in bad.items():
        with pytest.raises(DataError, match=says[name]) as error:
            release.write(tmp_path / "out.csv", sign=path)
        assert (error.value.code, bool(error.value.hint)) == ("key.unusable", True)
    assert sorted(tmp_path.iterdir()) == before
    release.write(tmp_path / "out.csv", sign=tmp_path / "key.pem")
    for path in (bad["none"], bad["text"], tmp_path / "key.pem"):
        with pytest.raises(DataError) as error:
            shoal.verify(tmp_path / "out.csv", RECIPE, public_key=path)
        assert error.value.code == "key.unusable"


def test_no_key_is_overwritten_or_left_half_made(tmp_path):
    (tmp_path / "key.pub.pem").write_text("mine")
    with pytest.raises(OutputError, match="exists"):
        make_keys(tmp_path / "key.pem")
    assert os.listdir(tmp_path) == ["key.pub.pem"]
    with pytest.raises(OutputError):
        make_keys(tmp_path / "none" / "key.pem")


def test_without_the_library_it_says_how_to_install_it(folder, monkeypatch):
    monkeypatch.setitem(sys.modules, "cryptography", None)
    monkeypatch.setitem(sys.modules, "cryptography.hazmat.primitives", None)
    with pytest.raises(ShoalError, match="cryptography, which is not installed") as error:
        shoal.verify(folder / "out.csv", RECIPE, public_key=folder / "key.pub.pem")
    assert "shoal[sign]" in error.value.hint
    with pytest.raises(ShoalError, match="cryptography") as error:
        shoal.anonymize(PEOPLE, RECIPE).write(folder / "more.csv", sign=folder / "key.pem")
    assert "shoal[sign]" in error.value.hint
