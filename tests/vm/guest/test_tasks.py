# SPDX-License-Identifier: GPL-2.0-only
"""
More tasks than CPUs submit at once. Where tracepoints can be preempted, a task may be preempted inside a BPF program,
and the kernel then skips that program for others. Still nothing may be missing, at any stage, on any device: bpf has
to agree with kmod and fio, which skip nothing.
"""
import os

import pytest
from devices import Delta, zram
from guest import module, null_blk, nvme, virtio
from jitter import assert_sums_are_bins
from stack import dm, file_loop, md, scsi_debug, traffic, watch

TASKS = {"ioengine": "libaio", "iodepth": 64, "numjobs": 3, "rw": "randrw", "bssplit": "4k/60:16k/30:64k/10",
         "norandommap": 1, "number_ios": int(os.environ.get("BLKLAT_TASK_IOS", 2000))}
REQUESTS = ("device", "queue", "total")
BIOS = ("total",)


def assert_nothing_missed(device, stages):
    """Bios equal fio's IOs, requests those of the kernel's statistics, as a scheduler merges some."""
    stat = Delta(device)
    with watch(device, stage=",".join(stages)) as e:
        done = traffic(device, TASKS)
        e.settle()
    for stage in stages:
        a = e.agree(device, stage)
        assert_sums_are_bins(e, device, stage)
        if stage == "total":
            assert e.kmod.ops(device, stage) == done.ops
            assert e.totals(e.kmod, "bytes", device, stage) == done.bytes
        if stage == "device":
            assert a["completed"] == a["kernel_ios"] == stat()["ios"]
            assert sum(e.totals(e.kmod, "bytes", device, stage).values()) == sum(done.bytes.values())


@pytest.mark.parametrize("irqmode", [0, 1, 2])
@pytest.mark.parametrize("scheduler", ["none", "mq-deadline"])
def test_null_blk(irqmode, scheduler):
    with null_blk(scheduler, irqmode=irqmode) as (device,):
        assert_nothing_missed(device, REQUESTS)


@pytest.mark.parametrize("scheduler", ["none", "mq-deadline"])
def test_null_blk_for_another_cpu(scheduler):
    """IOs complete on the CPU that submitted them: if they are issued elsewhere, in an interrupt on top of a completion."""
    with null_blk(scheduler, irqmode=1) as (device,):
        device.setting("rq_affinity", 2)
        assert_nothing_missed(device, REQUESTS)


def test_several_null_blk():
    """The interrupts of one device come on top of another's programs."""
    with null_blk(irqmode=2, nr_devices=3) as devices:
        for device in devices:
            assert_nothing_missed(device, REQUESTS)


def test_loop():
    with file_loop() as device:
        assert_nothing_missed(device, REQUESTS)


@pytest.mark.parametrize("disk", [nvme, virtio])
def test_disk(disk):
    assert_nothing_missed(disk(), REQUESTS)


def test_scsi_debug():
    with scsi_debug(ndelay=20000) as device:
        assert_nothing_missed(device, REQUESTS)


def test_zram():
    with module("zram", num_devices=0), zram() as device:
        assert_nothing_missed(device, BIOS)


def test_dm():
    with null_blk(irqmode=2) as (member,), dm("linear", member) as device:
        assert_nothing_missed(device, BIOS)


@pytest.mark.parametrize("level", [0, 1])
def test_md(level):
    with null_blk(irqmode=2, nr_devices=2) as members, md(level, *members) as device:
        assert_nothing_missed(device, BIOS)
