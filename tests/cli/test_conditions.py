# SPDX-License-Identifier: GPL-2.0-only
"""Conditions of --fail-if: what may be written, what holds then, and what is said."""
import json

import pytest
from attacks import one_line, run
from script import write_recording

HEAD = "blklat-replay 1\ndevice sda\nwatch sda device\n"
BASE = HEAD + "io read 100us 4096 x1000\ntick 1"
RUN = HEAD + "io read 110us 4096 x1900 errors=3\nio read 25ms 4096\nio write 50us 4096 x99\naccount no_start 4\ntick 2"
HOLDS = [
    ("read.max > 20ms", True, 25e6, None), ("read.max > 25ms", False, 25e6, None), ("read.max >= 25ms", True, 25e6, None),
    ("read.max < 25ms", False, 25e6, None), ("read.max <= 25ms", True, 25e6, None), ("read.max>0.025s", False, 25e6, None),
    ("read.min > +10%", False, 110000, 100000), ("read.min >= +10%", True, 110000, 100000), ("read.min > +9.99%", True, 110000, 100000),
    ("read.min < 110001ns", True, 110000, None), ("read.iops < -5%", False, 950.5, 1000), ("read.iops < -4.9%", True, 950.5, 1000),
    ("read.mbps < 3.9", True, 950.5 * 4096 / 1e6, None), ("read.MB/s < 0.0038k", False, 950.5 * 4096 / 1e6, None), ("read.p100 > 24ms", True, 25e6, None),
    ("read.p99.9>=100us", True, None, None), ("read.mean > 100us", True, (1900 * 110000 + 25e6) / 1901, None), ("read.errors > 2", True, 3, None),
    ("total.errors > +0%", True, 3, 0), ("total.lost > 3", True, 4, None), ("  total.iops\t>=  1000 ", True, 1000, None),
    ("total.iops >= 0.001M", True, 1000, None), ("total.iops < +0%", False, 1000, 1000), ("read.ks >= 1", True, 1, None), ("read.ks > 1", False, 1, None),
    ("write.min < 60us", True, 50000, None),
]
OPS = "read, write, flush, discard, other or total"
METRICS = "iops, mbps, mean, min, max, errors, lost, ks or a percentile such as p99.9"
COMPARISONS = "<, <=, > or >="
LATENCY = "a latency such as 20ms, 300us or 1.5s, or a change such as +10%"
NUMBER = "a number such as 50000 or 50k, or a change such as -5%"
SHARE = "a distance from 0 to 1, such as 0.1"
SIGNED = "a change with its sign, such as +10% or -5%"
# From where on the text is wrong, and what must be there.
WRONG = [
    (" : read.p99 > 1ms", ": read.p99 > 1ms", "the name of a phase before the colon"), ("a:b", "b", OPS), ("", "", OPS),
    ("reed.p99 > 1ms", "reed.p99 > 1ms", OPS), ("read > 1ms", " > 1ms", "a dot and a metric, as in read.p99"), ("read.p101 > 1ms", "p101 > 1ms", METRICS),
    ("read.99 > 1ms", "99 > 1ms", METRICS), ("read.p9,p99 > 1ms", "p9,p99 > 1ms", METRICS), ("read.p99", "", COMPARISONS),
    ("read.p99 = 1ms", "= 1ms", COMPARISONS), ("read.p99 >", "", LATENCY), ("read.p99 >> 1ms", "> 1ms", LATENCY), ("read.p99 > 20", "20", LATENCY),
    ("read.p99 > +10", "+10", LATENCY), ("read.p99 > 20ms beyond noise", "20ms beyond noise", LATENCY),
    ("read.p99 > +10% beyond", "+10% beyond", LATENCY), ("read.p99 > 10%", "10%", SIGNED), ("read.p99 > 10% beyond noise", "10% beyond noise", SIGNED),
    ("read.iops < 5ms", "5ms", NUMBER), ("read.iops > nan", "nan", NUMBER), ("read.ks > +5%", "+5%", SHARE), ("read.ks > 1.01", "1.01", SHARE),
    ("read.errors > +10% beyond noise", None, "'beyond noise' is for rates and latencies; a count of errors can be 0, which has no ratio"),
    ("read.lost > 0", None, "losses are counted for a device, not for an op; write total.lost"),
]


@pytest.fixture(scope="module")
def two(tmp_path_factory):
    """Of 1000 reads of 100 us in 1 s; and of 1900 of 110 us and one of 25 ms in 2 s, with 3 errors, and writes, which the other lacks."""
    folder = tmp_path_factory.mktemp("two")
    return write_recording(BASE, folder / "base.blklat"), write_recording(RUN, folder / "run.blklat")


def judged(files, *texts):
    done = run("compare", "--format", "json", *files, *(word for text in texts for word in ("--fail-if", text)))
    return json.loads(done.stdout)["fail_if"]


def test_what_holds(two):
    for verdict, (text, holds, value, base) in zip(judged(two, *(text for text, *_ in HOLDS)), HOLDS, strict=True):
        assert verdict["holds"] == holds, text
        assert value is None or verdict["value"] == pytest.approx(value, rel=1e-4), text
        assert verdict["base"] == base, text


def test_what_is_said(two):
    said = {"read.min >= +10%": "read.min of sda is 110 us, 10.0 % above the baseline's 100 us (read.min >= +10%)",
            "read.iops<-5%": "read.iops of sda is 950, 4.95 % below the baseline's 1000 (read.iops<-5%)",
            "read.max > 20ms": "read.max of sda is 25.0 ms (read.max > 20ms)",
            "total.errors > +0%": "total.errors of sda is 3, the baseline's 0 (total.errors > +0%)"}
    assert [verdict["text"] for verdict in judged(two, *said)] == list(said.values())


def test_what_may_not_be_written(two):
    for text, at, must in [*WRONG, ("r" * 199, None, "")]:
        shown = text.strip()
        where = "" if at is None else f"at its end {must} is missing" if not at else f"at '{at}', letter {len(shown) - len(at) + 1}, must be {must}"
        one_line(run("compare", *two, "--fail-if", text), 2, f"--fail-if '{shown}': {where or must}" if len(text) < 199 else "--fail-if")


def test_what_cannot_be_judged(two):
    base, run_ = two
    for files, text, why in ((two, "write.p99 > +10%", f"'{base}' has no write IO of sda, so it can't be judged"),
                             ([run_], "flush.p99 > 1ms", f"{run_} has no such IO on a device to compare"),
                             ([run_], "read.p99 > +10%", "there is no baseline to compare with; name two recordings"),
                             ([run_], "read.ks > 0.1", "there is no baseline to compare with; name two recordings")):
        one_line(run("compare", *files, "--fail-if", text), 1, f"--fail-if '{text}': {why}")
