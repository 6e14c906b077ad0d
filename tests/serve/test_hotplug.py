# SPDX-License-Identifier: GPL-2.0-only
"""A service on this machine's kernel counts every IO, whichever devices come and go."""
import signal

import pytest
from devices import Delta, run
from load import Fio, Unseen, deep, exact, fio, missing
from service import Serve, refused
from service_manager import Manager
from told import settled, total, totals, wait_for, watched


@exact
def test_devices_come_and_go(slots):
    """One device is under load all the time; another comes, works, goes and comes back. Each total is exact."""
    slots.detach_all()
    with Serve("--dev", slots.pattern, "--interval", "0.2") as s:
        # There is no device yet, which is no failure: time passes all the same.
        with s.stream() as stream:
            stream.intervals(4)
        s.until(lambda: s.request("/api/snapshot").status == 200, "an interval")
        assert s.snapshot() == [] and s.request("/healthz").text == "ok\n"
        first = slots.attach(0)
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
            # The kernel's counts and Prometheus' continue; those of the capture restart.
            assert total(s, second, "read") == 1500
            fio(second, number_ios=500, rw="randwrite")
            settled(s, second)
            assert totals(s, second) == (1500, 500)
            load.signal(signal.SIGINT)
            done = load.result(128).ios("read")  # 128: fio's status when interrupted
        a = settled(s, first)
        assert totals(s, first) == (done, 0) and done == a["completed"] == before()["ios"]
        started = s.metrics()[f'blklat_io_started_total{{device="{second.name}",stage="device"}}']
        assert started == 2000
        slots.detach_all()
        s.until(lambda: not s.snapshot(), "none")
        # Nothing is said of the time before a device had a size.
        came, went = ([f"blklat: {d.name} {what}" for d in (first, second)] for what in ("is watched now", "went away"))
        assert sorted(s.read_stderr().splitlines()[1:]) == sorted([*came, came[1], *went, went[1]])
        assert s.request("/healthz").text == "ok\n"


def test_devices_come_beside_a_load(slots):
    """
    Three come while two are never at rest, and each IO is counted once. For the next one there is no room: another capture is
    opened, which a message tells, and the totals go on. (At one stage there would be room for more than the ten.)
    """
    there = [slots.attach(i) for i in range(6)]
    busy = there[:2]
    with Unseen() as unseen, Serve("--dev", slots.pattern, "--stage", "device,queue", "--interval", "0.2") as s:
        for device in there:
            wait_for(s, device)
        before = [Delta(device) for device in busy]
        with Fio(busy[0], **deep(3600, iodepth=8)) as reads, Fio(busy[1], **deep(3600, iodepth=2, rw="randwrite")) as writes:
            s.until(lambda: all(b()["ios"] for b in before), "both loads")  # both run now, and end as SIGTERM asks
            for i in range(6, 9):
                wait_for(s, slots.attach(i))
            s.later_snapshot()
            done = reads.end().ios("read"), writes.end().ios("write")
        s.later_snapshot()
        counted = []
        for i, device in enumerate(busy):
            a = watched(s, device)[0]["accounting"]
            assert done[i] == a["started"] == a["kernel_ios"] == before[i]()["ios"]
            assert s.metrics()[f'blklat_io_started_total{{device="{device.name}",stage="device"}}'] == done[i]
            # Completions that this kernel showed to no program are reported as missing.
            assert missing(a) <= unseen.of(device), (a, unseen.counts())
            counted.append(total(s, device, ("read", "write")[i]))
            assert counted[i] == a["completed"] == done[i] - missing(a)
        assert "another capture" not in s.read_stderr()
        last = slots.attach(9)
        wait_for(s, last)
        s.until(lambda: f"another capture was opened, as there is no room for {last.name}" in s.read_stderr(), "word of it")
        for i, device in enumerate([*busy, last]):
            fio(device, rw=("randread", "randwrite", "randread")[i], number_ios=100)
            s.until(lambda d=device, n=[*counted, 0][i] + 100: watched(s, d)[0]["accounting"]["completed"] == n, "its IOs")
            assert total(s, device, ("read", "write", "read")[i]) == [*counted, 0][i] + 100
        assert s.metrics()[f'blklat_io_started_total{{device="{busy[0].name}",stage="device"}}'] == done[0] + 100
        assert s.stderr.count("another capture") == 1


@exact
def test_more_requests(slots):
    """nr_requests is raised as far as the kernel allows: there are slots for all, so nothing is lost, nor said."""
    slots.detach_all()
    device = slots.attach(0)
    device.setting("scheduler", "mq-deadline")
    device.setting("nomerges", 2)
    with Serve("--dev", slots.pattern, "--stage", "device,queue", "--interval", "0.2") as s:
        wait_for(s, device)
        said = s.read_stderr()
        device.setting("nr_requests", 2048)
        fio(device, rw="randwrite", ioengine="libaio", iodepth=1900, number_ios=2000)
        assert settled(s, device)["completed"] == 2000
        assert totals(s, device) == (0, 2000)
        assert s.read_stderr() == said


def test_a_device_named_that_goes_stops_it(slots):
    device = slots.attach(0)
    with Serve("--dev", device.name, "--interval", "0.1") as s:
        wait_for(s, device)
        run("losetup", "-d", device.path)
        s.until(lambda: s.request("/healthz").status == 503, "503")
        assert s.request("/healthz").text == "the capture has stopped: no watched device is left\n"


@exact
@pytest.mark.parametrize("there", [True, False], ids=["beside another", "alone"])
def test_a_device_named_that_is_not_there_yet(slots, tmp_path, there):
    """A missing device is waited for, which is reported once, and then watched as if it had been there."""
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
        a = settled(s, device)
        # Others that notice a new device may read it as well.
        assert totals(s, device) == (a["completed"], 0) and a["completed"] == a["kernel_ios"] >= 500
        assert s.read_stderr().count(f"waiting: no block device '{late}'") == 1
        assert f"{late} is watched now" in s.stderr
        assert next(text for _, text in iter(manager.next, None) if text.startswith(b"STATUS=")) == b"STATUS=Watching"


def test_a_first_capture_that_another_start_may_open(slots):
    """Too many devices for the memory: this is not a wrong command line, so the service manager tries again."""
    device = slots.attach(0)
    r = refused("--dev", device.name, "--max-memory", "4K")
    assert (r.returncode, r.stderr.count("\n")) == (1, 1) and "the counters need" in r.stderr, r.stderr
