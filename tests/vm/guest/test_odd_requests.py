# SPDX-License-Identifier: GPL-2.0-only
"""
Requests that are requeued, end in parts, fail, or are unusual: both engines count each once, and as many
requeues as the kernel's own trace.
"""
import contextlib
import errno
import mmap
import os

import pytest
from devices import Delta, run
from engines import both
from faulty import BAD_SECTORS, HOST_BUSY, IGNORED, MEDIUM_ERROR, SHORT, null_blks, scsi_fault, traced
from guest import DEEP, at_least, nvme, virtio
from load import fio
from parts import labels_of, parts_of
from passthrough import nvme_identify, nvme_read, scsi_ready
from skips import as_is_and_skipped
from stack import SECTOR, scsi_debug

KIB, MIB = 1024, 1024 * 1024
EVENTS = "issue", "requeue", "complete"


# --- requeued --------------------------------------------------------------------------------


def assert_requeued(e, device, ios, events, parts=0):
    """
    Every issued request either ended or was taken back. A request that the busy driver refused before it was
    issued is in the trace of requeues, but was never started.
    """
    a = e.agree(device, "device")
    assert a["started"] == a["completed"] == a["kernel_ios"] == ios
    assert events["issue"] == a["started"] + a["requeued"]
    assert events["complete"] == a["completed"] + parts
    assert a["requeued"] <= events["requeue"]
    e.agree(device, "queue")
    return a["requeued"]


