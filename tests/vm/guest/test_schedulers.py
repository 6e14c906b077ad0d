# SPDX-License-Identifier: GPL-2.0-only
"""Where a request's slot is depends on the scheduler, which changes under load."""
import contextlib
import pathlib
import signal

import pytest
from devices import Delta, run
from engines import both
from faulty import ENDLESS, meanwhile, null_blks
from guest import DEEP, at_least, has_module, null_blk
from jitter import assert_histograms_agree, assert_sums_are_bins
from kernel_objects import descriptors
from load import Blklat, Fio, fio
from parts import labels_of, parts_of
from skips import as_is_and_skipped
from slow import dropped, slow_of
from stack import scsi_debug

SCHEDULERS = {"none": None, "mq-deadline": "mq-deadline", "bfq": "bfq", "kyber": "kyber-iosched"}
SLOW = {"irqmode": 2, "completion_nsec": 500000, "submit_queues": 2, "hw_queue_depth": 64}
# The slots that userspace/engine/geometry.c gives a hardware queue with few tags of its own, and to tags that all queues share.
RESERVED, MOST = 512, 2048
STAGES = "device", "queue", "total"
QUEUES = pathlib.Path("/sys/kernel/debug/block")


def available(device):
    """Schedulers that this kernel has, as modules or built in."""
    for module in filter(None, SCHEDULERS.values()):
        run("modprobe", "-q", module)
    there = device.setting("scheduler").replace("[", "").replace("]", "").split()
    assert {"none", "mq-deadline", "bfq", "kyber"} <= set(there)
    return there


def assert_seen(e, device, stat, *done):
    """Requests and bios of the engines equal fio's IOs, except for merged requests, which the kernel counts."""
    s = stat()
    ios, size = (sum(getattr(f, of)(op) for f in done for op in ("read", "write")) for of in ("ios", "bytes"))
    merges = s["read_merges"] + s["write_merges"]
    print(f"{ios} IOs, {merges} merged")
    for stage, merged in (("device", merges), ("total", 0)):
        a = e.agree(device, stage)
        assert a["started"] == a["completed"] == ios - merged
        assert e.kmod.total("bytes", None, device, stage) == size
    assert e.agree(device, "device")["kernel_ios"] == s["ios"]
    print(e.agree(device, "queue"))


def test_switched_under_load():
    """
    One after the other: requests of the one end in an interrupt and of the other in a softirq. On the same CPU
    the first can come in the middle of the second, where the kernel runs no BPF program on top of itself.
    """
    with null_blks(SLOW) as devices, contextlib.ExitStack() as made:
        if has_module("scsi_debug"):
            devices.append(made.enter_context(scsi_debug(delay=1)))
        stats = [Delta(device) for device in devices]
        with both(*devices, stage=",".join(STAGES)) as e:
            done = [meanwhile(d, *(lambda s=s, d=d: d.setting("scheduler", s) for s in available(d))) for d in devices]
            e.settle()
        for device, stat, f in zip(devices, stats, done):
            assert_seen(e, device, stat, f)


def test_queued():
    """
    Each request waits in the scheduler and leaves it, except those that it merges. The number of the scheduler's tags changes
    under load, up to the number of slots. It may have as many as the driver.
    """
    tags = 1024
    with null_blks(SLOW, SLOW, SLOW | {"submit_queues": 1, "hw_queue_depth": tags}) as devices:
        device, changed, many = devices
        schedulers = [s for s in available(device) if s != "none"]
        for one in changed, many:
            one.setting("scheduler", "mq-deadline")
        many.setting("nr_requests", tags)
        many.setting("nomerges", 2)
        assert (many.sysfs / "mq/0/nr_tags").read_text().strip() == many.setting("nr_requests") == str(tags)
        stats = [Delta(d) for d in devices]
        with both(*devices, stage=",".join(STAGES)) as e:
            done = []
            for scheduler in schedulers:
                device.setting("scheduler", scheduler)
                for rw in "randrw", "rw":
                    done.append(fio(device, rw=rw, number_ios=400, thread=1, **DEEP))
            steps = [lambda n=n: changed.setting("nr_requests", n) for n in (4, RESERVED, 32)]
            of_changed = meanwhile(changed, *steps, iodepth=600)
            of_many = fio(many, rw="randread", number_ios=3000, thread=1, ioengine="libaio", iodepth=1000)
            e.settle()
        for one, stat, loads in zip(devices, stats, (done, [of_changed], [of_many])):
            assert_seen(e, one, stat, *loads)
        for stage in STAGES:
            assert_histograms_agree(e, device, stage)
            assert_sums_are_bins(e, device, stage)
        assert e.agree(device, "queue")["completed"] == stats[0]()["ios"] > 0
        assert e.agree(many, "queue")["completed"] == stats[2]()["ios"] == 3000


def slots_of(b):
    """All that a run with the BPF engine has, as the kernel tells of its maps: 32 in 512 bytes."""
    [blocks] = [int(d["max_entries"]) for d in descriptors(b.process.pid) if d.get("value_size") == "512"]
    return 32 * blocks


