# SPDX-License-Identifier: GPL-2.0-only
"""The kernel's own trace of a device's block events."""
import contextlib
import os
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


@contextlib.contextmanager
def traced_events(folder, device, *events):
    """Gives a function that returns the trace's lines of these events of the device so far. @folder: tracefs."""
    major, minor = map(int, device.number.split(":"))
    instance = folder / f"instances/blklat-test-{os.getpid()}"
    instance.mkdir()
    try:
        (instance / "buffer_size_kb").write_text("8192")
        for event in events:
            (instance / f"events/block/{event}/filter").write_text(f"dev == {major << 20 | minor}")
            (instance / f"events/block/{event}/enable").write_text("1")
        yield lambda: (instance / "trace").read_text().splitlines()
    finally:
        instance.rmdir()
