# SPDX-License-Identifier: GPL-2.0-only
"""
A machine that may get 384 CPUs, with 24 drives of 128 hardware queues each: the counters take the memory that they are
given, at full resolution, and every IO is counted, whether its CPU has series of its own or shares those of all.
"""
import pathlib

import pytest
from engines import both
from guest import DEEP, null_blk, nvme
from load import fio

CPUS = 384
POSSIBLE = pathlib.Path("/sys/devices/system/cpu/possible").read_text().strip()
STAGES = "device", "queue", "total"
# What is fixed takes 65 MiB, most of it slots; all CPUs' own series would take 2.3 GiB.
LIMIT_MIB = 256
# Of a process, its program and its histograms.
PROCESS_MIB = 64
pytestmark = pytest.mark.skipif(POSSIBLE != f"0-{CPUS - 1}", reason=f"for a machine of {CPUS} possible CPUs: vm.py test --large")


def available_mib():
    [kib] = [line.split()[1] for line in pathlib.Path("/proc/meminfo").read_text().splitlines() if line.startswith("MemAvailable")]
    return int(kib) / 1024


def test_drives():
    args = ("--max-memory", f"{LIMIT_MIB}M")
    with null_blk(nr_devices=24, submit_queues=128, hw_queue_depth=1023, no_sched=1) as devices:
        before = available_mib()
        with both(*devices, stage=",".join(STAGES), interval=3, bpf_args=args, kmod_args=args) as engines:
            # The second time, the CPUs that have shared have series of their own.
            done = {d: [fio(d, rw="randread", bs=4096, number_ios=600, **DEEP) for _ in range(2)] for d in devices[::8]}
            engines.settle()
            taken = before - available_mib()
    assert 2 * LIMIT_MIB * 0.7 < taken < 2 * (LIMIT_MIB + PROCESS_MIB)
    for device in devices:
        for stage in STAGES:
            engines.agree(device, stage)
        ios = sum(f.ios("read") for f in done.get(device, ()))
        assert engines.kmod.ops(device, "device") == ({"read": ios} if ios else {})


def test_nvme_of_64_queues():
    device = nvme()
    assert len(list((device.sysfs / "mq").iterdir())) == 64
    with both(device, stage=",".join(STAGES)) as engines:
        done = [fio(device, rw="randread", bs=4096, number_ios=600, **DEEP) for _ in range(2)]
        engines.settle()
    for stage in STAGES:
        engines.agree(device, stage)
    assert engines.kmod.ops(device, "device") == {"read": sum(f.ios("read") for f in done)}
