"""Where compiled kernels are kept when homes cannot be written to."""

import errno
import os
import shutil
import stat
import subprocess
import sys
import tempfile
from pathlib import Path
from types import SimpleNamespace

import pytest

from shoal.cli.compiling import compiling_in_background
from shoal.kernels.compiling import place as cache


@pytest.fixture
def homes(tmp_path, monkeypatch):
    """A home and a temporary folder of our own."""
    (tmp_path / "home").mkdir()
    (tmp_path / "tmp").mkdir()
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "tmp"))
    return tmp_path


def private(homes):
    return homes / "tmp" / f"shoal-{os.getuid()}"


def read_only(monkeypatch, *folders):
    """Let no file be made below some folders, as on a read-only file system; root may write anywhere else."""
    make, make_folder = tempfile.TemporaryFile, Path.mkdir

    def refuse(folder):
        if any(Path(folder).is_relative_to(given) for given in folders):
            raise OSError(errno.EROFS, "Read-only file system")

    def make_file(**given):
        refuse(given["dir"])
        return make(**given)

    def mkdir(self, *args, **more):
        if not self.exists():
            refuse(self)
        make_folder(self, *args, **more)

    monkeypatch.setattr(tempfile, "TemporaryFile", make_file)
    monkeypatch.setattr(Path, "mkdir", mkdir)


def test_the_home_of_the_user_comes_first(homes, monkeypatch):
    place = cache.find_place("key")
    assert place == cache.Place(homes / "home" / ".cache" / "shoal" / "key", is_kept=True)
    assert place.complaint == ""
    assert list(place.folder.iterdir()) == [], "what was tried is gone"
    monkeypatch.setenv("XDG_CACHE_HOME", str(homes / "elsewhere"))
    assert cache.find_place("key").folder == homes / "elsewhere" / "shoal" / "key"


@pytest.mark.parametrize("made", ["nothing", "a file", "shoal", "shoal/key"])
def test_where_the_home_cannot_be_written_to_the_temporary_folder_is_found_again(homes, monkeypatch, made):
    home = homes / "home" / ".cache"
    if made == "a file":
        home.write_text("")
    elif made != "nothing":  # such as a folder that root made when it ran shoal with this home
        (home / made).mkdir(parents=True)
    read_only(monkeypatch, home)
    first, second = cache.find_place("key"), cache.find_place("key")
    assert first == second
    assert first.folder == private(homes) / "shoal" / "key"
    assert first.is_kept
    assert first.refused == (home / "shoal" / "key",)
    assert stat.S_IMODE(private(homes).stat().st_mode) == 0o700


def test_a_full_home_is_not_used_unless_kernels_are_there(homes, monkeypatch):
    home = homes / "home" / ".cache" / "shoal" / "key"
    monkeypatch.setattr(
        shutil, "disk_usage", lambda folder: SimpleNamespace(free=0 if folder == home else 1 << 40)
    )
    assert cache.find_place("key").folder == private(homes) / "shoal" / "key"
    (home / "kernels").mkdir()
    (home / "kernels" / "add.nbi").write_bytes(b"")
    assert cache.find_place("key").folder == home


@pytest.mark.parametrize("kind", ["link", "writable by all", "file"])
def test_a_temporary_folder_that_others_could_write_to_is_not_used(homes, monkeypatch, kind):
    read_only(monkeypatch, homes / "home")
    if kind == "link":
        (homes / "others").mkdir()
        private(homes).symlink_to(homes / "others")
    elif kind == "file":
        private(homes).write_text("")
    else:
        private(homes).mkdir()
        private(homes).chmod(0o777)
    place = cache.find_place("key")
    assert not place.is_kept
    assert not place.folder.is_relative_to(private(homes))


def test_where_nothing_stays_the_user_is_told_in_one_line(homes, monkeypatch, capsys):
    private(homes).mkdir(mode=0o700)
    read_only(monkeypatch, homes / "home", private(homes))
    place = cache.find_place("key")
    assert not place.is_kept
    assert place.folder.is_dir()
    monkeypatch.setattr("shoal.kernels.compiling.place.place", lambda: place)
    with compiling_in_background([], None, quiet=False):
        pass
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("compiled kernels cannot be kept")
    assert str(homes / "home" / ".cache" / "shoal" / "key") in line
    assert str(private(homes) / "shoal" / "key") in line
    assert "XDG_CACHE_HOME" in line


def test_a_folder_that_does_not_stay_is_removed_at_the_end(tmp_path):
    code = """
import tempfile
from shoal.kernels.compiling import place as cache
cache._homes = lambda: iter(())
print(cache.find_place("key").folder)
"""
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env=environment, check=True, timeout=60
    )
    assert Path(done.stdout.strip()).parent == tmp_path
    assert list(tmp_path.iterdir()) == []


def test_the_kernels_are_kept_in_the_place_that_was_found(monkeypatch):

    assert cache.cache_folder() == cache.place().folder
    assert cache.place().is_kept
    assert list(cache.cache_folder().glob("*.nbi"))
