# SPDX-License-Identifier: GPL-2.0-only
"""Slow IOs as they are told, and processes whose IOs are known."""
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
    """Its process id. Whatever the bytes are, they lie behind each other."""
    at = ("if=/dev/zero", f"of={device.path}", "oflag=direct", "conv=notrunc", f"seek={offset}") if op == "write" else \
         ("of=/dev/null", f"if={device.path}", "iflag=direct", f"skip={offset}")
    process = subprocess.Popen(["dd", *at, f"bs={size}", f"count={count}"], stderr=subprocess.DEVNULL)
    assert process.wait(60) == 0
    return process.pid
