# SPDX-License-Identifier: GPL-2.0-only
"""A service on this machine's kernel: every IO counted, whatever comes and goes meanwhile."""
import base64
import contextlib
import json
import os
import pathlib
import random
import re
import signal
import subprocess
import time

import pytest
from devices import MIB, LOOP_CTL_ADD, LOOP_CTL_REMOVE, Delta, Device, backing_file, loop_control, run
from load import Fio, Missing, deep, exact, fio
from pressure import hog, scrapers, sleeper, slow_clients
from service import BLKLAT, DEADLINE_S, Serve, overdue
from test_service_life import Manager


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
        deadline = time.monotonic() + DEADLINE_S
        while time.monotonic() < deadline:
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


def totals(serve, device):
    """Reads and writes that are told of."""
    return total(serve, device, "read"), total(serve, device, "write")


def settled(serve, device):
    """The accounting of a quiet device, with all that came before this call."""
    serve.later_snapshot()
    a = serve.until(lambda: watched(serve, device), f"{device.name} in an interval")[0]["accounting"]
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
        a = settled(s, loop)
        assert n == 5000 == delta()["ios"] == a["completed"] == a["kernel_ios"]
        assert totals(s, loop) == (4000, 1000)
        assert total(s, loop, "write", what="io_bytes_total") == 1000 * 8192
        assert s.request("/healthz").text == "ok\n"


@exact
def test_stream_has_every_io_of_a_load(loop):
    """The intervals of the stream add up to what fio did."""
    with Serve("--dev", loop.name, "--interval", "0.2") as s, s.stream() as stream:
        wait_for(s, loop)
        f = fio(loop, **deep(2))
        a = settled(s, loop)
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
        with Fio(first, rate_iops=300, time_based=1, runtime=3600) as load:
            second = slots.attach(1)
            wait_for(s, second)
            fio(second, number_ios=1500)
            settled(s, second)
            assert totals(s, second) == (1500, 0)
            run("losetup", "-d", second.path)
            s.until(lambda: not watched(s, second), "its end")
            s.until(lambda: f"{second.name} went away" in s.read_stderr(), "word of it")
            s.until(lambda: f'device="{second.name}"' not in s.request("/metrics").text, "the end of its series")
            second = slots.attach(1)
            wait_for(s, second)
            # The kernel's counts and Prometheus' go on; those of the capture begin anew.
            assert total(s, second, "read") == 1500
            fio(second, number_ios=500, rw="randwrite")
            settled(s, second)
            assert totals(s, second) == (1500, 500)
            load.signal(signal.SIGINT)
            done = load.result(128).ios("read")  # fio's status when it was interrupted
        a = settled(s, first)
        assert totals(s, first) == (done, 0) and done == a["completed"] == before()["ios"]
        started = s.metrics()[f'blklat_io_started_total{{device="{second.name}",stage="device"}}']
        assert started == 2000


@exact
def test_another_device_of_the_same_name(slots):
    """It goes and comes within one interval, and no total falls; a capture of its own counts what it does."""
    slots.detach_all()
    device = slots.attach(0)
    with Serve("--dev", slots.pattern, "--interval", "2") as s, s.stream() as stream:
        wait_for(s, device)
        fio(device, number_ios=1500)
        settled(s, device)
        stream.intervals(1)
        run("losetup", "-d", device.path)
        slots.attach(0)
        seen = []

        def watched_again():
            seen.append(total(s, device, "read"))
            return s.read_stderr().endswith(f"{device.name} went away\nblklat: {device.name} is watched now\n")
        s.until(watched_again, "the other")
        wait_for(s, device)
        fio(device, number_ios=500, rw="randwrite")
        settled(s, device)
        assert totals(s, device) == (1500, 500)
        # While there is none nothing is told of it.
        assert set(seen) <= {0, 1500}


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
            settled(s, devices[-1])
        s.until(lambda: "one capture of all devices takes over" in s.read_stderr(), "one capture")
        s.until(lambda: len(s.snapshot()) == 6, "all six again")
        for device in devices:
            fio(device, number_ios=50, rw="randwrite")
        for i, device in enumerate(devices):
            settled(s, device)
            assert totals(s, device) == (100 + i, 50), device.name
        assert s.request("/healthz").text == "ok\n"
        for device in devices:
            run("losetup", "-d", device.path)
        s.until(lambda: not s.snapshot(), "none")
        assert s.request("/healthz").text == "ok\n"


