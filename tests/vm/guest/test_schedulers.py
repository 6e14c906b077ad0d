# SPDX-License-Identifier: GPL-2.0-only
"""Where a request's slot is depends on the scheduler, which changes under load."""
import re

import pytest
from devices import Delta, run
from engines import both
from faulty import ENDLESS, meanwhile, null_blks
from guest import DEEP
from load import Fio, fio
from stack import scsi_debug

SCHEDULERS = {"none": None, "mq-deadline": "mq-deadline", "bfq": "bfq", "kyber": "kyber-iosched"}
SLOW = {"irqmode": 2, "completion_nsec": 500000, "submit_queues": 2, "hw_queue_depth": 64}
# Slots that userspace/engine/geometry.c reserves besides the driver's tags, unless the scheduler has more already.
RESERVED = 512


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


def assert_counted_meanwhile(device, steps, **load):
    """Repeats the steps while a load runs; every IO is counted at each stage."""
    stat = Delta(device)
    with both(device, stage="device,queue,total", interval=0.25) as e:
        f = meanwhile(device, *steps, **load)
        e.settle()
    assert_seen(e, device, stat, f)


@pytest.mark.parametrize("kind", ["null_blk", "scsi_debug"])
def test_switched_under_load(kind):
    """
    One after the other: requests of the one end in an interrupt and of the other in a softirq. On the same CPU
    the first can come in the middle of the second, where the kernel runs no BPF program on top of itself.
    """
    with null_blks(SLOW) if kind == "null_blk" else scsi_debug(delay=1) as made:
        device = made[0] if kind == "null_blk" else made
        steps = [lambda s=s: device.setting("scheduler", s) for s in available(device)]
        assert_counted_meanwhile(device, steps)


def test_queued():
    """Each request waits in the scheduler and leaves it, except those that it merges."""
    with null_blks(SLOW) as (device,):
        schedulers = [s for s in available(device) if s != "none"]
        stat = Delta(device)
        with both(device, stage="device,queue,total", interval=0.25) as e:
            done = []
            for scheduler in schedulers:
                device.setting("scheduler", scheduler)
                for rw in "randrw", "rw":
                    done.append(fio(device, rw=rw, number_ios=400, thread=1, **DEEP))
            e.settle()
        assert_seen(e, device, stat, *done)
        assert e.agree(device, "queue")["completed"] == stat()["ios"] > 0


def test_number_of_requests():
    """The number of the scheduler's tags changes under load, up to the number of slots."""
    with null_blks(SLOW) as (device,):
        device.setting("scheduler", "mq-deadline")
        steps = [lambda n=n: device.setting("nr_requests", n) for n in (4, RESERVED, 32)]
        assert_counted_meanwhile(device, steps, iodepth=600)


def test_as_many_requests_as_tags():
    """A scheduler with as many tags as the driver has them in addition; all have slots."""
    with null_blks(SLOW | {"submit_queues": 1, "hw_queue_depth": 1024}) as (device,):
        device.setting("scheduler", "mq-deadline")
        device.setting("nr_requests", 1024)
        device.setting("nomerges", 2)
        tags = (device.sysfs / "mq/0/nr_tags").read_text().strip()
        assert tags == device.setting("nr_requests") == "1024"
        stat = Delta(device)
        with both(device, stage="device,queue,total", interval=0.25) as e:
            fio(device, rw="randread", number_ios=6000, thread=1, ioengine="libaio", iodepth=1000)
            e.settle()
        for stage in "device", "queue", "total":
            a = e.agree(device, stage)
            assert (a["started"], a["completed"], a["lost"]) == (6000, 6000, 0)
        assert stat()["ios"] == 6000


TAKES_OVER = "a larger capture takes over"


def told(b, device, stage, ios):
    """Every IO is counted, or lost for want of a slot or between two captures, as announced. Returns the losses for want of a slot."""
    a = b.accounting(device, stage)
    print(b.argv[-2], stage, a)
    assert a["started"] == a["completed"] + a["lost"] == ios and not a["in_flight"]
    assert b.total("ios", None, device, stage) == a["completed"]
    assert b.total("bytes", None, device, stage) == 4096 * a["completed"]
    lost = a["lost_by"].get("tag_range", 0)
    # The timer ends a whole batch: at most one IO each us.
    gap = re.search(r"within (\d+) us", b.stderr)
    assert a["lost"] - lost <= (2 + int(gap[1]) if gap else 0), b.stderr
    return lost


@pytest.mark.usefixtures("skips")
def test_more_requests_than_slots():
    """
    IOs of tags beyond the slots are reported as lost, in either engine, until a larger capture takes over. Its counts
    continue those of the first, and from then on nothing is lost. Nothing is lost at all if an interval ends just when
    the number of tags grows.
    """
    with null_blks(SLOW | {"submit_queues": 1}) as (device,):
        device.setting("scheduler", "mq-deadline")
        device.setting("nomerges", 2)
        stat = Delta(device)
        with both(device, stage="device,queue,total", interval=0.25) as e:
            fio(device, rw="randread", number_ios=500, thread=1, **DEEP)
            e.settle()
            with Fio(device, **ENDLESS | {"rw": "randread", "iodepth": 3 * RESERVED}) as load:
                for b in e:
                    b.next()
                device.setting("nr_requests", 4 * RESERVED)
                for b in e:
                    b.until(lambda b=b: TAKES_OVER in b.stderr, "larger capture")
                    b.next(device, "total")
                before = [b.accounting(device, "device")["lost_by"].get("tag_range", 0) for b in e]
                e.settle()
                ios = 500 + load.end().ios("read")
            e.settle()
        assert stat()["ios"] == ios
        for b, lost in zip(e, before):
            assert b.stderr.count("\n") == b.stderr.count(TAKES_OVER) == 1, b.stderr
            assert b.accounting(device, "device")["kernel_ios"] == ios
            assert told(b, device, "device", ios) == lost
            # Stages are taken over one after the other, each at the moment that suits it best. A request that waits in the scheduler
            # then is lost there, yet counted when it is issued; one that passes both in between is lost at one of them.
            assert told(b, device, "queue", ios) or not lost
            assert told(b, device, "total", ios) == 0
