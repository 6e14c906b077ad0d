# SPDX-License-Identifier: GPL-2.0-only
"""IOs divided by size: each is in the part of its size at the start of its stage, and the parts add up to the whole."""
import contextlib
import mmap
import os
import re

import devices
import pytest
from devices import MIB, Delta, run
from load import Blklat, assert_all_counted, exact, fio, read_errors
from needs import need
from sizes import BY_SIZE, LABELS, assert_parts, at_once, done_by, label, of_requests, parts_of
from tracing import traced_events, tracefs

SIZES = 4096, 16384, 131072
STAGES = "device", "queue", "total"
SECTOR = 512


def watch(*watched, stages=STAGES, args=()):
    return Blklat(*watched, stage=stages and ",".join(stages), args=[*BY_SIZE, *args])


@exact
def test_sizes_at_once(deadline_loop):
    """At each stage each part has what the fio of its size did."""
    with watch(deadline_loop) as b:
        results = at_once(deadline_loop, *SIZES, number_ios=3000)
        b.next(n=2)
    done = done_by(results)
    assert done.keys() == {"4 KiB", "16 KiB", "128 KiB"}
    for stage in STAGES:
        assert_all_counted(b, stage=stage)
        assert_parts(b, done, stage=stage)


@exact
def test_sizes_in_flight(loop):
    """The same with many in flight, while pauses are looked for as well."""
    with watch(loop, stages=("device", "total"), args=["--idle-gap", "0.2"]) as b:
        done = done_by(at_once(loop, *SIZES, number_ios=4000, ioengine="io_uring", iodepth=8))
        b.next(n=2)
    for stage in "device", "total":
        assert_all_counted(b, stage=stage)
        assert_parts(b, done, stage=stage)
    # IOs in flight belong to a part too; a part with nothing to report has no line.
    for line in b.lines:
        if not line.get("part"):
            parts = [l for l in b.lines if l.get("part") and (l["time"], l["stage"]) == (line["time"], line["stage"])]
            assert sum(l["in_flight"]["ios"] for l in parts) == line["in_flight"]["ios"]


@exact
def test_bounds(loop):
    """An IO larger than a power of two is in the next part, however small the excess."""
    least = int(loop.setting("logical_block_size"))
    sizes = sorted({least, 4096, 2 ** 19} | {(4096 << i) + more for i in range(7) for more in (0, least)})
    need(int(loop.setting("max_segments")) * mmap.PAGESIZE >= sizes[-1], "requests of the loop device are smaller")
    with watch(loop, stages=("device", "total")) as b:
        for n, size in enumerate(sizes):
            for _ in range(n + 1):
                assert read_errors(loop, 0, size) == 0
        b.next(n=2)
    wanted = {part: {"read": n} for part, n in of_requests(s for n, s in enumerate(sizes) for _ in range(n + 1)).items()}
    assert wanted.keys() == set(LABELS[:-1])
    for stage in "device", "total":
        assert_all_counted(b, stage=stage)
        assert_parts(b, wanted, stage=stage)


@exact
def test_several_devices(loop, zram, partition):
    """Each device has its own parts; a partition's IOs are also its disk's."""
    with devices.loop(16 * MIB) as other:
        with watch(loop, other, zram, partition, stages=None) as b:
            inside = at_once(partition, 4096, 65536, number_ios=1000)
            results = at_once(other, 8192, 32768, number_ios=500)
            pages = fio(zram, rw="randwrite", bs=4096, number_ios=700)
            b.next(zram, n=2)
    for d, done in (loop, inside), (partition, inside), (other, results):
        assert_all_counted(b, d, "device")
        assert_parts(b, done_by(done), d, "device")
    assert_all_counted(b, zram, "total")
    assert_parts(b, {"4 KiB": {"write": (700, pages.bytes("write"))}}, zram, "total")


@contextlib.contextmanager
def traced(device, *events):
    """Gives a function that returns the bytes of each of a device's block events so far, from the kernel's own trace."""
    with tracefs() as folder, traced_events(folder, device, *events) as lines:
        yield lambda event: [int(m[1]) * SECTOR for line in lines() if (m := re.search(rf": {event}: .* \d+ \+ (\d+) ", line))]


