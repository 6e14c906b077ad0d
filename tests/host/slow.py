# SPDX-License-Identifier: GPL-2.0-only
"""Reported slow IOs, and processes whose IOs are known."""
import subprocess

from load import Blklat


def watch(device, slow, *args, stage="device"):
    return Blklat(device, stage=stage, args=["--slow", slow, "--slow-max", "10000", *args])


def slow_of(b, device, stage="device"):
    assert all("slow" in l for l in b.of(device, stage))
    return [io for l in b.of(device, stage) for io in l["slow"]]


def dropped(b, device, stage="device"):
    return sum(l["slow_dropped"] for l in b.of(device, stage))


def dd(device, op, size, count, offset=0):
    """Returns the process id. Whatever the size, the IOs are consecutive."""
    at = ("if=/dev/zero", f"of={device.path}", "oflag=direct", "conv=notrunc", f"seek={offset}") if op == "write" else \
         ("of=/dev/null", f"if={device.path}", "iflag=direct", f"skip={offset}")
    process = subprocess.Popen(["dd", *at, f"bs={size}", f"count={count}"], stderr=subprocess.DEVNULL)
    assert process.wait(60) == 0
    return process.pid
