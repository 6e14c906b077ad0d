# SPDX-License-Identifier: GPL-2.0-only
"""IOs after a pause: which are counted as such, at every stage, and which are not."""
import contextlib
import os
import time

import devices
import pytest
from bursts import Bursts, after_rests, assert_after_idle, count
from load import Blklat, Fio, assert_closed, deep, exact, fio, missing
from needs import need_zram

BURSTS = 5
REST_S = 0.3
GAP_S = 0.2
LONG_REST_S = 1.3  # for loads that cannot tell when a busy machine held them up, always for less than a second
LONG_GAP_S = 1


def watch(*devs, gap=GAP_S, **options):
    return Blklat(*devs, args=["--bins", "--idle-gap", str(gap)], **options)


def test_deep_bursts(loop):
    """CPUs that issue at the same moment may each find the pause."""
    with watch(loop, gap=LONG_GAP_S) as b:
        for _ in range(BURSTS):
            fio(loop, number_ios=64, **{k: v for k, v in deep().items() if k in ("ioengine", "iodepth")})
            time.sleep(LONG_REST_S)
        b.next()
    assert BURSTS - 1 - missing(assert_closed(b)) <= count(b) <= (BURSTS - 1) * os.cpu_count()


@exact
def test_the_gap_is_the_least_pause(loop):
    """IOs 50 ms apart: none follows a pause of 1 s, all but the first one of 40 ms."""
    for gap, expected in (1, 0), (0.04, 19):
        with Bursts(loop) as bursts, watch(loop, gap=gap) as b:
            for _ in range(20):
                bursts.io("read")
                time.sleep(0.05)
            b.next()
        assert_after_idle(b, bursts.done, gap)  # first: it tells if a completion was not seen
        assert b.ops() == {"read": 20}
        assert len(after_rests(bursts.done, gap)[0]) >= expected


@exact
def test_partition_and_disk(loop):
    """Each device has its own pauses: bursts alternate between the partition and the rest of the disk."""
    mib = devices.MIB
    with devices.partition(loop, 1, mib, 16 * mib) as part, Bursts(part) as in_part, Bursts(loop) as past_it, \
            watch(loop, part, gap=0.4, stage="device,total") as b:
        past_it.at = 32 * mib // 4096
        for _ in range(2 * BURSTS):
            in_part.burst()
            time.sleep(0.25)
            past_it.burst()
            time.sleep(0.25)
        assert b.total("ios", device=loop) or b.next()
        time.sleep(0.5)
        in_part.burst()
        b.next(part, "total", n=2)
    assert len(after_rests(in_part.done, 0.4)[0]) >= 2 * BURSTS
    for stage in "device", "total":
        assert_after_idle(b, in_part.done, 0.4, device=part, stage=stage)
        assert_after_idle(b, sorted(in_part.done + past_it.done, key=lambda io: io[1]), 0.4, device=loop, stage=stage)


@exact
def test_silence_of_a_stall_is_no_pause(frozen):
    """One IO hangs and nothing completes: IOs issued after it follow no pause. The next rest is a pause again."""
    device, freeze, thaw = frozen
    one = {"rw": "randwrite", "ioengine": "libaio", "number_ios": 4, "iodepth": 4}
    with watch(device, stage="device,total", interval=0.2) as b, contextlib.ExitStack() as undo:
        freeze()
        loads = []
        for n in range(1, 4):
            loads.append(undo.enter_context(Fio(device, **one)))
            b.until(lambda: b.lines and b.lines[-1]["in_flight"]["ios"] == 4 * n, "stall")
            time.sleep(2 * GAP_S)
        thaw()
        for f in loads:
            f.result()
        b.next(device, "total", n=2)
        time.sleep(REST_S)
        quiet = time.monotonic()
        with Bursts(device) as bursts:
            bursts.burst("read")
        b.next(device, "total", n=2)
    for stage in "device", "total":
        assert b.total("ios", "write", stage=stage) == 12
        assert count(b, "write", stage=stage) == 0
        # The last write was over before the rest.
        assert_after_idle(b, [("write", quiet - REST_S, quiet - REST_S), *bursts.done], GAP_S, stage=stage)


@pytest.mark.parametrize("stage", ["device", "total"])
@exact
def test_another_device_goes_away(loop, stage):
    """The others' last use is still known."""
    need_zram()
    with devices.removable_zram() as (zram, remove), Bursts(loop) as bursts, \
            watch(loop, zram, stage=None if stage == "device" else stage, interval=0.2) as b:
        bursts.burst()
        time.sleep(REST_S)
        remove()
        b.until(lambda: "went away" in b.stderr, "notice")
        b.next(loop)
        for _ in range(2):
            bursts.burst()
            time.sleep(REST_S)
        b.next(loop, n=2)
    assert_after_idle(b, bursts.done, GAP_S, device=loop)
    assert len(after_rests(bursts.done, GAP_S)[0]) >= 2
