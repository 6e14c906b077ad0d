# SPDX-License-Identifier: GPL-2.0-only
"""
Both engines at once on each kind of device with a driver of its own. They agree on the latencies, and on the IOs
with fio and the kernel's statistics.
"""
import contextlib

import pytest
from devices import Delta, zram
from engines import both, histogram, quantile
from faulty import null_blks
from guest import DEEP, SINGLE, has_module, module, nvme, virtio
from jitter import assert_histograms_agree, assert_sums_are_bins
from skips import with_skips
from stack import assert_seen, assert_told, file_loop, scsi_debug, traffic

TIMER_NS = 1000000
MIXED = [SINGLE | {"rw": "randrw", "number_ios": 300}, DEEP | {"rw": "randrw", "number_ios": 600}]
FLUSHED = [SINGLE | {"rw": "randrw", "number_ios": 200, "fsync": 8}, MIXED[1]]
DSYNC = SINGLE | {"rw": "write", "number_ios": 100, "sync": "dsync"}
TRIM = SINGLE | {"rw": "trim", "bs": "64k", "number_ios": 50}
STAGES = ("device", "total")


def assert_watched(e, device, stat, done, stages=STAGES):
    """What holds for any device."""
    assert_told(stat, done)
    for stage in stages:
        a = assert_seen(e, device, stage, done)
        # Statistics count requests; at the stage total only of devices that have none.
        assert a["kernel_ios"] in ((done.ios, None) if stage == "total" else (done.ios,))
        assert_histograms_agree(e, device, stage)
        assert_sums_are_bins(e, device, stage)


def test_requests():
    """
    Of a device whose IOs end within their submission, as fast as a device can be, and of one with a timer, before which
    no IO ends; of a SCSI disk in memory; of a loop device, which has a cache and discards.
    """
    with null_blks({}, {"irqmode": 2, "completion_nsec": TIMER_NS}) as (immediate, timer), contextlib.ExitStack() as made:
        loads = {immediate: MIXED, timer: MIXED, made.enter_context(file_loop()): [*FLUSHED, TRIM]}
        if has_module("scsi_debug"):
            loads[made.enter_context(scsi_debug(ndelay=20000))] = MIXED
        stats = [Delta(device) for device in loads]
        with both(*loads, stage="device,total") as e:
            done = [traffic(device, *of_device) for device, of_device in loads.items()]
            e.settle()
        for device, stat, of_device in zip(loads, stats, done):
            assert_watched(e, device, stat, of_device)
    for b in e:
        assert min(o["latency_ns"]["min"] for line in b.of(timer) for o in line["ops"]) >= TIMER_NS
    for op in "read", "write":
        bpf, kmod = (quantile(histogram(b, op, timer, "device"), 0.5) for b in e)
        assert abs(kmod - bpf) <= 0.15 * bpf


@with_skips("first_skipped")
@pytest.mark.usefixtures("skips")
def test_zram():
    """No requests: the bios are the IOs. As it is, zram is among several in test_stacked_devices.py."""
    with module("zram", num_devices=0), zram() as device:
        stat = Delta(device)
        with both(device, stage="total") as e:
            done = traffic(device, *MIXED)
            e.settle()
        assert_watched(e, device, stat, done, stages=("total",))


@pytest.mark.usefixtures("skips")
def test_write_cache():
    """
    fsync() is one flush. A write with O_DSYNC ends with one, too (generic_write_sync()), after asking for FUA. Where
    the device has no FUA, the block layer adds another flush after the write instead.
    """
    devices = nvme(), virtio()
    stats = [Delta(device) for device in devices]
    with both(*devices, stage="device,total") as e:
        done = [(traffic(device, *FLUSHED, TRIM), traffic(device, DSYNC)) for device in devices]
        e.settle()
    for device, stat, (mixed, synced) in zip(devices, stats, done):
        assert mixed.ops["flush"] > 200 / 2 / 8 / 2 and synced.ops == {"write": 100}
        all_of = mixed + synced
        all_of.add("flush", 100, 0)
        assert_seen(e, device, "total", all_of)
        told = assert_told(stat, all_of)
        all_of.add("flush", 0 if device.setting("fua") == "1" else 100, 0)
        a = assert_seen(e, device, "device", all_of)
        assert told["flushes"] == all_of.ops["flush"]
        assert a["kernel_ios"] == all_of.ios
        for stage in STAGES:
            assert_histograms_agree(e, device, stage)
            assert_sums_are_bins(e, device, stage)
