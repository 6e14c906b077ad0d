# SPDX-License-Identifier: GPL-2.0-only
"""A service on this machine's kernel: every IO counted, whatever comes and goes meanwhile."""
import contextlib
import os
import pathlib
import random
import signal
import subprocess
import time

import pytest
from devices import MIB, LOOP_CTL_ADD, LOOP_CTL_REMOVE, Delta, Device, backing_file, loop_control, run
from load import Fio, Missing, deep, exact, fio
from service import Serve, lateness


class Slots:
    """Ten loop devices of numbers that nobody else uses, and a pattern for them; attached when a test says so."""

    def __init__(self):
        self.base = 10 * random.randrange(1000, 9000)
        self.pattern = f"loop{self.base // 10}[0-9]"
        self.undo = contextlib.ExitStack()

    def attach(self, i):
        device = Device(f"loop{self.base + i}")
        if not device.sysfs.exists():
            loop_control(LOOP_CTL_ADD, device)
            self.undo.callback(self.remove, device)
        file = self.undo.enter_context(backing_file("/dev/shm", 8 * MIB))
        run("losetup", "--direct-io=on", device.path, file)
        device.setting("scheduler", "none")
        return device

    def detach_all(self):
        """For a test that is repeated."""
        for i in range(10):
            if pathlib.Path(f"/sys/block/loop{self.base + i}/loop").exists():
                run("losetup", "-d", f"/dev/loop{self.base + i}")

    @staticmethod
    def remove(device):
        subprocess.run(["losetup", "-d", device.path], stderr=subprocess.DEVNULL)
        for _ in range(50):
            try:
                return loop_control(LOOP_CTL_REMOVE, device)
            except OSError:
                time.sleep(0.1)
        raise AssertionError(f"{device.name} can't be removed")


@pytest.fixture
def slots(need_root):
    s = Slots()
    with s.undo:
        yield s


def watched(serve, device, stage="device"):
    return [line for line in serve.snapshot() if (line["device"], line["stage"]) == (device.name, stage) and not line.get("gone")]


def wait_for(serve, device):
    serve.until(lambda: watched(serve, device), f"{device.name} to be watched")


def total(serve, device, op, stage="device", what="io_latency_seconds_count"):
    return serve.metrics().get(f'blklat_{what}{{device="{device.name}",op="{op}",stage="{stage}"}}', 0)


def totals(serve, device, reads, writes=0):
    """Reads and writes that are told of, once they are as many, or some time later."""
    deadline = time.monotonic() + 3
    while True:
        found = total(serve, device, "read"), total(serve, device, "write")
        if found >= (reads, writes) or time.monotonic() > deadline:
            return found
        time.sleep(0.05)


def settled(serve, device, ios):
    """The accounting of a quiet device once an interval has seen this many IOs end, or some time later."""
    deadline = time.monotonic() + 3
    while True:
        a = watched(serve, device)[0]["accounting"]
        if a["completed"] >= ios or time.monotonic() > deadline:
            break
        time.sleep(0.05)
    if a["lost"] or a["in_flight"]:
        raise Missing(a)
    return a


@exact
def test_metrics_and_snapshot_count_what_fio_did(loop):
    with Serve("--dev", loop.name, "--interval", "0.2") as s:
        wait_for(s, loop)
        delta = Delta(loop)
        reads = fio(loop, number_ios=4000)
        writes = fio(loop, rw="randwrite", bs="8k", number_ios=1000)
        n = reads.ios("read") + writes.ios("write")
        a = settled(s, loop, n)
        assert n == 5000 == delta()["ios"] == a["completed"] == a["kernel_ios"]
        assert totals(s, loop, 4000, 1000) == (4000, 1000)
        assert total(s, loop, "write", what="io_bytes_total") == 1000 * 8192
        assert s.request("/healthz").text == "ok\n"


@exact
def test_stream_has_every_io_of_a_load(loop):
    """The intervals of the stream add up to what fio did."""
    with Serve("--dev", loop.name, "--interval", "0.2") as s, s.stream() as stream:
        wait_for(s, loop)
        f = fio(loop, **deep(2))
        a = settled(s, loop, f.ios("read"))
        ios = 0
        while ios < f.ios("read"):
            [(_, data)] = stream.intervals(1)
            ios += sum(o["ios"] for w in data["watches"] for o in w["ops"])
        assert ios == f.ios("read") == a["completed"]


