# SPDX-License-Identifier: GPL-2.0-only
"""
A machine that may get 384 CPUs, with drives of many hardware queues: the counters take the memory that they are given, at full
resolution, and every IO is counted, whether its CPU has series of its own or shares those of all.
"""
import contextlib
import pathlib

import pytest
from devices import run
from engines import both
from faulty import Null, need_configfs
from guest import DEEP, All, at_least, module, null_blk, nvme
from load import Blklat, assert_all_counted, fio

CPUS = 384
POSSIBLE = pathlib.Path("/sys/devices/system/cpu/possible").read_text().strip()
STAGES = "device", "queue", "total"
WIDE = {"submit_queues": 128, "hw_queue_depth": 1023}
# Drives, their stages, and the limit in MiB: somewhat more than is fixed. All CPUs' own series would take much more.
CASES = {
    "drives": ({"nr_devices": 24, **WIDE}, STAGES, 256),
    "by cgroup": ({"nr_devices": 24, **WIDE}, ("device",), 320),
    "one set of tags": ({"nr_devices": 60, "shared_tag_bitmap": 1, **WIDE}, STAGES, 128),
}
# Of a process, its program and its histograms.
PROCESS_MIB = 64
pytestmark = pytest.mark.skipif(POSSIBLE != f"0-{CPUS - 1}", reason=f"for a machine of {CPUS} possible CPUs: vm.py test --large")


def available_mib():
    [kib] = [line.split()[1] for line in pathlib.Path("/proc/meminfo").read_text().splitlines() if line.startswith("MemAvailable")]
    return int(kib) / 1024


def read_twice(devices, engines):
    """The second time, the CPUs that have shared have series of their own."""
    done = {d: [fio(d, rw="randread", bs=4096, number_ios=600, **DEEP) for _ in range(2)] for d in devices}
    engines.settle()
    return done


def assert_counted(engines, devices, stages, done):
    for device in devices:
        for stage in stages:
            engines.agree(device, stage)
        ios = sum(f.ios("read") for f in done.get(device, ()))
        assert engines.kmod.ops(device, "device") == ({"read": ios} if ios else {})


@pytest.mark.parametrize("case", CASES)
def test_drives(case):
    parameters, stages, limit = CASES[case]
    args = ("--max-memory", f"{limit}M", *(["--by", "cgroup"] if case == "by cgroup" else []))
    with null_blk(no_sched=1, **parameters) as devices:
        before = available_mib()
        with both(*devices, stage=",".join(stages), interval=3, bpf_args=args, kmod_args=args) as engines:
            done = read_twice(devices[::len(devices) // 3], engines)
            taken = before - available_mib()
    assert 2 * limit * 0.7 < taken < 2 * (limit + PROCESS_MIB)
    assert_counted(engines, devices, stages, done)


def test_nvme_of_64_queues():
    device = nvme()
    assert len(list((device.sysfs / "mq").iterdir())) == 64
    with both(device, stage=",".join(STAGES)) as engines:
        done = read_twice([device], engines)
    assert_counted(engines, [device], STAGES, done)


@pytest.mark.skipif(not at_least(5, 16), reason="the kernel does not say that tags are shared")
def test_one_set_of_tags_comes_later():
    """Where debugfs cannot be read, the kernel is asked: with slots for each queue there would be no room."""
    need_configfs()
    with module("null_blk", nr_devices=0, shared_tag_bitmap=1), contextlib.ExitStack() as undo:
        undo.callback(Null("nullb0", submit_queues=1).remove)
        run("umount", "-R", "/sys/kernel/debug")
        undo.callback(run, "mount", "-t", "debugfs", "none", "/sys/kernel/debug")
        with Blklat(All, interval=1, args=("--engine", "bpf")) as b:
            later = Null("nullb1", **WIDE)
            undo.callback(later.remove)
            b.until(lambda: any("nullb1 is watched now" in line for line in b.stderr_lines), "the device")
            fio(later, number_ios=600, **DEEP)
            b.next(later)
        assert_all_counted(b, later)
        assert b.total("ios", "read", later) == 600 and not any("another capture" in line for line in b.stderr_lines)
