# SPDX-License-Identifier: GPL-2.0-only
"""The stages: waiting in the scheduler, bios of devices without requests, and full tables."""
import re
import signal

from devices import Delta
from load import (BURST, Blklat, Text, Unseen, assert_all_counted, assert_closed, deep, exact, fio,
                  missing)
from recorder import busy


def test_queue(deadline_loop):
    """Each request that the scheduler got is issued once."""
    with Unseen() as unseen, Blklat(deadline_loop, stage="queue,device") as b:
        f = fio(deadline_loop, rw="randrw", **deep())
        b.next(n=3)
    queue, device = assert_closed(b, stage="queue"), assert_closed(b, stage="device")
    assert queue["started"] == queue["completed"] == device["started"] == f.ios("read") + f.ios("write")
    assert missing(device) == unseen.of(deadline_loop)
    assert b.ops(stage="queue") == {op: f.ios(op) for op in ("read", "write")}
    assert b.total("bytes", stage="queue") == f.bytes("read") + f.bytes("write")


@exact
def test_queue_without_scheduler(loop):
    """Requests that never wait in a scheduler have no queue stage."""
    with Blklat(loop, stage="queue,device") as b:
        f = fio(loop, number_ios=2000)
        b.next(n=2)
    assert assert_all_counted(b, stage="device")["started"] == f.ios("read") == 2000
    a = assert_all_counted(b, stage="queue")
    assert a["started"] == b.total("ios", stage="queue") <= 2000


def test_scheduler_switch(loop):
    """Schedulers come and go under load, with tags of their own: every IO is still counted once."""
    stat = Delta(loop)
    with Unseen() as unseen, Blklat(loop, stage="device,queue") as b:
        with busy(loop) as f:
            for scheduler in ("mq-deadline", "none", "mq-deadline", "none"):
                begun = stat()["ios"]
                f.until(lambda: stat()["ios"] > begun + BURST, "load")
                loop.setting("scheduler", scheduler)
            result = f.end()
        b.next(n=3)
    device, queue = assert_closed(b, stage="device"), assert_closed(b, stage="queue")
    assert device["started"] == device["kernel_ios"] == stat()["ios"] == result.ios("read")
    assert missing(device) == unseen.of(loop)
    assert 0 < queue["started"] < device["started"]
    assert missing(queue) == 0


@exact
def test_zram(zram):
    """No requests, so every bio is an IO, and the stage is total without being asked for."""
    stat = Delta(zram)
    with Blklat(zram) as b:
        writes = fio(zram, rw="write", bs="4k", size="16M")
        reads = fio(zram, rw="randread", time_based=1, runtime=1, ioengine="libaio", iodepth=8, numjobs=2)
        b.next(n=2)
    a = assert_all_counted(b)
    assert {l["stage"] for l in b.lines} == {"total"}
    assert b.ops() == {"write": writes.ios("write"), "read": reads.ios("read")}
    assert b.total("bytes", "write") == writes.bytes("write") == stat()["write_sectors"] * 512
    assert b.total("bytes", "read") == reads.bytes("read") == stat()["read_sectors"] * 512
    assert a["started"] == a["kernel_ios"] == stat()["ios"]


def test_total_of_requests(loop):
    with Unseen() as unseen, Blklat(loop, stage="total") as b:
        f = fio(loop, rw="randrw", **deep())
        b.next(n=2)
    a = assert_closed(b)
    assert a["started"] == f.ios("read") + f.ios("write")
    # Each request is one bio, all of one size: at random places none are merged.
    assert missing(a) == unseen.of(loop)
    assert b.total("bytes") == 4096 * b.total("ios")


def test_full_table(loop):
    """A forced loss is reported: how many and why."""
    with Blklat(loop, stage="total", args=["--max-bios", "4"]) as b:
        f = fio(loop, **deep(1))
        b.next(n=2)
    a = assert_closed(b)
    assert a["started"] == f.ios("read")
    assert a["lost_by"]["table_full"] > 0
    assert a["lost"] >= a["lost_by"]["table_full"]
    assert a["completed"] == b.total("ios") > 0


def test_full_table_is_shown(loop):
    """The text says so as well."""
    with Text(loop, "--stage", "total", "--max-bios", "4") as t:
        t.until(lambda: t.text, "header")
        fio(loop, **deep(1))
        t.signal(signal.SIGINT)
        assert t.wait() == 0
    lost = re.search(r"lost\D*([\d,]+)", t.text)
    assert lost and int(lost[1].replace(",", "")) > 0, t.text
    assert "table" in t.text
