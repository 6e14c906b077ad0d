# SPDX-License-Identifier: GPL-2.0-only
"""IOs divided by how many are in flight when they begin. More of it is in tests/vm/guest/test_by_engines.py."""

from load import Blklat, assert_all_counted, exact, fio
from parts import DEPTHS, of_op

STAGES = "device", "total"


def watch(*watched, by, args=()):
    return Blklat(*watched, stage=",".join(STAGES), args=["--by", by, *args])


@exact
def test_partition_and_disk(partition, loop):
    """Each device has its own depth."""
    with watch(loop, partition, by="depth") as b:
        fio(partition, rw="randread", bs=4096, number_ios=300)
        b.next(loop, n=2)
        b.next(partition, n=2)
    for device in loop, partition:
        for stage in STAGES:
            assert_all_counted(b, device, stage)
            assert of_op(b, DEPTHS, device, stage, "read") == {"1": 300}
