# SPDX-License-Identifier: GPL-2.0-only
"""Both engines at once on stacked devices, on partitions, and on several devices in one session."""
import contextlib

import pytest
from devices import Delta, partition, run, zram
from engines import both, histogram, quantile
from guest import DEEP, SINGLE, at_least, has_module, module, need_module, null_blk, nvme
from jitter import assert_histograms_agree, assert_sums_are_bins
from load import Fio
from network_disk import served
from parts import labels_of, parts_of
from stack import Traffic, assert_seen, assert_told, dm, mapped, md, multipath, scsi_debug, traffic

MIXED = [SINGLE | {"rw": "randrw", "number_ios": 300}, DEEP | {"rw": "randrw", "number_ios": 600}]
MS = 1000000


def assert_agree(e, *pairs):
    for device, stage in pairs:
        assert_histograms_agree(e, device, stage)
        assert_sums_are_bins(e, device, stage)


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


# A delay is measured in ticks, and ignores those that an emulated CPU missed when it began: whole batches then end sooner.
DELAY_MS = 100
DELAYED = [DEEP | {"rw": "randrw", "number_ios": 320}]
CHUNKS = [SINGLE | {"rw": "write", "bs": "128k", "number_ios": 100}]


def test_stacks():
    """
    A linear device and one with a delay have their IOs in common with what is below. Of a raid0 each IO goes to one member,
    but one of two chunks to both. A write to a raid1 goes to every member, a read to one.
    """
    with null_blk(nr_devices=6) as below, dm("linear", below[0]) as linear, dm("delay", below[1], DELAY_MS) as delay, \
            md(0, *below[2:4]) as stripes, md(1, *below[4:]) as mirror:
        loads = {linear: MIXED, delay: DELAYED, stripes: MIXED, mirror: MIXED}
        stats = {device: Delta(device) for device in (*below, linear, delay)}
        with both(*loads, *below) as e:
            done = {device: traffic(device, *of_device) for device, of_device in loads.items()}
            long = traffic(stripes, *CHUNKS)
            e.settle()
        for top, member in (linear, below[0]), (delay, below[1]):
            for device in top, member:
                assert_told(stats[device], done[top])
            assert_seen(e, top, "total", done[top])
            assert assert_seen(e, member, "device", done[top])["kernel_ios"] == done[top].ios
        striped, mirrored = (members(e, *(stats[device] for device in pair)) for pair in (below[2:4], below[4:]))
    for b in e:
        for op in "read", "write":
            # Only the upper device has the delay.
            assert quantile(histogram(b, op, delay), 0.25) >= DELAY_MS * MS / 2
            assert quantile(histogram(b, op, below[1]), 0.5) < DELAY_MS * MS / 10
    assert striped == {"read": done[stripes].ops["read"], "write": done[stripes].ops["write"] + 2 * 100}
    assert_seen(e, stripes, "total", done[stripes] + long)
    assert all(e.kmod.ops(device, "device")["write"] > 100 for device in below[2:4])
    assert mirrored == {"read": done[mirror].ops["read"], "write": 2 * done[mirror].ops["write"]}
    assert_seen(e, mirror, "total", done[mirror])
    assert all(e.kmod.ops(device, "device")["write"] == done[mirror].ops["write"] for device in below[4:])
    assert_agree(e, *((device, "total") for device in loads), *((device, "device") for device in below))


def test_crypt():
    """The bios below are those of its workers; the upper device has those of the sender, and the time that encryption takes."""
    need_module("dm_crypt")
    run("modprobe", "-a", *filter(has_module, ("dm_crypt", "xts", "ecb", "aes_generic")))
    by_process = "--by", "process"
    with null_blk() as (below,), mapped(f"0 {below.size // 512} crypt aes-xts-plain64 {bytes(range(64)).hex()} 0 {below.path} 0") as top:
        with both(top, below, stage="total", bpf_args=by_process, kmod_args=by_process) as e:
            done = traffic(top, *MIXED)
            e.settle()
    for b in e:
        senders, workers = (parts_of(b, labels_of(b), device, "total") for device in (top, below))
        assert all(label.startswith("fio (") for label in senders) and not set(senders) & {w for w, ops in workers.items() if "write" in ops}, workers
    for device in top, below:
        assert_seen(e, device, "total", done)


def test_nbd():
    """It has requests, whose time in the device is that of its server, which counts them, too."""
    need_module("nbd")
    with served(delay_s=0.02) as (device, asked):
        with both(device, stage="device,total") as e:
            done = traffic(device, SINGLE | {"rw": "randrw", "number_ios": 40})
            e.settle()
    for stage in "device", "total":
        assert assert_seen(e, device, stage, done)["completed"] == len(asked) == 40
        for b in e:
            assert all(quantile(histogram(b, op, device, stage), 0.01) >= 20 * MS for op in done.ops)


def test_partition():
    """A partition's IOs are the disk's too. Before 5.12 a bio that ends does not know its partition any more; blklat says so."""
    stages = ("device", "total") if at_least(5, 12) else ("device",)
    with null_blk() as (disk,), partition(disk, 1, 2 ** 20, 2 ** 25) as part:
        stats = Delta(disk), Delta(part)
        with both(disk, part, stage=",".join(stages)) as e:
            inside = traffic(part, *MIXED)
            outside = traffic(disk, SINGLE | {"rw": "randread", "number_ios": 300, "offset": "64m"})
            e.settle()
        for stat, done in zip(stats, (inside + outside, inside)):
            assert_told(stat, done)
    for device, done in (disk, inside + outside), (part, inside):
        for stage in stages:
            a = assert_seen(e, device, stage, done)
            assert a["kernel_ios"] == (done.ios if stage == "device" else None)
            assert_agree(e, (device, stage))


@pytest.mark.before_release
def test_several():
    """Devices of several kinds in one session, busy at the same time."""
    with null_blk(nr_devices=2, irqmode=2) as nulls, scsi_debug() as disk, module("zram", num_devices=0), \
            zram() as ram:
        devices = [*nulls, disk, ram, nvme()]
        stats = [Delta(device) for device in devices]
        with both(*devices) as e:
            with contextlib.ExitStack() as undo:
                loads = [undo.enter_context(Fio(d, rw="randrw", thread=1, number_ios=400 + 10 * i, **DEEP))
                         for i, d in enumerate(devices)]
                done = [Traffic(load.result()) for load in loads]
            e.settle()
        for i, (device, stat) in enumerate(zip(devices, stats)):
            assert_told(stat, done[i])
            a = assert_seen(e, device, None, done[i])
            assert a["kernel_ios"] == done[i].ios == 400 + 10 * i
            assert_agree(e, (device, None))


def test_nvme_multipath():
    """The multipath head has the bios, its paths have the requests."""
    with multipath() as head:
        with both(head) as e:
            done = traffic(head, SINGLE | {"rw": "randrw", "number_ios": 400, "fsync": 8}, MIXED[1])
            e.settle()
        assert {line["stage"] for b in e for line in b.lines} == {"total"}
        assert done.ops["flush"] > 0
        assert_seen(e, head, "total", done)
        assert_agree(e, (head, "total"))
