# SPDX-License-Identifier: GPL-2.0-only
"""IOs divided by how many are in flight when they begin. More of it is in tests/vm/guest/test_by_engines.py."""
import devices
from load import Blklat, Fio, assert_all_counted, exact, fio, wait_until
from parts import DEPTHS, depths_up_to, of_op

STAGES = "device", "total"


def in_flight(device):
    return sum(map(int, (device.sysfs / "inflight").read_text().split()))


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
