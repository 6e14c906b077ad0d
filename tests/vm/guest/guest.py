# SPDX-License-Identifier: GPL-2.0-only
"""
What guest tests use besides tests/host/load.py (Blklat, Fio, fio(), assert_all_counted()) and
tests/host/devices.py (loop(), zram(), Device, Delta).

A test runs as root on each kernel, in a machine that is thrown away. It shares one boot with all others, so
it takes down what it sets up: the devices here are context managers. $VM_KERNEL is the kernel's name in vm.py:
its series (see at_least()) and flavour; $VM_OUT is a folder that outlives the guest, $BLKLAT the program,
$BLKLAT_KO the module.
There are /dev/nvme0n1 and /dev/vda (write cache, discards, two queues), no udev, no network, 1 GiB of memory.

    @pytest.mark.parametrize("load", LOADS)
    def test_counts(load):
        with null_blk(irqmode=2, completion_nsec=100000) as (device,):
            stat = Delta(device)
            with Blklat(device) as b:
                f = fio(device, number_ios=1000, **load)
                b.next()
            assert_all_counted(b)
            assert b.ops() == {"read": f.ios("read")} == {"read": stat()["reads"]}

Emulation is about six times slower than the host: some hundred IOs are enough, and since the start of the BPF engine takes
longer than most loads, one run watches several devices. Unlike on some hosts, the
kernel skips no program here, so no test needs @exact. Timings are the emulator's, so assert only lower
bounds (completion_nsec), counts, and one engine against the other.
"""
import contextlib
import os
import pathlib
import subprocess

import pytest
from devices import Device, run
from load import Fio, wait_until

SERIES, _, FLAVOUR = os.environ["VM_KERNEL"].partition("-")
KERNEL = tuple(map(int, SERIES.split(".")))
# One IO at a time, and many.
SINGLE = {"ioengine": "psync"}
DEEP = {"ioengine": "libaio", "iodepth": 32}


def at_least(*version):
    """Whether this kernel's series is this or a later one: at_least(6, 1)."""
    return KERNEL >= version


def has_module(name):
    """Debian builds some modules for x86 alone."""
    return not subprocess.run(["modprobe", "-q", "-n", name]).returncode


def need_module(name):
    """Skips the test without it."""
    if not has_module(name):
        pytest.skip(f"this kernel has no {name}")


@contextlib.contextmanager
def module(name, **parameters):
    """A module of the kernel, which is loaded neither before nor after."""
    run("modprobe", name, *(f"{k}={v}" for k, v in parameters.items()))
    try:
        yield
    finally:
        # Something may still be closing one of its devices.
        wait_until(lambda: not unload(name), f"end of module {name}")


def unload(name):
    """Whether it is still loaded afterwards. Another module that needs it won't go by itself."""
    loaded = pathlib.Path(f"/sys/module/{name}")
    with contextlib.suppress(AssertionError):
        run("modprobe", "-r", name)
    holders = [h.name for h in (loaded / "holders").iterdir()] if loaded.exists() else []
    assert not holders, f"{name} is needed by {', '.join(holders)}"
    return loaded.exists()


def disk(name, driver=None):
    """A disk that the guest was started with, its driver loaded."""
    if driver:
        run("modprobe", driver)
    wait_until(pathlib.Path(f"/dev/{name}").exists, name)
    device = Device(name)
    device.setting("scheduler", "none")
    return device


def nvme():
    return disk("nvme0n1", "nvme")


def virtio():
    return disk("vda", "virtio_blk")


class All:
    """Stands for all null block devices where a test's helpers want one."""
    name = "nullb*"


@contextlib.contextmanager
def null_blk(scheduler="none", **parameters):
    """
    Null block devices, a tuple of nr_devices. Reads give no data and writes go nowhere; IO completes at
    once, or completion_nsec later with irqmode=2. Other parameters are the module's.
    """
    settings = {"gb": 1, "nr_devices": 1} | parameters
    with module("null_blk", **settings):
        devices = tuple(Device(f"nullb{i}") for i in range(settings["nr_devices"]))
        for device in devices:
            # To switch takes longer than to make a device.
            if (device.sysfs / "mq").exists() and device.setting("scheduler") != scheduler:
                device.setting("scheduler", scheduler)
        yield devices


@contextlib.contextmanager
def under_load(device):
    """Random reads and writes run for as long as the block does, and must not end before it."""
    before = device.stat()["ios"]
    with Fio(device, rw="randrw", iodepth=16, ioengine="libaio", time_based=1, runtime=3600) as load:
        load.until(lambda: device.stat()["ios"] > before + 1000, "load")
        yield
        assert load.process.poll() is None
