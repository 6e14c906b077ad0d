# SPDX-License-Identifier: GPL-2.0-only
"""
IO that takes unusual ways: polled IO without an interrupt, commands that the block layer passes through, IO that
moves from a failed path to another, and zone appends. Both engines count each once.
"""
import contextlib
import mmap
import os
import pathlib
import struct
import zlib

import pytest
from devices import Delta, Device, run
from engines import both
from faulty import null_blks
from guest import at_least, module, nvme, null_blk
from load import Fio, fio, wait_until
from passthrough import nvme_command, nvme_read, scsi_ready
from stack import disk_at_rest, scsi_debug

KIB = 1024
POLLED = {"ioengine": "io_uring", "hipri": 1, "iodepth": 16, "thread": 1}


# --- polled ----------------------------------------------------------------------------------


@contextlib.contextmanager
def polled_null_blk():
    run("modprobe", "null_blk", "nr_devices=0")
    there = pathlib.Path("/sys/module/null_blk/parameters/poll_queues").exists()
    run("modprobe", "-r", "null_blk")
    if not there:
        pytest.skip("null_blk of this kernel has no poll_queues")
    with null_blk(poll_queues=1, irqmode=0, queue_mode=2) as (device,):
        yield device


@contextlib.contextmanager
def polled_nvme():
    run("modprobe", "-r", "nvme")
    try:
        run("modprobe", "nvme", "poll_queues=1")
        yield disk_at_rest("nvme0n1")
    finally:
        run("modprobe", "-r", "nvme")


@pytest.mark.parametrize("kind", [pytest.param("null_blk", marks=pytest.mark.before_release), "nvme"])
def test_polled(kind):
    """The waiting task polls the queue for completions; nothing interrupts, and the IO ends in that task."""
    with polled_null_blk() if kind == "null_blk" else polled_nvme() as device:
        device.setting("scheduler", "none")
        if device.setting("io_poll") != "1":
            pytest.skip(f"{kind} of this kernel has no queue to poll")
        stat = Delta(device)
        with both(device, stage="device,total") as e:
            done = [fio(device, rw=rw, number_ios=1000, **POLLED) for rw in ("randread", "randwrite")]
            # IOs that are not polled have other queues.
            done.append(fio(device, rw="randread", number_ios=500, ioengine="libaio", iodepth=16, thread=1))
            e.settle()
        reads, writes = (sum(f.ios(op) for f in done) for op in ("read", "write"))
        assert (reads, writes) == (1500, 1000) == (stat()["reads"], stat()["writes"])
        for stage in "device", "total":
            a = e.agree(device, stage)
            print(a)
            assert a["started"] == a["completed"] == 2500
            assert e.kmod.ops(device, stage) == {"read": 1500, "write": 1000}
        assert e.agree(device, "device")["kernel_ios"] == 2500


# --- commands of a user's own ----------------------------------------------------------------


def test_io_uring_cmd():
    """Reads and writes as commands to the drive: requests of op other, and no bios. The kernel's statistics leave them out."""
    if not at_least(6, 1):
        pytest.skip("io_uring_cmd came with Linux 5.19")
    device = nvme()
    generic = pathlib.Path("/dev/ng0n1")
    assert generic.exists()
    stat = Delta(device)
    with both(device, stage="device,total") as e:
        command = {"filename": generic, "ioengine": "io_uring_cmd", "cmd_type": "nvme", "direct": 0, "thread": 1,
                   "iodepth": 16, "number_ios": 500, "size": "16M"}
        done = [fio(device, rw=rw, **command) for rw in ("randread", "randwrite")]
        plain = fio(device, rw="randread", number_ios=100, thread=1)
        e.settle()
    assert [done[0].ios("read"), done[1].ios("write"), plain.ios("read")] == [500, 500, 100]
    a = e.agree(device, "device")
    print(a)
    assert a["started"] == a["completed"] == 1100
    assert e.kmod.ops(device, "device") == {"other": 1000, "read": 100}
    assert e.totals(e.kmod, "bytes", device, "device") == {"other": 1000 * 4 * KIB, "read": 100 * 4 * KIB}
    assert e.kmod.ops(device, "total") == {"read": 100}
    assert a["kernel_ios"] == stat()["ios"] == 100


