# SPDX-License-Identifier: GPL-2.0-only
"""IOs divided by what is in flight when they begin: how many, and the strongest kind. On a device whose writes are held back both are known."""
import contextlib
from collections import Counter

import devices
import pytest
from load import Blklat, Fio, assert_all_counted, exact, fio, wait_until
from parts import BESIDE, DEPTHS, dd, depths_up_to, in_flight, of_op
from slow import slow_of

STAGES = "device", "total"


def watch(*watched, by, args=()):
    return Blklat(*watched, stage=",".join(STAGES), args=["--by", by, *args])


@exact
def test_depths_in_order():
    """40 writes begin while none ends. Then writes come one after the other, and each is the first."""
    with devices.frozen_loop() as (device, freeze, thaw), watch(device, by="depth", args=["--idle-gap", "0.3"]) as b:
        freeze()
        with Fio(device, rw="write", bs=4096, number_ios=40, ioengine="io_uring", iodepth=40) as writes:
            try:
                wait_until(lambda: in_flight(device) == 40, "40 in flight")
                b.next(device, n=2)
                # None has ended, and each is reported in its part.
                for stage in STAGES:
                    assert {part: b.of(device, stage, part)[-1]["in_flight"]["ios"] for part in DEPTHS if b.of(device, stage, part)} == \
                        depths_up_to(40)
            finally:
                thaw()
            assert writes.result().ios("write") == 40
        fio(device, rw="randread", bs=4096, number_ios=500)
        b.next(device, n=2)
    for stage in STAGES:
        assert_all_counted(b, device, stage)
        assert of_op(b, DEPTHS, device, stage, "write") == depths_up_to(40)
        assert of_op(b, DEPTHS, device, stage, "read") == {"1": 500}


@exact
def test_partition_and_disk(partition, loop):
    """Each device has its own depth."""
    with watch(loop, partition, by="depth") as b:
        fio(partition, rw="randread", bs=4096, number_ios=300)
        b.next(loop, n=2)
        b.next(partition, n=2)
    for device in loop, partition:
        for stage in STAGES:
            assert_all_counted(b, device, stage)
            assert of_op(b, DEPTHS, device, stage, "read") == {"1": 300}


@pytest.mark.parametrize("by", ["depth", "beside"])
@exact
def test_company_of_slow_ios(by):
    """Each slow IO has both, whichever of the two divides; the depth is the number, not its class."""
    with devices.frozen_loop() as (device, freeze, thaw), watch(device, by=by, args=["--slow", "1us", "--slow-max", "1000"]) as b:
        freeze()
        with contextlib.ExitStack() as load:
            try:
                for op, size in ("write", 4096), ("read", 4096), ("write", 4096), ("write", 128 * 1024), ("read", 4096), ("write", 4096):
                    load.enter_context(dd(device, op, size))
            finally:
                thaw()
        assert in_flight(device) == 0
        freeze()
        with Fio(device, rw="write", bs=4096, number_ios=40, ioengine="io_uring", iodepth=40) as writes:
            try:
                wait_until(lambda: in_flight(device) == 40, "40 in flight")
            finally:
                thaw()
            assert writes.result().ios("write") == 40
        b.next(device, n=2)
    mixed = [("write", 1, "nothing"), ("read", 2, "write"), ("write", 3, "write"), ("write", 4, "write"), ("read", 5, "big write"),
             ("write", 6, "big write")]
    for stage in STAGES:
        assert_all_counted(b, device, stage)
        told = [(io["op"], io["depth"], io["beside"]) for io in slow_of(b, device, stage)]
        assert sorted(told) == sorted(mixed + [("write", n, "write" if n > 1 else "nothing") for n in range(1, 41)])
        # The part says the same.
        for io in slow_of(b, device, stage):
            low, *high = io["part"]["label"].split("-") if by == "depth" else (None,)
            assert int(low) <= io["depth"] <= int((high or [low])[0]) if low else io["part"]["label"] == io["beside"]
        # And as many are in each part.
        for op in "read", "write":
            listed = Counter(io["part"]["label"] for io in slow_of(b, device, stage) if io["op"] == op)
            assert of_op(b, DEPTHS if by == "depth" else BESIDE, device, stage, op) == listed
