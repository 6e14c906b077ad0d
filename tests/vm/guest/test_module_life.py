# SPDX-License-Identifier: GPL-2.0-only
"""The module is loaded and unloaded: what blklat says without it, unloading under load, nothing left behind."""
import json
import mmap
import os
import subprocess

import abi
from abi import NODE, Session, a_watch
from devices import run
from engines import MODULE, blklat_module
from guest import null_blk, nvme, under_load, virtio
from load import BLKLAT, Blklat, wait_until


def complaint():
    with null_blk() as (device,):
        tried = subprocess.run([BLKLAT, "--engine", "kmod", "--dev", device.name, "--count", "1"], capture_output=True,
                               text=True)
    assert (tried.returncode, tried.stdout, tried.stderr.count("\n")) == (2, "", 1)
    return tried.stderr


def test_not_loaded():
    assert "not loaded: run 'modprobe blklat'" in complaint()


def test_not_ours():
    """Something else is in the place of the device node."""
    os.symlink("/dev/null", NODE)
    try:
        assert "not the device of blklat's kernel module" in complaint()
    finally:
        os.unlink(NODE)


def test_check_names_both():
    def engines():
        return {e["name"]: e for e in json.loads(run(BLKLAT, "check", "--format", "json"))["engines"]}
    assert engines()["bpf"]["usable"] and "modprobe blklat" in engines()["kmod"]["problem"]
    with blklat_module():
        assert engines()["kmod"]["usable"] and engines()["bpf"]["usable"]


def test_falls_back():
    """On a kernel without BTF, auto takes the module, and says so once."""
    with blklat_module(), null_blk() as (device,):
        run("mount", "-t", "tmpfs", "tmpfs", "/sys/kernel/btf")
        try:
            b = subprocess.run([BLKLAT, "--dev", device.name, "--count", "2", "--interval", "0.2", "--format", "json"],
                               capture_output=True, text=True)
        finally:
            run("umount", "/sys/kernel/btf")
    assert [json.loads(line)["engine"] for line in b.stdout.splitlines()] == ["kmod", "kmod"]
    assert (b.returncode, b.stderr.count("\n")) == (0, 1)
    assert b.stderr.startswith("blklat: using engine kmod, since bpf can't be used: the kernel gives no BTF type information")


def test_killed():
    """A session's process is killed in the middle of a load: the module can be unloaded at once."""
    with blklat_module(), null_blk() as (device,), under_load(device):
        b = Blklat(device, stage="device,queue,total", args=("--engine", "kmod"))
        b.until(lambda: b.lines, "interval")
        busy = subprocess.run(["rmmod", "blklat"], capture_output=True, text=True)
        assert busy.returncode and "in use" in busy.stderr
        b.kill()
        run("rmmod", "blklat")
        run("insmod", MODULE)


def test_loaded_and_unloaded_under_load():
    with null_blk() as (device,), under_load(device), open(device.path, "rb") as file:
        for _ in range(8):
            with blklat_module(), Session() as s:
                s.begin(*(a_watch(file.fileno(), stage) for stage in (abi.DEVICE, abi.QUEUE, abi.TOTAL)))
                wait_until(s.ios, "IO")


def free_bytes():
    """Memory that is neither used nor cache. MemFree lacks the pages that each CPU keeps for itself, which may be tens of MiB."""
    with open("/proc/sys/vm/drop_caches", "w") as f:
        f.write("3")
    figures = dict(line.split(":") for line in open("/proc/meminfo"))
    with open("/proc/zoneinfo") as f:
        kept = sum(int(line.split()[1]) for line in f if line.split()[0] == "count:")
    return sum(int(figures[k].split()[0]) for k in ("MemFree", "Buffers", "Cached")) * 1024 + kept * mmap.PAGESIZE


def test_no_leak():
    """A leak would show after sixty sessions of 1 MiB and more."""
    def sessions(n):
        for _ in range(n):
            with Session() as s:
                size = s.setup(a_watch(fd), a_watch(fd, abi.TOTAL), max_bios=65536, scale=6).bytes
                s.map(size)
                s.ioctl(abi.IOC_START)
    with blklat_module(), null_blk() as (device,), open(device.path, "rb") as file:
        fd = file.fileno()
        sessions(5)
        before = free_bytes()
        sessions(60)
        # The kernel gives memory back a while after it was freed.
        wait_until(lambda: before - free_bytes() < 8 << 20, "memory given back")


def test_looking_is_no_io():
    """Looking sends no IO to a device, not even to identify it, as reading virtio's serial number would."""
    devices = nvme(), virtio()
    looked = [word for d in devices for word in ("--dev", d.name)]
    with Blklat(*devices, interval=0.25) as b:
        for command in ("list",), ("list", "--format", "json"), ("check",), (*looked, "-i", "0.1", "-c", "2"):
            run(BLKLAT, *command)
        b.next(devices[1], n=2)
    for device in devices:
        assert b.ops(device) == {} and b.accounting(device)["started"] == 0