@pytest.mark.parametrize("counted", [0, 1])
def test_iostats_passthrough(counted):
    """
    On request the kernel counts a user's commands with data as reads and writes; to blklat they are always op other. Those
    that the kernel leaves out are not taken for a gap.
    """
    with scsi_debug(delay=0) as scsi, contextlib.ExitStack() as undo:
        drive = nvme()
        devices = drive, scsi
        if not (drive.sysfs / "queue/iostats_passthrough").exists():
            pytest.skip("iostats_passthrough came with Linux 6.13")
        fds = []
        for device in devices:
            device.setting("iostats_passthrough", counted)
            undo.callback(device.setting, "iostats_passthrough", 0)
            fds.append(os.open(device.path, os.O_RDONLY))
            undo.callback(os.close, fds[-1])
        stats = [Delta(device) for device in devices]
        with both(*devices) as e:
            for _ in range(7):
                nvme_read(fds[0], 8, 4 * KIB)
                scsi_ready(fds[1])
            done = [fio(device, rw="randread", number_ios=100, thread=1).ios("read") for device in devices]
            e.settle()
        assert done == [100, 100]
        for device, stat in zip(devices, stats):
            a = e.agree(device)
            print(device.name, a, stat())
            assert e.kmod.ops(device) == {"read": 100, "other": 7}
            assert a["started"] == a["completed"] == 107
            kernel = 107 if counted and device is drive else 100
            assert a["kernel_ios"] == stat()["ios"] == stat()["reads"] == kernel
            assert stat()["read_sectors"] * 512 == kernel * 4 * KIB


# --- a path fails ----------------------------------------------------------------------------

NVMET = pathlib.Path("/sys/kernel/config/nvmet")
NQN = "blklat-test"
HOST = "nqn.2014-08.org.nvmexpress:uuid:5b1ac1a7-0000-4000-8000-000000000001"


def put(path, text):
    path.write_text(f"{text}\n")


@contextlib.contextmanager
def target(backing, ports):
    """A target of the kernel itself, reached by @ports ports of the loop transport."""
    with contextlib.ExitStack() as undo:
        if not os.path.ismount("/sys/kernel/config"):
            run("modprobe", "configfs")
            run("mount", "-t", "configfs", "configfs", "/sys/kernel/config")
        undo.enter_context(module("nvme_loop"))
        subsystem = NVMET / "subsystems" / NQN
        subsystem.mkdir()
        undo.callback(subsystem.rmdir)
        put(subsystem / "attr_allow_any_host", 1)
        namespace = subsystem / "namespaces/1"
        namespace.mkdir()
        undo.callback(namespace.rmdir)
        put(namespace / "device_path", backing.path)
        put(namespace / "enable", 1)
        for n in range(1, ports + 1):
            port = NVMET / "ports" / str(n)
            port.mkdir()
            undo.callback(port.rmdir)
            put(port / "addr_trtype", "loop")
            put(port / "addr_traddr", n)
            link = port / "subsystems" / NQN
            link.symlink_to(subsystem)
            undo.callback(link.unlink)
        yield


def connect(port):
    """Connects as nvme-cli does, which names no host where no file has its name."""
    options = f"transport=loop,traddr={port},nqn={NQN},hostnqn={HOST},hostid={HOST.rpartition(':')[2]}"
    fd = os.open("/dev/nvme-fabrics", os.O_RDWR)
    try:
        os.write(fd, options.encode())
    finally:
        os.close(fd)


def states():
    return [p.read_text() for p in pathlib.Path("/sys/class/nvme").glob("nvme*/state")]


@contextlib.contextmanager
def connected(backing, paths):
    """The head of a drive with so many paths, and a function that makes the first of them inaccessible or optimized."""
    run("modprobe", "-r", "nvme")
    run("modprobe", "-r", "nvme_core")
    run("modprobe", "nvme_core", "multipath=Y")
    try:
        with target(backing, paths):
            try:
                for n in range(paths):
                    connect(n + 1)
                wait_until(lambda: states() == ["live\n"] * paths, "controllers that are live")
                head = wait_until(lambda: [p.name for p in pathlib.Path("/sys/block").glob("nvme*n1") if "c" not in p.name],
                                  "head")[0]
                yield disk_at_rest(head), lambda state: put(NVMET / "ports/1/ana_groups/1/ana_state", state)
            finally:
                run("nvme", "disconnect", "-n", NQN)
    finally:
        run("modprobe", "-r", "nvme_fabrics")
        run("modprobe", "-r", "nvme_core")


