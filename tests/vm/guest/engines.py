# SPDX-License-Identifier: GPL-2.0-only
"""
Both engines on the same traffic, each the other's witness.

    with null_blk() as (device,), both(device) as engines:
        f = fio(device, number_ios=1000)
        engines.settle()
    a = engines.agree(device)              # asserts that all that must be equal is; returns kmod's account
    assert engines.kmod.ops() == {"read": 1000}
"""
import contextlib
import os

from devices import run
from load import Blklat, assert_all_counted
from slow import slow_of

# Of a slow IO, equal in both engines; time and latency are not, as each engine reads the clock for itself.
SAME = ("pid", "comm", "kernel_thread", "cgroup", "op", "flags", "bytes", "sector", "error", "hw_queue", "start_cpu", "end_cpu", "depth",
        "beside", "pages", "file_device", "inode", "file")
MODULE = os.environ.get("BLKLAT_KO", "")


@contextlib.contextmanager
def blklat_module():
    """Loads blklat.ko, and unloads it at the end: nothing may hold it then."""
    run("insmod", MODULE)
    try:
        yield
    finally:
        run("rmmod", "blklat")


# What each engine needs besides blklat itself.
PREPARED = {"bpf": contextlib.nullcontext, "kmod": blklat_module}


class Both:
    def __init__(self, bpf, kmod):
        self.bpf, self.kmod = bpf, kmod

    def __iter__(self):
        return iter((self.bpf, self.kmod))

    def settle(self):
        """Waits until both have shown an interval that begins after the traffic's end."""
        for b in self:
            watched = {(l["device"], l["stage"]) for l in b.lines}
            b.next(n=2 * max(1, len(watched)))

    def agree(self, device=None, stage=None):
        """Asserts that all numbers that do not depend on the clock are equal, that everything adds up and nothing is lost."""
        exact, a = (assert_all_counted(b, device, stage) for b in (self.kmod, self.bpf))
        told = "started", "completed", "requeued", "kernel_ios", "unissued"
        assert {k: a[k] for k in told} == {k: exact[k] for k in told}, (a, exact)
        for key in "ios", "bytes", "errors":
            assert self.totals(self.bpf, key, device, stage) == self.totals(self.kmod, key, device, stage), key
        return exact

    def slow(self, device, stage):
        """Asserts that both list the same slow IOs; returns each engine's list."""
        self.agree(device, stage)
        lists = [slow_of(b, device, stage) for b in self]
        one, other = (sorted(([io[key] for key in SAME] for io in ios), key=str) for ios in lists)
        assert one == other, [pair for pair in zip(one, other) if pair[0] != pair[1]][:3]
        return lists

    @staticmethod
    def totals(b, key, device, stage):
        return {op: b.total(key, op, device, stage) for op in b.ops(device, stage)}


@contextlib.contextmanager
def both(*devices, stage=None, interval=None, bpf_args=(), kmod_args=()):
    """
    The two engines, watching. At the end they are stopped as by Ctrl-C, and the module is unloaded. Intervals are short, but
    the more devices, the longer does it take to show one.
    """
    interval = interval or min(0.25 * (1 + len(devices)), 1.5)
    with blklat_module():
        with Blklat(*devices, stage=stage, interval=interval, args=("--engine", "bpf", "--bins", *bpf_args)) as bpf, \
                Blklat(*devices, stage=stage, interval=interval, args=("--engine", "kmod", "--bins", *kmod_args)) as kmod:
            yield Both(bpf, kmod)


def histogram(b, op, device=None, stage=None, part=None):
    """Counts of a run by their bin's bounds: {(lower, upper): ios}."""
    total = {}
    for line in b.of(device, stage, part):
        for o in line["ops"]:
            if o["op"] == op:
                for lower, upper, n in o["bins"]:
                    total[lower, upper] = total.get((lower, upper), 0) + n
    return total


def quantile(histogram, q):
    """The upper bound of the bin that has the q-quantile of the IOs."""
    left = q * sum(histogram.values())
    for (_, upper), n in sorted(histogram.items()):
        left -= n
        if left <= 0:
            return upper
    raise AssertionError("no IO")
