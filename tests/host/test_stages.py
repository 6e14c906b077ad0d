# SPDX-License-Identifier: GPL-2.0-only
"""The stages: of requests and their bios, of devices without requests, and full tables. More of schedulers is in the guests' tests."""
import re
import signal

from devices import Delta
from load import Blklat, Text, Unseen, assert_all_counted, assert_closed, deep, exact, fio, missing


def test_requests(deadline_loop):
    """Each request that the scheduler got is issued once, and each is one bio: at random places none are merged."""
    with Unseen() as unseen, Blklat(deadline_loop, stage="queue,device,total") as b:
        f = fio(deadline_loop, rw="randrw", **deep())
        b.next(n=3)
    queue, device, total = (assert_closed(b, stage=stage) for stage in ("queue", "device", "total"))
    assert queue["started"] == queue["completed"] == device["started"] == total["started"] == f.ios("read") + f.ios("write")
    assert missing(device) == missing(total) == unseen.of(deadline_loop)
    for figure in "ios", "bytes":
        assert b.total(figure, stage="queue") == getattr(f, figure)("read") + getattr(f, figure)("write")
    assert b.ops(stage="queue") == {op: f.ios(op) for op in ("read", "write")}


@exact
def test_queue_without_scheduler(loop):
    """Requests that never wait in a scheduler have no queue stage."""
    with Blklat(loop, stage="queue,device") as b:
        f = fio(loop, number_ios=2000)
        b.next(n=2)
    assert assert_all_counted(b, stage="device")["started"] == f.ios("read") == 2000
    a = assert_all_counted(b, stage="queue")
    assert a["started"] == b.total("ios", stage="queue") <= 2000


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