@exact
def test_more_requests_than_slots(slots):
    """nr_requests is raised: a capture with more room takes over, and counts what the first had no slots for."""
    slots.detach_all()
    device = slots.attach(0)
    device.setting("scheduler", "mq-deadline")
    device.setting("nomerges", 2)
    with Serve("--dev", slots.pattern, "--interval", "0.2") as s:
        wait_for(s, device)
        fio(device, number_ios=100)
        settled(s, device)
        device.setting("nr_requests", 2000)
        s.until(lambda: "one capture of all devices takes over" in s.read_stderr(), "a larger capture")
        fio(device, rw="randwrite", ioengine="libaio", iodepth=1500, number_ios=2000)
        assert settled(s, device)["completed"] == 2000
        assert totals(s, device) == (100, 2000)
        told = f"blklat serve: {device.name} has got more tags than there is room for"
        assert s.stderr.count(told) == 1 and s.stderr.count("takes over;") == 1


def test_more_requests_of_a_device_named(slots):
    """A service that has given up what another capture takes says what is to be done, once."""
    device = slots.attach(0)
    device.setting("scheduler", "mq-deadline")
    with Serve("--dev", device.name, "--interval", "0.1") as s:
        wait_for(s, device)
        device.setting("nr_requests", 2000)
        s.until(lambda: "restart the service" in s.read_stderr(), "what to do")
        s.later_snapshot()
        assert s.read_stderr().count("restart the service") == 1


def test_a_device_named_that_goes_stops_it(slots):
    device = slots.attach(0)
    with Serve("--dev", device.name, "--interval", "0.1") as s:
        wait_for(s, device)
        run("losetup", "-d", device.path)
        s.until(lambda: s.request("/healthz").status == 503, "503")
        assert s.request("/healthz").text == "the capture has stopped: no watched device is left\n"


@pytest.mark.parametrize("there", [True, False], ids=["beside another", "alone"])
def test_a_device_named_that_is_not_there_yet(slots, tmp_path, there):
    """It is waited for, which is told once, and then watched as if it had been there."""
    late = f"loop{slots.base + 1}"
    first = slots.attach(0) if there else None
    names = ["--dev", late, *(["--dev", first.name] if there else [])]
    with Manager(str(tmp_path / "notify")) as manager, Serve(*names, "--interval", "0.2", env={"NOTIFY_SOCKET": str(tmp_path / "notify")}) as s:
        waiting = f"Watching, waiting for {late}" if there else f"Waiting for {late}"
        assert manager.next()[1].decode() == f"READY=1\nSTATUS={waiting}"
        if there:
            wait_for(s, first)
            assert s.request("/healthz").text == "ok\n"
        s.process.send_signal(signal.SIGHUP)
        device = slots.attach(1)
        wait_for(s, device)
        fio(device, number_ios=500)
        s.until(lambda: totals(s, device) == (500, 0), "500 reads")
        assert s.read_stderr().count(f"waiting: no block device '{late}'") == 1
        assert f"{late} is watched now" in s.stderr
        assert next(text for _, text in iter(manager.next, None) if text.startswith(b"STATUS=")) == b"STATUS=Watching"


def test_a_first_capture_that_another_start_may_open(slots):
    """More devices than there is memory for: no wrong command line, so that the service manager tries again."""
    device = slots.attach(0)
    r = subprocess.run([BLKLAT, "serve", "--listen", "127.0.0.1:0", "--dev", device.name, "--max-memory", "4K"], capture_output=True, text=True,
                       timeout=60)
    assert (r.returncode, r.stderr.count("\n")) == (1, 1) and "the counters need" in r.stderr, r.stderr


def capabilities(s):
    found = []
    for task in s.tasks():
        with contextlib.suppress(OSError):  # it ended meanwhile
            found.append((int(s.status("CapPrm", task), 16), int(s.status("CapEff", task), 16)))
    return sorted(found)


