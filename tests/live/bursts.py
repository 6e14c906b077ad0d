# SPDX-License-Identifier: GPL-2.0-only
"""Loads with rests, and what blklat says of the IOs after them."""
import itertools
import mmap
import os
import time

BURST = 10  # IOs


class Bursts:
    """One IO at a time of 4 KiB; notes when each was (op, began, ended), and how long the first of each burst took."""

    def __init__(self, device):
        self.fd = os.open(device.path, os.O_RDWR | os.O_DIRECT)
        self.page = mmap.mmap(-1, 4096)
        self.at = 0
        self.first_s = []
        self.done = []

    def io(self, op):
        began = time.monotonic()
        (os.preadv if op == "read" else os.pwritev)(self.fd, [self.page], 4096 * self.at)
        self.at += 1
        self.done.append((op, began, time.monotonic()))
        return self.done[-1][2] - began

    def after_rest(self, op, gap_s, least_s=0):
        """
        How long those of an op took their caller that came after a rest of the device of that much: where it
        rested for certain, since nobody was in a call, and where it may have, since it does so within calls
        too, each but for the time that an IO takes at least.
        """
        certain, possible = [], []
        for (_, before, returned), (name, began, ended) in itertools.pairwise(self.done):
            if name == op and began - returned >= gap_s:
                certain.append(ended - began)
            if name == op and ended - before - 2 * least_s >= gap_s:
                possible.append(ended - began)
        return certain, possible

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