def test_failover():
    """
    One of two paths becomes inaccessible under load, again and again. Its IO in flight comes back and takes the other
    path: the head has each of fio's IOs once, without an error.
    """
    if not at_least(6, 12):
        pytest.skip("Debian's kernels have nvme-loop from 6.12 on")
    with null_blks({"irqmode": 2, "completion_nsec": 1000000, "memory_backed": 0}) as (backing,):
        with connected(backing, 2) as (head, ana):
            paths = [Device(p.name) for p in pathlib.Path("/sys/block").glob("nvme*c*n1")]
            assert len(paths) == 2
            for path in paths:
                path.setting("nomerges", 2)
            stat, stats = Delta(head), [Delta(path) for path in paths]
            with both(head) as e:
                with Fio(head, rw="randrw", ioengine="libaio", iodepth=32, time_based=1, runtime=3600, thread=1) as load:
                    load.until(lambda: stat()["ios"] > 100, "load")
                    for _ in range(5):
                        for state in "inaccessible", "optimized":
                            before = stat()["ios"]
                            ana(state)
                            load.until(lambda: stat()["ios"] > before + 200, "load by the other path")
                    f = load.end()
                e.settle()
            requests = [stat()["ios"] for stat in stats]
        assert f.errors == 0
        a = e.agree(head, "total")
        ios = f.ios("read") + f.ios("write")
        print(a, requests)
        # Both paths were used. Requests whose bios were taken back count as ended, too.
        assert min(requests) > 0 and sum(requests) > ios
        assert a["started"] == a["completed"] == ios
        assert e.kmod.ops(head) == {"read": f.ios("read"), "write": f.ios("write")}
        assert e.kmod.total("bytes") == f.bytes("read") + f.bytes("write")
        assert e.kmod.total("errors") == 0


# --- zone appends ----------------------------------------------------------------------------

ZONE_BYTES = 4 << 20


@contextlib.contextmanager
def zonefs(device, folder):
    """Formats a zoned device as the kernel's Documentation/filesystems/zonefs.rst says, and mounts it."""
    block = bytearray(struct.pack("<II64s16sQIII", 0x5a4f4653, 0, b"", b"blklat's zonefs.", 0, 0, 0, 0o600).ljust(4096, b"\0"))
    block[4:8] = (zlib.crc32(block) ^ 0xffffffff).to_bytes(4, "little")
    with open(os.open(device.path, os.O_WRONLY | os.O_DIRECT), "wb", buffering=0) as f, mmap.mmap(-1, 4096) as buffer:
        buffer[:] = bytes(block)
        f.write(buffer)
    with module("zonefs"):
        run("mount", "-t", "zonefs", device.path, folder)
        try:
            yield
        finally:
            run("umount", folder)


@contextlib.contextmanager
def appends_by_zonefs(device, folder):
    """It appends what is written synchronously; a zone is a file."""
    with zonefs(device, folder), mmap.mmap(-1, 4096) as buffer:
        with open(os.open(folder / "seq/0", os.O_WRONLY | os.O_DIRECT | os.O_SYNC), "wb", buffering=0) as f:
            yield lambda: f.write(buffer)


@contextlib.contextmanager
def appends_by_nvme(device):
    """The target has the device do what its namespace is told to. Opcode: Zone Append."""
    with connected(device, 1) as (head, _), open(head.path, "rb") as f:
        yield lambda: nvme_command(f.fileno(), 0x43, 4096, opcode=0x7d, cdw10=ZONE_BYTES // 512, cdw12=4096 // 512 - 1)


def test_zone_append(tmp_path):
    """A zone append, an op with another number in each of these kernels, is a write, as in the kernel's statistics."""
    if at_least(5, 11) and not at_least(6, 12):
        pytest.skip("zonefs of 6.1 reports appends as failed, and Debian's kernels have nvme-loop from 6.12 on")
    with null_blks({"zoned": 1, "zone_size": ZONE_BYTES >> 20, "memory_backed": 1}) as (device,):
        with appends_by_nvme(device) if at_least(6, 12) else appends_by_zonefs(device, tmp_path) as append:
            stat = Delta(device)
            with both(device, stage="device,total") as e:
                for _ in range(10):
                    append()
                e.settle()
            assert stat()["writes"] == 10
    for stage in "device", "total":
        e.agree(device, stage)
        assert e.kmod.ops(device, stage) == {"write": 10}
        assert e.totals(e.kmod, "bytes", device, stage) == {"write": 10 * 4096}
