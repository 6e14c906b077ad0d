# SPDX-License-Identifier: GPL-2.0-only
"""Latencies are true: against a witness that measures around and within, and against fio."""
import time

import pytest
from load import (BIN, DEADLINE_S, Blklat, Witness, assert_all_counted, assert_closed, exact, fio, missing)

PERCENTILES = {"p50": 0.5, "p90": 0.9, "p99": 0.99, "p99.9": 0.999}
# What the programs between the two may cost. On a slower machine each IO takes longer, too.
PROGRAMS_NS = 5000
PROGRAMS_SHARE = 0.05


def one_interval(device, **options):
    """A load within one long interval of blklat, surrounded by the witness. All three results."""
    with Witness(device) as witness, Blklat(device, interval=3600) as b:
        witness.surround()
        f = fio(device, **options)
        assert b.stop() == 0, b.stderr
        outer, inner = witness.finish()
    assert len(b.lines) == 1
    return b, f, outer, inner


@pytest.mark.parametrize("load", [
    pytest.param({"rw": "randread", "bs": "512k", "io_size": "1g"}, id="qd1"),
    pytest.param({"rw": "randread", "bs": "64k", "io_size": "1g", "ioengine": "io_uring", "iodepth": 32}, id="qd32"),
])
@pytest.mark.usefixtures("witness_program")
def test_against_witness(loop, load):
    b, f, outer, inner = one_interval(loop, **load)
    a = assert_closed(b)

    # The same IOs: what the witness does not see complete, blklat says to be missing.
    assert a["started"] == outer.issues == inner.issues == f.ios("read") >= 2048
    assert a["completed"] == outer.completions == inner.completions
    assert missing(a) == outer.issues - outer.completions == inner.issues - inner.completions
    assert b.total("bytes") == outer.bytes == inner.bytes
    assert outer.unmatched == inner.unmatched == 0

    # Each IO's latency lies between its inner and its outer one, whatever came in between; so do
    # the extremes, to the nanosecond, and every quantile but for the width of its bin.
    latency = b.lines[-1]["ops"][0]["latency_ns"]
    assert inner.min <= latency["min"] <= outer.min
    assert inner.max <= latency["max"] <= outer.max
    for name, q in PERCENTILES.items():
        assert inner.range(q)[0] / BIN <= latency[name] <= outer.range(q)[1] * BIN, name

    # That says something: where most IOs are, the two are close together.
    for q in (0.5, 0.9):
        low, high = inner.range(q)[0], outer.range(q)[1]
        assert high <= max(low * (1 + PROGRAMS_SHARE), low + PROGRAMS_NS), q
    print({n: (inner.range(q)[0], latency[n], outer.range(q)[1]) for n, q in PERCENTILES.items()},
          (inner.min, latency["min"], outer.min), (inner.max, latency["max"], outer.max))


@exact
def run_total(loop, kind, **engine):
    """One IO at a time. Returns blklat's and fio's medians, after what holds on any machine."""
    with Blklat(loop, stage="total", interval=3600) as b:
        f = fio(loop, number_ios=5000, nice=-15, **engine)
    a = assert_all_counted(b)
    assert a["started"] == a["completed"] == f.ios("read")
    latency = b.lines[-1]["ops"][0]["latency_ns"]
    # fio's clock starts before the bio is made and stops after fio saw its end.
    assert latency["mean"] <= f.mean_ns("read", kind)
    for p in (50, 90, 99):
        # fio gives the middle of a bin of 1/64 octave or wider.
        assert latency[f"p{p}"] <= f.clat_ns("read", p, kind) * BIN
    return latency["p50"], f.clat_ns("read", 50, kind)


def test_total_is_not_above_fio(loop):
    """A thread sleeps until its IO ends. How late it wakes depends on the machine, so only the bound is tested."""
    run_total(loop, "clat_ns", ioengine="psync")


def test_total_against_fio(loop):
    """
    fio polls for the end, so no wake-up is included, and measures from submission on. blklat is not above its figure, and
    hardly below: by the time of the same IO without a device, or a small share. A busy machine can take the CPU away, so
    not every run meets that, but one must.
    """
    polling = {"ioengine": "io_uring", "iodepth": 1, "iodepth_batch_complete_min": 0, "lat_percentiles": 1}
    runs = []
    deadline = time.monotonic() + DEADLINE_S
    while len(runs) < 5 or time.monotonic() < deadline:
        in_memory = fio(loop, filename=loop.file, direct=0, number_ios=5000, nice=-15, **polling)
        without = in_memory.clat_ns("read", 50, "lat_ns")
        runs.append((*run_total(loop, "lat_ns", **polling), without))
        ours, fios, _ = runs[-1]
        if fios - ours <= max(0.15 * fios, without):
            return
    raise AssertionError(f"medians of blklat, of fio, and of fio without a device: {runs}")