@pytest.mark.plain
def test_what_is_kept_is_what_later_captures_take(slots):
    """CAP_PERFMON (38) and CAP_BPF (39), in effect nowhere; what sends, what serves and what sees to the end have none."""
    device = slots.attach(0)
    with Serve("--dev", slots.pattern) as s:
        wait_for(s, device)
        few = 1 << 38 | 1 << 39
        s.until(lambda: capabilities(s) == [(0, 0)] * 4 + [(few, 0)] * 2, "few capabilities")
        assert int(s.status("CapBnd"), 16) == 0
    with Serve("--dev", device.name) as s:
        assert capabilities(s) == [(0, 0)] * 5


def programs_of(pid):
    """Ids of the BPF programs that a process holds."""
    found = set()
    for fd in pathlib.Path(f"/proc/{pid}/fdinfo").iterdir():
        with contextlib.suppress(OSError):
            found |= {int(i) for i in re.findall(r"^prog_id:\s*(\d+)", fd.read_text(), re.M)}
    return found


def loaded_programs():
    shown = subprocess.run(["bpftool", "prog", "show", "-j"], capture_output=True, check=True).stdout
    return {p["id"] for p in json.loads(shown)}


def test_leaves_nothing(slots):
    """Also when it is killed: the programs go with the process, as soon as the kernel has none of them running."""
    device = slots.attach(0)
    for number in (signal.SIGTERM, signal.SIGKILL):
        with Serve("--dev", device.name) as s:
            wait_for(s, device)
            ours = programs_of(s.pid)
            assert ours and ours <= loaded_programs()
            if number == signal.SIGKILL:
                s.kill()
            else:
                s.stop()
        deadline = time.monotonic() + DEADLINE_S
        while ours & loaded_programs() and time.monotonic() < deadline:
            time.sleep(0.05)
        assert not ours & loaded_programs()


def test_ends_within_a_second(slots):
    """As test_service_life.py has it of a replay; here programs are detached."""
    device = slots.attach(0)
    took = []
    for _ in range(3):
        with Serve("--dev", device.name) as s:
            wait_for(s, device)
            took.append(s.stop())
    assert min(took) < 1, took


LATE_S = 0.05


@pytest.mark.parametrize("late", [0, 0.03, 0.06, 0.099, 0.23])
def test_one_late_interval_is_found(late):
    """By what the tests below judge with."""
    due = [0.0771 + i / 10 for i in range(40)]
    # Some are half a millisecond late, more or less; those that were due before the late one ended fall away.
    ends = [t + i % 7 / 2000 for i, t in enumerate(due) if not 1 <= i - 20 <= late * 10]
    ends[20] += late
    found = overdue([(None, {"end_s": end}) for end in ends], 0.1)
    assert max(found) == pytest.approx(late, abs=0.004) and sorted(found)[-2] < 0.004


def watching(stream, device):
    """The intervals until one has the device, with it."""
    got = []
    while not got or device.name not in [w["device"] for w in got[-1][1]["watches"]]:
        assert len(got) < 200, f"{device.name} is not watched"
        got += stream.intervals(1)
    return got


def on_time(got, sleeper, interval_s=0.1):
    """None is missing, and none later than this machine has a thread of the same priority be."""
    numbers = [int(number.split(".")[1]) for number, _ in got]
    assert numbers == list(range(numbers[0], numbers[0] + len(got)))
    late = overdue(got, interval_s)
    assert max(late) <= LATE_S + sleeper.end(), sorted(late)[-10:]


def test_intervals_are_on_time_while_devices_come_and_scrapers_storm(slots):
    """Opening a capture takes a good part of a second, the intervals a tenth. Also when captures are joined."""
    first = slots.attach(0)
    with Serve("--dev", slots.pattern, "--interval", "0.1") as s, s.stream() as stream, sleeper() as machine:
        got = watching(stream, first)
        with scrapers(s, 16) as storm:
            for i in range(1, 5):
                got += watching(stream, slots.attach(i))
        with slow_clients(s, 200) as slow:
            for i in range(5, 10):
                got += watching(stream, slots.attach(i))
            s.until(lambda: "one capture of all devices takes over" in s.read_stderr(), "one capture")
        got += stream.intervals(10)
        assert storm.said > 100 and slow.said > 1000
        on_time(got, machine)


