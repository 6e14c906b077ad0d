# SPDX-License-Identifier: GPL-2.0-only
"""Both engines at once on stacked devices, on partitions, and on several devices in one session."""
import contextlib

import pytest
from devices import Delta, partition, zram
from engines import histogram, quantile
from guest import DEEP, SINGLE, at_least, module, null_blk, nvme
from jitter import assert_histograms_agree, assert_sums_are_bins
from load import Fio
from stack import Traffic, assert_seen, assert_told, dm, md, multipath, scsi_debug, traffic, watch

MIXED = [SINGLE | {"rw": "randrw", "number_ios": 500}, DEEP | {"rw": "randrw", "number_ios": 1000}]
MS = 1000000


def assert_agree(e, *pairs):
    for device, stage in pairs:
        assert_histograms_agree(e, device, stage)
        assert_sums_are_bins(e, device, stage)


def test_dm_linear():
    with null_blk() as (below,), dm("linear", below) as top:
        stats = Delta(below), Delta(top)
        with watch(top, below) as e:
            done = traffic(top, *MIXED)
            e.settle()
        for stat in stats:
            assert_told(stat, done)
    assert_seen(e, top, "total", done)
    assert assert_seen(e, below, "device", done)["kernel_ios"] == done.ios
    assert_agree(e, (top, "total"), (below, "device"))


def test_dm_delay():
    """
    Only the upper device has the delay. It is measured in ticks, and ignores those that an emulated CPU missed when it
    began: whole batches then end sooner.
    """
    delay_ms = 100
    with null_blk() as (below,), dm("delay", below, delay_ms) as top:
        stats = Delta(below), Delta(top)
        with watch(top, below) as e:
            done = traffic(top, DEEP | {"rw": "randrw", "number_ios": 320})
            e.settle()
        for stat in stats:
            assert_told(stat, done)
    assert_seen(e, top, "total", done)
    assert assert_seen(e, below, "device", done)["kernel_ios"] == done.ios
    for b in e:
        for op in "read", "write":
            assert quantile(histogram(b, op, top), 0.25) >= delay_ms * MS / 2
            assert quantile(histogram(b, op, below), 0.5) < delay_ms * MS / 10
    assert_agree(e, (top, "total"), (below, "device"))


def members(e, *stats):
    """Checks each member's IOs against its statistics; returns those of all members together, by op."""
    total = {}
    for stat in stats:
        told = stat()
        a = e.agree(stat.device, "device")
        seen = e.kmod.ops(stat.device, "device")
        assert seen == {k: v for k, v in (("read", told["reads"]), ("write", told["writes"])) if v}
        assert a["started"] == a["kernel_ios"] == told["ios"]
        for op, n in seen.items():
            total[op] = total.get(op, 0) + n
    return total


def test_raid0():
    """Each IO goes to one member, but one of two chunks goes to both."""
    chunks = SINGLE | {"rw": "write", "bs": "128k", "number_ios": 100}
    with null_blk(nr_devices=2) as below, md(0, *below) as top:
        stats = [Delta(device) for device in below]
        with watch(top, *below) as e:
            done = traffic(top, *MIXED)
            long = traffic(top, chunks)
            e.settle()
        total = members(e, *stats)
    assert total == {"read": done.ops["read"], "write": done.ops["write"] + 2 * 100}
    assert_seen(e, top, "total", done + long)
    assert all(e.kmod.ops(device, "device")["write"] > 100 for device in below)
    assert_agree(e, (top, "total"), *((device, "device") for device in below))


def test_raid1():
    """A write goes to every member, a read to one."""
    with null_blk(nr_devices=2) as below, md(1, *below) as top:
        stats = [Delta(device) for device in below]
        with watch(top, *below) as e:
            done = traffic(top, *MIXED)
            e.settle()
        total = members(e, *stats)
    assert_seen(e, top, "total", done)
    assert total == {"read": done.ops["read"], "write": 2 * done.ops["write"]}
    for device in below:
        assert e.kmod.ops(device, "device")["write"] == done.ops["write"]
    assert_agree(e, (top, "total"), *((device, "device") for device in below))


