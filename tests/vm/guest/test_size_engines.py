# SPDX-License-Identifier: GPL-2.0-only
"""
IOs divided by size: three fios of different block sizes run at once and make three parts. Both engines and fio agree on the IOs and bytes
of each.
"""
import contextlib

from devices import Delta, partition, zram
from engines import both, histogram
from faulty import null_blks, traced
from guest import DEEP, SINGLE, at_least, has_module, module, null_blk, nvme
from sizes import BY_SIZE, LABELS, assert_parts, at_once, done_by, parts_of
from stack import file_loop, scsi_debug

SIZES = 4096, 16384, 131072
TIMER = {"irqmode": 2, "completion_nsec": 100000}
MERGED = 1000


def divided(*devices, stages, more=()):
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


def three_at_once(device, whole=None, **load):
    """@whole: the disk that a partition is on."""
    # Requests may be limited to less.
    limit = int((whole or device).setting("max_sectors_kb")) * 1024
    done = done_by(at_once(device, *(min(size, limit // 4096 * 4096) for size in SIZES), **load))
    assert len(done) == 3 and all(ops.keys() == {"read", "write"} for ops in done.values())
    return done


def test_requests():
    """
    Many devices in one session, one of which has a scheduler that merges nothing: each request is as large in the queue as
    on the device. A partition's IOs are in the same part of its disk's.
    """
    with null_blks(TIMER, TIMER, {}) as (null, queued, disk), partition(disk, 1, 2 ** 20, 2 ** 26) as part, \
            file_loop() as loop, contextlib.ExitStack() as made:
        queued.setting("scheduler", "mq-deadline")
        queued.setting("nomerges", 2)
        loads = {null: DEEP, queued: DEEP, nvme(): DEEP, loop: SINGLE}
        if has_module("scsi_debug"):
            loads[made.enter_context(scsi_debug(ndelay=20000))] = DEEP
        # Before 5.12 a bio does not know its partition.
        stages = ("device", "queue", "total") if at_least(5, 12) else ("device", "queue")
        with divided(*loads, part, disk, stages=stages) as engines:
            done = {device: three_at_once(device, number_ios=150, **load) for device, load in loads.items()}
            done[part] = done[disk] = three_at_once(part, disk, number_ios=150, **SINGLE)
            engines.settle()
    for device, parts in done.items():
        for stage in stages:
            if stage != "queue" or device is queued:
                assert_divided(engines, parts, device, stage)


def test_bios():
    """While pauses are looked for, too. A flush has no bytes, so it is in the first part; writes of all sizes are in theirs."""
    with module("zram", num_devices=0), zram() as ram, file_loop() as loop, \
            divided(ram, loop, stages=("total",), more=("--idle-gap", "0.05")) as engines:
        done = three_at_once(ram, number_ios=150, **SINGLE)
        results = at_once(loop, 16384, 65536, rw="randwrite", rate_iops=40, number_ios=60, fsync=4, **SINGLE)
        engines.settle()
    assert_divided(engines, done, ram, "total")
    flushes = sum(f.job["sync"]["total_ios"] for f in results.values())
    assert flushes >= 24
    assert_divided(engines, done_by(results) | {"4 KiB": {"flush": (flushes, 0)}}, loop, "total")


def test_merged_and_flushed():
    """
    Requests that grow while they wait: at the device both engines see each at the size at which the kernel issued it. A flush
    is a request of the first part; two that are requested at once may share one.
    """
    stages = "device", "queue", "total"
    with null_blk(scheduler="mq-deadline", irqmode=2, completion_nsec=2000000, hw_queue_depth=4) as (device,), file_loop() as loop, \
            traced(device, "issue", "insert") as count:
        stat = Delta(loop)
        with divided(device, loop, stages=stages) as engines:
            merged = at_once(device, 4096, rw="write", blockalign=4096, number_ios=MERGED, iodepth_batch_submit=16, **DEEP)
            flushed = at_once(loop, 16384, 65536, rw="randwrite", number_ios=60, fsync=4, **SINGLE)
            engines.settle()
        issued, flushes = count()["issue"], stat()["flushes"]
    assert issued < MERGED
    for stage in stages:
        engines.agree(device, stage)
        bpf, kmod = (parts_of(b, device, stage) for b in engines)
        assert bpf == kmod, stage
    assert parts_of(engines.kmod, device, "total") == done_by(merged)
    at_device = parts_of(engines.kmod, device, "device")
    assert len(at_device) > 1 and sum(ops["write"][0] for ops in at_device.values()) == issued
    assert sum(ops["write"][1] for ops in at_device.values()) == MERGED * 4096
    assert flushes > 10
    assert_divided(engines, done_by(flushed) | {"4 KiB": {"flush": (flushes, 0)}}, loop, "device")
