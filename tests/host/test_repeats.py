# SPDX-License-Identifier: GPL-2.0-only
"""Runs repeated, of real traffic: noise trips no gate, and what is several times slower does."""
import subprocess

from load import BLKLAT, DEADLINE_S, fio_argv
from recorder import record

GATE = "--fail-if", "read.p50 > +50% beyond noise"


def repeats(device, folder, name, **load):
    files = [folder / f"{name}{i}.blklat" for i in range(5)]
    for file in files:
        done = record(device, file, "--quiet", command=fio_argv(device, time_based=1, runtime="500ms", **load))
        assert (done.returncode, done.stderr) == (0, "")
    return files


def compared(base, other):
    return subprocess.run([BLKLAT, "compare", *GATE, "--baseline", *base, "--", *other], capture_output=True, text=True, timeout=DEADLINE_S)


def test_gate(loop, folder):
    alone, again = (repeats(loop, folder, name, rate_iops=500) for name in ("alone", "again"))
    large = repeats(loop, folder, "large", ioengine="io_uring", iodepth=8, bs="1m")
    same, slower = compared(alone, again), compared(alone, large)
    assert (same.returncode, same.stderr) == (0, ""), same.stdout
    assert slower.returncode == 3 and "read.p50" in slower.stdout + slower.stderr, slower