@exact
def test_devices_come_and_go(slots):
    """One is there, under load all the time; another comes, works, goes and comes back. Each total is exact."""
    slots.detach_all()
    first = slots.attach(0)
    with Serve("--dev", slots.pattern, "--interval", "0.2") as s:
        wait_for(s, first)
        assert [line["device"] for line in s.snapshot()] == [first.name]
        before = Delta(first)
        with Fio(first, rate_iops=300, time_based=1, runtime=6) as load:
            second = slots.attach(1)
            wait_for(s, second)
            fio(second, number_ios=1500)
            settled(s, second, 1500)
            assert totals(s, second, 1500) == (1500, 0)
            run("losetup", "-d", second.path)
            s.until(lambda: not watched(s, second), "its end")
            assert f"{second.name} went away" in s.read_stderr()
            s.until(lambda: f'device="{second.name}"' not in s.request("/metrics").text, "the end of its series")
            second = slots.attach(1)
            wait_for(s, second)
            # The kernel's counts and Prometheus' go on; those of the capture begin anew.
            assert total(s, second, "read") == 1500
            fio(second, number_ios=500, rw="randwrite")
            settled(s, second, 500)
            assert totals(s, second, 1500, 500) == (1500, 500)
            done = load.result().ios("read")
        a = settled(s, first, done)
        assert totals(s, first, done) == (done, 0) and done == a["completed"] == before()["ios"]
        started = s.metrics()[f'blklat_io_started_total{{device="{second.name}",stage="device"}}']
        assert started == 2000


@exact
def test_more_devices_than_captures(slots):
    """Six come one by one: their captures are joined, nothing is lost of what was counted before and after."""
    slots.detach_all()
    with Serve("--dev", slots.pattern, "--interval", "0.2") as s:
        # There is none yet, and that is no failure.
        s.until(lambda: s.request("/api/snapshot").status == 200, "an interval")
        assert s.snapshot() == [] and s.request("/healthz").text == "ok\n"
        devices = []
        for i in range(6):
            devices.append(slots.attach(i))
            wait_for(s, devices[-1])
            fio(devices[-1], number_ios=100 + i)
            settled(s, devices[-1], 100 + i)
        s.until(lambda: "one capture takes over" in s.read_stderr(), "one capture")
        s.until(lambda: len(s.snapshot()) == 6, "all six again")
        for i, device in enumerate(devices):
            fio(device, number_ios=50, rw="randwrite")
        for i, device in enumerate(devices):
            assert totals(s, device, 100 + i, 50) == (100 + i, 50), device.name
        assert s.request("/healthz").text == "ok\n"
        for device in devices:
            run("losetup", "-d", device.path)
        s.until(lambda: not s.snapshot(), "none")
        assert s.request("/healthz").text == "ok\n"


def test_a_device_named_that_goes_stops_it(slots):
    device = slots.attach(0)
    with Serve("--dev", device.name, "--interval", "0.1") as s:
        wait_for(s, device)
        run("losetup", "-d", device.path)
        s.until(lambda: s.request("/healthz").status == 503, "503")
        assert s.request("/healthz").text == "the capture has stopped: no watched device is left\n"


def capabilities(s):
    tasks = os.listdir(f"/proc/{s.pid}/task")
    return sorted((int(s.status("CapPrm", t), 16), int(s.status("CapEff", t), 16)) for t in tasks)


def test_what_is_kept_is_what_later_captures_take(slots):
    """CAP_PERFMON (38) and CAP_BPF (39), in effect nowhere; the thread that serves has none."""
    device = slots.attach(0)
    with Serve("--dev", slots.pattern) as s:
        wait_for(s, device)
        few = 1 << 38 | 1 << 39
        s.until(lambda: capabilities(s) == [(0, 0), (few, 0), (few, 0)], "few capabilities")
        assert int(s.status("CapBnd"), 16) == 0
    with Serve("--dev", device.name) as s:
        assert capabilities(s) == [(0, 0), (0, 0)]


def programs_of(pid):
    """BPF programs that a process holds."""
    found = 0
    for fd in pathlib.Path(f"/proc/{pid}/fd").iterdir():
        with contextlib.suppress(OSError):
            found += "bpf-prog" in os.readlink(fd)
    return found


def test_leaves_nothing(slots):
    """Also when it is killed: the programs go with the process."""
    device = slots.attach(0)

    def ours():
        shown = subprocess.run(["bpftool", "prog", "show"], capture_output=True, text=True).stdout
        return shown.count(f"pids blklat({s.pid})")
    for number in (signal.SIGTERM, signal.SIGKILL):
        with Serve("--dev", device.name) as s:
            wait_for(s, device)
            assert programs_of(s.pid) > 0
            if number == signal.SIGKILL:
                s.kill()
            else:
                s.stop()
        assert not os.path.exists(f"/proc/{s.pid}")
        assert ours() == 0


def test_intervals_are_on_time_while_devices_come_and_scrapers_storm(slots):
    """Opening a capture takes a good part of a second, the intervals a tenth."""
    first = slots.attach(0)
    with Serve("--dev", slots.pattern, "--interval", "0.1") as s, s.stream() as stream:
        wait_for(s, first)
        stream.intervals(3)
        got = []
        for i in range(1, 4):
            device = slots.attach(i)
            while not watched(s, device):
                s.metrics()
            got += stream.intervals(2)
        got += stream.intervals(10)
        late = sorted(lateness(got))
        # This machine's other work makes one late now and then, however little we do.
        assert late[int(len(late) * 0.9)] < 0.05, late