@pytest.mark.parametrize("stage", ["device", "total"])
def test_partition(stage):
    """A partition's IOs are the disk's too."""
    if stage == "total" and not at_least(5, 12):
        pytest.skip("before 5.12 a bio that ends does not know its partition any more; blklat says so")
    with null_blk() as (disk,), partition(disk, 1, 2 ** 20, 2 ** 25) as part:
        stats = Delta(disk), Delta(part)
        with watch(disk, part, stage=stage) as e:
            inside = traffic(part, *MIXED)
            outside = traffic(disk, SINGLE | {"rw": "randread", "number_ios": 300, "offset": "64m"})
            e.settle()
        for stat, done in zip(stats, (inside + outside, inside)):
            assert_told(stat, done)
    for device, done in (disk, inside + outside), (part, inside):
        a = assert_seen(e, device, stage, done)
        assert a["kernel_ios"] == (done.ios if stage == "device" else None)
        assert_agree(e, (device, stage))


def test_stages():
    """With a scheduler each request is inserted, then issued."""
    stages = "device", "queue", "total"
    with null_blk(scheduler="mq-deadline") as (device,):
        device.setting("nomerges", 2)
        stat = Delta(device)
        with watch(device, stage=",".join(stages)) as e:
            done = traffic(device, *MIXED)
            e.settle()
        assert_told(stat, done)
    for stage in stages:
        assert_seen(e, device, stage, done)
    assert e.kmod.accounting(device, "device")["kernel_ios"] == done.ios
    assert_agree(e, *((device, stage) for stage in stages))


def test_merges():
    """Merged IOs are separate bios, but share a request."""
    merging = DEEP | {"rw": "write", "number_ios": 1000, "iodepth_batch": 8, "iodepth_batch_complete_min": 8}
    with null_blk(scheduler="mq-deadline") as (device,):
        stat = Delta(device)
        with watch(device, stage="device,queue,total") as e:
            done = traffic(device, merging)
            e.settle()
        s = stat()
    assert_seen(e, device, "total", done)
    assert s["write_merges"] > 0
    done.add("write", -s["write_merges"], 0)
    for stage in "device", "queue":
        assert_seen(e, device, stage, done)
    assert e.kmod.accounting(device, "device")["kernel_ios"] == s["ios"] == done.ios


def test_several():
    """Devices of several kinds in one session, busy at the same time."""
    with null_blk(nr_devices=2, irqmode=2) as nulls, scsi_debug() as disk, module("zram", num_devices=0), \
            zram() as ram:
        devices = [*nulls, disk, ram, nvme()]
        stats = [Delta(device) for device in devices]
        with watch(*devices) as e:
            with contextlib.ExitStack() as undo:
                loads = [undo.enter_context(Fio(d, rw="randrw", thread=1, number_ios=500 + 10 * i, **DEEP))
                         for i, d in enumerate(devices)]
                done = [Traffic(load.result()) for load in loads]
            e.settle()
        for i, (device, stat) in enumerate(zip(devices, stats)):
            assert_told(stat, done[i])
            a = assert_seen(e, device, None, done[i])
            assert a["kernel_ios"] == done[i].ios == 500 + 10 * i
            assert_agree(e, (device, None))


def test_nvme_multipath():
    """The multipath head has the bios, its paths have the requests."""
    with multipath() as head:
        with watch(head) as e:
            done = traffic(head, SINGLE | {"rw": "randrw", "number_ios": 400, "fsync": 8}, MIXED[1])
            e.settle()
        assert {line["stage"] for b in e for line in b.lines} == {"total"}
        assert done.ops["flush"] > 0
        assert_seen(e, head, "total", done)
        assert_agree(e, (head, "total"))
