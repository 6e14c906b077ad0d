# SPDX-License-Identifier: GPL-2.0-only
"""
More tasks than CPUs submit at once. Where tracepoints can be preempted, a task may be preempted inside a BPF program,
and the kernel then skips that program for others. Still nothing may be missing, at any stage, on any device: bpf has
to agree with kmod and fio, which skip nothing.
"""
import contextlib
import os

import pytest
from devices import Delta, zram
from engines import both
from faulty import null_blks
from guest import at_least, has_module, module, null_blk, nvme, virtio
from jitter import assert_sums_are_bins
from stack import dm, file_loop, md, scsi_debug, traffic

# Older kernels preempt no tracepoint; there only an interrupt comes on top of a program.
IOS = os.environ.get("BLKLAT_TASK_IOS", 1000 if at_least(7, 0) else 400)
TASKS = {"ioengine": "libaio", "iodepth": 64, "numjobs": 3, "rw": "randrw", "bssplit": "4k/60:16k/30:64k/10",
         "norandommap": 1, "number_ios": int(IOS)}
REQUESTS = ("device", "queue", "total")
BIOS = ("total",)


def assert_nothing_missed(*devices, stages=REQUESTS):
    """One after the other. Bios equal fio's IOs, requests those of the kernel's statistics, as a scheduler merges some."""
    stats = [Delta(device) for device in devices]
    with both(*devices, stage=",".join(stages)) as e:
        done = [traffic(device, TASKS) for device in devices]
        e.settle()
    for device, stat, of_device in zip(devices, stats, done):
        for stage in stages:
            a = e.agree(device, stage)
            assert_sums_are_bins(e, device, stage)
            if stage == "total":
                assert e.kmod.ops(device, stage) == of_device.ops
                assert e.totals(e.kmod, "bytes", device, stage) == of_device.bytes
            if stage == "device":
                assert a["completed"] == a["kernel_ios"] == stat()["ios"]
                assert sum(e.totals(e.kmod, "bytes", device, stage).values()) == sum(of_device.bytes.values())


# All values of both, each of them alone in a run; the other pairs are among several.
@pytest.mark.before_release
@pytest.mark.parametrize("scheduler, irqmode", [("none", 0), ("none", 2), ("mq-deadline", 1)])
def test_null_blk(scheduler, irqmode):
    with null_blk(scheduler, irqmode=irqmode) as (device,):
        assert_nothing_missed(device)


def test_several_null_blk():
    """
    The interrupts of one device come on top of another's programs. Some devices' IOs complete on the CPU that submitted
    them: if they are issued elsewhere, in an interrupt on top of a completion.
    """
    settings = [("none", 1), ("mq-deadline", 0), ("mq-deadline", 2), ("none", 1), ("mq-deadline", 1)]
    with null_blks(*({"irqmode": irqmode} for _, irqmode in settings)) as devices:
        for device, (scheduler, _) in zip(devices, settings):
            device.setting("scheduler", scheduler)
        for device in devices[-2:]:
            device.setting("rq_affinity", 2)
        assert_nothing_missed(*devices)


def test_disks():
    with contextlib.ExitStack() as made:
        disks = [nvme(), virtio(), made.enter_context(file_loop())]
        if has_module("scsi_debug"):
            disks.append(made.enter_context(scsi_debug(ndelay=20000)))
        assert_nothing_missed(*disks)


def test_bios():
    with module("zram", num_devices=0), zram() as ram, null_blk(irqmode=2, nr_devices=5) as below, \
            dm("linear", below[0]) as linear, md(0, *below[1:3]) as stripes, md(1, *below[3:]) as mirror:
        assert_nothing_missed(ram, linear, stripes, mirror, stages=BIOS)
