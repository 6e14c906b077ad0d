# SPDX-License-Identifier: GPL-2.0-only
"""Loads with rests, and what blklat says of the IOs after them."""
import itertools
import mmap
import os
import time

from load import assert_all_counted

BURST = 10  # IOs
DOUBT_S = 0.001  # PAUSE_DOUBT_NS in bpf/pauses.bpf.h


class Bursts:
    """IOs of 4 KiB, one at a time; notes when each was requested and when it was over: (op, began, ended)."""

    def __init__(self, device):
        self.fd = os.open(device.path, os.O_RDWR | os.O_DIRECT)
        self.page = mmap.mmap(-1, 4096)
        self.at = 0
        self.done = []

    def io(self, op):
        began = time.monotonic()
        (os.preadv if op == "read" else os.pwritev)(self.fd, [self.page], 4096 * self.at)
        self.at += 1
        self.done.append((op, began, time.monotonic()))
        return self.done[-1][2] - began

    def burst(self, op="read"):
        for _ in range(BURST):
            self.io(op)

    def after_rest(self, op, gap_s, least_s=0):
        """Latencies, as the caller saw them, of an op's IOs that came after a rest: for certain, and possibly."""
        return [waits(some, op) for some in after_rests(self.done, gap_s, least_s)]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.page.close()
        os.close(self.fd)


def after_rests(done, gap_s, least_s=0):
    """
    Of a device's IOs, in order, those that came after it had rested for the gap. Returns two lists. The first has those where
    it rested for certain, since nobody was in a call. The second has those where it may have, since it rests within calls,
    too, except for the least time of an IO. They differ only where the caller was held up for about as long as the gap.
    """
    certain, possible = [], []
    for (_, before, returned), io in itertools.pairwise(done):
        _, began, ended = io
        if began - returned >= gap_s + DOUBT_S:
            certain.append(io)
        if ended - before - 2 * least_s >= gap_s:
            possible.append(io)
    return certain, possible


def waits(done, op):
    return [ended - began for name, began, ended in done if name == op]


def sure(certain, done, gap_s):
    """Of an interval in which an IO was held up for about as long as the gap blklat does not say which came after a pause."""
    return certain if all(ended - began < gap_s / 2 for _, began, ended in done) else []


def assert_after_idle(b, done, gap_s, device=None, stage=None):
    """blklat's figures of an op agree with what the caller of these IOs saw: as many, and none slower."""
    assert_all_counted(b, device, stage)
    certain, possible = after_rests(done, gap_s)
    certain = sure(certain, done, gap_s)
    for op in {op for op, *_ in done}:
        ios, bins, sum_ns = after_idle(b, op, device, stage)
        longest = waits(possible, op)
        assert len(waits(certain, op)) <= ios <= len(longest), (op, ios, certain, possible)
        assert (sum_ns > 0) == (ios > 0) and sum_ns <= sum(longest) * 1e9
        assert not bins or max(lower for lower, _, _ in bins) < max(longest) * 1e9


def after_idle(b, op, device=None, stage=None):
    """An op's IOs after a pause: how many, in which bins, and the sum of their latencies."""
    found = [o["after_idle"] for l in b.of(device, stage) for o in l["ops"] if o["op"] == op]
    assert all(f["ios"] == sum(n for *_, n in f["bins"]) for f in found)
    return (sum(f["ios"] for f in found), [bin for f in found for bin in f["bins"]],
            sum(f["ios"] * f["latency_ns"]["mean"] for f in found if f["ios"]))


def count(b, op="read", device=None, stage=None):
    return after_idle(b, op, device, stage)[0]
