# SPDX-License-Identifier: GPL-2.0-only
"""
Every IO is counted, once, under its own name: against fio's totals and the kernel's statistics. Flushes, discards, zeroes,
errors, merged and requeued requests, and partitions are in the guests' tests.
"""
import pytest
from devices import Delta
from load import BURST, Blklat, Unseen, assert_all_counted, assert_closed, completed_before, deep, exact, fio, missing
from recorder import busy

SECTOR = 512


@pytest.mark.parametrize("op,rw,bs", [("read", "randread", 4096), ("write", "randwrite", 65536)])
@exact
def test_one_at_a_time(loop, op, rw, bs):
    stat = Delta(loop)
    with Blklat(loop) as b:
        f = fio(loop, rw=rw, bs=bs, number_ios=10000)
        b.next()
    a = assert_all_counted(b)
    assert b.ops() == {op: f.ios(op)}
    assert b.total("bytes") == f.bytes(op) == f.ios(op) * bs == stat()[f"{op}_sectors"] * SECTOR
    assert b.total("errors") == 0
    assert a["started"] == a["kernel_ios"] == stat()["ios"] == f.ios(op) > 1000


def test_many_in_flight(loop):
    stat = Delta(loop)
    with Unseen() as unseen, Blklat(loop) as b:
        f = fio(loop, **deep(3))
        b.next(n=2)
    a = assert_closed(b)
    assert a["started"] == a["kernel_ios"] == stat()["ios"] == f.ios("read") > BURST
    assert missing(a) == unseen.of(loop)
    assert b.ops() == {"read": f.ios("read") - missing(a)}
    assert b.total("bytes") == b.total("ios") * 4096
    assert f.bytes("read") == stat()["read_sectors"] * SECTOR
    waited = []
    before_s = 0
    for line in b.lines:
        # Little's law, except for the ages of the IOs in flight at either end. Lengths are printed to the microsecond.
        waited.append(sum(o["ios"] * o["latency_ns"]["mean"] for o in line["ops"]) / 1e9)
        length_s = line["interval_s"]
        after_s = line["in_flight"]["ios"] * line["in_flight"]["oldest_ns"] / 1e9
        slack = 0.002 + 1e-6 * waited[-1] / length_s ** 2
        assert waited[-1] - before_s - slack * length_s <= line["queue_depth"] * length_s <= waited[-1] + after_s + slack * length_s
        before_s = after_s
    # fio had IOs in flight all the time, never more than 32; the device has a share of them.
    assert 1 < sum(waited) / f.runtime_s < 32 * 1.01


@pytest.mark.usefixtures("skips")
def test_mixed(loop):
    stat = Delta(loop)
    with Unseen() as unseen, Blklat(loop) as b:
        f = fio(loop, rw="randrw", rwmixread=70, **deep())
        b.next(n=2)
    a = assert_closed(b)
    assert a["started"] == a["kernel_ios"] == stat()["ios"] == f.ios("read") + f.ios("write")
    assert missing(a) == unseen.of(loop)
    ops = b.ops()
    assert ops.keys() == {"read", "write"}
    assert sum(ops.values()) == a["started"] - missing(a)
    for op in ops:
        assert f.ios(op) - missing(a) <= ops[op] <= f.ios(op) == stat()[f"{op}s"]
        assert b.total("bytes", op) == 4096 * ops[op]


def test_start_under_load(loop):
    """What was issued before the capture began is ignored, not lost; from then on all is counted."""
    depth = 32
    with busy(loop, bs="64k", iodepth=depth) as f:
        f.until(lambda: loop.stat()["reads"] > 1000, "load")
        stat = Delta(loop)
        with Unseen() as unseen, Blklat(loop) as b:
            begun = stat()["ios"]
            b.next(n=4)
            f.end()
            b.next(n=2)
    assert 0 <= completed_before(b) <= begun
    a = assert_closed(b, before=completed_before(b))
    # The counter began to watch a moment earlier.
    assert missing(a) <= unseen.of(loop)
    ended = stat()["ios"]
    # The statistics count by completions, and do so from a moment before the programs are attached.
    assert ended - begun - depth <= a["started"] <= a["kernel_ios"] <= ended
    assert a["started"] > depth


def test_full_table(loop):
    """A forced loss is reported: how many and why."""
    with Blklat(loop, stage="total", args=["--max-bios", "4"]) as b:
        f = fio(loop, **deep(1))
        b.next(n=2)
    a = assert_closed(b)
    assert a["started"] == f.ios("read")
    assert a["lost_by"]["table_full"] > 0
    assert a["lost"] >= a["lost_by"]["table_full"]
    assert a["completed"] == b.total("ios") > 0
