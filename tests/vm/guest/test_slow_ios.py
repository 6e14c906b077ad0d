# SPDX-License-Identifier: GPL-2.0-only
"""
Single slow IOs, on each kernel and by both engines on the same traffic: none is missing, each has its sender. That failed ones have
their error is in test_odd_requests.py.
"""
import load
import pytest
from engines import both
from guest import DEEP, at_least, null_blk
from load import Fio, fio, missing
from skips import ALTERED
from slow import dd, dropped, slow_of

STAGES = "device", "queue", "total"
def telling(devices, slow, stages, *more, most=10000, interval=None):
    args = ("--slow", slow, "--slow-max", str(most), *more)
    return both(*devices, stage=",".join(stages), interval=interval, bpf_args=args, kmod_args=args)


def assert_sent_by(comm, slow):
    """
    A later bio's note may take the place of one that is still needed: 4 places a bio of --max-bios make that rare, not impossible.
    Bios' addresses come again, so two of 32 in flight that share a place may do so each time.
    """
    unknown = sum(io["comm"] is None for io in slow)
    assert {io["comm"] for io in slow} - {None} == {comm} and unknown <= len(slow) // 10, (unknown, len(slow))


def test_by_sender():
    """A large read is split; its pieces have the same sender. Of many IOs at once each is listed once, or counted as dropped."""
    with null_blk(nr_devices=2, irqmode=2, completion_nsec=1000000) as (device, busy):
        device.setting("scheduler", "mq-deadline")
        device.setting("max_sectors_kb", 64)
        with telling((device, busy), "1ms", STAGES) as engines:
            pids = [dd(device, op, 4096, 25, offset=100 * i) for i, op in enumerate(("read", "write", "read"))]
            large = dd(device, "read", 1 << 20, 2, offset=1)
            f = fio(busy, rw="randrw", number_ios=800, **DEEP)
            engines.settle()
    assert_sent_one_by_one(engines, device, pids, large)
    for stage in "device", "total":
        engines.agree(busy, stage)
        for b in engines:
            slow = slow_of(b, busy, stage)
            assert len(slow) + dropped(b, busy, stage) == f.ios("read") + f.ios("write") == 800
            assert_sent_by("fio", slow)


def assert_sent_one_by_one(engines, device, pids, large):
    small = [(pid, 8 * (100 * i + n), 4096) for i, pid in enumerate(pids) for n in range(25)]
    wanted = {"device": small + [(large, 2048 + 128 * n, 65536) for n in range(32)],
              "total": small + [(large, 2048 * (1 + n), 1 << 20) for n in range(2)]}
    for stage, ios in wanted.items():
        for slow in engines.slow(device, stage):
            assert sorted((io["pid"], io["sector"], io["bytes"]) for io in slow) == sorted(ios)
            assert all(io["comm"] == "dd" and not io["kernel_thread"] and io["start_cpu"] is not None for io in slow)
            assert {io["flags"] for io in slow} == {"sync"}
            assert all(io["hw_queue"] is None for io in slow) if stage == "total" else all(io["hw_queue"] == 0 for io in slow)
    for b in engines:
        for io in slow_of(b, device, "total"):
            assert (io["queue_ns"] or 0) + io["device_ns"] < io["latency_ns"]


@pytest.mark.skipif(not at_least(5, 12) or at_least(7, 0),
                    reason="BPF of 5.10 has no compare-and-exchange; from 7.0 on, a note may be missed and an older one found")
def test_notes_that_meet(monkeypatch):
    """Where there are few places for notes, two CPUs often write to one at once. What is told is of one of the IOs, or not known."""
    monkeypatch.setattr(load, "BLKLAT", str(ALTERED / "atomic/blklat"))
    with null_blk(gb=2) as (device,), telling((device,), "1us", ("device",), "--max-bios", "1") as engines:
        options = {"rw": "randread", "size": "1g", "number_ios": 5000, "ioengine": "libaio", "iodepth": 8}
        with Fio(device, **options) as one, Fio(device, offset="1g", **options) as other:
            one.result(), other.result()
        engines.settle()
    for b in engines:
        slow = [io for io in slow_of(b, device) if io["pid"]]
        pids = [{io["pid"] for io in slow if (io["sector"] << 9 >> 30) == half} for half in (0, 1)]
        assert [len(p) for p in pids] == [1, 1] and pids[0] != pids[1], (b is engines.kmod, len(slow), pids)


def test_more_than_the_rings_hold():
    """Nothing is taken from them before the end: what does not fit is counted as dropped, and the bins have all. With --no-owners."""
    # Without the timer, a fast machine completes some within the limit.
    with null_blk(irqmode=2) as (device,), telling((device,), "1us", ("device",), "--no-owners", most=3, interval=300) as engines:
        f = fio(device, rw="randread", number_ios=3500, **DEEP)
    engines.agree(device)
    for b in engines:
        (line,) = b.lines
        assert line["accounting"]["completed"] == f.ios("read") > 3000 and not missing(line["accounting"])
        assert (len(line["slow"]), line["slow_dropped"]) == (3, f.ios("read") - 3)
        assert {(io["pid"], io["comm"], io["cgroup"]) for io in line["slow"]} == {(None, None, None)}
