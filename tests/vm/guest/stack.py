# SPDX-License-Identifier: GPL-2.0-only
"""Devices on top of others, and loads whose every IO is known beforehand."""
import contextlib
import os
import pathlib

from devices import MIB, Device, backing_file, loop_on, run
from guest import module, need_module
from load import fio, wait_until

SECTOR = 512


# --- devices ---------------------------------------------------------------------------------


@contextlib.contextmanager
def scsi_debug(**parameters):
    """A SCSI disk in memory that gets no IO but ours: only sd knows it, and there is no udev."""
    need_module("scsi_debug")
    run("modprobe", "sd_mod")
    adapter = pathlib.Path("/sys/bus/pseudo/drivers/scsi_debug/adapter0")
    with module("scsi_debug", **{"dev_size_mb": 64} | parameters):
        found = wait_until(lambda: list(adapter.glob("host*/target*/*/block/*")), "disk of scsi_debug")
        device = disk_at_rest(found[0].name)
        device.setting("scheduler", "none")
        yield device


def disk_at_rest(name):
    """A disk whose partition table has been read, by the driver or at the first opening, which must not be an engine's."""
    wait_until(pathlib.Path(f"/dev/{name}").exists, name)
    open(f"/dev/{name}", "rb").close()
    device = Device(name)
    seen = []

    def rests():
        seen.append(device.stat())
        return seen[-1]["in_flight"] == 0 and seen[-10:].count(seen[-1]) == 10

    wait_until(rests, f"quiet {name}", every_s=0.02)
    return device


@contextlib.contextmanager
def file_loop():
    """A loop device on a file in memory, which takes no direct IO before 6.6."""
    with module("loop"), backing_file("/dev/shm", 64 * MIB) as file, loop_on(file, direct=False) as device:
        yield device


@contextlib.contextmanager
def multipath():
    """The nvme disk as a multipath head over one path; guests start with the parameter off."""
    run("modprobe", "-r", "nvme")
    run("modprobe", "nvme_core", "multipath=Y")
    try:
        run("modprobe", "nvme")
        yield disk_at_rest("nvme0n1")
    finally:
        run("modprobe", "-r", "nvme")


@contextlib.contextmanager
def mapped(*table, name="blklat-test"):
    """A device mapper device of these lines. Their targets' modules stay loaded, and hold dm_mod."""
    run("sh", "-c", f"printf '%s\\n' \"$@\" | dmsetup create {name}", "sh", *table)
    try:
        yield Device(run("dmsetup", "info", "-c", "--noheadings", "-o", "blkdevname", name))
    finally:
        run("dmsetup", "remove", "--retry", name)


@contextlib.contextmanager
def dm(kind, member, *arguments):
    """A device mapper target over a whole device."""
    run("modprobe", "dm_mod" if kind == "linear" else f"dm_{kind}")
    table = " ".join(map(str, (0, member.size // SECTOR, kind, member.path, 0, *arguments)))
    with mapped(table, name=f"blklat-{kind}") as device:
        yield device


@contextlib.contextmanager
def md(level, *members):
    """An array without a superblock, so that nothing but the test writes to it. There may be one of each level."""
    device = Device(f"md{level}")
    os.environ["MDADM_NO_UDEV"] = "1"
    run("modprobe", "raid456" if level == 5 else f"raid{level}")
    # raid1 has no chunks, raid0 no resync; raid5 takes a superblock.
    options = {0: ["--chunk=64"], 1: ["--assume-clean"], 5: ["--chunk=64", "--assume-clean", "--metadata=1.2", "--bitmap=none", "--run"]}[level]
    run("mdadm", "--create" if level == 5 else "--build", device.path, f"--level={level}", f"--raid-devices={len(members)}",
        *options, *(m.path for m in members))
    try:
        yield disk_at_rest(device.name)
    finally:
        run("mdadm", "--stop", device.path)


# --- loads -----------------------------------------------------------------------------------


class Traffic:
    """What loads did to a device, by op as blklat names them; only ops that occurred."""

    NAMES = {"read": "read", "write": "write", "trim": "discard"}

    def __init__(self, *results):
        self.ops, self.bytes = {}, {}
        for f in results:
            for name, op in self.NAMES.items():
                self.add(op, f.ios(name), f.bytes(name))
            self.add("flush", f.ios("sync"), 0)

    def __add__(self, other):
        both = Traffic()
        for done in self, other:
            for op, ios in done.ops.items():
                both.add(op, ios, done.bytes[op])
        return both

    def add(self, op, ios, size):
        if ios:
            self.ops[op] = self.ops.get(op, 0) + ios
            self.bytes[op] = self.bytes.get(op, 0) + size

    @property
    def ios(self):
        return sum(self.ops.values())


def traffic(device, *loads):
    """Runs loads one after the other."""
    return Traffic(*(fio(device, thread=1, **load) for load in loads))


def assert_seen(e, device, stage, done):
    """Both engines counted exactly these IOs and bytes by op, and lost nothing. Returns the account."""
    a = e.agree(device, stage)
    assert e.kmod.ops(device, stage) == done.ops
    assert e.totals(e.kmod, "bytes", device, stage) == done.bytes
    assert a["started"] == a["completed"] == done.ios
    return a


def assert_told(stat, done):
    """The kernel's own figures, a Delta's, are the same. It counts each requested flush as a write, too."""
    s = stat()
    ops = dict.fromkeys(("read", "write", "discard"), 0)
    expected = ops | {op: n for op, n in done.ops.items() if op in ops}
    expected["write"] += done.ops.get("flush", 0)
    assert {op: s[f"{op}s"] for op in ops} == expected
    assert {op: s[f"{op}_sectors"] * SECTOR for op in ops} == {op: done.bytes.get(op, 0) for op in ops}
    return s
