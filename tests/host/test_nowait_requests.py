# SPDX-License-Identifier: GPL-2.0-only
"""
A request that must not wait (REQ_NOWAIT), but would have to, is given back (BLK_STS_AGAIN): nothing was done, and it is no IO.
Its sender tries again without that flag, as io_uring does in a thread of its own.
"""
import errno
import mmap
import os
import pathlib

import pytest
from devices import Delta
from load import Blklat, Fio, Unseen, assert_all_counted, assert_closed, exact, fio, missing
from needs import need

TAGS, TRIES = 4, 100


def nowait_reads(device, n):
    """@n direct reads that must not wait; returns how many were done. The others would have had to wait."""
    done = 0
    fd = os.open(device.path, os.O_RDONLY | os.O_DIRECT)
    with open(fd, "rb", buffering=0), mmap.mmap(-1, 4096) as buffer:
        for i in range(n):
            try:
                done += os.preadv(fd, [buffer], i * 4096, os.RWF_NOWAIT) == 4096
            except OSError as e:
                assert e.errno == errno.EAGAIN
    return done


@pytest.fixture
def few_tags(frozen):
    """A device that can be frozen, with TAGS tags."""
    frozen[0].setting("nr_requests", TAGS)
    return frozen


@exact
def test_given_back(few_tags):
    """All tags are taken by writes that are held back; each read that must not wait comes back."""
    device, freeze, thaw = few_tags
    stat = Delta(device)
    with Blklat(device, stage="device,total") as b:
        freeze()
        with Fio(device, rw="randwrite", ioengine="libaio", iodepth=TAGS, number_ios=TAGS) as f:
            f.until(lambda: device.stat()["in_flight"] == TAGS, "writes that are held back")
            assert nowait_reads(device, TRIES) == 0
            thaw()
            f.result()
        assert nowait_reads(device, 10) == 10
        b.next(device, "total", n=2)
    assert stat()["reads"] == 10
    for stage, given_back in ("device", 0), ("total", TRIES):
        a = assert_all_counted(b, device, stage)
        assert b.ops(device, stage) == {"write": TAGS, "read": 10}
        assert a["started"] == a["completed"] == TAGS + 10
        assert a["requeued"] == given_back
        assert b.total("errors", None, device, stage) == 0
        assert b.total("bytes", None, device, stage) == 4096 * (TAGS + 10)


def test_more_in_flight_than_tags(loop):
    """io_uring tries each without waiting first. Only fio's IOs count, however often they were tried."""
    switch = pathlib.Path("/proc/sys/kernel/io_uring_disabled")
    need(not switch.exists() or switch.read_text().strip() == "0", "io_uring is disabled here")
    stat = Delta(loop)
    with Unseen() as unseen, Blklat(loop, stage="device,total") as b:
        f = fio(loop, ioengine="io_uring", iodepth=8192, time_based=1, runtime=3)
        b.next(loop, "total", n=2)
    total = f.ios("read")
    assert stat()["reads"] == total
    for stage in "device", "total":
        a = assert_closed(b, loop, stage)
        print(stage, a)
        assert a["started"] == total
        assert missing(a) == unseen.of(loop)
        assert b.total("ios", "read", loop, stage) == total - missing(a)
        assert b.total("errors", None, loop, stage) == 0
        assert b.total("bytes", None, loop, stage) == 4096 * b.total("ios", "read", loop, stage)
    assert b.accounting(loop, "total")["requeued"] > 0
    # With so many waiting for tags, an IO takes longer than the device does, although refused tries end at once.
    device, whole = ([o["latency_ns"]["p50"] for l in b.of(loop, stage) for o in l["ops"]][1] for stage in ("device", "total"))
    assert device < whole