def test_intervals_are_on_time_while_all_cpus_are_busy(slots):
    """With what goes before everything that is ordinary, the server too: it tells of the intervals afterwards."""
    first = slots.attach(0)
    with Serve("--dev", first.name, "--interval", "0.1") as s, s.stream() as stream, sleeper() as machine:
        got, began = watching(stream, first), time.monotonic()
        with contextlib.ExitStack() as hogs:
            for _ in os.sched_getaffinity(0):
                hogs.enter_context(hog())
            time.sleep(4)
        got += stream.intervals(int(10 * (time.monotonic() - began)))
        on_time(got, machine)


def test_intervals_are_on_time_while_users_are_read_again(slots, tmp_path):
    """The server that is to be another then waits for a CPU, the capture does not wait for the server."""
    device, web = slots.attach(0), tmp_path / "web.yml"
    web.write_text('basic_auth_users:\n  me: "$2b$04$MoN/U6uk5qDR6V5ahgGfH.WRGXTLfmWtcwAeS4Py2ng78KJMQnK1y"\n')
    me = {"Authorization": "Basic " + base64.b64encode(b"me:secret").decode()}

    began = time.monotonic()

    def intervals():
        # All of them, and more. The last server may be about to go.
        with contextlib.suppress(OSError, AssertionError), s.stream(me) as stream:
            return stream.intervals(int(10 * (time.monotonic() - began)))
    with Serve("--dev", device.name, "--interval", "0.1", "--web-config", web) as s, sleeper() as machine:
        with contextlib.ExitStack() as hogs, scrapers(s, 8):
            for _ in os.sched_getaffinity(0):
                hogs.enter_context(hog())
            for _ in range(16):
                s.process.send_signal(signal.SIGHUP)
                time.sleep(0.25)
        on_time(s.until(intervals, "a stream"), machine)


@pytest.mark.plain
def test_opening_captures_leaves_no_memory_behind(slots):
    """Each takes more than 20 MiB for a moment."""
    device = slots.attach(0)
    with Serve("--dev", slots.pattern, "--interval", "0.2") as s:
        wait_for(s, device)
        first = s.rss_kib()
        for i in range(1, 4):
            wait_for(s, slots.attach(i))
        assert int(s.status("VmHWM").split()[0]) - first > 10000
        assert first < 16000 and s.rss_kib() - first < 12000, (first, s.rss_kib())


@pytest.mark.plain
def test_only_the_thread_that_captures_has_priority(slots):
    """Those that serve and that open captures are ordinary, or less."""
    device = slots.attach(0)
    with Serve("--dev", slots.pattern) as s:
        wait_for(s, device)

        def priorities():
            tasks = s.tasks()
            return {True: policy(s.pid), False: sorted(policy(t) for t in tasks if t != s.pid)}
        # Those that open captures, that see to the end, that send and that take what is sent, and the one that serves.
        ordinary = [(os.SCHED_OTHER, 0, 0)] * 4 + [(os.SCHED_OTHER, 0, 5)]
        s.until(lambda: priorities() == {True: (os.SCHED_FIFO, 1, 0), False: ordinary}, "those priorities")


def test_a_priority_that_is_refused_is_told(slots):
    device = slots.attach(0)
    for drop, said in ((), False), (("setpriv", "--bounding-set=-sys_nice"), True):
        with Serve("--dev", device.name, "--interval", "0.1", prefix=drop) as s:
            wait_for(s, device)
            assert ("warning: no real-time priority (Operation not permitted)" in s.read_stderr()) == said
            assert policy(s.pid)[0] == (os.SCHED_OTHER if said else os.SCHED_FIFO)


def policy(task):
    return (os.sched_getscheduler(task) & ~os.SCHED_RESET_ON_FORK, os.sched_getparam(task).sched_priority,
            os.getpriority(os.PRIO_PROCESS, task))