@exact
def test_merged(deadline_loop):
    """
    Small consecutive writes become large requests. At the device each counts with its size when issued, in the queue with its
    size when inserted, and bios with their own.
    """
    stat = Delta(deadline_loop)
    with traced(deadline_loop, "block_rq_insert", "block_rq_issue") as sizes, watch(deadline_loop) as b:
        fio(deadline_loop, rw="write", ioengine="libaio", iodepth=64, iodepth_batch_submit=24, iodepth_batch_complete_min=24,
            size="32M")
        b.next(n=2)
        issued, inserted = sizes("block_rq_issue"), sizes("block_rq_insert")
    for stage in STAGES:
        assert_all_counted(b, stage=stage)
    assert stat()["write_merges"] > 100 and len(issued) == stat()["writes"] and sum(issued) == 32 * MIB
    assert len({label(size) for size in issued}) > 1
    assert_parts(b, {part: {"write": n} for part, n in of_requests(issued).items()}, stage="device")
    assert_parts(b, {"4 KiB": {"write": (8192, 32 * MIB)}}, stage="total")
    # Some are merged into another one while they wait, and end there. The others have grown, never shrunk.
    waited = {part: ops["write"][0] for part, ops in parts_of(b, stage="queue").items()}
    assert sum(waited.values()) == len(issued) <= len(inserted)
    assert b.total("bytes", stage="queue") == 32 * MIB
    came = {part: n for part, (n, _) in of_requests(inserted).items()}
    assert all(n <= came.get(part, 0) for part, n in waited.items()), (waited, came)


@exact
def test_flush(loop):
    """A flush has no bytes: it is in the first part, whatever the writes before it were."""
    stat = Delta(loop)
    with watch(loop, stages=("device", "total")) as b:
        f = fio(loop, rw="randwrite", bs=65536, number_ios=200, fsync=4)
        b.next(n=2)
    flushes = stat()["flushes"]
    assert flushes == f.job["sync"]["total_ios"] > 40
    for stage in "device", "total":
        assert_all_counted(b, stage=stage)
        assert_parts(b, {"4 KiB": {"flush": (flushes, 0)}, "64 KiB": {"write": (200, 200 * 65536)}}, stage=stage)


@exact
def test_large(loop):
    """The last part has no upper bound: discards may be very large."""
    sizes = 2 ** 19, 2 ** 19 + 4096, MIB, MIB + 4096, 32 * MIB
    need(int(loop.setting("discard_max_bytes")) >= sizes[-1], "no discards as large")
    with watch(loop, stages=("device", "total")) as b:
        for size in sizes:
            run("blkdiscard", "-f", "-l", size, loop.path)
        b.next(n=2)
    for stage in "device", "total":
        assert_all_counted(b, stage=stage)
        assert_parts(b, {"512 KiB": {"discard": (1, sizes[0])}, "1 MiB+": {"discard": (4, sum(sizes[1:]))}}, stage=stage)


@pytest.mark.parametrize("there,rest", [(16384, "64 KiB"), (49152, "16 KiB")])
@exact
def test_requeued(loop, there, rest):
    """
    A read of 64 KiB across the end of the file: a portion completes, the rest is issued anew and fails. The rest is the IO, in the
    part of its size by then; the bio is one of 64 KiB.
    """
    edge = loop.size // 2
    os.truncate(loop.file, edge)
    with watch(loop, stages=("device", "total")) as b:
        assert read_errors(loop, edge - there, 65536) != 0
        b.next(n=2)
    a = assert_all_counted(b, stage="device")
    assert (a["requeued"], a["started"]) == (1, 1)
    assert (b.ops(stage="device"), b.total("bytes", stage="device")) == ({"read": 1}, 65536)
    found = parts_of(b, stage="device")
    # Bytes are counted beside a part's IOs, so the first portion's are included only if it is in the same part.
    assert found == {rest: {"read": (1, 65536 if rest == "64 KiB" else 65536 - there)}}
    assert b.total("errors", stage="device", part=rest) == 1
    assert_all_counted(b, stage="total")
    assert b.ops(stage="total", part="64 KiB") == {"read": 1}
