# SPDX-License-Identifier: GPL-2.0-only
"""The kernel's own trace, which is independent of all engines."""
import contextlib
import pathlib
import re
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
def trace_instance():
    """A trace of the test's own."""
    with tracefs() as folder:
        instance = folder / "instances" / folder.name
        instance.mkdir()
        try:
            (instance / "buffer_size_kb").write_text("8192")
            yield instance
        finally:
            instance.rmdir()


@contextlib.contextmanager
def traced_events(device, *events):
    """Gives a function that returns the trace's lines of these events of the device so far."""
    major, minor = map(int, device.number.split(":"))
    with trace_instance() as instance:
        (instance / "trace_clock").write_text("mono")
        for event in events:
            (instance / f"events/block/{event}/filter").write_text(f"dev == {major << 20 | minor}")
            (instance / f"events/block/{event}/enable").write_text("1")

        def lines():
            for stats in instance.glob("per_cpu/cpu*/stats"):
                assert re.search(r"^overrun: 0$", stats.read_text(), re.M)
            return (instance / "trace").read_text().splitlines()
        yield lines
