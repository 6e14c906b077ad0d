# SPDX-License-Identifier: GPL-2.0-only
"""Runs with known answers, as scripts (tests/script.py)."""
import math
import random

from script import write_recording

# The shape of a peak: quantiles of the normal distribution in the middle of nine equal parts.
SHAPE = (-1.593, -0.967, -0.589, -0.282, 0.0, 0.282, 0.589, 0.967, 1.593)


class Script:
    """A run, written interval by interval; counts what it writes."""

    def __init__(self, devices=("sda",), stage="device", seed=1, idle_gap=None, scale=6, by=None):
        self.random = random.Random(seed)
        self.lines = ["blklat-replay 1", "engine bpf", "start 2026-11-21T07:35:00.000Z", f"scale {scale}"]
        if idle_gap:
            self.lines.append(f"idle-gap {idle_gap}")
        if by:
            self.lines.append(f"by {by}")
        for name in devices:
            self.lines.append(f'device {name} kind=disk model="Example SSD" scheduler=none size=480103981056 '
                              "queues=1 tags=32")
        self.lines += [f"watch {name} {stage}" for name in devices]
        self.intervals = 0
        self.ios = 0

    def on(self, device, stage="device"):
        self.lines.append(f"on {device} {stage}")

    def io(self, op, latency_ns, count=1, size=4096, more=""):
        if count:
            self.lines.append(f"io {op} {round(latency_ns)}ns {size} x{count} {more}".rstrip())
            self.ios += count

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
        self.intervals += 1

    def write(self, path):
        """Makes a recording of it."""
        return write_recording("\n".join(self.lines), path)


def steady(seconds=120, iops=20000, p50_ns=90e3, noise=0.03, **kw):
    s = Script(**kw)
    for _ in range(seconds):
        s.peak("read", p50_ns, s.noisy(iops, noise))
        s.in_flight(2, p50_ns / 2)
        s.tick()
    return s


def cache_exhausted(fast_s=60, slow_s=240, fast=(44000, 22e3), slow=(2600, 380e3)):
    """Writes land in a cache until it is full. Each level is (IOPS, median)."""
    s = Script()
    at = 0
    for second in range(fast_s + slow_s):
        iops, p50_ns = fast if second < fast_s else slow
        n = s.noisy(iops)
        at += n if second < fast_s else 0
        s.peak("write", p50_ns, n)
        s.in_flight(1, p50_ns / 2)
        s.tick()
    s.share = at / s.ios
    return s


def within_intervals(begin_s, takes_s=1.05, period_s=3, stalls=18, iops=5000, p50_ns=6.4e6, depth=32):
    """A drive that stalls every period_s, at any time within an interval, so few intervals are empty."""
    s = Script()
    begins = [begin_s + period_s * i for i in range(stalls)]
    for second in range(math.ceil(begins[-1] + period_s)):
        stood = sum(max(0, min(second + 1, at + takes_s) - max(second, at)) for at in begins)
        s.peak("read", p50_ns, s.noisy(iops * (1 - stood)))
        if any(second <= at + takes_s < second + 1 for at in begins):
            s.io("read", takes_s * 1e9, depth)
        ages = [second + 1 - at for at in begins if at < second + 1 < at + takes_s]
        s.in_flight(depth, ages[0] * 1e9 if ages else p50_ns / 2)
        s.tick()
    return s


def stall(before_s=40, stalled_s=3, after_s=57, iops=15000, p50_ns=120e3):
    """One stall in the middle; IOs that waited took as long as it."""
    s = Script()
    for second in range(before_s + stalled_s + after_s):
        inside = before_s <= second < before_s + stalled_s
        if not inside:
            s.peak("read", p50_ns, s.noisy(iops))
        if second == before_s + stalled_s:
            s.io("read", stalled_s * 1e9 + 1e6, 2)
        s.in_flight(2, (second - before_s + 1) * 1e9 if inside else p50_ns / 2)
        s.tick()
    return s


def duty_cycle(cycles=100, load_s=2, rest_s=2, iops=30000, p50_ns=27e3, first_ns=100e3):
    """Idle for half of the time; the first IO after each pause is slower."""
    s = Script(idle_gap="100ms")
    for _ in range(cycles):
        for second in range(load_s):
            s.peak("read", p50_ns, s.noisy(iops))
            if not second:
                s.io("read", first_ns, 1, more="after-idle")
            s.in_flight(1, p50_ns / 2) if second + 1 < load_s else s.in_flight(0)
            s.tick()
        for _ in range(rest_s):
            s.in_flight(0)
            s.tick()
    return s


def two_peaks(seconds=60, iops=10000, fast=(0.8, 80e3), slow=(0.2, 1.1e6)):
    """Cache hits and misses. Each peak is (share, median)."""
    s = Script()
    s.counts = [0, 0]
    for _ in range(seconds):
        n = s.noisy(iops)
        for i, (share, p50_ns) in enumerate((fast, slow)):
            part = round(n * share)
            s.counts[i] += part
            s.peak("read", p50_ns, part)
        s.in_flight(3, 1e5)
        s.tick()
    return s


def filled_up(seconds=2000, fall_s=500, fast=(80000, 390e3), slow=(7000, 4.5e6)):
    """Random writes to a drive with little spare area: fast, then noisy and slow. In steps of a second."""
    s = Script()
    for second in range(seconds):
        iops, p50_ns = fast if second < fall_s else slow
        s.peak("write", p50_ns, s.noisy(iops, 0.02 if second < fall_s else 0.1))
        s.in_flight(32, p50_ns)
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