def test_requeued_by_null_blk():
    """
    Its bandwidth is used up, so the request goes back, after it was issued or, as in 7.2, before. Each 20 ms
    have room for two of these, so the next one has to wait however slow the machine is. They also need room for
    a page, as a larger request waits for ever, and the kernel reads the partition table by pages.
    """
    mbps = -(-mmap.PAGESIZE * 50 // MIB)
    with null_blks({"mbps": mbps, "memory_backed": 1}) as (device,):
        stat = Delta(device)
        with both(device, stage="device,queue,total") as e, traced(device, *EVENTS) as events:
            for scheduler in "none", "mq-deadline":
                device.setting("scheduler", scheduler)
                before = events()["requeue"]
                fio(device, rw="randrw", bs=f"{8 * mbps}k", number_ios=40, thread=1, **DEEP)
                assert events()["requeue"] > before
            e.settle()
            seen = events()
        s = stat()
        print(assert_requeued(e, device, s["ios"], seen), seen)
        assert e.agree(device, "total")["started"] == 80 == s["ios"] + s["read_merges"] + s["write_merges"]


# How many of the commands are taken back, and how many end in two parts. While the host is busy, requests wait, and others
# are refused before they are issued.
COMMANDS = 500
SCSI_FAULTS = ((HOST_BUSY, 50, None, 0), (SHORT, 25, 20, 20), (IGNORED, 350, 1, 0))


@as_is_and_skipped
@pytest.mark.usefixtures("skips")
def test_requeued_by_scsi():
    """The host is busy; a command transfers half of its data; one gets no answer and is aborted."""
    with scsi_debug(delay=0) as device:
        # Longer than any other command may take.
        (device.sysfs / "device/timeout").write_text("4")
        device.setting("nomerges", 2)
        stat = Delta(device)
        with both(device, stage="device,queue,total") as e, traced(device, *EVENTS) as events:
            for kind, every, requeued, parts in SCSI_FAULTS:
                before = events()
                with scsi_fault(kind, every):
                    assert fio(device, rw="randread", number_ios=COMMANDS, thread=1, **DEEP).errors == 0
                new = {name: n - before[name] for name, n in events().items()}
                assert new["complete"] == COMMANDS + parts
                assert new["requeue"] == requeued if requeued else new["issue"] > COMMANDS
            e.settle()
            seen = events()
        assert assert_requeued(e, device, stat()["ios"], seen, parts=20) > 20
        assert stat()["ios"] == 3 * COMMANDS
        for stage in "device", "total":
            assert e.kmod.ops(device, stage) == {"read": 3 * COMMANDS}
            assert e.totals(e.kmod, "bytes", device, stage) == {"read": 3 * COMMANDS * 4 * KIB}
            assert e.totals(e.kmod, "errors", device, stage) == {"read": 0}


# --- failed ----------------------------------------------------------------------------------


def read_at(fd, sector, size):
    """A direct read; returns whether it succeeded."""
    with mmap.mmap(-1, size) as buffer:
        try:
            return os.preadv(fd, [buffer], sector * SECTOR) == size
        except OSError as e:
            assert e.errno in (errno.EIO, errno.ENODATA)
            return False


@contextlib.contextmanager
def direct(device, flags=os.O_RDONLY):
    fd = os.open(device.path, flags | os.O_DIRECT)
    try:
        yield fd
    finally:
        os.close(fd)


NONE_SLOW = "--slow", "10s"


def test_medium_errors():
    """Reads of one block each around the bad sectors fail if they touch one, and so does a longer one. Each is listed, slow or not."""
    first, last = BAD_SECTORS[0] // 8 * 8 - 64, BAD_SECTORS[-1] + 64
    blocks = range(first, last, 8)
    bad = [b for b in blocks if {*range(b, b + 8)} & {*BAD_SECTORS}]
    with scsi_debug(delay=0) as device, direct(device) as fd:
        stat = Delta(device)
        with both(device, stage="device,total", bpf_args=NONE_SLOW, kmod_args=NONE_SLOW) as e, traced(device, "complete") as events:
            with scsi_fault(MEDIUM_ERROR):
                failed = [b for b in blocks if not read_at(fd, b, 4 * KIB)]
                assert failed == bad
                assert not read_at(fd, first, 64 * KIB)
                assert read_at(fd, 0, 64 * KIB)
            e.settle()
            seen = events()
        print(failed, seen)
        ios = len(blocks) + 2
        a = e.agree(device, "device")
        assert a["started"] == stat()["ios"] == ios
        # A failed command completes twice: its good part, which is empty, then the error.
        assert seen["complete"] == ios + len(bad) + 1
        for stage in "device", "total":
            assert e.kmod.ops(device, stage) == {"read": ios}
            assert e.totals(e.kmod, "errors", device, stage) == {"read": len(bad) + 1}
            for told in e.slow(device, stage):
                assert [(io["error"], io["op"]) for io in told] == [("medium", "read")] * (len(bad) + 1)
                assert any(io["bytes"] == 4 * KIB and BAD_SECTORS[0] - 8 <= io["sector"] <= BAD_SECTORS[0] for io in told)
        assert e.totals(e.kmod, "bytes", device, "total") == {"read": len(blocks) * 4 * KIB + 128 * KIB}


@pytest.mark.before_release
def test_failed_by_null_blk():
    """Reads each block of 4 MiB once: 64 of them are bad."""
    with null_blks({"badblocks": "+1024-1535", "memory_backed": 1}) as (device,):
        stat = Delta(device)
        with both(device, stage="device,total") as e:
            f = fio(device, rw="randrw", size="4M", thread=1, continue_on_error="all", **DEEP)
            e.settle()
        s = stat()
        assert e.agree(device, "device")["started"] == s["ios"]
        assert e.agree(device, "total")["started"] == 1024
        assert sum(e.totals(e.kmod, "errors", device, "total").values()) == f.errors == 64


# --- not reads, not writes -------------------------------------------------------------------


BY_OPERATION = "--by", "operation"


def operations(b, device, stage):
    """{operation: IOs}"""
    return {part: sum(ops.values()) for part, ops in parts_of(b, labels_of(b), device, stage).items()}


ZEROES, DISCARDS = (20, 64 * KIB), (30, 128 * KIB)


def discard_and_zero(device):
    """Works in known steps, without looking at what is there."""
    for (n, step), option in ((ZEROES, ["-z"]), (DISCARDS, [])):
        run("blkdiscard", "-f", *option, "-o", 0, "-l", n * step, "-p", step, device.path)


def assert_discarded(e, device, stat):
    s = stat()
    # For a device without a command for it, the kernel writes the zeroes.
    op = "other" if int(device.setting("write_zeroes_max_bytes")) >= ZEROES[1] else "write"
    for stage in "device", "total":
        e.agree(device, stage)
        assert e.kmod.ops(device, stage) == {op: 20, "discard": 30}, device.name
        for b in e:
            assert operations(b, device, stage) == {{"other": "write zeroes"}.get(op, op): 20, "discard": 30}
        assert e.totals(e.kmod, "bytes", device, stage) == {op: 20 * 64 * KIB, "discard": 30 * 128 * KIB}
    assert (s["discards"], s["discard_sectors"]) == (30, 30 * 128 * KIB // SECTOR)
    assert (s["writes"], s["write_sectors"]) == (20, 20 * 64 * KIB // SECTOR)
    return op


def test_discards_and_zeroes():
    with null_blks({"discard": 1, "memory_backed": 1}) as (null,), scsi_debug(delay=0, lbpu=1, lbpws=1) as scsi:
        devices = null, scsi, nvme(), virtio()
        stats = [Delta(device) for device in devices]
        with both(*devices, stage="device,total", bpf_args=BY_OPERATION, kmod_args=BY_OPERATION) as e:
            for device in devices:
                discard_and_zero(device)
            e.settle()
        zeroes = {device.name: assert_discarded(e, device, stat) for device, stat in zip(devices, stats)}
        print(zeroes)
        assert {zeroes[scsi.name], zeroes["nvme0n1"]} == {"other"}


def test_zone_commands():
    """Each op of the kernel has a name, at both stages, where its number differs between kernels, too."""
    with null_blks({"zoned": 1, "zone_size": 4, "zone_nr_conv": 0, "memory_backed": 1}) as (device,):
        with both(device, stage="device,total", bpf_args=BY_OPERATION, kmod_args=BY_OPERATION) as e:
            for command in 3 * ["open"] + ["close"] + 2 * ["finish"] + 4 * ["reset"]:
                run("blkzone", command, "-o", 0, "-c", 1, device.path)
            run("blkzone", "reset", device.path)
            e.settle()
    for stage in "device", "total":
        assert e.agree(device, stage)["completed"] == 11 and e.kmod.ops(device, stage) == {"other": 11}
        for b in e:
            assert operations(b, device, stage) == {"zone open": 3, "zone close": 1, "zone finish": 2, "zone reset": 4, "zone reset all": 1}


def test_passthrough():
    """A user's command is one IO of op other; a command to the controller takes another path."""
    with scsi_debug(delay=0) as scsi, direct(scsi) as scsi_fd, direct(nvme()) as nvme_fd:
        devices = nvme(), scsi
        stats = [Delta(device) for device in devices]
        with both(*devices, stage="device,total", bpf_args=BY_OPERATION, kmod_args=BY_OPERATION) as e:
            assert read_at(nvme_fd, 0, 4 * KIB) and read_at(scsi_fd, 0, 4 * KIB)
            for _ in range(5):
                nvme_read(nvme_fd, 8, 4 * KIB)
                nvme_identify(nvme_fd)
                scsi_ready(scsi_fd)
            e.settle()
        for device, stat, size in zip(devices, stats, (20 * KIB, 0)):
            s = stat()
            print(e.agree(device, "device"), s)
            assert e.kmod.ops(device, "device") == {"read": 1, "other": 5}
            assert [operations(b, device, "device") for b in e] == 2 * [{"read": 1, "passthrough in": 5}]
            assert e.totals(e.kmod, "bytes", device, "device") == {"read": 4 * KIB, "other": size}
            assert e.kmod.ops(device, "total") == {"read": 1}
            # 5.10 counts them in its statistics, as reads.
            assert (s["reads"], s["writes"], s["discards"]) == (1 if at_least(6, 1) else 6, 0, 0)
