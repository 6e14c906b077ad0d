# SPDX-License-Identifier: GPL-2.0-only
"""
Reads that must not wait (RWF_NOWAIT of io_uring and libaio) while the device has no room: each is queued as a bio and
comes back at once. It counts neither as an IO nor as an error, but as a start taken back; there are as many as reads
refused to their sender.
"""
import errno

import aio
from devices import Delta
from engines import both
from guest import null_blk
from load import assert_all_counted
from stack import dm

ROOM, TRIES = 2, 300
# Room for two, which stay for the whole test; no scheduler, which would make more room.
SMALL = {"irqmode": 2, "completion_nsec": 500000000, "hw_queue_depth": ROOM, "submit_queues": 1}


def refused_reads(device):
    """Returns how many reads were done and how many were told to try again."""
    results = aio.read_all(device, ROOM, TRIES)
    done, again = results.count(aio.BYTES), results.count(-errno.EAGAIN)
    assert done + again == ROOM + TRIES and done >= ROOM and again > 0, (done, again, set(results))
    return done, again


def assert_taken_back(b, device, done, again):
    a = assert_all_counted(b, device, "total")
    assert (a["started"], a["completed"], a["requeued"]) == (done, done, again)
    assert b.ops(device, "total") == {"read": done}
    assert (b.total("bytes", "read", device, "total"), b.total("errors", "read", device, "total")) == (done * aio.BYTES, 0)
    # Refused reads come back sooner than any that is counted.
    lines = [o for line in b.of(device, "total") for o in line["ops"] if o["ios"]]
    assert min(o["latency_ns"]["min"] for o in lines) >= SMALL["completion_nsec"]


def test_no_room():
    """The device above another one has no room either: its bios come back from the one below."""
    with null_blk(nr_devices=2, **SMALL) as (device, below), dm("linear", below) as top:
        stat = Delta(device)
        with both(device, below, top, stage="total") as engines:
            of_device, of_top = refused_reads(device), refused_reads(top)
            engines.settle()
        for b in engines:
            assert_taken_back(b, device, *of_device)
            for one in top, below:
                assert_taken_back(b, one, *of_top)
        assert stat()["reads"] == of_device[0]


def test_no_request():
    """A read that is refused never becomes a request."""
    with null_blk(**SMALL) as (device,):
        with both(device, stage="device,total") as engines:
            done, again = refused_reads(device)
            engines.settle()
        for b in engines:
            assert_taken_back(b, device, done, again)
        assert engines.agree(device, "device")["started"] == done
