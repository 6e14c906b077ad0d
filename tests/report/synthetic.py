# SPDX-License-Identifier: GPL-2.0-only
"""Runs with known answers, as scripts (tests/script.py)."""
import math
import random
import statistics

from script import write_recording

# The shape of a peak: quantiles of the normal distribution in the middle of nine equal parts.
SHAPE = (-1.593, -0.967, -0.589, -0.282, 0.0, 0.282, 0.589, 0.967, 1.593)
Z = [statistics.NormalDist().inv_cdf((i + 0.5) / 20) for i in range(20)]


class Script:
    """A run, written interval by interval."""

    def __init__(self, devices=("sda",), stage="device", seed=1, idle_gap=None, by=None):
        self.random = random.Random(seed)
        self.lines = ["blklat-replay 1", "engine bpf", "start 2026-11-21T07:35:00.000Z", "scale 6"]
        if idle_gap:
            self.lines.append(f"idle-gap {idle_gap}")
        if by:
            self.lines.append(f"by {by}")
        for name in devices:
            self.lines.append(f'device {name} kind=disk model="Example SSD" scheduler=none size=480103981056 '
                              "queues=1 tags=32")
        self.lines += [f"watch {name} {stage}" for name in devices]

    def on(self, device, stage="device"):
        self.lines.append(f"on {device} {stage}")

    def io(self, op, latency_ns, count=1, size=4096, more=""):
        if count:
            self.lines.append(f"io {op} {round(latency_ns)}ns {size} x{count} {more}".rstrip())

    def peak(self, op, center_ns, count, width=0.08, size=4096):
        """@count IOs around a median; @width is the standard deviation of ln(latency)."""
        share, rest = divmod(count, len(SHAPE))
        for i, z in enumerate(SHAPE):
            self.io(op, center_ns * math.exp(width * z), share + (i == 4) * rest, size)

    def noisy(self, count, noise=0.03):
        return max(0, round(self.random.gauss(count, noise * count)))

    def in_flight(self, n, oldest_ns=0):
        self.lines.append(f"in-flight {n}" + (f" oldest={round(oldest_ns)}ns" if n else ""))

    def tick(self, seconds=1):
        self.lines.append(f"tick {seconds}")

    def write(self, path):
        """Makes a recording of it."""
        return write_recording("\n".join(self.lines), path)


def spread(s, op, median_ns, count, width=0.1, **more):
    """A lognormal by 20 quantiles; @count is a multiple of 20."""
    for z in Z:
        s.io(op, median_ns * 2.718281828 ** (width * z), count // 20, **more)


def repeated(intervals, *ios, **kw):
    """The same in each interval: what io() takes."""
    s = Script(**kw)
    for _ in range(intervals):
        for io in ios:
            s.io(*io)
        s.tick()
    return s


def steady(seconds=120, iops=20000, p50_ns=90e3, noise=0.03, **kw):
    s = Script(**kw)
    for _ in range(seconds):
        s.peak("read", p50_ns, s.noisy(iops, noise))
        s.in_flight(2, p50_ns / 2)
        s.tick()
    return s


def mixed(seconds=45, **kw):
    """Two devices, several ops, errors, pauses, intervals of many lengths."""
    s = Script(devices=("sda", "sdb"), seed=5, idle_gap="50ms", **kw)
    for second in range(seconds):
        s.on("sda")
        s.peak("read", 90e3, s.noisy(800))
        s.peak("write", 2e6, s.noisy(50), size=65536)
        s.io("flush", 3e6, second % 3, size=0)
        s.io("read", 7e6, 1, more="errors=1")
        s.in_flight(second % 4, 5e5)
        s.on("sdb")
        s.peak("read", 1e6 * (1 + second % 5), s.noisy(100) if second % 7 else 0)
        s.io("read", 4e6, 1, more="after-idle")
        s.in_flight(0)
        s.tick(s.random.choice((0.25, 1, 1, 1, 2.5)))
    return s
