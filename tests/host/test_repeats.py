# SPDX-License-Identifier: GPL-2.0-only
"""Repeated runs of real traffic: noise trips no gate, but a load several times slower does."""
import subprocess

from load import BLKLAT, DEADLINE_S, fio_argv
from recorder import record

GATE = "--fail-if", "read.p50 > +50% beyond noise"


def repeats(device, folder, **loads):
    """Records five runs of each load, in turn, so that whatever else the machine does falls on all; returns their files by name."""
    files = {name: [folder / f"{name}{i}.blklat" for i in range(5)] for name in loads}
    for i in range(5):
        for name, load in loads.items():
            done = record(device, files[name][i], "--quiet", command=fio_argv(device, time_based=1, runtime="300ms", **load))
            assert (done.returncode, done.stderr) == (0, "")
    return files


def compared(base, other):
    return subprocess.run([BLKLAT, "compare", *GATE, "--baseline", *base, "--", *other], capture_output=True, text=True, timeout=DEADLINE_S)


def test_gate(loop, folder):
    alone = {"rate_iops": 500}
    files = repeats(loop, folder, alone=alone, again=alone, large={"ioengine": "io_uring", "iodepth": 8, "bs": "1m"})
    same, slower = (compared(files["alone"], files[name]) for name in ("again", "large"))
    assert (same.returncode, same.stderr) == (0, ""), same.stdout
    assert slower.returncode == 3 and "read.p50" in slower.stdout + slower.stderr, slower