def test_shared_tags():
    """
    Two hardware queues with one set of tags have the slots of one, for both stages of requests; and there are slots for all tags
    that a scheduler may get later. Until 5.14 its tags are those of a queue, so each queue has slots. Each IO has a slot of
    its own, whichever queue it goes through.
    """
    tags, one_set = 64, at_least(5, 14)
    load = DEEP | {"rw": "randrw", "thread": 1, "numjobs": 2, "cpus_allowed": "0-1", "cpus_allowed_policy": "split"}
    with null_blk(irqmode=2, completion_nsec=500000, submit_queues=2, hw_queue_depth=tags, shared_tag_bitmap=1) as (device,):
        assert all("TAG_HCTX_SHARED" in (QUEUES / device.name / f"hctx{q}/flags").read_text() for q in (0, 1))
        # One job goes through each.
        assert {(device.sysfs / f"mq/{q}/cpu_list").read_text().strip() for q in (0, 1)} == {"0", "1"}
        stat = Delta(device)
        with both(device, stage=",".join(STAGES)) as e:
            assert slots_of(e.bpf) == (MOST if one_set else 2 * RESERVED)
            done = []
            for scheduler in available(device):
                device.setting("scheduler", scheduler)
                done.append(fio(device, number_ios=400, **load))
            done.append(meanwhile(device, *(lambda s=s: device.setting("scheduler", s) for s in available(device)), **load))
            if one_set:
                device.setting("scheduler", "mq-deadline")
                device.setting("nr_requests", MOST)
                done.append(fio(device, number_ios=2000, **load | {"iodepth": 800}))
            e.settle()
        assert_seen(e, device, stat, *done)


def test_shared_tags_without_debugfs():
    """Engine bpf asks the kernel itself, as a service that may not read debugfs. Before 5.16 it cannot."""
    with null_blk(submit_queues=2, hw_queue_depth=64, shared_tag_bitmap=1) as (device,):
        run("umount", "-R", "/sys/kernel/debug")
        try:
            with Blklat(device, args=("--engine", "bpf")) as b:
                assert slots_of(b) == (MOST if at_least(5, 16) else 2 * RESERVED)
        finally:
            run("mount", "-t", "debugfs", "none", "/sys/kernel/debug")


def told(b, device, stage, ios):
    """Every IO is counted or lost for want of a slot. Returns how many are lost."""
    a = b.accounting(device, stage)
    print(b.argv[-2], stage, a)
    assert a["started"] == a["completed"] + a["lost"] == ios and not a["in_flight"]
    assert b.total("ios", None, device, stage) == a["completed"]
    assert b.total("bytes", None, device, stage) == 4096 * a["completed"]
    assert parts_of(b, labels_of(b), device, stage) == {"4 KiB": {"read": a["completed"]}}
    assert a["lost"] == a["lost_by"].get("tag_range", 0), a
    # All are slow, but for the time in a queue: the device takes 500 us.
    if stage != "queue":
        assert len(slow_of(b, device, stage)) + dropped(b, device, stage) == a["completed"]
    return a["lost"]


@as_is_and_skipped
@pytest.mark.usefixtures("skips")
def test_more_requests_than_slots():
    """
    IOs of tags beyond the slots are reported as lost, in either engine, until the device is moved to others, and what is in
    flight at that moment. From then on nothing is lost. The device beside it loses nothing.
    """
    # There is room for another device like the largest, which is as much as two queues need for twice the tags that they come to have.
    two = SLOW | ({"poll_queues": 0} if at_least(6, 1) else {})
    with null_blks(two, two | {"submit_queues": 1, "hw_queue_depth": 2 * MOST}) as (device, beside):
        device.setting("scheduler", "mq-deadline")
        device.setting("nomerges", 2)
        stats = [Delta(d) for d in (device, beside)]
        # The part of an IO is in its slot.
        args = "--by", "size", "--slow", "100us"
        with both(device, beside, stage=",".join(STAGES), interval=0.25, bpf_args=args, kmod_args=args) as e:
            fio(device, rw="randread", number_ios=500, thread=1, **DEEP)
            e.settle()
            with Fio(beside, **ENDLESS) as steady, Fio(device, **ENDLESS | {"rw": "randread", "iodepth": 3 * RESERVED}) as load:
                for f, stat in ((steady, stats[1]), (load, stats[0])):
                    f.until(lambda stat=stat: stat()["ios"] > 1000, "its first IOs")
                # Neither reads before such tags were used.
                for b in e:
                    b.signal(signal.SIGSTOP)
                device.setting("nr_requests", 2 * RESERVED)
                used = stats[0]()["ios"]
                load.until(lambda: stats[0]()["ios"] > used + 1000, "IOs of more tags")
                for b in e:
                    b.signal(signal.SIGCONT)
                for b in e:
                    b.until(lambda b=b: f"{device.name} had more tags" in b.stderr, "more slots")
                    b.next(device, "total", n=2)
                before = [[b.accounting(device, stage)["lost"] for stage in STAGES] for b in e]
                e.settle()
                ios, of_beside = 500 + load.end().ios("read"), steady.end()
            e.settle()
        assert stats[0]()["ios"] == ios
        assert_seen(e, beside, stats[1], of_beside)
        for b, lost in zip(e, before):
            assert b.stderr.count("\n") == b.stderr.count("had more tags") == 1, b.stderr
            assert b.accounting(device, "device")["kernel_ios"] == ios
            assert [told(b, device, stage, ios) for stage in STAGES] == lost
            assert lost[0] > 0 and lost[STAGES.index("total")] == 0
