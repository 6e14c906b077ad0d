# SPDX-License-Identifier: GPL-2.0-only
"""A cgroup's limit holds IOs back before any tracepoint: only stage total includes that wait."""
import json
import os
import subprocess

import pytest
from engines import both
from guest import null_blk
from cgroups import cgroup, fios_in
from load import BLKLAT, assert_closed, fio_argv

IOS = 40
TOLD = 3  # limits by name
MS = 1e6
LEAST_MS = 400  # the limit's waits are longer, and this machine's are not


def sees_waits(b, engines):
    """BPF programs on functions need direct calls of ftrace, which arm64 has since 6.4 (2aa6ac03516d)."""
    kernel = os.uname()
    return b is engines.kmod or kernel.machine != "aarch64" or tuple(map(int, kernel.release.split(".")[:2])) >= (6, 4)


def mean_ms(b, device, stage):
    ops = [o for l in b.of(device, stage) for o in l["ops"]]
    return sum(o["latency_ns"]["mean"] * o["ios"] for o in ops) / sum(o["ios"] for o in ops) / MS


# One at a time, deep, by bytes. The last has IOs that are split, whose remainders meet the limit again.
LIMITED = [
    ("wiops=20", {}),
    ("wiops=20", {"ioengine": "libaio", "iodepth": 8}),
    ("wbps=20971520", {"bs": "1m"}),
    ("wbps=20971520 wiops=100", {"bs": "1m", "ioengine": "libaio", "iodepth": 4}),
]


def test_limits():
    with null_blk(nr_devices=len(LIMITED)) as devices:
        limits = {device: limit for device, (limit, _) in zip(devices, LIMITED)}
        with cgroup(limits) as group:
            with both(*devices, stage="device,total") as engines:
                written = fios_in(group, {device: {"rw": "randwrite", "number_ios": IOS} | options
                                          for device, (_, options) in zip(devices, LIMITED)})
                engines.settle()
            for b in engines:
                seen = sees_waits(b, engines)
                where = "part of stage total" if seen else "in no stage, as this kernel does not let them be measured"
                for device in devices[:TOLD]:
                    assert f"cgroup /slow has io.max {limits[device]} of {device.name}: waits for this limit are {where}\n" in b.stderr
                assert f"{len(devices) - TOLD} more cgroup limit is not listed here;" in b.stderr
                for device, (limit, options) in zip(devices, LIMITED):
                    assert_waits(b, device, limit, written[device], seen, "iodepth" in options)


def assert_waits(b, device, limit, write, seen, deep):
    assert b.total("ios", "write", device, "total") == write["total_ios"] == IOS
    assert_closed(b, device, "total")
    # The limits take 50 ms an IO or more, everything else a few ms. What is left of a split IO waits after it was queued.
    if not seen:
        assert mean_ms(b, device, "total") < (write["lat_ns"]["mean"] / MS * 1.1 if "wbps" in limit else 20)
        return
    # What is sent or taken back late, as on a busy machine, waits so much less than fio says. Where several wait, that is a part.
    assert 30 < mean_ms(b, device, "total") < write["lat_ns"]["mean"] / MS * 1.1
    if deep:
        assert mean_ms(b, device, "total") > write["lat_ns"]["mean"] / MS * 0.75
    assert mean_ms(b, device, "device") < 20


def test_unlimited_and_limited():
    """A process outside the limited cgroup does not wait; an IO that waits is in flight, and its age grows."""
    with null_blk() as (device,), cgroup({device: "wiops=2"}) as group:
        [listed] = [d for d in json.loads(subprocess.check_output([BLKLAT, "list", "--format", "json"]))["devices"]
                    if d["name"] == device.name]
        assert listed["limits"] == [{"cgroup": "/slow", "io_max": "wiops=2"}]
        with both(device, stage="total") as engines:
            write = fios_in(group, {device: {"rw": "randwrite", "number_ios": 2, "numjobs": 4}})[device]
            free = subprocess.run(fio_argv(device, rw="randread", number_ios=500), capture_output=True, text=True, check=True)
            assert free.returncode == 0
            engines.settle()
        for b in engines:
            reads, writes = ([o for l in b.of(device, "total") for o in l["ops"] if o["op"] == op] for op in ("read", "write"))
            assert sum(o["ios"] for o in reads) == 500 and max(o["latency_ns"]["max"] for o in reads) < LEAST_MS * MS
            assert_closed(b, device, "total")
            if not sees_waits(b, engines):
                assert max(o["latency_ns"]["max"] for o in writes) < LEAST_MS * MS
                continue
            assert max(o["latency_ns"]["max"] for o in writes) == pytest.approx(write["lat_ns"]["max"], rel=0.05)
            assert max(l["in_flight"]["oldest_ns"] or 0 for l in b.of(device, "total")) > 1000 * MS


def test_where_it_is_not_measured():
    """Without stage total a run says that none of its stages has the wait, and which stage may; their figures have none of it."""
    with null_blk() as (device,), cgroup({device: "wiops=20"}) as group:
        with both(device, stage="device") as engines:
            fios_in(group, {device: {"rw": "randwrite", "number_ios": 20}})
            engines.settle()
        for b in engines:
            assert f"cgroup /slow has io.max wiops=20 of {device.name}: waits for this limit are in none of these stages, but may be in stage " \
                "total\n" in b.stderr
            assert mean_ms(b, device, "device") < 20
