# SPDX-License-Identifier: GPL-2.0-only
"""
A machine that may get 384 CPUs, with drives of many hardware queues, or LUNs of one adapter: the counters take the memory that
they are given, at full resolution, and every IO is counted, whether its CPU has series of its own or shares those of all.
"""
import json
import pathlib

import pytest
from cgroups import hierarchy
from devices import run
from engines import PREPARED, both
from guest import DEEP, null_blk, nvme
from load import fio
from parts import labels_of, parts_of
from service import Serve

CPUS = 384
POSSIBLE = pathlib.Path("/sys/devices/system/cpu/possible").read_text().strip()
STAGES = "device", "queue", "total"
WIDE = {"submit_queues": 128, "no_sched": 1}
DRIVES = WIDE | {"nr_devices": 24, "hw_queue_depth": 1023}
# All queues of all LUNs have the same tags: were there slots for each queue's, they alone would take 600 MiB.
LUNS = WIDE | {"nr_devices": 60, "hw_queue_depth": 5089, "shared_tags": 1, "shared_tag_bitmap": 1}
# Somewhat more than is fixed, in MiB. All CPUs' own series would take 2.3 GiB for the drives' three stages, and more by cgroup.
LIMITS = {1: 48, 24: 256, 60: 64}
BY_CGROUP = {24: 320, 60: 512}
# Of a process, its program and its histograms.
PROCESS_MIB = 64
# The table of targets. Kernels before 6.4 add 8 bytes for each key that arrays do not have (bpf_map_memory_footprint()): to the 40
# of a CPU's series, a fifth.
BESIDES_MIB = 8
pytestmark = pytest.mark.skipif(POSSIBLE != f"0-{CPUS - 1}", reason=f"for a machine of {CPUS} possible CPUs: vm.py test --large")


@pytest.fixture(scope="module", params=[DRIVES, LUNS], ids=["drives", "luns"])
def drives(request):
    with null_blk(**request.param) as devices:
        yield devices


def available_mib():
    [kib] = [line.split()[1] for line in pathlib.Path("/proc/meminfo").read_text().splitlines() if line.startswith("MemAvailable")]
    return int(kib) / 1024


def maps_mib():
    """{number and name: the memory that it takes, as the kernel computes it}, of all BPF maps."""
    return {(m["id"], m["name"]): m["bytes_memlock"] / 2 ** 20 for m in json.loads(run("bpftool", "-j", "map"))}


def reads(devices):
    """{device: reads}. The second time, the CPUs that have shared have series of their own."""
    return {d: sum(fio(d, number_ios=600, **DEEP).ios("read") for _ in range(2)) for d in devices}


def watch(devices, limit, *args, stages=STAGES):
    """Reads from some devices while both engines watch all. Returns them, and what was read."""
    args = "--max-memory", f"{limit}M", *args
    available, before = available_mib(), maps_mib()
    with both(*devices, stage=",".join(stages), interval=max(1, len(devices) / 5), bpf_args=args, kmod_args=args) as engines:
        # Now, as what has been shown since takes memory of the test.
        taken, maps = available - available_mib(), {k: mib for k, mib in maps_mib().items() if k not in before}
        print(f"{taken} MiB, {sum(maps.values())} in {maps}")
        done = reads(devices[::max(1, len(devices) // 3)])
        engines.settle()
    assert 2 * limit * 0.7 < taken < 2 * (limit + PROCESS_MIB)
    assert limit * 0.7 < sum(maps.values()) < limit * 1.025 + BESIDES_MIB
    for device in devices:
        for stage in stages:
            engines.agree(device, stage)
        assert engines.kmod.ops(device, "device") == ({"read": done[device]} if device in done else {})
    return engines, done


@pytest.mark.before_release
def test_drives(drives):
    watch(drives, LIMITS[len(drives)])


@pytest.mark.before_release
def test_drives_by_cgroup(drives):
    with hierarchy():
        engines, done = watch(drives, BY_CGROUP[len(drives)], "--by", "cgroup", stages=["device"])
    for b in engines:
        assert all(parts_of(b, labels_of(b), device, "device") == {"/": {"read": ios}} for device, ios in done.items())


@pytest.mark.before_release
@pytest.mark.parametrize("engine", sorted(PREPARED))
def test_service(drives, engine):
    with PREPARED[engine](), Serve("--dev", "nullb*", "--engine", engine, "--stage", ",".join(STAGES),
                                   "--max-memory", f"{LIMITS[len(drives)]}M") as s:
        expected = {f'blklat_io_latency_seconds_count{{device="{d.name}",op="read",stage="{stage}"}}': ios
                    for d, ios in reads(drives[::8]).items() for stage in ("device", "total")}

        def told():
            metrics = s.metrics()
            return {name: metrics.get(name) for name in expected}
        s.until(lambda: told() == expected, "all IOs")
        lost = {name: n for name, n in s.metrics().items() if name.startswith("blklat_io_lost_total")}
        assert len(lost) >= len(drives) * len(STAGES) and not any(lost.values())


def test_nvme_of_64_queues():
    device = nvme()
    assert len(list((device.sysfs / "mq").iterdir())) == 64
    watch([device], LIMITS[1])
