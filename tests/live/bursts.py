# SPDX-License-Identifier: GPL-2.0-only
"""Loads with rests, and what blklat says of the IOs after them."""
import mmap
import os
import time

BURST = 10  # IOs


class Bursts:
    """One IO at a time of 4 KiB; notes how long the first of each burst took its caller."""

    def __init__(self, device):
        self.fd = os.open(device.path, os.O_RDWR | os.O_DIRECT)
        self.page = mmap.mmap(-1, 4096)
        self.at = 0
        self.first_s = []

    def io(self, op):
        began = time.monotonic()
        (os.preadv if op == "read" else os.pwritev)(self.fd, [self.page], 4096 * self.at)
        self.at += 1
        return time.monotonic() - began

    def burst(self, op="read"):
        self.first_s.append([self.io(op) for _ in range(BURST)][0])

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.page.close()
        os.close(self.fd)


def after_idle(b, op, device=None, stage=None):
    """All of an op's: how many, in which bins, and the sum of their latencies."""
    found = [o["after_idle"] for l in b.of(device, stage) for o in l["ops"] if o["op"] == op]
    assert all(f["ios"] == sum(n for *_, n in f["bins"]) for f in found)
    return (sum(f["ios"] for f in found), [bin for f in found for bin in f["bins"]],
            sum(f["ios"] * f["latency_ns"]["mean"] for f in found if f["ios"]))


def count(b, op="read", device=None, stage=None):
    return after_idle(b, op, device, stage)[0]
