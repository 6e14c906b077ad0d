# SPDX-License-Identifier: GPL-2.0-only
"""
Both engines at once on each kind of device with a driver of its own. They agree on the latencies, and on the IOs
with fio and the kernel's statistics.
"""
import pytest
from devices import Delta, zram
from engines import histogram, quantile
from guest import DEEP, SINGLE, module, null_blk, nvme, virtio
from jitter import assert_histograms_agree, assert_sums_are_bins
from stack import assert_seen, assert_told, file_loop, scsi_debug, traffic, watch

TIMER_NS = 1000000
MIXED = [SINGLE | {"rw": "randrw", "number_ios": 500}, DEEP | {"rw": "randrw", "number_ios": 1000}]
FLUSHED = [SINGLE | {"rw": "randrw", "number_ios": 400, "fsync": 8}, MIXED[1]]
DSYNC = SINGLE | {"rw": "write", "number_ios": 100, "sync": "dsync"}
TRIM = SINGLE | {"rw": "trim", "bs": "64k", "number_ios": 50}
STAGES = ("device", "total")


def watched(device, *loads, stages=STAGES):
    """Both engines watch the loads. Asserts what holds for any device; returns the engines and what was done."""
    stat = Delta(device)
    with watch(device, stage=",".join(stages)) as e:
        done = traffic(device, *loads)
        e.settle()
    told = assert_told(stat, done)
    for stage in stages:
        a = assert_seen(e, device, stage, done)
        # Statistics count requests; at the stage total only of devices that have none.
        assert a["kernel_ios"] in ((done.ios, None) if stage == "total" else (done.ios,))
        assert_histograms_agree(e, device, stage)
        assert_sums_are_bins(e, device, stage)
    return e, done, told


@pytest.mark.parametrize("load", [SINGLE, DEEP], ids=["single", "deep"])
def test_timer(load):
    """No IO ends before the device's timer does, and the engines' medians are close."""
    with null_blk(irqmode=2, completion_nsec=TIMER_NS) as (device,):
        e, _, _ = watched(device, {"rw": "randrw", "number_ios": 1500} | load)
    for b in e:
        assert min(o["latency_ns"]["min"] for line in b.lines for o in line["ops"]) >= TIMER_NS
    for op in "read", "write":
        bpf, kmod = (quantile(histogram(b, op, device, "device"), 0.5) for b in e)
        assert abs(kmod - bpf) <= 0.15 * bpf


@pytest.mark.parametrize("load", [SINGLE, DEEP], ids=["single", "deep"])
def test_immediate(load):
    """IOs that end within their submission, as fast as a device can be."""
    with null_blk() as (device,):
        watched(device, {"rw": "randrw", "number_ios": 3000} | load)


def test_scsi_debug():
    with scsi_debug(ndelay=20000) as device:
        watched(device, *MIXED)


def test_loop():
    with file_loop() as device:
        watched(device, *FLUSHED, TRIM)


@pytest.mark.usefixtures("skips")
def test_zram():
    """No requests: the bios are the IOs."""
    with module("zram", num_devices=0), zram() as device:
        watched(device, *MIXED, stages=("total",))


@pytest.mark.usefixtures("skips")
@pytest.mark.parametrize("disk", [nvme, virtio])
def test_write_cache(disk):
    """
    fsync() is one flush. A write with O_DSYNC ends with one, too (generic_write_sync()), after asking for FUA. Where
    the device has no FUA, the block layer adds another flush after the write instead.
    """
    device = disk()
    fua = device.setting("fua") == "1"
    stat = Delta(device)
    with watch(device, stage="device,total") as e:
        done = traffic(device, *FLUSHED, TRIM)
        synced = traffic(device, DSYNC)
        e.settle()
    assert done.ops["flush"] > 400 / 2 / 8 / 2 and synced.ops == {"write": 100}
    done += synced
    done.add("flush", 100, 0)
    assert_seen(e, device, "total", done)
    told = assert_told(stat, done)
    done.add("flush", 0 if fua else 100, 0)
    a = assert_seen(e, device, "device", done)
    assert told["flushes"] == done.ops["flush"]
    assert a["kernel_ios"] == done.ios
    for stage in STAGES:
        assert_histograms_agree(e, device, stage)
        assert_sums_are_bins(e, device, stage)
