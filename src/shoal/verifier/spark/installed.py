"""Whether Spark can be started here: PySpark, and a Java that is new enough for it."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from functools import cache
from pathlib import Path

LEAST_JAVA = 17  # of Spark 4


def why_not_installed() -> str:
    """Say what Spark lacks here; nothing where it can be started."""
    from importlib.util import find_spec

    if find_spec("pyspark") is None:
        return "PySpark is not installed"
    home = os.environ.get("JAVA_HOME")
    java = shutil.which(Path(home, "bin", "java") if home else "java")
    if java is None:
        return "Java is not installed"
    said = _said_of_its_version(java)
    if said is None:
        return "Java does not start"
    version = java_version(said)
    if version is not None and version < LEAST_JAVA:
        return f"Java {version} is installed, which is too old"
    return ""


def java_version(said: str) -> int | None:
    """Return the version that ``java -version`` prints: 8 of ``1.8.0_292``; None where it prints none."""
    found = re.search(r'version "(?:1\.)?(\d+)', said)
    return int(found[1]) if found else None


@cache
def _said_of_its_version(java: str) -> str | None:
    """Return what Java says about its version; None if it cannot be run."""
    try:
        ended = subprocess.run([java, "-version"], capture_output=True, text=True, timeout=60, check=True)
    except (OSError, subprocess.SubprocessError):
        return None
    return ended.stderr + ended.stdout
