# SPDX-License-Identifier: GPL-2.0-only
"""Slow IOs name their file, on each kernel and by both engines: the inode is that of stat, the name the end of the path."""
import contextlib
import mmap
import os
import pathlib
import tempfile

from devices import run, unmount
from engines import both
from faulty import null_blks

STAGES = "device", "total"
TELL = "--slow", "1us", "--slow-max", "10000"
LONG = "n" * 60
KIB = 1024


@contextlib.contextmanager
def mounted():
    """An ext4 without a journal on a disk that splits large IOs, its own reads done. What is not synchronized it would write later."""
    with null_blks({"size": 64, "memory_backed": 1}) as (device,), tempfile.TemporaryDirectory(prefix="blklat-test-") as folder:
        device.setting("max_sectors_kb", 64)
        run("modprobe", "ext4")
        run("mkfs.ext4", "-q", "-F", "-O", "^has_journal", "-E", "lazy_itable_init=0", device.path)
        run("mount", "-o", "noinit_itable,noatime", device.path, folder)
        try:
            yield device, pathlib.Path(folder)
        finally:
            unmount(folder)


def files_in(folder):
    """Three to be read, written back and read directly; short names, and long ones that are cut."""
    (folder / "one/two/three").mkdir(parents=True)
    (folder / LONG).mkdir()
    files = folder / "one/two/three/read", folder / LONG / ("w" * 100), folder / "direct"
    for file in files:
        file.write_bytes(os.urandom(256 * KIB))
    run("sync", "-f", folder)
    pathlib.Path("/proc/sys/vm/drop_caches").write_text("1\n")
    return files


def told(slow, op, comm="dd"):
    """What is told of the file, of all these IOs alike, and their bytes; without metadata."""
    ios = [io for io in slow if (io["op"], io["comm"]) == (op, comm) and io["pages"] != "device"]
    files = {(io["pages"], io["file_device"], io["inode"], io["file"]) for io in ios}
    assert len(files) == 1, ios
    return *files, sum(io["bytes"] for io in ios)


def of(file, name):
    s = file.stat()
    return "file", f"{os.major(s.st_dev)}:{os.minor(s.st_dev)}", s.st_ino, name


def dd(*args):
    run("dd", "status=none", *args)


def test_files():
    with mounted() as (device, folder):
        read, written, direct = files_in(folder)
        with both(device, stage=",".join(STAGES), bpf_args=TELL, kmod_args=TELL) as engines:
            dd(f"if={read}", "of=/dev/null", "bs=256K")
            engines.settle()
            seen = [{stage: engines.slow(device, stage)[i] for stage in STAGES} for i in range(2)]
        for slow in seen:
            for stage in STAGES:
                assert told(slow[stage], "read") == (of(read, "two/three/read"), 256 * KIB)
        with both(device, stage=",".join(STAGES), bpf_args=TELL, kmod_args=TELL) as engines:
            dd("if=/dev/zero", f"of={written}", "bs=256K", "count=1", "conv=notrunc,fsync")
            dd(f"if={direct}", "of=/dev/null", "bs=64K", "iflag=direct")
            run("sync", "-f", folder)
            engines.settle()
            seen = [{stage: engines.slow(device, stage)[i] for stage in STAGES} for i in range(2)]
        for slow in seen:
            for stage in STAGES:
                assert told(slow[stage], "read") == (("direct", None, None, None), 256 * KIB)
                ios = [io for io in slow[stage] if io["op"] == "write" and io["pages"] == "file"]
                assert sum(io["bytes"] for io in ios) == 256 * KIB
                assert {io["file"] for io in ios} == {f"{LONG[:43]}/{'w' * 43}"} and {io["inode"] for io in ios} == {written.stat().st_ino}
                metadata = [io for io in slow[stage] if io["pages"] == "device"]
                assert {(io["file_device"], io["inode"], io["file"]) for io in metadata} <= {(device.number, None, None)}


def test_deleted_and_mapped():
    """A file that has no name any more says so, and one that is mapped as a buffer for direct IO is not that one's file."""
    with mounted() as (device, folder):
        buffer, _, direct = files_in(folder)
        with both(device, stage=",".join(STAGES), bpf_args=TELL, kmod_args=TELL) as engines:
            with open(buffer, "r+b") as f, mmap.mmap(f.fileno(), 64 * KIB) as mapped, open(folder / "gone", "wb", buffering=0) as gone:
                gone.write(bytes(64 * KIB))
                (folder / "gone").unlink()
                os.fsync(gone.fileno())
                mapped[:] = bytes(64 * KIB)
                fd = os.open(direct, os.O_WRONLY | os.O_DIRECT)
                os.pwrite(fd, mapped, 0)
                os.close(fd)
            run("sync", "-f", folder)
            engines.settle()
            for stage in STAGES:
                for slow in engines.slow(device, stage):
                    ios = [io for io in slow if (io["op"], io["pid"]) == ("write", os.getpid()) and io["pages"] != "device"]
                    assert {(io["pages"], io["file"]) for io in ios} == {("file", "gone (deleted)"), ("direct", None)}
                    assert sum(io["bytes"] for io in ios) == 128 * KIB


def test_no_owners():
    with mounted() as (device, folder):
        read, _, _ = files_in(folder)
        args = (*TELL, "--no-owners")
        with both(device, stage=",".join(STAGES), bpf_args=args, kmod_args=args) as engines:
            dd(f"if={read}", "of=/dev/null", "bs=256K")
            engines.settle()
            for stage in STAGES:
                for slow in engines.slow(device, stage):
                    assert slow and {(io["pages"], io["file_device"], io["inode"], io["file"]) for io in slow} == {(None,) * 4}
