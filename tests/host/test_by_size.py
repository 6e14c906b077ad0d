# SPDX-License-Identifier: GPL-2.0-only
"""
IOs divided by size: each is in the part of its size at the start of its stage. Sizes, many in flight, and other parts are
in the guests' tests of both engines (test_size_engines.py, test_by_engines.py), bounds in tests/unit/test_part.c.
"""
import os

import pytest
from load import Blklat, assert_all_counted, exact, fio, read_errors
from parts import DEPTHS, of_op
from sizes import BY_SIZE, parts_of

STAGES = "device", "total"


def watch(*devices, by=BY_SIZE):
    return Blklat(*devices, stage=",".join(STAGES), args=by)


@pytest.mark.parametrize("there,rest", [(16384, "64 KiB"), (49152, "16 KiB")])
@pytest.mark.usefixtures("skips")
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
