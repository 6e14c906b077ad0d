# SPDX-License-Identifier: GPL-2.0-only
"""IOs divided by flags, compared with the flags of each issued request in the kernel's own trace."""
import contextlib
import mmap
import os
import pathlib
import shutil
import subprocess
import tempfile

from devices import MIB, run, unmount
from load import Blklat, assert_all_counted, exact
from needs import need
from parts import FLAGS, classes_in, parts_of
from tracing import traced_events, tracefs

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


@exact
def test_file_system(loop):
    """IO of a file system with a journal: each request's class follows from the letters that the kernel traces for it."""
    need(shutil.which("mkfs.ext4"), "no mkfs.ext4")
    run("mkfs.ext4", "-q", "-F", loop.path)
    with contextlib.ExitStack() as undo:
        folder = pathlib.Path(undo.enter_context(tempfile.TemporaryDirectory(prefix="blklat-test-")))
        trace = undo.enter_context(tracefs())
        with traced_events(trace, loop, "block_rq_issue") as lines, watch(loop, ("device", "total")) as b:
            run("mount", loop.path, folder)
            try:
                for n in range(20):
                    (folder / f"d{n}").mkdir()
                    (folder / f"d{n}/file").write_bytes(bytes(50000 + n))
                with open(folder / "d3/file", "ab") as f:
                    f.write(b"more")
                    f.flush()
                    os.fsync(f.fileno())
                subprocess.run(["sync", "-f", folder], check=True)
            finally:
                unmount(folder)
            run("mount", loop.path, folder)
            try:
                assert len(list(folder.glob("d*/file"))) == 20
                assert sum(len(p.read_bytes()) for p in folder.glob("d*/file")) == 20 * 50000 + sum(range(20)) + 4
            finally:
                unmount(folder)
            b.next(loop, n=2)
            wanted = classes_in(lines())
    for stage in "device", "total":
        assert_all_counted(b, loop, stage)
    assert {part: sum(ops.values()) for part, ops in parts_of(b, FLAGS, loop, "device").items()} == wanted
    assert {"FUA/flush", "metadata", "sync"} <= wanted.keys(), wanted
    # A preflush with data is a flush and a write at the device, but one bio, of the requested class.
    assert parts_of(b, FLAGS, loop, "total")["FUA/flush"]["write"] > 0
