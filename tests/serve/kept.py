# SPDX-License-Identifier: GPL-2.0-only
"""A folder of recordings of 'serve --record', and a disk for it."""
import contextlib
import os
import re
import subprocess

from load import DEADLINE_S

BLKLAT_LIVE = [os.environ.get("BLKLAT", "build/blklat"), "live", "--format", "json", "--replay"]


def recordings(folder, coarse=False):
    return sorted(folder.glob("2*Z-10s.blklat" if coarse else "2*Z.blklat"))


def readable(file):
    """The times of all intervals, as the program reads them, also while they are written."""
    r = subprocess.run([*BLKLAT_LIVE, file], capture_output=True, text=True, timeout=DEADLINE_S)
    return sorted(set(re.findall(r'"time":"([^"]*)"', r.stdout)))


def all_readable(folder):
    return [time for file in recordings(folder) for time in readable(file)]


@contextlib.contextmanager
def small_disk(folder, size="5m"):
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size},mode=755", "tmpfs", folder], check=True)
    try:
        yield
    finally:
        subprocess.run(["umount", "-l", folder], check=True)
