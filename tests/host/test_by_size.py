# SPDX-License-Identifier: GPL-2.0-only
"""
IOs divided by size: each is in the part of its size at the start of its stage, and the parts add up to the whole. Many
in flight, and other parts, are in the guests' tests of both engines (test_size_engines.py, test_by_engines.py).
"""
import mmap
import os

import pytest
from devices import MIB, run
from load import Blklat, assert_all_counted, exact, fio, read_errors
from needs import need
from parts import DEPTHS, of_op
from sizes import BY_SIZE, LABELS, assert_parts, of_requests, parts_of

STAGES = "device", "total"


def watch(*devices, by=BY_SIZE):
    return Blklat(*devices, stage=",".join(STAGES), args=by)


@exact
def test_bounds(loop):
    """An IO larger than a power of two is in the next part, however small the excess."""
    least = int(loop.setting("logical_block_size"))
    sizes = sorted({least, 4096, 2 ** 19} | {(4096 << i) + more for i in range(7) for more in (0, least)})
    need(int(loop.setting("max_segments")) * mmap.PAGESIZE >= sizes[-1], "requests of the loop device are smaller")
    with watch(loop) as b:
        for n, size in enumerate(sizes):
            for _ in range(n + 1):
                assert read_errors(loop, 0, size) == 0
        b.next(n=2)
    wanted = {part: {"read": n} for part, n in of_requests(s for n, s in enumerate(sizes) for _ in range(n + 1)).items()}
    assert wanted.keys() == set(LABELS[:-1])
    for stage in STAGES:
        assert_all_counted(b, stage=stage)
        assert_parts(b, wanted, stage=stage)


@exact
def test_large(loop):
    """The last part has no upper bound: discards may be very large."""
    sizes = 2 ** 19, 2 ** 19 + 4096, MIB, MIB + 4096, 32 * MIB
    need(int(loop.setting("discard_max_bytes")) >= sizes[-1], "no discards as large")
    with watch(loop) as b:
        for size in sizes:
            run("blkdiscard", "-f", "-l", size, loop.path)
        b.next(n=2)
    for stage in STAGES:
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
    with watch(loop) as b:
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


@exact
def test_partition_and_disk(partition, loop):
    """Each device has its own depth."""
    with watch(loop, partition, by=["--by", "depth"]) as b:
        fio(partition, rw="randread", bs=4096, number_ios=300)
        b.next(loop, n=2)
        b.next(partition, n=2)
    for device in loop, partition:
        for stage in STAGES:
            assert_all_counted(b, device, stage)
            assert of_op(b, DEPTHS, device, stage, "read") == {"1": 300}
