# SPDX-License-Identifier: GPL-2.0-only
"""IOs after a pause: which are counted as such, at every stage, and which are not."""
import contextlib
import os
import time

import devices
import pytest
from bursts import BURST, Bursts, after_idle, count
from load import DEADLINE_S, Blklat, Fio, Text, assert_closed, deep, exact, fio

BURSTS = 5
REST_S = 0.3
GAP_S = 0.2  # a busy machine holds a load up now and then, but not by so much


def watch(*devs, gap=GAP_S, **options):
    return Blklat(*devs, args=["--bins", "--idle-gap", str(gap)], **options)


@pytest.mark.parametrize("kind,stage", [("loop", "device"), ("loop", "total"), ("loop", "device,queue,total"),
                                        ("deadline_loop", "device,queue,total"), ("zram", "total")])
@exact
def test_first_of_each_burst(kind, stage, request):
    """Of what came before the first nothing is known; then one a burst, with its latency, whatever its op."""
    device = request.getfixturevalue(kind)
    with Bursts(device) as bursts, watch(device, stage=stage) as b:
        for i in range(2 * BURSTS):
            bursts.burst("write" if i % 2 else "read")
            time.sleep(REST_S)
        b.next()
    for one in stage.split(","):
        assert_closed(b, stage=one)
        if one == "queue":
            assert count(b, "read", stage=one) == count(b, "write", stage=one) == 0
            continue
        assert b.ops(stage=one) == {"read": BURST * BURSTS, "write": BURST * BURSTS}
        for op, waits in ("read", bursts.first_s[2::2]), ("write", bursts.first_s[1::2]):
            ios, bins, sum_ns = after_idle(b, op, stage=one)
            assert ios == len(waits)
            # As measured from outside they took a little longer, each and all.
            assert 0 < sum_ns <= sum(waits) * 1e9
            assert max(lower for lower, _, _ in bins) < max(waits) * 1e9


@exact
def test_fio_thinks(loop):
    with watch(loop) as b:
        fio(loop, number_ios=60, thinktime=int(REST_S * 1e6), thinktime_blocks=10, randrepeat=0)
        b.next()
    assert b.ops() == {"read": 60}
    assert count(b) == 5


def test_deep_bursts(loop):
    """CPUs that issue at the same moment may each find the pause."""
    with watch(loop) as b:
        for _ in range(BURSTS):
            fio(loop, number_ios=64, **{k: v for k, v in deep().items() if k in ("ioengine", "iodepth")})
            time.sleep(REST_S)
        b.next()
    assert BURSTS - 1 <= count(b) <= (BURSTS - 1) * os.cpu_count()


@exact
def test_the_gap_is_the_least_pause(loop):
    """IOs 50 ms apart, within what a machine may oversleep: none follows a pause of 1 s, all but the first one of 40 ms."""
    for gap, expected in (1, 0), (0.04, 19):
        with Bursts(loop) as bursts, watch(loop, gap=gap) as b:
            for _ in range(20):
                bursts.io("read")
                time.sleep(0.05)
            b.next()
        assert (b.ops(), count(b)) == ({"read": 20}, expected)


@pytest.mark.parametrize("stage", ["device", "total"])
@pytest.mark.parametrize("load", [{"time_based": 1, "runtime": 2}, deep(2)], ids=["one", "deep"])
def test_none_under_load(loop, load, stage):
    with watch(loop, gap=1, stage=stage) as b:
        fio(loop, **load)
        b.next()
    assert b.total("ios") > 1000
    assert count(b) == 0


def test_not_asked_for(loop):
    with Bursts(loop) as bursts, Blklat(loop) as b:
        for _ in range(2):
            bursts.burst()
            time.sleep(REST_S)
        b.next()
    assert all("after_idle" not in o for l in b.lines for o in l["ops"])


@pytest.mark.parametrize("stage", ["device", "total"])
def test_partition_and_disk(loop, stage):
    """Each has pauses of its own: bursts go in turns to the partition and past it."""
    mib = devices.MIB
    with devices.partition(loop, 1, mib, 16 * mib) as part, Bursts(part) as in_part, Bursts(loop) as past_it, \
            watch(loop, part, gap=0.4, stage=stage) as b:
        past_it.at = 32 * mib // 4096
        for _ in range(2 * BURSTS):
            in_part.burst()
            time.sleep(0.25)
            past_it.burst()
            time.sleep(0.25)
        assert b.total("ios", device=loop) or b.next()
        time.sleep(0.5)
        in_part.burst()
        b.next(n=2)
    assert count(b, device=part) == 2 * BURSTS
    assert count(b, device=loop) == 1


@pytest.mark.parametrize("stage", ["device", "total"])
def test_silence_of_a_stall_is_no_pause(frozen, stage):
    """One IO hangs and nothing is heard: those issued behind it follow no pause. The next rest is one again."""
    device, freeze, thaw = frozen
    one = {"rw": "randwrite", "ioengine": "libaio", "number_ios": 4, "iodepth": 4}
    with watch(device, stage=stage, interval=0.2) as b, contextlib.ExitStack() as undo:
        freeze()
        loads = []
        for n in range(1, 4):
            loads.append(undo.enter_context(Fio(device, **one)))
            b.until(lambda: b.lines and b.lines[-1]["in_flight"]["ios"] == 4 * n, "stall")
            time.sleep(2 * GAP_S)
        thaw()
        for f in loads:
            f.result()
        b.next(n=2)
        assert b.total("ios", "write") == 12
        assert count(b, "write") == 0
        time.sleep(REST_S)
        with Bursts(device) as bursts:
            bursts.burst("read")
        b.next(n=2)
        assert (count(b, "write"), count(b, "read")) == (0, 1)


@pytest.mark.parametrize("stage", ["device", "total"])
def test_another_device_goes_away(loop, removable_zram, stage):
    """The table of devices is written anew: at worst it is not known when the others were in use."""
    zram, remove = removable_zram
    with Bursts(loop) as bursts, watch(loop, zram, stage=None if stage == "device" else stage, interval=0.2) as b:
        bursts.burst()
        time.sleep(REST_S)
        remove()
        b.until(lambda: "went away" in b.stderr, "notice")
        b.next(loop)
        bursts.burst()
        b.next(loop)
        known = count(b, device=loop)
        assert known == (0 if stage == "device" else 1)
        time.sleep(REST_S)
        bursts.burst()
        b.next(loop, n=2)
    assert count(b, device=loop) == known + 1


def test_summary_tells(loop):
    with Text(loop, "--idle-gap", str(GAP_S), "--duration", "1.5") as t, Bursts(loop) as bursts:
        t.until(lambda: t.text.count("queue depth") or t.text.count("no IO"), "interval")
        for _ in range(3):
            bursts.burst()
            time.sleep(REST_S)
        assert t.process.wait(DEADLINE_S) == 0
    assert " after 200 ms of rest or more: mean " in t.text
