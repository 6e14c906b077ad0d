# SPDX-License-Identifier: GPL-2.0-only
"""IOs divided by flags: of each class that a block device's user can send. Those of a file system are in the guests' tests."""
import contextlib
import mmap
import os

from devices import MIB, run
from load import Blklat, assert_all_counted, exact
from parts import FLAGS, parts_of


def watch(device, stages):
    return Blklat(device, stage=",".join(stages), args=["--by", "flags"])


@contextlib.contextmanager
def direct(device):
    fd = os.open(device.path, os.O_RDWR | os.O_DIRECT)
    try:
        yield fd, mmap.mmap(-1, MIB)
    finally:
        os.close(fd)


@exact
def test_each(loop):
    """One at a time, of each class that a block device's user can send."""
    with watch(loop, ("device", "total")) as b, direct(loop) as (fd, page):
        buffered = os.open(loop.path, os.O_RDWR)
        try:
            for n in range(3):
                os.preadv(fd, [memoryview(page)[:4096]], n * 65536)
                os.pwritev(fd, [memoryview(page)[:8192]], MIB + n * 65536)
            os.fsync(fd)
            os.pwrite(buffered, b"x" * 16384, 4 * MIB)
            # Starts writeback without waiting for it.
            os.posix_fadvise(buffered, 4 * MIB, 16384, os.POSIX_FADV_DONTNEED)
            os.fsync(buffered)
            os.posix_fadvise(buffered, 8 * MIB, 65536, os.POSIX_FADV_WILLNEED)
            os.pread(buffered, 65536, 8 * MIB)
            run("blkdiscard", "-f", "-o", 16 * MIB, "-l", MIB, loop.path)
            b.next(loop, n=2)
        finally:
            os.close(buffered)
    for stage in "device", "total":
        assert_all_counted(b, loop, stage)
        found = parts_of(b, FLAGS, loop, stage)
        assert found["FUA/flush"] == {"flush": 2}
        # An ioctl waits for its discards.
        assert found["sync"] == {"read": 3, "write": 3, "discard": 1}
        assert found["writeback"].keys() == {"write"} and b.total("bytes", "write", loop, stage, "writeback") == 16384
        assert found["readahead"].keys() == {"read"} and b.total("bytes", "read", loop, stage, "readahead") >= 65536
        assert found.keys() == set(FLAGS) - {"metadata", "other"}
