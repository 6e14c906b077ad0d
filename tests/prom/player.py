# SPDX-License-Identifier: GPL-2.0-only
"""The test program that plays recordings and answers scrapes, and helpers for the expected figures."""
import collections
import fractions
import os
import random
import subprocess

from prometheus_client.parser import text_string_to_metric_families as read_text
from script import write_recording

LATENCY = "blklat_io_latency_seconds"
EXPOSITION = os.environ.get("EXPOSITION", "build/tests/prom/exposition")

PROTOBUF = "application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=delimited"
OPENMETRICS = "application/openmetrics-text;version=1.0.0"
TEXT = "text/plain;version=0.0.4"
# Accept headers of Prometheus 2.42, with native histograms and without.
ACCEPT_NATIVE = (PROTOBUF + ",application/openmetrics-text;version=1.0.0;q=0.8,"
                 "application/openmetrics-text;version=0.0.1;q=0.75,text/plain;version=0.0.4;q=0.5,*/*;q=0.1")
ACCEPT = ("application/openmetrics-text;version=1.0.0,application/openmetrics-text;version=0.0.1;q=0.75,"
          "text/plain;version=0.0.4;q=0.5,*/*;q=0.1")

ZERO = 2.0 ** -26  # s, below which is the zero bucket
START = 1795246500  # 2026-11-21T07:35:00Z, by date(1)


class Player:
    def __init__(self, *options):
        self.process = subprocess.Popen([EXPOSITION, *options], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE)

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        _, errors = self.process.communicate(timeout=60)
        if kind is None:
            assert (self.process.returncode, errors) == (0, b"")

    def say(self, line):
        self.process.stdin.write(line.encode() + b"\n")
        self.process.stdin.flush()

    def open(self, file):
        self.say(f"open {file}")

    def tick(self):
        """False after the last one."""
        self.say("tick")
        return self.process.stdout.readline() == b"ok\n"

    def get(self, accept=""):
        """The content type and the body."""
        return self.answer(f"get {accept}".strip())

    def otlp(self):
        """What is pushed to OpenTelemetry."""
        return self.answer("otlp")[1]

    def answer(self, line):
        self.say(line)
        kind = self.process.stdout.readline().decode().strip()
        assert kind, self.process.stderr.read().decode()
        size = int(self.process.stdout.readline())
        return kind, self.process.stdout.read(size)


def script(path, devices, events, stages=("device",), scale=6, facts=()):
    """Makes a recording: each device watched at each stage, then the lines of @events. @facts are more lines of a script (tests/script.py)."""
    head = ["blklat-replay 1", "engine bpf", "start 2026-11-21T07:35:00.000Z", f"scale {scale}", *facts]
    head += [f"device {d}" for d in devices]
    head += [f"watch {d.split(' ')[0]} {s}" for d in devices for s in stages]
    return write_recording("\n".join(head + events), path)


def played(path, accept, *options):
    with Player(*options) as p:
        p.open(path)
        while p.tick():
            pass
        return p.get(accept)[1]


def exposed_totals(text):
    """{(device, stage, op): (IOs, bytes, errors)}, of all sizes."""
    found = {}
    for family in read_text(text):
        for s in family.samples:
            names = {LATENCY + "_count": 0, "blklat_io_bytes_total": 1, "blklat_io_errors_total": 2}
            if s.name in names:
                of = found.setdefault((s.labels["device"], s.labels["stage"], s.labels["op"]), [0, 0, 0])
                of[names[s.name]] += int(s.value)
    return {key: tuple(v) for key, v in found.items()}


def number_of(ns, schema):
    """The native bucket of a latency: the least i with ns <= 10^9 * 2^(i / 2^schema), in integer arithmetic."""
    power = 1 << schema
    left, right = ns ** power, 10 ** (9 * power)
    i = left.bit_length() - right.bit_length() - 1
    while left > (right << i if i >= 0 else fractions.Fraction(right, 1 << -i)):
        i += 1
    return i


def native_of(values, schema):
    """The expected zero count and {bucket: count}; IOs above the grid are in the bucket after it."""
    zero = sum(ns <= 14 for ns in values)
    last = 7 * 2 ** schema
    return zero, collections.Counter(min(number_of(ns, schema), last + 1) for ns in values if ns > 14)


def random_ios(seed, n=4000):
    """(op, ns) over the whole grid and beyond, including bounds of bins."""
    rng = random.Random(seed)
    ios = [("read", int(10 ** rng.gauss(4.8, 0.7)) + 1) for _ in range(n)]
    ios += [("write", int(10 ** rng.uniform(0, 11.5)) + 1) for _ in range(n // 4)]
    for k in range(-26 * 8, 7 * 8 + 1):
        bound = int(fractions.Fraction(10 ** 9) * fractions.Fraction(2.0 ** (k / 8)))
        ios += [("write", bound + off) for off in (-1, 0, 1) if bound + off > 0]
    return ios


def script_of(path, ios, ticks=1, **options):
    events = []
    for i in range(ticks):
        counts = collections.Counter(ios[i::ticks])
        events += [f"io {op} {ns}ns 4096 x{n}" for (op, ns), n in sorted(counts.items())]
        events.append("tick 1")
    return script(path, ["nvme0n1 kind=nvme model=Example"], events, **options)
