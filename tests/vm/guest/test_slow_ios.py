# SPDX-License-Identifier: GPL-2.0-only
"""Slow IOs by themselves, on each kernel: none missing, each by who sent it; and those that failed, with their reason."""
import errno

from faulty import BAD_SECTORS, MEDIUM_ERROR, scsi_fault
from guest import DEEP, null_blk
from load import assert_all_counted, fio, read_errors
from slow import dd, dropped, slow_of, watch
from stack import SECTOR, scsi_debug

STAGES = "device", "queue", "total"


def test_each_by_its_process():
    with null_blk(irqmode=2, completion_nsec=1000000) as (device,):
        device.setting("scheduler", "mq-deadline")
        with watch(device, "1ms", "--bins", stage=",".join(STAGES)) as b:
            pids = [dd(device, op, 4096, 25, offset=100 * i) for i, op in enumerate(("read", "write", "read"))]
            b.next(device, n=2)
    wanted = sorted((pid, 8 * (100 * i + n)) for i, pid in enumerate(pids) for n in range(25))
    for stage in "device", "total":
        assert_all_counted(b, device, stage)
        slow = slow_of(b, device, stage)
        assert sorted((io["pid"], io["sector"]) for io in slow) == wanted
        assert all(io["comm"] == "dd" and not io["kernel_thread"] and io["bytes"] == 4096 for io in slow)
    for io in slow_of(b, device, "total"):
        assert (io["queue_ns"] or 0) + io["device_ns"] < io["latency_ns"] and io["hw_queue"] is None


def test_of_a_deep_load():
    """Several at once: each that was slow is told once, or counted as one that is not listed."""
    with null_blk(irqmode=2, completion_nsec=200000) as (device,), watch(device, "1us", stage="device,total") as b:
        f = fio(device, rw="randrw", number_ios=4000, **DEEP)
        b.next(device, n=2)
    ios = f.ios("read") + f.ios("write")
    for stage in "device", "total":
        assert_all_counted(b, device, stage)
        slow = slow_of(b, device, stage)
        assert len(slow) + dropped(b, device, stage) == ios
        assert {io["comm"] for io in slow} == {"fio"}


def test_bad_sector():
    """It fails at once, and is told all the same."""
    with scsi_debug() as device, watch(device, "10s", stage="device,total") as b:
        with scsi_fault(MEDIUM_ERROR):
            assert read_errors(device, BAD_SECTORS[0] * SECTOR, 4096) == errno.ENODATA
        assert read_errors(device, 0, 4096) == 0
        b.next(device, n=2)
    for stage in "device", "total":
        assert_all_counted(b, device, stage)
        failed = slow_of(b, device, stage)
        assert len(failed) == b.total("errors", "read", device, stage) == 1
        assert (failed[0]["error"], failed[0]["op"], failed[0]["bytes"]) == ("medium", "read", 4096)
        assert BAD_SECTORS[0] - 8 <= failed[0]["sector"] <= BAD_SECTORS[0]
