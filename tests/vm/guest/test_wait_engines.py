# SPDX-License-Identifier: GPL-2.0-only
"""
Stage wait in both engines: with known tags it is known how long an IO has to wait for one. tests/host/test_wait.py compares the
sums with the kernel's own trace, more closely than an emulated clock allows.
"""
from devices import partition
from engines import both
from faulty import null_blks
from guest import DEEP, SINGLE, at_least, null_blk
from load import fio
from tracing import traced_events
from waits import WAITS, sum_ns, waited

STAGES = "device,total,wait"


def assert_waited(engines, device, lines):
    """Each bio waited once, as often as in the trace. Returns the trace's merges."""
    waits, merged = waited(lines)
    a = engines.agree(device, "wait")
    assert a["started"] == a["completed"] == len(waits) == engines.agree(device, "total")["completed"]
    assert engines.totals(engines.kmod, "bytes", device, "wait") == engines.totals(engines.kmod, "bytes", device, "total")
    return merged


def test_tags():
    """Sixteen threads, four tags: at any time four IOs are in the driver, and up to twelve wait for a tag."""
    with null_blk(irqmode=2, completion_nsec=20000000, hw_queue_depth=4, submit_queues=1) as (device,):
        with both(device, stage=STAGES) as e, traced_events(device, *WAITS) as lines:
            fio(device, rw="randread", norandommap=1, numjobs=16, number_ios=30, **SINGLE)
            e.settle()
            seen = lines()
        assert assert_waited(e, device, seen) == 0
        for b in e:
            wait, device_ns, total = (sum_ns(b, device, stage) for stage in ("wait", "device", "total"))
            assert 0.5 < wait / total < 0.8, wait / total
            assert wait + device_ns < total


def test_merged_and_split():
    """What is merged waits no longer. A bio that becomes several requests waits until it has the last of them."""
    with null_blk(nr_devices=2, irqmode=2, completion_nsec=2000000, hw_queue_depth=4) as (merging, splitting):
        merging.setting("scheduler", "mq-deadline")
        with both(merging, splitting, stage=STAGES) as e, traced_events(merging, *WAITS) as lines:
            fio(merging, rw="write", number_ios=400, iodepth_batch_submit=16, **DEEP)
            fio(splitting, rw="randread", bs="512k", number_ios=30, **SINGLE)
            e.settle()
            seen = lines()
        assert assert_waited(e, merging, seen) > 100
        assert e.agree(splitting, "device")["completed"] > 60
        for stage in "total", "wait":
            assert e.agree(splitting, stage)["completed"] == 30
            assert e.totals(e.kmod, "bytes", splitting, stage) == {"read": 30 * 512 * 1024}


def test_partition_and_parts():
    """A partition waits as its disk does. An IO is in the part in which it is at stage total."""
    args = "--by", "depth"
    with null_blks({"irqmode": 2, "completion_nsec": 10000000}) as (disk,), partition(disk, 1, 2 ** 20, 2 ** 26) as part:
        # Before 5.12 a bio does not know its partition.
        watched = (disk, part) if at_least(5, 12) else (disk,)
        with both(*watched, stage="wait", bpf_args=args, kmod_args=args) as e:
            fio(part, rw="randrw", number_ios=200, **DEEP)
            e.settle()
        for device in watched:
            assert e.agree(device, "wait")["completed"] == e.agree(device, "total")["completed"] == 200
            for b in e:
                labels = {line["part"]["label"] for line in b.lines if "part" in line}
                assert len(labels) > 3
                for label in labels:
                    assert b.ops(device, "wait", label) == b.ops(device, "total", label), (device, label)
