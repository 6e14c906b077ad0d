# SPDX-License-Identifier: GPL-2.0-only
"""The service with either engine on each kernel: it reports what the kernel counts, whichever devices come and go."""
import pathlib
import re

import pytest
from devices import Delta
from engines import PREPARED
from faulty import null_blks, read
from guest import DEEP, SINGLE, at_least, null_blk
from service import Serve
from stack import assert_told, traffic
from told import watched

TIMER_NS = 1000000
LOADS = [SINGLE | {"rw": "randrw", "number_ios": 200}, DEEP | {"rw": "randwrite", "bs": "8k", "number_ios": 600}]
CAP_BPF = 1 << 39


@pytest.fixture(params=[pytest.param("bpf", marks=pytest.mark.before_release), "kmod"])
def engine(request):
    """An engine's name; that the service reports all of bpf is in tests/serve, too. Its module, if any, has to be free again once the service has ended."""
    with PREPARED[request.param]():
        yield request.param


def serve(pattern, engine, *args):
    return Serve("--dev", pattern, "--engine", engine, "--interval", "0.25", *args)


def told(s, device, stage, what):
    """{op: value} of those of a device's series that have counted something."""
    series = re.compile(rf'blklat_{what}{{device="{device.name}",op="(\w+)",stage="{stage}"}}')
    found = {series.fullmatch(name): value for name, value in s.metrics().items()}
    return {match[1]: value for match, value in found.items() if match and value}


def ios(s, device, stage="device"):
    return told(s, device, stage, "io_latency_seconds_count")


def reads_need_bpf():
    """Since 5.19 maps can be read without (c8644cd0efe7)."""
    return not at_least(5, 19) and pathlib.Path("/proc/sys/kernel/unprivileged_bpf_disabled").read_text() != "0\n"


def assert_confined(s):
    """No thread of either process has effective capabilities, except the one that reads counters where the kernel demands it."""
    tasks = s.tasks()
    effective = {int(s.status("CapEff", task), 16) for task in tasks}
    assert effective == ({0, CAP_BPF} if reads_need_bpf() else {0})
    for task in tasks:
        assert (s.status("NoNewPrivs", task), s.status("Seccomp", task)) == ("1", "2")
        assert int(s.status("CapBnd", task), 16) == 0


def test_counts(engine):
    """Every IO and byte of a load, as in fio's results and the kernel's statistics; no latency below the device's timer."""
    with null_blk(irqmode=2, completion_nsec=TIMER_NS) as (device,), \
            serve(device.name, engine, "--stage", "device,total") as s:
        assert_confined(s)
        stat = Delta(device)
        done = traffic(device, *LOADS)
        assert_told(stat, done)
        for stage in "device", "total":
            s.until(lambda stage=stage: sum(ios(s, device, stage).values()) >= done.ios, "all IOs")
            assert ios(s, device, stage) == done.ops
            assert told(s, device, stage, "io_bytes_total") == done.bytes
            sums = told(s, device, stage, "io_latency_seconds_sum")
            assert all(sums[op] >= n * TIMER_NS / 1e9 for op, n in done.ops.items()), sums
        m = s.metrics()
        assert m[f'blklat_io_started_total{{device="{device.name}",stage="device"}}'] == stat()["ios"] == 800
        assert m[f'blklat_capture_info{{engine="{engine}"}}'] == 1
        assert s.request("/healthz").text == "ok\n"


def test_devices_come_and_go(engine):
    """
    One stays; another comes, goes and comes back under its name. It can go, since nobody holds it, and its counters
    continue where they were.
    """
    with null_blks({}, {}) as (stays, other):
        other.remove()
        with serve("nullb*", engine) as s:
            s.until(lambda: watched(s, stays), f"{stays.name}")
            for life in 1, 2:
                other.make()
                s.until(lambda: watched(s, other), f"{other.name}")
                stats = Delta(stays), Delta(other)
                read(stays, 10)
                read(other, 20)
                assert [stat()["ios"] for stat in stats] == [10, 20]
                s.until(lambda n=life: ios(s, stays) and ios(s, other).get("read", 0) >= 20 * n, "all IOs")
                s.until(lambda n=life: ios(s, stays)["read"] >= 10 * n, "all IOs")
                assert (ios(s, stays), ios(s, other)) == ({"read": 10 * life}, {"read": 20 * life})
                other.remove()
                s.until(lambda n=life: s.read_stderr().count(f"{other.name} went away") == n, "notice")
                s.until(lambda: not watched(s, other), f"end of {other.name}")
        assert s.stderr.count(f"{other.name} is watched now") == 2


def test_more_requests_of_a_device_named(engine):
    """
    More than there is room for, so another capture would be needed. A service that has given up the privileges for that says what to
    do, once, and that IOs are lost.
    """
    with null_blk(submit_queues=2, hw_queue_depth=64) as (device,), serve(device.name, engine) as s:
        device.setting("scheduler", "mq-deadline")
        device.setting("nr_requests", 2048)
        s.until(lambda: "restart the service" in s.read_stderr(), "what to do")
        s.later_snapshot()
        assert s.read_stderr().count("restart the service") == 1
