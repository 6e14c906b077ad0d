# SPDX-License-Identifier: GPL-2.0-only
"""The kernel's own trace."""
import contextlib
import pathlib
import subprocess
import tempfile

from devices import run
from needs import need


@contextlib.contextmanager
def tracefs():
    """Mounts tracefs for the test, and for nobody else."""
    folder = pathlib.Path(tempfile.mkdtemp(prefix="blklat-test-"))
    try:
        mounted = subprocess.run(["mount", "-t", "tracefs", "tracefs", folder], capture_output=True)
        need(mounted.returncode == 0, "no tracefs")
        try:
            yield folder
        finally:
            run("umount", folder)
    finally:
        folder.rmdir()
