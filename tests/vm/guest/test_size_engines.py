# SPDX-License-Identifier: GPL-2.0-only
"""
IOs divided by size: three fios of different block sizes run at once and make three parts. Both engines and fio agree on the IOs and bytes
of each.
"""
import pytest
from devices import Delta, partition, zram
from engines import both, histogram
from faulty import traced
from guest import DEEP, SINGLE, at_least, module, null_blk, nvme
from sizes import BY_SIZE, LABELS, assert_parts, at_once, done_by, parts_of
from stack import file_loop, scsi_debug

SIZES = 4096, 16384, 131072
STAGES = "device", "total"


def divided(*devices, stages=STAGES, more=()):
    return both(*devices, stage=",".join(stages), bpf_args=(*BY_SIZE, *more), kmod_args=(*BY_SIZE, *more))


def assert_divided(engines, wanted, device, stage):
    """Both engines have these parts and their whole; the bins add up to the whole's, too."""
    engines.agree(device, stage)
    for b in engines:
        assert_parts(b, wanted, device, stage)
        for op in b.ops(device, stage):
            added = {}
            for part in LABELS:
                for bin, n in histogram(b, op, device, stage, part).items():
                    added[bin] = added.get(bin, 0) + n
            assert added == histogram(b, op, device, stage)


def three_at_once(device, stages=STAGES, more=(), **load):
    # Requests may be limited to less.
    limit = int(device.setting("max_sectors_kb")) * 1024
    with divided(device, stages=stages, more=more) as engines:
        results = at_once(device, *(min(size, limit // 4096 * 4096) for size in SIZES), **load)
        engines.settle()
    done = done_by(results)
    assert len(done) == 3 and all(ops.keys() == {"read", "write"} for ops in done.values())
    for stage in stages:
        assert_divided(engines, done, device, stage)
    return engines


@pytest.mark.parametrize("load", [SINGLE | {"number_ios": 400}, DEEP | {"number_ios": 800}], ids=["single", "deep"])
def test_null_blk(load):
    with null_blk(irqmode=2, completion_nsec=100000) as (device,):
        three_at_once(device, **load)


def test_idle_gap():
    """While pauses are looked for, too."""
    with null_blk() as (device,):
        three_at_once(device, more=("--idle-gap", "0.05"), rate_iops=40, number_ios=60, **SINGLE)


def test_scheduler():
    """Nothing is merged, so each request is as large in the queue as on the device."""
    with null_blk(scheduler="mq-deadline", irqmode=2, completion_nsec=100000) as (device,):
        device.setting("nomerges", 2)
        three_at_once(device, stages=("device", "queue", "total"), number_ios=500, **DEEP)


def test_scsi_debug():
    with scsi_debug(ndelay=20000) as device:
        three_at_once(device, number_ios=400, **DEEP)


def test_nvme():
    three_at_once(nvme(), number_ios=400, **DEEP)


def test_loop():
    with file_loop() as device:
        three_at_once(device, number_ios=300, **SINGLE)


def test_zram():
    """Bios only."""
    with module("zram", num_devices=0), zram() as device, divided(device, stages=("total",)) as engines:
        results = at_once(device, *SIZES, number_ios=300, **SINGLE)
        engines.settle()
        assert_divided(engines, done_by(results), device, "total")


def test_partition():
    """IOs of the partition are in the same part of the disk's; before 5.12 a bio does not know its partition."""
    stages = STAGES if at_least(5, 12) else ("device",)
    with null_blk() as (disk,), partition(disk, 1, 2 ** 20, 2 ** 26) as part:
        with divided(part, disk, stages=stages) as engines:
            done = done_by(at_once(part, 4096, 65536, number_ios=300, **SINGLE))
            for b in engines:
                b.next(n=4)
        for device in part, disk:
            for stage in stages:
                assert_divided(engines, done, device, stage)


def test_flush():
    """A flush has no bytes, so it is in the first part; writes of all sizes are in theirs."""
    with file_loop() as device:
        stat = Delta(device)
        with divided(device) as engines:
            results = at_once(device, 16384, 65536, rw="randwrite", number_ios=100, fsync=4, **SINGLE)
            engines.settle()
        flushes = stat()["flushes"]
    assert flushes > 40
    for stage in STAGES:
        engines.agree(device, stage)
        for b in engines:
            found = parts_of(b, device, stage)
            # Two flushes requested at once may share a request; each is a bio.
            of_first = found.pop("4 KiB")
            assert of_first.keys() == {"flush"} and of_first["flush"][1] == 0
            assert of_first["flush"][0] == (flushes if stage == "device" else sum(f.job["sync"]["total_ios"] for f in results.values()))
            assert found == done_by(results)


def test_merged():
    """Requests that grow while they wait: at the device both engines see each at the size at which the kernel issued it."""
    with null_blk(scheduler="mq-deadline", irqmode=2, completion_nsec=2000000, hw_queue_depth=4) as (device,), \
            traced(device, "issue", "insert") as count:
        with divided(device, stages=("device", "queue", "total")) as engines:
            results = at_once(device, 4096, rw="write", blockalign=4096, number_ios=2000, iodepth_batch_submit=16, **DEEP)
            engines.settle()
        issued = count()["issue"]
    assert issued < 2000
    for stage in "device", "queue", "total":
        engines.agree(device, stage)
        bpf, kmod = (parts_of(b, device, stage) for b in engines)
        assert bpf == kmod, stage
    assert parts_of(engines.kmod, device, "total") == done_by(results)
    at_device = parts_of(engines.kmod, device, "device")
    assert len(at_device) > 1 and sum(ops["write"][0] for ops in at_device.values()) == issued
    assert sum(ops["write"][1] for ops in at_device.values()) == 2000 * 4096
